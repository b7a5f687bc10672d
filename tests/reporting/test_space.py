"""The browser pages without a browser: every module's own page, limits, pictures and escaping."""

import ast
import html
import inspect
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.errors import refuses
from helpers.space import as_query, columns_of, measured, to_csv
from helpers.space_servers import free_port

from paraconsist.data.apart import Apart
from paraconsist.errors import InputError
from paraconsist.files import to_strict_json
from paraconsist.measures.catalogue import CATALOGUE, PARAPHRASTIC, SEMANTIC
from paraconsist.registry import metric_names
from paraconsist.reporting.hub.spaces import metric_space
from paraconsist.reporting.plots import answers as figures
from paraconsist.reporting.space import forms as reading
from paraconsist.reporting.space import reader
from paraconsist.reporting.space.catalogue import module
from paraconsist.reporting.space.forms import read_text, read_upload
from paraconsist.reporting.space.page import header, preview, report_of, results_page

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = '<img src=x onerror="x()">&${1}$x^{$'


# ---------------------------------------------------------------------------- every module has its page


def test_every_metric_has_a_page_and_every_page_a_metric():
    assert set(CATALOGUE) == set(metric_names())


@pytest.mark.slow
@pytest.mark.parametrize("name", CATALOGUE)
def test_an_app_starts_its_own_page_and_finds_what_it_needs(name):
    files = {file.path: file.content.decode() for file in metric_space(name, "org").files}
    (guarded,) = [node for node in ast.parse(files["app.py"]).body if isinstance(node, ast.If)]
    assert ast.unparse(guarded) == f"if __name__ == '__main__':\n    launch('{name}')"
    (required,) = [line for line in files["requirements.txt"].splitlines() if line and not line.startswith("#")]
    package, extra = re.fullmatch(r"(.*)\[(\w+)\]", required).groups()
    assert set(re.findall(r"# From: (.*)", files[f"{name}.py"])) == {package}
    (listed,) = re.findall(
        rf"^{extra} = \[(.*)\]$", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert {"gradio", "matplotlib"} <= set(re.findall(r'"(\w+)', listed))


@pytest.mark.slow
def test_every_page_builds():
    code = """
import json
from paraconsist.reporting.space.app import build, looks
from paraconsist.measures.catalogue import CATALOGUE
from paraconsist.reporting.space.catalogue import module
pages = {name: build(module(name)).get_config_file() for name in CATALOGUE}
print(json.dumps({"css": looks()["css"], "pages": pages}, default=str))
"""
    # in a process of its own: gradio leaves event loops open
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    built = json.loads(done.stdout)
    assert not re.search(r"https?://|@import|url\(", built["css"])
    for name, config in built["pages"].items():
        ids = {component["props"].get("elem_id") for component in config["components"]}
        fields = {f"column-{one.key}" for layout in module(name).layouts for one in layout.fields}
        assert {"upload", "paste", "example", "score", "results", *fields} <= ids
        assert not [one for one in config["dependencies"] if one["api_visibility"] != "private"]
    assert built["pages"].keys() == CATALOGUE.keys()


def test_an_unknown_module_is_refused():
    refuses(r"launch: `name` must be one of paraphrastic_consistency, .*; got 'bleu'", module, "bleu")


@pytest.mark.parametrize("name", [SEMANTIC.name, PARAPHRASTIC.name, "additive_inconsistency"])
def test_a_measure_has_its_page_from_its_entry_in_the_catalogue(monkeypatch, name):
    spec, theirs = CATALOGUE[name], module(name)

    def toy(*arguments, **options):
        return spec.function(*arguments, **options)

    toy.__signature__ = inspect.signature(spec.function)
    monkeypatch.setitem(CATALOGUE, "toy", replace(spec, function=toy, title="Toy"))
    mine, text = module("toy"), theirs.example()
    assert (mine.spec.title, mine.headlines, mine.layouts) == ("Toy", theirs.headlines[:1], theirs.layouts)
    result, expected = measured("toy", text), measured(name, text)
    assert to_strict_json({**result.keys, "signature": ""}) == to_strict_json({**expected.keys, "signature": ""})
    assert result.flips == expected.flips
    assert result.command == [{name: "toy"}.get(word, word) for word in expected.command]


# ---------------------------------------------------------------------------- limits and broken files


def test_an_upload_is_read_and_deleted(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("bucket,label\na,1\n", encoding="utf-8")
    assert read_upload(file).table.num_rows == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252", "utf-16"])
@pytest.mark.parametrize("sign", [";", "\t", "|", ","])
def test_what_excel_writes_is_read(tmp_path, encoding, sign):
    """S3: it was called "cut short"."""
    file = tmp_path / "mine.csv"
    file.write_bytes(f"bucket{sign}label{sign}prediction\r\nGröße{sign}1{sign}1\r\n".encode(encoding))
    predictions = read_upload(file)
    assert predictions.table.to_pylist() == [{"bucket": "Größe", "label": 1, "prediction": 1}]
    shown = preview(predictions, "mine.csv")
    assert ("is read as Windows-1252" in shown) == (encoding == "cp1252")
    assert (f"is read with {sign!r} between" in html.unescape(shown)) == (sign != ",")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.csv",
            "a,b\n1,Москва\n".encode("cp1251"),
            "read: `file` must be a readable, whole file; got 'a.csv'. It could"
            " not be read: it is neither UTF-8 nor Windows-1252. Save it as UTF-8",
        ),
        ("a.parquet", b"PAR1 nothing", "read: `file` must be a readable, whole file; got 'a.parquet'"),
        ("a.csv", b"a,b\n1\n1,2,3\n", "read: `file` must be a readable, whole file; got 'a.csv'"),
        ("a.jsonl", b'{"a": 1\n', "read: `file` must be a readable, whole file; got 'a.jsonl'"),
        ("a.csv", b"a,b\n", "read: `file` must have at least one row; got 'a.csv'"),
        ("a.csv", b"a,a\n1,2\n", "read: `file` must name each of its columns once"),
        ("a.xls", b"\xd0\xcf", "read: `file` must end in one of .parquet, .csv, .tsv, .jsonl, .json, .xlsx; got 'a.x"),
        ("a.xlsx", b"PK", "`file` must be a readable, whole file; got 'a.xlsx'. It could not be read: File is not"),
    ],
)
def test_a_broken_file_is_refused_by_its_name_and_deleted(tmp_path, name, content, message):
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(InputError, match=re.escape(message)) as raised:
        read_upload(file)
    assert not re.search(r"/tmp|/dev/shm|paraconsist-|upload\.", str(raised.value))
    assert ".." not in str(raised.value)
    assert not file.exists()


