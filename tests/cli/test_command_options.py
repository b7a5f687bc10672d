"""What the command line accepts, and how it refuses: options by name in a file, bounds, models and their test sets."""

import json
import re
from pathlib import Path

import pytest
from helpers.errors import refuses
from helpers.processes import launch

from paraconsist import list_measures
from paraconsist.cli.ends import state
from paraconsist.cli.options import as_command, typed
from paraconsist.data.predictions import read_predictions
from paraconsist.scoring.score import origin_of

pytestmark = pytest.mark.slow


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("bucket_id,prediction,label\n" + "a,1,1\na,0,1\nb,0,0\nb,0,0\n")
    return path


def test_options_in_a_file_have_their_names_of_the_command_line(tmp_path, rows):
    config = tmp_path / "c.yaml"
    config.write_text(f"json: true\npath: {rows}\nn-resamples: 10\n")
    assert "rows" in json.loads(launch(["score", "--config", str(config)]).stdout)


def test_a_config_file_that_is_no_text(tmp_path, rows):
    config = tmp_path / "c.yaml"
    config.write_bytes(b"\x88\xff")
    done = launch(["score", str(rows), "--config", str(config)], check=False)
    assert done.returncode == 2
    assert "error: score: `--config` must name a text file that can be read" in done.stderr


@pytest.mark.parametrize("option", [("confidence-level", 95), ("n-resamples", 0), ("seed", -1)])
def test_options_out_of_bounds_are_refused_before_anything_runs(rows, option):
    name, value = option
    done = launch(["score", str(rows), f"--{name}", str(value)], check=False)
    assert done.returncode == 2
    assert f"Invalid value for '--{name}'" in done.stderr


def test_a_set_and_its_test_set_are_answered_by_one_model(tmp_path):
    from paraconsist.models.training.options import options_from_preset
    from paraconsist.models.training.trainer import train

    models = [tmp_path / "a", tmp_path / "b"]
    for seed, model in enumerate(models):
        options = options_from_preset(
            "bow", output=model, dataset="sample:defeasible_nli_train", epochs=1.0, limit=40, device="cpu", seed=seed
        )
        train(options, say=lambda line: None)
    given = ["--model", f"sample:defeasible_nli={models[0]}", "--model", str(models[1])]
    given += ["--dataset", "sample:defeasible_nli", "--with-test", "--n-resamples", "10"]
    launch(["run", *given, "--output", str(tmp_path / "run")])
    files = sorted((tmp_path / "run" / "predictions").iterdir())
    assert [file.stem for file in files] == ["sample-defeasible_nli", "sample-defeasible_nli_test"]
    assert {read_predictions(file).metadata["model"]["model"] for file in files} == {str(models[0])}


@pytest.mark.parametrize("option", ["role", "group", "probabilities"])
def test_a_named_column_that_is_not_there_is_not_passed_over(rows, option):
    done = launch(["score", str(rows), f"--{option}", "nothing"], check=False)
    assert done.returncode == 2
    assert f"error: score: `--{option}` must name a column of the file; got 'nothing'" in done.stderr
    assert launch(["score", str(rows), "--n-resamples", "10"]).stdout


@pytest.mark.parametrize(
    "words", [("--request-field", "key=abc"), ("--request-field=key=abc",), ("--request_field", "key=abc")]
)
def test_the_command_line_that_is_kept_holds_no_key(monkeypatch, words):
    seen = []

    def ask(request_fields: list[str] | None = None, output: Path | None = None) -> None:
        seen.append(typed())

    monkeypatch.setattr(state, "arguments", ("run", *words, "--output", "x"))
    as_command("ask", ask).callback(request_fields=("key=abc",), output=Path("x"))
    assert "abc" not in json.dumps(seen)
    assert seen[0]["command"][-2:] == ["--output", "x"]
    assert seen[0]["options"] == {"request_fields": ["key=..."], "output": "x"}


