"""What a transformation is: fitted to a corpus once, then a function from texts to texts that reports what it did.

Its statistics are the figures of Salvatore et al. (2023): share of modified items, Figure 8, Table 15 and the length
tables.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache
from math import nan
from typing import Any, Protocol, TypeAlias

from paraconsist.errors import input_error

#: What was changed, by the keys of `change_statistics`, and what a transformation adds; ready for JSON.
Report: TypeAlias = dict[str, Any]
#: One text for each item, or several (premise and hypothesis).
Items: TypeAlias = Sequence[str] | Sequence[Sequence[str]]


class Fitted(Protocol):
    """A transformation that has seen its corpus.

    `apply` returns each text's transformed form, in order, never an empty text where there was one; `report` shares and
    counts of the changes, as `change_statistics` does. One that changes case and punctuation, too, has a method
    `unchanged`, which returns a text as `apply` does when no word is replaced: that is not a change of words.
    """

    def apply(self, texts: Sequence[str]) -> list[str]: ...
    def report(self, texts: Items, changed: Items) -> Report: ...


class Transformation(Protocol):
    """A change of text that should keep its meaning.

    `name` is that of the registry; `parameters` are all options with their values, ready for JSON; `fit` learns from a
    corpus, such as word frequencies.
    """

    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, object]: ...

    def fit(self, texts: Sequence[str]) -> Fitted: ...


@dataclass(frozen=True)
class Substitution:
    """One replaced word of a text, in lower case, before and after."""

    before: str
    after: str
    #: Its index among the text's words (`bare_words`), where known.
    word: int | None = field(default=None, compare=False)


def checked_texts(texts: Sequence[str], function: str) -> Sequence[str]:
    """Return `texts`; InputError if they are not a sequence of texts."""
    if isinstance(texts, str):
        raise input_error(function, "texts", "be a sequence of texts, not one text", got=texts)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise input_error(function, "texts", "hold texts only", got=text, row=row)
    return texts


def texts_of(table: Any, columns: Sequence[str], *, function: str, name: str) -> dict[str, list[str]]:
    """Return the texts of a table's columns; InputError for a column that is absent or holds something else."""
    if not columns or len(set(columns)) < len(columns):
        raise input_error(function, "columns", "name columns, each once", got=list(columns))
    texts = {}
    for column in columns:
        if column not in table.column_names:
            remedy = f"The columns are {', '.join(table.column_names)}."
            raise input_error(function, "columns", f"be columns of {name}", got=column, remedy=remedy)
        texts[column] = table[column].to_pylist()
        for row, value in enumerate(texts[column]):
            if not isinstance(value, str):
                raise input_error(function, column, "hold texts only", got=value, row=f"{row + 1} of {name}")
    return texts


def each_text(apply: Callable[[str], object], texts: Sequence[str], function: str) -> list[str]:
    """Apply a function to each distinct text; InputError if it returns no text, or an empty one for one that is not."""
    done: dict[str, str] = {}
    for row, text in enumerate(checked_texts(texts, function)):
        if text in done:
            continue
        result = apply(text)
        if not isinstance(result, str) or (text.strip() and not result.strip()):
            must = "not return an empty text" if isinstance(result, str) else "return a text for every text"
            remedy = f"The text was {text if len(text) <= 80 else text[:77] + '...'!r}."
            raise input_error(function, "transformation", must, got=result, row=row, remedy=remedy)
        done[text] = result
    return [done[text] for text in texts]


def apply_to_columns(
    fitted: Fitted, columns: Mapping[str, Sequence[str]], name: str, *, function: str = "transform"
) -> dict[str, list[str]]:
    """Transform columns of texts (column -> its texts); InputError if no text changes.

    `name`, the transformation's, and `function` are for messages.
    """
    changed = {column: fitted.apply(checked_texts(texts, function)) for column, texts in columns.items()}
    for column, texts in columns.items():
        if len(changed[column]) != len(texts):
            must = f"return {len(texts):,} texts for {column}"
            raise input_error(function, "transformation", must, got=len(changed[column]))
    plain: Callable[[str], str] = getattr(fitted, "unchanged", str)
    before = {column: list(map(plain, texts)) for column, texts in columns.items()}
    if any(texts for texts in columns.values()) and before == changed:
        must = f"change at least one text of {', '.join(columns)}"
        remedy = "Look at its dictionary, block list and columns: without a change there is nothing to test."
        raise input_error(function, "transformation", must, got=name, remedy=remedy)
    return changed


