"""`choice` and `math` against the libraries that read the same answers: Inspect, lm-evaluation-harness, Math-Verify.

The cases are those of the libraries' own tests, in other words; where a library is not installed its tests are skipped.
"""

import re
import types
from itertools import combinations

import pytest
from helpers.examples import examples
from helpers.scripts import ROOT
from hypothesis import given
from hypothesis import strategies as st

from paraconsist.comparing.comparer import get_comparer
from paraconsist.comparing.extracted import read_choice

CHOICES = ["red", "blue", "dark blue", "green"]


def by_inspect(answer, choices):
    parse = pytest.importorskip("inspect_ai.solver._multiple_choice").parse_answers
    letters = parse(types.SimpleNamespace(output=types.SimpleNamespace(completion=answer), choices=choices), False)
    return ord(min(letters)) - 65 if letters else None


def by_harness(answer, choices, group_select=-1):
    """As the tasks of GPQA and MMLU (flan) have it set up, under flexible-extract."""
    extraction = pytest.importorskip("lm_eval.filters.extraction")
    flexible = {"group_select": group_select, "ignore_case": True, "ignore_punctuation": True}
    reader = extraction.MultiChoiceRegexFilter(regex_pattern=r"(\([A-Z]\))", **flexible)
    letter = re.fullmatch(r"\(([A-Z])\)", reader.apply([[answer]], [{"choices": choices}])[0][0])
    return ord(letter[1]) - 65 if letter else None


REASONING = """Step by step:

1. Option B is out at once: that has happened before.
2. Option C is about another stage.
3. That leaves A and D.
   A) It may matter, but later (option A).
   D) It matters at once (option D).

So it is what stands last.

ANSWER: D"""


@pytest.mark.parametrize(
    ("answer", "choices", "expected"),
    [
        ("ANSWER: A", ["the only one"], 0),
        ("ANSWER: A", ["first", "second", "third"], 0),
        ("ANSWER: C", ["first", "second", "third"], 2),
        ("ANSWER: AB", ["first", "second", "third"], None),
        ("ANSWER: B, C", ["first", "second", "third"], None),
        ("ANSWER: A, D", ["first", "second", "third", "fourth"], None),
        (REASONING, ["A", "B", "C", "D"], 3),
        ("ANSWER: $ B $", CHOICES, 1),
        ("ANSWER: **B**", CHOICES, 1),
        ("ANSWER: (B)", CHOICES, 1),
        ("ANSWER: b", CHOICES, 1),
        ("ANSWER: B,", CHOICES, 1),
        ("ANSWER: A\nNo, wait.\nANSWER: B.", CHOICES, 1),
    ],
)
def test_inspects_own_cases(answer, choices, expected):
    assert read_choice(answer, choices) == expected
    assert by_inspect(answer, choices) == expected


@pytest.mark.parametrize(
    ("answer", "choices", "expected"),
    [
        ("first", ["first", "second"], 0),
        (": B", ["first", "second"], 1),
        ("the answer is Night Train", ["Night", "Night Train"], 1),
        ("the answer is Night", ["Night", "Night Train"], 0),
        ("The answer is (B).", CHOICES, 1),
        ("(C)", CHOICES, 2),
        ("Nothing of it.", ["first", "second"], None),
    ],
)
def test_the_harness_own_cases(answer, choices, expected):
    assert read_choice(answer, choices) == expected
    assert by_harness(answer, choices) == expected


LETTERS = st.sampled_from("ABCD")
SENTENCES = st.lists(
    st.sampled_from(["Let us see.", "It may be ({}).", "Option {} is about colours.", "Not {}, then.", "{}) is odd."]),
    max_size=4,
)


@st.composite
def reasoned(draw, end):
    """A letter, and an answer that thinks of others before it names this one."""
    thoughts = [sentence.format(draw(LETTERS)) for sentence in draw(SENTENCES)]
    letter = draw(LETTERS)
    return letter, "\n".join([*thoughts, end.format(letter)])


@examples(200)
@given(
    st.sampled_from(["ANSWER: {}", "Answer: {}.", "ANSWER: ({})", "ANSWER: **{}**", "ANSWER : {}\n"]).flatmap(reasoned)
)
def test_made_answers_are_read_as_by_inspect(made):
    letter, answer = made
    assert read_choice(answer, CHOICES) == by_inspect(answer, CHOICES) == ord(letter) - 65


@examples(60)  # the harness takes .1 s each
@given(st.sampled_from(["The answer is ({}).", "So the answer is ({})", "Answer: ({})"]).flatmap(reasoned))
def test_made_answers_are_read_as_by_the_harness(made):
    letter, answer = made
    assert read_choice(answer, CHOICES) == by_harness(answer, CHOICES) == ord(letter) - 65


