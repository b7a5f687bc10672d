"""What the interface knows of a module: the columns it asks for, its options, and how its page is made.

What a page asks of a visitor's columns, and how files can be laid out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paraconsist.data.predictions import Predictions


@dataclass(frozen=True)
class Field:
    """A question to the visitor: which column is this?

    Attributes
    ----------
    key : str
        What the code calls it.
    label, info : str
        What the visitor reads.
    guesses : sequence of str
        Names that such columns have, best first.
    required : bool
    many : bool
        Several columns may be chosen, such as one for each class.
    """

    key: str
    label: str
    guesses: Sequence[str]
    info: str = ""
    required: bool = True
    many: bool = False


@dataclass(frozen=True)
class Layout:
    """One way in which a file can be laid out.

    Attributes
    ----------
    key, label : str
    fields : sequence of Field
    sides : mapping of str to mapping of str to str
        For files with all texts of a bucket in one row: role -> what its column is called in the long format ->
        the field that names it. Empty where every row is one text.
    """

    key: str
    label: str
    fields: Sequence[Field]
    sides: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def guessed_by(self, found: Mapping[str, Any]) -> bool:
        """Say whether every field that must be chosen has a column."""
        return all(found.get(one.key) for one in self.fields if one.required)


@dataclass(frozen=True)
class Option:
    """A choice among few, such as a method.

    Attributes
    ----------
    key : str
        The parameter of the measure's function.
    label, info : str
    choices : sequence of (shown, value)
        The first is what the function does by default.
    """

    key: str
    label: str
    choices: Sequence[tuple[str, Any]]
    info: str = ""


@dataclass(frozen=True)
class Headline:
    """A number in large type.

    Attributes
    ----------
    label : str
    path : tuple of str
        Where it stands among the keys; its interval stands at the same path under ``confidence_interval``.
    style : {"percent", "number", "p"}
    """

    label: str
    path: tuple[str, ...]
    style: str = "percent"


@dataclass(frozen=True)
class Chosen:
    """What the visitor gave.

    Attributes
    ----------
    predictions : Predictions
        The file.
    layout : Layout
    columns : mapping
        Field key -> column name (a list where the field takes several), None where nothing was chosen.
    label_names : sequence of str
        Names of the labels 0, 1, ... if they were given.
    confidence_level, n_resamples, seed
        Of the interval.
    options : mapping
        The module's own.
    """

    predictions: Predictions
    layout: Layout
    columns: Mapping[str, Any]
    label_names: Sequence[str] = ()
    confidence_level: float = 0.95
    n_resamples: int = 10_000
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def intervals(self) -> dict[str, Any]:
        """What every measure takes."""
        return {"confidence_level": self.confidence_level, "n_resamples": self.n_resamples, "seed": self.seed}


@dataclass(frozen=True)
class Flips:
    """Where the predictions differ, worst first.

    Attributes
    ----------
    title : str
    header : sequence of str
    rows : list of lists
        Cells, not yet escaped; a cell that is a list has several lines. At most `MOST` rows.
    n : int
        How many there are in all.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    n: int


@dataclass(frozen=True)
class Found:
    """What a module found.

    Attributes
    ----------
    keys : dict
        What the measure's function returns.
    warnings : sequence of str
        Beside those among the keys.
    figure : str
        An SVG, empty where there is nothing to draw.
    caption : str
        What the figure shows.
    flips : Flips, optional
    command : sequence of str
        The same on the command line, FILE standing for the file; empty where it has no such command.
    """

    keys: Mapping[str, Any]
    warnings: Sequence[str] = ()
    figure: str = ""
    caption: str = ""
    flips: Flips | None = None
    command: Sequence[str] = ()


@dataclass(frozen=True)
class Module:
    """A metric's page.

    Attributes
    ----------
    name : str
        As `evaluate.load` knows it.
    title, question : str
    direction : str
        Which end is good.
    layouts : sequence of Layout
    headlines : sequence of Headline
    measure : callable
        What the visitor gave -> what was found.
    example : callable
        Returns a small CSV with a header, in a layout of the module.
    options : sequence of Option
    has_interval_options : bool
        False where the interval is exact, so that resamples and seed play no part.
    """

    name: str
    title: str
    question: str
    direction: str
    layouts: Sequence[Layout]
    headlines: Sequence[Headline]
    measure: Callable[[Chosen], Found]
    example: Callable[[], str]
    options: Sequence[Option] = ()
    has_interval_options: bool = True

    def layout(self, key: str) -> Layout:
        """Return the layout of this key."""
        return next(one for one in self.layouts if one.key == key)


_GUESSED = ("prediction", "predictions", "pred", "predicted", "predicted_label", "answer", "model_answer", "output")
_GOLD = ("label", "labels", "gold", "gold_label", "reference", "references", "target", "correct_answer")
_BUCKETS = ("bucket_id", "bucket", "buckets", "item_id", "question_id", "original_id", "id")
_ORIGINALS = ("original_prediction", "original_predictions", "prediction_original", "pred_original", "original_pred")


def prediction_field(label: str, *guesses: str, key: str = "prediction") -> Field:
    return Field(key, label, (*guesses, *_GUESSED))


def label_field(*, required: bool = True, info: str = "") -> Field:
    return Field("label", "Gold label", _GOLD, info, required)


