"""The prompt of a set from the options of a run: template by name or file, examples from sets or files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from paraconsist.data import prompts
from paraconsist.data.foreign import read_yaml
from paraconsist.data.prompts import QuestionPrompt
from paraconsist.data.tasks import QUESTIONS, Task
from paraconsist.errors import input_error
from paraconsist.running.options import PromptOptions

if TYPE_CHECKING:
    from paraconsist.data.bucket_sets import BucketSet


_TEMPLATE_ENDINGS = (".yaml", ".yml", ".json")


@dataclass(frozen=True)
class Pool:
    """Rows to draw examples from."""

    task: Task
    label_names: tuple[str, ...]
    examples: tuple[prompts.Example, ...]


def load_pools(options: PromptOptions) -> list[Pool]:
    """Read the sets and files that examples are drawn from."""
    from paraconsist.data.bucket_sets import load_bucket_set

    pools = []
    for spec in options.examples:
        if (path := Path(spec)).is_file():
            rows = _file_rows(path)
        else:
            rows = load_bucket_set(spec, data_dir=options.data_dir, split=_split_of(spec, options.split))
        examples = [
            prompts.Example(row, rows.label_names[label])
            for row in rows.table.select([*rows.task.columns, "label"]).to_pylist()
            if (label := row.pop("label")) >= 0
        ]
        pools.append(Pool(rows.task, rows.label_names, tuple(examples)))
    return pools


def _file_rows(path: Path) -> BucketSet:
    """Return rows of a file, not necessarily a bucket set; columns and labels are checked as those of one."""
    from paraconsist.data.bucket_sets import bucket_set_from_table, declared_label_names
    from paraconsist.data.tables import read_table

    table = read_table(path, function="run", parameter="examples")
    of_buckets = {"bucket_id", "group_id", "role", "allowed_labels", "example_id"}
    table = table.drop_columns([column for column in table.column_names if column in of_buckets])
    table = table.append_column("bucket_id", pa.array([str(i) for i in range(table.num_rows)]))
    return bucket_set_from_table(table, name=path.stem, label_names=declared_label_names(table))


def _split_of(spec: str, split: str) -> str:
    """Return `split`, or the only split of a set that has one."""
    from paraconsist.dataset_builders import BUILDERS, builder_class

    name, _, config = spec.partition(":")
    for known in builder_class(name).BUILDER_CONFIGS if name in BUILDERS else ():
        if known.name == config and len(known.counts) == 1:
            return str(next(iter(known.counts)))
    return split


def make_prompt(
    options: PromptOptions, pools: Sequence[Pool], task: Task, label_names: Sequence[str], exclude: Collection[str]
) -> prompts.Prompt:
    """Return the prompt for sets of one task and one list of label names; `pools` are from `load_pools`.

    The inputs with ids in `exclude`, which the model will be asked, are never examples.
    """
    template = read_template(options.template, task, label_names)
    fitting = [pool for pool in pools if pool.task == task]
    if options.shots and len(fitting) < len(pools):
        other = next(pool.task.name for pool in pools if pool.task != task)
        raise input_error("run", "examples", f"be of task {task.name}, as the sets are", got=other)
    renamed = [_with_labels_of(template, pool) for pool in fitting]
    drawn = prompts.draw_examples(task, renamed, options.shots or 0, seed=options.seed, exclude=exclude)
    return prompts.Prompt(template, drawn, options.system)


def prompt_for(group: Sequence[BucketSet], options: PromptOptions, pools: Sequence[Pool]) -> prompts.Prompt:
    """Return the prompt for the sets of a group, which are of one task and have the same labels."""
    label_names = group[0].label_names
    if group[0].task is QUESTIONS:
        for option in ("template", "shots"):
            if value := getattr(options, option):
                must, remedy = "not be given with questions, which bring their own", "Use `system` or `messages`."
                raise input_error("run", option, must, got=value, remedy=remedy)
        return QuestionPrompt(system=options.system)
    if options.template is None:
        for other in group:
            if len(other.label_names) != len(label_names):
                must = f"be given where sets of one task have different labels, as {group[0].name} and {other.name}"
                remedy = "Give `template` and `label_map`, or run the sets apart."
                raise input_error("run", "template", must, remedy=remedy)
    input_ids = {input_id for bucket_set in group for input_id in bucket_set.table["input_id"].to_pylist()}
    return make_prompt(options, pools, group[0].task, label_names, input_ids)


def read_template(template: str | None, task: Task, label_names: Sequence[str]) -> prompts.PromptTemplate:
    """Return a template by name or from a file, or the default one."""
    if template is None:
        return prompts.default_template(task, label_names)
    path = Path(template)
    if path.suffix.lower() not in _TEMPLATE_ENDINGS and not path.is_file():
        return prompts.get_template(template, task)
    # scalars are read as text: `yes` and `1` are label words, not truth values and numbers
    mapping = read_yaml("run", "template", path, typed=False)
    return prompts.template_from_mapping(mapping, name=path.stem, task=task)


def _with_labels_of(template: prompts.PromptTemplate, pool: Pool) -> tuple[prompts.Example, ...]:
    """Return a pool's examples under the template's label names, which are matched like a model's."""
    from paraconsist.models.labels import resolve_label_map

    label_map = None
    if set(template.labels) == {"entailment", "not_entailment"} and "neutral" in pool.label_names:
        # the only many-to-one map that is never ambiguous
        label_map = {name: "not_entailment" for name in pool.label_names if name != "entailment"}
    mapped = resolve_label_map(pool.label_names, template.label_names, label_map)
    names = {name: template.label_names[to] for name, to in zip(pool.label_names, mapped.targets, strict=True)}
    return tuple(prompts.Example(example.values, names[example.label]) for example in pool.examples)
