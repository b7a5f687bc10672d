"""Without the extras: what scores, compares and plans works; what needs one says which, in one line."""

import json
import subprocess
import sys

import pytest
from helpers.report import ANSWERS, write_file

from paraconsist.errors import EXTRAS, InputError, extras

SAMPLE, OTHER = "one.parquet", "other.parquet"
#: Commands, one after the other in a process without the extras -> the extra that the sentence names, or None.
COMMANDS = {
    ("list",): None, ("score", SAMPLE): None, ("compare", SAMPLE, OTHER): None,
    ("plan", SAMPLE, "--half-width", "0.05"): None, ("gate", "pc >= 0.5", SAMPLE): None, ("build", "--help"): None,
    ("push", "metric", "ie_test", "--namespace", "org", "--dry-run"): None,
    ("run", "--model", "bow", "--dataset", "sample", "--output", "r"): "run",
    ("train", "--model", "bow", "--task", "nli", "--train-file", "x", "--output", "m"): "run",
    ("demo", "--output", "d"): "run", ("report", SAMPLE): "report", ("space", "ie_test"): "space",
    ("score", SAMPLE, "--log-to", "trackio"): "trackers",
    ("reword", "lm-eval:arc_easy", "--output", "arc"): "integrations"
}  # fmt: skip
#: Python names -> what is called of them.
CALLS = {
    "pc.load_model": "run",
    "pc.run('bow', 'sample', output='r')": "run",
    f"pc.score({SAMPLE!r}).plot()": "report",
    f"pc.score({SAMPLE!r}).log_to('mlflow')": "trackers",
    "pc.BucketEvaluation({'bucket_id': [1], 'label': [1]}).callback": "run",
}
#: The extras' packages but for some are not found from here on.
WITHOUT = """
from importlib.machinery import PathFinder
find, missing = PathFinder.find_spec, {missing!r}
PathFinder.find_spec = lambda name, *more: None if name in missing else find(name, *more)
"""
CODE = f"""{WITHOUT.format(missing=[*EXTRAS])}
import contextlib, io, json
import paraconsist as pc
from paraconsist.cli.app import main
ends = []
for command in {list(COMMANDS)!r}:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as errors:
        try:
            main(command)
        except SystemExit as ended:
            ends.append((ended.code, errors.getvalue()))
for call in {list(CALLS)!r}:
    try:
        ends.append((0, repr(eval(call))))
    except pc.InputError as problem:
        ends.append((2, f"error: {{problem}}\\n"))
print(json.dumps(ends))
"""
REPORT = f"""{WITHOUT.format(missing=[name for name, extra in EXTRAS.items() if extra != "report"])}
from paraconsist.cli.app import main
main(["report", {SAMPLE!r}])
"""


@pytest.mark.slow
def test_only_what_needs_an_extra_asks_for_it(tmp_path):
    write_file(tmp_path / SAMPLE)
    write_file(tmp_path / OTHER, answers={**ANSWERS, "lost": "11111"})
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    ends = json.loads(done.stdout)
    for (call, extra), (code, errors) in zip([*COMMANDS.items(), *CALLS.items()], ends, strict=True):
        if extra is None:
            assert code == 0, (call, errors)
            assert "not installed" not in errors, call
        else:
            assert code == 2, (call, errors)
            assert errors.count("\n") == 1 + errors.startswith("Loading"), (call, errors)
            assert errors.endswith(f", which is not installed. pip install 'paraconsist[{extra}]'\n"), (call, errors)
    assert sorted(path.name for path in tmp_path.iterdir()) == [SAMPLE, OTHER]


@pytest.mark.slow
def test_a_report_needs_its_own_extra_only(tmp_path):
    pytest.importorskip("jinja2")
    write_file(tmp_path / SAMPLE)
    done = subprocess.run([sys.executable, "-c", REPORT], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("*.html"))


def test_another_missing_module_is_no_extra():
    with pytest.raises(ModuleNotFoundError), extras("f"):
        import no_such_module  # noqa: F401
    sentence = r"f: needs torch, which is not installed\. pip install 'paraconsist\[run\]'"
    with pytest.raises(InputError, match=sentence), extras("f"):
        raise ModuleNotFoundError("No module named 'torch.nn'", name="torch.nn")
