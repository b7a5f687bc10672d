"""What SECURITY.md promises: no file steers the terminal or hides a formula, and nothing leaves this machine unseen."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest
from helpers.commands import write
from helpers.errors import refuses
from helpers.models import tiny_encoder
from helpers.processes import write_set
from helpers.run import write_run

from paraconsist.data.foreign import archive_entries
from paraconsist.data.predictions import (
    KEY_COLUMNS,
    PREDICTION_COLUMNS,
    STRATUM_COLUMNS,
    read_predictions,
    write_predictions,
)
from paraconsist.data.sharing import public, public_name
from paraconsist.data.tables import read_table
from paraconsist.data.tasks import get_task
from paraconsist.data.writing import write_table
from paraconsist.errors import InputError, visible
from paraconsist.reporting.result import compare, score
from paraconsist.transforms.dictionary import read_dictionary, write_dictionary
from paraconsist.transforms.paraphrase.judgements import read_written, write_judgement_sheet, write_writing_sheet
from paraconsist.transforms.sheets import read_sheet, write_sheet

SOURCE = Path(__file__).resolve().parents[1] / "src" / "paraconsist"
#: The title of the window; markup of rich; an overriding sign; a line of one's own; a C1 control; a carriage return.
HOSTILE = "\x1b]0;owned\x07 [red]x[/red] a\u202eb up\nerror: forged \x9b31m good\rbad"
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
#: What spreadsheets run, or might; and what they take for text or numbers.
FORMULAS = ["=HYPERLINK(A1)", "+1+1", "-2+3", "@SUM(A1)", "\t=1+1", "\r=1+1", "- so it goes", "'=quoted", "＝1+1"]
NO_FORMULAS = ["-0.5", "+3", "-1e-3", "'tis so", "plain = text", "-", ""]


def hostile_rows(text: str = HOSTILE, *, right: int = 1) -> list[dict]:
    """A set whose labels, strata and ids are hostile."""
    answers = [(0, "original", 0), (0, "paraphrase", 0), (0, "paraphrase", 1)]
    answers += [(1, "original", 1), (1, "paraphrase", right)]
    labels = [text, f"{text} no"]
    return [
        {"bucket_id": f"{text}{b}", "role": role, "label": labels[b % 2], "prediction": labels[p], f"by {text}": text}
        for b, role, p in [(2 * n + b, role, p) for n in range(6) for b, role, p in answers]
    ]


def shown(text: str) -> str:
    assert not STEERING.search(text), text
    return text


def test_what_steers_a_terminal_is_shown(command, tmp_path):
    files = [write(tmp_path / f"{n}.parquet", hostile_rows(right=n)) for n in (0, 1)]
    stratum = ("--stratum", f"by {HOSTILE}")
    code, out, err = command("score", files[0], *stratum, "--label-names", "x")
    assert code == 2  # the labels are other ones: they stand in the error
    for call in (("score", files[0], *stratum), ("score", files[0], *stratum, "--markdown"), ("compare", *files)):
        code, printed, aside = command(*call, "--n-resamples", 20)
        assert code == 0, aside
        out, err = out + printed, err + aside
    assert visible(HOSTILE) in shown(out + err)  # warnings are not wrapped
    assert "error: forged" not in [line.strip() for line in (out + err).splitlines()]
    shown(err)
    scores = score(files[0], stratum=[f"by {HOSTILE}"], n_resamples=20)
    shown(str(scores) + scores._repr_html_() + str(compare(*files, n_resamples=20)))


def test_json_that_is_printed_escapes_what_steers_a_terminal(command, tmp_path):
    file = write(tmp_path / "a.parquet", hostile_rows())
    printed = command.out("score", file, "--stratum", f"by {HOSTILE}", "--json", "--n-resamples", 20)
    assert HOSTILE in next(iter(json.loads(shown(printed)).values()))["strata"]["label"]


def test_names_of_files_models_and_columns_in_errors_and_warnings_are_shown(command, tmp_path, capsys):
    from paraconsist.cli.app import _show_warning

    assert len(shown(command.refused("score", tmp_path / f"{HOSTILE}.csv")).splitlines()) == 1
    shown(command.refused("score", f"--{HOSTILE}"))
    _show_warning(UserWarning(f"the label {HOSTILE} is rare"), UserWarning)
    assert len(shown(capsys.readouterr().err).splitlines()) == 1
    with pytest.raises(InputError) as raised:
        raise InputError(f"have the column {HOSTILE}", function="score", parameter="label", remedy=f"It has {HOSTILE}.")
    assert len(shown(str(raised.value)).splitlines()) == 1


def test_no_error_is_endless():
    sentence = str(
        InputError("name a filter", function="score", parameter="filter", remedy=f"One of {'a' * 70_000}: b.")
    )
    assert len(sentence) < 2_000
    assert sentence.startswith("score: `filter` must name a filter. One of aaa")
    assert sentence.endswith("aaa: b.")


def test_everything_is_printed_by_one_function():
    """`echo` of the options prints lines, `reporting.table` cells; both show what would steer a terminal."""
    printers = {"cli/options.py": {"click.echo"}, "cli/ends.py": {"print"}, "reporting/table.py": {"print"}}
    printers["cli/app.py"] = {"click.echo"}  # the version, and completion
    printers["running/processes.py"] = {"print"}  # a warning of another thread
    printers["data/writing.py"] = printers["data/apart.py"] = {"print"}  # to a file, to a process
    for file in sorted(SOURCE.rglob("*.py")):
        name = file.relative_to(SOURCE).as_posix()
        nodes = [*ast.walk(ast.parse(file.read_text()))]
        called = {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}
        imports = (node for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "rich.table")
        tables = {alias.asname or alias.name for node in imports for alias in node.names}
        assert called & {"print", "click.echo"} <= printers.get(name, set()), name
        if name != "cli/build.py":  # which prints its own tables of names that are in the code
            assert not called & tables or name == "reporting/table.py", name


def cells_of(path: Path) -> list[str]:
    """Every cell below the header, read by the standard library: what a spreadsheet program gets."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return [
            cell
            for row in list(csv.reader(stream, delimiter="\t" if path.suffix == ".tsv" else ","))[1:]
            for cell in row
        ]


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_a_table_in_csv_holds_no_formula_and_is_read_back_as_it_was(tmp_path, ending):
    texts = FORMULAS + NO_FORMULAS
    n = len(texts)
    columns = {"text": texts, "number": [-0.5] * n, "plain": ["it's"] * n, "label": ["-1", *["x"] * (n - 1)]}
    table, file = pa.table({**columns, "odd": ["'a", *["'b"] * (n - 1)]}), tmp_path / f"rows.{ending}"
    write_table(table, file)
    cells = cells_of(file)
    assert not [c for c in cells if c.strip()[:1] in "=+-@＝" and c not in ("-0.5", "-1", "")]
    assert cells.count("-0.5") == n  # a number stays one
    texts_of = {name: list(map(str, column)) for name, column in table.to_pydict().items()}  # numbers may stay text
    assert {k: list(map(str, v)) for k, v in read_table(file, function="test").to_pydict().items()} == texts_of


