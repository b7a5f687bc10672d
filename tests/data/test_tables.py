"""Reading predictions and rows from CSV and JSON Lines: what a cell says is what is read."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pytest
from helpers.errors import refuses
from helpers.examples import examples
from hypothesis import given
from hypothesis import strategies as st

from paraconsist.data import tables
from paraconsist.data.tables import _in_columns, in_arrow, json_rows, plain_table, read_json_lines, read_table
from paraconsist.errors import InputError


def read(path):
    return read_table(path, function="score").to_pydict()


def test_delimited_cells_keep_what_a_number_or_a_date_would_lose(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text(
        "zeros,long,day,clock,none,words,whole,decimal,flag,gap\n"
        "007,12345678901234567890,2020-01-01,10:00:00,,NA,7,0.5,True,1\n"
        "07,12345678901234567891,2020-01-02,10:00:01,,NA,-8,1e-3,False,\n"
    )
    assert read(file) == {
        "zeros": ["007", "07"],
        "long": ["12345678901234567890", "12345678901234567891"],
        "day": ["2020-01-01", "2020-01-02"],
        "clock": ["10:00:00", "10:00:01"],
        "none": [None, None],
        "words": ["NA", "NA"],
        "whole": [7, -8],
        "decimal": ["0.5", "1e-3"],
        "flag": [True, False],
        "gap": [1, None],
    }


def test_delimited_text_with_line_breaks_quotes_and_a_byte_order_mark(tmp_path):
    file = tmp_path / "rows.tsv"
    file.write_bytes('\ufeffid\ttext\r\nä\t"one\ntwo ""three"""\r\n'.encode())
    assert read(file) == {"id": ["ä"], "text": ['one\ntwo "three"']}


def test_json_lines_dates_stay_text(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps({"id": f"2020-01-0{i}", "n": i}) + "\n" for i in (1, 2)))
    assert read(file) == {"id": ["2020-01-01", "2020-01-02"], "n": [1, 2]}


def test_json_lines_are_what_each_line_says(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text('\ufeff{"p": [null, 0.9], "n": 1}\r\n\n{"p": [0.5, 0.5], "extra": {"k": "a: b"}}\n{}\n', "utf-8")
    assert read(file) == {  # Arrow's reader shifts the lists (51305)
        "p": [[None, 0.9], [0.5, 0.5], None],
        "n": [1, None, None],
        "extra": [None, {"k": "a: b"}, None],
    }
    file.with_suffix(".json").write_text('[{"n": 1}, {"n": 2.5}]')
    assert read(file.with_suffix(".json")) == {"n": [1.0, 2.5]}


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("twice.csv", "a,b,a\n1,2,3\n", r"must name each of its columns once; got \['a'\]"),
        ("long.jsonl", '{"id": 12345678901234567890}\n{"id": 12345678901234567891}\n', "integers beyond 64 bits"),
        ("null.jsonl", "null\n", "row 1 is not a JSON object but null"),  # ends the process in Arrow (47409)
        ("array.jsonl", "[1]\n", "row 1 is not a JSON object but 1"),
        ("scalar.jsonl", '{"a": 1}\n\n3\n', "row 2 is not a JSON object but 3"),
        ("two.jsonl", '{"a": 1} {"a": 2}\n', "row 1 is not a whole JSON object: Extra data"),
        ("twice.jsonl", '{"a": 1, "a": 2}\n', "the key 'a' is repeated"),
        ("cut.jsonl", '{"a": 1}\n{"a": ', "row 2 is not a whole JSON object"),
        ("mixed.jsonl", '{"a": 1}\n{"a": null}\n{"a": "1"}\n', "column a holds numbers and, at row 3, text"),
        ("later.jsonl", '{"a": 1}\n' * 16_384 + '{"a": "1"}\n', "holds values of several kinds"),
        ("flags.jsonl", '{"a": true}\n{"a": 1}\n', "column a holds true or false and, at row 2, numbers"),
        ("lists.jsonl", '{"a": [1, "x"]}\n', "column a has values of several kinds"),
        ("deep.jsonl", '{"a": ' + "[" * 200 + "]" * 200 + "}", "nested too deeply"),
        ("abyss.jsonl", "{" + '"a": {' * 200_000, "nested too deeply"),
        ("pit.json", '[{"a": ' + "[" * 200_000 + "]" * 200_000 + "}]", "nested too deeply"),
        ("abyss.json", "[" * 200_000, "if it was cut short"),
        ("nulls.json", "[null]", "row 1 is not a JSON object but null"),
        ("wide.jsonl", '{"a": 9223372036854775808}', "integers beyond 64 bits"),
        ("between.jsonl", '{"a": 9007199254740993}\n{"a": 0.5}', "outside of the range exactly representable"),
        ("greek.csv", "id\nαθηνα\n".encode("cp1253"), "it is neither UTF-8 nor Windows-1252"),
        ("half.csv", "a,b\n1,2\n3", "row 2 has 1 cells where the first line has 2"),
    ],
)
def test_files_that_cannot_be_read_without_loss(tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError, match=sentence):
        read(tmp_path / name)


