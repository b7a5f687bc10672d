"""The cases of `fuzz.py` that are files: real ones, mutated.

A command case has ``files`` (name -> text, or base64 where it is no UTF-8) and ``arguments``; a table case ``columns``
of texts and how they are stored; a function case the ``call`` and its ``arguments`` as Python source.
"""

from __future__ import annotations

import base64
import copy
import io
import json
import random
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Case = dict[str, Any]
Rng = random.Random
ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent.parent / "shared" / "data" if ROOT.parent.name == "wt" else ROOT.parent / "shared" / "data"

# ----------------------------------------------------------------------------------------------------------- values

#: What JSON can hold and nobody expects.
ODD: list[Any] = [
    *(None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1e308, float("nan"), float("inf"), 2**53, 2**63, -(2**63) - 1, 10**40),
    *("", " ", "\ud800", "a\udfff", "\x00", "a\x00", "\x1b[31m", "[red]x[/red]", "=1+1", "1e1", "10", "007", "1.0"),
    *("nan", "None", "null", "é", "e\u0301", "\u200b", "\u202e", "a" * 70_000, "../x", "a\nb", "a,b", 'a"b', "a\tb"),
    *([], [None], [[]], {}, {"a": 1}, {"": None}, [1, "a"], [[1, 2], [3]], ["a", None], {"a": {"b": [{}]}}),
]
TOKENS = [
    *(
        b"null",
        b"true",
        b"[]",
        b"{}",
        b'"',
        b"'",
        b",",
        b"\n",
        b"\r",
        b"\x00",
        b"\xff",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
    ),
    *(
        b"NaN",
        b"1e999",
        b"-",
        b"[" * 30_000,
        b'{"a":' * 5_000,
        b"\\ud800",
        b"1" * 400,
        b"\xfe\xff",
        b"PK\x03\x04",
        b"[",
    ),
]


def mutate_json(rng: Rng, value: Any) -> Any:
    """Return a copy with one node changed: another value, another name, gone, or there twice."""
    value = copy.deepcopy(value)
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, inner in items:
            places.append((node, key))
            walk(inner)

    walk(value)
    if not places or rng.random() < 0.05:
        return rng.choice(ODD)
    node, key = rng.choice(places)
    how = rng.random()
    if how < 0.6:
        node[key] = rng.choice(ODD)
    elif how < 0.75:
        del node[key]
    elif how < 0.85 and isinstance(node, list):
        node.insert(key, rng.choice([node[key], rng.choice(ODD)]))
    elif isinstance(node, dict):
        node[rng.choice(["", "a.b", "\ud800", *node])] = node.pop(key)
    return value


def mutate_bytes(rng: Rng, data: bytes) -> bytes:
    """Return the bytes with bits flipped, cut, doubled or with something put in."""
    how, at, end = rng.randrange(9), rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)
    at, end = min(at, end), max(at, end)
    if how == 0 and data:
        changed = bytearray(data)
        for _ in range(rng.choice([1, 1, 2, 10])):
            changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return bytes(changed)
    if how == 1:
        return data[:at]
    if how == 2:
        return data[:at] + data[end:]
    if how == 3:
        return data[:at] + rng.choice(TOKENS) + data[at:]
    if how == 4:
        return data[:at] + rng.choice(TOKENS) + data[min(len(data), at + rng.choice([1, 4, 20])) :]
    if how == 5:
        return rng.choice([b"", b"\n", b"null", b"\xef\xbb\xbf" + data, data + b"\x00", b"[" + data, data[::-1]])
    if how == 6:
        with suppress(UnicodeError):
            return data.decode().encode(rng.choice(["utf-16", "latin-1", "utf-8-sig", "utf-32"]))
    lines = data.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    if how == 7:
        lines[i], lines[j] = lines[j], lines[i]
    else:
        lines.insert(i, lines[j])
    return b"\n".join(lines)


def mutate_file(rng: Rng, name: str, data: bytes) -> bytes:
    """Return a file changed in its own terms, or as bytes."""
    ending = name.rpartition(".")[2]
    if ending in _MUTATIONS and rng.random() < 0.8:
        with suppress(Exception):  # what was mutated before may be none of its kind any more
            return _MUTATIONS[ending](rng, data)
    return mutate_bytes(rng, data)


