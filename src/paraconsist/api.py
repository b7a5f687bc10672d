"""`paraconsist.run`: a model or a Python function over bucket sets, in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paraconsist.data.bucket_sets import BucketSet
    from paraconsist.reporting.result import Run


def run(
    model: str | Path | Callable[[Any], Any],
    sets: str | Sequence[str],
    *,
    output: str | Path,
    data_dir: str | None = None,
    split: str = "test",
    limit: int | None = None,
    revision: str | None = None,
    dtype: str = "float32",
    max_length: int | None = None,
    label_map: Mapping[str, str] | None = None,
    stratum: Sequence[str] = (),
    **options: Any,
) -> Run:
    """Run a classifier or a Python function over bucket sets; the same call goes on with an interrupted run.

    Parameters
    ----------
    model : str, Path or callable
        A folder that `paraconsist train` or ``save_pretrained`` wrote, or a Hub id; or a function from a list of
        prompts to a list with an answer for each: a text that holds a label, a label's number, probabilities.
    sets : str or sequence of str
        As `load_bucket_set` takes them: ``paranlu:delta_snli``, a folder, a file, a Hub name.
    output : str or Path
        The run folder.
    data_dir, split
        As for `load_bucket_set`.
    limit : int, optional
        The first buckets of each set only.
    revision, dtype, max_length
        As for `load_model`.
    label_map : mapping, optional
        Model label -> task label; by default labels meet by name.
    stratum : sequence of str
        As for `load_bucket_set`.
    **options
        Further fields of `paraconsist.running.run.RunOptions`: ``device``, ``batch_tokens``, ``noise_floor`` ...; of a
        function those of `paraconsist.running.functions.Function`: ``name``, ``version``, ``template`` ...

    Returns
    -------
    Run
        Its ``score()`` returns `Scores`.
    """
    from paraconsist.data.bucket_sets import load_bucket_set
    from paraconsist.reporting.result import Run
    from paraconsist.running.functions import as_function, run_function
    from paraconsist.running.options import RunOptions
    from paraconsist.running.run import run as run_sets

    names = [sets] if isinstance(sets, str) else list(sets)
    reading: dict[str, Any] = {"data_dir": data_dir, "split": split, "stratum": stratum}
    loading: dict[str, Any] = {"revision": revision, "dtype": dtype, "max_length": max_length}
    function = as_function(model, options, loading)
    running = RunOptions(output=Path(output), label_map=label_map, **options)

    def load() -> list[BucketSet]:
        return [load_bucket_set(name, **reading).limited(limit) for name in names]

    if function is not None:
        return Run(run_function(function, load(), running).path)
    from paraconsist.models.loading import load_model  # imports torch

    loading["device"] = running.device
    report = run_sets(
        lambda name, group: load_model(name, task=group[0].task, **loading), lambda: {str(model): load()}, running
    )
    return Run(report.folder.path)
