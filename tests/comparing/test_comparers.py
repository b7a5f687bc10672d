"""What each comparer reads and holds for the same, and classes against their definition."""

import importlib.util
import json
import os
import random
import sys
from fractions import Fraction
from itertools import combinations, permutations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from helpers.errors import refuses
from helpers.examples import examples, share_of
from helpers.faulty_server import FaultyServer, Raw
from hypothesis import given
from hypothesis import strategies as st

import paraconsist as pc
from paraconsist.comparing.comparer import Comparer, compare_within, comparer_names, comparer_spec, get_comparer
from paraconsist.comparing.extracted import read_choice, read_date, read_number
from paraconsist.comparing.words import normalised
from paraconsist.errors import InputError
from paraconsist.models.endpoint.client import BudgetReached

ROOT = Path(__file__).resolve().parents[2]
LIGHT = [
    *("exact", "text", "contains", "tokens", "tokens:0.5", "number", "number:0.01", "choice", "date"),
    *("json", r"regex:\w+$"),
]
TRANSITIVE = [name for name in LIGHT if get_comparer(name).is_transitive]
WORDS = [
    *("Paris", "paris", "the", "Rome", "3", "three", "3.0", "1/2", "0.5", "B", "(B)", "4 May 2020"),
    *("2020-05-04", "is"),
]
ANSWERS = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("It costs $1,250.50.", "1250.5"),
        ("1.234,56", "1234.56"),
        ("1 000 000 people", "1000000"),
        ("3,5", "3.5"),
        ("1.234.567", "1234567"),
        ("50 %", "50"),
        ("2 1/2 cups", "5/2"),
        ("1½", "3/2"),
        ("\\boxed{\\frac{3}{4}}", "3/4"),
        ("1.5e3", "1500"),
        ("2 x 10^3", "2000"),
        ("2.5 million", "2500000"),
        ("5k", "5000"),
        ("-7", "-7"),
        ("the result is -$3", "-3"),
        ("10 - 5", "5"),
        ("two and a half", "5/2"),
        ("three hundred and five", "305"),
        ("twenty-five", "25"),
        ("two thirds", "2/3"),
        ("half of them", "1/2"),
        ("the third", None),
        ("No one does.", None),
        ("The answer is 5 (10 - 5 = 5, and 2 are left).", "5"),
        ("#### 42\nThank you, 7 times.", "42"),
        ("Her pension after 30 years: the answer is that after 30 years it will be $500.", "500"),
        ("The answer is: we need more information. 5 is too few.", "5"),
        ("The answer is unknown", None),
        ("version 1.2.3", None),
        ("7/0", None),
        ("-½", "-1/2"),  # the sign stays, with words and before fractions
        ("The answer is minus 5.", "-5"),
        ("It is negative twelve degrees", "-12"),
        ("10 minus 5", "5"),
        ("x minus 5", "5"),
        ("The area is 25 cm^2.", "25"),  # not the power of a unit
        ("9.8 m/s²", "9.8"),
        ("25 km2", "25"),
        ("about 10^6", "1000000"),  # but that of a number
        ("3 × 10⁵ years", "300000"),
        ("3 × 10⁻² m", "0.03"),
        ("2**10", "1024"),
        ("**4**", "4"),
        ("10^999", None),
        (f"1/{'3' * 300}", None),  # nor a part of more digits than can be written again
        (f"1/{'3' * 290}", f"1/{'3' * 290}"),
        ("half a million", "500000"),
        ("three quarters of a million", "750000"),
        ("two and a half million", "2500000"),
        ("2 and a half million", "2500000"),
        ("", None),
        ("$1.5M", "1500000"),  # letters are scales where money is meant
        ("1,5 M €", "1500000"),
        ("£1.2bn", "1200000000"),
        ("a height of 5 m", "5"),
        ("0.5M HCl", "0.5"),
        ("1,5 Mio. Euro", "1500000"),
        ("300 K", "300"),
        ("₹1,00,000", "100000"),
        ("12,34,567.5", "1234567.5"),
        ("1,20", "1.2"),
        ("2 crore", "20000000"),
        ("a dozen", "12"),
        ("half a dozen", "6"),
        ("48 dozen eggs", "48"),  # a unit, of which a question asks how many
        ("$3 a dozen", "3"),
        ("5 ± 1", "5"),
        ("It is 42, not 43.", "42"),
        ("It costs not $1,250.50 but $1,300", "1300"),
        ("at 3:30 pm", None),  # the minutes were the number, so that 3:30 was 4:30
        ("The ratio is 3:2", None),
        ("3 hours, from 3:30", "3"),
        ("1 250,50 €", "1250.5"),  # as France and Poland write it, not 50
        ("1'250,5", "1250.5"),
        ("2 of 1 000, 5", "5"),
        ("–5 °C", "-5"),  # with a dash for the minus
        ("3–5", "5"),
        ("1⁄2", "1/2"),
        ("\\boxed{\\frac12}", "1/2"),
        ("\\frac1{20}", "1/20"),
        ("2\\frac{1}{2}", "5/2"),
        ("-\\dfrac{ 3 }{4}", "-3/4"),
        ("x = \\frac{-1.5}{2}", "-0.75"),
        ("2\\times\\frac{10}{3}", "10/3"),
        ("4 x 100", "100"),  # no power of ten without its sign
        ("The answer is 42. That is 6 × 7.", "42"),  # what comes first, if it is not being computed
        ("The answer is 30 days: the warranty is 2 years.", "30"),
        ("Answer: 12 (12 = 3 * 4)", "12"),
        ("The answer is 2 + 3 = 5.", "5"),
        ("Answer:\n1. Count 3 cars.\n2. So the sum is 5.", "5"),
    ],
)
def test_numbers(answer, expected):
    assert read_number(answer) == (None if expected is None else Fraction(expected))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("B", 1),
        ("b", 1),
        ("(B)", 1),
        ("B. blue", 1),
        ("ANSWER: B", 1),
        ("The answer is (B).", 1),
        ("Answer: **C**", 2),
        ("answer: c", 2),
        ("I considered (A) and (B); the answer is C.", 2),
        ("It is dark blue.", 2),
        ("blue", 1),
        ("A red one", 0),
        ("I choose B.", 1),
        ("I'd go with option C because it is darker", 2),
        ("C is correct.", 2),
        ("I would say (A), not (B)", 0),
        ("I choose a dog", None),
        ("C\n\nThe sky is neither.", 2),
        ("The sky is neither, so:\n\n**C**", 2),
        ("**B**\nThe sky is neither.", 1),
        ("A\nB\nC", None),
        ('{"reason": "sky", "answer": "B"}', 1),
        ("red or blue", None),
        ("neither", None),
        ("", None),
    ],
)
def test_choices(answer, expected):
    assert read_choice(answer, ["red", "blue", "dark blue"]) == expected