def _mutate_lines(rng: Rng, data: bytes) -> bytes:
    lines = data.decode().splitlines()
    at = rng.randrange(len(lines))
    changed = mutate_json(rng, json.loads(lines[at]))
    if rng.random() < 0.2 and isinstance(changed, dict) and changed:  # a key twice
        key = rng.choice(list(changed))
        lines[at] = f"{{{json.dumps(key)}: {json.dumps(rng.choice(ODD))}, {json.dumps(changed)[1:]}"
    else:
        lines[at] = json.dumps(changed)
    if rng.random() < 0.3:  # one column of another kind throughout
        key, value = rng.choice(list(json.loads(lines[0]))), rng.choice(ODD)
        lines = [json.dumps({**json.loads(line), key: value}) for line in lines]
    return "\n".join(lines).encode() + b"\n"


def _mutate_document(rng: Rng, data: bytes) -> bytes:
    return json.dumps(mutate_json(rng, json.loads(data))).encode()


def _mutate_cells(rng: Rng, data: bytes) -> bytes:
    text = data.decode()
    delimiter = "\t" if "\t" in text.partition("\n")[0] else ","
    rows = [line.split(delimiter) for line in text.splitlines()]
    row = rng.choice(rows)
    row[rng.randrange(len(row))] = str(rng.choice(ODD))
    if rng.random() < 0.3:
        rng.choice(rows).append("x")
    if rng.random() < 0.2:
        delimiter = rng.choice([";", "\t", "|", ",", " "])
    return "\n".join(delimiter.join(row) for row in rows).encode("utf-8", "surrogatepass")


ARROW_TYPES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "large_string": pa.large_string(),
    "string_view": pa.string_view(),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
    "binary": pa.binary(),
    "int64": pa.int64(),
    "int8": pa.int8(),
    "uint64": pa.uint64(),
    "double": pa.float64(),
    "half": pa.float16(),
    "bool": pa.bool_(),
    "null": pa.null(),
    "decimal": pa.decimal128(38, 4),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "duration": pa.duration("s"),
    "list": pa.list_(pa.string()),
    "list of numbers": pa.list_(pa.float64()),
    "fixed list": pa.list_(pa.float64(), 2),
    "struct": pa.struct([("a", pa.string())]),
    "map": pa.map_(pa.string(), pa.int64()),
}


def random_column(rng: Rng, n: int) -> pa.Array:
    kind = rng.choice(list(ARROW_TYPES.values()))
    pool: list[Any] = [None, 0, 1, 2, "0", "1", "a", 0.5, True, b"a", ["a"], [0.5, 0.5], {"a": "b"}, [("a", 1)], "", -1]
    usable = []
    for value in pool:
        with suppress(Exception):
            usable.append(pa.scalar(value, kind))
    return pa.array([one.as_py() for one in rng.choices(usable, k=n)], kind)


def _mutate_parquet(rng: Rng, data: bytes) -> bytes:
    table = pq.read_table(io.BytesIO(data))
    at, how = rng.randrange(table.num_columns), rng.random()
    name, metadata = table.column_names[at], dict(table.schema.metadata or {})
    if how < 0.4 and b"paraconsist" in metadata:
        identity = mutate_json(rng, json.loads(metadata[b"paraconsist"]))
        raw = json.dumps(identity).encode()
        metadata[b"paraconsist"] = mutate_bytes(rng, raw)[:100_000] if rng.random() < 0.3 else raw
    elif how < 0.6:
        table = table.set_column(at, name, random_column(rng, table.num_rows))
    elif how < 0.7:
        table = table.set_column(at, name, table[name].cast(rng.choice(list(ARROW_TYPES.values()))))
    elif how < 0.8:
        table = table.drop_columns([name])
    elif how < 0.9:
        values = table[name].to_pylist()
        values[rng.randrange(len(values))] = rng.choice([None, *values])
        table = table.set_column(at, name, pa.array(values, table.schema.field(name).type))
    else:
        table = rng.choice([table.slice(0, 0), table.slice(1, 1), pa.concat_tables([table, table])])
    sink = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(metadata), sink)
    return sink.getvalue()


