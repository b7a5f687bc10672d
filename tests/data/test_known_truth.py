"""Files of known truth, as pandas, polars, datasets, Excel and people write them: the naive P_C, or one sentence."""

import csv
import datetime
import io
import json
import math
import random
import subprocess
import sys
from contextlib import suppress
from decimal import Decimal
from itertools import combinations

import datasets
import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.errors import refuses

from paraconsist import score
from paraconsist.errors import InputError

#: Two texts that are not one, whatever else they look like.
PAIRS = {
    "words": ("yes", "no"),
    "numbers": ("1", "0"),
    "exponent": ("1e1", "10"),
    "zeros": ("007", "7"),
    "point": ("1.0", "1"),
    "points": ("3.1", "3.10"),
    "plus": ("+1", "1"),
    "minus": ("-0", "0"),
    "hexadecimal": ("0x10", "16"),
    "case": ("true", "True"),
    "flags": ("TRUE", "FALSE"),
    "beyond 64 bits": ("9223372036854775808", "9223372036854775809"),
    "missing": ("NA", "NaN"),
    "none": ("null", "None"),
    "infinite": ("inf", "Infinity"),
    "day": ("2020-01-01", "2020-01-01T00:00:00"),
    "thousand": ("1,000", "1000"),
    "comma": ("0,5", "0.5"),
    "accents": ("\u00e9", "e\u0301"),
    "quotes": ('say "a"', "say 'a'"),
    "lines": ("a\nb", "a b"),
    "separators": ("a;b|c", "a\tb,c"),
    "formula": ("=1+1", "'=1+1"),
    "long": ("x" * 3000 + "1", "x" * 3000 + "2"),
}
COLUMNS = ("bucket_id", "label", "prediction")


def rows_of(pair, seed=0):
    """Rows whose labels are the pair, in buckets whose ids begin with either of it."""
    rng = random.Random(seed)
    ids = [text + end for end in ("", "2", "33") for text in pair]
    labels = {bucket: pair[i % 2] for i, bucket in enumerate(ids)}
    return [(b, labels[b], labels[b] if rng.random() < 0.6 else pair[labels[b] == pair[0]]) for b in ids * 4]


def naive(rows):
    """P_C by its definition: do two different paraphrases of a bucket come out alike? On average over buckets."""
    right = {}
    for bucket, label, prediction in rows:
        right.setdefault(bucket, []).append(label == prediction)
    return np.mean([np.mean([a == b for a, b in combinations(values, 2)]) for values in right.values()])


def measured(source, **options):
    (scores,) = score(source, **options).to_dict().values()
    return scores["measures"]["paraphrastic_consistency"]["paraphrastic_consistency_unbiased"]


def delimited(rows, header=COLUMNS, start="", **how):
    stream = io.StringIO(newline="")
    csv.writer(stream, **how).writerows([header, *rows])
    return start + stream.getvalue()


def frame(rows):
    return pd.DataFrame(rows, columns=COLUMNS)


def arrow(rows, kind=None):
    table = pa.table({name: list(column) for name, column in zip(COLUMNS, zip(*rows, strict=True), strict=True)})
    return table if kind is None else table.cast(pa.schema([(name, kind) for name in COLUMNS]))


def parquet(table):
    stream = io.BytesIO()
    pq.write_table(table, stream)
    return stream.getvalue()


def objects(rows):
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


