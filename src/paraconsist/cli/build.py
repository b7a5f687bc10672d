"""``paraconsist build``: prepare bucket sets, so that ``load_dataset`` finds them by name.

Also ``list`` (what there is), ``check`` (are a folder's files whole?) and ``lm-eval`` (where its tasks are).
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from paraconsist.cli.ends import say_status
from paraconsist.cli.options import AS_JSON, argument, echo, print_json
from paraconsist.data.options import option
from paraconsist.errors import check_choice, input_error, renamed


@renamed(config="config_name")
def build(
    *,
    names: list[str] = argument("Bucket sets, such as paranlu (see `paraconsist list`)."),
    data_dir: Path | None = option(
        None, "Folder with the upstream files, used instead of the network; same checksums."
    ),
    folder: Path | None = option(
        None, "Also write Parquet and a card here (for several sets: one folder below for each)."
    ),
    config_name: list[str] | None = option(None, "Only this config; repeat for several. All by default."),
    cache_dir: Path | None = option(None, "A datasets cache other than the default one."),
) -> None:
    """Download bucket sets (or take them from a mirror), verify and prepare them.

    paraconsist build paranlu
    paraconsist build paranlu --data-dir mirror --folder sets
    """
    from paraconsist.data.building import config_named, prepare, write_folder
    from paraconsist.dataset_builders import builder_class

    wanted = {
        name: [config_named(name, config).name for config in config_name or ()]
        or [config.name for config in builder_class(name).BUILDER_CONFIGS]
        for name in dict.fromkeys(names)
    }
    in_cache = "" if cache_dir is None else f', cache_dir="{cache_dir}"'
    for name, configs in wanted.items():
        for config in configs:
            builder = prepare(name, config, data_dir=data_dir, cache_dir=cache_dir)
            echo(f"{name}:{config}")
            for split, roles in builder.config.counts.items():
                echo(f"  {split}: {describe_counts(roles)}")
            echo(f'  load_dataset("{builder.NAME}", "{config}"{in_cache})')
        if folder is not None:
            target = folder if len(wanted) == 1 else folder / name
            written = write_folder(name, target, configs=configs, data_dir=data_dir, cache_dir=cache_dir)
            echo(f"{name} as Parquet with a card: {written}")
            echo(f'  load_dataset("{written}", "{configs[0]}")')
        if Path(bare := builder.NAME).is_dir():
            say_status(f"Note: the folder ./{bare} hides the set from load_dataset({bare!r}) in this directory.")
    say_status("Without a network set HF_HUB_OFFLINE=1 before load_dataset, or it asks the Hub first.")


def describe_counts(roles: Mapping[str, int]) -> str:
    """``2,230 rows (250 original, 1,980 paraphrase)``, or only the rows where there is one role."""
    of_roles = f" ({', '.join(f'{n:,} {role}' for role, n in roles.items())})" if len(roles) > 1 else ""
    return f"{sum(roles.values()):,} rows{of_roles}"


def list_(
    *,
    name: str | None = argument("Only what has this in its name, with all that is known of it.", None),
    long: bool = option(False, "All that is known, not a line for each.", option="--long"),
    published: bool = option(False, "Instead: numbers and predictions of papers.", option="--published"),
    comparers: bool = option(False, "Instead: when answers in free text are the same.", option="--comparers"),
    kinds: bool = option(False, "Instead: kinds of rewording, for `reword`.", option="--kinds"),
    as_json: bool = AS_JSON,
) -> None:
    """Show measures, bucket sets, tasks and training presets.

    paraconsist list
    paraconsist list paranlu
    """
    if published:
        tables = {"Published": _published(), "Published predictions": _published_predictions()}
    elif comparers:
        tables = {"Comparers": _comparers()}
    elif kinds:
        tables = {"Kinds of rewording": _kinds()}
    else:
        tables = {"Measures": _measures(), "Bucket sets": _bucket_sets(), "Tasks": _tasks(), "Presets": _presets()}
    wanted = {
        title: [row for row in rows if name is None or name in next(iter(row.values()))]
        for title, rows in tables.items()
    }
    if not any(wanted.values()):
        what = "what papers published" if published else "a comparer" if comparers else "a measure, set, task or preset"
        raise input_error("list", "name", f"be in the name of {'a kind' if kinds else what}", got=name)
    if as_json:
        print_json(wanted)
        return
    is_shown = sys.stdout.isatty() or "COLUMNS" in os.environ  # a file or a pipe gets a line each
    width = shutil.get_terminal_size().columns if is_shown else sys.maxsize
    for title, rows in wanted.items():
        if rows:
            echo(*_lines(title, rows, width, full=long or (name is not None and not published)), "")


_Rows = list[dict[str, str]]


def _lines(title: str, rows: _Rows, width: int, *, full: bool) -> Iterator[str]:
    """Yield each row's first cell, which is what one types, and the second beside or all others below it."""
    what, other, *_ = rows[0]
    yield f"{title} ({what})" if full else f"{title} ({what}: {other})"
    longest = 4 + max(len(row[what]) for row in rows)
    is_beside = not full and longest <= width // 2
    for row in rows:
        name = f"  {row[what]}"
        if not is_beside:
            yield name
        cells = [f"{column}: {line}" for column in list(row)[1:] for line in row[column].split("\n")]
        indent = " " * (longest if is_beside else 6)
        for text in cells if full else [row[other]]:
            start = name.ljust(longest) if is_beside else indent
            yield from textwrap.wrap(
                text, width, initial_indent=start, subsequent_indent=indent, break_long_words=False
            )