#: The table of docs/howto/questions.md: an answer -> what `choice`, Inspect and the harness read in it.
DIFFERENCES = {
    "B": ("B", None, None),
    "The answer is B.": ("B", None, None),
    "It is blue.": ("B", None, "B"),
    "ANSWER: **B**": ("B", "B", None),
    "ANSWER: B blue": ("B", None, "B"),
    "ANSWER: A or B": (None, None, "A"),
    "ANSWER: B. Not (A).": ("B", "B", "A"),
    "Answer: B. Note: All is rounded.": ("B", "B", "A"),
    "I am bored.": (None, None, "A"),
    "(A) is wrong, so (B).": ("A", None, "B"),
}


@pytest.mark.parametrize("answer", DIFFERENCES)
def test_others_read_what_the_page_says(answer):
    page = (ROOT / "docs" / "howto" / "questions.md").read_text(encoding="utf-8")
    assert f"| `{answer}` | {' | '.join(letter or 'nothing' for letter in DIFFERENCES[answer])} |" in page
    expected = tuple(None if letter is None else ord(letter) - 65 for letter in DIFFERENCES[answer])
    assert (read_choice(answer, CHOICES), by_inspect(answer, CHOICES), by_harness(answer, CHOICES)) == expected


#: One expression or more of each kind that Math-Verify's tests compare.
LINES = [
    ("1", "28", "28 percent", "$28\\%$", "$0.28$", "10/9", r"$\frac{10}{9}$", r"$\frac13$", "0.333333", "40/9"),
    ("$[0,1)$", "$(0,1)$", "$(3,1)$", "$(1,3)$", "${1,3}$", "${3,1}$", "$1,3$", r"$\boxed{1}\boxed{3}$"),
    (r"$x \in [-2,7]$", r"$-2 \le x \le 7$", "$[-2,7]$", "$x>5$", "$(5,\\infty)$", "$5<x$", "$y>5$"),
    ("$7 = 11a+c$", "$11a+c$", "$7$", "$x=7$", "$x = 3+4 = 7$", "$x \\approx 7$", r"$\pm 7$", "$\\{-7,7\\}$"),
    ("$2x+4y-3=0$", r"$y=-\frac12x+\frac34$", "$a+3z=0$", "$0$", r"$\sqrt{17}$", "4.123105625617661"),
    (r"$\text{E}$", "$E$", r"$\begin{pmatrix}1 & 3\end{pmatrix}$", "$204_5$", r"$90^\circ$", "90", "$12:00$"),
]
EXPRESSIONS = [text for line in LINES for text in line]


def test_what_math_verify_holds_equal_in_one_direction_only_is_not_the_same():
    library = pytest.importorskip("math_verify")

    def equal(gold, answer):
        return bool(gold and answer and library.verify(gold, answer, timeout_seconds=None))

    parsed = [
        library.parse(text, parsing_timeout=None) or library.parse(f"${text}$", parsing_timeout=None)
        for text in EXPRESSIONS
    ]
    line_of = [number for number, line in enumerate(LINES) for _ in line]
    pairs = [  # all of a line, and a quarter of the others
        (i, j) for i, j in combinations(range(len(EXPRESSIONS)), 2) if line_of[i] == line_of[j] or (i + j) % 4 == 0
    ]
    there = [equal(parsed[i], parsed[j]) for i, j in pairs]
    back = [equal(parsed[j], parsed[i]) for i, j in pairs]
    comparer = get_comparer("math")
    values = comparer.values(EXPRESSIONS)
    found = comparer.pairs([values[i] for i, _ in pairs], [values[j] for _, j in pairs])
    assert found.tolist() == [float(a and b) for a, b in zip(there, back, strict=True)]
    one_way = {(EXPRESSIONS[i], EXPRESSIONS[j]) for (i, j), a, b in zip(pairs, there, back, strict=True) if a != b}
    assert one_way >= {  # those of its tests: a relation and an interval, an interval and a set, an equation and a term
        (r"$x \in [-2,7]$", r"$-2 \le x \le 7$"),
        (r"$-2 \le x \le 7$", "$[-2,7]$"),
        ("$x>5$", "$(5,\\infty)$"),
        ("$(3,1)$", "${1,3}$"),
        ("$(1,3)$", "${3,1}$"),
        ("$7 = 11a+c$", "$11a+c$"),
        ("$a+3z=0$", "$0$"),
    }
    assert sum(a and b for a, b in zip(there, back, strict=True)) > 20
