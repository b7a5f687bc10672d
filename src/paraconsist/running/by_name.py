"""A run by names: which model answers which sets, loaded here or behind an endpoint, and how it is asked.

A prompt's template is named or a file, its examples come from sets or files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from paraconsist.data import prompts as templates
from paraconsist.data.bucket_sets import (
    BucketSet,
    assign_models,
    bucket_set_from_table,
    declared_label_names,
    expand_specs,
    load_bucket_set,
    parse_limits,
    with_test_sets,
)
from paraconsist.data.foreign import read_yaml
from paraconsist.data.prompts import Prompt, QuestionPrompt
from paraconsist.data.tables import read_table
from paraconsist.data.tasks import QUESTIONS, Task, partial_task
from paraconsist.errors import input_error, plural, unknown_option
from paraconsist.files import Json, json_in
from paraconsist.models.endpoint.client import Estimate, Meter
from paraconsist.models.endpoint.settings import EndpointPrompt, EndpointSettings, PromptSettings
from paraconsist.running.endpoint import EndpointReport, EndpointRun, dry_run, run_endpoint
from paraconsist.running.options import LoadOptions, PromptOptions, RunOptions, SetOptions
from paraconsist.running.parts import Part
from paraconsist.running.run import RunReport, run

if TYPE_CHECKING:
    from paraconsist.models.classifier import Classifier

#: Tokens of an answer in free text, unless said otherwise.
ANSWER_TOKENS = 256
_Kind = TypeVar("_Kind")


@dataclass(frozen=True)
class NamedRun:
    """A run of models over bucket sets that are named, behind the `endpoint` if there is one, else on this machine.

    A model is ``MODEL``, or ``PATTERN=MODEL`` for some sets (see `bucket_sets.assign_models`): a Hub id,
    a folder, or a name behind the endpoint.
    """

    models: Sequence[str]
    sets: SetOptions
    prompts: PromptOptions
    loading: LoadOptions
    options: RunOptions
    endpoint: EndpointSettings | None = None
    given: Callable[[], Sequence[BucketSet]] | None = None  # in place of the sets that `sets` names
    loaded: dict[str, BucketSet] = field(default_factory=dict)  # sets that were prepared, for several runs
    meter: Meter | None = None  # of what several runs send
    is_last: bool = True  # of several runs

    def each(self, models: Mapping[str, Json]) -> dict[str, NamedRun]:
        """Return a run for each of several models, from `read_models`, in a folder of its own in this run's folder."""
        runs, meter = dict[str, NamedRun](), None if self.endpoint is None else Meter(self.endpoint)
        for name, own in models.items():
            parts = {part: getattr(self, part) for part in OF_MODELS}
            for part, of_model in OF_MODELS.items():
                values = {option: own[option] for option in of_model if option in own}
                if values and parts[part] is None:
                    raise input_error("run", next(iter(values)), "be given only with `endpoint`")
                try:
                    parts[part] = replace(parts[part], **values) if values else parts[part]
                except TypeError:
                    raise input_error("run", "models", "have options of the right kind", got=values) from None
            parts["options"] = replace(parts["options"], output=self.options.output / name)
            is_last = len(runs) == len(models) - 1
            runs[name] = replace(self, models=[own["model"]], meter=meter, is_last=is_last, **parts)
        return runs


#: Options in which several models of one call may differ, by the field of `NamedRun`.
OF_MODELS: Mapping[str, tuple[str, ...]] = {
    "prompts": tuple(name for name in vars(PromptOptions()) if name != "data_dir"),
    "loading": tuple(vars(LoadOptions())),
    "options": ("label_map", "label_rule", "seed", "batch_tokens"),
    "endpoint": ("api", "request_fields"),
}


