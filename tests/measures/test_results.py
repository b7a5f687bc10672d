"""What a result shows of itself: a few lines for a terminal, a table for a notebook, plain values for files."""

import inspect
import re

import pytest

from paraconsist.measures.catalogue import MeasureSpec, list_measures
from paraconsist.measures.consistency_difference import consistency_difference
from paraconsist.measures.distribution_shift import distribution_shift
from paraconsist.measures.pairs import semantic_inconsistency
from paraconsist.measures.paraphrastic import paraphrastic_consistency
from paraconsist.measures.results import Result, documented

PAIR = semantic_inconsistency([1, 1, 0, 0], [1, 0, 0, 0], condition=7)


def test_the_text_has_a_line_for_every_value_with_its_interval_and_no_mapping() -> None:
    first, *lines = repr(PAIR).splitlines()
    assert first == "PairInconsistencyResult"
    assert lines[0].split() == ["inconsistency", "0.25", "[0.006309,", "0.8059]"]
    assert lines[1].split() == ["n_pairs", "4"]
    assert "{" not in repr(PAIR)
    assert f"  {PAIR.signature}" in lines
    assert lines[-1] == "  warning: undefined, so nan: conditional_inconsistency"


def test_values_of_several_kinds_are_shown_where_they_have_intervals() -> None:
    shift = repr(distribution_shift([[0.9, 0.1], [0.4, 0.6]], [[0.9, 0.1], [0.6, 0.4]]))
    assert "max_difference/changed" in shift
    difference = repr(consistency_difference([1] * 12, [1, 0] * 6, [1] * 12, [i // 2 for i in range(12)]))
    assert "  difference" in difference
    assert "values1" not in difference


def test_the_table_for_notebooks_is_escaped() -> None:
    html = semantic_inconsistency(["<b>"] * 2, ["<b>"] * 2)._repr_html_()
    assert "<td>inconsistency</td><td>0</td>" in html
    assert "&lt;b&gt;" in html
    assert "<b>" not in html


def test_what_is_known_of_values_stands_after_them() -> None:
    result: Result = paraphrastic_consistency(
        [1, 0, 1], [1, 1, 1], [0, 0, 1], test_predictions=[1], test_references=[1]
    )
    names = list(result.to_dict())
    assert names.index("test_accuracy") < names.index("confidence_interval")
    assert names[-2:] == ["signature", "warnings"]


def test_a_result_is_read_like_the_mapping_that_is_written() -> None:
    assert PAIR.keys() == PAIR.to_dict().keys()
    assert PAIR["inconsistency"] == PAIR.get("inconsistency") == PAIR.inconsistency
    assert PAIR["warnings"] == list(PAIR.warnings)
    assert "accuracy" not in PAIR
    assert PAIR.get("accuracy", 0.5) == 0.5
    with pytest.raises(KeyError, match=r"no 'acuracy'.*inconsistency, n_pairs"):
        PAIR["acuracy"]
    assert dict(PAIR)["confidence_interval"] == PAIR.to_dict()["confidence_interval"]


@pytest.mark.parametrize("spec", list_measures(), ids=lambda spec: spec.name)
def test_the_help_of_a_measure_is_complete(spec: MeasureSpec) -> None:
    doc = inspect.getdoc(spec.function) or ""
    sections = dict(zip(*[iter(re.split(r"\n\n(\w+)\n-+\n", doc)[1:])] * 2, strict=True))
    assert {"Parameters", "Returns", "Raises", "Examples"} <= sections.keys()
    named = re.findall(r"\w+", " ".join(line for line in sections["Parameters"].splitlines() if line[:1].strip()))
    assert set(inspect.signature(spec.function).parameters) <= {*named}
    assert not re.search(r"^ *\{\w+\}$", doc, re.MULTILINE)


@pytest.mark.faults
def test_help_is_complete_where_the_compiler_dedents_it() -> None:
    """Python 3.13 does, and help showed {share_intervals} in place of the text."""

    def measure(seed: int) -> str:
        return ""

    measure.__annotations__["return"] = "str"
    for indent in ("", "    "):
        measure.__doc__ = f"A measure.\n\n{indent}{{share_intervals}}\n\n{indent}Examples\n{indent}--------\n"
        doc = inspect.getdoc(documented()(measure)) or ""
        assert "\nseed : int or" in doc
        assert re.findall(r"(\w+)\n--", doc) == ["Returns", "Raises", "Examples"]
