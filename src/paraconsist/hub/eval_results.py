"""Results as the Hub's `.eval_results/*.yaml`: the entries that a model's page and a benchmark's leaderboard show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paraconsist.errors import input_error
from paraconsist.scoring.roles import MEASURES

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry


def eval_result_entries(
    results: Mapping[str, Mapping[str, Any]],
    benchmarks: Mapping[str, str],
    *,
    date: str | None = None,
    source_url: str | None = None,
    source_name: str | None = None,
) -> dict[str, list[EvalResultEntry]]:
    """Return the entries of a run's results, by set.

    An entry has the measure's headline value as it stands in ``results.json`` (a share in [0, 1]), the
    benchmark's repository as `dataset_id`, and ``<config>-<measure>`` as `task_id`. Its notes say the
    interval, which end is good, and the signature. Values that are undefined have no entry.

    Parameters
    ----------
    results : mapping
        Set name -> what `paraconsist.scoring.score.score` returns; a whole ``results.json``.
    benchmarks : mapping
        Set name, or the part before its colon -> repository of the data set (``paranlu`` ->
        ``org/paranlu``). Sets that were read from the Hub need none; others without one have no entry.
    date : str, optional
        When it was run, in ISO 8601.
    source_url, source_name : str, optional
        Where the predictions are, and what the link is called.

    Returns
    -------
    dict
        Set name -> its entries; sets without any are left out.

    Raises
    ------
    InputError
        If `source_name` is given without `source_url`.
    """
    from huggingface_hub import EvalResultEntry

    if source_name is not None and source_url is None:
        raise input_error("eval_result_entries", "source_url", "be given with source_name", got=source_url)
    found: dict[str, list[EvalResultEntry]] = {}
    for name, result in results.items():
        repo = benchmark_of(name, benchmarks)
        for measure, values in result["measures"].items():
            value = values.get(MEASURES[measure].headline)
            if repo is None or value is None or value != value:  # nan
                continue
            config = name.partition(":")[2] or "default"
            found.setdefault(name, []).append(
                EvalResultEntry(
                    dataset_id=repo,
                    task_id=f"{config}-{measure}",
                    value=value,
                    date=date,
                    source_url=source_url,
                    source_name=source_name,
                    notes=_notes(measure, values),
                )
            )
    return found


def eval_results_yaml(entries: list[EvalResultEntry]) -> str:
    """Return the content of one ``.eval_results/<name>.yaml``."""
    import yaml
    from huggingface_hub import eval_result_entries_to_yaml

    text: str = yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True, width=1000)
    return text


def benchmark_of(name: str, benchmarks: Mapping[str, str]) -> str | None:
    """Return the repository on the Hub that holds a set, or None.

    Parameters
    ----------
    name : str
        A set's name in the results, such as ``paranlu:delta_snli`` or ``org/paranlu:delta_snli``.
    benchmarks : mapping
        As for `eval_result_entries`.
    """
    source = name.partition(":")[0]
    said = benchmarks.get(name, benchmarks.get(source))
    if said is None and source.count("/") == 1 and not source.startswith((".", "/", "~")):
        return source
    return said


def _notes(measure: str, values: Mapping[str, Any]) -> str:
    headline = MEASURES[measure].headline
    better = "higher" if measure.endswith("_consistency") else "lower"
    parts = [f"{headline} in [0, 1], {better} is better"]
    bounds = values.get("confidence_interval", {}).get(headline)
    if bounds is not None and all(bound is not None and bound == bound for bound in bounds):
        parts.append(f"interval [{bounds[0]:.4f}, {bounds[1]:.4f}]")
    return "; ".join([*parts, str(values["signature"])])