def _mutate_archive(rng: Rng, data: bytes) -> bytes:
    """Change an entry of an archive; all are stored without the compression that Python cannot write."""
    from paraconsist.data.logs.inspect_ai import _content  # Python's zipfile reads zstd from 3.14 on only

    stream, sink = io.BytesIO(data), io.BytesIO()
    with zipfile.ZipFile(stream) as archive, zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as changed:
        chosen = rng.choice([info.filename for info in archive.infolist() if info.filename != "summaries.json"])
        for info in archive.infolist():
            content, name = _content(stream, archive, info), info.filename
            if name == chosen:
                content = (_mutate_document if rng.random() < 0.85 else mutate_bytes)(rng, content)
                if rng.random() < 0.08:
                    continue
                if rng.random() < 0.05:
                    name = rng.choice(["/etc/x", "../x.json", "samples/\ud800.json", "", "samples/é.json"])
            changed.writestr(name, content)
    return sink.getvalue()


_MUTATIONS: dict[str, Callable[[Rng, bytes], bytes]] = {
    "jsonl": _mutate_lines,
    "json": _mutate_document,
    "csv": _mutate_cells,
    "tsv": _mutate_cells,
    "parquet": _mutate_parquet,
    "eval": _mutate_archive,
}


# ------------------------------------------------------------------------------------------------------------ files


def as_text(data: bytes) -> Any:
    """Return a file's bytes as JSON holds them: text, or base64 in a mapping."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def as_bytes(content: Any) -> bytes:
    """Return what `as_text` was made of."""
    if isinstance(content, str):
        return content.encode("utf-8", "surrogatepass")
    return base64.b64decode(content["base64"])


def _parquet(table: pa.Table, metadata: Mapping[str, Any]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({b"paraconsist": json.dumps(dict(metadata)).encode()}), sink)
    return sink.getvalue()


def _sample() -> pa.Table:
    """Return the first buckets of the sample set with the demo's predictions."""
    problems = [json.loads(line) for line in (ROOT / "dataset_builders/sample/buckets.jsonl").open(encoding="utf-8")]
    stored = pq.read_table(ROOT / "tests/results/demo/sample-defeasible_nli.parquet")
    rows = []
    for problem in problems[:12]:
        for role in ("original", *["paraphrase"] * len(problem["paraphrases"])):
            label = int(problem["label"] == "strengthener")
            same = {"bucket_id": problem["bucket_id"], "group_id": problem["context_id"], "theme": problem["theme"]}
            guess, first = stored["prediction"][len(rows)].as_py(), stored["p0"][len(rows)].as_py()
            given = {
                "label": label,
                "allowed_labels": [label],
                "prediction": guess,
                "probabilities": [first, 1 - first],
            }
            number = len(rows)
            rows.append({"example_id": f"e{number}", "input_id": f"i{number}", **same, "role": role, **given})
    return pa.Table.from_pylist(rows)


_IDENTITY = {
    "set": "sample:defeasible_nli",
    "task": "defeasible_nli",
    "model": {"model": "org/model", "dtype": "float32"},
    "label_names": ["weakener", "strengthener"],
    "measures": ["paraphrastic_consistency", "prediction_change"],
}


