"""The tables of numbers in documents and cards: computed from stored runs and the papers' data, put between markers.

    python docs/tables.py              # writes every table whose data are there
    python docs/tables.py --check      # says which tables are out of date, and changes nothing
    python docs/tables.py --figures    # draws pc_by_training_rows.png and terse_and_verbose.png of docs/figures anew

A document holds ``<!-- table: NAME -->`` ... ``<!-- end -->``, on lines of their own around a table (its heading stays)
or within a line of text. A cell that is None here is prose: it stays as it stands in the document. Stored runs are in
``tests/results`` and ``tests/ie_runs``; the papers' data are in PARACONSIST_TEST_DATA, else in ``../shared/data``.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from random import Random
from string import ascii_uppercase
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import paraconsist as pc
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions, write_predictions
from paraconsist.dataset_builders.becel.configs import TEST_CASES
from paraconsist.measures.catalogue import PARAPHRASTIC
from paraconsist.measures.paired_tests import exact_p_value
from paraconsist.models.endpoint.settings import EndpointSettings
from paraconsist.reporting import formatting
from paraconsist.reporting.papers import paper_values
from paraconsist.reporting.plots.canvas import Plot
from paraconsist.scoring.noise import score_noise
from paraconsist.scoring.options import ScoreOptions
from paraconsist.scoring.score import SetScores, score_set
from paraconsist.scoring.sources import Source
from paraconsist.studies.options import SweepOptions
from paraconsist.studies.plots import markdown_table
from paraconsist.studies.sweep import sweep as run_sweep

sys.path += [str(Path(__file__).resolve().parent.parent / name) for name in ("docs", "tests", "examples/reproduce")]
import answer_tables
import cells as reproduced_cells
import coherence_tables  # noqa: F401
import index_tables  # noqa: F401 (their tables are listed when they are imported)
import j22
import set_tables  # noqa: F401
from helpers.faulty_server import FaultyServer
from helpers.published import only_mirror, real_mirror
from helpers.stored_results import predictions_of, read_stored, repeats_of
from table_sources import ROOT, TABLES, Cells, card, data, data_folder, rows, table, with_role

RESULTS, IE_RUNS = ROOT / "tests" / "results", ROOT / "tests" / "ie_runs"

# ------------------------------------------------------------------------------------------- how numbers are written


def number(value: float, spec: str = ".1f") -> str:
    """Write a number by a format, with a true minus sign; ``.2`` is a p-value without its leading zero."""
    text = format(value, f"{spec}f").removeprefix("0") if re.fullmatch(r"\.\d", spec) else format(value, spec)
    return text.replace("-", "−", 1) if text.startswith("-") else text


def percents(values: Iterable[float]) -> list[str]:
    """Shares as per cent with one decimal."""
    return [number(100 * value) for value in values]


def interval(ends: Sequence[float]) -> str:
    """An interval in per cent."""
    return f"[{', '.join(percents(ends))}]"


# ------------------------------------------------------------------------------------------ where numbers come from


@cache
def published(name: str, model: str, kind: str) -> dict[str, np.ndarray]:
    """Columns of a file of ParaNLU's published predictions."""
    file = pq.read_table(data() / "paranlu" / "predictions" / f"{name}__{model}__{kind}.parquet")
    return {column: np.asarray(file[column].to_pylist()) for column in file.column_names}


@cache
def paraphrastic(name: str, model: str, kind: str = "human") -> Mapping[str, Any]:
    """The measures of published predictions."""
    answers, test = published(name, model, kind), published(name, model, "test")
    original = answers["is_original"]
    confidences = zip(answers["bucket_id"][original].tolist(), answers["conf_gold"][original].tolist(), strict=True)
    options = {
        f"test_{what}": test[name].tolist()
        for what, name in (("confidences", "conf_gold"), ("predictions", "pred"), ("references", "gold"))
    }
    return pc.paraphrastic_consistency(
        *(answers[column].tolist() for column in ("pred", "gold", "bucket_id")),
        roles=np.where(original, "original", "paraphrase").tolist(),
        original_confidences=dict(confidences),
        n_resamples=10,
        **options,
    ).to_dict()