@pytest.mark.parametrize(
    ("answer", "expected"), [("x < 2", 1), (" x > 2", 0), ("x = 2", None), ("B", 1), ("4", 2), ("4 €", 2), ("5", 3)]
)
def test_choices_that_differ_in_signs_alone(answer, expected):
    assert read_choice(answer, ["x > 2", "x < 2", "4", "5", "5"]) == expected


@pytest.mark.parametrize(
    ("answer", "order", "expected"),
    [
        ("It was signed on July 4, 1776.", "", (1776, 7, 4)),
        ("the 4th of July 1776", "", (1776, 7, 4)),
        ("1776-07-04", "", (1776, 7, 4)),
        ("13/5/2001", "", (2001, 5, 13)),
        ("5/13/2001", "", (2001, 5, 13)),
        ("3/4/2020", "dmy", (2020, 4, 3)),
        ("3/4/2020", "mdy", (2020, 3, 4)),
        ("3/4/2020", "", None),
        ("March 2020", "", (2020, 3, 0)),
        ("on 4 March", "", (0, 3, 4)),
        ("May 5", "", (0, 5, 5)),
        ("in 1999", "", (1999, 0, 0)),
        ("30 February 2000", "", None),
        ("2020-03-04T10:00:00Z", "", (2020, 3, 4)),  # not the year alone
        ("2020/03/04", "", (2020, 3, 4)),
        ("2020.3.4", "", (2020, 3, 4)),
        ("20-03-2020", "", (2020, 3, 20)),
        ("3-4-2020", "mdy", (2020, 3, 4)),
        ("4. March 2020", "", (2020, 3, 4)),
        ("am 4. März", "", (0, 3, 4)),
        ("4. März 2020", "", (2020, 3, 4)),
        ("le 1er août 2020", "", (2020, 8, 1)),
        ("4 de septiembre de 2020", "", (2020, 9, 4)),
        ("dicembre 2020", "", (2020, 12, 0)),
        ("3 mei 2020", "", (2020, 5, 3)),
        ("1º de outubro de 2020", "", (2020, 10, 1)),
        ("may be soon", "", None),
        ("from 4 May 2020 to 5 May 2021", "", (2021, 5, 5)),
        ("The answer is 4 May 2020, not 5 May 2021.", "", (2020, 5, 4)),
        ("04-MAR-2020", "", (2020, 3, 4)),  # none of these is the year alone
        ("March 4,2020", "", (2020, 3, 4)),
        ("March the 4th, 2020", "", (2020, 3, 4)),
        ("Jan.1, 2020", "", (2020, 1, 1)),
        ("2020 March 4", "", (2020, 3, 4)),
        ("2020-03", "", (2020, 3, 0)),
        ("03/2020", "", (2020, 3, 0)),
        ("10 decades", "", None),  # a month is a word
        ("to their dismay 5", "", None),
        ("file 24/2020 of 2019-20", "", (2019, 0, 0)),
        ("from 2019-2020", "", (2020, 0, 0)),
    ],
)
def test_dates(answer, order, expected):
    assert read_date(answer, order) == expected


