"""Long texts on the page: cut around what differs, in all rows of a bucket alike, and never within a letter."""

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraconsist.reporting.page.excerpts import MOST_LETTERS, boundary, excerpts

SHARED = "".join(f"Sentence {i} of a long text. " for i in range(1000))


def differences(before, after):
    """Return the words that one text has and the other has not, in order."""
    words = difflib.SequenceMatcher(None, before.split(), after.split(), autojunk=False)
    return [(before.split()[a:b], after.split()[c:d]) for tag, a, b, c, d in words.get_opcodes() if tag != "equal"]


@pytest.mark.parametrize(
    "texts",
    [
        ["A dog sleeps. " + SHARED, "On the mat a dog, as it were, sleeps. " + SHARED],
        [SHARED + "A dog sleeps.", SHARED + "A dog does not sleep.", SHARED],
        [SHARED[:300] + "X " + SHARED[300:9000] + "Y", SHARED[:300] + SHARED[300:9000] + "Z W", SHARED[:9000] + "Y"],
        ["X " * 100 + SHARED[:3750] + "X " * 100, "Y " * 100 + SHARED[:3750] + "X " * 100],
    ],
)
def test_excerpts_differ_as_the_texts_do(texts):
    cut = excerpts(texts)
    for text, whole in zip(cut[1:], texts[1:], strict=True):
        assert differences(cut[0], text) == differences(texts[0], whole)
    for text, whole in zip(cut, texts, strict=True):
        assert len(text) <= MOST_LETTERS + 1
        assert all(piece in whole for piece in text.split(" … ")[1:-1])
    assert excerpts([text[:MOST_LETTERS] for text in texts]) == [text[:MOST_LETTERS] for text in texts]


def test_what_differs_throughout_is_shown_from_its_beginning():
    first, second = ("".join(f"{word}{i} " for i in range(2000)) for word in ("one", "other"))
    cut = excerpts([first, second])
    assert all(whole.startswith(text.removesuffix("…")) for text, whole in zip(cut, [first, second], strict=True))
    assert [len(text) > MOST_LETTERS - 50 for text in cut] == [True, True]


@given(
    st.lists(st.text("ab \u0301क्षि👨\u200d👩🏽🇩🇪ำ\r\n", min_size=3, max_size=60), min_size=1, max_size=4),
    st.integers(0, 60),
)
def test_boundaries_are_before_letters(texts, place):
    for text in texts:
        cut = boundary(text, place)
        assert 0 <= cut <= min(place, len(text))
        after = text[cut : cut + 1]
        assert cut in (0, len(text)) or after not in ("\u0301", "\u094d", "\u093f", "\u200d", "🏽", "ำ")


def test_no_word_of_up_to_forty_letters_and_no_line_break_is_cut():
    text = "one " + "x" * 60
    assert [boundary(text, place) for place in (20, 43, 44)] == [4, 4, 44]
    assert boundary("a\r\nb", 2) == 1
