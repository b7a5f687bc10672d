"""Every YAML under examples/reproduce/ says what it repeats, and runs: whole where that is quick, else as a trial."""

import json
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.paranlu_goldens import FIGURE_4
from helpers.reproduce import cells, figures, j22
from helpers.scripts import load_script

from paraconsist.cli.app import main

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "reproduce"
FILES = sorted(FOLDER.glob("*.yaml"))
STATUS = ("exact", "repeated", "not possible")
_SCRIPT = load_script("examples/reproduce/run.py")
said, commands = _SCRIPT.head, _SCRIPT.commands


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_a_file_says_what_it_repeats_and_the_readme_knows_it(file: Path) -> None:
    (status,) = said(file, "Status")
    assert status.startswith(STATUS)
    scripts = [command for command in commands(file) if command[0] == "python"]
    assert all(command[1] in {"cells.py", "figures.py", "j22.py"} for command in scripts)
    others = [command for command in commands(file) if command not in scripts]
    assert all(command[0] == "paraconsist" for command in others)
    assert all(command[1] in {"score", "report", "artifacts", "train", "sweep", "select", "paraphrase", "adversarial",
                              "ie-test", "run", "sensitivity"} for command in others)  # fmt: skip
    assert not others or any(file.name in command for command in others)
    assert f"`{file.name}`" in (FOLDER / "README.md").read_text(encoding="utf-8")


def test_the_readme_names_no_file_that_is_not_there() -> None:
    named = set(re.findall(r"`(\w+\.yaml)`", (FOLDER / "README.md").read_text(encoding="utf-8")))
    assert named == {file.name for file in FILES}


def test_the_script_shows_every_command_and_stops_where_one_fails(tmp_path: Path) -> None:
    script = [sys.executable, str(FOLDER / "run.py")]
    shown = subprocess.run(
        [*script, "s24_table4.yaml", "--print", "--n-resamples", "9"], capture_output=True, text=True
    )
    lines = shown.stdout.splitlines()
    assert len(lines) == len(set(lines)) == 1 + 4 * 4 + 3
    assert lines.pop(0) == "python cells.py s24_table4"
    assert all(line.startswith("paraconsist score DATA/") and line.endswith("--n-resamples 9") for line in lines)
    assert "{" not in shown.stdout
    assert "The files are j22_downsampling.yaml" in subprocess.run(script, capture_output=True, text=True).stderr


