"""One contract for every folder of metrics/: how it loads, what it returns, what it refuses."""

import ast
import doctest
import json
import sys
from typing import Any

import numpy as np
import pytest
from helpers.errors import refuses
from helpers.metric_loading import load_metric
from measures.cases import CASES, GOLD

from paraconsist.errors import InputError
from paraconsist.files import to_strict_json
from paraconsist.measures.catalogue import CATALOGUE
from paraconsist.measures.results import parse_signature
from paraconsist.registry import metric_kind, metric_script

EVERY = sorted(CASES)
_WITHOUT = ("distribution_shift", "paraphrase_diversity", "probability_coherence", "trajectory_consistency")
WITH_LABELS = [name for name in EVERY if name not in _WITHOUT]
LABEL_ENDINGS = ("predictions", "predictions1", "predictions2", "references")


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """Return what the measure's function gives."""
    result: dict[str, Any] = CATALOGUE[name].function(**arguments).to_dict()
    return result


def agree(name: str, columns: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Assert that module and function give the same strict JSON, and return it."""
    through_module = load_metric(name).compute(**columns, **options)
    direct = call(name, **columns, **options)
    as_json = json.dumps(to_strict_json(through_module), allow_nan=False)
    assert json.loads(as_json) == json.loads(json.dumps(to_strict_json(direct), allow_nan=False))
    assert json.loads(as_json) == to_strict_json(through_module)  # plain values and string keys only
    return dict(through_module)


def as_names(values: Any) -> Any:
    return [as_names(value) for value in values] if isinstance(values, list) else f"label {values}"


# ------------------------------------------------------------------------------------ what it returns


@pytest.mark.parametrize("name", EVERY)
def test_module_equals_function_and_survives_strict_json(name: str) -> None:
    columns, options = CASES[name].columns, CASES[name].options
    for arguments in ({}, options):
        values = agree(name, columns, arguments)
        assert {"confidence_interval", "signature", "warnings"} <= set(values)
        assert "\n" not in values["signature"]
        assert str(parse_signature(values["signature"])) == values["signature"]


@pytest.mark.parametrize("name", EVERY)
def test_arrays_and_names_are_taken(name: str) -> None:
    columns = CASES[name].columns
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
    columns, options = CASES[name].columns, CASES[name].options
    metric = load_metric(name)
    metric.add_batch(**{key: values[:2] for key, values in columns.items()})
    metric.add_batch(**{key: values[2:3] for key, values in columns.items()})
    singular = {"predictions": "prediction", "references": "reference"}
    for i in range(3, len(next(iter(columns.values())))):
        metric.add(**{singular.get(key, key): values[i] for key, values in columns.items()})
    values = metric.compute(**options)
    assert to_strict_json(values) == to_strict_json(call(name, **columns, **options))


def test_rules_may_be_labels_or_lists() -> None:
    columns, options = CASES["transitive_inconsistency"].columns, CASES["transitive_inconsistency"].options
    lists = agree("transitive_inconsistency", {**columns, "references": [[label] for label in GOLD]}, options)
    labels = agree("transitive_inconsistency", {**columns, "references": GOLD}, options)
    assert to_strict_json(lists) == to_strict_json(labels)


# ------------------------------------------------------------------------------------ what it refuses


@pytest.mark.parametrize("name", EVERY)
def test_wrong_options_and_columns_are_refused_and_the_module_can_still_be_used(name: str) -> None:
    columns = CASES[name].columns
    metric, first = load_metric(name), next(iter(columns))
    last = list(columns)[-1]
    needed = [column for column in columns if column != "references" or CATALOGUE[name].needs_gold][-1]
    wrong: list[tuple[dict[str, Any], str]] = [
        (
            {**columns, "confidence_levels": 0.9},
            "`confidence_levels` must be a parameter; there are .* Did you mean `confidence_level`",
        ),
        ({key: values for key, values in columns.items() if key != needed}, f"`{needed}` must be given"),
        ({**columns, last: columns[last][:1]}, f"`{last}` must have one value per row of `{first}`"),
        ({**columns, "confidence_level": 2}, "`confidence_level` must lie between 0 and 1; got 2"),
    ]
    if name != "ie_test":
        wrong.append(({**columns, "seed": None}, "`seed` must be a whole number of at least 0; got None"))
    for arguments, message in wrong:
        refuses(message, metric.compute, **arguments)
    assert not any(lock.is_locked for lock in metric.filelocks)  # else evaluate waits for them
    refuses("must be given", metric.compute)
    refuses("`weights` must be one of the columns", metric.add_batch, **columns, weights=columns[first])
    assert to_strict_json(metric.compute(**columns)) == to_strict_json(call(name, **columns))


@pytest.mark.parametrize("name", WITH_LABELS)
def test_labels_are_not_cast(name: str) -> None:
    columns = CASES[name].columns
    metric, first = load_metric(name), next(iter(columns))
    n = len(columns[first])
    for values, message in [
        ([1.7] * n, "must hold integers or strings; got 1.7 at row 0"),
        (["1", *[1] * (n - 1)], "must be of one kind throughout; got 1 at row 1"),
        ([*[1] * (n - 1), None], f"must not hold missing values; got None at row {n - 1}"),
    ]:
        refuses(f"^{name}: `{first}` {message}", metric.compute, **{**columns, first: values})
    metric.add_batch(**columns)
    named = {key: as_names(v) if key.endswith(LABEL_ENDINGS) else v for key, v in columns.items()}
    refuses("must hold integers, as in earlier batches", metric.add_batch, **named)
    metric.compute()


@pytest.mark.parametrize("name", WITH_LABELS)
def test_numbers_here_and_names_there_are_refused(name: str) -> None:
    columns = CASES[name].columns
    first = next(iter(columns))
    with pytest.raises(InputError, match=f"must hold strings, as `{first}` does; got [01] at row 0"):
        load_metric(name).compute(**{**columns, first: ["0"] * len(columns[first])})


def test_probabilities_are_checked_before_they_are_stored() -> None:
    metric, rows = load_metric("distribution_shift"), [[0.5, 0.5], [0.2, 0.8]]
    with pytest.raises(InputError, match=r"`probabilities` must hold probabilities that sum to 1; got \[2.0"):
        metric.compute(probabilities=[[2.0, -1.0], [0.2, 0.8]], original_probabilities=rows)
    with pytest.raises(InputError, match="`predictions` must be a parameter; there are"):
        metric.compute(probabilities=rows, original_probabilities=rows, predictions=[0, 1])


def test_texts_are_checked_before_they_are_stored() -> None:
    measurement, texts = load_metric("paraphrase_diversity"), ["a", "b"]
    for rows, message in (([1, 2], "must hold texts; got 1 at row 0"), (["a", None], "must not hold missing values")):
        refuses(f"`paraphrases` {message}", measurement.compute, paraphrases=rows, originals=texts)
    with pytest.raises(InputError, match="`predictions` must be a parameter; there are"):
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
    assert metric.columns == list(CASES[name].columns)
    held = (metric.labels, metric.allowed_labels, metric.identifiers, metric.probabilities, metric.numbers)
    assert sorted(sum(held, metric.texts)) == sorted(metric.columns)


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
    columns, options = CASES[name].columns, CASES[name].options
    card = (metric_script(name).parent / "README.md").read_text(encoding="utf-8")
    for key in [*call(name, **columns, **options), *metric.options]:
        assert key in metric.inputs_description, key
        assert f"`{key}`" in card, key
