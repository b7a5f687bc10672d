"""What the tests of the browser pages share: examples as a visitor would score them, and their true numbers."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from paraconsist.cli.app import app
from paraconsist.measures.antecedents import additive_inconsistency, transitive_inconsistency
from paraconsist.measures.consistency_difference import consistency_difference
from paraconsist.measures.distribution_shift import distribution_shift
from paraconsist.measures.diversity import paraphrase_diversity
from paraconsist.measures.fooling_rate import fooling_rate
from paraconsist.measures.ie_test import ie_test
from paraconsist.measures.pairs import negational_inconsistency, symmetric_inconsistency
from paraconsist.reporting.space.catalogue import module
from paraconsist.reporting.space.forms import PageResult, Query
from paraconsist.reporting.space.upload import guess_columns, guess_layout, read_text


def as_query(name: str, text: str | None = None, layout: str | None = None, **more: Any) -> Query:
    """Return what a visitor gives who takes every guess."""
    page = module(name)
    predictions = read_text(page.example() if text is None else text)
    names = predictions.table.column_names
    chosen = guess_layout(page.layouts, names) if layout is None else page.layout(layout)
    options = {one.key: one.choices[0][1] for one in page.options}
    columns = guess_columns(chosen.fields, names) | more.pop("columns", {})
    return Query(predictions, chosen, columns, options=options | more.pop("options", {}), **more)


def measured(name: str, *arguments: Any, **more: Any) -> PageResult:
    return module(name).measure(as_query(name, *arguments, **more))


def columns_of(text: str) -> dict[str, list[str]]:
    """Read CSV with the standard library, apart from the code under test."""
    rows = list(csv.DictReader(io.StringIO(text)))
    return {name: [row[name] for row in rows] for name in rows[0]}


def to_csv(columns: dict[str, list]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def by_command(command: list[str], file: Path, *, apart: bool = False) -> dict[str, Any]:
    """Run a command that a page shows on a file, in a process of its own if `apart`; return the measure's keys."""
    words = [str(file) if word == "FILE" else word for word in [*command[1:], "--json"]]
    if apart:
        run = [sys.executable, "-m", "paraconsist", *words]
        printed = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    else:
        done = CliRunner().invoke(app, words, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        printed = done.stdout
    (result,) = json.loads(printed).values()
    return result["measures"][words[words.index("--measure") + 1]]


def by_function(name: str) -> dict[str, Any]:
    """Return the measure's own answer on a module's example, its columns read by hand."""
    c = columns_of(module(name).example())
    if name == "fooling_rate":
        originals = {
            bucket: (prediction, label)
            for bucket, role, prediction, label in zip(
                c["bucket_id"], c["role"], c["prediction"], c["label"], strict=True
            )
            if role == "original"
        }
        chosen = [i for i, role in enumerate(c["role"]) if role == "paraphrase"]
        buckets = [c["bucket_id"][i] for i in chosen]
        result = fooling_rate(
            [c["prediction"][i] for i in chosen],
            [originals[bucket][0] for bucket in buckets],
            [originals[bucket][1] for bucket in buckets],
            buckets,
            originals=originals,
        )
    elif name == "distribution_shift":
        new, old = (
            [[float(c[f"{prefix}{k}"][i]) for k in range(3)] for i in range(len(c["p0"]))]
            for prefix in ("p", "original_p")
        )
        result = distribution_shift(new, old)
    elif name == "ie_test":
        result = ie_test(c["prediction"], c["transformed_prediction"], c["label"])
    elif name == "consistency_difference":
        result = consistency_difference(c["prediction_1"], c["prediction_2"], c["label"], c["bucket_id"])
    elif name == "paraphrase_diversity":
        result = paraphrase_diversity(c["hypothesis"], c["original_hypothesis"], groups=c["group_id"])
    elif name == "symmetric_inconsistency":
        result = symmetric_inconsistency(
            c["original_prediction"],
            c["prediction_swapped"],
            references=c["label"],
            perturbed_references=c["label"],
        )
    elif name == "negational_inconsistency":
        result = negational_inconsistency(c["original_prediction"], c["prediction_negated"])
    elif name == "transitive_inconsistency":
        sides = [c[f"antecedent_{side}_{what}"] for side in (1, 2) for what in ("prediction", "label")]
        result = transitive_inconsistency(
            c["prediction"], [labels.split("|") for labels in c["allowed_labels"]], *sides
        )
    else:
        assert name == "additive_inconsistency", name
        result = additive_inconsistency(
            c["merged_prediction"], c["label"], c["part_1_prediction"], c["part_2_prediction"]
        )
    return result.to_dict()
