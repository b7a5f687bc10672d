"""One contract for every folder of metrics/: how it loads, what it returns, what it refuses."""

from __future__ import annotations

import ast
import doctest
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.metric_loading import load_metric

from paraconsist.errors import InputError
from paraconsist.files import to_strict_json
from paraconsist.measures.antecedents import additive_inconsistency, transitive_inconsistency
from paraconsist.measures.consistency_difference import consistency_difference
from paraconsist.measures.distribution_shift import distribution_shift
from paraconsist.measures.diversity import paraphrase_diversity
from paraconsist.measures.fooling_rate import fooling_rate
from paraconsist.measures.ie_test import ie_test
from paraconsist.measures.pairs import negational_inconsistency, semantic_inconsistency, symmetric_inconsistency
from paraconsist.measures.paraphrastic import paraphrastic_consistency
from paraconsist.measures.prediction_change import prediction_change
from paraconsist.measures.signatures import parse_signature
from paraconsist.registry import metric_kind, metric_names, metric_script, register

A, B, GOLD = [0, 1, 2, 0, 1, 2], [0, 2, 2, 1, 1, 0], [0, 1, 2, 1, 1, 0]
GROUPS = [5, 5, 6, 6, 7, 8]
PAIR = {"predictions": A, "perturbed_predictions": B}
PAIR_OPTIONS = {"references": GOLD, "perturbed_references": GOLD, "condition": 0, "groups": GROUPS}
QUICK = {"n_resamples": 50, "seed": 1, "confidence_level": 0.9}

#: Module -> (its function, the declared columns, options)
CASES: dict[str, tuple[Callable[..., Any], dict[str, Any], dict[str, Any]]] = {
    "additive_inconsistency": (
        additive_inconsistency,
        {"predictions": B, "references": A, "part_1_predictions": A, "part_2_predictions": A},
        {"groups": GROUPS, **QUICK},
    ),
    "consistency_difference": (
        consistency_difference,
        {"predictions1": A, "predictions2": B, "references": [0, 0, 0, 1, 1, 1], "buckets": ["x"] * 3 + ["y"] * 3},
        {"roles": ["original", "paraphrase", "paraphrase"] * 2, "n_permutations": 50, **QUICK},
    ),
    "distribution_shift": (
        distribution_shift,
        {
            "probabilities": [[0.5, 0.25, 0.25], [0.1, 0.2, 0.7], [0.0, 1.0, 0.0], [0.3, 0.3, 0.4]],
            "original_probabilities": [[0.25, 0.5, 0.25], [0.1, 0.1, 0.8], [0.5, 0.5, 0.0], [0.2, 0.2, 0.6]],
        },
        {"groups": [1, 2, 3, 4], **QUICK},
    ),
    "fooling_rate": (
        fooling_rate,
        {
            "predictions": A,
            "original_predictions": [0, 0, 2, 2, 1, 1],
            "references": [0, 0, 2, 2, 1, 1],
            "buckets": ["x", "x", "y", "y", "z", "z"],
        },
        {"originals": {"x": (0, 0), "y": (2, 2), "z": (1, 1), "w": (1, 1)}, "variants": 2, **QUICK},
    ),
    "ie_test": (
        ie_test,
        {"predictions": A, "transformed_predictions": B, "references": GOLD},
        {"runs": ["r", "r", "r", "s", "s", "s"], "correction": "holm"},
    ),
    "negational_inconsistency": (negational_inconsistency, PAIR, {**PAIR_OPTIONS, **QUICK}),
    "paraphrase_diversity": (
        paraphrase_diversity,
        {
            "paraphrases": ["Rain falls.", "It is raining.", "He left.", "Dogs bark"],
            "originals": ["It rains.", "It rains.", "He went away.", "Dogs bark."],
        },
        {
            "embeddings": [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [1.0, 1.0]],
            "original_embeddings": [[1.0, 1.0]] * 4,
            "parses": ["(S (NP (NN x)) (VP (V x)))"] * 4,
            "original_parses": ["(S (NP (PRP x)) (VP (V x) (PRT x)))"] * 4,
            "entailed": [1, 1, 0, 1],
            "groups": [5, 5, 6, 7],
            **QUICK,
        },
    ),
    "paraphrastic_consistency": (
        paraphrastic_consistency,
        {"predictions": A, "references": [0, 0, 0, 1, 1, 1], "buckets": ["x"] * 3 + ["y"] * 3},
        {"roles": ["original", "paraphrase", "paraphrase"] * 2, **QUICK},
    ),
    "prediction_change": (
        prediction_change,
        {"predictions": A, "original_predictions": B, "references": GOLD},
        {"strata": {"side": ["p", "h"] * 3, "k": GROUPS}, "groups": GROUPS, **QUICK},
    ),
    "semantic_inconsistency": (semantic_inconsistency, PAIR, {**PAIR_OPTIONS, **QUICK}),
    "symmetric_inconsistency": (symmetric_inconsistency, PAIR, {**PAIR_OPTIONS, **QUICK}),
    "transitive_inconsistency": (
        transitive_inconsistency,
        {
            "predictions": A,
            "references": [[0], [0], [1, 2], [1, 2], [0, 1], [0, 1]],
            "antecedent_1_predictions": A,
            "antecedent_1_references": A,
            "antecedent_2_predictions": B,
            "antecedent_2_references": GOLD,
        },
        {"groups": GROUPS, **QUICK},
    ),
}
EVERY = sorted(CASES)
WITH_LABELS = [name for name in EVERY if name not in ("distribution_shift", "paraphrase_diversity")]
LABEL_ENDINGS = ("predictions", "predictions1", "predictions2", "references")