def test_the_signature_tells_two_limits_apart():
    metadata = [{"set": "a:b", "set_fingerprint": f"1.0.0-{'0123456789abcdef' * 4}-limit{n}"} for n in (37, 250)]
    assert origin_of(metadata[0]) == {"data": "a/b@1.0.0-0123456789abcdef01-limit37"}
    assert origin_of(metadata[1])["data"].endswith("-limit250")


BOMB = "a: &a [x, x, x]\n" + "".join(
    f"{two}: &{two} [{', '.join(30 * [f'*{one}'])}]\n" for one, two in ("ab", "bc", "cd", "de", "ef", "fg")
)


@pytest.mark.parametrize(
    ("text", "why"),
    [(BOMB, "alias"), ("bucket: " + "[" * 5000, "nested too deeply"), ("bucket: !!int ''\n", "YAML"), ("x: [", "YAML")],
)
def test_a_file_of_options_that_would_grow_without_bound(tmp_path, command, rows, text, why):
    config = tmp_path / "c.yaml"
    config.write_text(text)
    code, _, err = command("score", rows, "--config", config)
    assert (code, len(err.splitlines())) == (2, 1)
    assert "`--config` must be valid YAML" in err
    assert why in err


def test_values_of_options_are_bounded_as_files_are(tmp_path):
    from paraconsist.cli.options import read_value
    from paraconsist.data.tasks import TASKS
    from paraconsist.running.by_name import read_template

    assert [read_value(text) for text in ("[a, 1]", "*a", "[" * 5000, "3e-5")] == [["a", 1], "*a", "[" * 5000, 3e-5]
    template = tmp_path / "t.yaml"
    template.write_text(BOMB)
    refuses(r"`template` must be valid YAML.*alias", read_template, str(template), TASKS["nli"], ("a", "b"))


def test_help_has_what_a_newcomer_needs_first_and_the_rest_by_subject(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = command("run", "-h")
    lines = out.splitlines()
    first = "\n".join(lines[:40])
    assert code == 0
    assert all(f"{option} " in first for option in ("--model", "--dataset", "-o, --output", "--device", "--limit"))
    assert {"Running:", "Language models:", "Models behind an endpoint:", "Intervals:"} <= set(lines)
    assert len(lines) <= 150


def test_a_list_is_a_line_for_each_and_all_of_one_by_its_name(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    names = [spec.name for spec in list_measures()]
    _, out, _ = command("list")
    lines = out.splitlines()
    assert all(sum(f" {name} " in line for line in lines) == 1 for name in names)
    assert {"--dataset", "rows", "task"} <= command.json("list", "sample:defeasible_nli")["Bucket sets"][0].keys()
    assert len(command("list", "--long")[1].splitlines()) > 2 * len(lines)
    assert command("list", "no such thing")[0] == 2


@pytest.mark.parametrize("width", [80, 60, 40, None])
def test_a_list_breaks_no_word_and_is_plain_in_a_pipe(command, monkeypatch, width):
    """S4: at 80 columns words were broken letter by letter."""
    if width is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", str(width))
    short, long = command("list")[1], command("list", "--long")[1]
    assert not re.search("[^\x00-\x7f]", short + long)  # no lines of boxes, nothing cut
    for spec in list_measures():
        words = [rf"(?m)^  {spec.name}", *re.split(r"\W+", spec.question.rstrip("?"))]
        assert re.search(r"\W+".join(words), short), spec.name
        assert width is not None or f"{spec.question}\n" in short
    if width is not None:
        assert max(map(len, short.splitlines())) <= width


def test_a_shell_completes_commands_and_their_options(command, monkeypatch, capsys):
    monkeypatch.setenv("_PARACONSIST_COMPLETE", "bash_complete")
    for line, number, wanted in (
        ("paraconsist sen", 1, "sensitivity"),
        ("paraconsist score --pred", 2, "--prediction"),
    ):
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(number))
        assert f"plain,{wanted}" in command()[1].split()
