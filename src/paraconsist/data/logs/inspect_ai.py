"""inspect_ai: ``.eval`` logs (a zip of JSON, compressed with zstd) and ``.json`` logs (tried with 0.3.285)."""

from __future__ import annotations

import json
import string
import struct
import zipfile
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paraconsist.data.foreign import archive_entries, cleaned
from paraconsist.data.logs import format as logs
from paraconsist.data.logs.agents import LABELS, calls_of, run_columns
from paraconsist.data.logs.fields import Records, as_texts, value_of, walk
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import CALLS, PROBLEM, TRIED, Metadata, Predictions
from paraconsist.data.tasks import QUESTIONS
from paraconsist.errors import InputError, input_error
from paraconsist.files import Json

_ZSTD = 93
_ATTACHMENT = "attachment://"
_VALUES = {"C": 1.0, "I": 0.0, "N": 0.0}
_KEPT = ("id", "epoch", "input", "choices", "target", "metadata", "scores", "store")
_LARGE = ("events", "messages", "events_data")  # large fields that no query reads
_ROOTS = ("metadata",)
#: The key of a log's metadata under which `paraconsist.plugins.inspect_ai` records its bucket set.
BUCKET_SET = "paraconsist"
_LARGEST = 1 << 28  # bytes of one sample; a damaged archive may promise any number
#: The errors of damaged archives.
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, pa.ArrowException, OSError, EOFError, ValueError, KeyError),
    *(RuntimeError, MemoryError),  # an encrypted or unknown kind of entry, values nested too deeply
)


def recognises(path: Path, head: logs.Head) -> bool:
    """Say whether a file is an inspect log: a zip with a header or the start of a journal, or JSON."""
    if head.start.startswith(b"PK") and zipfile.is_zipfile(path):
        try:
            with zipfile.ZipFile(path) as archive:
                return bool({"header.json", "_journal/start.json"} & set(archive.namelist()))
        except _DAMAGE:
            return path.suffix.lower() == ".eval"
    beginning = b"".join(head.start[:4096].split())
    return beginning.startswith(b'{"version":') and b'"status":' in beginning and b'"eval":' in beginning


def read(path: Path, query: SourceOptions, texts: Sequence[str] | None = None) -> Predictions:
    """Read one log.

    InputError if the run did not succeed, samples were invalidated or are repeated, a field is missing, or no scorer
    has verdicts of right and wrong.
    """
    header, samples = _from_json(path) if path.suffix.lower() == ".json" else _from_zip(path)
    _check_finished(header, path)
    return log_rows(header, samples, path, query, texts)


