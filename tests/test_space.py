"""The browser pages without a browser: columns, numbers, pictures, limits and escaping."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from space_for_tests import as_chosen, by_command, by_function, columns_of, measured

from paraconsist.errors import InputError
from paraconsist.registry import metric_names
from paraconsist.results import to_strict_json
from paraconsist.space import figures, reading
from paraconsist.space.catalogue import MODULES, module
from paraconsist.space.columns import guess_columns, guess_layout
from paraconsist.space.drawing import GOOD
from paraconsist.space.page import preview, results_page
from paraconsist.space.reading import read_text, read_upload

ROOT = Path(__file__).resolve().parent.parent
HOSTILE = '<img src=x onerror="x()">&${1}$x^{$'


def to_csv(columns: dict[str, list]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def long_columns(name: str) -> dict[str, list[str]]:
    """Write a module's example, which has all texts of a bucket in one row, out in the long format by hand."""
    c = columns_of(MODULES[name].example())
    sides = {
        "symmetric_inconsistency": {
            "original": ("original_prediction", "label"),
            "swap": ("prediction_swapped", "label"),
        },
        "additive_inconsistency": {
            "part_1": ("part_1_prediction", "label"),
            "part_2": ("part_2_prediction", "label"),
            "merged": ("merged_prediction", "label"),
        },
        "semantic_inconsistency": {"original": ("original_prediction", "label"), "paraphrase": ("prediction", "label")},
        "negational_inconsistency": {
            "original": ("original_prediction", "original_prediction"),
            "negation": ("prediction_negated", "original_prediction"),
        },
    }[name]
    n = len(next(iter(c.values())))
    rows = [(i, role, c[p][i], c[label][i]) for i in range(n) for role, (p, label) in sides.items()]
    bucket, role, prediction, label = (list(column) for column in zip(*rows, strict=True))
    return {"my_bucket": bucket, "kind": role, "said": prediction, "truth": label}


# ---------------------------------------------------------------------------- every module has its page


def test_every_metric_has_a_page_and_every_page_a_metric():
    assert set(MODULES) == set(metric_names())


@pytest.mark.parametrize("name", MODULES)
def test_an_app_starts_its_own_page(name):
    tree = ast.parse((ROOT / "metrics" / name / "app.py").read_text(encoding="utf-8"))
    (guarded,) = [node for node in tree.body if isinstance(node, ast.If)]
    assert ast.unparse(guarded) == f"if __name__ == '__main__':\n    launch('{name}')"


