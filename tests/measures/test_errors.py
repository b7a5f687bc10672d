"""Bad input of every measure: the parameter, the row and one word of the error."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from paraconsist.errors import InputError
from paraconsist.measures.catalogue import CATALOGUE
from paraconsist.measures.noise_floor import noise_floor

PAIRS = ("semantic_inconsistency", "symmetric_inconsistency", "negational_inconsistency")
#: Columns that each measure accepts.
GOOD: dict[str, dict[str, Any]] = {
    **{name: {"predictions": [0, 1, 2, 0], "perturbed_predictions": [0, 1, 1, 1]} for name in PAIRS},
    "transitive_inconsistency": {
        f"{role}{side}": [0, 1]
        for role in ("", "antecedent_1_", "antecedent_2_")
        for side in ("predictions", "references")
    },
    "paraphrastic_consistency": {
        "predictions": [0, 1] * 40,
        "references": [1] * 40 + [0] * 40,
        "buckets": [row // 4 for row in range(80)],
    },
    "prompt_sensitivity": {"predictions": [1, 1], "references": [1, 1], "buckets": ["a", "a"]},
    "noise_floor": {
        "predictions": [1, 0, 1, 1],
        "references": [1] * 4,
        "buckets": ["a"] * 4,
        "examples": ["x", "y"] * 2,
        "repeats": [0, 0, 1, 1],
        "kinds": ["main", "main", "numeric", "numeric"],
    },
    "consistency_difference": {
        "predictions1": [1, 0, 1, 1],
        "predictions2": [1] * 4,
        "references": [1] * 4,
        "buckets": [0, 0, 1, 1],
    },
    "fooling_rate": {
        "predictions": [0, 1, 2],
        "original_predictions": [0, 0, 2],
        "references": [0, 0, 2],
        "buckets": ["a", "a", "b"],
    },
    "distribution_shift": {
        "probabilities": [[0.5, 0.5], [0.1, 0.9]],
        "original_probabilities": [[0.5, 0.5], [0.9, 0.1]],
    },
}
#: Measure -> change of its columns, parameter of the error, row, and a word of its condition.
BAD: dict[str, list[tuple[dict[str, Any], str, int | str | None, str]]] = {
    PAIRS[0]: [
        ({"predictions": []}, "predictions", None, "empty"),
        ({"predictions": None}, "predictions", None, "given"),
        ({"predictions": "0120"}, "predictions", None, "array"),
        ({"perturbed_predictions": [0, 1]}, "perturbed_predictions", None, "row"),
        ({"predictions": [0, "1", 2, 0]}, "predictions", 1, "throughout"),
        ({"predictions": [0, 1, None, 0]}, "predictions", 2, "values"),
        ({"predictions": [0, 1.5, 2, 0]}, "predictions", 1, "throughout"),
        ({"perturbed_predictions": ["0", "1", "2", "0"]}, "perturbed_predictions", 0, "integers"),
        ({"references": [0]}, "references", None, "row"),
        ({"groups": [0]}, "groups", None, "row"),
        ({"condition": "0"}, "condition", None, "are"),
        ({"condition": [0]}, "condition", 0, "one"),
        ({"confidence_level": 95}, "confidence_level", None, "between"),
        ({"n_resamples": 0}, "n_resamples", None, "whole"),
        ({"seed": -1}, "seed", None, "whole"),
        ({"interval_method": "bca"}, "interval_method", None, "closed_form"),
        ({"interval_method": "exact", "groups": [0, 0, 1, 1]}, "interval_method", None, "groups"),
        ({"interval_method": "korn_graubard"}, "interval_method", None, "korn_graubard"),
    ],
    "transitive_inconsistency": [
        ({"references": [[0], 1]}, "references", 1, "throughout"),
        ({"references": [0, [1]]}, "references", 1, "throughout"),
        ({"references": [[0], []]}, "references", 1, "one"),
        ({"references": [[0], [1, "2"]]}, "references", 1, "missing"),
        ({"references": [[0], [None]]}, "references", 1, "missing"),
        ({"references": [[0], ["1"]]}, "references", 1, "row"),
        ({"references": [["0"], ["1"]]}, "references", 0, "integers"),
        ({"references": [[[0]], [1]]}, "references", 0, "labels"),
        ({"references": [[0]]}, "references", None, "row"),
        ({"references": []}, "references", None, "empty"),
        ({"references": "01"}, "references", None, "allowed"),
        ({"references": [None, None]}, "references", 0, "values"),
    ],
    "paraphrastic_consistency": [
        ({"predictions": []}, "predictions", None, "empty"),
        ({"predictions": [1, 0]}, "references", None, "row"),
        ({"predictions": [None] * 80}, "predictions", 0, "values"),
        ({"references": ["1"] * 80}, "references", 0, "integers"),
        ({"buckets": [0.5] * 80}, "buckets", 0, "strings"),
        ({"buckets": [0] * 80}, "references", 0, "gold"),
        ({"groups": np.arange(80)}, "groups", 0, "group"),
        ({"groups": [1]}, "groups", None, "row"),
        ({"roles": ["original"] * 80}, "roles", None, "per"),
        ({"roles": ["swap"] * 80}, "roles", 0, "paraphrase"),
        ({"original_confidences": {0: 0.5}}, "test_confidences", None, "too"),
        ({"test_confidences": [0.5]}, "original_confidences", None, "too"),
        ({"original_confidences": {0: 0.5}, "test_confidences": [0.5]}, "original_confidences", None, "for"),
        (
            {"original_confidences": dict.fromkeys(range(20), 1.5), "test_confidences": [0.5]},
            "original_confidences",
            "0",
            "between",
        ),
        ({"original_confidences": [0.5], "test_confidences": [0.5]}, "original_confidences", None, "confidence"),
        (
            {"original_confidences": dict.fromkeys(range(20), 0.5), "test_confidences": [float("nan")]},
            "test_confidences",
            0,
            "between",
        ),
        ({"test_predictions": [1]}, "test_references", None, "too"),
        ({"test_predictions": [1], "test_references": [1, 0]}, "test_references", None, "test_predictions"),
        ({"estimator": "best"}, "estimator", None, "plugin"),
        ({"interval_method": "normal"}, "interval_method", None, "closed_form"),
        ({"confidence_level": 95}, "confidence_level", None, "between"),
        ({"n_resamples": 0}, "n_resamples", None, "whole"),
        ({"seed": None}, "seed", None, "whole"),
    ],
    "prompt_sensitivity": [
        ({"roles": ["paraphrase", "other"]}, "roles", 1, "contrast"),
        ({"roles": ["original", "original"]}, "roles", None, "paraphrase"),
        ({"draws": [0]}, "draws", None, "whole"),
        ({"references": [1, 0]}, "references", 0, "gold"),
        ({"variants": ["a"]}, "variants", None, "row"),
        ({"variants": ["a", "b"], "buckets": ["a", "b"]}, "variants", None, "share"),
    ],
    "noise_floor": [
        ({"kinds": ["main"] * 4}, "kinds", None, "run"),
        ({"kinds": ["numeric"] * 4}, "kinds", None, "run"),
        ({"kinds": ["main", "main", "numeric", "decoding"]}, "kinds", 2, "run"),
        ({"kinds": ["main", "main", "batch", "batch"]}, "kinds", 2, "decoding"),
        ({"examples": ["x", "x", "x", "y"]}, "examples", 0, "run"),
        ({"buckets": ["a", "a", "b", "a"]}, "buckets", 0, "row"),
        ({"repeats": [0, 0, 0, 0], "kinds": ["main"] * 4, "examples": list("wxyz")}, "kinds", None, "repeat"),
        ({"predictions": [1, 0]}, "references", None, "row"),
    ],
    "consistency_difference": [
        ({"estimator": "best"}, "estimator", None, "plugin"),
        ({"n_permutations": 0}, "n_permutations", None, "whole"),
        ({"interval_method": "exact"}, "interval_method", None, "closed_form"),
        ({"predictions2": [1]}, "predictions2", None, "row"),
        ({"references": [1, 0, 1, 1]}, "references", 0, "gold"),
        ({"groups": [1, 2, 1, 1]}, "groups", 0, "group"),
        ({"roles": ["original"] * 4}, "roles", None, "paraphrase"),
        ({"roles": ["swap"] * 4}, "roles", 0, "paraphrase"),
    ],
    "fooling_rate": [
        ({"predictions": []}, "predictions", None, "empty"),
        ({"references": [0]}, "references", None, "row"),
        ({"buckets": ["a", "a"]}, "buckets", None, "row"),
        ({"original_predictions": [0, 1, 2]}, "original_predictions", 0, "original"),
        ({"references": [0, 2, 2]}, "references", 0, "gold"),
        ({"references": ["0", "0", "2"]}, "references", 0, "integers"),
        ({"predictions": [3, 0, 2]}, "opposites", None, "not"),
        ({"opposites": {0: 0}}, "opposites", None, "another"),
        ({"opposites": {"0": "2"}}, "opposites", None, "integers"),
        ({"opposites": [0, 2]}, "opposites", None, "map"),
        ({"originals": {"a": (0, 0)}}, "originals", None, "original"),
        ({"originals": [(0, 0)]}, "originals", None, "gold"),
        ({"originals": {"a": 0, "b": 0}}, "originals", "'a'", "gold"),
        ({"originals": {"a": (1, 0), "b": (2, 2)}}, "originals", None, "prediction"),
        ({"originals": {"a": (0, 0), "b": (2, 1)}}, "originals", None, "gold"),
        ({"originals": {"a": ("0", "0"), "b": ("2", "2")}}, "originals", 0, "integers"),
        ({"originals": {"a": (0, 0), "b": (2, 2), 7: (0, 0)}}, "originals", None, "buckets"),
        ({"preset": "both"}, "preset", None, "code"),
        ({"variants": 0}, "variants", None, "whole"),
        ({"minimum": -1}, "minimum", None, "whole"),
        ({"variants": 2, "minimum": 3}, "minimum", None, "used"),
        ({"variants": 3, "preset": "code"}, "minimum", None, "used"),
    ],
    "distribution_shift": [
        ({"probabilities": []}, "probabilities", None, "empty"),
        ({"probabilities": 0.5}, "probabilities", None, "list"),
        ({"probabilities": [0.5, 0.5]}, "probabilities", 0, "classes"),
        ({"probabilities": [[1.0], [1.0]]}, "probabilities", 0, "classes"),
        ({"probabilities": [[0.5, 0.5], [0.5, 0.25, 0.25]]}, "probabilities", 1, "has"),
        ({"probabilities": [[0.5, 0.5], None]}, "probabilities", 1, "list"),
        ({"probabilities": [[0.5, 0.5], ["x", 1]]}, "probabilities", 1, "list"),
        ({"probabilities": [[0.5, 0.5], [3.0, -2.0]]}, "probabilities", 1, "sum"),
        ({"probabilities": [[0.5, 0.5], [math.nan, 1.0]]}, "probabilities", 1, "sum"),
        ({"original_probabilities": [[0.5, 0.5]]}, "original_probabilities", None, "row"),
        ({"original_probabilities": [[0.5, 0.25, 0.25]] * 2}, "original_probabilities", 0, "has"),
        ({"groups": [1]}, "groups", None, "row"),
        ({"interval_method": "exact"}, "interval_method", None, "closed_form"),
    ],
}
BAD |= dict.fromkeys(PAIRS, BAD[PAIRS[0]])
BAD[PAIRS[1]] = BAD[PAIRS[1]] + [
    ({"places": [0]}, "places", None, "three"),
    ({"places": [0, 0]}, "places", None, "three"),
    ({"places": ["A", "B"]}, "places", None, "predictions"),
]


@pytest.mark.parametrize(("name", "case"), [(name, case) for name, cases in BAD.items() for case in cases])
def test_the_error_names_parameter_and_row(name: str, case: tuple[dict[str, Any], str, int | str | None, str]) -> None:
    change, parameter, row, word = case
    function = CATALOGUE[name].function if name in CATALOGUE else noise_floor
    with pytest.raises(InputError, match=f"^{name}: ") as raised:
        function(**{**GOOD[name], **change})
    error = raised.value
    assert (error.parameter, error.row) == (parameter, row)
    assert word in error.must