def read_models(given: Any, known: Collection[str]) -> dict[str, Json]:
    """Return models by the names of their folders, each with ``model`` and options of its own, among `known`.

    `given` is a list of models, or a mapping of names to them, or a file with either in YAML, or with a model a line. A
    model is a name, a folder, a function, or a mapping of ``model`` and options. InputError for anything else.
    """
    if isinstance(given, (str, Path)):
        given = _read_file(Path(given))
    listed = [*given.items()] if isinstance(given, Mapping) else [(None, one) for one in given]
    models: list[tuple[Any, Json]]
    models = [(name, one if isinstance(one, Mapping) else {"model": one}) for name, one in listed]
    last = Counter(Path(_called(one.get("model"))).name for _, one in models)
    named: dict[str, Json] = {}
    for name, one in models:
        path, remedy = Path(_called(one.get("model"))), "An entry is a model, or a mapping of model and options."
        if not one.get("model") or not (isinstance(one["model"], (str, Path)) or callable(one["model"])):
            raise input_error("run", "models", "have a model in each entry", got=dict(one), remedy=remedy)
        for option in one:
            if option != "model" and option not in known:
                raise unknown_option("run", option, known)
        folder = name or (path.name if last[path.name] == 1 else "-".join(part for part in path.parts if part != "/"))
        if folder in named or folder in ("", ".", "..") or Path(str(folder)).name != folder:
            must, remedy = "have a name of its own for each model, of a folder", "Map names to models."
            raise input_error("run", "models", must, got=folder, remedy=remedy)
        named[folder] = one
    if not named:
        raise input_error("run", "models", "be a list of at least one model, or a mapping of names to models")
    return named


def _called(model: Any) -> str:
    """Return a model's name, the same in each process; nothing for a callable object."""
    return str(getattr(model, "__name__", "")).strip("<>") if callable(model) else str(model)


def _read_file(path: Path) -> Any:
    """Return what a YAML file holds, or the lines of another one, without comments."""
    if path.suffix.lower() in (".yaml", ".yml"):
        read = read_yaml("run", "models", path)
        return read if isinstance(read, (list, Mapping)) else []
    try:
        lines = [line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError):
        raise input_error("run", "models", "name a text file that can be read", got=str(path)) from None
    return [line for line in lines if line]


def say_total(runs: Collection[NamedRun], what: str, say: Callable[[str], None]) -> None:
    """Say what several runs over an endpoint will send together, before the first of them begins."""
    estimates = [dry_run(over_endpoint(run, run.endpoint)) for run in runs if run.endpoint is not None]
    meter = next(iter(runs)).meter
    if len(estimates) > 1 and meter is not None and (total := Estimate.total(estimates)).n_requests:
        say(total.describe(meter, f" of all {plural(len(runs), what)}"))


def run_by_name(named: NamedRun, say: Callable[[str], None] | None = None) -> RunReport | EndpointReport:
    """Run models over bucket sets. `say` is as in `run_endpoint`."""
    if named.endpoint is not None:
        return run_endpoint(over_endpoint(named, named.endpoint), say)
    for model in named.models:
        if model.startswith(("http://", "https://")):
            remedy = "Give the address as `endpoint` and the model's name there as `model`."
            raise input_error("run", "model", "be a model, not an address", remedy=remedy)
    prompts, options, sets = named.prompts, named.options, NamedSets(named)
    from paraconsist import load_model  # names the extra if torch is not installed

    opened: dict[str, Classifier] = {}  # weights of language models are loaded once for all tasks

    def load(name: str, group: Sequence[BucketSet]) -> Classifier:
        def settings() -> PromptSettings:
            return PromptSettings(sets.prompt(group), seed=options.seed, **asking(prompts, group))

        if name in opened:
            loaded = opened[name].with_settings(settings())
        else:
            loaded = load_model(name, task=group[0].task, ask=settings, device=options.device, **vars(named.loading))
        if loaded.takes_prompt:
            opened[name] = loaded
            if (columns := named.sets.input_columns) is not None:
                must, remedy = "be given for classifiers only", "Give a `template` instead."
                raise input_error("run", "input_columns", must, got=columns, remedy=remedy)
        prompts.check_used(loaded)
        return loaded

    return run(load, sets.load, options, say, is_last=named.is_last)


