"""The walls between the rooms: what each may import, and what must not come with it in a fresh process."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "paraconsist"
#: Room -> the rooms it may import. A room that is added without a line here fails.
ROOMS = {
    "_version": set(),
    "errors": set(),
    "entry_points": {"errors"},
    "files": {"errors"},
    "measures": {"errors", "entry_points", "files", "_version"},
    "data": {"errors", "entry_points", "files", "_version", "dataset_builders"},
    "models": {"data", "errors", "files", "_version", "dataset_builders"},
    "comparing": {"models", "data", "measures", "errors", "files", "entry_points"},
    "scoring": {"comparing", "data", "measures", "errors", "files", "_version"},
    "running": {
        "models",
        "scoring",
        "data",
        "measures",
        "errors",
        "files",
        "entry_points",
        "_version",
        "dataset_builders",
    },
    "reporting": {"scoring", "comparing", "data", "measures", "errors", "files", "_version", "registry"}
    | {"dataset_builders"},
}
ROOMS["transforms"] = ROOMS["running"] | {"running", "comparing"}
ROOMS["studies"] = ROOMS["transforms"] | {"transforms", "reporting"}
ROOMS["cli"] = ROOMS["studies"] | {"studies", "registry", "entry_points", "comparing"}
ROOMS["api"] = ROOMS["running"] | {"running", "reporting", "comparing"}
ROOMS["plugins"] = ROOMS["cli"] | {"cli"}
#: The files that are no room, and what stands outside src/.
ROOMS |= {
    "registry": {"errors", "files"},
    "evaluate_module": {"errors", "measures"},
    "__main__": {"cli"},
    "metrics": {"evaluate_module", "measures"},
    "dataset_builders": {"data", "errors", "files"},
}
PLATFORM = {"torch", "transformers", "accelerate", "datasets", "evaluate", "pandas", "pyarrow"}
NUMBERS = {"numpy", "scipy"}
DRAWING = {"matplotlib", "jinja2", "gradio"}
#: What is imported in a fresh process -> packages that must not come with it.
LIGHT = {
    "paraconsist": PLATFORM | NUMBERS | DRAWING | {"click", "rich"}, "paraconsist.errors": PLATFORM | NUMBERS,
    "paraconsist.files": PLATFORM | NUMBERS, "paraconsist.registry": PLATFORM,
    "paraconsist.data.tasks": PLATFORM | NUMBERS, "paraconsist.data.options": PLATFORM | NUMBERS,
    "paraconsist.data.logs.reading": PLATFORM - {"pyarrow"}, "paraconsist.models": PLATFORM - {"pyarrow"},
    "paraconsist.models.labels": PLATFORM, "paraconsist.models.training.options": PLATFORM | NUMBERS,
    "paraconsist.scoring.score": PLATFORM - {"pyarrow"}, "paraconsist.scoring.compare": PLATFORM - {"pyarrow"},
    "paraconsist.running.endpoint": (PLATFORM - {"pyarrow"}) | {"aiohttp"},
    "paraconsist.reporting.tables": PLATFORM | DRAWING,
    "paraconsist.reporting.page": (PLATFORM - {"pyarrow"}) | DRAWING,
    "paraconsist.reporting.space": PLATFORM | NUMBERS | DRAWING,
    "paraconsist.reporting.space.catalogue": (PLATFORM - {"pyarrow"}) | DRAWING,
    "paraconsist.reporting.hub.spaces": PLATFORM | NUMBERS, "paraconsist.reporting.hub.runs": PLATFORM - {"pyarrow"},
    "paraconsist.transforms": PLATFORM | NUMBERS, "paraconsist.studies.aflite": PLATFORM | {"sklearn", "matplotlib"},
    "paraconsist.studies.artifacts": (PLATFORM - {"pyarrow"}) | {"sklearn", "matplotlib"},
    "paraconsist.studies.ie.decision": (PLATFORM - {"pyarrow"}) | {"sklearn", "matplotlib"},
    "paraconsist.studies.ie.experiment": (PLATFORM - {"pyarrow"}) | {"sklearn", "matplotlib"},
    "paraconsist.cli": PLATFORM | NUMBERS | {"rich", "click"},
    "paraconsist.plugins.pytest": PLATFORM | NUMBERS | {"rich", "click"},
    "paraconsist.cli.app": PLATFORM | NUMBERS | {"rich", "yaml"}
}  # fmt: skip
#: (importer, imported): imports for types or inside functions that close a circle today; the list only gets shorter.
CIRCLES: set[tuple[str, str]] = set()
#: What only the studies, and the commands that belong to them, may import.
STUDIES_ONLY = {"studies", "transforms", "models.training", "models.word_models", "models.encoders"}
STUDY_COMMANDS = {
    *("artifacts", "ie_test", "paraphrase", "perturb", "select", "sensitivity", "studies", "train"),
    "transform",
    "reword",
}
#: Plug-ins that run what a study's command wrote.
STUDY_PLUGINS = {"paraconsist.plugins.reworded", "paraconsist.plugins.reworded_inspect"}
MEASURES_MAY_IMPORT = {*NUMBERS, "paraconsist", *sys.stdlib_module_names}


def room(path: Path) -> str:
    """Return the room a file stands in: a folder or file of the package, or one of the two folders outside it."""
    return path.relative_to(SOURCE if path.is_relative_to(SOURCE) else ROOT).parts[0].removesuffix(".py")


def files() -> list[Path]:
    outside = [path for folder in ("metrics", "dataset_builders") for path in (ROOT / folder).rglob("*.py")]
    return sorted([*SOURCE.rglob("*.py"), *outside])


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path, *, at_import_time: bool = False) -> Iterator[str]:
    """Yield the modules that a file imports, anywhere or when it is imported itself."""
    tree = parsed(path)
    for node in tree.body if at_import_time else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                inner = SOURCE.parent.joinpath(*node.module.split("."), alias.name)
                is_module = inner.is_dir() or inner.with_suffix(".py").is_file()
                yield f"{node.module}.{alias.name}" if is_module else node.module


def test_no_measures_name_stands_outside_the_room_of_the_measures():
    """What is said of a measure is said in the catalogue; others go by its entries and never spell a name."""
    from paraconsist.measures.catalogue import CATALOGUE

    spelt = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.value}"
        for path in SOURCE.rglob("*.py")
        if room(path) not in ("measures", "__init__")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in CATALOGUE
    ]
    assert not spelt


def test_there_are_eleven_rooms_and_at_most_nine_files():
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    expected = {
        "measures", "data", "models", "running", "scoring", "transforms", "reporting", "studies", "cli", "plugins",
        "comparing"
    }  # fmt: skip
    assert rooms == expected
    assert len([*SOURCE.glob("*.py")]) <= 9


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_imports_only_from_rooms_below_its_own(path):
    mine = room(path)
    if mine == "__init__":  # the public face opens every door, on first use
        assert not [name for name in imports(path, at_import_time=True) if name.startswith("paraconsist")]
        return
    for name in imports(path):
        if name.startswith("paraconsist."):
            other = name.split(".")[1]
            assert other == mine or other in ROOMS[mine], f"{name}: {mine} may import {sorted(ROOMS[mine])}"
        elif mine == "measures":
            assert name.partition(".")[0] in MEASURES_MAY_IMPORT


def in_circles(edges: dict[str, set[str]]) -> set[str]:
    """Return the modules that remain when every module that waits for no other has been taken away."""
    while ready := {name for name, others in edges.items() if not others & edges.keys()}:
        edges = {name: others for name, others in edges.items() if name not in ready}
    return set(edges)


def test_the_core_imports_nothing_of_the_studies():
    """Score, compare, gate, report and run work without them; a study is reached by its own command only."""

    def belongs_to_studies(module: str) -> bool:
        inner = module.removeprefix("paraconsist.")
        return any(inner == name or inner.startswith(f"{name}.") for name in STUDIES_ONLY)

    modules = {".".join(path.relative_to(SOURCE.parent).with_suffix("").parts): path for path in SOURCE.rglob("*.py")}
    commands = {f"paraconsist.cli.{name}" for name in STUDY_COMMANDS} | STUDY_PLUGINS
    assert commands <= modules.keys()
    core = {name: path for name, path in modules.items() if name not in commands and not belongs_to_studies(name)}
    assert not {(name, other) for name, path in core.items() for other in imports(path) if belongs_to_studies(other)}


def test_no_circle_of_imports():
    """Imports for types and those inside functions count too, `CIRCLES` apart; at import time there is no exception."""
    modules = {
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in SOURCE.rglob("*.py")
    }
    everywhere, at_import_time = (
        {name: (modules.keys() & imports(path, at_import_time=only)) - {name} for name, path in modules.items()}
        for only in (False, True)
    )
    assert not in_circles(at_import_time)
    rest = {name: others - {other for by, other in CIRCLES if by == name} for name, others in everywhere.items()}
    assert not in_circles(rest)
    for importer, imported in CIRCLES:
        again = {**rest, importer: rest.get(importer, set()) | ({imported} & everywhere.get(importer, set()))}
        assert in_circles(again), f"{importer} and {imported} are no circle any more: take them off the list"


#: Modules -> the declared distributions that they are of, or come with.
DISTRIBUTIONS = {"yaml": "pyyaml", "sklearn": "scikit_learn", "mlflow": "mlflow_skinny"} | {
    "pandas": "datasets",
    "markupsafe": "jinja2",
    "threadpoolctl": "scikit_learn",
}
#: What is used where somebody installed it.
UNDECLARED = {"textattack"}


@pytest.mark.faults
def test_what_is_imported_is_declared_and_what_is_declared_is_imported():
    """B31: fsspec was imported by the builders, and came with other packages only."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8").replace("-", "_")
    needed = set(re.findall(r'"(\w+)', re.findall(r"^dependencies = \[(.*?)^\]", text, re.M | re.S)[0]))
    extras = set(re.findall(r'"(\w+)', text.partition("[project.optional_dependencies]")[2].partition("\n\n")[0]))
    names = {name.partition(".")[0] for path in files() for name in imports(path)}
    names -= {*sys.stdlib_module_names, "paraconsist", *UNDECLARED}
    assert needed <= {DISTRIBUTIONS.get(name, name) for name in names} <= needed | extras


