"""Selection of items for a bucket set: embed, filter, set a pool apart, draw by confidence, write the sheet.

Rows are read, checked, grouped by context and kept apart from what models have seen; items are drawn in turn from each
decile of a model's confidence, so many easy and so many difficult.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paraconsist.data.tables import read_table
from paraconsist.data.tasks import Task
from paraconsist.data.writing import is_filled, write_table
from paraconsist.errors import input_error, renamed
from paraconsist.files import LOCK, locked, replacing, write_json
from paraconsist.measures.paraphrastic import deciles
from paraconsist.models.training.data import Source, context_texts, encode_examples, find_task, label_rows
from paraconsist.models.training.options import TrainingOptions
from paraconsist.studies.aflite import AfliteResult, aflite
from paraconsist.studies.options import SelectOptions
from paraconsist.transforms.paraphrase.judgements import rewritten_columns, write_writing_sheet

_FUNCTION = "select"
#: What a selection's folder may hold.
_FILES = (
    *("embeddings.npz", "rows.parquet", "selection.json", "train.csv", "aflite.png", "aflite.svg", "aflite.pdf"),
    *("originals.parquet", "sheet.csv"),
)


@dataclass(frozen=True)
class Items:
    """Rows to select from."""

    name: str  # the file
    columns: Mapping[str, Sequence[Any]]
    task: Task
    label_names: tuple[str, ...]
    labels: NDArray[np.int64]  # shape (n,)
    inputs: tuple[Any, ...]  # what models read of each row
    contexts: list[str]  # of premise and hypothesis, for example; rows of one context stay together

    def __len__(self) -> int:
        return len(self.labels)

    def part(self, mask: NDArray[np.bool_]) -> Items:
        places = np.flatnonzero(mask).tolist()
        return replace(
            self,
            columns={name: [values[i] for i in places] for name, values in self.columns.items()},
            labels=self.labels[mask],
            inputs=tuple(self.inputs[i] for i in places),
            contexts=[self.contexts[i] for i in places],
        )

    @property
    def groups(self) -> NDArray[np.int64]:
        """The number of each row's context, shape (n,)."""
        return np.unique(np.array(self.contexts), return_inverse=True)[1].astype(np.int64)

    @property
    def group_ids(self) -> list[str]:
        """A short name of each row's context, the same in all files."""
        return [hashlib.blake2b(text.encode("utf-8"), digest_size=6).hexdigest() for text in self.contexts]


def read_items(file: Path, options: SelectOptions, *, say: Callable[[str], None] = lambda line: None) -> Items:
    """Read rows (CSV, TSV, JSON Lines or Parquet) as `paraconsist train` reads and refuses them."""
    columns = read_table(file, function=_FUNCTION, parameter="rows").to_pydict()
    of_rows = {name: getattr(options, name) for name in ("task", "label_column", "label_names", "drop_unlabelled")}
    training = TrainingOptions(model="bow", output=Path(), train_file=file, **of_rows)
    source = Source(str(file), columns)
    of_task = find_task(source, options.task)
    names = options.label_names or of_task.label_names
    multiple = bool(of_task.choices) and set(of_task.columns) <= set(columns)
    examples = encode_examples(source, of_task, training, names, multiple_choice=multiple, say=say)
    if examples.n_dropped:
        labelled = label_rows(source, names, options.label_column, drop_unlabelled=True)
        columns = {name: [values[i] for i in labelled] for name, values in columns.items()}
    contexts = context_texts(columns, of_task, options.group_columns, function=_FUNCTION, name=str(file))
    labels = np.array(examples.labels, dtype=np.int64)
    alone = [""] * len(labels)
    items = Items(str(file), columns, of_task, tuple(names), labels, examples.inputs, contexts or alone)
    if options.limit is not None and options.limit < len(items):
        chosen = np.random.default_rng(options.seed).choice(len(items), size=options.limit, replace=False)
        items = items.part(np.isin(np.arange(len(items)), chosen))
    return items if contexts is not None else replace(items, contexts=[str(row) for row in range(len(items))])