def test_every_module_has_a_case() -> None:
    assert sorted(metric_names()) == EVERY


def agree(name: str, columns: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Assert that module and function give the same strict JSON, and return it."""
    through_module = load_metric(name).compute(**columns, **options)
    direct = CASES[name][0](**columns, **options).to_dict()
    as_json = json.dumps(to_strict_json(through_module), allow_nan=False)
    assert json.loads(as_json) == json.loads(json.dumps(to_strict_json(direct), allow_nan=False))
    assert json.loads(as_json) == to_strict_json(through_module)  # plain values and string keys only
    return dict(through_module)


def as_names(values: Any) -> Any:
    return [as_names(value) for value in values] if isinstance(values, list) else f"label {values}"


# ------------------------------------------------------------------------------------ what it returns


@pytest.mark.parametrize("name", EVERY)
def test_module_equals_function_and_survives_strict_json(name: str) -> None:
    _, columns, options = CASES[name]
    for arguments in ({}, options):
        values = agree(name, columns, arguments)
        assert {"confidence_interval", "signature", "warnings"} <= set(values)
        assert "\n" not in values["signature"]
        assert str(parse_signature(values["signature"])) == values["signature"]


@pytest.mark.parametrize("name", EVERY)
def test_arrays_and_names_are_taken(name: str) -> None:
    _, columns, _ = CASES[name]
    ragged = name == "transitive_inconsistency"
    arrays = {
        key: values if ragged and key == "references" else np.array(values)
        for key, values in columns.items()
        if key != "buckets"
    }
    as_arrays = load_metric(name).compute(**{**columns, **arrays})
    assert to_strict_json(as_arrays) == to_strict_json(load_metric(name).compute(**columns))
    if name in WITH_LABELS:
        named = {key: as_names(values) if key.endswith(LABEL_ENDINGS) else values for key, values in columns.items()}
        agree(name, named, {"opposites": {"label 0": "label 2"}} if name == "fooling_rate" else {})


@pytest.mark.parametrize("name", EVERY)
def test_rows_may_come_in_batches_and_one_by_one(name: str) -> None:
    function, columns, options = CASES[name]
    metric = load_metric(name)
    metric.add_batch(**{key: values[:2] for key, values in columns.items()})
    metric.add_batch(**{key: values[2:3] for key, values in columns.items()})
    singular = {"predictions": "prediction", "references": "reference"}
    for i in range(3, len(next(iter(columns.values())))):
        metric.add(**{singular.get(key, key): values[i] for key, values in columns.items()})
    values = metric.compute(**options)
    assert to_strict_json(values) == to_strict_json(function(**columns, **options).to_dict())


def test_rules_may_be_labels_or_lists() -> None:
    _, columns, options = CASES["transitive_inconsistency"]
    lists = agree("transitive_inconsistency", {**columns, "references": [[label] for label in GOLD]}, options)
    labels = agree("transitive_inconsistency", {**columns, "references": GOLD}, options)
    assert to_strict_json(lists) == to_strict_json(labels)


# ------------------------------------------------------------------------------------ what it refuses


@pytest.mark.parametrize("name", EVERY)
def test_wrong_options_and_columns_are_refused_and_the_module_can_still_be_used(name: str) -> None:
    _, columns, _ = CASES[name]
    metric, first = load_metric(name), next(iter(columns))
    last = list(columns)[-1]
    wrong: list[tuple[dict[str, Any], str]] = [
        ({**columns, "confidense": 0.9}, "`confidense` must be an option that exists. The options are"),
        ({key: values for key, values in columns.items() if key != last}, f"`{last}` must be given"),
        ({**columns, last: columns[last][:1]}, f"`{last}` must have one value per row of `{first}`"),
        ({**columns, "confidence_level": 2}, "`confidence_level` must lie between 0 and 1; got 2"),
    ]
    if name != "ie_test":
        wrong.append(({**columns, "seed": None}, "`seed` must be a whole number of at least 0; got None"))
    for arguments, message in wrong:
        with pytest.raises(InputError, match=message):
            metric.compute(**arguments)
    with pytest.raises(InputError, match="must be given"):
        metric.compute()
    with pytest.raises(InputError, match="`weights` must be one of the columns"):
        metric.add_batch(**columns, weights=columns[first])
    assert to_strict_json(metric.compute(**columns)) == to_strict_json(CASES[name][0](**columns).to_dict())


@pytest.mark.parametrize("name", WITH_LABELS)
def test_labels_are_not_cast(name: str) -> None:
    _, columns, _ = CASES[name]
    metric, first = load_metric(name), next(iter(columns))
    n = len(columns[first])
    for values, message in [
        ([1.7] * n, "must hold integers or strings; got 1.7 at row 0"),
        (["1", *[1] * (n - 1)], "must be of one kind throughout; got 1 at row 1"),
        ([*[1] * (n - 1), None], f"must not hold missing values; got None at row {n - 1}"),
    ]:
        with pytest.raises(InputError, match=f"^{name}: `{first}` {message}"):
            metric.compute(**{**columns, first: values})
    metric.add_batch(**columns)
    named = {key: as_names(v) if key.endswith(LABEL_ENDINGS) else v for key, v in columns.items()}
    with pytest.raises(InputError, match="must hold integers, as in earlier batches"):
        metric.add_batch(**named)
    metric.compute()


@pytest.mark.parametrize("name", WITH_LABELS)
def test_numbers_here_and_names_there_are_refused(name: str) -> None:
    _, columns, _ = CASES[name]
    first = next(iter(columns))
    with pytest.raises(InputError, match=f"must hold strings, as `{first}` does; got [01] at row 0"):
        load_metric(name).compute(**{**columns, first: ["0"] * len(columns[first])})


def test_probabilities_are_checked_before_they_are_stored() -> None:
    metric, rows = load_metric("distribution_shift"), [[0.5, 0.5], [0.2, 0.8]]
    with pytest.raises(InputError, match=r"`probabilities` must hold probabilities that sum to 1; got \[2.0"):
        metric.compute(probabilities=[[2.0, -1.0], [0.2, 0.8]], original_probabilities=rows)
    with pytest.raises(InputError, match="`predictions` must be an option that exists"):
        metric.compute(probabilities=rows, original_probabilities=rows, predictions=[0, 1])


def test_texts_are_checked_before_they_are_stored() -> None:
    measurement, texts = load_metric("paraphrase_diversity"), ["a", "b"]
    for rows, message in (([1, 2], "must hold texts; got 1 at row 0"), (["a", None], "must not hold missing values")):
        with pytest.raises(InputError, match=f"`paraphrases` {message}"):
            measurement.compute(paraphrases=rows, originals=texts)
    with pytest.raises(InputError, match="`predictions` must be an option that exists"):
        measurement.compute(paraphrases=texts, originals=texts, predictions=[0, 1])


# -------------------------------------------------------------------------------------- how it loads


@pytest.mark.parametrize("name", EVERY)
def test_evaluates_regex_reads_the_same_imports_as_python(name: str) -> None:
    loading = pytest.importorskip("evaluate.loading")
    path = str(metric_script(name))
    seen = {imported for _, imported, *_ in loading.get_imports(path)}
    tree = ast.parse(metric_script(name).read_text(encoding="utf-8"))
    real = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            real |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            real.add(str(node.module).split(".")[0])
    assert seen == real == {"paraconsist"}


@pytest.mark.parametrize("name", EVERY)
def test_a_script_has_one_class_and_declares_what_each_column_holds(name: str) -> None:
    evaluate = pytest.importorskip("evaluate")
    metric = load_metric(name)
    module = sys.modules[type(metric).__module__]
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, evaluate.EvaluationModule)
    ]
    assert classes == [type(metric)]
    assert isinstance(metric, getattr(evaluate, metric_kind(name).capitalize()))
    assert metric.name == name == metric.function.__name__
    assert metric.columns == list(CASES[name][1])
    held = [metric.labels, metric.allowed_labels, metric.identifiers, metric.probabilities, metric.texts]
    assert sorted(sum(held, ())) == sorted(metric.columns)


@pytest.mark.parametrize("name", EVERY)
def test_examples_run_and_every_key_is_described(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate, metric = pytest.importorskip("evaluate"), load_metric(name)
    assert metric.description.rstrip().endswith(".")
    assert metric.citation.strip().startswith("@")
    monkeypatch.chdir(metric_script(name).parent.parent.parent)
    examples = doctest.DocTestParser().get_doctest(
        metric.inputs_description, {"evaluate": evaluate}, name, str(metric_script(name)), 0
    )
    assert examples.examples
    assert doctest.DocTestRunner().run(examples) == (0, len(examples.examples))
    function, columns, options = CASES[name]
    card = (metric_script(name).parent / "README.md").read_text(encoding="utf-8")
    for key in [*function(**columns, **options).to_dict(), *metric.options]:
        assert key in metric.inputs_description, key
        assert f"`{key}`" in card, key


def test_every_module_loads_by_its_bare_name_in_a_fresh_process(tmp_path: Any) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    environment |= {"HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1"}
    register(tmp_path / "home" / "modules")
    code = (
        "import evaluate, sys\n"
        "for name in sys.argv[1:]:\n"
        "    print(name, type(evaluate.load(name)).__bases__[0].__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *EVERY],
        env=environment,
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert [line.split()[0] for line in done.stdout.splitlines()] == EVERY