def test_large_files_are_refused(tmp_path, monkeypatch):
    file = tmp_path / "mine.csv"

    def refused(message: str, content: str) -> None:
        file.write_text(content, encoding="utf-8")
        refuses(message, read_upload, file)

    monkeypatch.setattr(reading, "LIMITS", {"bytes": 2000, "rows": 50, "columns": 5, "unpacked": 20_000})
    refused("must have at most 2,000 bytes; got 4002", "a\n" + "1" * 4000)
    refused("must have at most 50 rows; got 51", "a\n" + "1\n" * 51)
    refused("must have at most 5 columns; got 6", "a,b,c,d,e,f\n1,2,3,4,5,6\n")
    refuses("must have at most 2,000 bytes", read_text, "a\n" + "1" * 4000)
    packed = tmp_path / "mine.parquet"
    pq.write_table(pa.table({"a": [0] * 60}), packed)
    refuses("must have at most 50 rows; got 60", read_upload, packed)
    pq.write_table(pa.table({"a": ["x" * 40_000]}), packed, compression="zstd")
    refuses("must have at most 20,000 bytes unpacked", read_upload, packed)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system bounds no memory: no /proc")
def test_a_small_file_that_unpacks_to_gigabytes_is_refused(tmp_path):
    file = tmp_path / "mine.parquet"
    words = pa.DictionaryArray.from_arrays(pa.array([0] * 190_000, pa.int32()), pa.array(["x" * 50_000]))
    pq.write_table(pa.table({"a": words}), file)
    assert file.stat().st_size < 30_000
    message = re.escape("'mine.parquet'. Reading it took more than 1.5 GB of memory, or it is damaged")
    refuses(message, read_upload, file)
    assert not list(tmp_path.iterdir())
    assert read_text("a,b\n1,x\n").table.to_pylist() == [{"a": 1, "b": "x"}]  # the page goes on


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("input(); import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "1.5 GB of memory, or it is damaged"),
        ("input(); import os; os._exit(3)", "1.5 GB of memory, or it is damaged"),
        ("import os; os._exit(3)", "1.5 GB of memory, or it is damaged"),
        ("input(); import time; time.sleep(60)", "Reading it took more than 0.5 seconds"),
    ],
)
def test_a_file_that_ends_or_stops_its_reader_is_one_sentence_and_gone(tmp_path, monkeypatch, code, message):
    monkeypatch.setattr(reader, "_APART", Apart(code))
    monkeypatch.setattr(reader, "SECONDS", 0.5 if "sleep" in code else 60)
    file = tmp_path / "mine.csv"
    file.write_text("a\n1\n")
    with pytest.raises(InputError, match="`file` must be a whole file that can be read; got 'mine") as raised:
        read_upload(file)
    assert message in str(raised.value)
    assert not file.exists()
    assert not reader._APART.idle


