"""The candidates that are kept: filters on the texts, checks of their meaning, and the loop that asks again."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from paraconsist.data.sharing import public_comparer
from paraconsist.data.tasks import get_task
from paraconsist.errors import input_error, renamed
from paraconsist.measures.diversity import bare_words, jaccard
from paraconsist.models.labels import normalise_label
from paraconsist.running.predictor import Predictor
from paraconsist.transforms.lexicon import english
from paraconsist.transforms.paraphrase.generators import Cut, Generator, GeneratorSettings, call
from paraconsist.transforms.paraphrase.kept import is_in_another, language_of, lost

#: (originals, candidates) -> whether each pair means the same.
Judge: TypeAlias = Callable[[Sequence[str], Sequence[str]], npt.NDArray[np.bool_]]

_NOT_ENTAILED, _CUT = "not entailed both ways", "breaks off"


class Examined(NamedTuple):
    """A candidate that was kept or left out."""

    original: str
    candidate: str
    reason: str | None  # why it was left out
    note: str = ""  # what a check of the meaning said


@dataclass
class Refined:
    """Accepted candidates, and the reasons against the others."""

    accepted: dict[str, list[str]]  # original -> its paraphrases, in the order of generation
    reasons: Counter[str] = field(default_factory=Counter)  # reason -> candidates left out for it
    n_candidates: int = 0  # that the generator returned
    n_calls: int = 0  # of the generator
    n_unused: int = 0  # candidates that were not examined, because there were enough
    examined: list[Examined] = field(default_factory=list)

    @property
    def n_accepted(self) -> int:
        return sum(map(len, self.accepted.values()))

    @property
    def n_judged(self) -> int:
        """Candidates that were kept or left out for a reason."""
        return self.n_accepted + sum(self.reasons.values())

    def add(self, one: Examined) -> None:
        """Keep a candidate, or leave it out for a reason, which is counted without what follows its colon."""
        self.examined.append(one)
        if one.reason is None:
            self.accepted[one.original].append(one.candidate)
        else:
            self.reasons[one.reason.partition(":")[0]] += 1

    @property
    def acceptance_rate(self) -> float:
        """Kept candidates over those examined, in [0, 1]; nan without any."""
        return self.n_accepted / self.n_judged if self.n_judged else float("nan")

    def to_dict(self) -> dict[str, object]:
        return {
            "n_originals": len(self.accepted),
            "n_accepted": self.n_accepted,
            "acceptance_rate": self.acceptance_rate,
            "n_candidates": self.n_candidates,
            "n_judged": self.n_judged,
            "n_unused": self.n_unused,
            "n_calls": self.n_calls,
            "left_out": dict(self.reasons.most_common()),
        }


def refine(
    originals: Sequence[str],
    generator: Generator,
    settings: GeneratorSettings,
    judge: Judge | None = None,
    given: Mapping[str, Sequence[str]] | None = None,
) -> Refined:
    """Generate paraphrases until every original has `settings.keep`, or the tries are spent; equal originals are one.

    The judge comes last, and judges only as many candidates of an original at a time as are still missing. A candidate
    that an original has already, among those `given`, is a duplicate.
    """
    for row, text in enumerate(originals):
        if not text.strip():
            remedy = "Leave such rows out of the file."
            raise input_error("paraphrase", "originals", "not be empty", got=text, row=row, remedy=remedy)
    refined = Refined({text: [] for text in originals})
    seen: dict[str, list[str]] = {text: [*(given or {}).get(text, ())] for text in refined.accepted}
    for _ in range(settings.tries):
        lacking = [text for text, kept in refined.accepted.items() if len(kept) < settings.keep]
        if not lacking:
            break
        lists = call(generator, lacking)
        refined.n_calls += 1
        refined.n_candidates += sum(map(len, lists))
        queues = {text: list(candidates) for text, candidates in zip(lacking, lists, strict=True)}
        _judge_in_waves(refined, queues, seen, settings, judge)
        if not any(lists):
            break  # the generator has no further candidates
    if refined.n_candidates and refined.reasons["empty"] == refined.n_candidates:
        got = f"{refined.n_candidates:,} empty texts in {refined.n_calls} calls"
        remedy = "Look at its prompt, and at what it writes for one sentence."
        raise input_error("paraphrase", "generator", "write texts", got=got, remedy=remedy)
    return refined


def _judge_in_waves(
    refined: Refined,
    queues: Mapping[str, list[str]],
    seen: Mapping[str, list[str]],
    settings: GeneratorSettings,
    judge: Judge | None,
) -> None:
    """Judge as many candidates of each original as it lacks, until all have enough or no candidate is left."""
    while True:
        pairs: list[tuple[str, str]] = []
        for original, queue in queues.items():
            lacking = settings.keep - len(refined.accepted[original])
            while lacking > 0 and queue:
                written = queue.pop(0)
                reason = reason_against(candidate := written.strip(), original, seen[original], settings)
                reason = reason or (_CUT if isinstance(written, Cut) else None)
                if reason is not None:
                    refined.add(Examined(original, candidate, reason))
                    continue
                seen[original].append(candidate)
                pairs.append((original, candidate))
                lacking -= 1
        if not pairs:
            break
        holds = judge([o for o, _ in pairs], [c for _, c in pairs]) if judge is not None else [True] * len(pairs)
        for (original, candidate), is_kept in zip(pairs, holds, strict=True):
            reason = None if is_kept else getattr(judge, "reason", _NOT_ENTAILED)
            note = getattr(judge, "notes", {}).get((original, candidate), "")
            refined.add(Examined(original, candidate, reason, note))
    refined.n_unused += sum(map(len, queues.values()))


#: English words of which most sentences have one.
_FUNCTION_WORDS = frozenset(english()["function_words"])
_FEW_WORDS = 2  # differences in length up to this are always allowed
_FEW_LETTERS = 40  # the same in letters, for texts without spaces and words without end
#: What people read as markup or as an item of a list, and characters that no text has.
_MARKUP = re.compile(
    r"^\s*(?:\(?\d+[.)]|[-*+•>]|#{1,6})(?=\s)|\*\*|__|```|</?[a-z][^<>]*>|[\x00-\t\x0b-\x1f\x7f\ud800-\udfff]",
    re.MULTILINE | re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"(?:i['’]m |i am )?(?:very )?sorry\b|i (?:can(?:no|['’])t|am unable to) (?:assist|comply|fulfil|help|provide|re)"
    r"|as an ai\b|(?:es )?tut mir (?:sehr )?leid|leider kann ich|als ki\b|(?:je suis )?désolée?\b|en tant qu['’]ia\b|"
    r"je ne peux pas (?:vous )?(?:aider|fournir|ré|re)|lo siento|no puedo (?:ayudar|proporcionar|re)",
    re.IGNORECASE,
)


def reason_against(candidate: str, original: str, accepted: Collection[str], settings: GeneratorSettings) -> str | None:
    """Return the reason to leave a candidate out; None if its text passes.

    `accepted` are the candidates that were kept or wait to be judged for this original. Copies and duplicates have the
    same words in the same order; case and punctuation do not count. The check of the language is a simple one: only
    letters of the original's scripts, and, where the original has an English function word, one of those or one of the
    original's words in a candidate of four words or more. With a language in the settings, or for whole texts whose
    language can be told, it is py3langid's.
    """
    words, original_words = bare_words(candidate), bare_words(original)
    n_original, known = len(original_words), _FUNCTION_WORDS | set(original_words)
    if not words:
        return "empty"
    if words == original_words:
        return "copy of the original"
    if any(words == bare_words(other) for other in accepted):
        return "duplicate"
    if len(words) < min(settings.shortest * n_original, n_original - _FEW_WORDS):
        return "too short"
    if len(words) > max(settings.longest * n_original, n_original + _FEW_WORDS):
        return "too long"
    language = settings.language or (language_of(original) if settings.whole else None)
    if settings.whole and (reason := _reason_against_whole(candidate, original, language)):
        return reason
    is_foreign = len(words) > 3 and _FUNCTION_WORDS & set(original_words) and not known & set(words)
    if language is not None:
        is_foreign = is_in_another(candidate, language)
    if is_foreign or not scripts(candidate) <= scripts(original):
        return "another language"
    if settings.most_jaccard is not None and jaccard(candidate, original) >= settings.most_jaccard:
        return "words overlap"
    return None


def _reason_against_whole(candidate: str, original: str, language: str | None) -> str | None:
    """Return the reason against a candidate that stands for a whole text, such as a question; None if it passes."""
    if len(candidate) > max(2 * len(original), len(original) + _FEW_LETTERS):
        return "too long"
    if _REFUSAL.match(candidate) and not _REFUSAL.match(original):
        return "a refusal"
    if set(_MARKUP.findall(candidate)) - set(_MARKUP.findall(original)):
        return "markup, or a list"
    if len(candidate.split("\n")) > len(original.split("\n")) or (":" in candidate and ":" not in original):
        return "words before or after the text"
    differences = lost(candidate, original, language)
    return f"lost or changed: {', '.join(differences)}" if differences else None


@lru_cache(maxsize=65536)
def scripts(text: str) -> frozenset[str]:
    """Return the scripts of a text's letters, by the first word of their Unicode names.

    >>> sorted(scripts("Der Hund, собака"))
    ['CYRILLIC', 'LATIN']
    """
    return frozenset(unicodedata.name(letter, "UNKNOWN").split()[0] for letter in set(text) if letter.isalpha())


def entailment_label(label_names: Sequence[str], label_map: dict[str, str] | None = None) -> int:
    """Return the index of a model's label "entailment"; InputError if there is none, or several.

    `label_map` gives the real names (model label -> name) of models whose names have no meaning.
    """
    real_names = {normalise_label(key): value for key, value in (label_map or {}).items()}
    names = [normalise_label(real_names.get(normalise_label(name), name)) for name in label_names]
    if names.count("entailment") != 1:
        must = "have one label called entailment"
        remedy = "Name it with `label_map` MODEL_LABEL=entailment, or take a model trained on inference."
        raise input_error("paraphrase", "nli_model", must, got=list(label_names), remedy=remedy)
    return names.index("entailment")


class MutualEntailment:
    """A judge of pairs by an NLI model: entailment is likeliest in both directions (Arakelyan et al. 2024)."""

    def __init__(self, predictor: Predictor, label_map: dict[str, str] | None = None) -> None:
        if predictor.task != get_task("nli"):
            must = "be asked about premise and hypothesis"
            raise input_error("paraphrase", "nli_model", must, got=predictor.task.name)
        self.predictor = predictor
        self.label = entailment_label(predictor.label_names, label_map)

    def __call__(self, originals: Sequence[str], candidates: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Return for each pair whether it holds, shape (n,); the second direction is asked only if the first holds."""
        both = self._entails(list(zip(originals, candidates, strict=True)))
        rows = np.flatnonzero(both).tolist()
        both[rows] = self._entails([(candidates[i], originals[i]) for i in rows])
        return both

    def _entails(self, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.bool_]:
        if not pairs:
            return np.zeros(0, dtype=np.bool_)
        probabilities = self.predictor.probabilities([{"premise": p, "hypothesis": h} for p, h in pairs])
        return np.array(probabilities.argmax(axis=1) == self.label)


