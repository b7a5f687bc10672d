"""What was pushed, loaded back by a stranger: real clients, fresh processes, empty caches, a Hub on this machine."""

import ast
import hashlib
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.local_hub import TOKEN, Blob, LocalHub, local_hub
from helpers.results import assert_same
from measures.cases import CASES, examples, measured

from paraconsist.data.building import prepare
from paraconsist.dataset_builders import builder_class
from paraconsist.registry import metric_names, metric_script

pytestmark = pytest.mark.slow

#: Comes first in a stranger's process: there is no paraconsist.
WITHOUT_US = "import sys; sys.modules['paraconsist'] = None\n"

LOAD_METRICS = """
import ast, pickle, sys, warnings
from pathlib import Path
import evaluate
warnings.simplefilter("ignore")
calls = ast.literal_eval(Path(sys.argv[1]).read_text())
found = {name: evaluate.load(f"org/{name}").compute(**columns) for name, columns in calls.items()}
Path(sys.argv[2]).write_bytes(pickle.dumps(found))
"""

LOAD_SET = """
import hashlib, json, sys
from datasets import load_dataset
def digest(rows):
    features = {name: str(feature) for name, feature in rows.features.items()}
    return [hashlib.sha256(json.dumps(list(rows)).encode()).hexdigest(), json.dumps(features)]
repo, configs, streamed = sys.argv[1], sys.argv[2].split(","), sys.argv[3].split(",")
found = {c: {s: digest(rows) for s, rows in load_dataset(repo, c).items()} for c in configs}
stream = {c: {s: digest(rows) for s, rows in load_dataset(repo, c, streaming=True).items()} for c in streamed}
print(json.dumps([found, stream, sorted(m for m in sys.modules if m.startswith("paraconsist"))]))
"""


@pytest.fixture(scope="module")
def hub():
    with local_hub() as server:
        yield server


def run(hub: LocalHub, home: Path, *call: str, ok: bool = True) -> subprocess.CompletedProcess[str]:
    """Run Python in a new process that knows this Hub and has caches of its own."""
    home.mkdir(exist_ok=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGINGFACE"))}
    env |= {"HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1"}
    env |= {"HF_UPDATE_DOWNLOAD_COUNTS": "0", "NO_PROXY": "127.0.0.1", "HF_HUB_DISABLE_TELEMETRY": "1"}
    done = subprocess.run([sys.executable, *call], capture_output=True, text=True, cwd=home, env=env)
    assert (done.returncode == 0) is ok, done.stderr
    assert TOKEN not in done.stdout + done.stderr
    return done


def push(hub: LocalHub, home: Path, *arguments: str) -> str:
    return run(hub, home, "-m", "paraconsist", "push", *arguments).stdout


#: The command, twice.
TWICE = """
import contextlib
from paraconsist.cli.app import main
with contextlib.suppress(SystemExit):
    main()
main()
"""


def local_digest(name: str, config: str, cache: Path) -> dict[str, list[str]]:
    found = {}
    for split, rows in prepare(name, config, cache_dir=cache).as_dataset().items():
        features = {column: str(feature) for column, feature in rows.features.items()}
        text = json.dumps(list(rows)).encode()
        found[split] = [hashlib.sha256(text).hexdigest(), json.dumps(features)]
    return found


def assert_loads(
    hub: LocalHub, name: str, tmp_path: Path, cache: Path, configs: list[str], streamed: list[str]
) -> None:
    """Assert that a stranger gets the rows and features that this package builds."""
    call = ("-c", WITHOUT_US + LOAD_SET, f"org/{name}", ",".join(configs), ",".join(streamed))
    found, stream, ours = json.loads(run(hub, tmp_path / "stranger", *call).stdout.splitlines()[-1])
    expected = {config: local_digest(name, config, cache) for config in configs}
    assert found == expected
    assert stream == {config: expected[config] for config in streamed}
    assert ours == ["paraconsist"]  # the entry that says it is missing


def configs_of(name: str) -> list[str]:
    return [config.name for config in builder_class(name).BUILDER_CONFIGS]


def test_every_metric_gives_the_same_from_the_hub(hub, tmp_path):
    push(hub, tmp_path / "home", "metric", "--all", "--namespace", "org")
    assert {id for type, id in hub.repos if type == "space" and id.startswith("org/")} == {
        f"org/{name}" for name in metric_names()
    }
    rows = {name: next(examples(name))[1] for name in metric_names()}
    calls = {name: {**columns, **CASES[name].quick} for name, columns in rows.items()}
    (tmp_path / "given.txt").write_text(repr(calls))
    run(hub, tmp_path / "stranger", "-c", LOAD_METRICS, str(tmp_path / "given.txt"), str(tmp_path / "found"))
    found = pickle.loads((tmp_path / "found").read_bytes())
    for name in metric_names():
        expected = measured(name, rows[name])
        assert_same(found[name], expected)
        assert found[name]["signature"] == expected["signature"]


def test_without_this_package_evaluate_says_what_to_install(hub, tmp_path):
    space = hub.create("space", "ada/ie_test")
    space.add({"ie_test.py": Blob(metric_script("ie_test").read_bytes())}, "the script as it is pushed")
    code = WITHOUT_US + "import evaluate; evaluate.load('ada/ie_test')"
    done = run(hub, tmp_path / "stranger", "-c", code, ok=False)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: To be able to use ada/ie_test, you need to install the following dependencies['paraconsist'] "
        "using 'pip install paraconsist' for instance'"
    )