def over_endpoint(named: NamedRun, endpoint: EndpointSettings) -> EndpointRun:
    """Return a run over an endpoint; InputError for options that only models on this machine have."""
    if named.sets.input_columns is not None:
        raise input_error("run", "input_columns", "not be given with `endpoint`", remedy="Use a template.")
    prompts, options, sets = named.prompts, named.options, NamedSets(named)
    local = {name: getattr(options, name) for name in ("device", "batch_tokens", "deterministic", "compile")}
    usual = {**vars(LoadOptions()), **dict.fromkeys(("device", "batch_tokens", "device_map"))}
    of_prompts = {"device_map": prompts.device_map, "template_argument": bool(prompts.template_arguments)}
    for name, value in {**vars(named.loading), **local, **of_prompts}.items():
        if value != usual.get(name, False):
            must, remedy = "be given only without `endpoint`", "The endpoint's server decides it."
            if name == "template_argument":
                remedy = "Many servers take a `request_field` chat_template_kwargs={...}."
            raise input_error("run", name, must, got=value, remedy=remedy)
    if prompts.temperature > 0 and "temperature" in endpoint.request_fields:
        must = "not be given with a `request_field` of that name"
        raise input_error("run", "temperature", must, got=prompts.temperature)

    def ask(name: str, group: Sequence[BucketSet]) -> EndpointPrompt:
        return EndpointPrompt(name, sets.prompt(group), seed=options.seed, **asking(prompts, group))

    return EndpointRun(sets.load, ask, endpoint, options, named.meter)


def asking(prompts: PromptOptions, group: Sequence[BucketSet]) -> dict[str, Any]:
    """Return how the sets of a task are asked: questions in free text by a chat, with room for an answer."""
    options = prompts.asking()
    if group[0].task is not QUESTIONS:
        prompts.check_draws()
        return options
    if prompts.scoring == "label":
        raise input_error("run", "scoring", "be generate for questions in free text", got="label")
    n_tokens = ANSWER_TOKENS if prompts.max_new_tokens is None else prompts.max_new_tokens
    return options | {"scoring": "generate", "chat": True, "max_new_tokens": n_tokens}


class NamedSets:
    """Bucket sets by the models that answer them, and their prompts; all is read when `load` is called."""

    def __init__(self, named: NamedRun) -> None:
        self._named = named
        self._pools: list[Pool] = []
        self._whole: dict[str, BucketSet] = {}
        part = named.sets.part
        self._part = None if part is None else Part.read(part)
        if self._part is not None and (named.options.noise_floor or named.options.repeats):
            must = "not be given with `noise_floor` or `repeats`"
            remedy = "Run the same command without `part` in the merged folder: it computes those alone."
            raise input_error("run", "part", must, got=part, remedy=remedy)

    def load(self) -> Mapping[str, Sequence[BucketSet]]:
        """Return model -> its sets."""
        named, part = self._named, self._part
        self._pools = load_pools(named.prompts)
        if named.given is None:
            loaded = self._named_sets()
        else:
            loaded = {model: [shown_to(model, one, None) for one in named.given()] for model in named.models}
        self._whole = {bucket_set.name: bucket_set for group in loaded.values() for bucket_set in group}
        return loaded if part is None else {name: [*map(part.take, group)] for name, group in loaded.items()}

    def _named_sets(self) -> dict[str, list[BucketSet]]:
        sets = self._named.sets
        assigned = assign_models(self._named.models, expand_specs(sets.dataset))
        limits = {spec: parse_limits(sets.limit, spec) for answered in assigned.values() for spec in answered}
        if sets.with_test:  # by the same model as the set: the corrected values combine the two
            assigned = {name: with_test_sets(answered) for name, answered in assigned.items()}
        by_pattern = [limit for limit in sets.limit or () if "=" in limit]  # these cut a full test set, too
        limits = {s: limits.get(s, parse_limits(by_pattern, s)) for answered in assigned.values() for s in answered}
        return {name: [self._load(name, s, limits[s]) for s in answered] for name, answered in assigned.items()}

    def prompt(self, group: Sequence[BucketSet]) -> Prompt:
        """Return the prompt of sets of one task; no row of any part of theirs is an example in it."""
        whole = [self._whole[bucket_set.name] for bucket_set in group]
        return prompt_for(whole, self._named.prompts, self._pools)

    def _load(self, model: str, spec: str, limit: int | None) -> BucketSet:
        sets, loaded = self._named.sets, self._named.loaded
        if spec not in loaded:
            named: Any = {"stratum": sets.stratum or (), "column": sets.column or ()}
            loaded[spec] = load_bucket_set(spec, task=sets.task, data_dir=sets.data_dir, split=sets.split, **named)
        return shown_to(model, loaded[spec].limited(limit).compared_by(sets.same, sets.right), sets.input_columns)


def trained_with(model: str, option: str, kind: type[_Kind]) -> _Kind | None:
    """Return an option of the training that wrote a model's folder; None if it has none of this kind, or no record."""
    try:
        record = json_in(Path(model).expanduser() / "training.json")
        value = record["options"][option]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return value if isinstance(value, kind) else None