#: Ending -> what the file holds; without an ending a table in memory.
WRITERS = {
    "by hand.csv": lambda rows: delimited(rows, quoting=csv.QUOTE_MINIMAL, lineterminator="\n"),
    "quoted.csv": lambda rows: delimited(rows, quoting=csv.QUOTE_ALL),
    "mark.csv": lambda rows: delimited(rows, start="\ufeff"),
    "utf-16.csv": lambda rows: delimited(rows).encode("utf-16"),
    "excel.csv": lambda rows: delimited(rows, start="\ufeff", delimiter=";"),
    "excel sep.csv": lambda rows: delimited(rows, start="\ufeffsep=;\r\n", delimiter=";"),
    "pipe.csv": lambda rows: delimited(rows, delimiter="|"),
    "tab.tsv": lambda rows: delimited(rows, delimiter="\t"),
    "comma.tsv": lambda rows: delimited(rows),
    "pandas.csv": lambda rows: frame(rows).to_csv(),
    "pandas.jsonl": lambda rows: frame(rows).to_json(orient="records", lines=True),
    "ascii.jsonl": lambda rows: "".join(json.dumps(row) + "\n" for row in objects(rows)),
    "array.json": lambda rows: json.dumps(objects(rows), ensure_ascii=False, indent=1),
    "pandas.parquet": lambda rows: parquet(pa.Table.from_pandas(frame(rows))),
    "views.parquet": lambda rows: parquet(arrow(rows, pa.string_view())),
    "bytes.parquet": lambda rows: parquet(arrow(rows, pa.binary())),
    "categories": lambda rows: frame(rows).astype("category"),
    "nullable": lambda rows: frame(rows).astype("string"),
    "objects": lambda rows: frame(rows).astype(object),
    "large": lambda rows: arrow(rows, pa.large_string()),
    "dictionaries": lambda rows: arrow(rows, pa.dictionary(pa.int8(), pa.large_string())),
    "datasets": lambda rows: datasets.Dataset.from_list(objects(rows)),
    "polars": lambda rows: polars.DataFrame(rows, schema=COLUMNS, orient="row"),
}


def written(tmp_path, name, content):
    if not isinstance(content, (str, bytes)):
        return content
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return tmp_path / name


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_written_apart_stays_apart(name, tmp_path):
    wrong = {}
    for kind, pair in PAIRS.items():
        rows = rows_of(pair, seed=len(kind))
        value = measured(written(tmp_path, name, WRITERS[name](rows)))
        if value != pytest.approx(naive(rows)):
            wrong[kind] = value
    assert not wrong