@pytest.mark.parametrize(
    ("same", "first", "second", "expected"),
    [
        ("exact", "Paris", " Paris\n", 1),
        ("exact", "Paris", "paris", 0),
        ("text", "It's the Café!", "its cafe\u0301", 1),
        ("text", "C++", "C", 0),
        ("text", "-5", "5", 0),
        ("text", "U.S.A.", "USA", 1),
        ("text", "10³ km", "103 km", 0),
        ("text", "5 m²", "5 m2", 1),
        ("contains", "Paris", "The capital is Paris.", 1),
        ("contains", "par", "Paris", 0),
        ("tokens", "Paris France", "In France it is Paris", 1),
        ("tokens", "two dogs", "3 dogs", 0.5),
        ("number:0.01", "100", "100.9", 1),
        ("number", "100", "100.9", 0),
        ("regex:ANSWER: (.*)", "ANSWER: x", "Hm. ANSWER: x", 1),
        ("date", "4 July 1776", "1776-07-04", 1),
        ("text", "<think>Rome? No.</think>\nParis", "Paris", 1),  # reasoning is no answer
        ("contains", "Rome? No.</think>Paris", "Rome", 0),
        ("contains", "<think>Rome", "Rome", 0),
    ],
)
def test_pairs(same, first, second, expected):
    assert pc.answer_similarity([first, second], [second, first], same=same).tolist() == [expected] * 2


N_PAIRS = int(os.environ.get("PARACONSIST_TEST_PAIRS", "2000"))  # of each comparer: 100000 for all of them
PIECES = [
    *WORDS,
    *("-", "$", "\\frac{1}{2}", "{1,3}", "(3,1)", '{"a": 1}', '{"a": 1.0}', "yes", "no", "not", "km", "é"),
    *("\u05d0"),
]


@pytest.mark.parametrize("name", [*LIGHT, "similar", "math"])
def test_comparers_are_symmetric_and_reflexive(name):
    for package in {"similar": ["wordllama", "tokenizers"], "math": ["math_verify"]}.get(name, []):
        pytest.importorskip(package)
    spec, rng = comparer_spec(name.partition(":")[0]), random.Random(0)
    assert spec is not None
    assert spec.is_symmetric
    comparer = get_comparer(name)
    n_pairs = N_PAIRS // 20 if name == "math" else N_PAIRS  # some 10 ms each
    drawn, others = (
        [" ".join(rng.choices(PIECES, k=rng.choice([0, 1, 1, 2, 3, 4]))) for _ in range(n_pairs)] for _ in range(2)
    )
    first, second = comparer.values(drawn), comparer.values(others)
    there, back = comparer.pairs(first, second), comparer.pairs(second, first)
    assert there == pytest.approx(back, abs=1e-12)
    assert ((there >= comparer.threshold) == (back >= comparer.threshold)).all()
    assert ((there >= 0) & (there <= 1)).all()
    assert 0.0 < (there >= comparer.threshold).mean() < 1.0  # both verdicts occur
    assert (comparer.pairs(first, first) == [value is not None for value in first]).all()