def log_rows(
    header: Any, samples: Sequence[Json], path: Path, query: SourceOptions, texts: Sequence[str] | None = None
) -> Predictions:
    """Return the rows of a finished log from its header and samples; InputError as for `read`."""
    samples = _of_epoch(samples, query.epoch, path)
    if not samples:
        raise logs.bad_log("hold at least one sample", path)
    scorer = _scorer(header, samples, query.metric)
    own = _bucket_set(header, len({str(sample["id"]) for sample in samples}))
    several = len({sample["epoch"] for sample in samples}) > 1
    has_calls = any(sample.get(CALLS) for sample in samples)
    is_asked_again = several and not any("bucket_id" in (sample.get("metadata") or ()) for sample in samples)
    #: Of an agent, or asked again: its runs of a sample are its epochs, unless somebody says what the buckets are.
    is_agent = (has_calls or is_asked_again) and not own and query.named("bucket") is None is query.trial
    fields = Records([_row(sample) | ({"bucket_id": str(sample["id"])} if is_agent else {}) for sample in samples])
    failed = sum(not sample["scores"] for sample in samples)
    note = (
        f"{failed} of {len(samples)} samples of {path.name} have no score (they ended in an error or were cut off): "
        "they count as unparsed here, and inspect's own accuracy excludes them"
    )
    notes = [note] if failed else []
    if is_agent and not has_calls:
        notes.append("epochs are taken for runs of a sample; name what wordings of a problem share as `bucket`")
    is_compared = query.named("prediction") is not None or bool(own.get("same"))
    others = ", ".join(dict.fromkeys(name for sample in samples for name in sample["scores"] if name != scorer))
    if others and query.metric is None and not is_compared:
        notes.append(f"an answer is right where the scorer {scorer} says so; --metric takes another ({others})")
    answers = _answers(samples, scorer, own.get("label_names", []), compared=is_compared)
    columns, label_names = answers.columns(fields, query, _ROOTS)
    if own.get("same"):
        columns, label_names = _free_text(samples, scorer), None
    if is_agent and answers.right is not None:
        scored = (_parts(scorer, sample["scores"])[0] in sample["scores"] for sample in samples)
        verdict = [bool(won) if known else None for won, known in zip(answers.right, scored, strict=True)]
        keys = [str(sample["id"]) for sample in samples], [sample["epoch"] for sample in samples]
        columns, label_names = run_columns(*keys, verdict, [sample[CALLS] for sample in samples]), LABELS
    for name in ("input_id", *own["strata"]) if own else ():
        if (column := fields.column(f"metadata.{name}")) is not None:
            columns[name] = column
    linked = logs.linked_columns(fields, query, roots=_ROOTS)
    epochs = [sample["epoch"] for sample in samples]
    ids = [f"{sample['id']} epoch {sample['epoch']}" if several else str(sample["id"]) for sample in samples]
    if query.trial is not None:
        samples_of = pa.chunked_array([[str(sample["id"]) for sample in samples]])
        columns |= {query.trial: value_of(fields, query.trial, parameter="trial", roots=_ROOTS), TRIED: samples_of}
    elif several and linked and not is_agent:
        # each epoch of a bucket is a separate bucket, and the bucket their group
        buckets, problem = as_texts(linked["bucket_id"]).to_pylist(), linked["bucket_id"]
        of_epochs = [b if b is None else f"{b} epoch {epoch}" for b, epoch in zip(buckets, epochs, strict=True)]
        linked |= {"bucket_id": pa.chunked_array([of_epochs]), PROBLEM: problem}
        linked.setdefault("group_id", problem)
        notes.append(
            f"{len(set(epochs))} epochs: wordings are compared within an epoch, and intervals resample buckets "
            "with all their epochs (--epoch N scores one of them, --trial epoch takes the others for the noise floor)"
        )
    listed, of_run = walk(header, "results", "scores"), walk(header, "eval")
    of_scorer = [score for score in listed if walk(score, "name") == scorer] if isinstance(listed, list) else []
    values = (walk(score, "metrics", "accuracy", "value") for score in of_scorer)
    reported = next((float(value) for value in values if isinstance(value, (int, float))), None)
    versions = {"version": walk(of_run, "packages", "inspect_ai"), "task_version": walk(of_run, "task_version")}
    rows = logs.log_predictions(
        *(path, INSPECT.name, ids, {**linked, **columns}, label_names, fields, texts),
        noun="sample",
        roots=_ROOTS,
        by_default=lambda: _texts(fields.rows),
        name=walk(of_run, "task") or path.stem,
        model=walk(of_run, "model"),
        source={**versions, "scorer": scorer, "reported": reported, "judged": answers.right is not None},
        notes=notes,
    )
    return replace(rows, metadata={**rows.metadata, **own})


def _bucket_set(header: Any, n_samples: int) -> Metadata:
    """Return the metadata of the set that a task of this package asked; empty for other logs."""
    stored = walk(header, "eval", "metadata", BUCKET_SET)
    if not isinstance(stored, Mapping) or not isinstance(stored.get("set"), str):
        return {}
    lists = (stored.get(name) for name in ("label_names", "measures", "strata"))
    labels, measures, strata = ([*map(str, names)] if isinstance(names, list) else [] for names in lists)
    metadata: Metadata = {"set": stored["set"], "label_names": labels, "measures": measures, "strata": strata}
    for key in ("same", "right"):
        if isinstance(stored.get(key), str):
            metadata |= {key: stored[key], "task": QUESTIONS.name}  # type: ignore[misc]
    if n_samples == stored.get("n_rows"):
        metadata["set_fingerprint"] = stored.get("set_fingerprint")
    return metadata


def _texts(rows: Sequence[Json]) -> logs.Texts:
    """Return the texts of the samples' input, and of their choices if there are any."""
    texts = {"input": [_message_texts(row.get("input")) for row in rows]}
    if any(isinstance(row.get("choices"), list) for row in rows):
        texts["choices"] = [" | ".join(map(str, row.get("choices") or [])) for row in rows]
    return texts


def _message_texts(messages: Any) -> str:
    """Return a text, or messages as text, after their roles if there are several."""
    if not isinstance(messages, list):
        return str(messages or "")
    contents = [walk(message, "content") for message in messages]
    parts = [c if isinstance(c, list) else [{"text": c}] for c in contents]
    texts = ["\n".join(str(walk(part, "text") or "") for part in of_message) for of_message in parts]
    if len(texts) == 1:
        return texts[0]
    return "\n".join(f"{walk(message, 'role')}: {text}" for message, text in zip(messages, texts, strict=True))


