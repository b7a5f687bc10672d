"""The pages: the layouts of files for each measure; other metadata is in the measures' catalogue."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from paraconsist.data.tables import USUAL_NAMES
from paraconsist.errors import check_choice
from paraconsist.measures.catalogue import CATALOGUE, FOOLING, IE_TEST, PARAPHRASTIC, TRAJECTORIES, MeasureSpec
from paraconsist.measures.consistency_difference import consistency_difference
from paraconsist.measures.distribution_shift import distribution_shift
from paraconsist.measures.diversity import paraphrase_diversity
from paraconsist.measures.probability_coherence import probability_coherence
from paraconsist.measures.rules import ORIGINAL, PARAPHRASE
from paraconsist.reporting.space.forms import EXAMPLES, Field, Headline, Layout, Module, Option
from paraconsist.reporting.space.results import (
    as_the_command,
    measure_coherence,
    measure_difference,
    measure_diversity,
    measure_fooling,
    measure_ie_test,
    measure_shift,
)

_BUCKETS, _ANSWERS, _GOLD = (USUAL_NAMES[name] for name in ("bucket", "prediction", "label"))
_ORIGINALS = "original_prediction original_predictions prediction_original pred_original original_pred"
_CHANGED = (
    "paraphrase_prediction swapped_prediction prediction_swapped negated_prediction prediction_negated "
    "perturbed_prediction perturbed_predictions"
)
_BUCKET = Field("bucket", "Bucket", _BUCKETS, "Texts with one value belong together")
_ORIGINAL = Field("original_prediction", "Answer on the original", _ORIGINALS)
_LABEL = Field("label", "Gold label", _GOLD)
_PREDICTION = Field("prediction", "Prediction", _ANSWERS)
_RESAMPLED = "What the interval resamples, such as a shared context"
_GROUP = Field("group", "Group", "group_id group groups context_id", _RESAMPLED, required=False)
_GUESSES = f"allowed_labels allowed references reference consequent_label {_GOLD}"
_SEVERAL = "One label, or several: entailment|neutral, [0, 1]"
_ALLOWED = Field("allowed", "Labels that the conclusion may have", _GUESSES, _SEVERAL)
#: Roles -> their names on the page.
_WORDS = {
    "swap": "the swapped pair",
    "antecedent_1": "the first premise",
    "antecedent_2": "the second premise",
    "consequent": "the conclusion",
    "part_1": "part 1",
    "part_2": "part 2",
    "merged": "both together",
}


def _answer(role: str, guesses: str = "") -> Field:
    guesses = f"{guesses} {role}_prediction {role}_predictions {role}_pred {_ANSWERS}"
    return Field("prediction", f"Answer on {_WORDS.get(role, f'the {role}')}", guesses)


def _role(roles: Sequence[str], *, required: bool = True) -> Field:
    info = f"{', '.join(roles[:-1])} or {roles[-1]}" + ("; or true for originals" if ORIGINAL in roles else "")
    return Field("role", "Role", "role roles is_original original", info, required=required)


def _texts(*middle: Field) -> Layout:
    return Layout("texts", "Each row is one text", (_BUCKET, *middle, _GROUP))


def _scored_layouts(spec: MeasureSpec) -> list[Layout]:
    """Return the layouts of a measure that bucket sets are scored by: a row for each bucket, a row for each text."""
    parameters = inspect.signature(spec.function).parameters
    labelled = [name for name, source in spec.arguments.items() if source.endswith(".label")]
    needs_label = any(parameters[name].default is inspect.Parameter.empty for name in labelled)
    label = replace(_LABEL, required=needs_label)
    role = _role([*spec.optional_partners, *spec.partners, spec.target], required=bool(spec.partners))
    texts = _texts(role, _PREDICTION, label)
    if not spec.partners:
        return [texts]
    if not spec.is_about_pairs:
        return [_whole_buckets(spec), texts]
    fields = (_ORIGINAL, _answer(spec.target, _CHANGED), label, _GROUP)
    return [Layout("pairs", "Each row is a pair", fields, _sides(spec.target)), texts]


def _sides(changed: str) -> dict[str, dict[str, str]]:
    keys = {ORIGINAL: _ORIGINAL.key, changed: "prediction"}
    return {role: {"prediction": key, "label": "label"} for role, key in keys.items()}


def _whole_buckets(spec: MeasureSpec) -> Layout:
    """The layout of a conclusion and what it follows from, with the gold labels that the measure reads."""
    fields, sides = [], {}
    for partner in spec.partners:
        words, key = _WORDS.get(partner, f"the {partner}"), f"{partner}_prediction"
        fields.append(Field(key, f"Answer on {words}", f"{key} {key}s {partner}_pred"))
        sides[partner] = {"prediction": key, "label": "label"}
        if f"{partner}.label" in spec.arguments.values():
            gold = f"{partner}_label"
            guesses = f"{gold} {partner}_reference {partner}_references {partner}_gold"
            fields.append(Field(gold, f"Gold of {words}", guesses))
            sides[partner]["label"] = gold
    is_open = f"target.{_ALLOWED.key}" in spec.arguments.values()
    conclusion = {"allowed_labels": _ALLOWED.key} if is_open else {"label": "label"}
    sides[spec.target] = {"prediction": "prediction", **conclusion}
    fields += [_answer(spec.target), _ALLOWED if is_open else _LABEL, _GROUP]
    return Layout("rows", "Each row is a whole bucket", fields, sides)


_PAIR_ROLES = _role([ORIGINAL, PARAPHRASE])
_ITEM = Field("bucket", "Item", f"item group_id {_BUCKETS}", "Variants of one original have one value")
_RUN = Field("run", "Run", "run runs seed model", "Where the file holds several runs of a model", required=False)
_TRANSFORMED = f"transformed_prediction transformed_predictions transformed {_ANSWERS}"
_BEFORE_AND_AFTER = [
    Field(_ORIGINAL.key, _ORIGINAL.label, f"{_ORIGINALS} {_ANSWERS}"),
    Field("prediction", "Answer on the transformed item", _TRANSFORMED),
    *(_LABEL, _RUN, _GROUP),
]
_EACH_CLASS = "One column of lists, or one column for each class, in order"
_BEFORE = "original_probabilities original_probs original_p p_original"
_PROBABILITIES = [
    Field("original_probabilities", "Probabilities on the original", _BEFORE, _EACH_CLASS, many=True),
    Field("probabilities", "Probabilities on the variant", "probabilities probs p", _EACH_CLASS, many=True),
]
_PROBABILITY_PAIRS = Layout("pairs", "Each row is a pair", (*_PROBABILITIES, _GROUP))
_STATEMENTS = [
    Field("role", "Role", "role roles", "What the statement is in its bucket: P, not_P, P_and_Q, Q_given_P, ..."),
    Field("probability", "Probability", "probability probabilities prob p confidence", "That it is true"),
]
_CALLS = Field("calls", "Calls", "calls tools tool_calls", "The tools that each run called, one a line")
_MODELS = [
    Field("predictions1", "First model's predictions", "predictions1 prediction1 prediction_1 pred_1 a"),
    Field("predictions2", "Second model's predictions", "predictions2 prediction2 prediction_2 pred_2 b"),
]
_PARAPHRASES = [
    Field("original", "Original", "original originals original_text original_hypothesis source"),
    Field("paraphrase", "Paraphrase", "paraphrase paraphrases paraphrased_text hypothesis text"),
    Field("similarity", "Similarity", "similarity similarities bleurt", "Of meaning, from a model", required=False),
    Field("entailed", "Entail each other", "entailed mutual_entailment", "true or false", required=False),
]
_PRESETS = [("all, as the paper defines it", "paper"), ("the first five, as its program does", "code")]
_METHODS = [
    ("exact (the paper's test without resampling noise)", "exact"),
    ("the paper's, resampled", "paper"),
    ("McNemar, exact", "mcnemar"),
    ("McNemar, mid-p", "mcnemar_mid_p"),
]

#: The measure's function -> arguments of its `Module`. A headline is a key of the catalogue's quantities, or its path
#: and style. The example file is called as the function, else it is that of all measures of pairs, or of texts.
_PAGES: Mapping[Callable[..., Any], Mapping[str, Any]] = {
    PARAPHRASTIC.function: {"headlines": [PARAPHRASTIC.headline, PARAPHRASTIC.published]},
    FOOLING.function: {
        "layouts": [
            _texts(_PAIR_ROLES, _PREDICTION, _LABEL),
            Layout("variants", "Each row is a variant", (_ITEM, _ORIGINAL, _answer("variant"), _LABEL, _GROUP)),
        ],
        "headlines": ["relaxed", "strict"],
        "measure": measure_fooling,
        "options": [Option("preset", "Variants", _PRESETS)],
    },
    distribution_shift: {
        "layouts": [_PROBABILITY_PAIRS, _texts(_PAIR_ROLES, _PROBABILITIES[1])],
        "headlines": [
            Headline("where the answer changes", ("jensen_shannon_distance", "changed"), "number"),
            Headline("where it stays", ("jensen_shannon_distance", "unchanged"), "number"),
        ],
        "measure": measure_shift,
    },
    probability_coherence: {"layouts": [_texts(*_STATEMENTS)], "measure": measure_coherence},
    TRAJECTORIES.function: {
        "layouts": [_texts(_CALLS, _PREDICTION, _LABEL)],
        "headlines": [TRAJECTORIES.headline, "outcome_consistency"],
    },
    IE_TEST.function: {
        "layouts": [
            Layout("pairs", "Each row is an item, before and after", _BEFORE_AND_AFTER, _sides(PARAPHRASE)),
            _texts(_PAIR_ROLES, _PREDICTION, _LABEL),
        ],
        "headlines": [
            Headline("p-value", ("p_value",), "p"),
            Headline("accuracy lost by the change (below 0: gained)", ("accuracy_difference",), "points"),
        ],
        "measure": measure_ie_test,
        "options": [
            Option("method", "Test", _METHODS),
            Option("correction", "Over several runs", [("Bonferroni", "bonferroni"), ("Holm", "holm")]),
        ],
    },
    consistency_difference: {
        "layouts": [_texts(*_MODELS, _LABEL, replace(_PAIR_ROLES, required=False))],
        "headlines": [
            Headline("P_C of the first model less that of the second", ("difference",), "points"),
            Headline("p-value", ("p_value",), "p"),
        ],
        "measure": measure_difference,
        "options": [Option("estimator", "P_C", [("unbiased", "unbiased"), ("as published", "plugin")])],
    },
    paraphrase_diversity: {
        "layouts": [Layout("pairs", "Each row is a pair", (*_PARAPHRASES, _GROUP))],
        "headlines": ["lexical_distance", "jaccard"],
        "measure": measure_diversity,
        "example_file": "pairs.csv",
    },
}


def module(name: str) -> Module:
    """Return a measure's page; one that is scored on bucket sets needs no entry here."""
    check_choice("launch", "name", name, CATALOGUE)
    spec = CATALOGUE[name]
    usual, own = "pairs.csv" if spec.is_about_pairs else "texts.csv", f"{spec.function.__name__}.csv"
    page = {"example_file": own if EXAMPLES.joinpath(own).is_file() else usual, **_PAGES.get(spec.function, {})}
    if spec.target:
        page = {"layouts": _scored_layouts(spec), "measure": as_the_command(spec)} | page
    listed = page.pop("headlines", [spec.headline])
    known = {q.key: Headline(q.label, (q.key,), "percent" if q.is_share else "number") for q in spec.quantities}
    named = (known.get(one, Headline(spec.title, (one,))) if isinstance(one, str) else one for one in listed)
    return Module(spec, headlines=list(named), **page)