def shown_to(model: str, bucket_set: BucketSet, input_columns: str | None) -> BucketSet:
    """Return the set as the model reads it: with `input_columns` (commas between), which must be those of its training.

    A folder that `paraconsist train` wrote records the columns that the model was trained on.
    """
    if bucket_set.task is QUESTIONS:
        if input_columns is not None:
            must = "not be given with questions in free text"
            raise input_error("run", "input_columns", must, got=input_columns, remedy="Leave columns out of the rows.")
        return bucket_set
    trained = trained_with(model, "input_columns", list)
    columns = trained if input_columns is None else [name.strip() for name in input_columns.split(",")]
    if trained is not None and columns is not None and set(columns) != set(trained):
        must = f"be those that the model was trained on ({', '.join(trained)})"
        remedy = f"Leave them out: {model} records them."
        raise input_error("run", "input_columns", must, got=columns, remedy=remedy)
    if columns is None:
        return bucket_set
    return replace(bucket_set, task=partial_task(bucket_set.task, columns, function="run"))


_TEMPLATE_ENDINGS = (".yaml", ".yml", ".json")


@dataclass(frozen=True)
class Pool:
    """Rows to draw examples from."""

    task: Task
    label_names: tuple[str, ...]
    examples: tuple[templates.Example, ...]


def load_pools(options: PromptOptions) -> list[Pool]:
    """Read the sets and files that examples are drawn from."""
    pools = []
    for spec in options.examples:
        if (path := Path(spec)).is_file():
            rows = _file_rows(path)
        else:
            rows = load_bucket_set(spec, data_dir=options.data_dir, split=_split_of(spec, options.example_split))
        examples = [
            templates.Example(row, rows.label_names[label])
            for row in rows.table.select([*rows.task.columns, "label"]).to_pylist()
            if (label := row.pop("label")) >= 0
        ]
        pools.append(Pool(rows.task, rows.label_names, tuple(examples)))
    return pools


def _file_rows(path: Path) -> BucketSet:
    """Return rows of a file, not necessarily a bucket set; columns and labels are checked as those of one."""
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
) -> Prompt:
    """Return the prompt for sets of one task and one list of label names; `pools` are from `load_pools`.

    The inputs with ids in `exclude`, which the model will be asked, are never examples.
    """
    template = read_template(options.template, task, label_names)
    fitting = [pool for pool in pools if pool.task == task]
    if options.shots and len(fitting) < len(pools):
        other = next(pool.task.name for pool in pools if pool.task != task)
        raise input_error("run", "examples", f"be of task {task.name}, as the sets are", got=other)
    renamed = [_with_labels_of(template, pool) for pool in fitting]
    drawn = templates.draw_examples(task, renamed, options.shots or 0, seed=options.example_seed, exclude=exclude)
    return Prompt(template, drawn, options.system)


def prompt_for(group: Sequence[BucketSet], options: PromptOptions, pools: Sequence[Pool]) -> Prompt:
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


def read_template(template: str | None, task: Task, label_names: Sequence[str]) -> templates.PromptTemplate:
    """Return a template by name or from a file, or the default one."""
    if template is None:
        return templates.default_template(task, label_names)
    path = Path(template)
    if path.suffix.lower() not in _TEMPLATE_ENDINGS and not path.is_file():
        return templates.get_template(template, task)
    # scalars are read as text: `yes` and `1` are label words, not truth values and numbers
    mapping = read_yaml("run", "template", path, typed=False)
    return templates.template_from_mapping(mapping, name=path.stem, task=task)


def _with_labels_of(template: templates.PromptTemplate, pool: Pool) -> tuple[templates.Example, ...]:
    """Return a pool's examples under the template's label names, which are matched like a model's."""
    from paraconsist.models.labels import resolve_label_map

    label_map = None
    if set(template.labels) == {"entailment", "not_entailment"} and "neutral" in pool.label_names:
        # the only many-to-one map that is never ambiguous
        label_map = {name: "not_entailment" for name in pool.label_names if name != "entailment"}
    mapped = resolve_label_map(pool.label_names, template.label_names, label_map)
    names = {name: template.label_names[to] for name, to in zip(pool.label_names, mapped.targets, strict=True)}
    return tuple(templates.Example(example.values, names[example.label]) for example in pool.examples)