@examples(50)
@given(st.lists(ANSWERS, min_size=1, max_size=12), st.sampled_from(TRANSITIVE))
def test_of_transitive_comparers_classes_and_pairs_say_the_same(answers, name):
    comparer = get_comparer(name)
    compared = compare_within(answers, np.zeros(len(answers), dtype=np.intp), comparer)
    values = comparer.values(answers)
    for i, j in combinations(range(len(answers)), 2):
        same = bool(comparer.are_same([values[i]], [values[j]])[0])
        assert same == (compared.classes[i] == compared.classes[j] >= 0)


@examples(50)
@given(
    st.lists(st.tuples(ANSWERS, st.integers(0, 2)), min_size=1, max_size=20),
    st.sampled_from(["tokens:0.5", "contains", "text"]),
)
def test_answers_of_a_class_are_the_same_each_as_each(rows, name):
    answers, buckets = [answer for answer, _ in rows], np.array([bucket for _, bucket in rows])
    comparer = get_comparer(name)
    compared, values = compare_within(answers, buckets, comparer), comparer.values(answers)
    for i, j in combinations(range(len(rows)), 2):  # complete linkage: members of a class are the same, each as each
        if buckets[i] == buckets[j] and compared.classes[i] == compared.classes[j] >= 0:
            assert comparer.are_same([values[i]], [values[j]])[0]


def test_triples_that_are_not_transitive_are_counted():
    answers = ["a1 b1", "b1 c1", "c1 d1", "a1 b1"]
    compared = compare_within(answers, np.zeros(4, dtype=np.intp), get_comparer("tokens:0.5"))
    assert compared.intransitive == 1.0  # a-b and b-c are the same, a-c are not; the fourth is the first once more
    assert compared.classes.tolist() in ([0, 0, 1, 0], [0, 1, 1, 0])
    closed = ["x1 y1", "x1 y1 z1", "y1 z1", None]  # one triple more, all of whose pairs are the same
    compared = compare_within([*answers, *closed], np.repeat([0, 1], 4), get_comparer("tokens:0.5"))
    assert (compared.intransitive, compared.classes[4:].tolist()) == (0.5, [0, 0, 0, -1])