@cache
def joined(run: str, spec: str) -> Predictions:
    """A stored run's predictions with the rows of the set that they were made for."""
    stored = read_stored(RESULTS / run / f"{spec.replace(':', '-')}.parquet")
    name, _, config = spec.partition(":")
    first = stored.n_rows if config.endswith("_additive") else None
    return predictions_of(stored, pa.Table.from_pylist(list(rows(name, config, stored.split, first))))


@cache
def scored(run: str, spec: str) -> SetScores:
    """A stored run, scored, with its full test set where that is stored."""
    test = f"{spec}_test"
    there = (RESULTS / run / f"{test.replace(':', '-')}.parquet").is_file()
    source = Source(spec, joined(run, spec), test=joined(run, test) if there else None)
    return score_set(source, ScoreOptions())


def measured(run: str, spec: str) -> Mapping[str, Any]:
    """The one measure of a stored run."""
    (result,) = scored(run, spec).measures.values()
    return result


# --------------------------------------------------------------------------------------------------- README's tables

_PC = PARAPHRASTIC.name
#: A_T, A, P_C, P_C unbiased, and A and P_C corrected.
FIGURES = ("test_accuracy", "accuracy", _PC, f"{_PC}_unbiased", "corrected_accuracy", f"corrected_{_PC}")
SEEDS = (0, 1, 2)


@table("demo", "README.md", needs_data=False)
def demo() -> str:
    """What `make demo` prints."""
    result = measured("demo", "sample:defeasible_nli")
    quantities = {quantity.key: quantity for quantity in PARAPHRASTIC.quantities}
    keys = ["accuracy", "original_accuracy", f"{_PC}_unbiased", _PC, f"min_{_PC}"]
    keys += ["consistently_right", "consistently_wrong", "chance_corrected", "vap_unbiased", "vap", "pvap_unbiased"]
    lines = []
    for key in keys:
        show = formatting.percent if quantities[key].is_share else formatting.decimal
        value = formatting.quantity(result[key], quantities[key].is_share)
        ends = formatting.interval(result["confidence_interval"][key], show)
        lines.append(f"  {quantities[key].label:<43}{value:>10}{ends:>19}")
    head = f"sample:defeasible_nli: runs/demo/model, {result['n_buckets']} buckets, {result['n_examples']} paraphrases"
    heading = f"  {'measure':<43}{'value':>10}{'interval':>19}"
    return "\n".join(["```", head, "", heading, " " + "─" * 74, *lines, "  ...", "```"])


@table("paranlu", "docs/results.md")
def paranlu() -> list[Cells]:
    """Bag of words by seed, MiniLM with intervals, the paper's models."""
    made: list[Cells] = []
    for name in ("atomic", "snli", "social"):
        spec = f"paranlu:delta_{name}"
        bow = [measured(f"bow-{name}-{seed}", spec) for seed in SEEDS]
        seeds = [" / ".join(percents(one[key] for one in bow)) for key in FIGURES]
        seeds[0] += f" ({number(100 * scored(f'bow-{name}-0', spec).test_majority_rate)})"
        encoder = measured(f"minilm-{name}", spec)
        cells = percents(encoder[key] for key in FIGURES)
        for i in (2, 3):
            cells[i] += f" {interval(encoder['confidence_interval'][FIGURES[i]])}"
        papers = ("bow",) if name == "social" else ("bow", "roberta-large")
        made += [seeds, cells, *(percents(paraphrastic(name, model)[key] for key in FIGURES) for model in papers)]
    return [[None, None, *cells] for cells in made]