def _from_zip(path: Path) -> tuple[Any, list[Json]]:
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as stream:
            entries = archive_entries(archive)
            if "header.json" not in entries:
                remedy = "The run was killed, or is still going; `inspect log` can recover its samples."
                raise logs.bad_log("be the log of a run that ended", path, remedy=remedy)
            header = cleaned(json.loads(_content(stream, archive, entries["header.json"])))
            named = [name for name in entries if name.startswith("samples/") and name.endswith(".json")]
            samples = [_sample(cleaned(json.loads(_content(stream, archive, entries[name]))), path) for name in named]
    except InputError:
        raise
    except _DAMAGE:
        raise logs.not_whole(path, INSPECT.name) from None
    return header, samples


def _sample(sample: Any, path: Path) -> Json:
    """Return a checked sample without its events, with its epoch and with a mapping of scores by scorer."""
    scores, epoch = walk(sample, "scores"), walk(sample, "epoch")
    epoch = 1 if epoch is None else epoch
    if walk(sample, "id") is None or not isinstance(epoch, int) or not isinstance(scores or {}, Mapping):
        remedy = "It may be damaged: copy it again."
        raise logs.bad_log("have an id, scores and a whole epoch in every sample", path, remedy=remedy)
    by_scorer = {name: score for name, score in (scores or {}).items() if isinstance(score, Mapping)}
    small = {key: value for key, value in sample.items() if key not in _LARGE}
    return {**small, "epoch": epoch, "scores": by_scorer, CALLS: calls_of(sample.get("messages"))}


