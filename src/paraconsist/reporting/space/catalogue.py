"""The pages: one entry for each module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paraconsist.errors import check_choice
from paraconsist.measures.diversity import paraphrase_diversity
from paraconsist.reporting.space import examples
from paraconsist.reporting.space.forms import (
    ADDITIVE_FIELDS,
    ADDITIVE_SIDES,
    BUCKET,
    DIVERSITY_FIELDS,
    FOOLING_FIELDS,
    IE_FIELDS,
    SHIFT_FIELDS,
    TRANSITIVE_FIELDS,
    TRANSITIVE_SIDES,
    TWO_MODELS_FIELDS,
    Headline,
    Layout,
    Module,
    Option,
    group_field,
    label_field,
    pairs_layouts,
    prediction_field,
    role_field,
    texts_layout,
)
from paraconsist.reporting.space.results import (
    as_the_command,
    by_function,
    measure_difference,
    measure_fooling,
    measure_ie_test,
    measure_shift,
)


def _inconsistency(
    name: str, title: str, question: str, layouts: Sequence[Layout], example: str, what: str = "of all pairs"
) -> Module:
    return Module(
        name=name,
        title=title,
        question=question,
        direction="Down is good: 0 % is a model that never breaks the rule.",
        layouts=layouts,
        headlines=[Headline(f"inconsistency, share {what}", ("inconsistency",))],
        measure=as_the_command(name),
        example=getattr(examples, example),
    )


_ALL = (
    Module(
        name="paraphrastic_consistency",
        title="Paraphrastic consistency",
        question="When a problem is reworded, does the model stay right, or stay wrong?",
        direction="Up is good: 100 % means that every problem is right in all its wordings, or wrong in all of them.",
        layouts=[
            Layout(
                "texts",
                "Each row is one text",
                (
                    BUCKET,
                    prediction_field("Prediction"),
                    label_field(),
                    role_field("original or paraphrase; or true for originals", required=False),
                    group_field(),
                ),
            )
        ],
        headlines=[
            Headline("P_C, as published", ("paraphrastic_consistency",)),
            Headline("P_C, unbiased", ("paraphrastic_consistency_unbiased",)),
        ],
        measure=as_the_command("paraphrastic_consistency"),
        example=examples.texts_example,
    ),
    _inconsistency(
        "semantic_inconsistency",
        "Semantic inconsistency",
        "How often does a paraphrase change the model's answer?",
        pairs_layouts(
            "paraphrase", "paraphrase", "paraphrase_prediction", "perturbed_prediction", "perturbed_predictions"
        ),
        "pairs_example",
    ),
    _inconsistency(
        "symmetric_inconsistency",
        "Symmetric inconsistency",
        "How often does the answer depend on which of two texts comes first?",
        pairs_layouts("swap", "swapped pair", "prediction_swapped", "swapped_prediction", "perturbed_prediction"),
        "swapped_pairs_example",
    ),
    _inconsistency(
        "negational_inconsistency",
        "Negational inconsistency",
        "How often does the model give a text and its negation the same answer?",
        pairs_layouts("negation", "negation", "prediction_negated", "negated_prediction", "perturbed_prediction"),
        "negated_pairs_example",
    ),
    _inconsistency(
        "transitive_inconsistency",
        "Transitive inconsistency",
        "Does the model draw the conclusion of two premises that it answers right?",
        [
            Layout("rows", "Each row is a chain", TRANSITIVE_FIELDS, TRANSITIVE_SIDES),
            texts_layout("antecedent_1, antecedent_2 or consequent"),
        ],
        "transitive_example",
        "of rows with both premises right",
    ),
    _inconsistency(
        "additive_inconsistency",
        "Additive inconsistency",
        "Does a text keep the label that the model gives, correctly, to both of its parts?",
        [
            Layout("rows", "Each row is a merged text", ADDITIVE_FIELDS, ADDITIVE_SIDES),
            texts_layout("part_1, part_2 or merged"),
        ],
        "additive_example",
        "of rows with both parts right",
    ),
    Module(
        name="prediction_change",
        title="Prediction change",
        question="How often does a paraphrase change the answer, and which way?",
        direction="Down is good: 0 % is a model that never changes its mind.",
        layouts=pairs_layouts("paraphrase", "paraphrase", "paraphrase_prediction", need_label=True),
        headlines=[Headline("changed answers, share of all pairs", ("change_rate",))],
        measure=as_the_command("prediction_change"),
        example=examples.pairs_example,
    ),
    Module(
        name="fooling_rate",
        title="Fooling rate",
        question="How many right answers does at least one harmless variant turn?",
        direction="Down is good. It grows with the number of variants, so compare only at one number.",
        layouts=[
            texts_layout("original or paraphrase; or true for originals"),
            Layout("variants", "Each row is a variant", (*FOOLING_FIELDS, group_field())),
        ],
        headlines=[
            Headline("relaxed, to any other answer", ("relaxed",)),
            Headline("strict, to the opposite answer", ("strict",)),
        ],
        measure=measure_fooling,
        example=examples.texts_example,
        options=[
            Option(
                "preset",
                "Variants",
                (("all, as the paper defines it", "paper"), ("the first five, as its program does", "code")),
            )
        ],
    ),
    Module(
        name="distribution_shift",
        title="Distribution shift",
        question="How far do the class probabilities move when a text is reworded?",
        direction="Down is good: 0 is no move at all, 1 a move from one certain answer to another.",
        layouts=[
            Layout("pairs", "Each row is a pair", SHIFT_FIELDS),
            Layout(
                "texts",
                "Each row is one text",
                (BUCKET, role_field("original or paraphrase; or true for originals"), SHIFT_FIELDS[1], group_field()),
            ),
        ],
        headlines=[
            Headline("where the answer changes", ("jensen_shannon_distance", "changed"), "number"),
            Headline("where it stays", ("jensen_shannon_distance", "unchanged"), "number"),
        ],
        measure=measure_shift,
        example=examples.probabilities_example,
    ),
    Module(
        name="ie_test",
        title="IE test",
        question="Does a change that keeps the meaning cost accuracy?",
        direction="A small p says that it does: the model is not invariant under the change.",
        layouts=[
            Layout(
                "pairs",
                "Each row is an item, before and after",
                IE_FIELDS,
                {
                    "original": {"prediction": "original_prediction", "label": "label"},
                    "paraphrase": {"prediction": "prediction", "label": "label"},
                },
            ),
            Layout(
                "texts",
                "Each row is one text",
                (
                    BUCKET,
                    role_field("original or paraphrase; or true for originals"),
                    prediction_field("Prediction"),
                    label_field(),
                ),
            ),
        ],
        headlines=[
            Headline("p-value", ("p_value",), "p"),
            Headline("accuracy lost by the change", ("accuracy_difference",)),
        ],
        measure=measure_ie_test,
        example=examples.changed_pairs_example,
        options=[
            Option(
                "method",
                "Test",
                (
                    ("exact (the paper's test without resampling noise)", "exact"),
                    ("the paper's, resampled", "paper"),
                    ("McNemar, exact", "mcnemar"),
                    ("McNemar, mid-p", "mcnemar_mid_p"),
                ),
            ),
            Option("correction", "Over several runs", (("Bonferroni", "bonferroni"), ("Holm", "holm"))),
        ],
    ),
    Module(
        name="consistency_difference",
        title="Consistency difference",
        question="Is one model more consistent than another on the same problems?",
        direction="Above 0 the first model is more consistent. A small p says that chance does not explain it.",
        layouts=[Layout("rows", "Each row is one text", TWO_MODELS_FIELDS)],
        headlines=[Headline("difference of P_C", ("difference",)), Headline("p-value", ("p_value",), "p")],
        measure=measure_difference,
        example=examples.two_models_example,
        options=[Option("estimator", "P_C", (("unbiased", "unbiased"), ("as published", "plugin")))],
    ),
    Module(
        name="paraphrase_diversity",
        title="Paraphrase diversity",
        question="How far are paraphrases from their originals in words, structure and meaning?",
        direction="Neither end is good: 0 is a copy, 1 shares nothing with its original.",
        layouts=[Layout("pairs", "Each row is a pair", DIVERSITY_FIELDS)],
        headlines=[
            Headline("lexical distance", ("lexical_distance",), "number"),
            Headline("Jaccard similarity of the words", ("jaccard",), "number"),
        ],
        measure=by_function(
            paraphrase_diversity,
            {
                "paraphrases": "paraphrase",
                "originals": "original",
                "similarities": "similarity",
                "entailed": "entailed",
                "groups": "group",
            },
            {
                "lexical_distance": "lexical distance",
                "jaccard": "Jaccard similarity",
                "mutual_entailment": "mutual entailment",
            },
        ),
        example=examples.pairs_example,
    ),
)

MODULES: Mapping[str, Module] = {one.name: one for one in _ALL}


def module(name: str) -> Module:
    """Return a module's page.

    Raises
    ------
    InputError
        If there is none of this name.
    """
    check_choice("launch", "name", name, MODULES)
    return MODULES[name]