_MOST_FREQUENT = 20
_NOT_PLAIN = re.compile(r"[^\w\s]|_")


def plain_text(text: str) -> str:
    """Return a text lower-cased, without punctuation, with single spaces: the form of S23's experiments."""
    return " ".join(_NOT_PLAIN.sub("", text.lower()).split())


def change_statistics(
    texts: Items,
    changed: Items,
    *,
    substitutions: Callable[[str], Sequence[Substitution]] | None = None,
    nouns: Callable[[str], Sequence[bool]] | None = None,
) -> Report:
    """Return how often and how texts were changed; case and punctuation do not count.

    `texts` and `changed` hold for each item a text, or its texts (premise and hypothesis), before and after.
    `substitutions` returns the replaced words of a text, if the transformation knows; by default the two texts are
    compared. `nouns` returns for each of a text's words (`bare_words`), in order, whether it is a noun there.

    Words per item are over all items; `most_frequent` has 20 substitutions; `non_noun_share` is of the substitutions
    (None if unknown). Shares and means of nothing are nan.
    """
    n = len(texts)
    if n != len(changed):
        raise input_error("change_statistics", "changed", f"have {n} entries, as `texts`", got=len(changed))
    counts: Counter[Substitution] = Counter()
    n_changed = n_non_noun = 0
    before: list[int] = []
    after: list[int] = []

    @cache
    def compared(text: str, new: str) -> tuple[list[Substitution], int, int, int]:
        words, new_words = plain_text(text).split(), plain_text(new).split()
        made = list(substitutions(text)) if substitutions is not None else differences(words, new_words)
        flags = nouns(text) if nouns is not None else []
        non_nouns = sum(s.word is not None and not flags[s.word] for s in made) if nouns is not None else 0
        return made, len(words), len(new_words), non_nouns

    for item, new_item in zip(texts, changed, strict=True):
        sides = [compared(*pair) for pair in zip(_texts(item), _texts(new_item), strict=True)]
        for made, _, _, non_nouns in sides:
            counts.update(made)
            n_non_noun += non_nouns
        n_changed += any(made for made, *_ in sides)
        before.append(sum(n_words for _, n_words, _, _ in sides))
        after.append(sum(n_words for _, _, n_words, _ in sides))
    n_words_changed = counts.total()
    return {
        "n_items": n,
        "n_changed": n_changed,
        "share_changed": n_changed / n if n else nan,
        "words_changed_per_item": n_words_changed / n if n else nan,
        "mean_words": _mean(before),
        "mean_words_changed": _mean(after),
        "n_substitutions": n_words_changed,
        "n_distinct_substitutions": len(counts),
        "most_frequent": [
            {"before": made.before, "after": made.after, "n": times}
            for made, times in sorted(counts.items(), key=lambda c: (-c[1], c[0].before, c[0].after))[:_MOST_FREQUENT]
        ],
        "non_noun_share": None if nouns is None else n_non_noun / n_words_changed if n_words_changed else nan,
    }


def lengths_by_label(texts: Items, changed: Items, labels: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return for each label `n_items`, `mean_words` and `mean_words_changed` (S23's length tables)."""
    groups: defaultdict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for label, *sides in zip(labels, texts, changed, strict=True):
        for lengths, item in zip(groups[label], sides, strict=True):
            lengths.append(sum(len(plain_text(text).split()) for text in _texts(item)))
    return {
        label: {"n_items": len(old), "mean_words": _mean(old), "mean_words_changed": _mean(new)}
        for label, (old, new) in sorted(groups.items())
    }


def differences(words: Sequence[str], new_words: Sequence[str]) -> list[Substitution]:
    """Return the differences of two lists of words, word by word where both sides have equally many.

    Words that were only added, or only removed, are one difference with the other side empty.
    """
    made = []
    for kind, i, j, k, m in SequenceMatcher(None, words, new_words, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        if j - i == m - k:
            made += [Substitution(a, b) for a, b in zip(words[i:j], new_words[k:m], strict=True)]
        else:
            made.append(Substitution(" ".join(words[i:j]), " ".join(new_words[k:m])))
    return made


def _texts(item: str | Sequence[str]) -> Sequence[str]:
    return (item,) if isinstance(item, str) else item


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values) if values else nan
