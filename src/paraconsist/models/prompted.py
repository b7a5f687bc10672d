"""Language models that get a prompt for each row, and score the label words after it."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from transformers.modeling_outputs import BaseModelOutput

from paraconsist.data.tasks import ModelInput, Task
from paraconsist.errors import InputError, first_line, input_error
from paraconsist.models.batching import BatchPolicy, Shape, plan_batches
from paraconsist.models.causal_engine import CausalEngine, PromptTokens, n_common, plan_packs
from paraconsist.models.classifier import Classifier, Inputs, Prepared, TokenArray, pad_sequences
from paraconsist.models.endpoint.protocol import without_system
from paraconsist.models.endpoint.settings import PromptSettings

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
                common = _n_shared(prompts[0], prompts[-1])
                common = min([common, *(_n_shared(prompts[0], prompt) for prompt in prompts)])
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
        encode = getattr(backend, "encode_batch_fast", backend.encode_batch)
        return [row.ids for row in encode(texts, add_special_tokens=False)]

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
