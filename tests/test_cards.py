"""Every card, as a visitor and the Hub read it: metadata, sections, tables, examples, keys and ranges, citation."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import yaml
from helpers.metric_loading import load_metric
from helpers.results import flat
from measures.cases import examples, measured

from paraconsist.dataset_builders import BUILDERS, builder_class
from paraconsist.registry import metric_kind, metric_names, metric_script
from paraconsist.reporting.hub.bucket_sets import section
from paraconsist.reporting.hub.client import read_card
from paraconsist.reporting.hub.spaces import SDK_VERSION

ROOT = Path(__file__).resolve().parent.parent
METRICS = metric_names()
SETS = tuple(BUILDERS)
CARDS = {name: metric_script(name).parent / "README.md" for name in METRICS} | {
    name: ROOT / "dataset_builders" / name / "README.md" for name in SETS
}
DOCUMENTS = CARDS | {"README": ROOT / "README.md"}
METRIC_KEYS = (
    *("title", "emoji", "colorFrom", "colorTo", "sdk", "sdk_version", "app_file", "pinned", "license"),
    *("short_description", "tags", "description"),
)
SET_KEYS = ("pretty_name", "language", "license", "task_categories", "task_ids", "size_categories", "tags")
METRIC_SECTIONS = ("How to use", "Inputs", "Outputs", "Limitations", "Citation")
SET_SECTIONS = ("Columns", "Where it comes from", "Known faults and confounds", "Licence", "Citation")
SIZES = {"n<1K": (0, 1e3), "1K<n<10K": (1e3, 1e4), "10K<n<100K": (1e4, 1e5), "100K<n<1M": (1e5, 1e6)}


def metadata(name: str) -> dict[str, Any]:
    return read_card(CARDS[name]).data.to_dict()


def body(name: str) -> str:
    path = DOCUMENTS[name]
    return read_card(path).text if name in CARDS else path.read_text(encoding="utf-8")


def fences(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def prose(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def tables(text: str) -> Iterator[list[list[str]]]:
    """Yield every table as rows of cells, its header first, as GitHub and the Hub split them."""
    for block in re.findall(r"(?:^\|.*\n)+", prose(text), re.MULTILINE):
        rows = [cells(line) for line in block.splitlines()]
        assert all(re.fullmatch(r":?-+:?", cell) for cell in rows[1]), block
        yield [rows[0], *rows[2:]]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_tables_have_a_cell_for_each_heading(name: str) -> None:
    for heading, *rows in tables(body(name)):
        for row in rows:
            assert len(row) == len(heading), row


@pytest.mark.parametrize("name", DOCUMENTS)
def test_markdown_is_whole(name: str) -> None:
    text = body(name)
    assert text.count("```") % 2 == 0
    lines = prose(text).splitlines()
    titles = [line for line in lines if line.startswith("# ")]
    assert len(titles) == 1
    headings = [line for line in lines if re.match(r"#+ ", line)]
    assert len(set(headings)) == len(headings)
    for heading in headings:  # a blank line on both sides
        i = lines.index(heading)
        assert not lines[i + 1].strip(), heading
        assert i == 0 or not lines[i - 1].strip(), heading
    for paragraph in re.split(r"\n\s*\n", prose(text)):
        assert paragraph.count("`") % 2 == 0, paragraph
        assert paragraph.count("**") % 2 == 0, paragraph


@pytest.mark.parametrize("name", [n for n in CARDS if n != "sample"])
def test_the_citation_is_bibtex(name: str) -> None:
    (entry,) = fences(body(name), "bibtex")
    assert re.match(r"@(article|inproceedings)\{[\w-]+,\n", entry)
    assert entry.count("{") == entry.count("}")
    fields_of = dict(re.findall(r"^\s+(\w+)\s*=\s*[\"{](.*?)[\"}],?$", entry, re.MULTILINE | re.DOTALL))
    where = "journal" if entry.startswith("@article") else "booktitle"
    for key in ("title", "author", "year", where):
        assert fields_of.get(key), key
    assert 2020 <= int(fields_of["year"]) <= 2026
    assert entry.rstrip().endswith("\n}")


@pytest.mark.parametrize("name", METRICS)
def test_metadata_of_a_metric(name: str) -> None:
    data = metadata(name)
    assert tuple(data) == METRIC_KEYS
    assert data["title"].lower().replace(" ", "_") == name
    assert (data["sdk"], str(data["sdk_version"]), data["app_file"]) == ("gradio", SDK_VERSION, "app.py")
    assert data["license"] == "apache-2.0"
    assert data["tags"] == ["evaluate", metric_kind(name)]
    assert 20 <= len(data["short_description"]) <= 60
    assert not re.search(r"\d", re.sub(r"\b20\d\d\b|section 6", "", data["description"]))


def test_each_metric_has_an_emoji_of_its_own() -> None:
    emojis = [metadata(name)["emoji"] for name in METRICS]
    assert len(set(emojis)) == len(emojis)


@pytest.mark.parametrize("name", METRICS)
def test_sections_of_a_metric(name: str) -> None:
    text = body(name)
    title = name.replace("_", " ")
    assert re.match(rf"\n# {metric_kind(name).capitalize()} card: {title}\n", text, re.IGNORECASE)
    headings = re.findall(r"^#+ (.*)$", prose(text), re.MULTILINE)
    assert [h for h in headings if h in METRIC_SECTIONS] == list(METRIC_SECTIONS)
    assert any(h.startswith("Values from") for h in headings)
    for heading in METRIC_SECTIONS[3:]:
        assert re.search(rf"^## {heading}\n", text, re.MULTILINE)
    opening = text.split("## How to use")[0]
    assert re.search(r"^\*\*.*\?\*\*", opening, re.MULTILINE), "a card opens with the question that it answers"


@pytest.mark.parametrize("name", METRICS)
def test_the_example_runs_and_gives_what_stands_behind_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate = pytest.importorskip("evaluate")
    (code,) = fences(section_text(name, "How to use"), "python")
    loaded, metric = [], load_metric(name)
    monkeypatch.setattr(evaluate, "load", lambda wanted, **kinds: loaded.append(wanted) or metric)
    monkeypatch.setattr("paraconsist.register", lambda: None)
    scope: dict[str, Any] = {}
    exec(compile(code, str(CARDS[name]), "exec"), scope)
    assert loaded == [name]
    lines = re.findall(r"^(results\[.*\]) +# (.*)$", code, re.MULTILINE)
    assert lines
    for expression, comment in lines:
        check_shown(eval(expression, scope), comment)


def check_shown(value: Any, comment: str) -> None:
    """Compare a value with the comment behind it: whole, cut (``0.4145...``) or an interval (``-0.016 to 0.162``)."""
    if isinstance(value, (dict, list)) and " to " not in comment:
        assert repr(value) == comment
        return
    numbers = re.findall(r"-?\d+(?:\.\d+)?", comment)
    for number, one in zip(numbers, value if isinstance(value, list) else [value], strict=False):
        if comment.startswith(f"{number}..."):
            assert repr(one).startswith(number), (value, comment)
        else:
            assert round(one, len(number.partition(".")[2])) == float(number), (value, comment)
    assert numbers


def section_text(name: str, title: str) -> str:
    """Return what stands under a heading, subordinate headings included."""
    part = re.search(rf"^(#+) {title}\n(.*?)(?=^#{{1,2}} |\Z)", body(name), re.MULTILINE | re.DOTALL)
    assert part, title
    return part[2]


def outputs(name: str) -> list[dict[str, str]]:
    """Return the rows of a metric's table of outputs, with its headings as keys."""
    for heading, *rows in tables(body(name)):
        if heading[0] == "key":
            return [dict(zip(heading, row, strict=True)) for row in rows]
    raise AssertionError(f"{name} has no table of outputs")


