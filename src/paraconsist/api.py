"""`paraconsist.run`: a model or a Python function over bucket sets, in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from inspect import signature
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, overload

if TYPE_CHECKING:
    from paraconsist.data.bucket_sets import BucketSet
    from paraconsist.files import Json
    from paraconsist.reporting.result import Run


_Model: TypeAlias = "str | Path | Callable[[Any], Any]"


@overload
def run(model: _Model, sets: Any, *, output: str | Path, **options: Any) -> Run: ...
@overload
def run(model: list[str] | Json, sets: Any, *, output: str | Path, **options: Any) -> dict[str, Run]: ...
def run(
    model: _Model | list[str] | Json,
    sets: Any,
    *,
    output: str | Path,
    task: str | None = None,
    data_dir: str | None = None,
    split: str = "test",
    limit: int | None = None,
    stratum: Sequence[str] = (),
    column: Sequence[str] | Mapping[str, str] = (),
    same: str | None = None,
    right: str | None = None,
    **options: Any,
) -> Run | dict[str, Run]:
    """Run a classifier or a Python function over bucket sets; the same call goes on with an interrupted run.

    Parameters
    ----------
    model : str, Path or callable
        A folder that `paraconsist train` or ``save_pretrained`` wrote, or a Hub id, of a classifier or a language
        model; or a function (or ``module:function``) from a list of prompts to a list with an answer for each: a text
        (that holds a label), a label's number, probabilities; or the address of an OpenAI-compatible API
        (``http://localhost:8000/v1``), whose model is `name`, by default its only one. Several models are a list of
        names, or a mapping of names to models or to mappings of ``model`` and options of its own: each has a folder in
        `output`, and the sets are prepared once.
    sets : str, bucket set, table, or a sequence of them
        As `load_bucket_set` takes them: ``paranlu:delta_snli``, a folder, a file, a Hub name; or what it returns; or a
        table in memory (pandas, polars, pyarrow, datasets) with the columns of a bucket set, or a list of such rows.
    output : str or Path
        The run folder.
    task, data_dir, split, stratum, column
        As for `load_bucket_set`; of a table in memory `task`, `stratum` and `column`, which may be a mapping.
    same, right : str, optional
        Of questions in free text: when two answers are the same, and when one is the same as an accepted one, as for
        `score` (`paraconsist list --comparers`); by default what the file says, else ``text``.
    limit : int, optional
        The first whole buckets of each set, up to so many rows (one bucket at least).
    **options
        Fields of `paraconsist.running.options.LoadOptions` (``revision``, ``dtype``, ``max_length`` ...) and
        `RunOptions` (``label_map``, ``device``, ``batch_tokens``, ``noise_floor`` ...); of a function those of
        `paraconsist.running.functions.Function` (``name``, ``version``, ``template`` ...); of a language model
        `PromptOptions` (``template``, ``shots``, ``examples``, ``temperature`` ...), of an address these and
        `EndpointSettings`.

    Returns
    -------
    Run
        Its ``score()`` returns `Scores`. Of several models a mapping of their names to runs.
    """
    from paraconsist.data.bucket_sets import load_bucket_sets
    from paraconsist.entry_points import load_function, names_function
    from paraconsist.errors import input_error, unknown_option
    from paraconsist.models.endpoint.settings import EndpointSettings
    from paraconsist.reporting.result import Run
    from paraconsist.running.by_name import read_models
    from paraconsist.running.functions import Function, run_function
    from paraconsist.running.options import LoadOptions, PromptOptions, RunOptions, SetOptions

    kinds = (Function, LoadOptions, RunOptions, EndpointSettings, PromptOptions)
    names: dict[Any, set[str]] = {kind: {option.name for option in fields(kind)} - {"urls"} for kind in kinds}
    known = {*signature(run).parameters, *chain.from_iterable(names.values())} - {"options", "call"}
    for name in options:
        if name not in known:
            raise unknown_option("run", name, known)

    @cache
    def load() -> list[BucketSet]:
        read: Any = {"task": task, "data_dir": data_dir, "split": split, "stratum": stratum, "column": column}
        return [one.limited(limit).compared_by(same, right) for one in load_bucket_sets(sets, **read)]

    def one(model: Any, output: Path, options: Json, *, is_last: bool = True) -> Run:
        if names_function(model):
            model = load_function(model, "run", "model", "prompts to a list of answers")
        is_address = isinstance(model, str) and model.startswith(("http://", "https://"))
        if callable(model):
            what, own = "a function", {*names[Function], *names[RunOptions]}
        elif is_address:
            what, own = "an address", {*names[EndpointSettings], *names[PromptOptions], *names[RunOptions], "name"}
        else:
            if not isinstance(model, (str, Path)):
                must, remedy = "be a function, a name, a folder or an address", "Of an object give its method."
                raise input_error("run", "model", must, got=type(model).__name__, remedy=remedy)
            what, own = "a model that is loaded", {*names[LoadOptions], *names[PromptOptions], *names[RunOptions]}
        for name in (name for name in options if name not in own):
            raise input_error("run", name, f"not be given with {what}", got=options[name])
        values: dict[Any, Any] = {kind: {k: v for k, v in options.items() if k in names[kind]} for kind in kinds}
        running = RunOptions(output, **values[RunOptions])
        if callable(model):
            return Run(run_function(Function(model, **values[Function]), load(), running).path)
        from paraconsist.running.by_name import NamedRun, run_by_name
        from paraconsist.running.endpoint import served_alone

        endpoint = EndpointSettings(str(model), **values[EndpointSettings]) if is_address else None
        name = str(model) if endpoint is None else str(options.get("name") or served_alone(endpoint))
        loading, ask = LoadOptions(**values[LoadOptions]), PromptOptions(**values[PromptOptions], data_dir=data_dir)
        named = NamedRun([name], SetOptions([]), ask, loading, running, endpoint, load, is_last=is_last)
        return Run(run_by_name(named).folder.path)

    if not isinstance(model, (list, Mapping)):
        return one(model, Path(output), options)
    for name in sorted({"max_requests", "max_cost"} & options.keys()):
        raise input_error("run", name, "be given in each model's own options", got=options[name])
    runs: dict[str, Run] = {}
    models = read_models(model, known - signature(run).parameters.keys())
    for name, own in models.items():
        more = {**options, **{option: value for option, value in own.items() if option != "model"}}
        runs[name] = one(own["model"], Path(output) / name, more, is_last=len(runs) == len(models) - 1)
    return runs
