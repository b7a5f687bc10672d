"""Language models: they score label words after a prompt, write answers that are read as labels, or continue texts."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import permutations, takewhile
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from accelerate.utils.memory import clear_device_cache, should_reduce_batch_size
from numpy.typing import NDArray
from transformers import LogitsProcessor, LogitsProcessorList
from transformers.modeling_outputs import BaseModelOutput

from paraconsist.data.prompts import WrittenAnswer
from paraconsist.data.store import NOT_FINITE_REMEDY
from paraconsist.data.tasks import ModelInput, Task
from paraconsist.errors import InputError, first_line, input_error
from paraconsist.files import Json
from paraconsist.models.batching import BatchPolicy, Shape, plan_batches
from paraconsist.models.causal_engine import (
    CANNOT,
    CausalEngine,
    FrozenLayer,
    Prefix,
    PromptTokens,
    check_sharing,
    n_common,
    plan_packs,
    warn_of_no_sharing,
)
from paraconsist.models.classifier import Classifier, Inputs, Prepared, TokenArray, pad_sequences
from paraconsist.models.endpoint.protocol import without_system
from paraconsist.models.endpoint.settings import PromptSettings
from paraconsist.models.pretrained import LanguageModel

#: The date for chat templates that ask for today's: on another day the same run has the same prompts.
_TODAY = date(2024, 7, 26)
_NOW = re.compile(r"""strftime_now\(\s*(["'])(.*?)\1\s*\)""")


@dataclass(slots=True)
class PreparedPrompt(Prepared):
    """A prompt in tokens, without its first `n_shared`, and the label words that may follow it."""

    n_shared: int = 0
    labels: tuple[TokenArray, ...] = ()


class PromptedModel(Classifier):
    """A language model that gets a prompt for each row; the base of the scoring and writing models.

    `window` is the longest prompt with answer in tokens, `identity` the identity of the model's files.
    """

    takes_prompt = True

    def __init__(
        self, module: Any, tokenizer: Any, settings: PromptSettings, *, window: int | None, identity: Mapping[str, str]
    ) -> None:
        has_template = bool(getattr(tokenizer, "chat_template", None))
        if settings.chat and not has_template and not settings.prompt.template.labels:
            settings = replace(settings, chat=False)  # questions in free text, of a model that knows no chats
        if settings.chat and not has_template:
            name, remedy = identity.get("model", type(module).__name__), "Leave it out: the prompt is then plain text."
            must = "be given only for models whose tokenizer has a chat template"
            raise input_error("run", "chat", must, got=name, remedy=remedy)
        self.module = module
        self.tokenizer = tokenizer
        self.settings = settings
        self.window = window
        self.label_names = settings.prompt.template.label_names
        self.draws = settings.temperature > 0
        self._files = identity
        longest = "unlimited" if window is None else str(window)
        self.identity: Mapping[str, str] = {**identity, **settings.identity, "max_length": longest}
        if settings.chat:
            self._chat_template, n = _NOW.subn(
                lambda call: repr(_TODAY.strftime(call[2])), tokenizer.get_chat_template()
            )
            if "strftime_now(" in self._chat_template:  # of a format that is computed: another day is another run
                self.identity = {**self.identity, "template_date": date.today().isoformat()}
            elif n:
                self.identity = {**self.identity, "template_date": _TODAY.isoformat()}

    def with_seed(self, seed: int) -> PromptedModel:
        other = copy.copy(self)
        other.settings = replace(self.settings, seed=seed)
        return other

    def with_settings(self, settings: PromptSettings) -> PromptedModel:
        return type(self)(self.module, self.tokenizer, settings, window=self.window, identity=self._files)

    def encode(self, task: Task, row: Mapping[str, str]) -> tuple[ModelInput, ...]:
        if not self.settings.chat:
            return (ModelInput(self.settings.prompt.text(task, row), None),)
        messages = self.settings.prompt.messages(task, row)
        try:
            text = self._render_chat(messages)
        except Exception as problem:  # templates without a system turn raise errors of any kind
            if messages[0]["role"] != "system":
                must = f"the model's chat template refused the prompt: {first_line(problem)}"
                raise InputError(must, function="run") from None
            text = self._render_chat(without_system(messages))
        return (ModelInput(text, None),)

    def encode_all(self, task: Task, rows: pa.Table) -> Inputs:
        return [self.encode(task, row) for row in rows.select(task.columns).to_pylist()]

    def _render_chat(self, messages: Sequence[Mapping[str, str]]) -> str:
        ours = {"chat_template": self._chat_template, "tokenize": False, "add_generation_prompt": True}
        text: str = self.tokenizer.apply_chat_template(list(messages), **ours, **self.settings.template_arguments)
        return text

    @property
    def answers(self) -> tuple[str, ...]:
        """The label words in the form that follows the prompt."""
        template = self.settings.prompt.template
        return template.words if self.settings.chat else template.answers

    def n_over(self, length: int) -> int:
        """Return by how many tokens a prompt with its answer exceeds the window."""
        return 0 if self.window is None else max(0, length - self.window)

    def window_error(self, rows: Sequence[Prepared]) -> InputError:
        must = f"make prompts of at most {self.window} tokens, the model's window, answer included"
        got = f"{len(rows):,} longer ones, the longest of {(self.window or 0) + max(r.n_over for r in rows):,} tokens"
        remedy = "Prompts are never cut: give fewer `shots`, another `template`, or a model with a wider window."
        return input_error("run", "shots", must, got=got, remedy=remedy)

    def collate(self, batch: Sequence[Prepared], width: int = 0) -> dict[str, torch.Tensor]:
        sequences = [row.sequences[0] for row in batch]
        padded, real = pad_sequences(sequences, self.tokenizer.pad_token_id or 0, width=width)
        return {"input_ids": torch.from_numpy(padded), "attention_mask": torch.from_numpy(real.astype(np.int64))}

    def normalised(self, totals: torch.Tensor, batch: Sequence[Prepared]) -> torch.Tensor:
        """Normalise summed log-probabilities, shape (n, n_labels), as in the settings."""
        if self.settings.normalize == "none":
            return totals
        if self.settings.normalize == "characters":
            lengths = [[len(answer.strip()) for answer in self.answers]] * len(batch)
        else:
            lengths = [[len(word) for word in row.labels] for row in batch if isinstance(row, PreparedPrompt)]
        return totals / torch.tensor(lengths, dtype=totals.dtype, device=totals.device)


def check_labels(words: Sequence[str], tokens: Sequence[Sequence[int]], unknown: int | None, normalize: str) -> None:
    """Refuse label words that cannot be distinguished by their tokens.

    Two words must not have the same tokens, none or unknown ones, nor, without normalisation, may one word's tokens
    begin another's (the shorter one would always win). A common beginning is harmless: all tokens are scored.
    """
    seen: dict[tuple[int, ...], str] = {}
    for word, ids in zip(words, tokens, strict=True):
        if not len(ids) or (unknown is not None and unknown in ids):
            raise input_error("run", "template", "have label words that the model's tokenizer knows", got=word.strip())
        twin = seen.setdefault(tuple(int(i) for i in ids), word)
        if twin != word:
            must, remedy = "have label words with different tokens", "Use other label words."
            got = f"{twin.strip()} and {word.strip()}, the same {len(ids)} to the model's tokenizer"
            raise input_error("run", "template", must, got=got, remedy=remedy)
    for short, long in permutations(seen, 2) if normalize == "none" else ():
        if len(short) < len(long) and long[: len(short)] == short:
            must = "have no label word that begins another, unless scores are normalised"
            remedy = "The shorter one would always win: `normalize` by tokens, or use other label words."
            got = f"{seen[short].strip()} and {seen[long].strip()}"
            raise input_error("run", "template", must, got=got, remedy=remedy)


_CHUNK = 256
_N_BOUNDARIES = 8
_SHORT = 200  # characters that prompts have in common, below which they are tokenised whole
_WITHOUT_SPECIAL: Any = {"add_special_tokens": False, "return_attention_mask": False, "verbose": False}
#: Steps of tokenizers that cut a text into words from left to right: a word does not depend on the text before it.
_LEFT_TO_RIGHT = frozenset(
    ("ByteLevel", "Split", "Digits", "Punctuation", "Whitespace", "WhitespaceSplit", "BertPreTokenizer", "Sequence")
)


def _takes_words(tokenizer: Any) -> bool:
    """Say if a tokenizer cuts a text into words, each independent of those before it, and merges within them."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None or type(backend.model).__name__ not in ("BPE", "WordPiece", "WordLevel"):
        return False
    normal = backend.normalizer is None or type(backend.normalizer).__name__ in ("NFC", "NFD", "NFKC", "NFKD")
    if not normal or backend.pre_tokenizer is None:
        return False
    first = json.loads(backend.pre_tokenizer.__getstate__())
    steps = [first, *first.get("pretokenizers", ())]
    return all(step["type"] in _LEFT_TO_RIGHT and "(?<" not in str(step.get("pattern")) for step in steps)


class CausalScorer(PromptedModel):
    """A causal language model that scores label words.

    `logits` are the log-probabilities of the label words after the prompt, over all of their tokens; a softmax of them
    is the confidence that S24 uses. The common beginning of all prompts is computed once and kept; a beginning that
    some have in common is computed once in their batch (see `Pack`).
    """

    pads = False
    plans = True
    by_text = True

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.engine = CausalEngine(self.module, share=self.settings.share)
        self.queues = self.engine.stretched_from is None  # else a text sets the positions of the next
        self._opening = [] if self.settings.chat else opening_tokens(self.tokenizer)
        self._beginning = ("", np.array(self._opening, dtype=np.int64))  # of the prompts: tokenised once
        self._labels: tuple[TokenArray, ...] | None = None

    def prepare(self, inputs: Inputs) -> list[Prepared]:
        """Tokenise all prompts. The first call decides which tokens are the shared prefix.

        InputError for label words that cannot be distinguished.
        """
        texts = [choices[0].text for choices in inputs]
        if not all(text.startswith(self._beginning[0] or texts[0]) for text in texts):
            self._beginning = self._cut(texts)
        prepared: list[Prepared] = []
        for start in range(0, len(texts), _CHUNK):
            chunk = texts[start : start + _CHUNK]
            prompts = self._tokens(chunk)
            labels = self._label_tokens(chunk, prompts)
            if not self.engine.prefix_tokens:
                common = min(_n_shared(prompts[0], prompt) for prompt in prompts)
                self.engine.prefix_tokens = tuple(prompts[0][: min(common, len(prompts[0]) - 1)].tolist())
            prefix = np.array(self.engine.prefix_tokens, dtype=np.int64)
            for prompt, words in zip(prompts, labels, strict=True):
                shared = min(_n_shared(prefix, prompt), len(prompt) - 1)
                rest = prompt[shared:].copy()
                n_over = self.n_over(len(prompt) + max(len(word) for word in words))
                prepared.append(PreparedPrompt(len(rest), len(rest), 1, (rest,), None, shared, words, n_over=n_over))
        return prepared

    def _tokens(self, texts: Sequence[str]) -> list[TokenArray]:
        text, tokens = self._beginning
        if not all(prompt.startswith(text) for prompt in texts):
            text, tokens = "", tokens[: len(self._opening)]
        rests = [prompt[len(text) :] for prompt in texts]
        encoded = self._by_backend(rests) if text else self.tokenizer(rests, **_WITHOUT_SPECIAL)["input_ids"]
        return [np.concatenate([tokens, np.array(ids, dtype=np.int64)]) for ids in encoded]

    def _by_backend(self, texts: list[str]) -> list[list[int]]:
        """Return token numbers from the library behind the tokenizer, without computing offsets."""
        backend = self.tokenizer.backend_tokenizer
        return [row.ids for row in backend.encode_batch_fast(texts, add_special_tokens=False)]

    def _cut(self, texts: Sequence[str]) -> tuple[str, TokenArray]:
        """Return a common beginning of all texts, and its tokens, after which a text's tokens are unchanged.

        It ends between two words of a tokenizer that takes words from left to right and merges within them; this is
        checked on some texts. It is empty if a tokenizer may merge across any place.
        """
        opening = np.array(self._opening, dtype=np.int64)
        common = texts[0][: n_common(min(texts), max(texts))]
        if len(common) < _SHORT or not _takes_words(self.tokenizer):
            return "", opening
        some = [texts[0], texts[len(texts) // 2], texts[-1]]
        expected = self.tokenizer(some, **_WITHOUT_SPECIAL)["input_ids"]
        encoding = self.tokenizer.backend_tokenizer.encode(common, add_special_tokens=False)
        for n in range(len(encoding.ids) - _N_BOUNDARIES, max(0, len(encoding.ids) - 4 * _N_BOUNDARIES), -1):
            end = encoding.offsets[n - 1][1]
            if encoding.word_ids[n] != encoding.word_ids[n - 1]:
                rests = self._by_backend([text[end:] for text in some])
                if all([*encoding.ids[:n], *rest] == ids for rest, ids in zip(rests, expected, strict=True)):
                    return common[:end], np.concatenate([opening, np.array(encoding.ids[:n], dtype=np.int64)])
        return "", opening

    def _label_tokens(self, texts: Sequence[str], prompts: list[TokenArray]) -> list[tuple[TokenArray, ...]]:
        """Return the label words in tokens, for each prompt.

        Nearly always a token ends where the prompt does, and the words' tokens are the same after each prompt, which is
        checked on some. Otherwise prompt and answer are tokenised together for every row, and the tokens that all
        answers have in common with the prompt remain the prompt's (which is cut here, in place).
        """
        if self._labels is None:
            some = sorted({round(i * (len(texts) - 1) / (_N_BOUNDARIES - 1)) for i in range(_N_BOUNDARIES)})
            whole = [self._tokens([texts[i] + answer for answer in self.answers]) for i in some]
            labels = tuple(ids[len(prompts[some[0]]) :] for ids in whole[0])
            if all(
                np.array_equal(ids, np.concatenate([prompts[i], word]))
                for i, row in zip(some, whole, strict=True)
                for ids, word in zip(row, labels, strict=True)
            ):
                self._check(labels)
                self._labels = labels
        if self._labels is not None:
            return [self._labels] * len(texts)
        every = []
        for i, text in enumerate(texts):
            row = self._tokens([text + answer for answer in self.answers])
            end = max(1, min(_n_shared(prompts[i], ids) for ids in row))
            every.append(tuple(ids[end:] for ids in row))
            prompts[i] = prompts[i][:end]
            self._check(every[-1])
        return every

    def _check(self, labels: Sequence[TokenArray]) -> None:
        words = [ids.tolist() for ids in labels]
        check_labels(self.answers, words, self.tokenizer.unk_token_id, self.settings.normalize)

    def plan(self, inputs: Inputs, shapes: Sequence[Shape], policy: BatchPolicy) -> list[list[int]]:
        """Form batches of prompts with a common beginning, the longest prompt first, unless the policy shuffles."""
        if policy.order_seed is not None:
            return plan_batches(shapes, replace(policy, max_tokens=policy.max_packed))
        texts, n_tokens = [choices[0].text for choices in inputs], [shape.n_tokens for shape in shapes]
        return plan_packs(texts, n_tokens, max_tokens=policy.max_packed, max_rows=policy.max_rows)

    @torch.inference_mode()
    def logits(self, batch: Sequence[Prepared]) -> torch.Tensor:
        mine = [row for row in batch if isinstance(row, PreparedPrompt)]
        rows = [PromptTokens(r.n_shared, r.sequences[0].tolist(), tuple(w.tolist() for w in r.labels)) for r in mine]
        return self.normalised(self.engine.log_probabilities(rows), batch)


def opening_tokens(tokenizer: Any) -> list[int]:
    """Return the special tokens that a tokenizer puts before a text, such as a beginning-of-text token."""
    plain = tokenizer("a", add_special_tokens=False)["input_ids"]
    full = tokenizer("a")["input_ids"]
    for start in range(len(full) - len(plain) + 1):
        if full[start : start + len(plain)] == plain:
            return [int(token) for token in full[:start]]
    return []


def _n_shared(first: TokenArray, second: TokenArray) -> int:
    """Return the length of the common beginning of two sequences."""
    n = min(len(first), len(second))
    differing = np.flatnonzero(first[:n] != second[:n])
    return int(differing[0]) if len(differing) else n


class Seq2SeqModel(PromptedModel):
    """The base of sequence-to-sequence models that score and that write.

    The encoder reads in both directions: prompts cannot share a common beginning, as they do with causal models,
    without changing the answers.
    """

    _labels: tuple[TokenArray, ...] = ()

    def prepare(self, inputs: Inputs) -> list[Prepared]:
        if not inputs:
            return []
        options = {"add_special_tokens": not self.settings.chat, "return_attention_mask": False, "verbose": False}
        encoded = self.tokenizer([choices[0].text for choices in inputs], **options)["input_ids"]
        arrays = [np.array(ids, dtype=np.int64) for ids in encoded]
        labels = self._labels
        return [PreparedPrompt(len(a), len(a), 1, (a,), None, 0, labels, n_over=self.n_over(len(a))) for a in arrays]


class Seq2SeqScorer(Seq2SeqModel):
    """A sequence-to-sequence model that scores label words; `logits` as in `CausalScorer`.

    Each prompt is encoded once, and every label word is scored after it.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        tokenizer, words = self.tokenizer, self.settings.prompt.template.words
        encoded = tokenizer(list(words), add_special_tokens=False, return_attention_mask=False)["input_ids"]
        check_labels(words, encoded, tokenizer.unk_token_id, self.settings.normalize)
        self._labels = tuple(np.array(ids, dtype=np.int64) for ids in encoded)
        configs = (self.module.config, self.module.generation_config)
        starts = [getattr(config, "decoder_start_token_id", None) for config in configs]
        start = next((start for start in starts if start is not None), None)
        if start is None:
            must = "name a `decoder_start_token_id` in its configuration"
            raise input_error("load_model", "model", must, got=self.identity.get("model"))
        self._start = int(start)

    @torch.inference_mode()
    def logits(self, batch: Sequence[Prepared]) -> torch.Tensor:
        device = self.module.device
        prompts = {name: tensor.to(device) for name, tensor in self.collate(batch).items()}
        states = self.module.get_encoder()(**prompts, return_dict=True).last_hidden_state
        beginnings = list(dict.fromkeys((self._start, *word[:-1].tolist()) for word in self._labels))
        width = max(map(len, beginnings))
        decoder = torch.tensor([[*b, *[self._start] * (width - len(b))] for b in beginnings], device=device)
        n, k = len(batch), len(beginnings)
        encoded = BaseModelOutput(last_hidden_state=states.repeat_interleave(k, dim=0))
        inputs = {"encoder_outputs": encoded, "attention_mask": prompts["attention_mask"].repeat_interleave(k, dim=0)}
        logits = self.module(**inputs, decoder_input_ids=decoder.repeat(n, 1), use_cache=False).logits.float()
        probable = logits.log_softmax(dim=-1).view(n, k, width, -1)
        columns = []
        for word in self._labels:
            place = beginnings.index((self._start, *word[:-1].tolist()))
            steps, tokens = torch.arange(len(word)), torch.from_numpy(word)
            columns.append(probable[:, place, steps, tokens].sum(dim=-1))
        return self.normalised(torch.stack(columns, dim=1), batch)


#: Generation settings without which a token's probability is the model's own, and a cache may be given.
_PLAIN: Json = {"repetition_penalty": 1.0, "no_repeat_ngram_size": 0, "min_length": 0, "cache_implementation": None}
_ROOM = 64  # tokens for which keys and values of an answer find room at a time


@dataclass(frozen=True)
class GenerationSettings:
    """How texts are written: greedily, by beams, or sampled at a `temperature`.

    Batches are sampled in order, so that the result also depends on `batch_rows`.
    """

    n: int = 1  # texts for each prompt
    max_new_tokens: int = 40  # of one text
    num_beams: int = 1  # 1 for greedy search or sampling
    temperature: float | None = None  # None for greedy or beam search
    top_k: int | None = None  # sample among this many most probable tokens
    top_p: float | None = None  # sample among the most probable tokens with this total probability
    seed: int = 0  # of the sampling
    batch_rows: int = 16  # prompts a batch; halved if memory does not suffice
    more: Json | None = None  # further arguments of transformers' ``generate``


def generate(language: LanguageModel, texts: Sequence[str], settings: GenerationSettings) -> list[list[str]]:
    """Let a language model continue texts (causal) or answer them (sequence-to-sequence); `texts` are whole prompts.

    Returns for each, in order, `settings.n` texts without special tokens; a causal model's do not repeat the prompt.
    InputError for a prompt that alone exceeds the memory, numbers that are not finite, and greedy search for several
    texts.
    """
    if settings.n > 1 and settings.temperature is None and settings.num_beams < settings.n:
        must = f"be {settings.n} or more, or a `temperature` be given"
        raise input_error("generate", "num_beams", must, got=settings.num_beams)
    arguments: dict[str, object] = {"num_beams": settings.num_beams, "do_sample": settings.temperature is not None}
    arguments |= {"max_new_tokens": settings.max_new_tokens, "num_return_sequences": settings.n}
    if settings.temperature is not None:
        arguments |= {"temperature": settings.temperature, "top_k": settings.top_k or 0, "top_p": settings.top_p or 1.0}
    arguments |= settings.more or {}
    tokenizer, causal = language.tokenizer, language.kind == "causal"
    opening = opening_tokens(tokenizer) if causal else []
    encoded = tokenizer(list(texts), add_special_tokens=not causal, return_attention_mask=False, verbose=False)
    tokens = [np.array([*opening, *ids], dtype=np.int64) for ids in encoded["input_ids"]]
    order = sorted(range(len(texts)), key=lambda i: (-len(tokens[i]), i))
    written: dict[int, list[str]] = {}
    with torch.random.fork_rng(), torch.inference_mode():
        torch.manual_seed(settings.seed)
        for start in range(0, len(order), settings.batch_rows):
            batch = order[start : start + settings.batch_rows]
            out = _generate_batch(language, [tokens[i] for i in batch], arguments)
            for place, i in enumerate(batch):
                of_one = out[place * settings.n : (place + 1) * settings.n]
                written[i] = [str(text) for text in tokenizer.batch_decode(of_one, skip_special_tokens=True)]
    return [written[i] for i in range(len(texts))]


def _generate_batch(language: LanguageModel, rows: Sequence[TokenArray], arguments: Json) -> list[Any]:
    """Return new tokens for each row, `num_return_sequences` in turn; in halves if memory does not suffice."""
    module, tokenizer, causal = language.module, language.tokenizer, language.kind == "causal"
    pad = next((token for token in (tokenizer.pad_token_id, *stop_tokens(module, tokenizer)) if token is not None), 0)
    watch = _Watch(module, tokenizer)
    steps = LogitsProcessorList([watch, *arguments.get("logits_processor", ())])
    options = {**arguments, "pad_token_id": pad, "logits_processor": steps}
    try:
        padded, real = pad_sequences(rows, pad, left=causal)
        ids, mask = (torch.from_numpy(a).to(module.device) for a in (padded, real.astype(np.int64)))
        out = module.generate(input_ids=ids, attention_mask=mask, **options)
    except (RuntimeError, MemoryError) as problem:
        _refuse_spoilt(watch)  # drawing by numbers that are not finite fails
        if not (isinstance(problem, MemoryError) or should_reduce_batch_size(problem)):
            raise
        if len(rows) == 1:
            got = f"a prompt of {len(rows[0])} tokens"
            raise input_error("generate", "texts", "fit in memory one at a time", got=got) from None
        out = None
    if out is None:  # only here is the exception gone, and with it the memory that its frames held
        clear_device_cache()
        half = len(rows) // 2
        return _generate_batch(language, rows[:half], arguments) + _generate_batch(language, rows[half:], arguments)
    _refuse_spoilt(watch)
    return list(out[:, padded.shape[1] :] if causal else out)


def _refuse_spoilt(watch: _Watch) -> None:
    if watch.spoilt.any():
        raise input_error("generate", "language", "compute finite numbers", remedy=NOT_FINITE_REMEDY)


def stop_tokens(module: Any, tokenizer: Any) -> list[int]:
    """Return the tokens that end a text, from a model's generation settings or else its tokenizer."""
    stop = getattr(module.generation_config, "eos_token_id", None)
    stop = tokenizer.eos_token_id if stop is None else stop
    return [] if stop is None else [int(t) for t in stop] if isinstance(stop, list) else [int(stop)]


class CausalWriter(CausalScorer):
    """A causal language model that writes its answer after the shared prefix.

    At every place it takes the most probable token, or draws one if there is a temperature (see `Draws`).
    """

    pads = True
    by_text = False
    writes = True

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._prefix: Prefix | None = None
        self._checked = not self.settings.share

    def _label_tokens(self, texts: Sequence[str], prompts: list[TokenArray]) -> list[tuple[TokenArray, ...]]:
        """Return as many places as an answer may take: they count for the window only."""
        return [(np.zeros(self.settings.longest_answer, dtype=np.int64),)] * len(texts)

    def plan(self, inputs: Inputs, shapes: Sequence[Shape], policy: BatchPolicy) -> list[list[int]]:
        """Form batches of one length: sliding windows would see padding between a prompt and its answer.

        If the policy shuffles, lengths are mixed, and `write` splits a batch by length.
        """
        return plan_batches(shapes, replace(policy, batch_cost=0.0) if policy.order_seed is None else policy)

    @torch.inference_mode()
    def write(self, batch: Sequence[Prepared]) -> list[WrittenAnswer | None]:
        rows = [row for row in batch if isinstance(row, PreparedPrompt)]
        by_length: dict[tuple[int, int], list[int]] = {}
        for place, row in enumerate(rows):
            by_length.setdefault((row.n_shared, len(row.sequences[0])), []).append(place)
        written: dict[int, WrittenAnswer | None] = {}
        for (n_shared, _), places in by_length.items():
            shared = self.engine.prefix_tokens[:n_shared]
            whole = [[*shared, *rows[place].sequences[0].tolist()] for place in places]
            ids = torch.tensor(whole, device=self.module.device)
            stretched = self.engine.is_stretched(len(whole[0]))
            if not self._checked and not stretched:
                self._checked = self._check_sharing(n_shared, ids[:1])
            inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
            if self._prefix is not None and n_shared and not stretched:
                inputs[self.engine.cache_name] = self._prefix.first(n_shared, kind=GrowingLayer)
            stop = stop_tokens(self.module, self.tokenizer)
            answers = _write(self, whole, ids.shape[1], **inputs, pad_token_id=stop[0] if stop else 0)
            written |= dict(zip(places, answers, strict=True))
        return [written[place] for place in range(len(rows))]

    def _check_sharing(self, n_shared: int, whole: torch.Tensor) -> bool:
        """Keep the prefix if logits behind it are those of the whole prompt; return if that could be checked."""
        if not self.engine.prefix_tokens:
            return True

        def expected() -> torch.Tensor:
            logits: torch.Tensor = self.module(input_ids=whole, use_cache=False).logits[:, -1].float()
            return logits

        def difference(prefix: Prefix | None) -> float:
            assert prefix is not None  # there are tokens of it
            self._prefix, cache = prefix, prefix.first(n_shared, kind=GrowingLayer)
            places = torch.arange(n_shared, whole.shape[1], device=whole.device)[None]
            inputs = {"input_ids": whole[:, n_shared:], "attention_mask": torch.ones_like(whole)}
            inputs |= {"position_ids": places, self.engine.cache_name: cache}
            logits = self.module(**inputs, use_cache=True).logits
            return float((logits[:, -1].float() - expected()).abs().max())

        if bool(_not_finite(expected())):
            return False
        try:
            agrees, changed = check_sharing(self.module, self.engine.prefix_tokens, difference)
            why = f"differs by {changed:.2g}"
        except CANNOT as problem:
            if should_reduce_batch_size(problem):
                raise
            agrees, why = False, type(problem).__name__
        if not agrees:
            self._prefix = None
            warn_of_no_sharing(self.module, why)
        return True


def _not_finite(logits: torch.Tensor) -> torch.Tensor:
    """Return which rows of logits are nan or infinite; impossible tokens (minus infinity) are allowed."""
    return ~(logits < torch.inf).all(dim=-1)


def _write(
    model: CausalScorer | Seq2SeqModel, prompts: Sequence[Sequence[int]], n_before: int, **inputs: Any
) -> list[WrittenAnswer | None]:
    """Let transformers write answers to prompts in tokens, behind `n_before` places; None where numbers are not finite.

    The tokens are drawn, or the most probable ones: what the model's own generation settings say does not count.
    """
    options: Json = {"max_new_tokens": model.settings.longest_answer, "do_sample": False, "num_beams": 1, **_PLAIN}
    template = model.settings.prompt.template
    if template.stop:
        options = {**options, "stop_strings": [template.stop], "tokenizer": model.tokenizer}
    watch = _Watch(model.module, model.tokenizer)
    draws = Draws.of(model.settings, prompts)
    steps = LogitsProcessorList([watch] if draws is None else [watch, draws])
    out = model.module.generate(**inputs, **options, logits_processor=steps)[:, n_before:].tolist()
    stop, answers = stop_tokens(model.module, model.tokenizer), list[WrittenAnswer | None]()
    for tokens, is_spoilt in zip(out, watch.spoilt.tolist(), strict=True):
        ids = [*takewhile(lambda token: token not in stop, tokens)]
        text, cut = model.tokenizer.decode(ids, skip_special_tokens=True), len(ids) == model.settings.longest_answer
        answers.append(None if is_spoilt else template.read(text, cut=cut))
    return answers


class _Watch(LogitsProcessor):  # type: ignore[misc]
    """Records which rows of a batch had numbers not finite (`spoilt`) before a token that ends an answer."""

    def __init__(self, module: Any, tokenizer: Any) -> None:
        pad = [] if tokenizer.pad_token_id is None else [tokenizer.pad_token_id]
        self._ends = torch.tensor([*stop_tokens(module, tokenizer), *pad], device=module.device)
        self.spoilt = self._ended = torch.tensor(False, device=module.device)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the scores as they are."""
        if self.spoilt.ndim:  # else the last token is the prompt's
            self._ended = self._ended | torch.isin(input_ids[:, -1], self._ends)
        self.spoilt = self.spoilt | (_not_finite(scores) & ~self._ended)
        return scores


class Seq2SeqWriter(Seq2SeqModel):
    """A sequence-to-sequence model that writes its answer, as `CausalWriter` does."""

    writes = True

    @torch.inference_mode()
    def write(self, batch: Sequence[Prepared]) -> list[WrittenAnswer | None]:
        prompts = {name: tensor.to(self.module.device) for name, tensor in self.collate(batch).items()}
        return _write(self, [row.sequences[0].tolist() for row in batch], 1, **prompts)


class Draws(LogitsProcessor):  # type: ignore[misc]
    """Draws the next tokens of a batch, each row by its own random numbers, which its prompt and the seed decide.

    An answer does not depend on the rest of its batch, nor on the process that writes it; in another batch it differs
    by rounding alone. A token is drawn if the row's number of that place falls into its share of the distribution
    function: `numbers` are in [0, 1), of shape (n_rows, n_places). Used once a batch, because places are counted.
    """

    def __init__(self, temperature: float, numbers: NDArray[np.float64]) -> None:
        self._temperature, self._numbers, self._place = temperature, torch.from_numpy(numbers), 0

    @classmethod
    def of(cls, settings: PromptSettings, prompts: Sequence[Sequence[int]]) -> Draws | None:
        """Return the draws of prompts in tokens; None if the most probable tokens are taken."""
        if not settings.temperature > 0:
            return None
        digests = [hashlib.sha256(np.array(ids, dtype="<i8").tobytes()).digest() for ids in prompts]
        seeds = [[settings.seed, int.from_bytes(digest[:16], "big")] for digest in digests]
        numbers = [np.random.default_rng(seed).random(settings.longest_answer) for seed in seeds]
        return cls(settings.temperature, np.array(numbers))

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return scores that are finite for the drawn token only."""
        shares = torch.softmax(scores.cpu().double() / self._temperature, dim=-1).cumsum(dim=-1)  # MPS has no float64
        wanted = self._numbers[:, self._place, None] * shares[:, -1:]
        self._place += 1
        drawn = torch.searchsorted(shares, wanted, right=True).clamp(max=scores.shape[-1] - 1)
        return torch.full_like(scores, -torch.inf).scatter(1, drawn.to(scores.device), 0.0)


class GrowingLayer(FrozenLayer):
    """One layer of a prefix, copied once for every row, and behind it the keys and values that each row adds.

    New ones are written into the room behind them, so that a token moves its own bytes only.
    """

    def __init__(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        super().__init__(keys, values)
        self._grown: tuple[torch.Tensor, torch.Tensor] | None = None
        self._n = super().get_seq_length()

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        old, n = self._grown or (self.keys, self.values), self._n
        self._n += int(key_states.shape[-2])
        if self._grown is None or self._n > self._grown[0].shape[-2]:
            more = (0, 0, 0, self._n - n + _ROOM)
            keys, values = (states[:, :, :n].expand(len(key_states), -1, -1, -1) for states in old)
            self._grown = torch.nn.functional.pad(keys, more), torch.nn.functional.pad(values, more)
        for all_states, states in zip(self._grown, (key_states, value_states), strict=True):
            all_states[:, :, n : self._n] = states
        return self._grown[0][:, :, : self._n], self._grown[1][:, :, : self._n]

    def get_seq_length(self) -> int:
        return self._n
