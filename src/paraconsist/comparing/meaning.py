"""Comparers of what answers mean, by a model: `similar` (sentence vectors), `nli` (entailment) and `judge`."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from functools import cache, partial
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.comparing.comparer import Comparer, ComparerSpec, Floats
from paraconsist.comparing.rehearsal import is_rehearsal
from paraconsist.comparing.words import normalised, shared_words
from paraconsist.data.foreign import read_yaml, valid_text, without_reasoning
from paraconsist.data.prompts import Prompt, PromptTemplate
from paraconsist.data.tasks import Task, get_task
from paraconsist.errors import InputError, extras, input_error, plural, renamed
from paraconsist.measures.edit_effects import SMALL_NUMBERS
from paraconsist.models.endpoint.settings import PromptSettings

if TYPE_CHECKING:
    from paraconsist.models.classifier import Classifier

_Encode = Callable[[Sequence[str]], NDArray[np.floating[Any]]]

# similarity = (share of the words + .3 cosine) / 1.3, with the share that `tokens` takes; .3 times that, which is below
# the threshold, where the texts have numbers, and none in common. The threshold agrees best with people's verdicts on
# 15,098 answers (benchmarks/comparers.py); weights from .2 to .8 change the area under the curve by less than .001.
_WEIGHT = _OF_OTHER_NUMBERS = 0.3
_THRESHOLD = 0.4 / (1.0 + _WEIGHT)
_SMALL = {word: number for word, number in SMALL_NUMBERS.items() if 2 <= number <= 10}
_NUMBER = re.compile(r"-?\d{0,300}\.?\d{1,300}")
_BLOCK = 4096


def _similar_comparer(argument: str) -> Comparer:
    encode = _encoder(argument) if argument else _word_vectors()

    def similarity(first: Sequence[str], second: Sequence[str], *, reference: bool = False) -> Floats:
        plain = [normalised(text) for text in first], [normalised(text) for text in second]
        shares = shared_words(*plain, reference=reference)
        alike = (shares + _WEIGHT * _cosines(encode, first, second)) / (1.0 + _WEIGHT)
        other = _other_numbers(*plain, reference=reference)
        return np.clip(np.where(other, _OF_OTHER_NUMBERS * alike, alike), 0.0, 1.0)

    return Comparer(_stripped, similarity, partial(similarity, reference=True), threshold=_THRESHOLD)


def _other_numbers(first: Sequence[str], second: Sequence[str], *, reference: bool) -> NDArray[np.bool_]:
    """Return where `second` has numbers and `first` none of these, shape (m,); `first` must have others if it is no
    answer that is held against a reference."""

    def numbers(text: str) -> set[str | int | Fraction]:
        words = [word for word in text.split() if word in _SMALL or word.lstrip("-.")[:1].isdecimal()]
        return {Fraction(word) if _NUMBER.fullmatch(word) else _SMALL.get(word, word) for word in words}

    pairs = [(numbers(a), numbers(b)) for a, b in zip(first, second, strict=True)]
    return np.array([bool(b) and (bool(a) or reference) and not a & b for a, b in pairs], dtype=np.bool_)


def _stripped(answer: str, _: Sequence[str] | None) -> str | None:
    """Return an answer that tokenisers and endpoints take: lone surrogates, which UTF-8 does not have, are replaced."""
    return valid_text(answer).strip() or None


def _cosines(encode: _Encode, first: Sequence[str], second: Sequence[str]) -> Floats:
    """Return the cosines of the vectors of m texts with those of m others; 0 where one has no direction."""
    places = {text: i for i, text in enumerate(dict.fromkeys([*first, *second]))}
    vectors = np.asarray(encode(list(places)), dtype=np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= np.where(lengths > 0.0, lengths, 1.0)
    a, b = (np.array([places[text] for text in texts], dtype=np.intp) for texts in (first, second))
    blocks = [slice(start, start + _BLOCK) for start in range(0, len(a), _BLOCK)]
    return np.concatenate([np.einsum("ij,ij->i", vectors[a[block]], vectors[b[block]]) for block in blocks])


@cache
def _word_vectors() -> _Encode:
    """Return the mean of the vectors of a text's tokens, from the wheel of WordLlama, which needs no network.

    Its files are read here: the package itself looks for them elsewhere and then on the Hub, and sets up logging.
    """
    with extras("compare_answers"):
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer
    spec = find_spec("wordllama")
    home = Path(next(iter(spec.submodule_search_locations or ()))) if spec is not None else None
    weights = home / "weights" / "l2_supercat_256.safetensors" if home is not None else None
    if home is None or weights is None or not weights.is_file():
        remedy = "pip install wordllama, or name an encoder: similar:ORG/MODEL."
        raise input_error("compare_answers", "same", "have its word vectors", got="similar", remedy=remedy)
    table: NDArray[np.float32] = load_file(weights)["embedding.weight"].astype(np.float32)
    tokenizer = Tokenizer.from_file(str(home / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        encoded = (one.ids for one in tokenizer.encode_batch(list(texts), add_special_tokens=False))
        return np.stack([table[ids].mean(axis=0) if ids else np.zeros(table.shape[1], np.float32) for ids in encoded])

    return encode


@cache
def _encoder(name: str) -> _Encode:
    """Return the mean of the last hidden states of a Hub model or a folder, computed on the CPU."""
    with extras("compare_answers"):
        import torch
        from transformers import AutoModel, AutoTokenizer
    try:
        tokenizer, model = AutoTokenizer.from_pretrained(name), AutoModel.from_pretrained(name, use_safetensors=True)
    except (OSError, ValueError) as problem:
        remedy = f"It said: {str(problem).splitlines()[0]}"
        raise input_error("compare_answers", "same", "name an encoder after similar", got=name, remedy=remedy) from None
    model.eval()

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        vectors: dict[int, NDArray[np.float32]] = {}
        for start in range(0, len(order), 32):
            places = order[start : start + 32]
            batch = tokenizer([texts[i] for i in places], padding=True, truncation=True, return_tensors="pt")
            with torch.inference_mode():
                states = model(**batch).last_hidden_state
            mask = batch["attention_mask"].unsqueeze(-1)
            pooled = (states * mask).sum(1) / mask.sum(1).clamp(min=1)
            vectors |= dict(zip(places, pooled.float().numpy(), strict=True))
        return np.stack([vectors[i] for i in range(len(texts))])

    return encode


def _nli_comparer(model: str) -> Comparer:
    """Return a comparer by a model of natural language inference: the smaller probability of the two entailments."""
    if not model:
        remedy = "Such as nli:cross-encoder/nli-deberta-v3-base, or a folder that paraconsist train wrote."
        raise input_error("compare_answers", "same", "name a model after nli", got="nli", remedy=remedy)
    with extras("compare_answers"):
        from paraconsist.models.loading import load_model
    classifier = load_model(model, task=get_task("nli"))
    names = [name.lower() for name in classifier.label_names]
    if "entailment" not in names:
        must = "name a model with a label called entailment"
        raise input_error("compare_answers", "same", must, got=list(classifier.label_names))
    return _in_both_orders(classifier, get_task("nli"), names.index("entailment"))


def _plui_comparer(model: str) -> Comparer:
    """Return a comparer by a language model: the smaller probability of Yes against No in the two orders.

    After ParaPLUIE (Lemesle et al. 2025), whose log-odds of Yes above 0 are a probability above 1/2. Models that have
    a chat template are asked in a chat.
    """
    if not model:
        remedy = "Such as plui:Qwen/Qwen2.5-7B-Instruct, or a folder."
        raise input_error("compare_answers", "same", "name a model after plui", got="plui", remedy=remedy)
    with extras("compare_answers"):
        from paraconsist.models.loading import load_model
        from paraconsist.models.prompted import PromptedModel
    question = TEXTS_PROMPT.format(first="{sentence_1}", second="{sentence_2}") + "\nAnswer:"
    task, labels = get_task("paraphrase_identification"), {"not_paraphrase": "No", "paraphrase": "Yes"}
    settings = PromptSettings(Prompt(PromptTemplate("plui", task.name, question, labels)))
    classifier = load_model(model, task=task, ask=lambda: settings)
    if not isinstance(classifier, PromptedModel):
        remedy = "A classifier of pairs is no language model."
        raise input_error("compare_answers", "same", "name a language model after plui", got=model, remedy=remedy)
    if getattr(classifier.tokenizer, "chat_template", None):
        classifier = classifier.with_settings(replace(settings, chat=True))
    return _in_both_orders(classifier, task, list(labels).index("paraphrase"), _quoted)


def _in_both_orders(classifier: Classifier, task: Task, label: int, shown: Callable[[str], str] = str) -> Comparer:
    """Return a comparer of texts, as they are `shown`: the smaller probability of a label in the two orders."""
    import torch

    from paraconsist.models.batching import BatchPolicy, plan_batches

    if (device := torch.accelerator.current_accelerator(check_available=True)) is not None:
        classifier.module.to(device)
    policy = BatchPolicy.for_device("cpu" if device is None else device.type)

    def shares(first: Sequence[str], second: Sequence[str]) -> Floats:
        pairs = zip(map(shown, first), map(shown, second), strict=True)
        inputs = [classifier.encode(task, dict(zip(task.columns, pair, strict=True))) for pair in pairs]
        prepared, found = classifier.prepare(inputs), np.zeros(len(inputs))
        if too_long := [row for row in prepared if row.n_over]:
            raise classifier.window_error(too_long)
        for places in classifier.plan(inputs, prepared, policy) if classifier.plans else plan_batches(prepared, policy):
            with torch.inference_mode():
                logits = classifier.logits([prepared[i] for i in places])
            found[places] = logits.double().cpu().softmax(dim=1)[:, label].numpy()
        return found

    def both_orders(first: Sequence[str], second: Sequence[str]) -> Floats:
        return np.minimum(shares(first, second), shares(second, first))

    return Comparer(_stripped, both_orders, threshold=0.5, is_cheap=False)


def _asked(name: str) -> str:
    return files("paraconsist.comparing").joinpath(name).read_text(encoding="utf-8").rstrip()


#: What a judge is asked. Texts stand in it as JSON, so that an answer cannot end its quotation and give orders.
PROMPT = _asked("judge.txt")
#: The same of a text and its rewording, such as two questions.
TEXTS_PROMPT = _asked("judge_texts.txt")


def comparer_of_texts(named: str) -> Comparer:
    """Return the comparer of texts with their rewordings by the name of a check; all look in both orders."""
    name, _, argument = named.partition(":")
    makers = {"nli": _nli_comparer, "plui": _plui_comparer, "similar": _similar_comparer}
    makers["judge"] = partial(_judge_comparer, usual_prompt=TEXTS_PROMPT)
    if name not in makers:
        must = "be nli:MODEL, plui:MODEL, judge:FILE or similar"
        raise input_error("compare_answers", "same", must, got=named)
    return makers[name](argument)


_quoted = partial(json.dumps, ensure_ascii=False)  # escapes every control character, of the first 128


def _tell(paid: str) -> None:
    warnings.warn(f"the judge {paid}", UserWarning, stacklevel=2)


def _verdict(answer: str) -> bool | None:
    """Return whether a judge says yes, by its first word, or its last if it names one of yes and no; None for neither.

    >>> _verdict("**Yes**, both do."), _verdict("My answer is no."), _verdict("I cannot say yes or no.")
    (True, False, None)
    """
    words = re.findall(r"[^\W_]+", without_reasoning(answer).casefold()) or [""]
    named = {"yes", "no"} & {*words}
    word = words[0] if words[0] in named or len(named) > 1 else words[-1]
    return word == "yes" if word in named else None


def _judge_comparer(argument: str, usual_prompt: str = PROMPT) -> Comparer:
    """Return a comparer by a language model behind an endpoint; the same is what it says in both orders.

    `argument` is a YAML file with ``model``, ``endpoint`` and, as need be, ``prompt`` (with ``{first}`` and
    ``{second}``), ``cache`` (a folder, by default beside the file) and other fields of an endpoint.
    """
    must = "have a YAML file with model and endpoint after judge, such as judge:judge.yaml"
    if not argument:
        raise input_error("compare_answers", "same", must, got="judge")
    from paraconsist.models.endpoint.client import Meter
    from paraconsist.models.endpoint.queue import Journal, write_texts
    from paraconsist.models.endpoint.settings import EndpointSettings
    from paraconsist.models.prompted import GenerationSettings

    given = read_yaml("compare_answers", "same", argument)
    known = {"model", "endpoint", "prompt", "cache", *(field.name for field in fields(EndpointSettings))} - {"urls"}
    if not isinstance(given, Mapping) or not {"model", "endpoint"} <= set(given) or not set(given) <= known:
        remedy = f"It may have {', '.join(sorted(known))}."
        raise input_error("compare_answers", "same", must, got=argument, remedy=remedy)
    options = {"api": "chat", **given}
    model, url, prompt = str(options.pop("model")), options.pop("endpoint"), str(options.pop("prompt", usual_prompt))
    cache_folder = Path(str(options.pop("cache", Path(argument).with_suffix(".answers"))))
    if "{first}" not in prompt or "{second}" not in prompt:
        raise input_error("compare_answers", "same", "have {first} and {second} in its prompt", got=prompt)
    try:
        settings = EndpointSettings(url, **options).priced([model])
    except (InputError, TypeError) as problem:
        must = "name a file whose fields are as those of an endpoint"
        raise input_error("compare_answers", "same", must, got=argument, remedy=str(problem)) from None
    about = f" This is about the judge, of {argument}."  # the answers' own model may be behind another endpoint
    meter, sampling = Meter(settings, about), GenerationSettings(max_new_tokens=8)
    say = None if settings.prices is None else lambda line: _tell(f"will be paid: {line}")

    def verdicts(first: Sequence[str], second: Sequence[str]) -> Floats:
        texts = [
            prompt.replace("{first}", "\x00").replace("{second}", b).replace("\x00", a)
            for a, b in zip(map(_quoted, first), map(_quoted, second), strict=True)
        ]
        before = meter.n_requests
        cache_folder.mkdir(parents=True, exist_ok=True)
        try:
            with renamed(output="same"), Journal(cache_folder) as journal:
                how = partial(write_texts, journal=journal, meter=meter, say=say)
                written = how(settings, model, texts, sampling, reads=lambda text: _verdict(text) is not None)
        except InputError as problem:
            problem.remedy += about
            raise
        if settings.prices and meter.n_requests > before:
            _tell(f"was asked: {meter.spent}")
        if unread := [text for (text,) in written if _verdict(text) is None]:
            what = f"gave {len(unread):,} of {plural(len(texts), 'verdict')}, such as {unread[0][:80]!r}"
            _tell(what := f"{what}, that say neither yes nor no, and count as no")
            comparer.notes.append(f"the judge {what}")
        return np.array([_verdict(text) or False for (text,) in written], dtype=np.float64)

    def both_orders(first: Sequence[str], second: Sequence[str]) -> Floats:
        if is_rehearsal():
            return np.zeros(len(first))
        both = verdicts([*first, *second], [*second, *first])
        return (both[: len(first)] + both[len(first) :]) / 2.0

    comparer = Comparer(_stripped, both_orders, is_cheap=False)
    return comparer


SIMILAR = ComparerSpec(
    name="similar",
    title="words (as tokens counts them) and vectors are alike: (share + .3 cosine) / 1.3 >= .31; numbers agree",
    make=_similar_comparer,
    argument="an encoder, by default WordLlama's word vectors",
    needs="wordllama and safetensors, or the extra run",
    unread="empty texts",
    is_transitive=False,
)
NLI = ComparerSpec(
    name="nli",
    title="a model of natural language inference finds that each entails the other (probabilities above 1/2)",
    make=_nli_comparer,
    argument="the model",
    needs="the extra run",
    unread="empty texts",
    is_transitive=False,
)
JUDGE = ComparerSpec(
    name="judge",
    title="a language model says so, asked in both orders",
    make=_judge_comparer,
    argument="a YAML file with model and endpoint",
    needs="an endpoint",
    unread="empty texts",
    is_transitive=False,
)
