"""``paraconsist artifacts``: consistency where the label can be told from part of the input, and where it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from paraconsist.cli.options import AS_JSON, OUTPUT, REQUIRED, show_results, write_results
from paraconsist.comparing.rehearsal import end_rehearsal, rehearsed
from paraconsist.data.options import SourceOptions, option
from paraconsist.errors import input_error
from paraconsist.files import to_strict_json
from paraconsist.scoring.options import IntervalOptions

if TYPE_CHECKING:
    from paraconsist.reporting.table import Part
    from paraconsist.studies.artifacts import ArtifactRow


@rehearsed
def artifacts(
    *,
    partial: Path = option(REQUIRED, "Run folder or predictions of a model that was shown part of the input."),
    full: list[Path] = option(REQUIRED, "The same of a model that was shown everything; repeat for several."),
    set_: str | None = option(None, "Which set, where a run folder holds several.", option="--set"),
    partial_test: Path | None = option(None, "Predictions on the full test set, where --partial is a file."),
    full_test: list[Path] | None = option(None, "The same for each --full that is a file, in their order."),
    read: SourceOptions,
    intervals: IntervalOptions,
    as_json: bool = AS_JSON,
    output: Path | None = OUTPUT,
) -> None:
    """Split buckets by whether a partial-input model gets the original right, and score each part.

    paraconsist artifacts --partial runs/partial --full runs/full
    paraconsist artifacts --partial runs/partial --full runs/full --output table.json
    """
    from paraconsist.scoring.options import ScoreOptions
    from paraconsist.scoring.sources import open_source
    from paraconsist.studies.artifacts import artifact_table

    tests = list(full_test or ())
    if tests and len(tests) != len(full):
        raise input_error("artifacts", "full_test", "be given once for each `full`, or not at all", got=len(tests))
    seen = open_source(partial, read, test=partial_test, function="artifacts").one("artifacts", "partial", set_)
    models = []
    for i, path in enumerate(full):
        opened = open_source(path, read, test=tests[i] if tests else None, function="artifacts")
        source = opened.one("artifacts", "full", set_)
        models.append(("full" if len(full) == 1 else path.stem, source.predictions, source.test))
    options, columns = ScoreOptions(**intervals.intervals), replace(seen.columns, stratum=())
    end_rehearsal()
    table = artifact_table(seen.predictions, models, options, columns, partial_test=seen.test)
    results = to_strict_json({"rows": [row.to_dict() for row in table]})
    write_results("artifacts", output, results)
    show_results(results, _tables(table), as_json=as_json)


def _tables(table_rows: list[ArtifactRow]) -> Iterator[Part]:
    from paraconsist.measures.catalogue import PARAPHRASTIC
    from paraconsist.reporting.formatting import count, percent
    from paraconsist.reporting.table import table

    columns = {
        "original_accuracy": "A_O",
        "accuracy": "A",
        PARAPHRASTIC.headline: "P_C",
        PARAPHRASTIC.published: "publ.",
        "corrected_accuracy": "A~",
        "renormalized_accuracy": "ren.",
        f"corrected_{PARAPHRASTIC.published}": "P_C~",
        f"renormalized_{PARAPHRASTIC.published}": "ren.",
        "covered_mass": "mass",
    }
    words, lines, notes = ["artefacts", "model"], [], []
    for row in table_rows:
        values = [percent(getattr(row, key), undefined="-") for key in columns]
        lines.append([row.artifact, row.model, count(row.n_buckets), *values])
    if any(row.covered_mass is not None and row.covered_mass < 0.99 for row in table_rows):
        lost = "test mass in deciles of confidence without a bucket is lost. 'ren.' divides by the covered mass."
        notes.append(f"A~ and P_C~ are as published: {lost}")
    if any(row.covered_mass is None for row in table_rows):
        notes.append("No corrected values without predictions on the full test set (run --with-test).")
    title = "Buckets by whether the partial-input model gets the original right"
    heads = [*words, "n", *columns.values()]
    yield table(title, heads, lines, words=words, caption="\n".join(notes))
