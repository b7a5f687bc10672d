"""The papers' figures, drawn from their authors' answers, or from what they print, with the plots of paraconsist.

    python figures.py s24_figure3                  # PNG and SVG in plots/
    python figures.py v23_figures --output FOLDER

``DATA``, in the folder where this is run, leads to the papers' public files.
"""

from __future__ import annotations

import argparse
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.csv as csv
from cells import S24_MODELS, SETS, V23_MODELS, measured, parte, printed, taus
from j22 import cases

import paraconsist as pc
from paraconsist.files import make_folder
from paraconsist.measures.diversity import jaccard
from paraconsist.reporting.plots import Plot, write_plot
from paraconsist.reporting.plots.answers import Line, forest_plot
from paraconsist.reporting.plots.consistency import Point, accuracy_consistency_plot
from paraconsist.studies.plots import curve_plot

_DELTA = tuple(SETS)[1:]
_ACCURACY, _CONSISTENCY = "corrected_accuracy", "corrected_paraphrastic_consistency"


# ---------------------------------------------------------------------------------------- Srikanth et al. 2024


def _points(data: Path, models: Mapping[str, tuple[str, str]], sets: Iterable[str]) -> list[Point]:
    """Return the corrected values of files of answers: label -> (model, kind of paraphrases)."""
    return [
        Point(label, name, values[_ACCURACY], values[_CONSISTENCY])
        for name in sets
        for label, (model, kind) in models.items()
        for values in [measured(data, SETS[name], model, kind)]
    ]


def _plane(name: str, title: str, points: list[Point]) -> Iterator[Plot]:
    caption = (
        "Both values are corrected for the stratified choice of problems, as published: consistency by the plug-in "
        "estimator against accuracy over buckets."
    )
    yield replace(accuracy_consistency_plot(points), name=name, title=f"Srikanth et al. 2024, {title}", caption=caption)


def s24_figure3(data: Path) -> Iterator[Plot]:
    """Six models on the delta sets; GPT-3's values are the printed ones, as its answers are not published."""
    *answered, last = S24_MODELS.items()
    points = _points(data, {label: (model, "human") for label, model in answered}, _DELTA)
    values = {(row["dataset"], row["model"], row["measure"]): row["value"] / 100 for row in printed("S24", "4")}
    for name in _DELTA:
        points.append(Point(last[0], name, *(values[name, last[0], key] for key in (_ACCURACY, _CONSISTENCY))))
    return _plane("s24-figure3", "Figure 3: models", points)


def s24_figure4(data: Path) -> Iterator[Plot]:
    """RoBERTa-large on people's and on automatic paraphrases."""
    kinds = {"people's paraphrases": ("roberta-large", "human"), "automatic ones": ("roberta-large", "auto")}
    return _plane("s24-figure4", "Figure 4: who wrote the paraphrases", _points(data, kinds, SETS))


def _amounts(data: Path, name: str, title: str, axis: str, amounts: Mapping[float, str], last: str) -> Iterator[Plot]:
    """Draw RoBERTa-base by the amount that it learned from, `last` without a number, in the plane and as lines."""
    labels = {amount: f"{amount:,.4g} {axis.split()[0]}" for amount in amounts}
    models = {labels[amount]: (model, "human") for amount, model in amounts.items()}
    points = _points(data, models | {last: ("roberta-base", "human")}, _DELTA)
    yield from _plane(name, title, points)
    series: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        for amount in [amount for amount, label in labels.items() if label == point.model]:
            series.setdefault(f"accuracy, {point.set}", []).append((amount, point.accuracy))
            series.setdefault(f"P_C, {point.set}", []).append((amount, point.consistency))
    caption = f"The same values, without {last}."
    axes: dict[str, Any] = {"xlabel": axis, "ylabel": "per cent", "log": True, "caption": caption}
    yield curve_plot(f"{name}-lines", f"Srikanth et al. 2024, {title}", dict(sorted(series.items())), **axes)


def s24_figure5(data: Path) -> Iterator[Plot]:
    """MiniBERTas, pretrained on 1 million to 1 billion words, and RoBERTa-base."""
    amounts = {1: "miniberta-1M", 10: "miniberta-10M", 100: "miniberta-100M", 1000: "miniberta-1B"}
    return _amounts(
        data, "s24-figure5", "Figure 5: pretraining", "million words of pretraining", amounts, "RoBERTa-base"
    )


def s24_figure6(data: Path) -> Iterator[Plot]:
    """RoBERTa-base, trained on 1 to 100 per cent of the rows."""
    amounts = {100 * share: f"roberta-base-share-{share}" for share in (0.01, 0.05, 0.1, 0.5)}
    return _amounts(data, "s24-figure6", "Figure 6: training", "per cent of the rows of training", amounts, "all rows")