@table("compare-published", "docs/results.md")
def compare_published() -> list[Cells]:
    """MiniLM on delta-SNLI against published models: their P_C and A, MiniLM's less theirs, p."""
    names = [f"paranlu/{model}:delta_snli" for model in ("deberta-v3-large", "roberta-large", "bow")]
    with tempfile.TemporaryDirectory() as folder, only_mirror(real_mirror(Path(folder), data(), names)):
        own, mine = Path(folder) / "minilm.parquet", joined("minilm-snli", "paranlu:delta_snli")
        write_predictions(own, mine.table, mine.metadata)
        (compared,) = pc.compare(own, *(f"published:{name}" for name in names), against_first=True).sets
    made: list[Cells] = []
    for pair in compared.pairs:
        cells: Cells = [None]
        for key in (f"{_PC}_unbiased", "accuracy"):
            cells += percents([pair.result["values2"][key], pair.result["differences"][key]])
            cells[-1] = f"{cells[-1]} {interval(pair.result['confidence_interval'][key])}"
        made.append([*cells, f"{pair.corrected_p_value:.2g}".removeprefix("0")])
    return made


@table("smollm2", "docs/results.md")
def smollm2() -> list[Cells]:
    """A language model asked with and without examples, by label words or by what it writes, on some buckets."""
    made: list[Cells] = []
    files = RESULTS.glob("smollm2-*/paranlu-*.parquet")
    for file in sorted(files, key=lambda f: (f.name, "generate" in str(f), len(f.parent.name))):
        run, spec = file.parent.name, file.stem.replace("-", ":", 1)
        one, rows, answers = measured(run, spec), joined(run, spec), joined(run, spec).table["prediction"]
        asked = rows.metadata["model"]
        kinds = [None, asked["shots"], "labels" if asked["scoring"] == "label" else "answers"]
        noise = score_noise(rows, repeats_of(read_stored(file), rows), SourceOptions())
        commonest = max(Counter(answers.drop_null().to_pylist()).values(), default=0) / len(answers)
        keys = ("original_accuracy", "accuracy", f"{_PC}_unbiased")
        figures = percents([answers.null_count / len(answers), *(one[key] for key in keys)])
        ends = one["confidence_interval"][keys[-1]]
        figures[-1] += f" {interval(ends)}" if np.isfinite(ends).all() else ""
        flips = f"{percents([noise['flip_rate']['numeric']])[0]} ({noise['n_pairs']['numeric']})"
        made.append([*kinds, str(one["n_buckets"]), *figures, *percents([commonest]), flips])
    return made


def _unseen_boolq(groups: list[str]) -> list[int]:
    """The rows of BoolQ that examples/unseen_boolq.py keeps for development."""
    from datasets import Dataset

    seen = {row["group_id"] for kind in ("semantic", "negational") for row in rows("becel", f"boolq_{kind}")}
    unseen = Dataset.from_dict({"row": [i for i, group in enumerate(groups) if group not in seen]})
    return list(unseen.train_test_split(test_size=400, seed=0)["test"]["row"])


def _development(task: str) -> str:
    """Accuracy of a task's model on its development rows, and that of always giving their commonest label."""
    split = "test" if task == "ag_news" else "validation"
    run = joined("becel-development", f"becel:{task}_{split}").table
    labels, predictions = (run[name].to_numpy() for name in ("label", "prediction"))
    if task == "boolq":
        kept = _unseen_boolq(run["group_id"].to_pylist())
        labels, predictions = labels[kept], predictions[kept]
    return "{} ({})".format(*percents([np.mean(labels == predictions), np.bincount(labels).max() / len(labels)]))


@table("becel", "docs/results.md")
def becel() -> list[Cells]:
    """BECEL's nineteen test cases."""
    made: list[Cells] = []
    tasks: set[str] = set()
    for config in sorted(TEST_CASES):
        task, kind = config.rsplit("_", 1)
        ((measure, result),) = scored("becel", f"becel:{config}").measures.items()
        if kind in ("transitive", "additive"):
            counted = [f"{result['n_satisfied']:,} / {result['n_rows']:,}", "", ""]
        else:
            counted = [f"{result['n_pairs']:,}", *percents((result["accuracy"], result["perturbed_accuracy"]))]
        value, ends = result["inconsistency"], result["confidence_interval"]["inconsistency"]
        printed, _ = paper_values(f"becel:{config}", {measure: result})
        paper = [*printed[0].models.values()] if printed else []
        cells = [f"{number(paper[0])} to {number(paper[-1])}" if paper else "", *counted]
        made.append([config, *percents([value]), interval(ends), *cells, "" if task in tasks else _development(task)])
        tasks.add(task)
    return made