def run_all(file: Path, data_folder: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, *, most: int | None) -> None:
    (folder / "DATA").symlink_to(data_folder, target_is_directory=True)
    for name in ("plots", "models"):
        (folder / name).mkdir()
    monkeypatch.chdir(folder)
    small = shlex.split(" ".join(said(file, "Small")))
    for program, *command in commands(file)[:most]:
        arguments = [
            str(FOLDER / part) if part in (file.name, command[0] * (program == "python")) else part for part in command
        ]
        if program == "python":
            monkeypatch.setattr(sys, "argv", arguments)
            runpy.run_path(arguments[0], run_name="__main__")
            continue
        with pytest.raises(SystemExit) as ended:
            main([*arguments, *(small if file.name in command else [])])
        assert ended.value.code == 0, arguments


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(
    "file",
    [f for f in FILES if not said(f, "Needs") and said(f, "Status")[0].startswith("exact")],
    ids=lambda f: f.stem,
)
def test_what_is_exact_runs(file: Path, data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_all(file, data_folder, tmp_path, monkeypatch, most=1 if "report" in commands(file)[0] else 2)


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("file", [f for f in FILES if not said(f, "Needs") and said(f, "Small")], ids=lambda f: f.stem)
def test_what_is_trained_runs_as_a_trial(
    file: Path, data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "wordnet" in said(file, "Wants"):
        from paraconsist.transforms.lexicon import find_wordnet

        if find_wordnet() is None:
            pytest.skip("WordNet not found: apt-get install wordnet-base, or python -m nltk.downloader wordnet")
    run_all(file, data_folder, tmp_path, monkeypatch, most=None)


@pytest.mark.real_data
def test_the_published_numbers_come_out(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of PaRTE's authors' file: changed predictions of 1,126, of five models."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "DATA").symlink_to(data_folder, target_is_directory=True)
    file = FOLDER / "v23_table2.yaml"
    changed = []
    for _, *command in commands(file)[1:]:
        with pytest.raises(SystemExit):
            main([*(str(FOLDER / part) if part == file.name else part for part in command), "--json"])
        (result,) = json.loads(capsys.readouterr().out).values()
        changed.append(result["measures"]["prediction_change"]["n_changed"])
    assert changed == [110, 96, 174, 184, 108]


#: Table -> cells that are printed, computed, equal, and the words that name those that differ.
STANDING = {
    "s24_table4": (138, 118, 117, ["alpha_nli, BiLSTM, original_accuracy"]),
    "s24_table6": (24, 8, 7, ["delta_social, human paraphrases, lexical_distance"]),
    "s24_table7": (48, 48, 48, []),
    "v23_table2": (19, 15, 7, [
        *(f"parte, {model}, prediction_change" for model in ("BoW", "BiLSTM", "BERT", "RoBERTa", "GPT-3")),
        *(f"parte, {model}, paraphrased_accuracy" for model in ("BoW", "BERT", "GPT-3")),
    ]),
    "j22_table3": (8, 8, 5, [
        f"{data}, RoBERTa+{kind}, base, semantic_inconsistency"
        for data, kind in (("sst2", "BAE"), ("sst2", "TextFooler"), ("mrpc", "TextFooler"))
    ]),
    "j22_table4": (18, 18, 15, [f"{data}, BART, large, rho" for data in ("boolq", "mrpc", "rte")]),
    "j22_table5": (12, 8, 7, ["wic, Electra, base, training_accuracy"]),
}  # fmt: skip


@pytest.mark.parametrize(
    "key", [pytest.param(key, marks=() if key.startswith("j22") else pytest.mark.real_data) for key in STANDING]
)
def test_printed_cells_are_what_comes_out(key: str, request: pytest.FixtureRequest) -> None:
    data = Path() if key.startswith("j22") else request.getfixturevalue("data_folder")
    assert STANDING.keys() == cells.TABLES.keys()
    found = cells.cells_of(key, data)
    computed = [cell for cell in found if cell.computed is not None]
    counts = len(found), len(computed), sum(cell.is_equal for cell in found)
    assert counts == STANDING[key][:3]
    assert sorted(cell.name for cell in computed if not cell.is_equal) == sorted(STANDING[key][3])
    assert all(bool(cell.reason) != cell.is_equal for cell in found)


def test_rho_of_a_model_of_ones_own_is_taken_against_the_best_that_is_printed() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall("```python\n(.*?)```", text, flags=re.DOTALL)
    names: dict[str, float] = {}
    exec(code, names)
    assert names["rho"] == pytest.approx(
        (30.4 - 9.2) / (30.4 - cells.taus()["rte", "negational_inconsistency", "large", "Electra"])
    )
    assert f"here it is {names['rho']:.2f}," in text


def test_best_and_worst_models_share_a_place() -> None:
    assert list(j22.best_and_worst("snli", "transitive_inconsistency", "base")) == [
        ("RoBERTa, Electra, ERNIE2.0", 3.3),
        ("GPT2", 10.4),
    ]
    assert len(j22.cases()) == 19


def test_size_is_tested_by_means_and_deviations_of_five_seeds() -> None:
    """Welch's t of BERT on BoolQ, 66.6 (1.0) against 70.3 (1.4), by the formula, its p by integration."""
    from scipy.integrate import quad
    from scipy.special import gamma

    a, b = 1.0**2 / 5, 1.4**2 / 5
    t, df = 3.7 / (a + b) ** 0.5, (a + b) ** 2 / (a**2 / 4 + b**2 / 4)
    height = gamma((df + 1) / 2) / ((df * 3.141592653589793) ** 0.5 * gamma(df / 2))
    p = 2 * quad(lambda x: height * (1 + x * x / df) ** (-(df + 1) / 2), t, float("inf"))[0]
    tests = j22.size_tests()
    assert len(tests) == 56
    first = tests[0]
    assert first[:3] == ("boolq, validation_f1", "BERT", 3.7)
    assert first[3] == pytest.approx(p, rel=1e-6)
    assert first[4] >= (56 - sum(one[3] < first[3] for one in tests)) * first[3]


@pytest.mark.real_data
def test_figures_of_s24_are_its_table_and_the_goldens(data_folder: Path) -> None:
    def points(figure: str) -> dict[str, tuple[float, float]]:
        described = next(figures.FIGURES[figure](data_folder)).description
        found = re.findall(r"([^;.]+?): accuracy ([\d.]+) %, consistency ([\d.]+) %", described)
        return {name.strip(): (float(accuracy), float(consistency)) for name, accuracy, consistency in found}

    printed = {(row["model"], row["dataset"], row["measure"]): row["value"] for row in cells.printed("S24", "4")}
    keys = "corrected_accuracy", "corrected_paraphrastic_consistency"
    expected = {
        f"{model} on {name}": tuple(printed[model, name, key] for key in keys)
        for model in cells.S24_MODELS
        for name in ("delta_snli", "delta_atomic", "delta_social")
    }
    assert points("s24_figure3") == expected
    goldens = json.loads((data_folder / "paranlu" / "expected_values.json").read_text(encoding="utf-8"))["fig4"]
    kinds = {"human": "people's paraphrases", "auto": "automatic ones"}
    names = {short: name for name, short in cells.SETS.items()}
    assert len(goldens) == len(FIGURE_4)
    assert points("s24_figure4") == {
        f"{kinds[row['set']]} on {names[row['dataset']]}": (round(100 * row["A_c"], 1), round(100 * row["P_Cc"], 1))
        for row in goldens
    }


@pytest.mark.real_data
def test_figures_of_v23_are_its_counts(data_folder: Path) -> None:
    """BERT: 110 of 1,126 changed, 55 either way; 14.75 % with both paraphrased; 6.77 % where right, 17.52 else."""
    plots = {plot.name.rpartition("-")[2]: plot.description for plot in figures.v23_figures(data_folder)}
    assert list(plots) == ["direction", "part", "label", "task", "overlap", "original"]
    assert plots["direction"].count("BERT: 4.9 %") == 2  # 55 of 1,126; RoBERTa's is 4.9 one way as well
    assert "both, BERT: 14.8 %" in plots["part"]
    assert "right, BERT: 6.8 %" in plots["original"]
    assert "wrong, BERT: 17.5 %" in plots["original"]