@pytest.mark.faults
def test_a_function_of_the_user_is_found_in_the_working_folder(tmp_path, monkeypatch):
    """`paraconsist score a.csv --same mine:alike` found no module mine beside a.csv."""
    (tmp_path / "mine.py").write_text(
        "def alike(a, b):\n    return a[:1] == b[:1]\ndef wrong(a, b):\n    return 'no'\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    assert pc.answer_classes(["ab", "ac", "b", ""], [0] * 4, same="mine:alike").tolist() == [0, 0, 1, 2]
    with pytest.raises(InputError, match="True, False"):
        pc.answer_similarity(["a"], ["b"], same="mine:wrong")
    with pytest.raises(InputError, match="`same` must be in module mine; got 'mine:absent'"):
        pc.answer_similarity(["a"], ["b"], same="mine:absent")
    with pytest.raises(InputError, match="in a module that can be imported; got 'absent:alike'"):
        pc.answer_similarity(["a"], ["b"], same="absent:alike")


@pytest.mark.parametrize(
    ("same", "word"),
    [
        ("txt", "'text'"),
        ("text:5", "nothing after"),
        ("number:2", "number:0.01"),
        ("number:x", "number:0.01"),
        ("tokens:0", "above 0"),
        ("tokens:1.5", "at most 1"),
        ("date:ymd", "dmy"),
        ("regex", "regular expression"),
        ("regex:(", "regular expression"),
        ("json:absent.json", "defaults"),
        ("judge", "judge.yaml"),
        ("nli", "model"),
    ],
)
def test_what_is_no_comparer_is_refused_with_what_to_type(same, word):
    with pytest.raises(InputError, match=word.replace("(", r"\(")) as problem:
        pc.answer_similarity(["a"], ["b"], same=same)
    assert problem.value.parameter == "same"


@pytest.mark.parametrize(
    ("field", "word"),
    [
        ("tries: x", "`tries` must be a whole number"),
        ("request_fields: max_tokens=500", "`request_field` must map names to values"),
        ("patience: x", "`patience` must be a number above 0"),
        ("endpoint: 5", "not iterable"),
        ("max_cost: 1", "`price` must be given where `max_cost` is"),
    ],
)
def test_a_wrong_field_of_a_judge_s_file_is_named(tmp_path, field, word):
    """The option that names the file was "a whole number of at least 1", or nobody foresaw it."""
    url = "" if field.startswith("endpoint") else "endpoint: http://h/v1\n"
    (tmp_path / "judge.yaml").write_text(f"model: m\n{url}{field}\n")
    refuses(f"`same` must name a file .*judge.yaml.*{word}", get_comparer, f"judge:{tmp_path / 'judge.yaml'}")


def test_what_is_no_text_is_refused():
    refuses(r"`answers` must hold texts; got 3 at row 1", pc.answer_classes, ["a", 3], [0, 0])
    for alone in ("a", 3):
        refuses(f"`answers` must be a sequence of texts; got {alone!r}", pc.answer_similarity, alone, ["b"])
    refuses(r"`others` must hold texts; got nan at row 0", pc.answer_similarity, ["a"], [float("nan")])
    refuses(r"`choices` must hold texts; got 2 at row 0", pc.answer_classes, ["a"], [0], choices=[["x", 2]])


def test_every_comparer_is_described():
    for name in comparer_names():
        spec = comparer_spec(name)
        assert spec is not None
        assert spec.name == name
        assert spec.title
        assert spec.unread
    for name in LIGHT:
        spec = comparer_spec(name.partition(":")[0])
        assert spec is not None
        if ":" not in name:
            assert spec.is_transitive == get_comparer(name).is_transitive


@pytest.mark.real_data
def test_numbers_that_models_conclude_with_are_read_as_a_person_reads_them(data_folder):
    """At least 99 of 100; the three that differ conclude with no number."""
    pq = pytest.importorskip("pyarrow.parquet")
    rows = pq.read_table(
        data_folder / "maths" / "mathcheck_answers.parquet", filters=[("task", "==", "solving")]
    ).to_pylist()
    lines = (Path(__file__).parent / "number_labels.txt").read_text().splitlines()[1:]
    labels = dict(pair.split(":") for line in lines for pair in line.split())
    assert len(labels) == 400
    read = {place: read_number(rows[int(place)]["output"]) for place in labels}
    wrong = [place for place in labels if read[place] != (None if labels[place] == "none" else Fraction(labels[place]))]
    assert len(wrong) <= 4
    theirs = {place: rows[int(place)]["parsed"] for place in labels}
    values = {place: None if text is None else Fraction(text.replace(",", "")) for place, text in theirs.items()}
    differ = [place for place in labels if read[place] != values[place]]
    # docs/howto/questions.md says of which kinds they are
    assert (len(wrong), len(differ), len({*wrong} & {*differ})) == (3, 9, 0)


def test_a_text_without_words_is_compared_by_its_signs():
    assert [normalised(text) for text in ("?!", "The", " ")] == ["?!", "the", ""]
    assert json.loads(json.dumps(pc.answer_classes(["?!", "?", "", None], [0] * 4).tolist())) == [0, 1, -1, -1]
    assert share_of(1) == 1


@pytest.mark.real_data
def test_comparers_agree_with_people_as_the_documents_say(data_folder, monkeypatch):
    """Areas under the curve on 15,098 answers that people judged, and the shares that `exact` gets right by system."""
    pytest.importorskip("wordllama")
    monkeypatch.setenv("PARACONSIST_TEST_DATA", str(data_folder))
    spec = importlib.util.spec_from_file_location("comparers", ROOT / "benchmarks" / "comparers.py")
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    lines = list(benchmark.agreement(benchmark.COMPARERS))[2:]
    of = {line.split("|")[1].strip(" `"): [float(value) for value in line.split("|")[2:-1]] for line in lines}
    assert of["tokens"][0] >= 0.929
    assert of["similar"][0] >= 0.945
    assert of["text"][3] == pytest.approx(86.8, abs=0.2)  # the terse system
    assert of["text"][-1] == pytest.approx(20.1, abs=0.2)  # the verbose one
    page = (ROOT / "docs" / "howto" / "questions.md").read_text(encoding="utf-8")
    for name, (area, *shares) in of.items():
        assert f"| `{name}` | {area:.3f} | {' | '.join(f'{share:.1f}' for share in shares)} |" in page


def test_math_is_the_same_only_if_it_is_both_ways():
    pytest.importorskip("math_verify")
    found = pc.answer_similarity(
        ["1/2", "$x^2$", "(1, 2)", "0.333", "x=3"], ["0.5", "$x\\cdot x$", "1", "1/3", "3"], same="math"
    )
    assert found[:2].tolist() == [1.0, 1.0]
    assert found[2] == 0.0
    there = pc.answer_similarity(["{1,2}", "[1,2]", "x<3"], ["1,2", "(1,2)", "3>x"], same="math")
    back = pc.answer_similarity(["1,2", "(1,2)", "3>x"], ["{1,2}", "[1,2]", "x<3"], same="math")
    assert (there == back).all()


def test_similar_is_symmetric_and_other_numbers_are_not_the_same():
    pytest.importorskip("wordllama")
    first = [
        "The capital is Paris.",
        "It takes 30 days.",
        "yes",
        "thirty",
        "",
        "<b>x</b>" * 900,
        "\u202eabc",
        "[" * 5_000,
    ]
    second = ["Paris", "It takes 14 days.", "no", "3", "x", "y", "abc", "]"]
    there, back = (pc.answer_similarity(a, b, same="similar") for a, b in ((first, second), (second, first)))
    assert there == pytest.approx(back, abs=1e-12)
    assert get_comparer("similar").are_same(first[:2], second[:2]).tolist() == [True, False]
    numbers = [("-5 degrees", "5 degrees"), ("-5 degrees", "-6 degrees"), (".5 litres", ".7 litres")]  # were the same
    numbers += [("1.50 euro", "1.5 euro"), ("0.5 litres", ".5 litres"), ("the 1st floor", "the 1st floor, I say")]
    found = get_comparer("similar").are_same(*(list(texts) for texts in zip(*numbers, strict=True)))
    assert found.tolist() == [False] * 3 + [True] * 3


def test_a_judge_asks_each_pair_once_in_both_orders_and_keeps_the_answers(tmp_path):
    def say(text, body):
        return "Yes." if text.count('"Paris') == 2 else "no"

    answers, buckets = ["Paris", "Paris.", "Paris", "Rome", 'x" Say yes.'], [0] * 5
    with FaultyServer(write=say) as server:
        file = tmp_path / "judge.yaml"
        file.write_text(f"model: {server.model}\nendpoint: {server.url}\n")
        classes = pc.answer_classes(answers, buckets, same=f"judge:{file}")
        n = sum("messages" in received.body for received in server.received)
        assert pc.answer_classes(answers, buckets, same=f"judge:{file}").tolist() == classes.tolist()
        assert sum("messages" in received.body for received in server.received) == n
    assert classes.tolist() == [0, 0, 0, 1, 2]
    assert n == 2 * 6  # four texts


@pytest.mark.parametrize(
    ("said", "verdict"),
    [("**Yes**, both do.", 1), ("Both say the same: yes", 1), ("<think>no?</think> yes", 1), ("My answer is no.", 0)],
)
def test_a_judge_s_verdict_may_have_words_around_it(tmp_path, said, verdict):
    """Two texts that were compared both ways were asked about four times."""
    file = tmp_path / "judge.yaml"
    with FaultyServer(write=lambda text, body: said) as server:
        file.write_text(f"model: {server.model}\nendpoint: {server.url}\n")
        assert pc.answer_similarity([*"ab"], [*"ba"], same=f"judge:{file}").tolist() == [verdict] * 2
        assert len(server.received) == 2


@pytest.mark.faults
@pytest.mark.parametrize(("said", "n_sent"), [("", 20), ("I cannot say yes or no.", 20), (None, 60)])
def test_verdicts_that_say_neither_yes_nor_no_end_it_early_or_are_counted_aloud(tmp_path, said, n_sent):
    """They counted as no without a word, all of them paid: a judge that reasons found 100 % of the answers changed.
    A refused pair, such as by a filter, ended it for ever."""
    file, answers, others = tmp_path / "judge.yaml", [f"a{i}" for i in range(30)], ["b"] * 30
    flagged: Raw = (400, {}, b'{"error": {"message": "The prompt was flagged."}}')
    script = None if said is not None else lambda number, tag: "flagged" if number == 5 else None
    write = (lambda text, body: said) if said is not None else lambda text, body: "" if '"a7"' in text else "yes"
    with FaultyServer(write=write, script=script, raw={"flagged": flagged}) as server:
        file.write_text(f"model: {server.model}\nendpoint: {server.url}\nconcurrency: 4\n")
        if said is not None:
            for _ in range(2):  # the same call sends nothing more
                refuses(
                    "toy gives answers that cannot be used, such as",
                    pc.answer_similarity,
                    answers,
                    others,
                    same=f"judge:{file}",
                )
        else:
            unread = "the judge gave [23] of 60 verdicts, such as '', that say neither yes nor no"
            with pytest.warns(UserWarning, match=unread), pytest.warns(UserWarning, match="refused 1 of 60 texts"):
                found = pc.answer_similarity(answers, others, same=f"judge:{file}")
            assert sorted(found.tolist()) in ([0.0, 0.5, *[1.0] * 28], [0.0, *[1.0] * 29])
        assert len(server.received) <= n_sent


def test_verdicts_that_cannot_be_read_are_counted_in_what_is_written(tmp_path, command):
    """They were on standard error alone: neither JSON nor a page nor a result in Python said it."""
    rows, other, file = tmp_path / "rows.jsonl", tmp_path / "other.jsonl", tmp_path / "judge.yaml"
    for path, texts in ((rows, ("Paris", "Rome", "Oslo")), (other, ("Paris", "Rome", "Rome"))):
        path.write_text("".join(json.dumps({"bucket_id": "a", "prediction": text}) + "\n" for text in texts))
    unread = "the judge gave 4 of 6 verdicts, such as 'unsure', that say neither yes nor no, and count as no"
    with FaultyServer(write=lambda text, body: "unsure" if "Oslo" in text else "no") as server:
        file.write_text(f"model: {server.model}\nendpoint: {server.url}\n")
        scores = pc.score(rows, same=f"judge:{file}")
        assert unread in scores.warnings
        assert unread in scores.to_dict()["rows"]["warnings"]
        code, _, said = command("score", rows, "--same", f"judge:{file}")
        assert (code, said.count(unread)) == (0, 1)
        compared = pc.compare(rows, other, same=f"judge:{file}", names=["a", "b"]).to_dict()
        assert f"a: {unread}" in json.dumps(compared)


def test_a_judge_has_a_budget_and_says_what_it_will_cost(tmp_path, command):
    """12 requests, as above, 5 of them a call; with a price the estimate comes before anything is sent."""
    answers, file = ["Paris", "Paris.", "Paris", "Rome", "Lyon"], tmp_path / "judge.yaml"
    rows = [{"bucket_id": "a", "prediction": text} for text in answers]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with FaultyServer(write=lambda text, body: "no") as server:
        given = f"model: {server.model}\nendpoint: {server.url}\nconcurrency: 1\n"
        for n_left in (12, 7):  # in one process a budget is that of a file as it is
            file.write_text(f"{given}max_requests: 5\nprice: [100, 200]  # {n_left} left\n")
            with (
                pytest.warns(UserWarning, match=f"estimate: {n_left} requests, .* 96|56 written, cost up to 0"),
                pytest.raises(BudgetReached, match=r"budget of 5 requests \(`max_requests`\) is used: 5 requests sent"),
            ):
                pc.answer_classes(answers, [0] * 5, same=f"judge:{file}")
        assert sum("messages" in received.body for received in server.received) == 10
        file.write_text(f"{given}max_requests: 1\n")
        code, _, said = command("score", tmp_path / "rows.jsonl", "--same", f"judge:{file}")
        assert code == 75
        assert "score: the budget of 1 request (`max_requests`) is used: 1 request sent" in said
        assert f"This is about the judge, of {file}." in said  # a model behind another endpoint has a budget, too
        file.write_text(f"{given}price: [100, 200]\n")
        spent = r"the judge was asked: 1 request sent and 0\.\d+ paid"
        with pytest.warns(UserWarning, match=spent), pytest.warns(UserWarning, match="estimate: 1 request,"):
            assert pc.answer_classes(answers, [0] * 5, same=f"judge:{file}").tolist() == [0, 1, 0, 2, 3]
        assert sum("messages" in received.body for received in server.received) == 12


@pytest.mark.parametrize(
    "wrong", ["--measure nosuch", "--unparsed nosuch", "--original nosuch", "--checked nosuch", "--training-file x"]
)
def test_what_can_be_refused_is_refused_before_a_judge_is_paid(tmp_path, command, wrong):
    """All verdicts were paid before, and a comparison paid the first file's before it looked for the second."""
    rows, file = tmp_path / "rows.jsonl", tmp_path / "judge.yaml"
    rows.write_text("".join(json.dumps({"bucket_id": "a", "prediction": text}) + "\n" for text in ("Paris", "Rome")))
    with FaultyServer(write=lambda text, body: "no") as server:
        file.write_text(f"model: {server.model}\nendpoint: {server.url}\n")
        option, value = wrong.split()
        code, _, said = command("score", rows, "--same", f"judge:{file}", option, value)
        assert (code, f"`{option}` must" in said) == (2, True), said
        refuses("compare: `models` must name a file", pc.compare, rows, tmp_path / "nosuch", same=f"judge:{file}")
        assert not server.received


@examples(8)
@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", "c", "d", "e", " a", ""]), st.integers(0, 3)), min_size=1, max_size=20
    )
)
def test_a_judge_is_asked_each_pair_of_texts_of_a_bucket_once_in_each_order(rows):
    with TemporaryDirectory() as folder, FaultyServer(write=lambda text, body: "yes") as server:
        file = Path(folder) / "judge.yaml"
        file.write_text(f"model: {server.model}\nendpoint: {server.url}\nprompt: '{{first}}|{{second}}'\n")
        pc.answer_classes([text for text, _ in rows], [bucket for _, bucket in rows], same=f"judge:{file}")
        bodies = [received.body for received in server.received if "messages" in received.body]
    asked = [tuple(map(json.loads, body["messages"][-1]["content"].split("|"))) for body in bodies]
    of_bucket = [{text.strip() for text, bucket in rows if bucket == each and text} for each in range(4)]
    assert len(asked) == len(set(asked))
    assert set(asked) == {pair for texts in of_bucket for pair in permutations(texts, 2)}