def test_texts_that_others_wrote_with_an_apostrophe_stay(tmp_path):
    file = tmp_path / "theirs.csv"
    file.write_text("suffix\n'-s\n-ed\n", encoding="utf-8")
    assert read_table(file, function="test")["suffix"].to_pylist() == ["'-s", "-ed"]


def test_sheets_hold_no_formula_and_are_read_back_as_they_were(tmp_path):
    texts = FORMULAS + NO_FORMULAS
    write_sheet(tmp_path / "a.csv", ("text",), ([text] for text in texts))
    assert [row["text"] for row in read_sheet(tmp_path / "a.csv", ("text",), function="test").rows] == texts
    one = dict.fromkeys(("example_id", "context", "original", "paraphrase", "label"), FORMULAS[0])
    write_judgement_sheet(tmp_path / "b.csv", [{**one, "paraphrase": text} for text in FORMULAS])
    pairs = {"=words": "+others", "-ing": "@home"}
    write_dictionary(pairs, tmp_path / "c.csv")
    assert read_dictionary(tmp_path / "c.csv") == pairs
    task = get_task("nli")
    original = {"bucket_id": FORMULAS[0], "label": FORMULAS[1], "task": task.name, "example_id": "1", "group_id": "1"}
    original |= {"role": "original", **dict.fromkeys(task.columns, FORMULAS[2])}
    write_writing_sheet(tmp_path / "d.csv", [original], task=task, rewrite=["hypothesis"], n=1)
    for name in "abcd":
        assert not [c for c in cells_of(tmp_path / f"{name}.csv") if c in {*FORMULAS, *pairs, *pairs.values()}], name
    write(tmp_path / "originals.parquet", [original])
    with (tmp_path / "d.csv").open(encoding="utf-8-sig", newline="") as stream:
        lines = list(csv.reader(stream))
    with (tmp_path / "d.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([lines[0], [*lines[1][:-1], FORMULAS[3]]])
    written = read_written(tmp_path / "d.csv", tmp_path / "originals.parquet").rows
    assert [row["hypothesis"] for row in written] == [FORMULAS[2], FORMULAS[3]]


@pytest.mark.filterwarnings("default:columns not written")
def test_only_declared_and_named_columns_reach_predictions_and_results(command, tmp_path):
    rows = [json.loads(line) for line in write_set(tmp_path / "plain.jsonl", 30).read_text().splitlines()]
    private = {"email": "ada@example.org", "worker": "W7", "token": "hf_abc"}
    rows = [{**row, **private, "shift": f"s{i % 2}"} for i, row in enumerate(rows)]
    mine = write(tmp_path / "mine.jsonl", rows)
    call = ("run", "--model", tiny_encoder(tmp_path / "model"), "--dataset", mine, "--output", tmp_path / "run")
    code, _, err = command(*call, "--stratum", "shift")
    assert code == 0, err
    assert err.count("columns not written to predictions or results: email, worker, token. Name") == 1
    file = tmp_path / "run" / "predictions" / "mine.parquet"
    columns = set(read_predictions(file).table.column_names)
    assert columns == {*KEY_COLUMNS, *PREDICTION_COLUMNS, "theme", "shift"} - {"unanswered"}  # no input failed
    for written in (file, *tmp_path.glob("run/*.json"), *tmp_path.glob("run/texts/*")):
        assert not [value for value in private.values() if value.encode() in written.read_bytes()], written
    assert {"theme", "shift"} <= {*json.loads((tmp_path / "run" / "results.json").read_text())["mine"]["strata"]}
    code, _, err = command(*call, "--stratum", "shfit")
    assert (code, len(err.splitlines())) == (2, 1)
    assert "`--stratum` must be a column of the rows; got 'shfit'. Further columns: email, worker, token" in err


def test_every_stratum_of_our_own_sets_is_kept_but_who_wrote_a_text():
    from paraconsist.dataset_builders import BUILDERS, builder_class

    declared = {name for builder in BUILDERS for name in builder_class(builder).STRATA}
    assert declared - {*STRATUM_COLUMNS} == {"annotator"}  # kept where the builder itself makes the set


def test_files_that_the_run_does_not_name_are_said_and_left_alone(tmp_path):
    folder = write_run(tmp_path / "run")
    whole = score(folder, n_resamples=20).to_dict()
    (folder / "predictions" / "theirs.parquet").write_bytes(b"PAR1 damaged")
    with pytest.warns(UserWarning, match=r"run.json does not name theirs.parquet in predictions/: left out"):
        assert score(folder, n_resamples=20).to_dict() == whole


@pytest.mark.parametrize(("text", "shared"), [
    ("/home/ada/models/bow", "bow"), ("~/models/bow", "bow"), ("../bow", "bow"), ("C:\\Users\\ada\\bow", "bow"),
    ("runs/ada/bow", "bow"), ("org/name", "org/name"), ("bow", "bow")
])  # fmt: skip
def test_a_model_goes_by_its_name(text, shared):
    assert public_name(text) == shared


def test_texts_of_a_run_are_public_without_their_places():
    texts = {
        "the file /home/ada/x/rows.csv is short": "the file rows.csv is short",
        "asked http://ada:key@gpu7.lab:8000/v1 twice": "asked (address) twice",
        "true/false and 1/2/3 and/or": "true/false and 1/2/3 and/or",
        "P_C|v:1.0|data:a/b": "P_C|v:1.0|data:a/b",
        "org/name": "org/name",
        "[/no] </b>": "[/no] </b>",
    }
    assert public(list(texts)) == list(texts.values())


def test_keys_are_taken_from_the_environment_only():
    from paraconsist.models.endpoint.settings import EndpointSettings, read_fields

    secrets = {"api_key": "x7", "Authorization": "x7", "client_secret": "x7", "user": "sk-x7", "some": "hf_x7"}
    for name, value in secrets.items():
        with pytest.raises(InputError, match="`request_field` must hold no key") as raised:
            EndpointSettings("http://localhost:8000/v1", request_fields={name: value})
        assert value not in str(raised.value)
    with pytest.raises(InputError) as raised:
        read_fields(["token=hf_secret", "token=hf_secret"])
    assert "hf_secret" not in str(raised.value)
    fields = {"temperature": None, "max_tokens": 4, "reasoning_effort": "low", "prompt_cache_key": "a"}
    assert EndpointSettings("http://localhost:8000/v1", request_fields=fields).request_fields == fields


@pytest.mark.parametrize(("fields", "shared"), [
    ('{"top_k": 1, "seed": null, "reasoning_effort": "low"}', '{"reasoning_effort": "low", "seed": null, "top_k": 1}'),
    ('{"user": "x7"}', '{"user": "sha256:8cf3ebbdacddfddd"}'),
    ('{"user": "sha256:8cf3ebbdacddfddd"}', '{"user": "sha256:8cf3ebbdacddfddd"}'),
    ('{"extra": {"pins": ["x7"]}}', '{"extra": {"pins": ["sha256:8cf3ebbdacddfddd"]}}')
])  # fmt: skip
def test_values_of_request_fields_that_may_be_keys_are_not_shared(fields, shared):
    assert public({"m": {"request_fields": fields}}) == {"m": {"request_fields": shared}}
    assert "1234567890" not in str(public({"request_fields": '{"pin": 1234567890}'}))


def test_a_report_names_no_place_and_no_address(tmp_path, command):
    folder = write_run(tmp_path / "run")
    file = folder / "predictions" / "toy-all.parquet"
    predictions = read_predictions(file)
    identity = {"model": str(tmp_path / "models" / "bow"), "weights_hash": "0", "endpoint": "http://gpu7.lab:8000/v1"}
    write_predictions(file, predictions.table, predictions.metadata | {"model": identity})
    command.out("report", folder, "--rescore", "--output", tmp_path / "page.html", "--n-resamples", 20)
    page = (tmp_path / "page.html").read_text()
    assert "bow" in page
    assert not [word for word in (str(tmp_path), "gpu7", "8000") if word in page]


def archive_of(entries: dict[str, bytes], *, twice: str | None = None) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
        if twice is not None:
            with pytest.warns(UserWarning, match="Duplicate name"):
                archive.writestr(twice, b"other")
    return stream.getvalue()


BOMB = b"0" * (1 << 27)


@pytest.mark.parametrize(("entries", "twice", "message"), [
    ({"a.json": BOMB}, None, "it would be 134,217,728 bytes, from 130"), ({"a.json": b"1"}, "a.json", "repeats a name"),
    ({"../a.json": b"1"}, None, "leads outside"), ({"b/../../a.json": b"1"}, None, "leads outside"),
    ({"/etc/a.json": b"1"}, None, "leads outside"), ({"C:\\a.json": b"1"}, None, "leads outside")
])  # fmt: skip
def test_an_archive_is_checked_before_it_is_unpacked(entries, twice, message):
    data = io.BytesIO(archive_of(entries, twice=twice))
    with zipfile.ZipFile(data) as archive, pytest.raises(zipfile.BadZipFile, match=message):
        archive_entries(archive)


def test_every_reader_of_archives_checks_them(command, tmp_path):
    log = tmp_path / "a.eval"
    log.write_bytes(archive_of({"header.json": BOMB}))
    code, _, err = command("score", log)
    assert (code, len(err.splitlines())) == (2, 1)
    assert "be a readable, whole file" in err
    from paraconsist.dataset_builders.parte.released import _STEM, read_pairs

    refuses("it would be 134,217,728 bytes", read_pairs, archive_of({f"{_STEM}.csv": BOMB}), "a.zip")
    opens = re.compile(r"ZipFile\(|np\.load\(")
    opening = {str(file.relative_to(SOURCE)) for file in SOURCE.rglob("*.py") if opens.search(file.read_text())}
    # of our own files, each written and checked by us
    own = {"models/training/trainer.py", "studies/selection.py", "studies/ie/experiment.py"}
    for name in opening - own:
        assert "archive_entries(" in (SOURCE / name).read_text(), name


def test_every_claim_names_a_test_that_is_there():
    root = SOURCE.parents[1]
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (root / "SECURITY.md").read_text(encoding="utf-8"))
    assert len(named) > 20
    for file, name in named:
        assert f"\ndef {name}(" in (root / file).read_text(encoding="utf-8"), (file, name)
    for document in ("README.md", "CONTRIBUTING.md"):
        assert "SECURITY.md" in (root / document).read_text(encoding="utf-8")