@pytest.mark.parametrize(
    "text",
    [
        '{"d": {"a": 1, "a": 2}}',
        '{"d": [{"b": 1}, {"a": {"c": 1, "c": ":"}}]}',
        r'{"d": {"a": "x\":y"}, "d": 1}',
        '{"d": {"a" :1, "a" :2}, "e": ":"}',
        r'{"d" : 1, "d": "\": "}',
        '{"d"  \t: 1, "d": 2}',
        r'{"d": {"\u0022:": 1, "a": 2, "a": 3}}',
        r'{"d": "\u0022:", "a": 2, "a": 3}',
    ],
)
def test_a_repeated_key_is_found_at_any_depth(tmp_path, text):
    (tmp_path / "rows.jsonl").write_text(f'{{"d": {{"a": ":"}}}}\n{text}\n')
    with pytest.raises(ValueError, match=r"row 2 is not a whole JSON object: the key '[acd]' is repeated"):
        read_json_lines(tmp_path / "rows.jsonl")


def exactly(file):
    table = _in_columns(json_rows(file))
    return table.drop_columns([""]) if "" in table.column_names and table[""].type == pa.null() else table


def kinds(kind):
    """Return a type without the order of the fields of its objects."""
    if pa.types.is_struct(kind):
        return {field.name: kinds(field.type) for field in kind}
    return [kinds(kind.value_type)] if pa.types.is_list(kind) else kind


@pytest.fixture(scope="module")
def lines_file(tmp_path_factory):
    return tmp_path_factory.mktemp("lines") / "rows.jsonl"


NAMES = st.sampled_from(["a", "b", "", 'k"', "é"])
PLAIN_VALUES = {
    "numbers": st.integers(-9, 9) | st.sampled_from([0.5, -0.0, 1e-320, 2**53, 2**53 + 1, 2**63, 10**25]),
    "text": st.sampled_from(["", "x", "2020-01-01", "2020-01-01T00:00:00Z", "10:30", "[null", "{", "\0", "\ud83d"]),
    "flags": st.booleans(),
    "nothing": st.none(),
}
SHAPES = st.recursive(
    st.sampled_from([*PLAIN_VALUES]),
    lambda inner: st.tuples(inner) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=4,
)


@st.composite
def value_of_shape(draw, shape, may_be_none=True):
    if may_be_none and draw(st.integers(0, 9)) == 0:
        return None
    if isinstance(shape, str):
        return draw(PLAIN_VALUES[shape])
    if isinstance(shape, tuple):
        return draw(st.lists(value_of_shape(shape[0]), max_size=3))
    return {name: draw(value_of_shape(of)) for name, of in shape.items() if draw(st.integers(0, 9))}


@st.composite
def written_rows(draw):
    """Return JSON Lines whose rows are mostly of one shape, in pieces that are mostly whole."""
    shapes = [draw(st.dictionaries(NAMES, SHAPES, max_size=3)) for _ in range(draw(st.sampled_from([1, 1, 1, 2])))]
    rows = [draw(value_of_shape(draw(st.sampled_from(shapes)), False)) for _ in range(draw(st.integers(1, 6)))]
    apart = draw(st.sampled_from([(",", ":"), (", ", " : ")]))
    texts = [json.dumps(row, ensure_ascii=draw(st.booleans()), separators=apart) for row in rows]
    if draw(st.integers(0, 4)) == 0:
        row, mark = (
            draw(st.integers(0, len(texts) - 1)),
            draw(st.sampled_from(["\n", "\r", "}", " {}", "null", "", '"'])),
        )
        place = draw(st.integers(0, len(texts[row])))
        texts[row] = texts[row][:place] + mark + texts[row][place + draw(st.integers(0, 1)) :]
    return draw(st.sampled_from(["\n", "\r\n"])).join(texts) + draw(st.sampled_from(["", "\n"]))