def test_one_process_reads_file_after_file(monkeypatch):
    monkeypatch.setattr(reader, "_APART", Apart(reader._APART.start))
    read_text("a,b\n1,x\n")
    (process,) = reader._APART.idle
    with pytest.raises(InputError):  # a file that is refused costs nothing either
        read_text("a,b\n1\n")
    first = process.pid
    read_text("a,b\n1,x\n")
    assert reader._APART.idle[0].pid == first
    reader._APART.end_all()
    assert process.returncode is not None


@pytest.mark.slow
def test_what_nobody_foresaw_says_what_is_expected():
    code = """
from paraconsist.reporting.space.app import _safely, expected_columns
from paraconsist.reporting.space.catalogue import module
for problem in (ZeroDivisionError("secret"), OSError("secret"), AssertionError("secret")):
    def fail(): raise problem
    try:
        _safely(fail, columns=expected_columns(module("semantic_inconsistency")))()
    except Exception as shown:
        print(type(shown).__name__, shown.message)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["Error"] * 3
    for line, name in zip(lines, ("ZeroDivisionError", "OSError", "AssertionError"), strict=True):
        assert "secret" not in line
        assert f"({name})" in line
        assert "Answer on the original, Answer on the paraphrase" in line
        assert "please report it" in line


def test_pasted_rows_of_every_kind():
    for text in ("a,b\n1,x\n", "a\tb\n1\tx", '{"a": 1, "b": "x"}\n', '\ufeff[{"a": 1, "b": "x"}]'):
        assert read_text(text).table.to_pylist() == [{"a": 1, "b": "x"}]
    refuses("paste: `text` must not be empty", read_text, " \n")
    refuses("must be a readable, whole file; got 'the pasted text'", read_text, '{"a": 1')


# ---------------------------------------------------------------------------- what is shown


def hostile_example() -> str:
    labels = [HOSTILE, f"{HOSTILE}2"]
    rows = [(f"{HOSTILE}{i // 3}", labels[i % 2], labels[0], f"words {HOSTILE} {i}") for i in range(12)]
    return to_csv(dict(zip(["bucket", "prediction", "label", f"text{HOSTILE}"], zip(*rows, strict=True), strict=True)))


def test_what_comes_from_a_file_is_escaped():
    query = as_query("paraphrastic_consistency", hostile_example())
    form, result = module("paraphrastic_consistency"), module("paraphrastic_consistency").measure(query)
    report = report_of(form, result, query.intervals)
    page = results_page(form, result, 0.95, report) + preview(query.predictions, HOSTILE)
    assert "<img" not in page + report
    assert "&lt;img src=x onerror=&#34;x()&#34;&gt;&amp;${1}$x^{$" in page
    (srcdoc,) = re.findall(r'<iframe [^>]*sandbox="allow-scripts allow-downloads"[^>]*srcdoc="([^"]*)">', page)
    assert html.unescape(srcdoc) == report
    assert "default-src &#39;none&#39;" in report


def test_labels_in_a_picture_are_escaped_and_no_formulas():
    c = columns_of(hostile_example())
    text = to_csv({"original_prediction": c["label"], "prediction": c["prediction"]})
    figure = measured("semantic_inconsistency", text).figure
    ElementTree.fromstring(figure)
    assert "<img" not in figure


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_picture_is_whole_takes_the_pages_colours_and_says_what_it_shows(name):
    result = measured(name)
    if not (figure := result.figure):
        assert result.models
        return
    root = ElementTree.fromstring(figure)
    assert root.attrib["role"] == "img"
    assert len(root.attrib["aria-label"]) > 20
    assert "var(--body-text-color" in figure
    assert not re.search(r"#0[1-6]0[1-6]0[1-6]|<style|DejaVu|https?://(?!www\.w3\.org/)", figure)


def test_the_null_distribution_agrees_with_the_exact_p():
    n, n10, n01 = 400, 40, 25
    from paraconsist.measures.ie_test import ie_test_from_counts

    result = ie_test_from_counts(n, n10, n01, n_correct=300)
    lost = np.repeat([1, -1, 0], [n10, n01, n - n10 - n01])
    assert f"p = {result.p_value:.3g}" in figures.null_distribution(lost, result.statistic, result.p_value)
    assert figures.null_distribution(np.zeros(50, dtype=int), float("nan"), 1.0) == ""


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_report_is_of_what_has_gold_labels_and_shows_the_same_number(name):
    """Item 11: the page that `report` writes takes the place of a table of its own; nothing stands there twice."""
    form, query = module(name), as_query(name)
    result = form.measure(query)
    report = report_of(form, result, query.intervals)
    has_gold = name not in ("negational_inconsistency", "distribution_shift", "paraphrase_diversity")
    assert (report != "", result.flips is None) == (has_gold, has_gold or name == "paraphrase_diversity")
    assert results_page(form, result, 0.95, report).count("Before you read this") <= (not has_gold)
    if has_gold and (value := result.keys.get(form.spec.headline)) is not None and name != "ie_test":
        assert f"{100 * value:.1f}".lstrip("-") in report


def test_an_originals_text_is_that_of_its_own_row():
    predictions = measured("semantic_inconsistency").models[0].sets["predictions"].predictions.table.to_pylist()
    c = columns_of(module("semantic_inconsistency").example())
    for role, column in (("original", "original_hypothesis"), ("paraphrase", "hypothesis")):
        assert [row["hypothesis"] for row in predictions if row["role"] == role] == c[column]
    assert "original_hypothesis" not in predictions[0]


def test_undefined_values_say_so():
    one = to_csv({"bucket": [*"ab"], "prediction": [1, 0], "label": [1, 1]})
    result = measured("paraphrastic_consistency", one)
    page = results_page(module("paraphrastic_consistency"), result, 0.95)
    assert 'data-value="nan">undefined</span>' in page
    assert "Before you read this" in page


def test_the_headline_is_exact_and_readable():
    result = measured("paraphrastic_consistency")
    page = results_page(module("paraphrastic_consistency"), result, 0.95)
    value = result.keys["paraphrastic_consistency"]
    assert f'data-value="{value!r}">{value * 100:.1f}\N{THIN SPACE}%</span>' in page
    low, high = result.keys["confidence_interval"]["paraphrastic_consistency"]
    assert f"95\N{THIN SPACE}% interval {low * 100:.1f} to {high * 100:.1f}\N{THIN SPACE}%" in page
    assert result.keys["signature"] in page
    assert "paraconsist score FILE --measure paraphrastic_consistency" in page


@pytest.mark.parametrize(("method", "how"), [("exact", "is exact"), ("paper", "is from 10,000 resamples")])
def test_the_ie_test_is_two_sided_and_says_where_its_p_comes_from(method, how):
    """S2: an exact p was "drawn from 40,000 resamples", a small one meant a loss, and points were per cent."""
    result = measured("ie_test", options={"method": method})
    assert result.caption.endswith(f"the p-value {how}.")
    page = results_page(module("ie_test"), result, 0.95)
    low, high = result.keys["confidence_interval"]["accuracy_difference"]
    shown = f"{100 * result.keys['accuracy_difference']:+.1f} points</span>"
    assert shown.replace("-", "−") in page
    assert f"95\N{THIN SPACE}% interval {100 * low:+.1f} to {100 * high:+.1f} points".replace("-", "−") in page
    assert "down or up (the test is two-sided)" in header(module("ie_test"))


def test_differences_are_points_and_a_jaccard_similarity_runs_the_other_way():
    page = results_page(module("consistency_difference"), measured("consistency_difference"), 0.95)
    assert re.search(r"[+−]\d+\.\d points</span>", page)
    same = measured("paraphrase_diversity", to_csv({"original": ["A dog."] * 9, "paraphrase": ["A dog."] * 9}))
    assert (same.keys["lexical_distance"], same.keys["jaccard"]) == (0.0, 1.0)
    assert "A distance of 0 is a copy, and so is a similarity of 1." in same.caption
    assert "a Jaccard similarity of 1 has the same words" in header(module("paraphrase_diversity"))


# ---------------------------------------------------------------------------- the command


@pytest.mark.slow
def test_the_command_opens_a_page_on_this_machine():
    port = free_port()
    call = [sys.executable, "-m", "paraconsist", "space", "ie_test", "--port", str(port)]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        assert server.stdout is not None
        try:
            assert server.stdout.readline() == f"The page of ie_test is at http://127.0.0.1:{port}/; Ctrl-C ends it.\n"
            assert "IE test · paraconsist" in urlopen(f"http://127.0.0.1:{port}").read().decode()
        finally:
            server.terminate()


@pytest.mark.slow
def test_the_command_knows_its_metrics():
    call = [sys.executable, "-m", "paraconsist", "space", "bleu"]
    done = subprocess.run(call, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: space: `name` must be one of paraphrastic_consistency, ")
