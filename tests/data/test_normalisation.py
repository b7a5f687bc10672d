"""One surface form for texts that were tokenised, cased or encoded differently."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraconsist.dataset_builders.normalisation import normalize_surface


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("It 's a charming film . ", "it's a charming film"), "it's a charming film"),
        (("The firm doesn 't pay .", "The firm does n't pay.", "the firm doesn't pay"), "the firm doesn't pay"),
        (('He said , " It rains . "', 'He said, "It rains."'), 'he said, "it rains."'),
        (("He said `` no ''", "He said \u201cno\u201d."), 'he said "no"'),
        (("is it far", "Is it far?"), "is it far"),
        (("The club #39;s coach", "The club's coach."), "the club's coach"),
        (("&lt;b&gt;Rovers&lt;/b&gt; pay #36;3", "<b>Rovers</b> pay $3"), "<b>rovers</b> pay $3"),
        (("a second\\team", "a  second\nteam"), "a second team"),
        (("up -LRB- much -RRB- today", "up ( much ) today", "Up (much) today."), "up (much) today"),
        (("1999\u20132001", "1999-2001"), "1999-2001"),
        (("", " ", "."), ""),
    ],
)
def test_forms_of_one_text_meet(texts, expected):
    assert {normalize_surface(text) for text in texts} == {expected}


@pytest.mark.parametrize("text", ["rock 'n' roll", "u.s. troops", "is it 3.5 %", "a dog, a cat; a 'duck'"])
def test_wording_is_kept(text):
    assert normalize_surface(text).replace(" ", "") == text.replace(" ", "")


@given(st.text(alphabet=st.characters(exclude_characters="&#;\\", max_codepoint=0x2FFF), max_size=30))
def test_any_text_has_a_form_without_outer_or_double_spaces(text):
    form = normalize_surface(text)
    assert form == form.strip()
    assert "  " not in form
    assert form == form.lower() or not text.isascii()
