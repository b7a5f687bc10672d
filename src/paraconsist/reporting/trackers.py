"""Scores in experiment trackers, MLflow and trackio: one run for one model, with every number by set and measure.

The tools' own environment variables choose the place: ``MLFLOW_TRACKING_URI``, ``MLFLOW_EXPERIMENT_NAME`` and
``MLFLOW_RUN_ID``; ``TRACKIO_DIR`` and ``TRACKIO_SPACE_ID``, with ``TRACKIO_PROJECT`` for the project.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from importlib import import_module
from io import StringIO
from typing import Any

from paraconsist._version import __version__
from paraconsist.data.sharing import public, public_name
from paraconsist.errors import InputError, check_choice, extras, first_line

_REFUSED = re.compile(r"[^0-9A-Za-z_\-. :/]")  # in MLflow's names
Part = tuple[dict[str, str], dict[str, float]]  # of one set: signatures, numbers


@extras("score")
def check_tracker(tracker: str) -> None:
    """Refuse trackers that are unknown or not installed."""
    check_choice("score", "log_to", tracker, _LOGGERS)
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # otherwise MLflow reports its use
    import_module(tracker)


def log_results(results: Mapping[str, Any], tracker: str) -> str:
    """Log ``Scores.to_dict()`` to ``"mlflow"`` or ``"trackio"``; return a line that says where it is.

    A number's name is ``SET/MEASURE/KEY``, of mappings ``.../KEY/PART``, its interval's ends are ``..._low`` and
    ``..._high``; undefined is nan. ``SET/MEASURE/signature``, the model, the sets and this package's version are tags
    in MLflow, the configuration in trackio. Paths of this machine are left out (`paraconsist.data.sharing`). An active
    run of MLflow takes the numbers.
    InputError if the tracker is not installed or does not take them.
    """
    check_tracker(tracker)
    results = {public_name(name): result for name, result in public(results).items()}
    model, sets = ", ".join(dict.fromkeys(one["model"] or "" for one in results.values())), ", ".join(results)
    identity = {"model": model or "unknown", "set": sets, "paraconsist_version": __version__}
    parts = [_part(name, result) for name, result in results.items()]
    try:
        with extras("score"), redirect_stdout(StringIO()):
            where = _LOGGERS[tracker](model or sets, identity, parts)
    except InputError:
        raise
    except Exception as problem:
        raise InputError(f"{tracker} did not take the numbers: {first_line(problem)}", function="score") from problem
    return f"logged to {tracker}: {where}"


def _part(name: str, result: Mapping[str, Any]) -> Part:
    signatures: dict[str, str] = {}
    numbers: dict[str, float] = {}
    others = {"wording": result.get("wording"), "noise": result.get("noise_floor")}
    others |= {f"checked/{rate}": of for rate, of in (result.get("checked") or {}).get("rates", {}).items()}
    for measure, values in {**result["measures"], **{key: of for key, of in others.items() if of}}.items():
        start, ends = _REFUSED.sub("_", f"{name}/{measure}"), values["confidence_interval"]
        signatures |= {f"{start}/{key}": of for key, of in values.items() if key == "signature"}
        parts = {f"{key}/{part}": one for key, of in values.items() if isinstance(of, dict) for part, one in of.items()}
        for key, value in {**values, **parts}.items():
            if key in ends or (key in values and isinstance(value, (int, float))):
                three = zip(("", "_low", "_high"), (value, *ends.get(key, ())), strict=False)
                of_key = {end: math.nan if one is None else float(one) for end, one in three}
                numbers |= {_REFUSED.sub("_", f"{start}/{key}{end}"): number for end, number in of_key.items()}
    return signatures, numbers


def _to_mlflow(name: str, identity: Mapping[str, str], parts: Sequence[Part]) -> str:
    import mlflow

    active = mlflow.active_run()
    with nullcontext(active) if active else mlflow.start_run(run_name=name) as run:
        mlflow.set_tags(dict(identity))
        for signatures, numbers in parts:  # MLflow takes 1000 numbers and 100 tags at a time
            mlflow.set_tags(signatures)
            mlflow.log_metrics(numbers)
    experiment = mlflow.get_experiment(run.info.experiment_id).name
    return f"run {run.info.run_name} of experiment {experiment} in {mlflow.get_tracking_uri()}"


def _to_trackio(name: str, identity: Mapping[str, str], parts: Sequence[Part]) -> str:
    import trackio

    project = os.environ.get("TRACKIO_PROJECT") or "paraconsist"
    signatures, numbers = ({key: value for part in parts for key, value in part[i].items()} for i in range(2))
    config = {**identity, **signatures}
    trackio.init(project=project, name=name, config=config, embed=False, auto_log_cpu=False, auto_log_gpu=False)
    trackio.log(numbers)
    trackio.finish()
    return f'run {name} of project {project}; trackio show --project "{project}"'


_LOGGERS: dict[str, Callable[[str, Mapping[str, str], Sequence[Part]], str]] = {
    "mlflow": _to_mlflow,
    "trackio": _to_trackio,
}
