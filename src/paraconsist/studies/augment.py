"""Training rows with variants: each row, and what a transformation makes of it, with the same label."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from paraconsist.data.tables import read_table
from paraconsist.data.writing import write_table
from paraconsist.errors import input_error
from paraconsist.transforms.interface import Fitted, apply_to_columns
from paraconsist.transforms.registry import transformation

_FUNCTION = "adversarial"
_TEXTATTACK = "textattack:"
_PARAPHRASE = "paraphrase:"


@dataclass(frozen=True)
class Augmented:
    """What was written.

    Attributes
    ----------
    before, after, repeated : Path
        The rows; the rows and the variants; the rows, and those with a variant once more (as much text, nothing new).
    n_rows, n_variants : int
        Rows, and how many of them the transformation changed; the others have no variant.
    columns : tuple of str
        The columns that were changed.
    """

    before: Path
    after: Path
    repeated: Path
    n_rows: int
    n_variants: int
    columns: tuple[str, ...]


@dataclass(frozen=True)
class _Variants:
    """A function that makes a variant of each text, behind the interface of a fitted transformation."""

    make: Callable[[Sequence[str]], list[str]]

    def apply(self, texts: Sequence[str]) -> list[str]:
        return self.make(texts)

    def report(self, texts: Any, changed: Any) -> dict[str, Any]:
        return {"n_changed": sum(a != b for a, b in zip(texts, changed, strict=True))}


def textattack_augmenter(recipe: str, share: float = 0.1) -> Callable[[Sequence[str]], list[str]]:
    """Return what makes one variant of each text by TextAttack; the text itself where the recipe finds none.

    Parameters
    ----------
    recipe : str
        A class of ``textattack.augmentation``: WordNetAugmenter, EmbeddingAugmenter, CLAREAugmenter, ...
    share : float
        Of the words of a text to change, its ``pct_words_to_swap``.
    """
    try:
        from textattack import augmentation  # type: ignore[import-not-found]
    except ImportError:
        must = "be one of this package's unless TextAttack is installed"
        remedy = "pip install textattack, or use wordnet_nouns."
        raise input_error(_FUNCTION, "transformation", must, got=_TEXTATTACK + recipe, remedy=remedy) from None
    make = getattr(augmentation, recipe, None)
    if make is None:
        names = sorted(name for name in dir(augmentation) if name.endswith("Augmenter"))
        raise input_error(_FUNCTION, "transformation", f"name a recipe of TextAttack: {', '.join(names)}", got=recipe)
    augmenter = make(pct_words_to_swap=share, transformations_per_example=1)
    return lambda texts: [next(iter(augmenter.augment(text)), text) if text.strip() else text for text in texts]


def first_paraphrase(generator: str, preset: str = "a24", seed: int = 0) -> Callable[[Sequence[str]], list[str]]:
    """Return what makes a generator's first candidate for each text with a word; the text itself where there is none.

    Parameters
    ----------
    generator : str
        ``rules``, a language model's folder or Hub id, or ``module:function``.
    preset : str
        Of the generation: a24, v23 or s24.
    seed : int
        Of sampling.
    """
    from paraconsist.transforms.paraphrase.generators import call, load_generator
    from paraconsist.transforms.paraphrase.generators import preset as settings_of

    loaded = load_generator(generator, settings_of(preset), seed=seed)
    return lambda texts: [
        next((c for c in candidates if c.strip()), text) if text.strip() else text
        for text, candidates in zip(texts, call(loaded, texts), strict=True)
    ]


def augment(
    file: Path,
    folder: Path,
    name: str,
    columns: Sequence[str],
    *,
    options: Mapping[str, Any] | None = None,
    limit: int | None = None,
) -> Augmented:
    """Write the training rows three ways.

    Parameters
    ----------
    file : Path
        CSV, TSV, JSON Lines or Parquet.
    folder : Path
        Gets ``before.csv``, ``after.csv`` and ``repeated.csv``.
    name : str
        A transformation of `paraconsist.transforms.registry`, ``module:function``, ``paraphrase:GENERATOR`` (``rules``,
        or a language model), or ``textattack:RECIPE``.
    columns : sequence of str
        To change.
    options : mapping, optional
        Of the transformation.
    limit : int, optional
        The first so many rows only.

    Raises
    ------
    InputError
        For a missing column, no text, a transformation that is not there or that changes nothing.
    """
    table = read_table(file, function=_FUNCTION, parameter="train_file")
    table = table if limit is None else table.slice(0, limit)
    for column in columns:
        if column not in table.column_names:
            raise input_error(_FUNCTION, "columns", f"be columns of {file.name}", got=column)
    if not columns:
        raise input_error(_FUNCTION, "columns", "be given")
    texts = {column: [_text(v, column, i) for i, v in enumerate(table[column].to_pylist())] for column in columns}
    fitted: Fitted
    if name.startswith(_TEXTATTACK):
        fitted = _Variants(textattack_augmenter(name.removeprefix(_TEXTATTACK), **(options or {})))
    elif name.startswith(_PARAPHRASE):
        fitted = _Variants(first_paraphrase(name.removeprefix(_PARAPHRASE), **(options or {})))
    else:
        fitted = transformation(name, **(options or {})).fit([text for values in texts.values() for text in values])
    changed = apply_to_columns(fitted, texts, name)
    different = [
        row for row in range(len(table)) if any(_words(changed[c][row]) != _words(texts[c][row]) for c in columns)
    ]
    variants = again = table.take(pa.array(different, pa.int64()))
    for column in columns:
        new = pa.array([changed[column][i] for i in different], table.schema.field(column).type)
        variants = variants.set_column(table.column_names.index(column), column, new)
    folder.mkdir(parents=True, exist_ok=True)
    paths = {kind: folder / f"{kind}.csv" for kind in ("before", "after", "repeated")}
    write_table(table, paths["before"])
    write_table(pa.concat_tables([table, variants]), paths["after"])
    write_table(pa.concat_tables([table, again]), paths["repeated"])
    return Augmented(**paths, n_rows=table.num_rows, n_variants=len(different), columns=tuple(columns))


def _text(value: Any, column: str, row: int) -> str:
    if not isinstance(value, str):
        raise input_error(_FUNCTION, column, "hold texts only", got=value, row=row)
    return value


def _words(text: str) -> list[str]:
    """Case and punctuation apart: a variant differs in its words."""
    return "".join(c if c.isalnum() else " " for c in text.casefold()).split()