def _measures() -> _Rows:
    from paraconsist.measures.catalogue import list_measures

    return [
        {"evaluate.load(...)": spec.name, "question": spec.question, "by chance": spec.chance or "-"}
        for spec in list_measures()
    ]


def _bucket_sets() -> _Rows:
    from paraconsist.data.building import is_prepared
    from paraconsist.dataset_builders import BUILDERS, builder_class

    return [
        {
            "--dataset": f"{name}:{config.name}",
            "prepared": "yes" if is_prepared(name, config.name) else "no",
            "task": config.task,
            "measures": ", ".join(config.measures) or "-",
            "rows": "\n".join(f"{split}: {describe_counts(roles)}" for split, roles in config.counts.items()),
        }
        for name in BUILDERS
        for config in builder_class(name).BUILDER_CONFIGS
    ]


def _tasks() -> _Rows:
    from paraconsist.data.tasks import TASKS

    return [
        {
            "name": task.name,
            "what is asked": task.description,
            "columns": ", ".join(task.columns),
            "labels": ", ".join(task.label_names),
        }
        for task in TASKS.values()
    ]


def _comparers() -> _Rows:
    from paraconsist.comparing.comparer import comparer_names, comparer_spec

    specs = [spec for name in comparer_names() if (spec := comparer_spec(name)) is not None]
    return [
        {
            "--same": spec.name,
            "when two answers are the same": spec.title,
            "after a colon": spec.argument or "-",
            "needs": spec.needs or "-",
            "not read": spec.unread,
            "symmetric, transitive": ", ".join("yes" if x else "no" for x in (spec.is_symmetric, spec.is_transitive)),
        }
        for spec in specs
    ]


def _kinds() -> _Rows:
    # rewording belongs to the studies, which the core commands do not import
    kinds, columns = import_module("paraconsist.transforms.rewording").KINDS, ("keeps", "tasks", "source")
    return [
        {"reword --kinds": kind.name, "what it changes": kind.title, **{name: getattr(kind, name) for name in columns}}
        | {"examples": "reworded alike" if kind.with_shots else "held"}
        | {"valid variants": f"{kind.valid[0]} of {kind.valid[1]}" if kind.valid else "not measured"}
        for kind in kinds.values()
    ]


def _presets() -> _Rows:
    # the presets belong to the studies, which the core commands do not import
    presets = import_module("paraconsist.models.training.options").PRESETS
    return [
        {
            "train --preset": name,
            "model": preset.model or "any",
            "settings": ", ".join(f"{key}={value}" for key, value in preset.settings.items()),
            "what for": re.sub(r"`(\w+)`", lambda field: f"--{field[1].replace('_', '-')}", preset.description),
        }
        for name, preset in presets.items()
    ]


def _published() -> _Rows:
    from paraconsist.data.published import published

    return [
        {
            "what": ", ".join((f"{row['model']} {row['size'] or ''}".strip(), row["dataset"], row["measure"])),
            "value": f"{row['value']:g} {row['unit']}".rstrip() + f" ({row['paper']}, table {row['table']})",
            "source": row["source"],
            "note": row["note"] or "-",
        }
        for row in published().to_pylist()
    ]


def _published_predictions() -> _Rows:
    from paraconsist.data.published import PREFIX, published_files

    sets: dict[str, list[str]] = {}
    for one in published_files():
        if not one.set.endswith("_test"):
            sets.setdefault(f"{PREFIX}{one.collection}/{one.model}", []).append(one.set)
    return [{"name": name, "sets": ", ".join(of_model)} for name, of_model in sets.items()]


def check(
    *,
    folder: Path = argument("A folder that run, train, build --folder or a study wrote, a model, or a bucket set."),
    as_json: bool = AS_JSON,
) -> None:
    """Check a folder: every file readable, there, and as it was written; exit 0 if so, 1 if not.

    paraconsist check runs/a
    paraconsist check models/a --json
    """
    from paraconsist.running.checking import check_folder

    checked = check_folder(folder)
    wrong = [file for file in checked if file.problem]
    if as_json:
        print_json([vars(file) for file in checked])
    else:
        for file in checked:
            echo(f"{'WRONG' if file.problem else 'ok':5}  {file.name}: {file.problem or file.content}")
        is_well = f"{len(checked)} files, all well."
        echo(f"{len(wrong)} of {len(checked)} files are not as they should be." if wrong else is_well)
    raise SystemExit(1 if wrong else 0)


def lm_eval(*, what: str = argument("'path': the folder for lm_eval's --include_path.")) -> None:
    """Print the folder of the bucket sets' tasks for lm-evaluation-harness.

    paraconsist lm-eval path
    lm_eval --model hf --include_path "$(paraconsist lm-eval path)" --tasks paraconsist_sample
    """
    check_choice("lm-eval", "what", what, ["path"])
    if find_spec("lm_eval") is None:
        raise ModuleNotFoundError(name="lm_eval")
    echo(str(Path(__file__).parents[1] / "plugins" / "lm_eval_tasks"))