def test_the_sample_set_loads_without_this_package(hub, tmp_path):
    cache = tmp_path / "cache"
    push(hub, tmp_path / "home", "dataset", "sample", "--repo", "org/sample", "--cache-dir", str(cache))
    configs = configs_of("sample")
    assert_loads(hub, "sample", tmp_path, cache, configs, configs)


RUN_QUESTIONS = """
import json, sys
import paraconsist as pc
def app(prompts):
    return ["30 days" if "days" in str(prompt) else "5 euro" for prompt in prompts]
runs = [pc.run(app, name, output=name + "-run", version="1") for name in sys.argv[1:]]
print(json.dumps([run.score(same="number").to_dict() for run in runs]))
"""


def test_own_questions_are_run_from_the_hub_as_from_their_file(hub, tmp_path):
    home, asked = tmp_path / "home", ["{wordings: [How many days, Until when], expected: [30, thirty]}"]
    asked += ["{wordings: [What fee, Which fee], expected: 5}"]
    home.mkdir()
    (home / "own.yaml").write_text(f"same: number\nsystem: You sell shoes.\nquestions: [{', '.join(asked)}]\n")
    push(hub, home, "dataset", "own.yaml", "--repo", "org/own")
    code = "from datasets import load_dataset\nprint(load_dataset('org/own', split='test').to_dict())"
    rows = ast.literal_eval(run(hub, tmp_path / "stranger", "-c", WITHOUT_US + code).stdout.splitlines()[-1])
    assert (rows["expected"], rows["system"]) == ([["30", "thirty"]] * 2 + [["5"]] * 2, ["You sell shoes."] * 4)
    assert rows["question"][:2] == ["How many days", "Until when"]
    here, there = json.loads(run(hub, home, "-c", RUN_QUESTIONS, "own.yaml", "org/own").stdout.splitlines()[-1])
    of_file, of_hub = (found["measures"]["paraphrastic_consistency"] for (found,) in (here.values(), there.values()))
    del of_file["signature"], of_hub["signature"]  # which name the set
    assert of_file == of_hub
    assert of_file["accuracy"] == 0.75


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "configs"),
    [("paranlu", ["delta_snli", "delta_snli_test"]), ("parte", None), ("becel", ["snli_symmetric"])],
    ids=["paranlu", "parte", "becel"],
)
def test_the_real_sets_load_without_this_package(hub, tmp_path, data_folder, name, configs):
    cache = tmp_path / "cache"
    data_dir = data_folder / "parte" if name == "parte" else data_folder
    some = [word for config in configs or () for word in ("--config-name", config)]
    arguments = [
        "dataset",
        name,
        "--repo",
        f"org/{name}",
        "--data-dir",
        str(data_dir),
        "--cache-dir",
        str(cache),
        *some,
    ]
    arguments += ["--i-have-the-rights", "a Hub on this machine only"]
    printed = run(hub, tmp_path / "home", "-c", TWICE, "push", *arguments).stdout
    assert printed.count("Nothing to send") == 1
    (commit,) = (one for one in hub.repos["dataset", f"org/{name}"].commits if "rights: " in one.message)
    assert commit.message.endswith("; rights: a Hub on this machine only")
    chosen = configs or configs_of(name)
    assert_loads(hub, name, tmp_path, cache, chosen, chosen[:1])
