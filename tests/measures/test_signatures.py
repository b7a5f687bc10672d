"""Signatures: written in one order, parsed back to what was written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraconsist import __version__
from paraconsist.errors import InputError
from paraconsist.measures.paraphrastic import paraphrastic_consistency
from paraconsist.measures.results import KEYS, MEASURE_NAMES, Signature, parse_signature, signature

ISSUE = (
    "pc|est:plugin|avg:bucket|unparsed:wrong|ci:bucket-bootstrap10000|seed:0|data:paranlu/delta_snli@275be35|v:0.1.0"
)


def test_the_example_parses_and_is_written_again():
    found = parse_signature(ISSUE)
    assert found.measure == "paraphrastic_consistency"
    assert found.parts["data"] == "paranlu/delta_snli@275be35"
    assert str(found) == ISSUE


def test_every_measure_writes_its_parts_in_the_order_of_the_table():
    text = paraphrastic_consistency([0, 1, 1], [1, 1, 1], ["a", "a", "b"], interval_method="bootstrap").signature
    assert text == (
        "pc|est:unbiased|avg:bucket|orig:among paraphrases|unparsed:refused|ci:bucket-bootstrap10000|level:0.95|seed:0"
        f"|v:{__version__}"
    )
    assert str(parse_signature(text).replace(data="a/b@1", unparsed="wrong")).endswith(
        f"|unparsed:wrong|ci:bucket-bootstrap10000|level:0.95|seed:0|data:a/b@1|v:{__version__}"
    )


@given(
    st.sampled_from(sorted(MEASURE_NAMES.values())),
    st.dictionaries(st.sampled_from([*KEYS, "method", "own key"]), st.text(max_size=12)),
)
def test_round_trip(measure: str, parts: dict[str, str]):
    parts = {key: value.strip() for key, value in parts.items()}
    found = parse_signature(str(Signature(measure, parts)))
    assert found.measure == measure
    assert dict(found.parts) == parts


def test_the_version_is_always_there():
    assert parse_signature(signature("ie_test", method="exact")).parts == {"method": "exact", "v": __version__}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pc|est", "got 'est'"),
        ("pc|est:a|est:b", "each key once"),
        ("", "starts with the measure's name"),
        ("est:plugin|v:1", "starts with the measure's name"),
        ("pc|est:a\nb|v:1", "one line"),
    ],
)
def test_what_is_no_signature(text: str, said: str):
    with pytest.raises(InputError, match=said):
        parse_signature(text)
