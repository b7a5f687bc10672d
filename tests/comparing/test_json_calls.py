"""Pairs of objects and tool calls, written by hand: a first form, forms that mean the same, and near misses."""

import json

import pytest

from paraconsist.comparing.comparer import get_comparer
from paraconsist.comparing.structures import read_json

DEFAULTS = {"weather": {"unit": "celsius", "days": 1}, "search": {"limit": 10, "filters": {}}}


def call(name, **arguments):
    """A call in the plain form."""
    return {"name": name, "arguments": arguments}


def openai(name, **arguments):
    """The call as the API of OpenAI has it: arguments are JSON in a text."""
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


FAMILIES = [
    # (first form, the same, others); texts are answers as they are, anything else is written as JSON
    (
        {"a": 1, "b": 2},
        [{"b": 2, "a": 1}, {"a": 1.0, "b": 2}, '{"a":1,"b":2}', '```json\n{"a": 1, "b": 2}\n```'],
        [{"a": 1}, {"a": 1, "b": 3}, {"a": "1", "b": 2}, {"a": 1, "b": 2, "c": None}, {"A": 1, "b": 2}],
    ),
    (
        {"x": [1, 2, 3]},
        ['Here it is: {"x": [1, 2, 3]}', {"x": [1.0, 2.0, 3.0]}, '{"x":[1,2,3]} is what you asked for.'],
        [{"x": [3, 2, 1]}, {"x": [1, 2]}, {"x": [1, 2, 3, 3]}, {"x": "1, 2, 3"}, {"x": [[1, 2, 3]]}],
    ),
    (
        {"ok": True},
        ['{"ok": true}', '```\n{"ok":true}\n```', 'So: {"ok" : true}'],
        [{"ok": 1}, {"ok": "true"}, {"ok": False}, {"ok": None}, {"ok": [True]}],
    ),
    (
        {"n": None},
        ['{"n": null}', '{ "n" : null }', 'n is {"n": null}'],
        [{}, {"n": ""}, {"n": 0}, {"n": "null"}, {"n": False}],
    ),
    (
        {"s": "Paris"},
        ['{"s": "Paris"}', '{"s": "\\u0050aris"}', '```json\n{"s": "Paris"}```'],
        [{"s": "paris"}, {"s": "Paris "}, {"s": ["Paris"]}, {"s": "Paris, France"}, {"t": "Paris"}],
    ),
    (
        {"a": {"b": {"c": [1, {"d": 2}]}}},
        [
            '{"a": {"b": {"c": [1.0, {"d": 2}]}}}',
            {"a": {"b": {"c": [1, {"d": 2.0}]}}},
            'x {"a":{"b":{"c":[1,{"d":2}]}}}',
        ],
        [{"a": {"b": {"c": [{"d": 2}, 1]}}}, {"a": {"c": {"b": [1, {"d": 2}]}}}, {"a": {"b": {"c": [1, {"d": 3}]}}}],
    ),
    (
        [],
        ["[]", " [ ] ", "```json\n[]\n```", "None were found: []"],
        [{}, [None], [[]], "[0]"],
    ),
    (
        {},
        ["{}", " { } ", "```json\n{}\n```"],
        [[], [{}], {"a": {}}, {"": ""}],
    ),
    (
        {"big": 10000000000000000000000},
        ['{"big": 1e22}', '{"big": 10000000000000000000000.0}', '{"big": 1E+22}'],
        [{"big": 1e21}, {"big": "1e22"}, {"big": -1e22}, {"big": 10}],
    ),
    (
        {"price": 0.1},
        ['{"price": 0.10}', '{"price": 1e-1}', 'Total: {"price": 0.1}'],
        [{"price": 0.11}, {"price": 1}, {"price": "0.1"}, {"price": -0.1}, {"price": 0.10000001}],
    ),
    (
        {"deg": -5},
        ['{"deg": -5.0}', '{"deg": -5}', '```json\n{"deg":-5}\n```'],
        [{"deg": 5}, {"deg": "-5"}, {"deg": -5.5}, {"deg": [-5]}],
    ),
    (
        call("weather", city="Paris"),
        [
            openai("weather", city="Paris"),
            [openai("weather", city="Paris")],
            {"tool_calls": [openai("weather", city="Paris")]},
            call("weather", city="Paris", unit="celsius"),
            call("weather", days=1, unit="celsius", city="Paris"),
            {"name": "weather", "parameters": {"city": "Paris"}},
        ],
        [
            call("weather", city="Rome"),
            call("weather", city="Paris", unit="fahrenheit"),
            call("weather", city="Paris", days=2),
            call("weather"),
            call("forecast", city="Paris"),
            {"city": "Paris"},
        ],
    ),
    (
        call("weather", city="Paris", days=3),
        [
            {"name": "weather", "arguments": '{"days": 3, "city": "Paris"}'},
            {"function": {"name": "weather", "arguments": {"city": "Paris", "days": 3.0}}},
            call("weather", city="Paris", days=3, unit=None),
            "```json\n" + json.dumps(openai("weather", city="Paris", days=3)) + "\n```",
        ],
        [
            call("weather", city="Paris", days="3"),
            call("weather", city="Paris", days=4),
            call("weather", city=["Paris"], days=3),
            call("weather", town="Paris", days=3),
        ],
    ),
    (
        [call("weather", city="Paris"), call("weather", city="Rome")],
        [
            [call("weather", city="Rome"), call("weather", city="Paris")],
            {"tool_calls": [openai("weather", city="Rome"), openai("weather", city="Paris")]},
            [openai("weather", city="Paris", days=1), call("weather", city="Rome", unit="celsius")],
        ],
        [
            [call("weather", city="Paris")],
            [call("weather", city="Paris"), call("weather", city="Paris")],
            [call("weather", city="Paris"), call("weather", city="Rome"), call("weather", city="Rome")],
            [call("weather", city="Paris"), call("forecast", city="Rome")],
        ],
    ),
    (
        call("search", query="cats", filters={"year": 2020}),
        [
            call("search", filters={"year": 2020.0}, query="cats", limit=10),
            openai("search", query="cats", filters={"year": 2020}),
            {"name": "search", "args": {"query": "cats", "filters": {"year": 2020}}},
        ],
        [
            call("search", query="cats"),
            call("search", query="cats", filters={"year": "2020"}),
            call("search", query="cats", filters={"years": 2020}),
            call("search", query="dogs", filters={"year": 2020}),
            call("search", query="cats", filters={"year": 2020}, limit=5),
        ],
    ),
    (
        call("search", query="cats"),
        [
            call("search", query="cats", filters={}),
            call("search", query="cats", limit=10, filters={}),
            openai("search", query="cats", limit=10),
            call("search", query="cats", limit=None),
        ],
        [
            call("search", query="Cats"),
            call("search", query="cats", limit=0),
            call("search", query="cats", filters={"limit": 10}),
            call("search", query="cats", limit=True),
        ],
    ),
    (
        call("now"),
        [
            openai("now"),
            {"name": "now", "arguments": "{}"},
            {"name": "now", "arguments": ""},
            {"tool_calls": [call("now")]},
        ],
        [call("now", zone="UTC"), call("Now"), [call("now"), call("now")], {"name": "now"}],
    ),
    (
        call("move", path=["a", "b"]),
        [
            openai("move", path=["a", "b"]),
            [call("move", path=["a", "b"])],
            json.dumps(call("move", path=["a", "b"]), indent=2),
        ],
        [
            call("move", path=["b", "a"]),
            call("move", path="a/b"),
            call("move", path=["a"]),
            call("move", path=[["a", "b"]]),
        ],
    ),
    (
        call("book", when={"from": "2020-01-01", "to": "2020-01-02"}, guests=2),
        [
            call("book", guests=2, when={"to": "2020-01-02", "from": "2020-01-01"}),
            openai("book", when={"from": "2020-01-01", "to": "2020-01-02"}, guests=2.0),
            call("book", when={"from": "2020-01-01", "to": "2020-01-02"}, guests=2, note=None),
        ],
        [
            call("book", when={"from": "2020-01-02", "to": "2020-01-01"}, guests=2),
            call("book", when={"from": "2020-01-01"}, guests=2),
            call("book", when="2020-01-01", guests=2),
            call("book", when={"from": "2020-01-01", "to": "2020-01-02"}, guests=3),
        ],
    ),
    (
        {"name": "Ann", "age": 7},
        [{"age": 7, "name": "Ann"}, {"age": 7.0, "name": "Ann"}, 'The record is {"name": "Ann", "age": 7}.'],
        [{"name": "Ann"}, {"name": "Ann", "age": "7"}, {"name": "ann", "age": 7}, [{"name": "Ann", "age": 7}]],
    ),
    (
        {"é": "ü"},
        ['{"\\u00e9": "\\u00fc"}', '{"é":"ü"}', '```json\n{"é": "ü"}\n```'],
        [{"e": "u"}, {"é": "u"}, {"ü": "é"}, {"É": "Ü"}],
    ),
    (
        {"a": [{"b": 1}, {"b": 2}]},
        ['{"a": [{"b": 1.0}, {"b": 2}]}', 'Sure! {"a": [{"b": 1}, {"b": 2}]}', '{ "a":[ {"b":1},{"b":2} ] }'],
        [{"a": [{"b": 2}, {"b": 1}]}, {"a": [{"b": 1}]}, {"a": {"b": [1, 2]}}, {"a": [{"b": 1}, {"c": 2}]}],
    ),
]
PAIRS = [
    (first, other, is_same)
    for first, same, others in FAMILIES
    for is_same, forms in ((True, same), (False, others))
    for other in forms
]
# of two forms of a family, too: what is the same as a third is the same, and near misses stay apart from all forms
PAIRS += [(form, other, False) for _, same, others in FAMILIES for form, other in zip(same, others, strict=False)]


def text(form):
    return form if isinstance(form, str) else json.dumps(form)


@pytest.fixture(scope="module")
def comparer(tmp_path_factory):
    path = tmp_path_factory.mktemp("json") / "defaults.json"
    path.write_text(json.dumps(DEFAULTS))
    return get_comparer(f"json:{path}")


def test_two_hundred_pairs_are_right(comparer):
    assert len(PAIRS) >= 200
    first, second = ([text(pair[place]) for pair in PAIRS] for place in (0, 1))
    for order in ((first, second), (second, first)):
        same = comparer.are_same(*map(comparer.values, order))
        wrong = [PAIRS[i] for i in range(len(PAIRS)) if same[i] != PAIRS[i][2]]
        assert not wrong


def test_without_defaults_an_argument_that_is_left_out_is_not_its_default():
    pair = [read_json(text(form)) for form in (call("weather", city="Paris"), call("weather", city="Paris", days=1))]
    assert pair[0] != pair[1]


@pytest.mark.parametrize("answer", ["", "no JSON", "{", '{"a": NaN}', "[" * 100_000, '{"a":' * 60 + "1" + "}" * 60])
def test_what_holds_no_json_cannot_be_read(answer):
    assert read_json(answer) is None