@examples(1_000)
@given(written_rows(), st.sampled_from([1, 30, 1 << 24]), st.sampled_from([1, 2, 4096]))
def test_the_fast_way_reads_what_the_exact_way_reads(lines_file, text, piece, few):
    lines_file.write_bytes(text.encode("utf-8", "replace"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "_PIECE", piece)
        patch.setattr(tables, "_FEW", few)
        said = []
        for reader in (read_json_lines, exactly):
            try:
                table = reader(lines_file)
                said.append((repr(table.to_pylist()), {name: kinds(table[name].type) for name in table.column_names}))
            except ValueError as problem:
                said.append((str(problem), {}))
    assert said[0][1] == said[1][1], text
    assert sorted(said[0][0]) == sorted(said[1][0]), text  # the fields of an object may be in another order


@pytest.mark.parametrize(
    ("first", "then", "said"),
    [
        ("[]", "1", "holds lists and, at row 601, numbers"),
        ('["x"]', '"x"', "holds lists and, at row 601, text"),
        ("{}", "[1, null]", "holds objects and, at row 601, lists"),
        ('"x"', "1", "holds text and, at row 601, numbers"),
    ],
)
def test_a_kind_that_changes_far_below_is_an_error(tmp_path, first, then, said):
    """Arrow's reader ended the process, or read it as another kind, where that was in a later block of its own."""
    pad = "x" * 2_500
    rows = [f'{{"a": {value}, "pad": "{pad}"}}' for value in (first, then) for _ in range(600)]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    with pytest.raises(ValueError, match=f"column a {said}"):
        read_json_lines(tmp_path / "rows.jsonl")


@pytest.mark.parametrize(
    "rows",
    [
        [{"a": [None, 1]}, {"a": [2]}],
        [{"a": {"b": [[None, "x"]]}}, {"a": {"b": [["y"]]}}],
        [{"a": 0.5}, {"a": 2**52}],
        [{}, {"a": {"b": "2020-01-01", "c": ["2020-01-01T00:00:00Z", "10:30"]}}],
    ],
)
def test_nested_values_are_read_as_written(tmp_path, rows):
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read_json_lines(tmp_path / "rows.jsonl").to_pylist() == [{"a": row.get("a")} for row in rows]


def test_a_field_that_is_null_in_a_whole_part_is_null(tmp_path, monkeypatch):
    rows = [{"a": [{"b": None, "c": "x"}, {"b": None, "c": "y"}]}, {"a": [{"b": None}] * 3}, {"a": [{"b": 1}]}] * 2
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr(tables, "_FEW", 1)
    monkeypatch.setattr(tables, "_PIECE", 1)
    whole = [{"a": [{"b": item.get("b"), "c": item.get("c")} for item in row["a"]]} for row in rows]
    for reader in (read_json_lines, exactly):
        assert reader(tmp_path / "rows.jsonl").to_pylist() == whole


@pytest.mark.parametrize("number", [2**64, -(2**64), 10**20])
@pytest.mark.parametrize("row", ['{{"a": {}}}', '{{"d": {{"a": [1, {}]}}}}', '{{"d": [{{"a": {}}}]}}'])
def test_numbers_beyond_64_bits_are_not_rounded(tmp_path, number, row):
    (tmp_path / "rows.jsonl").write_text(row.format(1) + "\n" + row.format(number) + "\n")
    with pytest.raises(InputError, match="64 bits"):
        read(tmp_path / "rows.jsonl")


@pytest.mark.parametrize(
    "text", [r'{"d": {"a": "x\":y", "\":": [{"b": "\" :"}]}}', '{"a" : {"b" : {"c":":"}}, "d":[]}']
)
def test_what_looks_like_a_key_is_none(tmp_path, text):
    (tmp_path / "rows.jsonl").write_text(text + "\n")
    assert list(json_rows(tmp_path / "rows.jsonl")) == [json.loads(text)]


@pytest.mark.faults
@pytest.mark.parametrize(("ending", "module", "reader"), [("csv", pa.csv, "read_csv"), ("jsonl", pa.json, "read_json")])
def test_arrow_reads_from_memory_of_its_own(tmp_path, monkeypatch, ending, module, reader):
    """Else a thread of its pool that lets go of Python's memory while the interpreter ends aborts the process."""
    text = "id,answer\n" + "1,no\n" * 20_000 if ending == "csv" else '{"id": 1, "answer": "no"}\n' * 20_000
    (tmp_path / f"rows.{ending}").write_text(text)
    before, at_call = pa.total_allocated_bytes(), list[int]()
    whole = getattr(module, reader)

    def counting(*arguments):
        at_call.append(pa.total_allocated_bytes())
        if ending == "jsonl":  # it misreads, or ends the process, where a kind changes from block to block
            assert not arguments[1].use_threads
            assert arguments[1].block_size > len(text)
        return whole(*arguments)

    monkeypatch.setattr(module, reader, counting)
    assert read_table(tmp_path / f"rows.{ending}", function="score").num_rows == 20_000
    assert at_call[0] - before >= len(text)


@pytest.mark.faults
def test_half_an_emoji_in_json_lines_is_read_as_the_mark_of_what_is_unknown(tmp_path):
    for name, content in (("rows.jsonl", '{"a": "\\ud83d"}\n'), ("rows.json", '[{"a": "\\ud83d"}]')):
        (tmp_path / name).write_text(content)
        assert list(read(tmp_path / name)["a"]) == ["\ufffd"]


def test_levels_of_an_index_that_have_a_name_are_columns():
    frame = pd.DataFrame({"prediction": [1, 0], "label": [1, 1]})
    assert in_arrow(frame).column_names == ["prediction", "label"]
    named = frame.set_index(pd.MultiIndex.from_arrays([["a", "b"], [5, 6], [0, 0]], names=["bucket_id", None, "label"]))
    assert in_arrow(named).to_pydict() == {"bucket_id": ["a", "b"], "prediction": [1, 0], "label": [1, 1]}


@pytest.mark.faults
@pytest.mark.parametrize(
    "kind", [pa.large_list(pa.large_string()), pa.large_list(pa.string_view()), pa.list_(pa.string(), 2)]
)
def test_lists_are_of_one_type(kind):
    """Calls of agents in lists of polars were left out, accepted answers refused."""
    table = pa.table(
        {"calls": pa.array([["a", "b"], None], kind), "ids": pa.array([[1], [2, 3]], pa.large_list(pa.int64()))}
    )
    plain = plain_table(table)
    assert plain.schema.types == [pa.list_(pa.string()), pa.list_(pa.int64())]
    assert plain.to_pydict() == table.to_pydict()


def test_objects_in_lists_may_have_nothing_but_nulls_of_a_field():
    """A log's messages, none of which has a name, made the file unreadable."""
    table = pa.table({"messages": [[{"role": "user", "name": None}, {"role": "tool", "name": None}]]})
    assert plain_table(table) == table


def test_an_array_of_objects_may_begin_with_a_blank_line(tmp_path):
    (tmp_path / "rows.json").write_text('\n [{"a": 1},\n {"a": null}]')
    assert read(tmp_path / "rows.json") == {"a": [1, None]}


@pytest.mark.faults
def test_rows_with_arrays_and_missing_values_of_pandas():
    """They ended in a traceback, as did values that no table holds."""
    first = {"id": 1, "p": np.array([0.5, 0.5]), "q": np.array([1]), "r": pd.NA}
    found = in_arrow([first, {"id": 2, "p": None, "q": [2], "r": 3}]).to_pydict()
    assert found == {"id": [1, 2], "p": [[0.5, 0.5], None], "q": ["[1]", "[2]"], "r": [None, 3]}
    refuses("whose columns hold values of one kind", in_arrow, [{"id": 1, "o": object()}])