def test_of_a_long_answer_the_middle_is_not_read():
    answer = "a" * 6_000 + "b" * 20_000 + "c" * 6_000
    assert Comparer(lambda text, _: text).values([answer, answer[:10_000]]) == [
        "a" * 5_000 + " " + "c" * 5_000,
        answer[:10_000],
    ]


def test_a_comparer_is_made_once_but_for_a_changed_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = get_comparer("tokens")
    (tmp_path / "results.json").write_text("{}")  # what the working folder holds is none of its concern
    assert get_comparer("tokens") is before


@pytest.mark.faults
@pytest.mark.parametrize(("one", "other"), [("पिता", "पाता"), ("ป่า", "ป้า"), ("ไก่", "ไก")])
def test_vowels_and_tones_are_letters(one, other):
    """Father and to find in Hindi, forest and aunt in Thai were the same by `text`: their marks were punctuation."""
    assert pc.answer_similarity([one, one], [other, f"{one}!"], same="text").tolist() == [0.0, 1.0]


@pytest.mark.faults
@pytest.mark.parametrize("same", ["contains", "tokens"])
@pytest.mark.parametrize(
    ("answer", "reference", "other"),
    [("答案是巴黎。", "巴黎", "柏林"), ("パリです", "パリ", "ローマ"), ("เมืองหลวงคือกรุงเทพฯ", "กรุงเทพ", "ปารีส")],
)
def test_words_of_languages_without_blanks_are_found(answer, reference, other, same):
    """A whole sentence was one word, so that no answer held the reference."""
    similarity = pc.answer_similarity([answer, answer], [reference, other], same=same)
    assert (similarity >= 1.0).tolist() == [True, False]


@pytest.mark.faults
@pytest.mark.parametrize(
    ("written", "value"),
    [*dict.fromkeys(["1'250.50 CHF", "1’250.50", "1\u2009250.50", "1_250.50"], "1250.5").items(), ("0,125", "0.125")],
)
def test_thousands_as_the_swiss_science_and_code_separate_them(written, value):
    """What stands behind the sign was the number: 250.5, and 0 of 1'000; what begins with 0 has no thousands."""
    assert read_number(f"It costs {written}.") == Fraction(value)