WHOLE = [(f"b{i // 4}", i // 4 % 2, (i * 7) % 5 % 2) for i in range(40)]
GAPS = [(b, label, None if i % 9 == 4 else p) for i, (b, label, p) in enumerate(WHOLE)]
BUCKETS, LABELS, ANSWERS = (list(column) for column in zip(*WHOLE, strict=True))
TEXT = delimited(WHOLE)


def with_column(name, values):
    return pa.table({"bucket_id": BUCKETS, "label": LABELS, "prediction": ANSWERS} | {name: values})


def points(rows, *places):
    return [tuple(f"{v}.0" if i in places and v is not None else v for i, v in enumerate(row)) for row in rows]


#: Name -> what it holds, the rows whose P_C it has, options.
RIGHT = {
    "whole numbers.csv": (TEXT, WHOLE, {}),
    "gaps as pandas 2 and 3 write them.csv": (frame(GAPS).to_csv(index=False), GAPS, {}),
    "all with a point.csv": (delimited(points(WHOLE, 1, 2)), WHOLE, {}),
    "labels with a point.csv": (delimited(points(WHOLE, 1)), WHOLE, {}),
    "empty lines.csv": ("\r\n" + TEXT.replace("\r\n", "\r\n\r\n"), WHOLE, {}),
    "old lines.csv": (TEXT.replace("\r\n", "\r"), WHOLE, {}),
    "no end.csv": (TEXT.rstrip(), WHOLE, {}),
    "empty columns.csv": (TEXT.replace("\r\n", ",,\r\n"), WHOLE, {}),
    "hundreds of lines.csv": (delimited([(*row, "one\n" * 500) for row in WHOLE], (*COLUMNS, "text")), WHOLE, {}),
    "latin.csv": (delimited([("é" + b, *r) for b, *r in WHOLE]).encode("latin-1"), WHOLE, {"encoding": "latin-1"}),
    "western.csv": (delimited([("Größe été" + b, *r) for b, *r in WHOLE]).encode("cp1252"), WHOLE, {}),
    "western excel.csv": (
        delimited([("Spaß “" + b, *r) for b, *r in WHOLE], delimiter=";").encode("cp1252"),
        WHOLE,
        {},
    ),
    "utf-16 without a mark.csv": (TEXT.encode("utf-16-le"), WHOLE, {"encoding": "utf-16-le"}),
    "utf-16.jsonl": ("".join(json.dumps(r) + "\n" for r in objects(WHOLE)).encode("utf-16"), WHOLE, {}),
    "gaps.jsonl": ("".join(json.dumps(row) + "\n" for row in objects(GAPS)), GAPS, {}),
    "floats.jsonl": (frame(GAPS).to_json(orient="records", lines=True), GAPS, {}),
    "int8": (with_column("prediction", pa.array(ANSWERS, pa.int8())), WHOLE, {}),
    "uint64": (with_column("prediction", pa.array(ANSWERS, pa.uint64())), WHOLE, {}),
    "half floats": (with_column("prediction", np.array(ANSWERS, dtype=np.float16)), WHOLE, {}),
    "decimals": (with_column("prediction", pa.array(map(Decimal, ANSWERS), pa.decimal128(9, 2))), WHOLE, {}),
    "flags": (with_column("prediction", [bool(one) for one in ANSWERS]), WHOLE, {}),
    "masked": (with_column("prediction", np.ma.array(ANSWERS, mask=[p is None for *_, p in GAPS])), GAPS, {}),
    "nullable whole numbers": (frame(GAPS).astype({"prediction": "Int64", "label": "Int8"}), GAPS, {}),
    "pandas on arrow": (frame(GAPS).astype({"prediction": "int64[pyarrow]", "bucket_id": "string[pyarrow]"}), GAPS, {}),
    "whole categories": (frame(WHOLE).astype("category"), WHOLE, {}),
    "ids as doubles": (with_column("bucket_id", [float(b[1:]) for b in BUCKETS]), WHOLE, {}),
}


@pytest.mark.parametrize("name", RIGHT)
def test_numbers_gaps_and_encodings(name, tmp_path):
    content, rows, options = RIGHT[name]
    assert measured(written(tmp_path, name, content), **options) == pytest.approx(naive(rows))


#: Name -> what it holds, and what the sentence says.
REFUSED = {
    "unclosed.csv": (TEXT.replace("b5,", '"b5,', 1), "a quote that opens in row 21 is never closed"),
    "closed too late.csv": (
        TEXT.replace("b5,", '"b5,', 1).replace("b7,", 'b7",', 1),
        "a cell of row 21 holds 7 lines that are rows",
    ),
    "after the quote.csv": (TEXT.replace("b5,", '"b5"x,', 1), "',' expected after '\"', in line 22"),
    "ragged.csv": (TEXT.replace("b5,", "b5,,", 1), "row 21 has 4 cells where the first line has 3"),
    "cut.csv": (TEXT[:-6], "row 40 has 1 cells"),
    "twice.csv": (TEXT.replace("label", "bucket_id"), r"name each of its columns once; got \['bucket_id'\]"),
    "cyrillic.csv": (("Москва" + TEXT).encode("cp1251"), "it is neither UTF-8 nor Windows-1252. Save it as UTF-8"),
    "japanese.csv": (("日本語の文章" + TEXT).encode("shift_jis"), "or name its `encoding`, such as cp1251"),
    "damaged.csv": ("é".encode() * 2 + b"\xe9" + TEXT.encode(), "it is neither UTF-8 nor Windows-1252"),
    "cut in a letter.csv": (TEXT.encode() + "é".encode()[:1], "it is neither UTF-8 nor Windows-1252"),
    "not latin.csv": (TEXT.encode("utf-16-le") + b"\xe9", "it contains NUL bytes"),
    "cut.jsonl": (json.dumps(objects(WHOLE)[0])[:-4], "row 1 is not a whole JSON object"),
    "unmarked.csv": (TEXT.encode("utf-16-le"), "it contains NUL bytes; if it is UTF-16 without a byte order mark"),
    "mixed.csv": (TEXT.encode() * 200 + "b9,1,0".encode("utf-16"), "it is neither UTF-8"),
    "empty.csv": ("", "have at least one row"),
    "parquet.csv": (parquet(with_column("n", ANSWERS)), "it seems to be Parquet, which does not fit its ending"),
    "excel.csv": (b"PK\x03\x04 and so on", "it seems to be a zip archive, such as an Excel workbook"),
    "packed.jsonl": (b"\x1f\x8b and so on", "it seems to be compressed with gzip"),
    "pointer.parquet": (b"version https://git-lfs.github.com/spec/v1\n", "it seems to be a pointer of Git LFS"),
    "json.csv": (json.dumps(objects(WHOLE)), "it seems to be JSON"),
    "text.parquet": (TEXT, "Parquet magic bytes not found"),
    "cut.parquet": (parquet(arrow(WHOLE))[:-20], "be a readable, whole file"),
    "two kinds.csv": (delimited([(b, "yes", p) for b, _, p in WHOLE]), "be of the labels' kind"),
    "a point in half.csv": (delimited(points(WHOLE[:9], 1) + WHOLE[9:]), "be of the labels' kind"),
    "days": (with_column("bucket_id", [datetime.date(2020, 1, 1)] * 40), r"hold whole numbers or text; got 'date32"),
    "instants": (with_column("label", [datetime.datetime(2020, 1, 1)] * 40), "got 'timestamp"),
    "lists": (with_column("prediction", [[1]] * 40), "hold whole numbers or text; got 'list"),
    "structs": (with_column("label", [{"a": 1}] * 40), "hold whole numbers or text; got 'struct"),
    "nothing": (with_column("bucket_id", pa.nulls(40)), "not be empty"),
    "large doubles": (with_column("bucket_id", [2.0**53 + 2 * i for i in range(1, 41)]), "write them as text"),
    "unsigned": (with_column("bucket_id", pa.array([2**63 + i for i in range(40)], pa.uint64())), "write them as text"),
    "fractions": (with_column("label", [0.5] * 40), "hold whole numbers or text; got 0.5 at row 0"),
    "no text": (with_column("bucket_id", [b"\xff"] * 40), "hold whole numbers or text; got 'binary'"),
    "several kinds": (
        pd.DataFrame({"bucket_id": ["a", 1], "label": [0, 0], "prediction": [0, 0]}),
        "be a table whose columns hold values of one kind",
    ),
    "spans": (with_column("group_id", pa.array(ANSWERS, pa.duration("s"))), "got 'duration"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_right_is_refused_in_one_sentence(name, tmp_path):
    content, sentence = REFUSED[name]
    refuses(sentence, measured, written(tmp_path, name, content))


N = len(WHOLE)
TYPES = {
    str(column.type): column
    for column in (
        *(
            pa.array([1, 2] * (N // 2)).cast(kind)
            for kind in (pa.uint8(), pa.float32(), pa.decimal128(21, 2), pa.bool_())
        ),
        *(pa.array([1] * N, kind) for kind in (pa.date32(), pa.timestamp("ns"), pa.time64("us"), pa.duration("s"))),
        *(pa.array(["a", ""] * (N // 2), kind) for kind in (pa.large_string(), pa.string_view(), pa.binary_view())),
        *(pa.array([value] * N) for value in (None, math.nan, [None, 0.5], ["a"], {"a": 1}, b"\xff", Decimal(10**30))),
        *(pa.array([[0.5, 0.5]] * N, kind) for kind in (pa.list_(pa.float64(), 2), pa.list_view(pa.float64()))),
        pa.array([["1"]] * N, pa.large_list(pa.large_string())),
        pa.array([[("a", 1)]] * N, pa.map_(pa.string(), pa.int64())),
        pa.array([b"ab"] * N, pa.binary(2)),
        pa.array([2**64 - 1] * N, pa.uint64()),
        pa.array([None, "b"] * (N // 2)).dictionary_encode(),
        pa.array([1, 2] * (N // 2)).dictionary_encode(),
        pa.RunEndEncodedArray.from_arrays(pa.array([N], pa.int32()), pa.array(["a"])),
        pa.array([(1, 2, 3)] * N, pa.month_day_nano_interval()),
    )
}
PLACES = {
    **{name: {} for name in (*COLUMNS, "role", "group_id", "example_id", "allowed_labels", "probabilities", "model")},
    **{"theme": {"stratum": ["theme"]}, "sure": {"confidence": "sure"}, "is_original": {"original": "is_original"}},
    **{"time": {"trial": "time", "example": "label"}, "before": {"original_prediction": "before"}},
}


@pytest.mark.parametrize("place", PLACES)
def test_every_type_in_every_column_is_read_or_refused(place, tmp_path):
    for column in TYPES.values():
        source = with_column(place, column)
        with suppress(pa.ArrowNotImplementedError):  # Parquet does not know every type
            source = written(tmp_path, "rows.parquet", parquet(source))
        with suppress(InputError):
            measured(source, **PLACES[place])


@pytest.mark.parametrize(
    "metadata", ["{", "[1]", "null", '{"label_names": "ab"}', '{"label_names": [1]}', '{"model": "m"}', "[" * 100_000]
)
def test_metadata_that_are_no_runs(metadata, tmp_path):
    table = with_column("label", LABELS).replace_schema_metadata({b"paraconsist": metadata.encode()})
    refuses("must hold a run's metadata, with", measured, written(tmp_path, "rows.parquet", parquet(table)))


@pytest.mark.parametrize(
    ("name", "code", "sentence"),
    [
        ("null.jsonl", 2, "row 1 is not a JSON object but null"),
        ("unclosed.csv", 2, "a quote that opens in row 21 is never closed"),
        ("latin.csv", 0, "latin.csv is not UTF-8 and is read as Windows-1252; pass `--encoding`"),
        ("cyrillic.csv", 2, "Save it as UTF-8, or name its `--encoding`, such as cp1251"),
        ("excel with commas.csv", 0, "excel with commas.csv is read with ';' between its cells"),
        ("excel.csv", 0, "excel.csv is read with ';' between its cells"),
        ("points.csv", 0, "column label of points.csv holds whole numbers with .0"),
    ],
)
def test_the_command_line_says_it(command, name, code, sentence, tmp_path):
    contents = {
        "null.jsonl": "null\n",
        "unclosed.csv": REFUSED["unclosed.csv"][0],
        "latin.csv": RIGHT["latin.csv"][0],
        "cyrillic.csv": REFUSED["cyrillic.csv"][0],
        "excel with commas.csv": delimited([(*row, "one, two") for row in WHOLE], (*COLUMNS, "in, out"), delimiter=";"),
        "excel.csv": delimited(WHOLE, delimiter=";"),
        "points.csv": delimited(points(WHOLE, 1)),
    }
    ended, *told = command("score", written(tmp_path, name, contents[name]))
    assert ended == code
    assert sentence in " ".join(" ".join(told).split())
    if name == "latin.csv":
        assert command("score", tmp_path / name, "--encoding", "latin-1")[0] == 0


def test_a_file_of_a_few_kilobytes_does_not_fill_the_memory(tmp_path):
    text = pa.array(["x" * 100_000])
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(40_000, dtype=np.int32)), text)
    pq.write_table(pa.table({"text": column}), tmp_path / "bomb.parquet")
    refuses("it unpacks to more than 1000 times its size", measured, tmp_path / "bomb.parquet")


_LONG = """
import resource, sys, json
import paraconsist.reporting.result, paraconsist.scoring.score, paraconsist.data.logs.reading
from paraconsist import score
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
(scores,) = score(sys.argv[1]).to_dict().values()
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([(after - before) / 1024, scores["measures"]["paraphrastic_consistency"]]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of ru_maxrss is the system's")
def test_one_answer_of_a_megabyte_does_not_make_all_as_large(tmp_path):
    rows = [(f"b{i // 5}", f"answer {i // 5 % 3}", f"answer {i % 7 % 3}") for i in range(50_000)]
    rows[7] = (*rows[7][:2], "x" * 1_000_000)
    (tmp_path / "rows.csv").write_text(delimited(rows))
    ended = subprocess.run(
        [sys.executable, "-c", _LONG, str(tmp_path / "rows.csv")], capture_output=True, text=True, check=True
    )
    size, values = json.loads(ended.stdout)
    assert values["paraphrastic_consistency_unbiased"] == pytest.approx(naive(rows))
    assert size < 300