def measure(name: str) -> Callable[..., Any]:
    """Return the function that a metric's script imports."""
    tree = ast.parse(metric_script(name).read_text(encoding="utf-8"))
    (module,) = (
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and name in [alias.name for alias in node.names]
    )
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function


@pytest.mark.parametrize("name", METRICS)
def test_documented_keys_exist(name: str) -> None:
    known = {one.name for one in fields(get_type_hints(measure(name))["return"])}
    documented = [key for row in outputs(name) for key in re.findall(r"`(\w+)`", row["key"])]
    assert len(set(documented)) == len(documented)
    assert set(documented) - known == set()


@pytest.mark.parametrize("name", METRICS)
def test_values_lie_in_the_documented_ranges(name: str) -> None:
    ranges = {}
    for row in outputs(name):
        bounds = re.fullmatch(r"(−1|0(?:\.5)?) to ([\d.]+|`relaxed`)", row["range"])
        if bounds:
            low, high = float(bounds[1].replace("−", "-")), 1.0 if "`" in bounds[2] else float(bounds[2])
            ranges |= dict.fromkeys(re.findall(r"`((?!n_)\w+)`", row["key"]), (low, high))
    assert ranges
    # these may pass their ranges, as their card says: of all rows, with different bucket sizes; by chance
    for key in ("pvap_pooled", "pvap_unbiased", "between_variance_unbiased"):
        ranges.pop(key, None)
    seen = set()
    for rng, rows in examples(name):
        for key, value in flat(measured(name, rows)).items():
            path = key.strip("/").split("/")
            if path[0] in ranges and isinstance(value, (int, float)) and value == value:
                low, high = ranges[path[0]]
                assert low - 1e-12 <= value <= high + 1e-12, (key, value)
                seen.add(path[0])
        assert rng is not None
    assert seen