def check_unseen(model: str, parameter: str, items: Items, *, group_columns: tuple[str, ...] | None = None) -> None:
    """Refuse a model that was trained on contexts of the items: its answers would be memorised.

    The items are compared with the training file that the model's folder names, if it still exists.
    """
    from paraconsist.running.by_name import trained_with

    named = trained_with(model, "train_file", str)
    if named is None or not (file := Path(named)).is_file():
        return
    columns = read_table(file, function=_FUNCTION, parameter=parameter).to_pydict()
    by = group_columns if group_columns is not None and set(group_columns) <= set(columns) else None
    seen = context_texts(columns, items.task, by, function=_FUNCTION, name=str(file))
    if common := set(items.contexts) & set(seen or ()):
        must = f"not be trained on contexts of {items.name}"
        remedy = (
            f"{len(common):,} of the {len(set(items.contexts)):,} contexts are in {file}, such as "
            f"{sorted(common)[0][:80]!r}: the partition leaks. Train it on other rows (see `pool`)."
        )
        raise input_error(_FUNCTION, parameter, must, got=model, remedy=remedy)


def round_robin(strata: NDArray[np.int64], size: int, *, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw `size` positions (at most n), one from each of the ten strata (0 to 9, shape (n,)) in turn."""
    queues = [rng.permutation(np.flatnonzero(strata == s))[::-1] for s in range(10)]
    in_turn = (i for of_each in zip_longest(*queues) for i in of_each if i is not None)
    return np.array([*islice(in_turn, size)], dtype=np.intp)


def sample_by_difficulty(
    easy: NDArray[np.bool_], confidences: Any, n_easy: int = 125, n_difficult: int = 125, *, seed: int = 0
) -> NDArray[np.intp]:
    """Draw easy and difficult items, each evenly over the deciles of a model's confidence in the gold label.

    `easy` and `confidences`, in [0, 1], have shape (n,); the paper draws 125 of each. Returns positions, easy items
    first; a UserWarning names kinds with fewer items than requested.
    """
    values = np.asarray(confidences, dtype=np.float64)
    must = f"be a number from 0 to 1 for each of the {len(easy)} rows"
    if values.shape != easy.shape:
        raise input_error(_FUNCTION, "confidence", must, got=f"{len(values)} numbers")
    inside = (values >= 0) & (values <= 1)
    if not inside.all():
        row = int(np.argmin(inside))
        raise input_error(_FUNCTION, "confidence", must, got=float(values[row]), row=row)
    rng = np.random.default_rng(seed)
    strata = deciles(values)
    drawn = []
    for name, mask, size in (("easy", easy, n_easy), ("difficult", ~easy, n_difficult)):
        places = np.flatnonzero(mask)
        drawn.append(places[round_robin(strata[places], size, rng=rng)])
        if len(places) < size:
            warnings.warn(f"there are only {len(places)} {name} items of {size} asked for", UserWarning, stacklevel=2)
    return np.concatenate(drawn)


@dataclass(frozen=True)
class Selection:
    """The selected items and the scores of all rows."""

    result: AfliteResult
    in_pool: NDArray[np.bool_]  # shape (n,)
    confidence: NDArray[np.float64] | None  # shape (n,); nan outside the pool
    drawn: NDArray[np.intp]  # positions of the drawn items
    #: ``rows.parquet``, ``selection.json``; with a pool ``train.csv``; if drawn ``originals.parquet``, ``sheet.csv``.
    folder: Path
    n_places: int


def select(
    items: Items, folder: Path, options: SelectOptions, *, say: Callable[[str], None] = lambda line: None
) -> Selection:
    """Filter rows, and draw items from them.

    Vectors are kept in ``embeddings.npz`` and used again for the same encoder and texts only. InputError for models
    that have seen the items, and for a folder with other files or a filled-in sheet.
    """
    with locked(folder, _FUNCTION, "output"):
        _check_folder(folder)
        rewrite = rewritten_columns(items.task, options.rewrite)
        if options.confidence_model is not None and not set(items.task.columns) <= set(items.columns):
            must = f"have the columns of task {items.task.name} ({', '.join(items.task.columns)}), to draw items from"
            remedy = "Ready-made text can be filtered, but not turned into a bucket set."
            raise input_error(_FUNCTION, "rows", must, got=list(items.columns), remedy=remedy)
        ids = items.columns.get("example_id", ())
        if options.confidence_model is not None and len({*ids}) < len(ids):
            must = f"be another for each row of {items.name}, to draw items from"
            raise input_error(_FUNCTION, "example_id", must, got=Counter(ids).most_common(1)[0][0])
        n_groups = int((groups := items.groups).max()) + 1
        in_groups = np.random.default_rng(options.seed).permutation(n_groups)[: max(1, round(options.pool * n_groups))]
        in_pool = np.isin(groups, in_groups)
        pool = items.part(in_pool)
        check_unseen(options.encoder, "encoder", items, group_columns=options.group_columns)
        if options.confidence_model is not None:
            check_unseen(options.confidence_model, "confidence_model", pool, group_columns=options.group_columns)
        vectors = _vectors(items, folder, options, say)
        result = aflite(vectors, items.labels, groups=groups, options=options.filtering, say=say)
        for name in _FILES[1:]:  # of an earlier selection, whose rows for training may be in this pool
            (folder / name).unlink(missing_ok=True)
        confidence, drawn, n_places = None, np.empty(0, dtype=np.intp), 0
        if options.confidence_model is not None:
            confidence = np.full(len(items), np.nan)
            confidence[in_pool] = _confidences(pool, options)
            places = np.flatnonzero(in_pool)
            sizes = options.n_easy, options.n_difficult
            drawn = places[sample_by_difficulty(result.easy[places], confidence[places], *sizes, seed=options.seed)]
            originals = [_original(items, result, confidence, int(i)) for i in drawn]
            write_table(pa.Table.from_pylist(originals), folder / "originals.parquet")
            sheet = folder / "sheet.csv"
            n_places = write_writing_sheet(sheet, originals, task=items.task, rewrite=rewrite, n=options.places)
        selection = Selection(result, in_pool, confidence, drawn, folder, n_places)
        _write(items, selection, options)
        return selection


def _check_folder(folder: Path) -> None:
    if any(file.name not in _FILES and not file.name.startswith(LOCK) for file in folder.iterdir()):
        raise input_error(_FUNCTION, "output", "be new, empty, or an earlier selection", got=str(folder))
    if (folder / "sheet.csv").exists() and is_filled(folder / "sheet.csv"):
        must = "be a folder without a sheet in which somebody wrote"
        raise input_error(_FUNCTION, "output", must, got=str(folder), remedy="Name another folder.")


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
    """Return the confidence model's probability of each row's gold label; labels are matched by name."""
    from paraconsist.models.labels import resolve_label_map
    from paraconsist.models.loading import load_model
    from paraconsist.running.predictor import Predictor

    assert options.confidence_model is not None
    predictor = Predictor(load_model(options.confidence_model, task=items.task), items.task, device=options.device)
    texts = zip(*(items.columns[column] for column in items.task.columns), strict=True)
    by_model = predictor.probabilities([dict(zip(items.task.columns, row, strict=True)) for row in texts])
    probabilities = resolve_label_map(predictor.label_names, items.label_names).apply(by_model)[1]
    return np.clip(np.asarray(probabilities, dtype=np.float64)[np.arange(len(items)), items.labels], 0.0, 1.0)


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
        "filtering": asdict(options.filtering),
        **{name: getattr(options, name) for name in ("encoder", "confidence_model", "pool", "seed")},
    }
    write_json(folder / "selection.json", facts, indent=1)