@table("differences", "docs/results.md")
def differences() -> list[Cells]:
    """RoBERTa-large minus bag of words, by the authors' published predictions, with the p's digits."""
    made: list[Cells] = []
    for name, digits in {"delta_atomic": 2, "delta_snli": 3, "delta_social": 2, "alpha_nli": 4}.items():
        names = [f"paranlu/{model}:{name}" for model in ("roberta-large", "bow")]
        with tempfile.TemporaryDirectory() as folder, only_mirror(real_mirror(Path(folder), data(), names)):
            comparison = pc.compare(*(f"published:{one}" for one in names))
        result = comparison.sets[0].pairs[0].result
        low, high = percents(result["confidence_interval"]["difference"])
        p, effect = number(result["p_value"], f".{digits}"), number(result["design_effect"]["difference"])
        made.append([None, *percents([result["difference"]]), f"{low} to {high}", p, effect])
    return made


@cache
def _ie_runs(name: str) -> dict[str, np.ndarray]:
    """Our runs of a name, or the authors' of a set (``paper snli``), by the same learner."""
    paper = resources.files("paraconsist.data").joinpath("published_ie.csv").read_text(encoding="utf-8").splitlines()
    own = [] if name.startswith("paper ") else (IE_RUNS / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    runs = [
        run for run in csv.DictReader(own or paper) if own or f"paper {run['dataset']} {run['model']}" == f"{name} xgb"
    ]
    columns = ("rho", "n", "n11", "n10", "n01")
    return {key: np.array([float(run[key]) for run in runs]) for key in columns}


def _ie_cells(name: str, rho: float, alpha: float = 0.05) -> list[str]:
    """Accuracies, smallest p and rejections of the runs at one rho, Bonferroni over them."""
    runs = _ie_runs(name)
    chosen = np.isclose(runs["rho"], rho)
    n, n11, n10, n01 = (runs[key][chosen].astype(int) for key in ("n", "n11", "n10", "n01"))
    p = exact_p_value(n, n10, n01)
    accuracies = percents([np.mean((n11 + n10) / n), np.mean((n11 + n01) / n)])
    return [*accuracies, f"{p.min():.1e}", f"{np.count_nonzero(p <= alpha / len(p))} of {len(p)}"]


@table("ie-baseline", "docs/results.md", needs_data=False)
def ie_baseline() -> list[Cells]:
    """Gradient boosting on SNLI and MNLI."""
    sources, rhos = ("", "paper "), (0, 0.25, 0.5, 0.75, 1)
    return [[None, *_ie_cells(f"{s}snli", rho), *_ie_cells(f"{s}mnli", rho)] for s in sources for rho in rhos]


@table("ie-encoder", "docs/results.md", needs_data=False)
def ie_encoder() -> list[Cells]:
    """MiniLM on SNLI."""
    return [[None, *_ie_cells("snli_minilm", rho)] for rho in (0, 0.5, 1)]


#: Sweep -> its shares of the training rows.
SWEEPS = {"bow": (0.01, 0.05, 0.1, 0.5, 1.0), "minilm": (0.01, 0.05, 0.1)}
SWEPT = "paranlu:delta_atomic"


@cache
def cell(sweep: str, share: float, seed: int) -> dict[str, float]:
    """A training's rows and figures; tau is the share of paraphrases with a different answer from their original's."""
    run = f"sweep-{sweep}-{share:g}-{seed}"
    result = measured(run, SWEPT)
    options = ScoreOptions(measures=["semantic_inconsistency"], n_resamples=10)
    (turned,) = score_set(Source(SWEPT, joined(run, SWEPT)), options).measures.values()
    n_rows = read_stored(RESULTS / run / f"{SWEPT.replace(':', '-')}.parquet").metadata["training_rows"]
    figures = {key: result[key] for key in FIGURES if key != "corrected_accuracy"}
    return {"rows": n_rows, **figures, "tau": turned["inconsistency"]}


@table("sweep", "docs/results.md")
def sweep() -> list[Cells]:
    """Mean and standard deviation over seeds for every share of the training rows."""
    made: list[Cells] = []
    for name, share in ((name, share) for name, shares in SWEEPS.items() for share in shares):
        cells = [cell(name, share, seed) for seed in SEEDS]
        values = {key: np.array([one[key] for one in cells]) for key in cells[0]}
        n_rows = values.pop("rows")
        numbers = [" ± ".join(percents((v.mean(), v.std(ddof=1)))) for v in values.values()]
        made.append([None, None, f"{n_rows.mean():,.0f}", *numbers])
    return made


@table("asked-sweep", "docs/howto/run.md", needs_data=False)
def asked_sweep() -> str:
    """A made model: some shops it knows, some not, others where asked by a question or with a system message."""

    def write(text: str, body: Mapping[str, Any]) -> str:
        *system, question = (message["content"] for message in body["messages"])
        draw, shop = Random(f"{question} {body.get('seed')}").randrange(5), question[8]
        is_right = shop < "G" or (shop < "K" and (system or question.endswith("?")))
        return "30 days" if is_right and (not body["temperature"] or draw) else f"{draw} days"

    asked = ["How long can I return shoes?", "By when must they be back?", "Tell me the deadline for returns."]
    listed = [
        {"wordings": [f"In shop {shop}: {text}" for text in asked], "expected": "30 days"}
        for shop in ascii_uppercase[:12]
    ]
    with tempfile.TemporaryDirectory() as folder, FaultyServer(model="NAME", write=write) as server:
        file = Path(folder, "questions.yaml")
        file.write_text(json.dumps({"same": "number", "questions": listed}), encoding="utf-8")
        varied = {"system": [None, "Be brief, please."], "temperature": [0, 1]}
        place = {"output": Path(folder, "sweep"), "sets": [str(file)], "endpoint": EndpointSettings(server.url)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # so few questions
            result = run_sweep(SweepOptions(models=["NAME"], seeds=(0, 1), vary=varied, n_resamples=20, **place))
    return markdown_table(result.summary).partition("\n\n")[2].strip()


def draw_sweep(folder: Path) -> Path:
    """Draw accuracy and unbiased P_C against training rows."""
    from paraconsist.studies.plots import curve_plot

    series = {}
    for name, label in (("bow", "bow"), ("minilm", "MiniLM")):
        for key, symbol in (("test_accuracy", "A_T"), (f"{_PC}_unbiased", "P_C unbiased")):
            points = []
            for share in SWEEPS[name]:
                cells = [cell(name, share, seed) for seed in SEEDS]
                points += [(float(np.mean([one["rows"] for one in cells])), one[key]) for one in cells]
            series[f"{symbol}, {label}"] = points
    title = "Accuracy and consistency against training rows, delta-ATOMIC"
    caption = "Small marks are single trainings, lines go through their means."
    axes = {"xlabel": "training rows", "ylabel": "per cent", "log": True}
    return drawn(curve_plot("pc_by_training_rows", title, series, caption=caption, **axes), folder)


def drawn(plot: Plot, folder: Path) -> Path:
    """Write a plot as a PNG."""
    from paraconsist.reporting.plots.canvas import write_plot

    with tempfile.TemporaryDirectory() as made:
        (file,) = (file for file in write_plot(plot, Path(made)) if file.suffix == ".png")
        target = folder / file.name
        target.write_bytes(file.read_bytes())
    return target


# ---------------------------------------------------------------------------------------------- the metrics' cards

#: Whose self-pairs are counted: RoBERTa-large on both kinds of paraphrases, the bag of words and RoBERTa-large trained
#: on part of the input on people's. The bag of words on alpha-NLI is left out: its predictions are a fault.
SELF_PAIRS = [
    *((name, "roberta-large", kind) for name in ("anli", "snli", "atomic", "social") for kind in ("human", "auto")),
    *((name, model, "human") for name in ("snli", "atomic", "social") for model in ("bow", "roberta-large-partial")),
]


@table("self-pairs", "README.md", card(_PC))
def self_pairs() -> str:
    """What counting each paraphrase as a pair with itself adds, in points."""
    added = [100 * (one[_PC] - one[f"{_PC}_unbiased"]) for one in (paraphrastic(*file) for file in SELF_PAIRS)]
    return f"{min(added):.1f} to {max(added):.1f}"


@table("table-4", card(_PC))
def table_4() -> list[Cells]:
    """Table 4 of Srikanth et al. 2024."""
    keys = ("original_accuracy", *(key for key in FIGURES if key != f"{_PC}_unbiased"))
    files = [(name, "roberta-large") for name in ("anli", "snli", "atomic", "social")]
    files += [(name, "bow") for name in ("snli", "atomic", "social")]
    return [[None, None, *percents(paraphrastic(*file)[key] for key in keys)] for file in files]


@table("diversity", card("paraphrase_diversity"))
def diversity() -> list[Cells]:
    """Mean lexical distance of ParaNLU's updates, human and automatic."""
    made: list[Cells] = []
    for ending in ("", "_automatic"):
        distances = []
        for name in ("snli", "atomic", "social"):
            both = rows("paranlu", f"delta_{name}{ending}")
            original = {row["bucket_id"]: row["update"] for row in with_role(both, "original")}
            pairs = [(row["update"], original[row["bucket_id"]]) for row in with_role(both, "paraphrase")]
            distances.append(pc.paraphrase_diversity(*zip(*pairs, strict=True), n_resamples=10).lexical_distance)
        made.append([None, *percents(distances)])
    return made


# ------------------------------------------------------------------------------------------ examples/reproduce

_REPRODUCE = "examples/reproduce/README.md"
table("best-and-worst", _REPRODUCE, needs_data=False)(j22.best_worst_table)
table("size", _REPRODUCE, needs_data=False)(j22.size_table)
table("reproduced", _REPRODUCE)(lambda: reproduced_cells.markdown(data()))


# --------------------------------------------------------------------------------------------- between the markers


def _marked(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- table: {re.escape(name)} -->\s*)(.*?)(\s*<!-- end -->)", re.DOTALL)


def text_of(document: str, name: str) -> str:
    """What stands between a table's markers."""
    places = _marked(name).findall((ROOT / document).read_text(encoding="utf-8"))
    assert len(places) == 1, f"{document} must have the markers of {name!r} once, not {len(places)} times"
    return str(places[0][1])


def computed(name: str, standing: str) -> str:
    """What should stand between a table's markers, with the heading and the prose that stand there."""
    made = TABLES[name].compute()
    if isinstance(made, str):
        return made
    heading, rule, *lines = standing.splitlines()
    old = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    assert [len(cells) for cells in old] == [len(cells) for cells in made], f"{name} has other rows or columns now"
    filled = [[b if b is not None else a for a, b in zip(*both, strict=True)] for both in zip(old, made, strict=True)]
    body = ("|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|" for cells in filled)
    return "\n".join([heading, rule, *body])


def outdated(names: Iterable[str] = TABLES) -> Iterator[tuple[str, str, str, str]]:
    """Yield each table that differs: its document, its name, what stands there, what should."""
    for name in names:
        for document in TABLES[name].documents:
            standing = text_of(document, name)
            wanted = computed(name, standing)
            if wanted != standing:
                yield document, name, standing, wanted


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 where a table is out of date")
    parser.add_argument("--figures", action="store_true", help="draw the figure of growing training sets as well")
    options = parser.parse_args(argv)
    names = [name for name, one in TABLES.items() if data_folder() or not one.needs_data]
    for name in TABLES.keys() - set(names):
        print(f"left out, the papers' data are not there: {name}")
    if options.figures:
        print(draw_sweep(ROOT / "docs" / "figures"))
        print(drawn(answer_tables.terse_and_verbose(), ROOT / "docs" / "figures"))
    changes = list(outdated(names))
    for document, name, _, wanted in changes:
        print(f"{document}: {name}")
        if not options.check:
            text = (ROOT / document).read_text(encoding="utf-8")
            start, end = _marked(name).search(text).span(2)  # type: ignore[union-attr]
            (ROOT / document).write_text(text[:start] + wanted + text[end:], encoding="utf-8")
    return int(options.check and bool(changes))


if __name__ == "__main__":
    sys.exit(main())