def group_field(info: str = "What the interval resamples, such as a shared context") -> Field:
    return Field("group", "Group", ("group_id", "group", "groups", "context_id"), info, required=False)


def role_field(values: str, *, required: bool = True) -> Field:
    return Field("role", "Role", ("role", "roles", "is_original", "original"), values, required)


BUCKET = Field("bucket", "Bucket", _BUCKETS, "Texts with one value belong together")
_ORIGINAL = Field("original_prediction", "Answer on the original", _ORIGINALS)


def texts_layout(roles: str, *, need_label: bool = True) -> Layout:
    """Return the layout of bucket sets: every row is one text, and says its place."""
    fields = (
        BUCKET,
        role_field(roles),
        prediction_field("Prediction"),
        label_field(required=need_label),
        group_field(),
    )
    return Layout("texts", "Each row is one text", fields)


def pairs_layouts(role: str, changed: str, *guesses: str, need_label: bool = False) -> tuple[Layout, Layout]:
    """Return the layouts of measures on an original and a changed text."""
    fields = (
        _ORIGINAL,
        prediction_field(f"Answer on the {changed}", *guesses),
        label_field(required=need_label),
        group_field(),
    )
    sides = {
        "original": {"prediction": "original_prediction", "label": "label"},
        role: {"prediction": "prediction", "label": "label"},
    }
    wide = Layout("pairs", "Each row is a pair", fields, sides)
    return wide, texts_layout(f"original or {role}; or true for originals", need_label=need_label)


def premise_fields(side: str, name: str) -> tuple[Field, Field]:
    guesses = [f"{side}_prediction", f"{side}_predictions", f"{side}_pred"]
    labels = [f"{side}_label", f"{side}_reference", f"{side}_references", f"{side}_gold"]
    return Field(f"{side}_prediction", f"Answer on {name}", guesses), Field(f"{side}_label", f"Gold of {name}", labels)


TRANSITIVE_FIELDS = (
    *premise_fields("antecedent_1", "the first premise"),
    *premise_fields("antecedent_2", "the second premise"),
    prediction_field("Answer on the conclusion", "consequent_prediction"),
    Field(
        "allowed",
        "Labels that the conclusion may have",
        ("allowed_labels", "allowed", "references", "reference", "consequent_label", *_GOLD),
        "One label, or several: entailment|neutral, [0, 1]",
    ),
    group_field(),
)
TRANSITIVE_SIDES = {
    "antecedent_1": {"prediction": "antecedent_1_prediction", "label": "antecedent_1_label"},
    "antecedent_2": {"prediction": "antecedent_2_prediction", "label": "antecedent_2_label"},
    "consequent": {"prediction": "prediction", "allowed_labels": "allowed"},
}
ADDITIVE_FIELDS = (
    Field("part_1_prediction", "Answer on part 1", ("part_1_prediction", "part_1_predictions", "part_1_pred")),
    Field("part_2_prediction", "Answer on part 2", ("part_2_prediction", "part_2_predictions", "part_2_pred")),
    prediction_field("Answer on both together", "merged_prediction"),
    label_field(info="The one label of both parts"),
    group_field(),
)
ADDITIVE_SIDES = {
    "part_1": {"prediction": "part_1_prediction", "label": "label"},
    "part_2": {"prediction": "part_2_prediction", "label": "label"},
    "merged": {"prediction": "prediction", "label": "label"},
}
FOOLING_FIELDS = (
    Field("bucket", "Item", ("item", "group_id", *_BUCKETS), "Variants of one original have one value"),
    _ORIGINAL,
    prediction_field("Answer on the variant", "variant_prediction"),
    label_field(),
)
SHIFT_FIELDS = (
    Field(
        "original_probabilities",
        "Probabilities on the original",
        ("original_probabilities", "original_probs", "original_p", "p_original"),
        "One column of lists, or one column for each class, in order",
        many=True,
    ),
    Field(
        "probabilities", "Probabilities on the variant", ("probabilities", "probs", "p"), "In the same order", many=True
    ),
    group_field(),
)
IE_FIELDS = (
    Field("original_prediction", "Answer on the original", (*_ORIGINALS, *_GUESSED)),
    Field(
        "prediction",
        "Answer on the transformed item",
        ("transformed_prediction", "transformed_predictions", "transformed", *_GUESSED),
    ),
    label_field(),
    Field(
        "run", "Run", ("run", "runs", "seed", "model"), "Where the file holds several runs of a model", required=False
    ),
)

TWO_MODELS_FIELDS = (
    BUCKET,
    Field("predictions1", "First model's predictions", ("predictions1", "prediction1", "prediction_1", "pred_1", "a")),
    Field("predictions2", "Second model's predictions", ("predictions2", "prediction2", "prediction_2", "pred_2", "b")),
    label_field(),
    role_field("original or paraphrase; or true for originals", required=False),
    group_field(),
)

DIVERSITY_FIELDS = (
    Field("original", "Original", ("original", "originals", "original_text", "original_hypothesis", "source")),
    Field("paraphrase", "Paraphrase", ("paraphrase", "paraphrases", "paraphrased_text", "hypothesis", "text")),
    Field("similarity", "Similarity", ("similarity", "similarities", "bleurt"), "Of meaning, from a model", False),
    Field("entailed", "Entail each other", ("entailed", "mutual_entailment"), "true or false", False),
    group_field(),
)