#: Of variations of search queries that a person found valid, and of those found invalid, the per cent that a check
#: keeps (benchmarks/paraphrase_checks.py).
MEASURED = {"similar": (99, 99), "plui:SmolLM2-135M-Instruct": (48, 47)}


def error_of_check(named: str) -> str:
    """Return how often a check of meanings errs, in a sentence."""
    name = public_comparer(named)
    if (key := re.sub(":.*/", ":", name)) not in MEASURED:
        return f"the error of {name} is not measured: let people judge some of what it keeps and leaves out"
    valid, invalid = MEASURED[key]
    on = "on search queries that people judged (Penha et al. 2022)"
    return f"{name} keeps {valid} % of valid and {invalid} % of invalid paraphrases, {on}"


class MeaningCheck:
    """A judge of pairs by a comparer of texts (`comparer_of_texts`), in both directions."""

    def __init__(self, named: str) -> None:
        from paraconsist.comparing.meaning import comparer_of_texts

        with renamed(same="check"):
            self._comparer = comparer_of_texts(named)
        self.name = named.partition(":")[0]
        self.reason = f"another meaning ({self.name})"
        self.notes: dict[tuple[str, str], str] = {}  # (original, candidate) -> its score

    def __call__(self, originals: Sequence[str], candidates: Sequence[str]) -> npt.NDArray[np.bool_]:
        scores = self._comparer.pairs(self._comparer.values(originals), self._comparer.values(candidates))
        for *pair, score in zip(originals, candidates, scores, strict=True):
            self.notes[pair[0], pair[1]] = f"; {self.name} {score:.2f}"
        return scores >= self._comparer.threshold


def load_judge(model: str, label_map: dict[str, str] | None = None) -> MutualEntailment:
    from paraconsist.models.loading import load_model

    nli = get_task("nli")
    with renamed(model="nli_model"):
        loaded = load_model(model, task=nli)
    return MutualEntailment(Predictor(loaded, nli), label_map)