# ------------------------------------------------------------------------------------------- Verma et al. 2023

_PARTS = {"p": "premise", "h": "hypothesis", "ph": "both"}
_KINDS = ("paraphrased", "original")
_OVERLAPS = ("below 70 %", "70 to 80 %", "80 to 90 %", "90 % and more")


def v23_figures(data: Path) -> Iterator[Plot]:
    """Changed answers by what is paraphrased, gold label, whether the original was right, task, overlap of words."""
    rows = parte(data)
    groups, suffixes = zip(*(name.rsplit("_", 1) for name in rows["paraphrased_pair_id"].tolist()), strict=True)
    tasks = [name.rsplit("_", 1)[1] for name in groups]
    gold = rows["gold_label"] == "entailed"
    by = {
        "part": ("what is paraphrased", [_PARTS[suffix] for suffix in suffixes]),
        "label": ("gold label", rows["gold_label"].tolist()),
        "task": ("task", tasks),
        "overlap": ("words in common (Jaccard)", _overlap(data, rows["paraphrased_pair_id"].tolist())),
    }
    lines: dict[str, list[Line]] = {name: [] for name in ("direction", *by, "original")}
    for label, model in V23_MODELS.items():
        before, after = rows[f"{model}_original"], rows[f"{model}_paraphrase"]
        strata = {name: values for name, (_, values) in by.items()}
        found = pc.prediction_change(after, before, gold, strata=strata, groups=groups).to_dict()
        bounds = found["confidence_interval"]
        for key, what in (("correct_to_incorrect", "right to wrong"), ("incorrect_to_correct", "wrong to right")):
            lines["direction"].append(Line("", what, label, found[key] / found["n_pairs"]))
        for key, what in (("correct", "right"), ("incorrect", "wrong")):
            name = f"change_rate_given_{key}"
            lines["original"].append(Line("", what, label, found[name], tuple(bounds[name])))
        for name, parts in found["by_stratum"].items():
            for value, part in parts.items():
                ends = tuple(part["confidence_interval"]["change_rate"])
                lines[name].append(Line("", value, label, part["change_rate"], ends))
    headings = {name: heading for name, (heading, _) in by.items()}
    headings |= {"direction": "direction", "original": "whether the original was answered right"}
    caption = "Share of pairs whose answer changes, of all 1,126; intervals resample originals."
    for name, those in lines.items():
        order = [*_PARTS.values(), *_OVERLAPS]
        those.sort(key=lambda line: order.index(line.label) if line.label in order else 0)
        title = f"Verma et al. 2023: changed answers by {headings[name]}"
        yield forest_plot(f"v23-changes-by-{name}", title, caption, "changed answers, %", those)


def _overlap(data: Path, ids: list[str]) -> list[str]:
    """Return how many of their words both versions of a pair have, in four classes."""
    shares = {}
    for row in csv.read_csv(data / "parte" / "prte_test.csv").to_pylist():
        texts = [" ".join(row[f"{kind}_pair_{side}"] for side in ("premise", "hypothesis")) for kind in _KINDS]
        shares[row["paraphrased_pair_id"]] = jaccard(*texts)
    return [_OVERLAPS[bisect((0.7, 0.8, 0.9), shares[one])] for one in ids]


# -------------------------------------------------------------------------------------------- Jang et al. 2022


def j22_figure4(_: Path) -> Iterator[Plot]:
    """Printed inconsistencies of small and large models."""
    caption = "Inconsistency (tau) as Table 2 prints it: hollow marks are base models, filled ones large models."
    for measure in dict.fromkeys(measure for _, measure in cases()):
        lines = [
            Line("", dataset, model, tau / 100, is_filled=size == "large")
            for (dataset, one, size, model), tau in taus().items()
            if one == measure
        ]
        kind = measure.removesuffix("_inconsistency")
        yield forest_plot(f"j22-figure4-{kind}", f"Jang et al. 2022, Figure 4: {kind}", caption, "tau, %", lines)


FIGURES: Mapping[str, Callable[[Path], Iterator[Plot]]] = {
    draw.__name__: draw for draw in (s24_figure3, s24_figure4, s24_figure5, s24_figure6, v23_figures, j22_figure4)
}


def main() -> None:
    """Draw the figure that is named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("figure", choices=FIGURES)
    parser.add_argument("--output", type=Path, default=Path("plots"), help="folder of the files")
    chosen = parser.parse_args()
    make_folder(chosen.output)
    for plot in FIGURES[chosen.figure](Path("DATA")):
        print(*write_plot(plot, chosen.output), sep="\n")


if __name__ == "__main__":
    main()
