"""What a user may say of predictions and of their scoring: each option once, for Python and the command line alike.

The command line makes its options from these fields and their help (`paraconsist.cli.options.spread`). Nothing heavy is
imported here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from paraconsist.data.options import option

if TYPE_CHECKING:
    from paraconsist.data.logs.format import LogQuery
    from paraconsist.data.rows import ColumnNames


@dataclass(frozen=True)
class SourceOptions:
    """What the columns of predictions are called, and how logs of other tools are read."""

    panel: ClassVar[str] = "Columns and logs"
    bucket: str = option(
        "bucket_id",
        "Column of the bucket ids. This and the columns below may also be a path (doc.question_id), a pattern "
        r"(doc.id ~ '^(\d+)-'), a comparison (doc.kind == 'original') or a template ({doc.set}-{doc.number}).",
    )
    prediction: str = option(
        "prediction", "Column of the predictions; for logs, replaces the answer and verdict recorded by the tool."
    )
    label: str = option("label", "Column of the gold labels.")
    role: str = option("role", "Column that says 'original' or 'paraphrase'.")
    original: str | None = option(None, "True/false column or comparison that marks originals, in place of `role`.")
    original_prediction: str | None = option(
        None, "For files with a pair in each row: column of the originals' predictions."
    )
    label_names: str | None = option(
        None, "Names of the labels 0,1,..., if gold labels are names and predictions are numbers."
    )
    group: str = option(
        "group_id", "Column of the sampling units of intervals, such as a shared context; by default buckets."
    )
    groups_from: Path | None = option(
        None, "A table with the columns of `bucket` and `group`, if the predictions have no column of groups."
    )
    example: str = option("example_id", "Column that identifies the rows of a bucket; optional.")
    trial: str | None = option(
        None,
        "For tables with several answers to each `example`: column with the number of the answer. The first answer is "
        "scored; all are used for the noise floor.",
    )
    variant: str | None = option(
        None,
        "Column that names the wording of each row, if buckets share wordings, such as prompt templates: "
        "prompt_sensitivity then reports how much accuracy depends on it.",
    )
    places: str | None = option(
        None,
        "For judges asked in both orders (roles given and swapped): names of the text shown first and second in the "
        "given order, and of ties, such as A,B,tie: symmetric_inconsistency then reports the position bias.",
    )
    relations: Path | None = option(
        None,
        "For files of statements, with a role and a probability in each row: YAML file with your own relations "
        "between them, name: {role: formula}.",
    )
    confidence: str | None = option(None, "Column of the probability of the gold label.")
    probabilities: str = option("probabilities", "Column of lists of probabilities, or one column a label: P0,P1,...")
    stratum: list[str] | None = option(None, "Column to break results down by; repeat for several.")
    metric: str | None = option(None, "For logs: the metric (lm-eval) or scorer (inspect) that decides what is right.")
    filter: str | None = option(None, "For lm-eval logs with several filters: which one to use.", option="--filter")
    epoch: int | None = option(None, "For inspect logs with several epochs: only this one.", min=1)
    exclude: Path | None = option(
        None, "A table with a column bucket_id: buckets to leave out, such as those marked in a report."
    )
    encoding: str | None = option(None, "Encoding of CSV and JSON Lines that are not UTF-8, such as latin-1 or cp1252.")

    @property
    def columns(self) -> ColumnNames:
        """What the columns of a table are called."""
        from paraconsist.data.rows import ColumnNames

        return ColumnNames(
            bucket=self.bucket,
            prediction=self.prediction,
            label=self.label,
            role=self.role,
            original=self.original,
            group=self.group,
            variant=self.variant,
            places=listed(self.places),
            confidence=self.confidence,
            probabilities=self.probabilities.split(","),
            strata=self.stratum,
        )

    @property
    def query(self) -> LogQuery:
        """What is to be read from a log."""
        from paraconsist.data.logs.format import log_query

        own = {name: getattr(self, name) for name in ("metric", "filter", "epoch", "trial", "encoding")}
        return log_query(self.columns, **own)


@dataclass(frozen=True)
class IntervalOptions:
    """How intervals are made."""

    panel: ClassVar[str] = "Intervals"
    confidence_level: float = option(0.95, "Confidence level of the intervals.", min=0, max=1)
    interval_method: str = option(
        "auto", "Method of the intervals: auto (the recommended closed forms), bootstrap or closed_form."
    )
    n_resamples: int = option(10000, "Number of bootstrap resamples, if a bootstrap is used.", min=1)
    seed: int = option(0, "Random seed of the bootstrap.", min=0)

    @property
    def intervals(self) -> dict[str, Any]:
        """What every measure takes."""
        names = ("interval_method", "confidence_level", "n_resamples", "seed")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class MeasureOptions:
    """Which measures, and what becomes of answers that could not be read."""

    measure: list[str] | None = option(
        None, "Measure to compute; repeat for several. By default all that apply to the roles of the rows."
    )
    unparsed: str = option("wrong", "How unparsed answers are treated: wrong, own_class or drop_bucket.")


def listed(values: str | Sequence[str] | None) -> list[str] | None:
    """Return a value, or several with commas between, as a list; None stays None."""
    if values is None:
        return None
    return values.split(",") if isinstance(values, str) else list(values)
