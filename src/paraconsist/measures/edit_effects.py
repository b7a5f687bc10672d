"""What flips answers: how often they break a rule if a rewording is of some kind, against other wordings.

Hard problems flip after any edit, and the kinds of edit are not spread evenly over problems, so the plain difference of
two rates depends on which problems have rewordings of the kind as much as on their effect. So wordings are compared
with the other wordings of the same bucket. Of the buckets that have both, with n1 wordings of the kind and n0 others,
each has the weight n1 n0 / (n1 + n0) (Mantel and Haenszel's: a bucket with one wording on one side is hardly
informative), and both rates are weighted means over these buckets. If hardly any bucket has both, as in sets with one
rewording of each problem, all wordings are compared over all buckets.

A wording may have any of ten kinds of edit (`edit_kinds`), by rules that anyone can check on the two texts.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, stdtr

from paraconsist.errors import input_error
from paraconsist.measures.array_types import Floats, Integers, Mask
from paraconsist.measures.bucket_model import log_binomial
from paraconsist.measures.buckets import as_column, as_mask, bucket_groups, check_length, partition, partition_integers
from paraconsist.measures.intervals import NO_SPREAD, distinct, group_units
from paraconsist.measures.results import Estimates, IntervalSettings, Record, documented, interval_options
from paraconsist.measures.standings import adjusted_p_values

LEAST_WORDINGS, LEAST_BUCKETS = 20, 5
"""The least rewordings, and buckets, of a kind and of the others for a test of the kind."""

_MOST_CELLS = 1 << 21  # of the transforms of an exact test; beyond, the normal distribution replaces it
_LEAST_P = 1e-14  # rounding of the transforms


@dataclass(frozen=True)
class EditEffect(Record):
    """How much more often answers break the rule where a rewording is of a kind; rates are in [0, 1]."""

    kind: str
    n_with: int  # answers to rewordings of the kind
    n_without: int
    n_broken_with: int  # those that break the rule
    n_broken_without: int
    within_buckets: bool  # whether wordings are compared with others of their own bucket, or over all buckets
    n_buckets: int  # buckets that are compared: those with both, or all
    rate_with: float  # of the buckets that are compared, by their weights
    rate_without: float
    difference: float  # the first less the second
    confidence_interval: list[float]  # of the difference; nan where there are too few buckets or groups
    p_value: float
    corrected_p_value: float  # for all kinds that were tested (Benjamini and Hochberg)


@dataclass(frozen=True)
class EditEffects:
    """What `edit_effects` returns: the kinds that were tested, surest first, and the rewordings of each other kind."""

    effects: tuple[EditEffect, ...]
    untested: dict[str, int]


@documented("a bucket in two groups")
def edit_effects(
    broken: Any,
    kinds: Mapping[str, object],
    buckets: Any,
    *,
    groups: Any = None,
    interval_method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int | np.random.Generator = 0,
) -> EditEffects:
    r"""Compare how often answers flip where a rewording is of a kind, and where it is not.

    .. math:: \frac{\sum_b w_b (a_b / n_{1b} - c_b / n_{0b})}{\sum_b w_b}, \quad
              w_b = \frac{n_{1b} n_{0b}}{n_{1b} + n_{0b}}

    over the buckets b that have wordings of the kind (n1, of which a flip) and others (n0, of which c flip).

    Its p is the larger of two. One is exact (Mantel and Haenszel's statistic, with each bucket's number of flips as it
    is: any of its wordings might have been of the kind): it holds however buckets differ, and however few flips there
    are. The other is a t test over buckets or groups, as the interval is: it holds also where the effect differs from
    group to group. Where two kinds often come together, each has some of the other's effect.

    Parameters
    ----------
    broken : array of bool, shape (n,) or (n, n_models)
        Whether the answer to each rewording breaks the rule (is another than its original's); of several models, all
        are taken together.
    kinds : mapping of str to array of bool, shape (n,)
        As `paraconsist.measures.edit_effects.edit_kinds` returns them.
    buckets : sequence of int or str, shape (n,)
    groups : sequence of int or str, shape (n,), optional
        What intervals resample, such as shared contexts; by default the buckets.
    interval_method : {"auto", "bootstrap", "closed_form"}
        Logit-t, a cluster bootstrap, or t.
    confidence_level, n_resamples, seed
        Of the intervals.

    Returns
    -------
    EditEffects
        A kind is tested where at least 20 rewordings in 5 buckets are of it, and as many are not. It is compared within
        buckets where at least 5 have both, with 20 rewordings of either, else over all.

    References
    ----------
    Mantel, Haenszel (1959), "Statistical aspects of the analysis of data from retrospective studies of disease",
    Journal of the National Cancer Institute 22, 719-748; Benjamini, Hochberg (1995), "Controlling the false discovery
    rate", Journal of the Royal Statistical Society B 57, 289-300.

    Examples
    --------
    Thirty buckets of four wordings: the one with a negation always flips, one of the three others too.

    >>> rows = np.arange(120)
    >>> effects = edit_effects(rows % 4 < 2, {"negation": rows % 4 == 0}, rows // 4).effects
    >>> [(e.kind, e.n_with, round(e.rate_with, 2), round(e.rate_without, 2), e.p_value < 1e-6) for e in effects]
    [('negation', 30, 1.0, 0.33, True)]
    """
    function = "edit_effects"
    options = interval_options(function, interval_method, confidence_level, n_resamples, seed)
    divided = partition(buckets, function=function, parameter="buckets")
    n = len(divided.codes)
    answers = np.asarray(broken)
    models = [_flags("broken", column, n) for column in (answers.T if answers.ndim == 2 else [broken])]
    scores = np.sum(models, axis=0)
    flags = {kind: _flags(f"kinds[{kind!r}]", values, n) for kind, values in kinds.items()}
    grouped = None if groups is None else as_column(groups, function=function, parameter="groups")
    check_length(function, "groups", grouped or range(n), n, "buckets")
    clusters = bucket_groups(function, divided, grouped)

    def has_enough(rows: Mask) -> bool:
        return int(rows.sum()) >= LEAST_WORDINGS and len(np.unique(divided.codes[rows])) >= LEAST_BUCKETS

    tested = {kind: flag for kind, flag in flags.items() if has_enough(flag) and has_enough(~flag)}
    columns = scores, len(models), divided.codes, clusters, options
    effects = [_effect(kind, flag, *columns) for kind, flag in tested.items()]
    p_values = np.array([effect.p_value for effect in effects])
    adjusted = adjusted_p_values(p_values, "benjamini_hochberg") if effects else p_values
    effects = [replace(effect, corrected_p_value=float(p)) for effect, p in zip(effects, adjusted, strict=True)]
    effects.sort(key=lambda effect: (effect.corrected_p_value, -abs(effect.difference)))
    return EditEffects(tuple(effects), {kind: int(flag.sum()) for kind, flag in flags.items() if kind not in tested})


def _effect(
    kind: str,
    flag: Mask,
    scores: Integers,
    n_models: int,
    buckets: Integers,
    clusters: Integers | None,
    options: IntervalSettings,
) -> EditEffect:
    """Compare the rows of a kind with others; `scores` are the numbers of models that break the rule in each row."""
    size, n1, total, a, squares = (
        np.bincount(buckets, weights=values).astype(np.int64)
        for values in (np.ones(len(flag)), flag, scores, scores * flag, scores**2)
    )
    both = (n1 > 0) & (n1 < size)
    n_least = min(int(n1[both].sum()), int((size - n1)[both].sum()))
    within = int(both.sum()) >= LEAST_BUCKETS and n_least >= LEAST_WORDINGS
    chosen = np.flatnonzero(both) if within else np.arange(len(size))
    first, code, _ = distinct(n1[chosen], size[chosen], a[chosen], total[chosen])
    one, n, hits, flips = (column[chosen][first].astype(np.float64) for column in (n1, size, a, total))
    sums = np.stack([n, one, hits / n_models, n - one, (flips - hits) / n_models], axis=1)
    if within:  # rates of each bucket, by its weight
        weight = one * (n - one) / n
        sums = np.stack([weight, weight, weight * sums[:, 2] / one, weight, weight * sums[:, 4] / (n - one)], axis=1)
    units = group_units(sums, code, None if clusters is None else partition_integers(clusters[chosen]).codes)
    ranges = [(0.0, 1.0), (0.0, 1.0), (-1.0, 1.0)]
    bounds = Estimates(options, "bucket").intervals(units, _rates, ranges, [within] * 3)
    with_kind, without, difference = map(float, _rates(units.total))
    strata = np.stack([n1, size, total, squares])[:, chosen]
    p = _permutation_p_value(strata if within else strata.sum(axis=1, keepdims=True), int(a[chosen].sum()), n_models)
    if (error := float(bounds.standard_error[2])) > NO_SPREAD:
        p = max(p, float(2.0 * stdtr(max(1.0, units.effective_n - 1.0), -abs(difference) / error)))
    n_with, n_broken = int(n1.sum()) * n_models, int(a.sum())
    n_without, n_broken_without = len(flag) * n_models - n_with, int(total.sum()) - n_broken
    ends = [float(bounds.low[2]), float(bounds.high[2])]
    counts = n_with, n_without, n_broken, n_broken_without, within, len(chosen)
    return EditEffect(kind, *counts, with_kind, without, difference, ends, p, p)


def _rates(sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
    one, other = sums[..., 2] / sums[..., 1], sums[..., 4] / sums[..., 3]
    return np.stack([one, other, one - other], axis=-1)


def _permutation_p_value(strata: Integers, observed: int, n_models: int) -> float:
    """Return the probability that random rows have a number of flips at least as far from its expectation.

    `strata`, shape (4, m): the rows of the kind in each stratum, all of its rows, their flips, and the squares of these
    (rows have several where there are several models). `observed` are the flips of the kind's rows.
    """
    n1, n, flips, squares = (column.astype(np.float64) for column in strata)
    expected = float((n1 * flips / n).sum())
    variance = float((n1 * (n - n1) / (n * (n - 1.0)) * (squares - flips**2 / n)).sum())
    if variance <= NO_SPREAD:
        return 1.0
    away = abs(observed - expected)
    index, _, times = distinct(*strata[:3])
    hypergeometrics = [_hypergeometric(*(int(value) for value in column)) for column in strata[:3, index].T]
    size = 1 + sum(int(count) * (len(mass) - 1) for (_, mass), count in zip(hypergeometrics, times, strict=True))
    if n_models > 1 or size * len(times) > _MOST_CELLS:
        return float(2.0 * ndtr(-max(away - 0.5, 0.0) / np.sqrt(variance)))
    from scipy.fft import irfft, next_fast_len, rfft

    length = next_fast_len(size, real=True)
    transform = np.ones(length // 2 + 1, dtype=np.complex128)
    least = 0
    for (low, mass), count in zip(hypergeometrics, times.tolist(), strict=True):
        transform *= rfft(mass, length) ** count
        least += low * count
    mass = np.maximum(irfft(transform, length)[:size], 0.0)
    beyond = np.abs(least + np.arange(size) - expected) >= away - 1e-9
    return float(np.clip(mass[beyond].sum(), _LEAST_P, 1.0))


def _hypergeometric(n1: int, n: int, flips: int) -> tuple[int, Floats]:
    """Return the least number of flips among n1 of n rows, and the chances of it and of each larger one."""
    least = max(0, flips - (n - n1))
    x = np.arange(least, min(n1, flips) + 1.0)
    logs = log_binomial(flips, x) + log_binomial(n - flips, n1 - x) - log_binomial(n, n1)
    return least, np.asarray(np.exp(logs), dtype=np.float64)


def _flags(parameter: str, values: Any, n: int) -> Mask:
    column = as_column(values, function="edit_effects", parameter=parameter)
    check_length("edit_effects", parameter, column, n, "buckets")
    return as_mask("edit_effects", parameter, column)


#: A row's text, or its texts (premise and hypothesis).
Texts: TypeAlias = "Sequence[str | Sequence[str]]"

EDIT_KINDS = {
    "negation": "adds or drops a negation",
    "number": "states another number",
    "order": "puts words in another order",
    "length": "is a quarter longer or shorter",
    "passive": "changes between active and passive",
    "case": "writes a word with other capitals",
    "punctuation": "has other punctuation marks",
    "white space": "has other white space",
    "rare word": "brings in a rare word",
    "word in or out": "only puts words in, or only leaves words out",
}
"""Kind -> what a rewording of it does."""

ENGLISH_KINDS = ("negation", "passive")
"""Kinds that depend on English words."""

RARE = 0.01
"""A word is rare if it occurs in at most this share of the buckets (in one bucket, if these are few)."""

_LONGER = 1.25


#: Of the lists of English words in ``english.txt``: a pattern of any of them.
_LISTS = files("paraconsist.measures").joinpath("english.txt").read_text(encoding="utf-8").splitlines()
_EITHER = {name: "|".join(words.split()) for name, words in (line.split(":") for line in _LISTS)}


def _numbered(words: str, start: int = 0, *, suffix: str = "", step: int = 1) -> dict[str, int]:
    return {word + suffix: n * step for n, word in enumerate(words.split(), start)}


_ENGLISH = frozenset(["the", "and", "with", "this", "that", "they", "his", "you", "are", "to"])
_ARTICLES = frozenset(["a", "an", "the"])
_NOT = r"(?:is|are|was|were|do|does|did|has|have|had|ca|could|wo|would|sha|should|must|need|might|ai) ?n ?'? ?t|n't"
_NEGATION = re.compile(rf"(?<!\S)(?:{_NOT}|{_EITHER['negative']})(?!\S)")
_NO_NEGATION = re.compile(
    r"\b(?:nothing but|not (?:only|just|merely|least)|no (?:doubt|matter|sooner|wonder|\d+)|or not"
    r"|without (?:a |any )?(?:doubt|fail|question))\b"
)

#: English word -> number from 0 to 90.
SMALL_NUMBERS = _numbered("zero one two three four five six seven eight nine ten eleven twelve")
SMALL_NUMBERS |= _numbered("thir four fif six seven eigh nine", 13, suffix="teen")
SMALL_NUMBERS |= _numbered("twen thir for fif six seven eigh nine", 2, suffix="ty", step=10)
_ORDINALS = {f"{word}th": n for word, n in SMALL_NUMBERS.items() if n > 3}
_ORDINALS |= {"third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12, "twice": 2, "thrice": 3}
_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_NUMBER_WORDS = frozenset([*SMALL_NUMBERS, *_ORDINALS, *_SCALES])
_DIGIT = re.compile(r"\d")
_NUMERAL = re.compile(r"\d+(?:[.,]\d+)*")

_PARTICIPLE = rf"(?!(?:{_EITHER['states']})(?! by)\b)(?:\w\w+ed|{_EITHER['participles']}"
_BE = r"(?:is|are|was|were)(?: ?n ?'? ?t)?"
_NO_AGENT = rf"(?:\d|\w+ing\b|{_EITHER['no agent']})\w*"
_BETWEEN = rf"(?:(?:\w+ly|{_EITHER['between']}) )*"
_PASSIVE = re.compile(
    rf"\b(?:{_BE}|am|be|been|being|get|gets|got|getting) {_BETWEEN}(?:{_PARTICIPLE}))\b"
    rf"|^{_BE} (?:(?!\w+ing )\w+ ){{1,4}}?(?:{_PARTICIPLE}))\b"
    rf"|\b(?!(?:{_EITHER['by in the active']})\b)(?:{_PARTICIPLE})) by (?!(?:{_NO_AGENT})\b)"
)

_PLAIN = re.compile(r"\d+(?:[.,]\d+)+\w*|\w+(?:'\w+)*|[^\w\s]|\n")
_APART = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"  # scripts without blanks
_WORD_LIKE = "%&#@*/\\§_"  # no punctuation to readers, though to Unicode
_HIDDEN = re.compile("[\u200b-\u200d\u2060\ufeff]")
_BLANKS = re.compile(rf"[(\[]?[\s{_HIDDEN.pattern[1:-1]}]+[,.;:!?)\]]?")


class _Read(NamedTuple):
    """The features of a text that determine the kinds."""

    text: str
    words: tuple[str, ...]  # in lower case, in order
    distinct: frozenset[str]
    capitals: frozenset[str]  # words as written that are not in lower case
    marks: list[str]  # punctuation, sorted
    blanks: tuple[object, ...]  # all white space but single blanks between words
    n_letters: int  # a number counts as one letter, in digits or as a word
    n_negations: int
    n_passives: int
    numbers: frozenset[float]


def edit_kinds(
    originals: Texts, rewordings: Texts, buckets: Sequence[object], *, english: bool | None = None
) -> dict[str, Mask]:
    """Return the kinds of edit between each original and its rewording.

    A rewording may be of several kinds, or of none. Words are runs of letters and digits (in scripts without blanks
    every letter is one), compared without capitals. Negation and passive depend on English words; of the others
    only numbers in words do.

    ``negation``
        The number of negative words differs (not, n't, no, never, none, nobody, nothing, nowhere, neither ... nor,
        cannot, without, hardly, barely, scarcely, seldom, rarely), fixed phrases left out ("nothing but", "not only",
        "no doubt", "without a doubt", "whether or not", "No. 5").
    ``number``
        One states a number that the other does not, in digits or words, "third" and "twice" among them: "2" is "two", a
        dozen is 12. One and second are left out, being mostly no numbers.
    ``order``
        Words that occur once in both (except articles) come in another order.
    ``length``
        The longer has at least a quarter more letters; a number counts as one, in digits or as a word.
    ``passive``
        The number of passives differs: a form of be or get with a participle that is no state ("was tired"), or a
        participle with its agent ("built by him").
    ``case``
        A word of both is written with other capitals, and not because it opens a sentence in one of them.
    ``punctuation``
        The marks differ, hyphens among them; an apostrophe inside a word is a part of it.
    ``white space``
        Blanks differ in number or kind: two for one, a line break, a no-break or zero-width one, one before a mark.
    ``rare word``
        A word of the rewording that is not in the original and occurs, in either, in at most 1 % of the buckets (one
        bucket, if these are fewer than 200).
    ``word in or out``
        The words of one are those of the other, in order, with more put in between.

    Parameters
    ----------
    originals, rewordings : sequence of str, or of sequences of str, shape (n,)
        The text of every rewording and that of its original (repeated for each), or several texts of each; the kinds
        are then those of any of them. Where the same texts only change places there is no kind.
    buckets : sequence, shape (n,)
        The bucket of every rewording.
    english : bool, optional
        Whether to detect `ENGLISH_KINDS`; by default if a quarter of the originals have a common English word.

    Returns
    -------
    dict of str to array of bool, shape (n,)
        For the kinds of `EDIT_KINDS`, without those of English if `english` is false.

    Raises
    ------
    InputError
        If the columns are not equally long.

    Examples
    --------
    >>> pairs = {
    ...     "negation": ("I know that it works.", "I know that it doesn't work."),
    ...     "number": ("Two men and 3 boys ran.", "2 men and four boys ran."),
    ...     "order": ("He ate an apple in the garden.", "In the garden he ate an apple."),
    ...     "length": ("It was cold.", "It was freezing."),
    ...     "passive": ("The police were tired.", "The police were called."),
    ...     "case": ("Today we rest in Paris.", "We rest in paris today."),
    ...     "punctuation": ("Let's eat, grandma!", "Let's eat grandma!"),
    ...     "white space": ("Look up, please.", "Look up , please."),
    ...     "rare word": ("He sleeps.", "He slumbers."),
    ...     "word in or out": ("The dog barks.", "The old dog barks."),
    ... }
    >>> kinds = edit_kinds(*zip(*pairs.values()), buckets=range(10))
    >>> all(kinds[kind][row] for row, kind in enumerate(pairs))
    True
    >>> {row: [kind for kind in kinds if kinds[kind][row]] for row in (4, 7, 9)}
    {4: ['passive', 'rare word'], 7: ['white space'], 9: ['length', 'rare word', 'word in or out']}
    """
    check_length("edit_kinds", "rewordings", rewordings, len(originals), "originals")
    check_length("edit_kinds", "buckets", buckets, len(originals), "originals")
    n = len(originals)
    read = lru_cache(1 << 12)(_read)
    flags = {kind: np.zeros(n, dtype=np.bool_) for kind in EDIT_KINDS}
    words_of: defaultdict[object, set[str]] = defaultdict(set)
    n_english, new_words = 0, []
    for row, texts in enumerate(zip(originals, rewordings, strict=True)):
        try:
            old, new = ([read(text) for text in ([side] if isinstance(side, str) else side)] for side in texts)
        except (TypeError, AttributeError):
            must = "hold texts, or sequences of texts"
            raise input_error("edit_kinds", "originals", must, got=texts, row=row) from None
        if len(old) != len(new):
            must = "have as many texts in a row as originals"
            raise input_error("edit_kinds", "rewordings", must, got=texts[1], row=row)
        is_swap = len(old) > 1 and old != new and Counter(t.text for t in old) == Counter(t.text for t in new)
        for pair in () if is_swap else zip(old, new, strict=True):
            for kind in _kinds(*pair) if pair[0].text != pair[1].text else ():
                flags[kind][row] = True
        words, added = (frozenset[str]().union(*(text.distinct for text in side)) for side in (old, new))
        n_english += not _ENGLISH.isdisjoint(words)
        new_words.append(added - words)
        words_of[buckets[row]].update(words, added)
    times = Counter(itertools.chain.from_iterable(words_of.values()))
    most = max(1, int(RARE * len(words_of)))
    rare = {word for word, n_buckets in times.items() if n_buckets <= most and not word[0].isdigit()}
    flags["rare word"] |= [not rare.isdisjoint(words) for words in new_words]
    english = n_english >= n / 4 if english is None else english
    return {kind: flag for kind, flag in flags.items() if english or kind not in ENGLISH_KINDS}


def _kinds(old: _Read, new: _Read) -> Iterator[str]:
    """Yield the kinds of a pair of two different texts, except rare words."""
    if old.words != new.words:
        if old.n_negations != new.n_negations:
            yield "negation"
        if old.numbers != new.numbers:
            yield "number"
        if _is_reordered(old, new):
            yield "order"
        if max(old.n_letters, new.n_letters) >= _LONGER * min(old.n_letters, new.n_letters):
            yield "length"
        if old.n_passives != new.n_passives:
            yield "passive"
        if _is_within(old, new) or _is_within(new, old):
            yield "word in or out"
    if old.capitals != new.capitals and _is_recased(old, new):
        yield "case"
    if old.marks != new.marks:
        yield "punctuation"
    if old.blanks != new.blanks or _unspaced(old.text) == _unspaced(new.text):
        yield "white space"


def _is_reordered(old: _Read, new: _Read) -> bool:
    both = (old.distinct & new.distinct) - _ARTICLES
    one, other = ([word for word in text.words if word in both] for text in (old, new))
    if one == other or len(one) == len(other) == len(both):
        return one != other
    once = {word for word in both if one.count(word) == other.count(word) == 1}
    return [word for word in one if word in once] != [word for word in other if word in once]


def _is_within(part: _Read, whole: _Read) -> bool:
    """Return whether all words of one text occur in the other, in order."""
    rest = iter(whole.words)
    is_shorter = 0 < len(part.words) < len(whole.words) and part.distinct <= whole.distinct
    return is_shorter and all(word in rest for word in part.words)


def _is_recased(old: _Read, new: _Read) -> bool:
    for word in {form.lower() for form in old.capitals ^ new.capitals} & old.distinct & new.distinct:
        forms = ([form for form in _forms(_tokens(text.text)) if form[0].lower() == word] for text in (old, new))
        if not any(_agree(*first, *second) for first, second in itertools.product(*forms)):
            return True
    return False


def _agree(form: str, opens: bool, other: str, other_opens: bool) -> bool:
    """Return whether two forms of a word are equal, except for a capital at the start of a sentence."""
    if opens == other_opens or form[1:] != other[1:]:
        return form == other
    return form == other or (form if opens else other)[0].isupper()


def _forms(tokens: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield words as written, and whether they open a sentence."""
    opens = True
    for token in tokens:
        if token[0].isalnum() or token[0] == "_":
            yield token, opens
            opens = False
        else:
            opens |= token in ".!?:\n"


def _read(text: str) -> _Read:
    """Return the features of a text, once for all kinds."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    tokens = _tokens(text)
    forms = [token for token in tokens if token[0].isalnum() or token[0] == "_"]
    words = tuple(map(str.lower, forms))
    joined, distinct = " ".join(words), frozenset(words)
    blanks = [] if " ".join(forms) == text else [run for run in _BLANKS.findall(text) if run != " "]
    return _Read(
        text,
        words,
        distinct,
        frozenset(forms) - distinct,
        sorted(token for token in tokens if unicodedata.category(token[0])[0] == "P" and token[0] not in _WORD_LIKE),
        (text[:1].isspace(), text[-1:].isspace(), *sorted(blanks)),
        sum(1 if word in _NUMBER_WORDS or word[0].isdigit() else len(word) for word in words),
        _n_negations(joined),
        sum(1 for _ in _PASSIVE.finditer(joined)),
        _numbers(words, distinct),
    )


def _tokens(text: str) -> list[str]:
    """Return words, marks and line breaks in order."""
    return _PLAIN.findall(text) if text.isascii() else _full().findall(text.replace("’", "'"))


@cache
def _full() -> re.Pattern[str]:
    """Return the pattern of tokens in all scripts: letters carry their combining marks."""
    signs = [chr(code) for code in range(0x20000) if unicodedata.category(chr(code))[0] == "M"]
    letter = f"[\\w{''.join(signs)}]"
    return re.compile(rf"\d+(?:[.,]\d+)+\w*|[{_APART}][{''.join(signs)}]*|{letter}+(?:'{letter}+)*|[^\w\s]|\n")


def _n_negations(joined: str) -> int:
    negative = _NEGATION.findall(_NO_NEGATION.sub("", joined))
    return len(negative) - (len(negative) > 1) * negative.count("nor")


def _numbers(words: Sequence[str], distinct: frozenset[str]) -> frozenset[float]:
    """Return the numbers of a text, without 1."""
    if _NUMBER_WORDS.isdisjoint(distinct) and not _DIGIT.search("".join(distinct)):
        return frozenset()
    numbers: list[float] = []
    total, part = 0.0, None  # of the current number: its thousands, and the rest
    for word in [*words, ""]:
        small = SMALL_NUMBERS.get(word, _ORDINALS.get(word))
        scale = _SCALES.get(word)
        if scale is not None and (part or 1) < scale:
            part = (part or 1.0) * scale
            if scale >= 1000:
                total, part = total + part, 0.0
        elif small is not None and part is not None and part % (100 if small >= 10 else 10) == 0 and (part or total):
            part += small
        elif word != "and" or part is None or not (part >= 100 or total):
            if part is not None:
                numbers.append(total + part)
            total, part = 0.0, None if small is None else float(small)
            if (digits := _NUMERAL.match(word)) and word not in ("1st", "2nd"):
                whole = re.sub(r",(?=\d{3}(?!\d))", "", digits[0]).replace(",", ".")
                part = float(whole) if whole.count(".") < 2 else None
    return frozenset(numbers) - {1.0}


def _unspaced(text: str) -> str:
    return _HIDDEN.sub("", "".join(text.split()))
