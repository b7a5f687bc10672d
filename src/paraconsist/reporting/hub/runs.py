"""A run as a dataset repository: results, predictions, a card, and `.eval_results/*.yaml` for the model's page."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow.parquet as pq

from paraconsist._version import __version__
from paraconsist.data.predictions import (
    KEY_COLUMNS,
    PREDICTION_COLUMNS,
    STRATUM_COLUMNS,
    read_predictions,
    with_identity,
)
from paraconsist.data.sharing import local_names, public
from paraconsist.data.store import RunFolder
from paraconsist.errors import input_error
from paraconsist.files import read_record, to_json, to_strict_json
from paraconsist.measures.catalogue import CATALOGUE
from paraconsist.reporting.formatting import bounds, count, decimal, interval, known
from paraconsist.reporting.hub.client import NEW, HubFile, Push, Remote, card_text, check_earlier, check_repo_id
from paraconsist.reporting.table import Line, as_markdown, table
from paraconsist.scoring.options import ScoreOptions
from paraconsist.scoring.outcomes import WORDING_CHANGE, compared_by
from paraconsist.scoring.score import score_sources
from paraconsist.scoring.sources import open_source

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

#: The results of one set, or the whole file, as results.json or run.json holds them.
Saved: TypeAlias = Mapping[str, Any]

_TAG = "paraconsist-run"
_ENTRIES = ".eval_results"
_UNSAFE = r"[^\w.-]"  # in a file's name
_TYPED = ("command", "options")  # of run.json: as typed on this machine
_HOW = "Give the folder that `paraconsist run` or `pc.run` wrote; if it was cut off, the same call finishes it."


def run_dataset(
    folder: Path, repo_id: str, *, benchmarks: Mapping[str, str] = MappingProxyType({}), remote: Remote = NEW
) -> Push:
    """Return the push of a run: the `folder` that ``paraconsist run`` or `paraconsist.run` wrote.

    A run without a ``results.json`` is scored first, as ``paraconsist run`` does it; the folder stays as it is.
    `benchmarks` maps a set to its repository on the Hub, for `.eval_results` (see `eval_result_entries`).
    """
    from huggingface_hub import constants, eval_result_entries_to_yaml
    from huggingface_hub.utils import yaml_dump

    run = read_record("push", "folder", folder / "run.json", remedy=_HOW)
    files, columns, names, notes = _predictions(folder, run)
    if (folder / "results.json").exists():
        saved: Saved = read_record("push", "folder", folder / "results.json", remedy=_HOW)
    else:
        scored = score_sources(open_source(folder, function="push"), ScoreOptions())
        saved = to_strict_json({name: scores.to_dict() for name, scores in scored.items()})
    predictions = [file.path for file in files]
    usual = [*KEY_COLUMNS, *STRATUM_COLUMNS]
    shared = public({name: _with_strata(result, columns.get(name, usual)) for name, result in saved.items()}, names)
    of_run = {key: value for key, value in run.items() if key not in _TYPED}
    if "files" in run:  # their checksums, where they are sent as they are
        same = [file.path for file in files if isinstance(file.content, Path)] + ["results.json"] * (saved == shared)
        of_run["files"] = {name: sums for name, sums in run["files"].items() if name in same}
    both = {"results.json": (saved, shared), "run.json": (run, public(of_run, names))}
    results, unknown = _known(both["results.json"][1])
    if both["run.json"][1] != of_run:
        notes.append("The places of models on this machine and addresses stay here; models go by their names.")
    check_earlier(remote, repo_id, _TAG, "a run")
    known = {*results, *(name.partition(":")[0] for name in results)}
    for name, repo in benchmarks.items():
        if name not in known:
            raise input_error("push", "benchmark", f"name sets of the run: {', '.join(sorted(known))}", got=name)
        check_repo_id("benchmark", repo)
    link = {"source_url": f"{constants.ENDPOINT}/datasets/{repo_id}", "source_name": "predictions and results"}
    entries = eval_result_entries(results, benchmarks, date=run.get("ended"), **link)
    paths = run["sets"]
    stems = {name: Path(paths[name]).stem if name in paths else re.sub(_UNSAFE, "-", name) for name in results}
    dumped = {name: yaml_dump(eval_result_entries_to_yaml(of), sort_keys=False) for name, of in entries.items()}
    yaml_files = [HubFile(f"{_ENTRIES}/{stems[name]}.yaml", text.encode()) for name, text in dumped.items()]
    records = [
        HubFile(f"every_eval_ever/{re.sub(_UNSAFE, '-', name)}.json", f"{to_json(record)}\n".encode())
        for name, result in results.items()
        if (record := evaluation_record(name, result, _benchmark_of(name, benchmarks), repo_id, run.get("ended")))
    ]
    card = HubFile("README.md", _card(repo_id, results, predictions, bool(entries)).encode())
    kept = (
        HubFile(name, folder / name if before == after and (folder / name).exists() else f"{to_json(after)}\n".encode())
        for name, (before, after) in both.items()
    )
    return Push(
        repo_id=repo_id,
        repo_type="dataset",
        files=(card, *kept, *files, *yaml_files, *records),
        message=f"Push a run of {_models(results)} with paraconsist",
        may_delete=lambda path: path.startswith(("predictions/", "every_eval_ever/", f"{_ENTRIES}/")),
        notes=(*unknown, *notes, *_notes(results, entries)),
        how_to_use=f'load_dataset("{repo_id}", "{Path(predictions[0]).stem}")',
    )


def model_results(run: Push, model: str) -> Push:
    """Return the push of a run's `.eval_results` to the `model`'s own repository, where the Hub reads them."""
    files = tuple(file for file in run.files if file.path.startswith(f"{_ENTRIES}/"))
    if not files:
        must = "say where a set of the run is on the Hub, one with a value that says something of the model"
        raise input_error("push", "benchmark", must, remedy=" ".join(run.notes))
    return Push(model, "model", files, "Add consistency, by paraconsist", how_to_use=f"The page of {model} shows them.")


def _predictions(folder: Path, run: Saved) -> tuple[list[HubFile], dict[str, list[str]], dict[str, str], list[str]]:
    """Return the predictions to send, each set's columns in them, the local models' names, and notes.

    They are the files that run.json names, with the columns that are declared: of every bucket set, of this package's
    own strata, and those that the run named.
    """
    own = RunFolder(folder).predictions_files()
    named = run.get("sets")
    if not own or not isinstance(named, Mapping) or not named:
        raise input_error("push", "folder", "hold predictions/*.parquet", got=str(folder), remedy=_HOW)
    names, files, columns, notes = local_names(run), [], {}, []
    for file in own:
        predictions = read_predictions(file)
        table, metadata = predictions.table, predictions.metadata
        names |= local_names(metadata)
        known = {*KEY_COLUMNS, *PREDICTION_COLUMNS, *STRATUM_COLUMNS, *metadata.get("strata", ())}
        kept = [name for name in table.column_names if name in known]
        if left := [name for name in table.column_names if name not in known]:
            notes.append(f"Undeclared columns of {file.name}, which are not sent: {', '.join(left)}.")
        columns[str(metadata.get("set"))] = kept
        path = file.relative_to(folder).as_posix()
        if not left and public(metadata, names) == metadata:
            files.append(HubFile(path, file))
            continue
        with io.BytesIO() as stream:
            pq.write_table(with_identity(table.select(kept), public(metadata, names)), stream, compression="zstd")
            files.append(HubFile(path, stream.getvalue()))
    listed = dict.fromkeys(name for kept in columns.values() for name in kept)
    notes.append(f"Columns of the predictions: {', '.join(listed)}.")
    return files, columns, names, notes


def _with_strata(value: Any, columns: Collection[str]) -> Any:
    """Return a result with the breakdowns by `columns` only, and without the command line."""
    if not isinstance(value, Mapping):
        return value
    parts = ("strata", "by_stratum")
    return {
        key: {column: by for column, by in inner.items() if column in columns}
        if key in parts and isinstance(inner, Mapping)
        else _with_strata(inner, columns)
        for key, inner in value.items()
        if key != "command"
    }


def _known(saved: Saved) -> tuple[Saved, list[str]]:
    """Return results without the measures of other versions and plug-ins, and a note that names those."""
    unknown = sorted({measure for result in saved.values() for measure in result["measures"]} - CATALOGUE.keys())
    of_sets = {name: {m: v for m, v in one["measures"].items() if m in CATALOGUE} for name, one in saved.items()}
    results = {name: {**result, "measures": of_sets[name]} for name, result in saved.items()}
    left = f"results.json has unknown measures, which the card leaves out: {', '.join(unknown)}."
    return results, [left] if unknown else []


def _models(results: Mapping[str, Saved]) -> str:
    return ", ".join(dict.fromkeys(str(r["model"]) for r in results.values() if r.get("model"))) or "a model"


def _notes(results: Saved, entries: Collection[str]) -> list[str]:
    notes = []
    able = eval_result_entries(results, dict.fromkeys(results, "NAMESPACE/NAME"))
    if void := [name for name in results if name not in able]:
        notes.append(f"No {_ENTRIES} for {', '.join(void)}: the value is undefined, or says nothing of the model.")
    if unplaced := [name for name in able if name not in entries]:
        lacking = f"No {_ENTRIES} for {', '.join(unplaced)}: an entry names the set's repository on the Hub."
        notes.append(f"{lacking} Give --benchmark {unplaced[0].partition(':')[0]}=NAMESPACE/NAME.")
    if entries:
        where = "once it stands in the model's own repository, where --model NAMESPACE/NAME puts it"
        notes.append(f"{_ENTRIES}/*.yaml shows on a model's page {where}.")
    return notes


def _card(repo_id: str, results: Mapping[str, Saved], predictions: list[str], has_entries: bool) -> str:
    stems = [Path(path).stem for path in predictions]
    title = f"Consistency of {_models(results)}"
    data = {
        "pretty_name": title,
        "tags": ["paraconsist", _TAG, "evaluation", "consistency"],
        "configs": [
            {"config_name": stem, "data_files": [{"split": "test", "path": path}]}
            for stem, path in zip(stems, predictions, strict=True)
        ],
    }
    columns = ("set", "measure", "value", "interval", "accuracy", "constant answer", "rows")
    rows = [row for name, result in results.items() for row in _table_rows(name, result)]
    lines = [
        "",
        f"# {as_markdown([Line(title)])}",
        "",
        "Does the model give the same answer however a question is phrased? Written by `paraconsist run`.",
        "",
        as_markdown([table("", columns, rows, words=columns[:2])]),
        "",
    ]
    for name, measures in ((name, _shown(result)) for name, result in results.items()):
        named = ((f"{name}, {m}" if len(measures) > 1 else name, values) for m, values in measures.items())
        lines += [f"- {label}: `{values['signature']}`" for label, values in named]
    all_of = (w for r in results.values() for part in (r, *r["measures"].values()) for w in part["warnings"])
    if warnings := dict.fromkeys(all_of):
        lines += ["", "Before reading the numbers:", "", *(f"- {as_markdown([Line(w)])}" for w in warnings)]
    lines += [
        "",
        f"`results.json` has every value in full precision and by stratum, `run.json` the model's identity, and\n"
        f"`predictions/` one row for each row of a set:\n\n```python\nfrom datasets import load_dataset\n\n"
        f'predictions = load_dataset("{repo_id}", "{stems[0]}", split="test")\n```',
    ]
    if has_entries:
        lines += ["", f"`{_ENTRIES}/` holds the entries for the model's own repository."]
    return card_text(data, "\n".join(lines) + "\n")


def _shown(result: Saved) -> Saved:
    """Return the results of a set that are shown: without gold labels the wording change for undefined ones."""
    measures: Saved = result["measures"]
    wording: Saved | None = result.get("wording")
    if not wording or result["majority_rate"] is not None:
        return measures
    known_of = {name: values for name, values in measures.items() if known(values.get(CATALOGUE[name].headline))}
    return {**known_of, WORDING_CHANGE.key: wording}


def _table_rows(name: str, result: Saved) -> Iterator[Sequence[str]]:
    for measure, values in _shown(result).items():
        headline = compared_by(measure).headline
        value = decimal(values.get(headline), undefined="undefined")
        ends = interval(values.get("confidence_interval", {}).get(headline), decimal)
        accuracy, majority = (decimal(s, undefined="") for s in (values.get("accuracy"), result["majority_rate"]))
        label = measure if headline in ("inconsistency", measure) else f"{measure}, {headline}"
        yield name, label, value, ends, accuracy, majority, count(result["n_rows"])


def eval_result_entries(
    results: Mapping[str, Saved],
    benchmarks: Mapping[str, str],
    *,
    date: str | None = None,
    source_url: str | None = None,
    source_name: str | None = None,
) -> dict[str, list[EvalResultEntry]]:
    """Return the entries of a run's `results`, a whole ``results.json``, by set; sets without any are left out.

    An entry has the measure's headline value of ``results.json`` (a share in [0, 1]), the benchmark's repository as
    `dataset_id`, and ``<config>-<measure>`` as `task_id`. Its notes hold the interval, which end is good, and the
    signature. Undefined values have no entry, nor has a model whose consistency says nothing: a constant answer gets 1.

    `benchmarks` maps the set's name, or the part before its colon, to the repository of the data set (``paranlu`` ->
    ``org/paranlu``). Sets that were read from the Hub need none; others without one have no entry. `date` is in ISO
    8601; `source_url` says where the predictions are, and `source_name`, never without it, what the link is called.
    """
    from huggingface_hub import EvalResultEntry

    if source_name is not None and source_url is None:
        raise input_error("eval_result_entries", "source_url", "be given with source_name", got=source_url)
    entries: dict[str, list[EvalResultEntry]] = {}
    for name, result in results.items():
        repo = _benchmark_of(name, benchmarks)
        for measure, values in _shown(result).items():
            value = values.get(compared_by(measure).headline)
            if repo is None or value is None or math.isnan(value) or result.get("degenerate"):
                continue
            entry = EvalResultEntry(
                dataset_id=repo,
                task_id=f"{name.partition(':')[2] or 'default'}-{measure}",
                value=value,
                date=date,
                source_url=source_url,
                source_name=source_name,
                notes=_result_notes(measure, values),
            )
            entries.setdefault(name, []).append(entry)
    return entries


def _benchmark_of(name: str, benchmarks: Mapping[str, str]) -> str | None:
    """Return the repository on the Hub that holds a set; its own name where it was read from there."""
    source = name.partition(":")[0]
    is_on_hub = source.count("/") == 1 and not source.startswith((".", "/", "~"))
    return benchmarks.get(name, benchmarks.get(source, source if is_on_hub else None))


def _result_notes(measure: str, values: Saved) -> str:
    headline, higher = compared_by(measure).headline, compared_by(measure).higher_is_better
    parts = [f"{headline} in [0, 1], {'higher' if higher else 'lower'} is better"]
    if ends := interval(values.get("confidence_interval", {}).get(headline), decimal):
        parts.append(f"interval {ends}")
    return "; ".join([*parts, str(values["signature"])])


def evaluation_record(
    name: str, result: Saved, dataset: str | None, repo_id: str, ended: str | None
) -> Mapping[str, object] | None:
    """Return the record of one set: each measure's headline and accuracy, with interval, units and signature.

    `dataset` is the set's repository on the Hub, `repo_id` that of the run, `ended` when it did (ISO 8601). None where
    the model is not known, or no number is defined. A degenerate consistency is left out, as in `eval_result_entries`.
    """
    model, owner = str(result.get("model") or ""), repo_id.partition("/")[0]
    of_hub = {"source_type": "hf_dataset", "hf_repo": dataset} if dataset else {"source_type": "other"}
    level, numbers = result.get("options", {}).get("confidence_level"), []
    for measure, values in _shown(result).items():
        for key in [compared_by(measure).headline] * (not result.get("degenerate")) + ["accuracy"]:
            if not known(values.get(key)):
                continue
            ends = bounds(values.get("confidence_interval"), key)
            sure = {"lower": ends[0], "upper": ends[1], "confidence_level": level} if ends else None
            uncertainty = {"confidence_interval": sure, "num_samples": values.get("n_clusters", {}).get(key)}
            metric = {
                "evaluation_description": compared_by(measure).question,
                "metric_id": key if key == "accuracy" else f"paraconsist.{measure}.{key}",
                "metric_unit": "proportion",
                "lower_is_better": key != "accuracy" and not compared_by(measure).higher_is_better,
                **{"score_type": "continuous", "min_score": 0.0, "max_score": 1.0},
            }
            score = {"score": values[key], "details": {"signature": str(values["signature"])}}
            score["uncertainty"] = {what: part for what, part in uncertainty.items() if part is not None}
            source = {"evaluation_name": name, "source_data": {"dataset_name": name, **of_hub}}
            numbers.append({**source, "metric_config": metric, "score_details": score})
    if not model or not numbers or ended is None:
        return None
    return {
        "schema_version": "0.2.2",
        "evaluation_id": f"{name}/{model}/{ended}",
        "evaluation_timestamp": ended,
        "retrieved_timestamp": str(int(datetime.fromisoformat(ended.replace("Z", "+00:00")).timestamp())),
        "source_metadata": {
            **{"source_name": repo_id, "source_type": "evaluation_run", "source_organization_name": owner},
            "evaluator_relationship": "first_party" if model.startswith(f"{owner}/") else "third_party",
        },
        "model_info": {"name": model, "id": model},
        "eval_library": {"name": "paraconsist", "version": __version__},
        "evaluation_results": numbers,
    }
