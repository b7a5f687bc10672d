"""Selection of items for a bucket set: embed, filter, set a pool apart, draw by confidence, write the sheet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paraconsist.data.writing import write_table
from paraconsist.errors import check_whole, input_error, renamed
from paraconsist.files import replacing, write_json, writing
from paraconsist.measures.sampling_correction import deciles
from paraconsist.studies.aflite import AfliteOptions, AfliteResult, aflite
from paraconsist.studies.items import Items, check_unseen, sample_by_difficulty
from paraconsist.transforms.paraphrase.judgements import rewritten_columns, write_writing_sheet

_FUNCTION = "select"


@dataclass(frozen=True)
class SelectOptions:
    """How to select.

    Attributes
    ----------
    encoder : str
        Folder or Hub id of the model whose vectors are filtered.
    filtering : AfliteOptions
    pooling : str
        See `paraconsist.models.encoders.load_encoder`.
    pool : float
        Share of the contexts that items are drawn from; the others are left to train the model under study on.
    confidence_model : str, optional
        The model whose confidence in the gold label the deciles are of. Without it nothing is drawn.
    n_easy, n_difficult : int
        Items to draw: 125 of each in the paper.
    rewrite : sequence of str, optional
        Columns to paraphrase; by default those that are not the context.
    places : int
        Empty places for paraphrases of an item.
    max_length : int, optional
        Cut inputs of the encoder.
    device : str, optional
    seed : int
        Of the pool and the draw.
    """

    encoder: str
    filtering: AfliteOptions = field(default_factory=AfliteOptions)
    pooling: str = "auto"
    pool: float = 1.0
    confidence_model: str | None = None
    n_easy: int = 125
    n_difficult: int = 125
    rewrite: Sequence[str] | None = None
    places: int = 10
    max_length: int | None = None
    device: str | None = None
    seed: int = 0
    group_columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not 0 < self.pool <= 1:
            raise input_error(_FUNCTION, "pool", "be a share above 0, and 1 at most", got=self.pool)
        check_whole(_FUNCTION, "places", self.places)
        if min(self.n_easy, self.n_difficult) < 0 or self.n_easy + self.n_difficult < 1:
            must = "ask, with `n_difficult`, for at least one item"
            raise input_error(_FUNCTION, "n_easy", must, got=(self.n_easy, self.n_difficult))


@dataclass(frozen=True)
class Selection:
    """What was selected.

    Attributes
    ----------
    result : AfliteResult
    in_pool : bool array, shape (n,)
    confidence : float array, shape (n,), or None
        nan outside the pool.
    drawn : int array
        Positions of the drawn items.
    folder : Path
        ``rows.parquet``, ``selection.json``; with a pool ``train.csv``; with a draw ``originals.parquet`` and
        ``sheet.csv``.
    n_places : int
    """

    result: AfliteResult
    in_pool: NDArray[np.bool_]
    confidence: NDArray[np.float64] | None
    drawn: NDArray[np.intp]
    folder: Path
    n_places: int


def select(
    items: Items, folder: Path, options: SelectOptions, *, say: Callable[[str], None] = lambda line: None
) -> Selection:
    """Filter rows, and draw items from them.

    Vectors are kept in ``embeddings.npz`` and used again for the same encoder and texts only.

    Raises
    ------
    InputError
        For what cannot be filtered, models that have seen the items, and folders that hold something else.
    """
    _open(folder)
    rewrite = rewritten_columns(items.task, options.rewrite)
    if options.confidence_model is not None and not set(items.task.columns) <= set(items.columns):
        must = f"have the columns of task {items.task.name} ({', '.join(items.task.columns)}), to draw items from"
        remedy = "Ready-made text can be filtered, but not turned into a bucket set."
        raise input_error(_FUNCTION, "rows", must, got=list(items.columns), remedy=remedy)
    in_pool = _pool(items, options)
    pool = items.part(in_pool)
    check_unseen(options.encoder, "encoder", items, group_columns=options.group_columns)
    if options.confidence_model is not None:
        check_unseen(options.confidence_model, "confidence_model", pool, group_columns=options.group_columns)
    vectors = _vectors(items, folder, options, say)
    result = aflite(
        vectors, items.labels, groups=items.groups, options=options.filtering, progress=lambda entry: say(_line(entry))
    )
    confidence = None
    drawn = np.empty(0, dtype=np.intp)
    n_places = 0
    if options.confidence_model is not None:
        confidence = np.full(len(items), np.nan)
        confidence[in_pool] = _confidences(pool, options)
        places = np.flatnonzero(in_pool)
        n = {"n_easy": options.n_easy, "n_difficult": options.n_difficult}
        drawn = places[sample_by_difficulty(result.easy[places], confidence[places], **n, seed=options.seed)]
        originals = [_original(items, result, confidence, int(i)) for i in drawn]
        write_table(pa.Table.from_pylist(originals), folder / "originals.parquet")
        sheet = folder / "sheet.csv"
        n_places = write_writing_sheet(sheet, originals, task=items.task, rewrite=rewrite, n=options.places)
    selection = Selection(result, in_pool, confidence, drawn, folder, n_places)
    _write(items, selection, options)
    return selection


def _open(folder: Path) -> None:
    kept = ("embeddings.npz", "rows.parquet", "selection.json", "train.csv", "aflite.png", "aflite.svg")
    if (folder / "sheet.csv").exists():
        must = "be a folder without a sheet, which may hold hours of work"
        raise input_error(_FUNCTION, "output", must, got=str(folder), remedy="Name another folder.")
    if folder.is_dir() and any(file.name not in kept for file in folder.iterdir()):
        raise input_error(_FUNCTION, "output", "be new, empty, or an earlier selection", got=str(folder))
    with writing(_FUNCTION, "output", folder):
        folder.mkdir(parents=True, exist_ok=True)


def _pool(items: Items, options: SelectOptions) -> NDArray[np.bool_]:
    groups = items.groups
    n_groups = int(groups.max()) + 1
    n_drawn = max(1, round(options.pool * n_groups))
    drawn = np.random.default_rng(options.seed).permutation(n_groups)[:n_drawn]
    in_pool: NDArray[np.bool_] = np.isin(groups, drawn)
    return in_pool


def _vectors(items: Items, folder: Path, options: SelectOptions, say: Callable[[str], None]) -> NDArray[np.float32]:
    from paraconsist.models.encoders import load_encoder
    from paraconsist.models.progress import ProgressBar

    with renamed(model="encoder"):
        encoder = load_encoder(options.encoder, items.task, pooling=options.pooling, max_length=options.max_length)
    key = encoder.content_key(items.inputs)
    file = folder / "embeddings.npz"
    if file.is_file():
        try:
            with np.load(file) as held:
                if str(held["key"]) == key:
                    say(f"Vectors of {len(items):,} rows were there already.")
                    kept: NDArray[np.float32] = held["vectors"]
                    return kept
        except (OSError, ValueError, KeyError, EOFError):
            pass  # damaged: made again
    with renamed(model="encoder"), ProgressBar(len(items), "embedding", visible=True) as bar:
        vectors = encoder.vectors(items.inputs, device=options.device, progress=bar.advance)
    with replacing(file) as partial, partial.open("wb") as stream:
        np.savez(stream, vectors=vectors, key=key)
    return vectors


def _confidences(items: Items, options: SelectOptions) -> NDArray[np.float64]:
    """The confidence model's probability of each row's gold label; labels meet by name."""
    from paraconsist.models.labels import resolve_label_map
    from paraconsist.models.loading import load_model
    from paraconsist.running.predictor import Predictor

    assert options.confidence_model is not None
    predictor = Predictor(load_model(options.confidence_model, task=items.task), items.task, device=options.device)
    texts = zip(*(items.columns[column] for column in items.task.columns), strict=True)
    by_model = predictor.probabilities([dict(zip(items.task.columns, row, strict=True)) for row in texts])
    probabilities = resolve_label_map(predictor.label_names, items.label_names).apply(by_model)[1]
    gold: NDArray[np.float64] = np.asarray(probabilities, dtype=np.float64)[np.arange(len(items)), items.labels]
    return np.clip(gold, 0.0, 1.0)


def _original(items: Items, result: AfliteResult, confidence: NDArray[np.float64], i: int) -> dict[str, Any]:
    bucket = str(items.columns["example_id"][i]) if "example_id" in items.columns else f"item-{i}"
    return {
        "example_id": f"{bucket}.original",
        "bucket_id": bucket,
        "group_id": items.group_ids[i],
        "role": "original",
        **{column: items.columns[column][i] for column in items.task.columns},
        "label": items.label_names[int(items.labels[i])],
        "difficulty": "easy" if result.easy[i] else "difficult",
        "decile": int(deciles(confidence[i])),
        "confidence": float(confidence[i]),
        "aflite_score": float(result.score[i]),
        "task": items.task.name,
    }


def _write(items: Items, selection: Selection, options: SelectOptions) -> None:
    folder, result, in_pool = selection.folder, selection.result, selection.in_pool
    columns: dict[str, Any] = {name: pa.array(list(values)) for name, values in items.columns.items()}
    columns |= {
        "group_id": pa.array(items.group_ids),
        "aflite_score": pa.array(result.score, from_pandas=True),
        "removed_in": pa.array(result.removed_in),
        "difficulty": pa.array(["easy" if easy else "difficult" for easy in result.easy]),
        "in_pool": pa.array(in_pool),
        "drawn": pa.array(np.isin(np.arange(len(items)), selection.drawn)),
    }
    if selection.confidence is not None:
        columns["confidence"] = pa.array(selection.confidence, from_pandas=True)
    write_table(pa.table(columns), folder / "rows.parquet")
    if not in_pool.all():
        write_table(pa.table(dict(items.part(~in_pool).columns)), folder / "train.csv")
    facts = {
        "rows": items.name,
        "n_rows": len(items),
        "n_contexts": len(set(items.contexts)),
        "task": items.task.name,
        "easy_share": result.easy_share,
        "n_drawn": len(selection.drawn),
        "curve": result.curve,
        "filtering": options.filtering.to_dict(),
        "encoder": options.encoder,
        "confidence_model": options.confidence_model,
        "pool": options.pool,
        "seed": options.seed,
    }
    write_json(folder / "selection.json", facts, indent=1)


def _line(entry: Any) -> str:
    return (
        f"{entry['n_rows']:,} rows: held-out accuracy {100 * entry['accuracy']:.1f} "
        f"(majority {100 * entry['majority']:.1f}), {entry['n_removed']:,} go"
    )
