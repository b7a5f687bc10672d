"""`paraconsist.run`: a model or a Python function over bucket sets, in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from inspect import signature
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paraconsist.data.bucket_sets import BucketSet
    from paraconsist.models.classifier import Classifier
    from paraconsist.reporting.result import Run


def run(
    model: str | Path | Callable[[Any], Any],
    sets: Any,
    *,
    output: str | Path,
    task: str | None = None,
    data_dir: str | None = None,
    split: str = "test",
    limit: int | None = None,
    stratum: Sequence[str] = (),
    column: Sequence[str] = (),
    **options: Any,
) -> Run:
    """Run a classifier or a Python function over bucket sets; the same call goes on with an interrupted run.

    Parameters
    ----------
    model : str, Path or callable
        A folder that `paraconsist train` or ``save_pretrained`` wrote, or a Hub id, of a classifier or a language
        model; or a function from a list of prompts to a list with an answer for each: a text (that holds a label), a
        label's number, probabilities; or the address of an OpenAI-compatible API (``http://localhost:8000/v1``), whose
        model is `name`, by default its only one.
    sets : str, bucket set, table, or a sequence of them
        As `load_bucket_set` takes them: ``paranlu:delta_snli``, a folder, a file, a Hub name; or what it returns; or a
        table in memory (pandas, polars, pyarrow, datasets) with the columns of a bucket set, or a list of such rows.
    output : str or Path
        The run folder.
    task, data_dir, split, stratum, column
        As for `load_bucket_set`; of a table in memory `task`, `stratum` and `column`.
    limit : int, optional
        The first buckets of each set only.
    **options
        Fields of `paraconsist.running.options.LoadOptions` (``revision``, ``dtype``, ``max_length`` ...) and
        `RunOptions` (``label_map``, ``device``, ``batch_tokens``, ``noise_floor`` ...); of a function those of
        `paraconsist.running.functions.Function` (``name``, ``version``, ``template`` ...); of a language model
        `AskOptions` (``max_new_tokens``, ``temperature`` ...), of an address these and `EndpointSettings`.

    Returns
    -------
    Run
        Its ``score()`` returns `Scores`.
    """
    from paraconsist.data.bucket_sets import (
        BucketSet,
        bucket_set_from_table,
        declared_label_names,
        load_bucket_set,
        renamed_columns,
    )
    from paraconsist.data.questions import table_of_rows
    from paraconsist.errors import input_error, renamed, unknown_option
    from paraconsist.models.endpoint.settings import AskOptions, EndpointPrompt, EndpointSettings, PromptSettings
    from paraconsist.reporting.result import Run
    from paraconsist.running.functions import Function, as_function, run_function
    from paraconsist.running.options import LoadOptions, PromptOptions, RunOptions
    from paraconsist.running.run import run as run_sets
    from paraconsist.scoring.sources import in_arrow

    kinds = (Function, LoadOptions, RunOptions, EndpointSettings, AskOptions)
    names: dict[Any, set[str]] = {kind: {option.name for option in fields(kind)} for kind in kinds}
    known = {*signature(run).parameters, *chain.from_iterable(names.values())} - {"options", "call"}
    for name in options:
        if name not in known:
            raise unknown_option("run", name, known)
    values: dict[Any, Any] = {
        kind: {name: value for name, value in options.items() if name in own} for kind, own in names.items()
    }
    loading, running = LoadOptions(**values[LoadOptions]), RunOptions(Path(output), **values[RunOptions])
    is_address = isinstance(model, str) and model.startswith(("http://", "https://"))
    kinds_of_model = {
        "a function": (callable(model), (Function, LoadOptions, RunOptions)),
        "an address": (is_address, (EndpointSettings, AskOptions, RunOptions)),
        "a model that is loaded": (True, (Function, LoadOptions, AskOptions, RunOptions)),
    }
    what, (_, own) = next((what, kind) for what, kind in kinds_of_model.items() if kind[0])
    taken = set().union(*(names[kind] for kind in own), {"name"} if is_address else ())
    for name in (name for name in options if name not in taken):
        raise input_error("run", name, f"not be given with {what}", got=options[name])
    function = as_function(model, {} if is_address else values[Function], loading, running)

    def loaded(source: Any, number: int) -> BucketSet:
        if isinstance(source, BucketSet):
            return source
        if isinstance(source, (str, Path)):
            named: Any = {"stratum": stratum, "column": column}
            return load_bucket_set(source, task=task, data_dir=data_dir, split=split, **named)
        if hasattr(source, "num_columns") and isinstance(source, Mapping):  # the splits of a data set
            if split not in source:
                raise input_error("run", "split", f"be one of {', '.join(source)}", got=split)
            source = source[split]
        name = f"table-{number}" if number else "table"
        with renamed(path="sets", dataset="sets"):
            table = renamed_columns(in_arrow(source, "run"), column, "run")
            names = declared_label_names(table)
            return bucket_set_from_table(table, name=name, task=task, label_names=names, named=stratum)

    def load() -> list[BucketSet]:
        sources: Sequence[Any] = sets if isinstance(sets, (list, tuple)) else [sets]
        if sources and all(isinstance(s, Mapping) and isinstance(s.get("bucket_id"), (str, int)) for s in sources):
            sources = [table_of_rows(sources)]
        return [loaded(source, number).limited(limit) for number, source in enumerate(sources)]

    if function is not None:
        return Run(run_function(function, load(), running).path)
    from paraconsist.running.by_name import asking
    from paraconsist.running.prompting import prompt_for

    ask = PromptOptions(**values[AskOptions])
    if is_address:
        from paraconsist.running.endpoint import EndpointRun, run_endpoint, served_alone

        settings = EndpointSettings(str(model), **values[EndpointSettings])
        name = str(values[Function].get("name") or served_alone(settings))

        def prompt(_: str, group: Sequence[BucketSet]) -> EndpointPrompt:
            return EndpointPrompt(name, prompt_for(group, ask, []), seed=running.seed, **asking(ask, group))

        return Run(run_endpoint(EndpointRun(lambda: {name: load()}, prompt, settings, running)).folder.path)
    from paraconsist import load_model  # names the extra if torch is not installed

    def loaded_model(name: str, group: Sequence[BucketSet]) -> Classifier:
        def settings() -> PromptSettings:
            return PromptSettings(prompt_for(group, ask, []), seed=running.seed, **asking(ask, group))

        model = load_model(name, task=group[0].task, ask=settings, device=running.device, **vars(loading))
        ask.check_used(model)
        return model

    report = run_sets(loaded_model, lambda: {str(model): load()}, running)
    return Run(report.folder.path)