@pytest.mark.slow
@pytest.mark.parametrize("module", LIGHT)
def test_what_is_light_stays_light(module):
    assert not loaded_by(f"import {module}") & LIGHT[module]


@pytest.mark.slow
def test_the_measures_pull_in_numpy_and_scipy_only():
    names = sorted(path.stem for path in (SOURCE / "measures").glob("*.py") if path.stem != "__init__")
    loaded = loaded_by("; ".join(f"import paraconsist.measures.{name}" for name in names))
    assert not loaded & (PLATFORM | DRAWING | {"click", "rich"})


#: Runs the command line that follows it and prints the package's modules that this imported.
MODULES_OF_A_COMMAND = """
import contextlib, io, json, sys
from paraconsist.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
print(json.dumps([name for name in sys.modules if name.startswith("paraconsist.")]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("line", "most"), [
    ("score a.csv", 70), ("gate accuracy>=.1 a.csv", 75), ("compare a.csv b.csv", 75),
    ("plan a.csv --half-width .05", 75), ("report a.csv --output page.html", 110)
])  # fmt: skip
def test_scoring_starts_no_model(line, most, tmp_path):
    for name, right in {"a.csv": 3, "b.csv": 4}.items():
        rows = [f"{row // 2},{int(row % right > 0)},1" for row in range(24)]
        (tmp_path / name).write_text("\n".join(["bucket_id,prediction,label", *rows]))
    command = [sys.executable, "-c", MODULES_OF_A_COMMAND, *line.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stderr.count("error") == 0
    modules = json.loads(done.stdout.splitlines()[-1])
    assert not {name.split(".")[1] for name in modules} & {"running", "models", "studies", "transforms"}
    assert len(modules) < most


def loaded_by(code: str) -> set[str]:
    code += "; import sys, json; print(json.dumps(sorted({m.partition('.')[0] for m in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


#: Calls that write or move a file: a function's name with its module or object before it, or a class's alone.
WRITES = {
    *(
        "write_text",
        "write_bytes",
        "write_table",
        "to_parquet",
        "to_csv",
        "to_pickle",
        "save_to_disk",
        "savefig",
        "tofile",
    ),
    *("savez", "savez_compressed", "save_pretrained", "save_model", "save_file", "move", "copy", "copy2", "copyfile"),
    *("copytree", "rename", "renames", "touch", "symlink_to", "hardlink_to", "ParquetWriter"),
}
#: File -> why it writes in another way than inside `files.replacing` or `files.staged`.
WRITES_OTHERWISE = {
    "src/paraconsist/files.py": "is that way",
    "src/paraconsist/cli/options.py": "writes help texts for click to print",
    "src/paraconsist/cli/ends.py": "sends what nobody reads any more to nowhere",
    "src/paraconsist/data/store.py": "appends lines, each with its checksum, synced each second",
    "src/paraconsist/data/tables.py": "a temporary file that is mapped and has no name any more",
    "src/paraconsist/reporting/hub/bucket_sets.py": "in a temporary folder that is pushed and removed",
    "src/paraconsist/reporting/hub/runs.py": "into memory, to be pushed",
    "src/paraconsist/reporting/plots/canvas.py": "draws into memory",
    "src/paraconsist/reporting/space/reader.py": "in a temporary folder of one upload",
    "src/paraconsist/reporting/space/forms.py": "in a temporary folder of one upload",
    "src/paraconsist/models/training/trainer.py": "saves beside; `TrainingFolder.take_saved` puts it in place",
}


def other_writes(tree: ast.Module) -> list[int]:
    """Return the lines that write, and stand in no ``with replacing(...)`` or ``with staged(...)``."""
    lines: list[int] = []
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, inside = waiting.pop()
        if isinstance(node, ast.With):
            inside = inside or any(
                isinstance(item.context_expr, ast.Call)
                and ast.unparse(item.context_expr.func).rpartition(".")[2] in ("replacing", "staged")
                for item in node.items
            )
        elif isinstance(node, ast.Call) and not inside and _writes(node):
            lines.append(node.lineno)
        waiting.extend((child, inside) for child in ast.iter_child_nodes(node))
    return lines


def _writes(call: ast.Call) -> bool:
    place, _, name = ast.unparse(call.func).rpartition(".")
    if name == "open":
        modes = [ast.unparse(part) for part in (*call.args, *(keyword.value for keyword in call.keywords))]
        return any(re.fullmatch(r"'[rbt]*[wax+][wax+rbt]*'|.*O_(WRONLY|RDWR|CREAT).*", mode) for mode in modes)
    if name == "replace":  # `str.replace` takes two, `dataclasses.replace` names its fields
        return place == "os" or (len(call.args) == 1 and not call.keywords)
    return name in WRITES and (bool(place) or name[0].isupper()) and not (name == "copy" and place != "shutil")


def test_files_are_written_in_one_way():
    lines = {str(path.relative_to(ROOT)): other_writes(parsed(path)) for path in files()}
    assert {path: found for path, found in lines.items() if found and path not in WRITES_OTHERWISE} == {}
    assert not [path for path in WRITES_OTHERWISE if not lines[path]], "take these off the list"
    written = "def f():\n with {}:\n  path.open('w'); np.savez(path); open(path, mode='ab'); x.replace(y)"
    for context, n in (("nothing()", 4), ("files.replacing(path) as path", 0), ("a(), staged(folder) as new", 0)):
        assert len(other_writes(ast.parse(written.format(context)))) == n