def inputs() -> dict[str, dict[str, bytes]]:
    """Return the small real inputs that cases are made of: what a command line names -> its files."""
    table = _sample()
    originals = table.filter(pa.compute.equal(table["role"], "original"))
    plain = table.select(["bucket_id", "role", "label", "prediction", "theme"])
    texts = io.BytesIO()
    pa.csv.write_csv(plain, texts)
    run = {"models": {"defeasible_nli": _IDENTITY["model"]}, "sets": {"sample:defeasible_nli": "predictions/a.parquet"}}
    test = {**_IDENTITY, "set": "sample:defeasible_nli_test"}
    found = {
        "p.parquet": {"p.parquet": _parquet(table, _IDENTITY)},
        "q.parquet": {"q.parquet": _parquet(table.slice(0, 30), {})},
        "p.csv": {"p.csv": texts.getvalue()},
        "p.jsonl": {"p.jsonl": "\n".join(json.dumps(row) for row in table.to_pylist()).encode()},
        "run": {
            "run/predictions/a.parquet": _parquet(table, _IDENTITY),
            "run/predictions/b.parquet": _parquet(originals, test),
            "run/run.json": json.dumps({**run, "ended": "2026-01-02T03:04:05Z"}).encode(),
        },
        "rows.jsonl": {"rows.jsonl": _beginning(ROOT / "dataset_builders/sample/train.jsonl", 20)},
        "logs": {},
    }
    for file in sorted((ROOT / "tests/fixtures/logs").rglob("*")):
        if file.suffix == ".eval":
            found[f"log{len(found)}.eval"] = {f"log{len(found)}.eval": file.read_bytes()}
        elif file.suffix in (".json", ".jsonl") and file.parent.parent.name != "lm_eval":
            tool = file.relative_to(ROOT / "tests/fixtures/logs").parts[0]
            found.setdefault(f"{tool}-{file.name}", {f"{tool}-{file.name}": file.read_bytes()})
        elif file.suffix in (".json", ".jsonl"):
            found["logs"][f"logs/{file.name}"] = file.read_bytes()
            if file.suffix == ".jsonl":
                found[file.name] = {file.name: file.read_bytes()}
    for file in sorted((DATA / "paranlu" / "predictions").glob("*roberta*.parquet"))[:6]:
        beginning = pq.read_table(file).slice(0, 40)
        found[f"nlu-{file.name}"] = {f"nlu-{file.name}": _parquet(beginning, {})}
    for name in ("aiw.parquet", "judges_llmbar.parquet", "promptstability.csv", "gpqa_epochs.csv"):
        file = DATA / "recorded" / name
        if file.is_file() and file.suffix == ".csv":
            found[name] = {name: _beginning(file, 40)}
        elif file.is_file():
            found[name] = {name: _parquet(pq.read_table(file).slice(0, 40), {})}
    return found


def _beginning(file: Path, n_lines: int) -> bytes:
    return b"".join(file.read_bytes().splitlines(keepends=True)[:n_lines])


#: Beginnings of names -> the options that make them ready to score.
_OPTIONS = {
    "samples_yes_no_gen": "--bucket doc.question_id --role doc.kind --filter strict",
    "samples": "--bucket doc.question_id --role doc.kind",
    "logs": "--bucket doc.question_id --role doc.kind",
    "log": "--bucket metadata.question_id",
    "deepeval": "--bucket question_id --role kind --metric Right",
    "mlflow-eval": "--bucket question_id --role kind --metric right/v1 --label answer",
    "promptfoo": "--bucket question_id --role kind --label vars.answer",
    "openai_evals": "--bucket question_id --role kind",
    "every_eval_ever": "--bucket sample_id --metric acc",
    "nlu": "--prediction pred --label gold --original is_original --confidence conf_gold",
    "aiw": "--bucket problem --prediction parsed_answer --label right_answer --stratum prompt_type",
    "judges": "--bucket item --prediction winner_given --label gold",
    "promptstability": "--bucket unit --prediction value --label value --trial iteration",
    "gpqa": "--bucket item --prediction correct --label correct --trial epoch",
    "rows": "--bucket context_id --prediction label --label label --stratum theme",
}
_COMMANDS = [
    *(
        "score * --json",
        "score *",
        "score * --figures --json",
        "score * --unparsed own_class",
        "report * --output r.html",
    ),
    *("score * --measure prediction_change --json", "score * --stratum role --json", "plan * --half-width .1 --json"),
    *("gate pc>=0.5 *", "compare * p.parquet --json", "score * --n-resamples 9 --interval-method bootstrap"),
    *("score p.parquet --test-predictions *", "score p.parquet --training-file *", "score * --output o.json"),
]


def file_case(rng: Rng, found: Mapping[str, dict[str, bytes]]) -> Case:
    """Return a command on real files of which one is mutated, once or more."""
    name = rng.choice(list(found))
    files = dict(found[name])
    for _ in range(rng.choice([1, 1, 1, 1, 2, 3])):
        chosen = rng.choice(list(files))
        files[chosen] = mutate_file(rng, chosen, files[chosen])
    own = next((options for start, options in _OPTIONS.items() if name.startswith(start)), "")
    command = rng.choice(_COMMANDS)
    if name == "logs":
        name = next(iter(sorted(files, reverse=rng.random() < 0.5)))
    arguments = [name if part == "*" else part for part in f"{command} {own}".split()]
    if "p.parquet" in arguments:
        files = {**found["p.parquet"], **files}
    return {"kind": "command", "files": {one: as_text(data) for one, data in files.items()}, "arguments": arguments}