def _content(stream: Any, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return an entry's bytes; Python's zipfile cannot read zstd before 3.14."""
    if info.file_size > _LARGEST:
        raise zipfile.BadZipFile(info.filename)
    if info.compress_type != _ZSTD:
        return archive.read(info)
    stream.seek(info.header_offset)
    name_length, extra_length = struct.unpack("<26xHH", stream.read(30))
    stream.seek(name_length + extra_length, 1)
    packed = stream.read(info.compress_size)
    content: bytes = pa.Codec("zstd").decompress(packed, decompressed_size=info.file_size, asbytes=True)
    if zlib.crc32(content) != info.CRC:
        raise zipfile.BadZipFile(info.filename)
    return content


def _from_json(path: Path) -> tuple[Any, list[Json]]:
    log = logs.read_whole(path, INSPECT.name)
    samples = log.get("samples") or []
    if not isinstance(samples, list):
        raise logs.not_whole(path, INSPECT.name)
    return log, [_sample(sample, path) for sample in samples]


def _check_finished(header: Any, path: Path) -> None:
    status = walk(header, "status")
    if status != "success" or not walk(header, "results"):
        why = walk(header, "error", "message")
        got = status if status != "success" else "no results"
        remedy = f"{path.name} did not succeed{f' ({why})' if why else ''}: `inspect eval-retry` continues it."
        raise logs.bad_log("be the log of a run that succeeded", got, remedy=remedy)
    if walk(header, "invalidated"):
        raise logs.bad_log("hold valid samples", path.name, remedy="Some were marked as invalid: run them again.")


def _of_epoch(samples: Sequence[Json], wanted: int | None, path: Path) -> Sequence[Json]:
    if wanted is None:
        return samples
    epochs = sorted({sample["epoch"] for sample in samples})
    if wanted not in epochs:
        must = f"be one of the log's ({', '.join(map(str, epochs))})"
        raise input_error("score", "epoch", must, got=wanted, remedy=f"See {path.name}.")
    return [sample for sample in samples if sample["epoch"] == wanted]


def _scorer(header: Any, samples: Sequence[Json], wanted: str | None) -> str:
    names = list(dict.fromkeys(name for sample in samples for name in sample["scores"]))
    if wanted is not None:
        if _parts(wanted, names)[0] not in names:
            raise input_error("score", "metric", f"be one of the log's scorers ({', '.join(names)})", got=wanted)
        return wanted
    if not names:
        raise logs.bad_log("be the log of a scored run", "no scores", remedy="`inspect score` adds them.")
    headline = walk(header, "results", "headline", "score")
    return str(headline) if headline in names else names[0]


def _parts(scorer: str, names: Collection[str]) -> tuple[str, str]:
    """Return a scorer's name, which may have points in it, and that of a part of its values, "" for none."""
    name = max((name for name in names if f"{scorer}.".startswith(f"{name}.")), key=len, default=scorer)
    return name, scorer[len(name) + 1 :]


def _row(sample: Json) -> Any:
    """Return the fields of a sample that queries may name, with attached long texts in their places."""
    row = {name: sample[name] for name in _KEPT if sample.get(name) not in (None, {}, [])}
    return _with_attachments({**row, "completion": _completion(sample)}, sample.get("attachments"))


def _with_attachments(value: Any, attached: Any) -> Any:
    if isinstance(value, str) and value.startswith(_ATTACHMENT) and isinstance(attached, Mapping):
        return attached.get(value.removeprefix(_ATTACHMENT), value)
    if isinstance(value, Mapping):
        return {key: _with_attachments(inner, attached) for key, inner in value.items()}
    return [_with_attachments(inner, attached) for inner in value] if isinstance(value, list) else value


def _answers(samples: Sequence[Json], scorer: str, label_names: Sequence[str], *, compared: bool) -> logs.LogAnswers:
    name, part = _parts(scorer, {name for sample in samples for name in sample["scores"]})
    scores = [sample["scores"].get(name) for sample in samples]
    values = [None if score is None else _value(score.get("value"), part) for score in scores]
    every = [item for sample in samples for item in sample["scores"].items()]
    of_each = [[f"{one}.{key}" for key in v] if isinstance(v := s.get("value"), Mapping) else [one] for one, s in every]
    others = list(dict.fromkeys(name for names in of_each for name in names))
    known = [0.0 if score is None else value for score, value in zip(scores, values, strict=True)]
    right = None if compared else logs.verdicts(known, scorer, others)
    texts = [None if score is None else score.get("answer") for score in scores]
    if all(text is None for text in texts):  # the scorer keeps no answers
        texts = [None if s is None else _completion(sample) for s, sample in zip(scores, samples, strict=True)]
    answers = [
        None if score is None or score.get("value") == "N" or text is None or not str(text).strip() else str(text)
        for score, text in zip(scores, texts, strict=True)
    ]
    listed = [sample.get("target") for sample in samples]
    if label_names and (of_names := _named(listed, answers, label_names, right, samples)) is not None:
        return of_names
    targets = [" | ".join(map(str, target)) if isinstance(target, list) else str(target) for target in listed]
    letters, raw = _letters(samples, targets, answers), [_completion(sample) for sample in samples]
    if letters is None:
        moved = [walk(sample, "metadata", "original_options") for sample in samples]  # by `reword`
        targets, answers = ([*map(logs.as_original, texts, moved)] for texts in (targets, answers))
        return logs.LogAnswers(targets, answers, right, raw=raw)
    return logs.LogAnswers(*letters, right, [[*map(str, sample["choices"])] for sample in samples], raw=raw)


def _free_text(samples: Sequence[Json], scorer: str) -> dict[str, pa.ChunkedArray]:
    """Return the columns of answers to questions, which the scoring compares as it does a run's."""
    answers = [walk(sample, "scores", scorer, "answer") for sample in samples]
    targets = [sample.get("target") or [] for sample in samples]
    accepted = [[str(text) for text in ([each] if isinstance(each, str) else each) if text] for each in targets]
    choices = [walk(sample, "metadata", "choices") or None for sample in samples]
    return logs.free_text_columns(answers, accepted, choices)


def _named(
    targets: Sequence[Any],
    answers: Sequence[str | None],
    label_names: Sequence[str],
    right: NDArray[np.bool_] | None,
    samples: Sequence[Json],
) -> logs.LogAnswers | None:
    """Return answers by number if every target and answer is among the set's labels, else None."""
    place = {name: i for i, name in enumerate(label_names)}
    lists = [target if isinstance(target, list) else [target] for target in targets]
    allowed = [[place.get(str(label), -1) for label in labels] for labels in lists]
    chosen = [-1 if answer is None else place.get(answer, -2) for answer in answers]
    if -2 in chosen or not all(rule and min(rule) >= 0 for rule in allowed):
        return None
    gold = [answer if answer in rule else rule[0] for answer, rule in zip(chosen, allowed, strict=True)]
    raw = [_completion(sample) for sample in samples]
    choices = [label_names] * len(samples)
    return logs.LogAnswers(np.array(gold), np.array(chosen), right, choices, raw=raw, allowed=allowed)


def _value(value: Any, part: str) -> Any:
    if part and isinstance(value, Mapping):
        value = value.get(part, value)
    return _VALUES.get(value, value) if isinstance(value, str) else value


def _completion(sample: Json) -> str:
    return str(walk(sample, "output", "completion") or "")


def _letters(
    samples: Sequence[Json], targets: Sequence[str], answers: Sequence[str | None]
) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """Return places among the choices if every target and answer is the letter of one, else None."""
    listed = [sample.get("choices") for sample in samples]
    sizes = np.array([len(choices) if isinstance(choices, list) else 0 for choices in listed])
    places = {None: -1} | {letter: place for place, letter in enumerate(string.ascii_uppercase)}
    gold, chosen = (
        np.array([places.get(text and text.strip(), sizes.max()) for text in texts]) for texts in (targets, answers)
    )
    return (gold, chosen) if sizes.all() and (np.maximum(gold, chosen) < sizes).all() else None


INSPECT = logs.LogFormat(
    name="inspect_ai",
    what=".eval or .json log of inspect_ai",
    recognises=recognises,
    read=read,
    pattern="*.eval 20??-??-??T*_*.json",
    options=("metric", "epoch"),
)