@pytest.mark.parametrize("name", MODULES)
def test_requirements_let_a_space_start_and_say_what_the_script_says(name):
    folder = ROOT / "metrics" / name
    lines = (folder / "requirements.txt").read_text(encoding="utf-8").splitlines()
    (required,) = [line for line in lines if line and not line.startswith("#")]
    named, extra = re.fullmatch(r"(.*)\[(\w+)\]", required).groups()
    said = re.findall(r"# From: (.*)", (folder / f"{name}.py").read_text(encoding="utf-8"))
    assert set(said) == {named}
    (listed,) = re.findall(
        rf"^{extra} = \[(.*)\]$", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert {"gradio", "matplotlib"} <= set(re.findall(r'"(\w+)', listed))


def test_every_page_builds():
    pytest.importorskip("gradio")
    code = """
import json
from paraconsist.space.app import build, looks
from paraconsist.space.catalogue import MODULES
pages = {name: build(page).get_config_file() for name, page in MODULES.items()}
print(json.dumps({"css": looks()["css"], "pages": pages}, default=str))
"""
    # in a process of its own: gradio leaves event loops open
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    built = json.loads(done.stdout)
    assert not re.search(r"https?://|@import|url\(", built["css"])
    for name, config in built["pages"].items():
        ids = {component["props"].get("elem_id") for component in config["components"]}
        fields = {f"column-{one.key}" for layout in MODULES[name].layouts for one in layout.fields}
        assert {"upload", "paste", "example", "score", "results", *fields} <= ids
        assert not [one for one in config["dependencies"] if one["api_visibility"] != "private"]
    assert built["pages"].keys() == MODULES.keys()


def test_an_unknown_module_is_refused():
    with pytest.raises(InputError, match=r"launch: `name` must be one of paraphrastic_consistency, .*; got 'bleu'"):
        module("bleu")


# ---------------------------------------------------------------------------- the numbers


@pytest.mark.parametrize("name", ["paraphrastic_consistency", "semantic_inconsistency", "prediction_change"])
def test_an_example_has_the_command_lines_numbers(name, tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text(MODULES[name].example(), encoding="utf-8")
    found = measured(name, seed=3, n_resamples=500, confidence_level=0.9)
    assert to_strict_json(found.keys) == by_command(list(found.command), file)


@pytest.mark.parametrize(
    "name",
    ["symmetric_inconsistency", "negational_inconsistency", "additive_inconsistency", "semantic_inconsistency"],
)
def test_a_long_file_has_the_command_lines_numbers(name, tmp_path):
    text = to_csv(long_columns(name))
    file = tmp_path / "it's mine.csv"
    file.write_text(text, encoding="utf-8")
    columns = {"bucket": "my_bucket", "role": "kind", "prediction": "said", "label": "truth"}
    found = measured(name, text, "texts", columns=columns)
    assert to_strict_json(found.keys) == by_command(list(found.command), file)


def test_a_long_transitive_file_has_the_command_lines_numbers(tmp_path):
    rng = np.random.default_rng(5)
    n, roles = 30, ["antecedent_1", "antecedent_2", "consequent"]
    table = pa.table(
        {
            "bucket_id": np.repeat(np.arange(n), 3),
            "role": roles * n,
            "label": [0, 1, -1] * n,
            "allowed_labels": [[0], [1], [1, 2]] * n,
            "prediction": np.where(rng.random(3 * n) < 0.7, [0, 1, 2] * n, rng.integers(0, 3, 3 * n)),
        }
    )
    file = tmp_path / "chains.parquet"
    pq.write_table(table, file)
    copy = tmp_path / "copy.parquet"
    pq.write_table(table, copy)
    predictions = read_upload(copy)
    page = MODULES["transitive_inconsistency"]
    layout = guess_layout(page.layouts, table.column_names)
    assert layout.key == "texts"
    from paraconsist.space.modules import Chosen

    found = page.measure(Chosen(predictions, layout, guess_columns(layout.fields, table.column_names)))
    assert to_strict_json(found.keys) == by_command(list(found.command), file)
    assert 0 < found.keys["n_satisfied"] < n
    assert found.flips.n == round(found.keys["inconsistency"] * found.keys["n_satisfied"])


@pytest.mark.parametrize(
    "name",
    [
        *("fooling_rate", "distribution_shift", "ie_test", "consistency_difference", "paraphrase_diversity"),
        *("symmetric_inconsistency", "negational_inconsistency", "transitive_inconsistency", "additive_inconsistency"),
    ],
)
def test_an_example_has_the_functions_numbers(name):
    mine, theirs = measured(name).keys, by_function(name)
    for key in theirs.keys() - {"signature", "by_rule"}:
        np.testing.assert_equal(mine[key], theirs[key], err_msg=key)
    if "by_rule" in theirs:  # shown by the labels' names
        assert [*mine["by_rule"]] == [*theirs["by_rule"]]


def test_the_two_layouts_of_a_file_agree():
    c = columns_of(MODULES["ie_test"].example())
    n = len(c["label"])
    long = {
        "bucket": [*range(n), *range(n)],
        "is_original": ["true"] * n + ["false"] * n,
        "answer": c["prediction"] + c["transformed_prediction"],
        "gold": c["label"] * 2,
    }
    found = measured("ie_test", to_csv(long))
    assert found.keys == measured("ie_test").keys
    assert found.flips.n == found.keys["n10"] + found.keys["n01"]  # none turns from one wrong answer to another


def test_the_layouts_of_the_fooling_rate_agree_where_every_original_has_variants():
    c = columns_of(MODULES["fooling_rate"].example())
    before = {b: p for b, r, p in zip(c["bucket_id"], c["role"], c["prediction"], strict=True) if r == "original"}
    at = [i for i, role in enumerate(c["role"]) if role == "paraphrase"]
    wide = {name: [c[name][i] for i in at] for name in ("bucket_id", "label", "prediction")}
    wide["original_prediction"] = [before[bucket] for bucket in wide["bucket_id"]]
    mine, theirs = measured("fooling_rate", to_csv(wide), "variants").keys, measured("fooling_rate").keys
    for key in ("relaxed", "strict", "n_items", "by_label", "confidence_interval"):
        assert mine[key] == theirs[key]


def test_probabilities_as_lists_or_as_columns():
    c = columns_of(MODULES["distribution_shift"].example())
    lists = {
        name: [f"[{', '.join(values)}]" for values in zip(*(c[f"{prefix}{k}"] for k in range(3)), strict=True)]
        for name, prefix in (("original_probabilities", "original_p"), ("probabilities", "p"))
    }
    assert measured("distribution_shift", to_csv(lists)).keys == measured("distribution_shift").keys
    with pytest.raises(InputError, match="`probabilities` must be one column of lists, or one column for each class"):
        measured("distribution_shift", to_csv(c), columns={"probabilities": ["p0"]})
    with pytest.raises(InputError, match=r"`probabilities` must hold lists such as \[0.2, 0.8\]; got 'a' at row 1"):
        measured("distribution_shift", to_csv({**lists, "probabilities": ["[1, 0, 0]", *"a" * 35]}))


def test_gold_labels_by_name_beside_numbers():
    text = to_csv({"original_prediction": [0, 1, 1], "prediction": [0, 1, 0], "gold": ["no", "yes", "yes"]})
    found = measured("prediction_change", text, label_names=["no", "yes"])
    assert found.keys["correct_to_incorrect"] == 1
    assert found.flips.rows == [[3, "yes", "yes", "no"]]
    with pytest.raises(InputError, match="`gold` must be one of yes; got 'no' at row 0"):
        measured("prediction_change", text, label_names=["yes"])


def test_unparsed_answers_count_as_wrong_and_are_reported():
    text = to_csv({"prediction": ["a", "", "a", "b"], "transformed_prediction": ["a", "a", "", ""], "label": [*"aaab"]})
    found = measured("ie_test", text)
    assert (found.keys["n10"], found.keys["n01"], found.keys["n"]) == (2, 1, 4)
    assert found.warnings == ["3 of 8 predictions are unparsed and count as wrong answers."]
    assert "(unparsed)" in found.flips.rows[0]


def test_runs_are_tested_apart():
    c = columns_of(MODULES["ie_test"].example())
    found = measured("ie_test", to_csv({**c, "run": ["one", "two"] * 18}))
    assert found.keys["runs"] == ["one", "two"]
    assert "p-values of 2 runs" in found.figure


# ---------------------------------------------------------------------------- columns


def test_columns_are_guessed_once_each():
    fields = MODULES["paraphrastic_consistency"].layouts[0].fields
    assert guess_columns(fields, ["Question-ID", "Gold Label", "answer", "words"]) == {
        "bucket": "Question-ID",
        "prediction": "answer",
        "label": "Gold Label",
        "role": None,
        "group": None,
    }
    pairs = MODULES["distribution_shift"].layouts[0].fields
    found = guess_columns(pairs, ["p_1", "p_2", "original_p_1", "original_p_2", "price"])
    assert (found["probabilities"], found["original_probabilities"]) == (
        ["p_1", "p_2"],
        ["original_p_1", "original_p_2"],
    )


def test_what_is_not_chosen_or_chosen_twice_is_refused():
    with pytest.raises(InputError, match=r"`Gold label` must be chosen\. The file has the columns bucket_id, role"):
        measured("paraphrastic_consistency", columns={"label": None})
    with pytest.raises(InputError, match="`Gold label` must be another column than `Prediction`; got 'prediction'"):
        measured("paraphrastic_consistency", columns={"label": "prediction"})
    with pytest.raises(InputError, match="`Gold label` must be a column of the file; got 'gone'"):
        measured("paraphrastic_consistency", columns={"label": "gone"})


def test_columns_of_two_kinds_are_refused_with_their_names():
    text = to_csv({"original_prediction": [0, 1], "prediction": ["a", "b"]})
    with pytest.raises(InputError, match=r"must be of one kind in all their columns.*'original_prediction': 'int64'"):
        measured("semantic_inconsistency", text)


def test_no_command_is_shown_that_would_read_the_file_otherwise():
    assert not measured("semantic_inconsistency", columns={"group": None}).command  # it would take group_id by its name
    assert not measured("paraphrastic_consistency", columns={"role": None}).command
    assert not measured("semantic_inconsistency", columns={"label": None}).command


# ---------------------------------------------------------------------------- flips


def test_flips_are_capped_and_the_worst_come_first():
    sizes = [4] * 40
    buckets = [f"b{i}" for i, size in enumerate(sizes) for _ in range(size)]
    right = [int(place < (2 if i >= 35 else 3)) for i, size in enumerate(sizes) for place in range(size)]
    found = measured("paraphrastic_consistency", to_csv({"bucket": buckets, "pred": right, "gold": [1] * 160}))
    assert found.flips.n == 40
    assert len(found.flips.rows) == 30
    assert [row[1] for row in found.flips.rows[:6]] == ["2 of 4"] * 5 + ["3 of 4"]
    page = results_page(MODULES["paraphrastic_consistency"], found, 0.95)
    assert "40 lines, worst first; the first 30 are shown" in page


def test_right_answers_that_turn_wrong_stand_before_others():
    text = to_csv({"original_prediction": [*"cabb"], "prediction": [*"baab"], "label": [*"aaba"]})
    found = measured("prediction_change", text)
    assert [row[:4] for row in found.flips.rows] == [[3, "b", "b", "a"], [1, "a", "c", "b"]]


def test_words_come_from_the_visitors_own_rows():
    found = measured("negational_inconsistency")
    c = columns_of(MODULES["negational_inconsistency"].example())
    same = [i for i in range(12) if c["original_prediction"][i] == c["prediction_negated"][i]]
    assert [row[-1] for row in found.flips.rows] == [[c["statement"][i], c["negation"][i]] for i in same]


# ---------------------------------------------------------------------------- limits and broken files


def test_an_upload_is_read_and_deleted(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("bucket,label\na,1\n", encoding="utf-8")
    assert read_upload(file).table.num_rows == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", b"PAR1 nothing", "read: `file` must be a readable, whole file; got a.parquet"),
        ("a.csv", b"a,b\n1\n1,2,3\n", "read: `file` must be a readable, whole file; got a.csv"),
        ("a.jsonl", b'{"a": 1\n', "read: `file` must be a readable, whole file; got a.jsonl"),
        ("a.csv", b"a,b\n", "read: `file` must have at least one row; got a.csv"),
        ("a.csv", b"a,a\n1,2\n", "read: `file` must name each of its columns once"),
        ("a.xlsx", b"PK", "read: `file` must end in one of .parquet, .csv, .tsv, .jsonl, .json; got a.xlsx"),
    ],
)
def test_a_broken_file_is_refused_by_its_name_and_deleted(tmp_path, name, content, message):
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(InputError, match=re.escape(message)) as raised:
        read_upload(file)
    assert not re.search(r"/tmp|/dev/shm|paraconsist-|upload\.", str(raised.value))
    assert not file.exists()


def test_large_files_are_refused(tmp_path, monkeypatch):
    file = tmp_path / "mine.csv"

    def refused(message: str, content: str) -> None:
        file.write_text(content, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            read_upload(file)

    monkeypatch.setattr(reading, "MAX_BYTES", 2000)
    monkeypatch.setattr(reading, "MAX_ROWS", 50)
    monkeypatch.setattr(reading, "MAX_COLUMNS", 5)
    monkeypatch.setattr(reading, "MAX_UNPACKED", 20_000)
    refused("must have at most 2,000 bytes; got 4002", "a\n" + "1" * 4000)
    refused("must have at most 50 rows; got 51", "a\n" + "1\n" * 51)
    refused("must have at most 5 columns; got 6", "a,b,c,d,e,f\n1,2,3,4,5,6\n")
    with pytest.raises(InputError, match="must have at most 2,000 bytes"):
        read_text("a\n" + "1" * 4000)
    packed = tmp_path / "mine.parquet"
    pq.write_table(pa.table({"a": [0] * 60}), packed)
    with pytest.raises(InputError, match="must have at most 50 rows; got 60"):
        read_upload(packed)
    pq.write_table(pa.table({"a": ["x" * 40_000]}), packed, compression="zstd")
    with pytest.raises(InputError, match="must hold at most 20,000 bytes unpacked"):
        read_upload(packed)


def test_pasted_rows_of_every_kind():
    for text in ("a,b\n1,x\n", "a\tb\n1\tx", '{"a": 1, "b": "x"}\n', '\ufeff[{"a": 1, "b": "x"}]'):
        assert read_text(text).table.to_pylist() == [{"a": 1, "b": "x"}]
    with pytest.raises(InputError, match="paste: `text` must not be empty"):
        read_text(" \n")
    with pytest.raises(InputError, match="must be a readable, whole file; got the pasted text"):
        read_text('{"a": 1')


# ---------------------------------------------------------------------------- what is shown


def hostile_example() -> str:
    labels = [HOSTILE, f"{HOSTILE}2"]
    rows = [(f"{HOSTILE}{i // 3}", labels[i % 2], labels[0], f"words {HOSTILE} {i}") for i in range(12)]
    return to_csv(dict(zip(["bucket", "prediction", "label", f"text{HOSTILE}"], zip(*rows, strict=True), strict=True)))


def test_what_comes_from_a_file_is_escaped():
    chosen = as_chosen("paraphrastic_consistency", hostile_example())
    page = results_page(module("paraphrastic_consistency"), module("paraphrastic_consistency").measure(chosen), 0.95)
    page += preview(chosen.predictions, HOSTILE)
    assert "<img" not in page
    assert "&lt;img src=x onerror=&quot;x()&quot;&gt;&amp;${1}$x^{$" in page


def test_labels_in_a_picture_are_escaped_and_no_formulas():
    c = columns_of(hostile_example())
    text = to_csv({"original_prediction": c["label"], "prediction": c["prediction"]})
    figure = measured("semantic_inconsistency", text).figure
    ElementTree.fromstring(figure)
    assert "<img" not in figure


@pytest.mark.parametrize("name", MODULES)
def test_a_picture_is_whole_takes_the_pages_colours_and_says_what_it_shows(name):
    figure = measured(name).figure
    root = ElementTree.fromstring(figure)
    assert root.attrib["role"] == "img"
    assert len(root.attrib["aria-label"]) > 20
    assert "var(--body-text-color" in figure
    assert not re.search(r"#0[1-6]0[1-6]0[1-6]|<style|DejaVu|https?://(?!www\.w3\.org/)", figure)


def test_bars_say_how_many():
    figure = figures.bars([("rule", [("kept", 7, GOOD)])])
    assert 'aria-label="Bars: rule: 7 kept"' in figure


def test_the_null_distribution_agrees_with_the_exact_p():
    n, n10, n01 = 400, 40, 25
    from paraconsist.invariance import ie_test_from_counts

    found = ie_test_from_counts(n, n10, n01, n_correct=300)
    assert f"p = {found.p_value:.3g}" in figures.null_distribution(n, n10, n01, found.statistic, found.p_value)
    assert figures.null_distribution(50, 0, 0, float("nan"), 1.0) == ""


def test_undefined_values_say_so():
    one = to_csv({"bucket": [*"ab"], "prediction": [1, 0], "label": [1, 1]})
    found = measured("paraphrastic_consistency", one)
    page = results_page(MODULES["paraphrastic_consistency"], found, 0.95)
    assert 'data-value="nan">undefined</span>' in page
    assert "Before you read this" in page
    assert ">None.<" in page  # no bucket is answered both ways


def test_the_headline_is_exact_and_readable():
    found = measured("paraphrastic_consistency")
    page = results_page(MODULES["paraphrastic_consistency"], found, 0.95)
    value = found.keys["paraphrastic_consistency"]
    assert f'data-value="{value!r}">{value * 100:.1f}&thinsp;%</span>' in page
    low, high = found.keys["confidence_interval"]["paraphrastic_consistency"]
    assert f"95&thinsp;% interval {low * 100:.1f} to {high * 100:.1f}&thinsp;%" in page
    assert found.keys["signature"] in page
    assert "paraconsist score FILE --measure paraphrastic_consistency" in page