@pytest.mark.parametrize("name", METRICS)
def test_directions_follow_the_names(name: str) -> None:
    for row in outputs(name):
        good = row.get("good", "")
        for key in re.findall(r"`(\w+)`", row["key"]):
            if key.endswith("inconsistency") or key in ("change_rate", "relaxed", "strict"):
                assert good == "down", key
            elif key in ("accuracy", "perturbed_accuracy", "paraphrastic_consistency", "agreement"):
                assert good in ("up", ""), key


@pytest.mark.parametrize("name", SETS)
def test_metadata_of_a_set(name: str) -> None:
    data = metadata(name)
    assert set(SET_KEYS) <= set(data)
    assert data["language"] == ["en"]
    assert "paraconsist" in data["tags"]
    assert data["license"] == ("apache-2.0" if name == "sample" else "unknown")
    assert not {"configs", "dataset_info"} & set(data), "they are made when the set is written"
    (size,) = data["size_categories"]
    low, high = SIZES[size]
    configs = builder_class(name).BUILDER_CONFIGS
    rows = sum(sum(split.values()) for config in configs for split in config.counts.values())
    plain = sum(sum(s.values()) for c in configs if not c.normalize_surface for s in c.counts.values())
    assert any(low <= n < high for n in (rows, plain)), (rows, plain)


@pytest.mark.parametrize("name", SETS)
def test_sections_of_a_set(name: str) -> None:
    text = body(name)
    headings = re.findall(r"^## (.*)$", prose(text), re.MULTILINE)
    wanted = SET_SECTIONS if name != "sample" else ("Fields", "Limits", "Licence", "Citation")
    assert [h for h in headings if h in wanted] == list(wanted)
    assert section(text, "Licence")


@pytest.mark.parametrize("name", SETS)
def test_configs_and_columns_are_described(name: str) -> None:
    text = body(name)
    builder = builder_class(name)
    for config in builder.BUILDER_CONFIGS:
        plain = config.name.removesuffix("_normalized")
        assert f"`{config.name}`" in text or (plain != config.name and f"`{plain}`" in text), config.name
        for label in config.label_names:
            assert f"`{label}`" in text or f'"{label}"' in text, label
        for column in config.strata:
            assert f"`{column}`" in text, column
    for code in fences(text, "python"):
        for wanted, config in re.findall(r'load_dataset\("(\w+)", "(\w+)"', code):
            assert wanted.removeprefix("paraconsist_") == name
            assert config in {c.name for c in builder.BUILDER_CONFIGS}


@pytest.mark.parametrize("name", ["becel", "paranlu"])
def test_the_card_names_the_pinned_sources(name: str, tmp_path: Path) -> None:
    text = body(name)
    seen = set()
    for config in builder_class(name).BUILDER_CONFIGS:
        builder = builder_class(name)(cache_dir=str(tmp_path), config_name=config.name)
        for file in builder.upstream_files().values():
            seen.add((file.repository, file.commit))
    assert seen
    for repo, commit in seen:
        assert f"`{repo}`" in text
        assert f"`{commit}`" in text


def test_metadata_is_plain_yaml() -> None:
    for name, path in CARDS.items():
        assert yaml.safe_load(path.read_text(encoding="utf-8").split("---\n")[1]) == metadata(name)
