"""A run by names: which model answers which sets, loaded here or behind an endpoint, and how it is asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraconsist.data.bucket_sets import BucketSet, load_bucket_set
from paraconsist.data.selection import assign_models, expand_specs, parse_limits, with_test_sets
from paraconsist.data.tasks import partial_task
from paraconsist.errors import input_error
from paraconsist.models.endpoint.settings import EndpointPrompt, EndpointSettings
from paraconsist.running.endpoint import EndpointReport, run_endpoint
from paraconsist.running.options import AskOptions, LoadOptions, RunOptions, SetOptions
from paraconsist.running.parts import Part
from paraconsist.running.prompting import Pool, load_pools, prompt_for, settings_for
from paraconsist.running.run import RunReport, run

if TYPE_CHECKING:
    from paraconsist.models.classifier import Classifier
    from paraconsist.models.endpoint.settings import PromptSettings


LoadSets = Callable[[], Mapping[str, Sequence[BucketSet]]]
Ask = Callable[[str, Sequence[BucketSet]], EndpointPrompt]


def run_by_name(
    models: Sequence[str],
    sets: SetOptions,
    ask: AskOptions,
    loading: LoadOptions,
    options: RunOptions,
    endpoint: EndpointSettings | None = None,
) -> RunReport | EndpointReport:
    """Run models over bucket sets that are named, behind the `endpoint` if there is one, else on this machine.

    A model is ``MODEL``, or ``PATTERN=MODEL`` for some sets (see `paraconsist.data.selection.assign_models`): a Hub id,
    a folder, or a name behind the endpoint.
    """
    if endpoint is not None:
        return run_endpoint(*over_endpoint(models, sets, ask, loading, options, endpoint), options)
    for model in models:
        if model.startswith(("http://", "https://")):
            remedy = "Give the address as `endpoint` and the model's name there as `model`."
            raise input_error("run", "model", "be a model, not an address", remedy=remedy)
    load_sets, pools, whole = _named_sets(models, sets, ask, options)
    from paraconsist.models.loading import load_model

    opened: dict[str, Classifier] = {}  # weights of language models are loaded once for all tasks

    def load(name: str, group: Sequence[BucketSet]) -> Classifier:
        def settings() -> PromptSettings:
            return replace(settings_for([whole[one.name] for one in group], ask, pools), seed=options.seed)

        if name in opened:
            loaded = opened[name].with_settings(settings())
        else:
            loaded = load_model(name, task=group[0].task, ask=settings, device=options.device, **vars(loading))
        if loaded.takes_prompt:
            opened[name] = loaded
        ask.check_used(loaded)
        _check_partial(loaded, sets.input_columns)
        return loaded

    return run(load, load_sets, options)


def over_endpoint(
    models: Sequence[str],
    sets: SetOptions,
    ask: AskOptions,
    loading: LoadOptions,
    options: RunOptions,
    endpoint: EndpointSettings,
) -> tuple[LoadSets, Ask, EndpointSettings]:
    """Return what `run_endpoint` takes beside the options: the sets, how they are asked, and where."""
    load_sets, pools, whole = _named_sets(models, sets, ask, options)

    def prompt(name: str, group: Sequence[BucketSet]) -> EndpointPrompt:
        own: Any = {"normalize": ask.normalize, "max_tokens": ask.max_new_tokens, "temperature": ask.temperature}
        own = {option: value for option, value in own.items() if value is not None}
        prompt = prompt_for([whole[one.name] for one in group], ask.prompts, pools)
        return EndpointPrompt(name, prompt, ask.scoring, seed=options.seed, **own)

    return load_sets, prompt, _settings(endpoint, sets, ask, loading, options)


def _named_sets(
    models: Sequence[str], sets: SetOptions, ask: AskOptions, options: RunOptions
) -> tuple[LoadSets, list[Pool], dict[str, BucketSet]]:
    """Return what loads the sets, with the pools of examples and the whole sets by name, filled when it is called.

    Of a part's set no row of the other parts may be an example either.
    """
    pools: list[Pool] = []
    whole: dict[str, BucketSet] = {}
    part = None if sets.part is None else Part.read(sets.part)
    if part is not None and (options.noise_floor or options.repeats):
        remedy = "Run the same command without `part` in the merged folder: it computes those alone."
        raise input_error("run", "part", "not be given with `noise_floor` or `repeats`", got=sets.part, remedy=remedy)

    def load_sets() -> Mapping[str, Sequence[BucketSet]]:
        assigned = assign_models(models, expand_specs(sets.dataset))
        limits = {spec: parse_limits(sets.limit, spec) for answered in assigned.values() for spec in answered}
        if sets.with_test:  # by the same model as the set: the corrected values put the two together
            assigned = {name: with_test_sets(answered) for name, answered in assigned.items()}
        by_pattern = [limit for limit in sets.limit or () if "=" in limit]  # what cuts a full test set, too
        limits = {s: limits.get(s, parse_limits(by_pattern, s)) for answered in assigned.values() for s in answered}
        pools[:] = load_pools(ask.prompts)
        loaded = {name: [_load(name, s, limits[s], sets) for s in answered] for name, answered in assigned.items()}
        whole.update({one.name: one for group in loaded.values() for one in group})
        return loaded if part is None else {name: [part.take(one) for one in group] for name, group in loaded.items()}

    return load_sets, pools, whole


def _load(model: str, spec: str, limit: int | None, sets: SetOptions) -> BucketSet:
    named = sets.stratum or ()
    rows = load_bucket_set(spec, task=sets.task, data_dir=sets.data_dir, split=sets.split, stratum=named)
    return shown_to(model, rows.limited(limit), sets.input_columns)


def _settings(
    endpoint: EndpointSettings, sets: SetOptions, ask: AskOptions, loading: LoadOptions, options: RunOptions
) -> EndpointSettings:
    """Check that the other options go with an endpoint; a chat is asked for where the prompt is to be one."""
    if sets.input_columns is not None:
        raise input_error("run", "input_columns", "not be given with `endpoint`", remedy="Use a template.")
    local = {"device": options.device, "batch_tokens": options.batch_tokens, "device_map": ask.device_map}
    local |= {"deterministic": options.deterministic or None, "compile": options.compile or None}
    usual = vars(LoadOptions())
    for name, value in {**vars(loading), **local}.items():
        if value != usual.get(name):
            must = "be given only without `endpoint`"
            raise input_error("run", name, must, got=value, remedy="The endpoint's server decides it.")
    if ask.scoring == "generate" and ask.normalize is not None:
        raise input_error("run", "normalize", "be given only with `scoring` label", got=ask.normalize)
    if ask.scoring == "label" and ask.max_new_tokens is not None:
        raise input_error("run", "max_new_tokens", "be given only with `scoring` generate", got=ask.max_new_tokens)
    if ask.temperature is not None and "temperature" in endpoint.request_fields:
        must = "not be given with a `request_field` of that name"
        raise input_error("run", "temperature", must, got=ask.temperature)
    return replace(endpoint, api="chat") if ask.chat else endpoint


def _trained_columns(model: str) -> list[str] | None:
    """Return the columns that the model in a folder was trained on, None where all or where nothing says."""
    try:
        record = json.loads((Path(model).expanduser() / "training.json").read_text(encoding="utf-8"))
        return list(record["options"]["input_columns"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def shown_to(model: str, bucket_set: BucketSet, input_columns: str | None) -> BucketSet:
    """Return the set as the model reads it: with `input_columns` (commas between), which must be those of its training.

    A folder of `paraconsist train` says itself what the model was trained on.
    """
    trained = _trained_columns(model)
    columns = trained if input_columns is None else [name.strip() for name in input_columns.split(",")]
    if trained is not None and columns is not None and set(columns) != set(trained):
        must = f"be those that the model was trained on ({', '.join(trained)})"
        remedy = f"Leave them out: {model} says so itself."
        raise input_error("run", "input_columns", must, got=columns, remedy=remedy)
    if columns is None:
        return bucket_set
    return replace(bucket_set, task=partial_task(bucket_set.task, columns, function="run"))


def _check_partial(model: Classifier, input_columns: str | None) -> None:
    """Refuse `input_columns` for language models, whose prompts they do not change."""
    if input_columns is not None and model.takes_prompt:
        must = "be given for classifiers only"
        raise input_error("run", "input_columns", must, got=input_columns, remedy="Give a `template` instead.")
