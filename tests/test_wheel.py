"""The wheel and the sdist: whole, and enough without the checkout and without the extras."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest
from helpers.missing import EXTRAS, without

if sys.version_info >= (3, 11):
    import tomllib
else:  # pytest brings it
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
#: Where the packages are in the tree.
TREES = {
    "paraconsist": "src/paraconsist",
    "paraconsist.metrics": "metrics",
    "paraconsist.dataset_builders": "dataset_builders",
}
#: Runs at the start of every Python of the new environment: the checkout is not read.
GUARD = """
import os, sys
def _watch(event, given, root={root!r}, allowed={allowed!r}):
    if event == "open" and isinstance(given[0], str) and given[0].startswith(root) and not given[0].startswith(allowed):
        os.write(2, b"READ FROM THE CHECKOUT: " + given[0].encode() + bytes([10]))
        os._exit(99)
sys.addaudithook(_watch)
"""
LOAD = """
import sys
import paraconsist, evaluate
from paraconsist.dataset_builders import BUILDERS, builder_class
from paraconsist.reporting.hub.spaces import metric_space
from paraconsist.registry import metric_names
paraconsist.register()
for name in metric_names():
    evaluate.load(name)
    assert {"README.md", name + ".py", "requirements.txt"} <= {file.path for file in metric_space(name, "org").files}
found = evaluate.load("semantic_inconsistency").compute(predictions=[0, 1, 1, 1], perturbed_predictions=[0, 1, 1, 0])
assert found["inconsistency"] == 0.25, found
run = paraconsist.run(lambda prompts: ["S"] * len(prompts), "sample:defeasible_nli", output="run", version="1")
assert run.score().to_frame()["value"].max() == 1  # P_C of a constant answer
for name in BUILDERS:
    assert (builder_class(name).source_folder() / "README.md").is_file()
ours = {m.__file__ for n, m in sys.modules.items() if n.startswith("paraconsist") and getattr(m, "__file__", None)}
print(*metric_names())
print(*sorted(ours), sep="\\n")
"""


def files_in_tree() -> dict[str, str]:
    """Every file that belongs to the package: its path in the wheel -> its path in the tree."""
    found = {}
    for package, place in TREES.items():
        for path in (ROOT / place).rglob("*"):
            below = path.relative_to(ROOT / place)
            built = package == "paraconsist.dataset_builders" and "data" in below.parts
            if path.is_file() and not built and "__pycache__" not in below.parts:
                found[f"{package.replace('.', '/')}/{below.as_posix()}"] = f"{place}/{below.as_posix()}"
    return found


def call(*arguments: object, cwd: Path, with_errors: bool = False, **more: str) -> str:
    """Run a command away from the checkout, with caches of its own; return what it printed."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "PYTHON", "PIP_", "VIRTUAL_ENV"))}
    env = {**kept, "HF_HOME": str(cwd / "hf"), "HF_HUB_OFFLINE": "1", "PYTHONNOUSERSITE": "1", **more}
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, cwd=cwd, env=env)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout + done.stderr if with_errors else done.stdout


def copy_of_the_tree(folder: Path) -> Path:
    """Copy what is in version control, so that building leaves nothing in the checkout."""
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "MANIFEST.in", "setup.py"):
        if (ROOT / name).is_file():
            shutil.copy(ROOT / name, source)
    for name in ("src", "metrics", "dataset_builders"):
        built = ("data",) if name == "dataset_builders" else ()
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", *built)
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    return source


def build(kind: str, source: Path, folder: Path) -> Path:
    """Build the wheel or the sdist, without a warning."""
    command = (sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "--skip-dependency-check")
    printed = call(*command, "--outdir", folder / kind, source, cwd=folder, with_errors=True)
    assert not re.search("warning", printed, re.IGNORECASE), printed
    [built] = (folder / kind).iterdir()
    return built


def install(wheel: Path, folder: Path) -> tuple[Path, Path]:
    """Install a wheel in a new environment that has the base dependencies; return its Python and its packages."""
    new = folder / "environment"
    call(sys.executable, "-m", "venv", "--without-pip", new, cwd=folder)
    python = next((new / name) for name in ("bin/python", "Scripts/python.exe") if (new / name).exists())
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    call(*pip, "install", "--no-deps", "--no-index", "--no-compile", wheel, cwd=folder)
    site = Path(call(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])", cwd=folder).strip())
    ours = dict.fromkeys(sysconfig.get_paths()[name] for name in ("purelib", "platlib"))
    (site / "base.pth").write_text("\n".join(ours) + "\n")  # its own .pth files, the editable install's too, stay dead
    allowed = tuple(f"{place}{os.sep}" for place in (*ours, sys.prefix, sys.base_prefix))
    guard = GUARD.format(root=f"{ROOT}{os.sep}", allowed=allowed)
    (site / "sitecustomize.py").write_text(without(EXTRAS) + guard)
    return python, site


def assert_whole(wheel: Path) -> None:
    """Assert that a wheel holds the tree's files, byte for byte, and nothing else."""
    tree = files_in_tree()
    with zipfile.ZipFile(wheel) as archive:
        found = {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}
    assert sorted(tree.keys() - found.keys()) == []
    assert sorted(found.keys() - tree.keys()) == []
    assert [name for name, path in tree.items() if found[name] != (ROOT / path).read_bytes()] == []


@pytest.mark.slow
def test_the_wheel_is_whole_and_works_alone(tmp_path):
    wheel = build("wheel", copy_of_the_tree(tmp_path), tmp_path)
    assert_whole(wheel)
    python, site = install(wheel, tmp_path)
    names, *modules = call(python, "-c", LOAD, cwd=tmp_path).splitlines()
    assert names.split() == sorted(path.name for path in ROOT.glob("metrics/*") if (path / f"{path.name}.py").is_file())
    assert modules
    assert [path for path in modules if not path.startswith((str(site), str(tmp_path / "hf")))] == []
    printed = call(python.parent / "paraconsist", "score", "run", cwd=tmp_path, COLUMNS="200")
    assert re.search(r"P_C, paraphrastic consistency +100\.0 %", printed)


@pytest.mark.slow
def test_the_sdist_gives_the_same_wheel(tmp_path):
    with tarfile.open(build("sdist", copy_of_the_tree(tmp_path), tmp_path)) as archive:
        archive.extractall(tmp_path / "sdist", filter="data")
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert sorted({*files_in_tree().values(), "pyproject.toml", "README.md", "LICENSE"} - names) == []
    [source] = [path for path in (tmp_path / "sdist").iterdir() if path.is_dir()]
    wheel = build("wheel", source, tmp_path)
    assert_whole(wheel)
    python, _ = install(wheel, tmp_path)
    printed = call(python.parent / "paraconsist", "list", cwd=tmp_path, COLUMNS="200")
    assert all(f" {name} " in printed for name in ("paraphrastic_consistency", "sample:defeasible_nli", "s24-roberta"))


@pytest.mark.parametrize("name", EXTRAS)
def test_what_is_blocked_is_an_extra(name):
    """A name that is no extra's any more would make the two tests above prove less."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [re.split(r"[<>=\[ ;]", spec)[0] for specs in project["optional-dependencies"].values() for spec in specs]
    distribution = {"sklearn": "scikit-learn", "mlflow": "mlflow-skinny"}.get(name, name.replace("_", "-"))
    assert distribution in extras
    assert distribution not in [re.split(r"[<>=\[ ;]", spec)[0] for spec in project["dependencies"]]
