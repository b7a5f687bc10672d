"""Training dynamics: every cell of a grid trained, run and scored, wherever and however often it was interrupted."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from paraconsist.errors import input_error
from paraconsist.running.processes import is_main
from paraconsist.studies.cell import SweepWork, write_json
from paraconsist.studies.grid import Cell, SweepOptions, cells_of, hashes_of, training_options
from paraconsist.studies.pool import alone, do_all
from paraconsist.studies.summary import summarise

_FUNCTION = "sweep"


def sweep(options: SweepOptions, *, say: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
    """Do every cell of the grid that is not done yet, and put all of them together.

    A grid may grow: more shares, seeds or models given to the same folder leave finished cells as they are.

    Parameters
    ----------
    options : SweepOptions
    say : callable
        Takes a line for each finished cell.

    Returns
    -------
    dict
        ``cells`` (a dict each), ``summary`` and ``tests`` (see `paraconsist.studies.summary.summarise`);
        also written to ``sweep.json``. Empty on all but the first of several launched processes.

    Raises
    ------
    InputError
        For a share in which a label is missing, before anything is trained, and for all that training, running and
        scoring refuse.
    """
    cells = cells_of(options)
    with alone():
        _check_first(options, cells)
    work = SweepWork(options, tuple(cells), hashes_of(options))
    _open(options.output)
    done = [piece for piece in range(len(cells)) if work.is_done(piece)]
    if is_main():
        say(f"{len(cells)} cells, {len(done)} of them done already.")
    n_done = len(done)

    def told(piece: int) -> None:
        nonlocal n_done
        n_done += 1
        if is_main():
            found = work.result(piece) or {}
            say(f"[{n_done}/{len(cells)}] {cells[piece].name}: {_short(found)} ({found.get('seconds', 0):.0f} s)")

    do_all(work, len(cells), jobs=options.jobs, devices=_devices(options), function=_FUNCTION, progress=told)
    if not is_main():
        return {}
    found = [{"name": cells[i].name, **(work.result(i) or {})} for i in range(len(cells))]
    for entry in found:
        entry.pop("identity", None)
    said = {"cells": found, **summarise(found)}
    write_json(options.output / "sweep.json", said)
    return said


def _check_first(options: SweepOptions, cells: Sequence[Cell]) -> None:
    """Draw every share once, so that one in which a label is missing is refused before hours of training."""
    from paraconsist.models.training.data import encode_examples, find_task, open_sources
    from paraconsist.models.training.sampling import sample, sample_share

    smallest = min(options.shares)
    whole = None
    for cell in cells:
        if cell.share != smallest:
            continue
        trained = training_options(options, cell, Path("model"))
        if trained.share >= 1:
            return
        if whole is None:
            source, _ = open_sources(trained)
            task = find_task(source, trained)
            names = trained.label_names or source.label_names or task.label_names
            whole = encode_examples(source, task, trained, names, multiple_choice=False, say=lambda line: None)
        sample_share(sample(whole, trained.limit, trained.limit_seed), trained.share, trained.limit_seed, names)


def _open(folder: Path) -> None:
    known = ("cells", "sweep.json", "table.md")
    try:
        if folder.is_dir() and any(
            file.name not in known and file.suffix not in (".png", ".svg", ".partial") for file in folder.iterdir()
        ):
            raise input_error(_FUNCTION, "output", "be new, empty, or a sweep's folder", got=str(folder))
        (folder / "cells").mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise input_error(
            _FUNCTION, "output", "be a folder that can be written", got=str(folder), remedy=f"{problem}."
        ) from None


def _devices(options: SweepOptions) -> list[str]:
    """The accelerators to spread processes over: those that are visible."""
    import os

    if options.device == "cpu":
        return []
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [name for name in named.split(",") if name]
    import torch

    return [str(number) for number in range(torch.cuda.device_count())]


def _short(found: dict[str, Any]) -> str:
    for measures in found.get("sets", {}).values():
        for values in measures.values():
            key = "paraphrastic_consistency" if "paraphrastic_consistency" in values else "inconsistency"
            if key in values:
                return f"{found['n_rows']:,} rows, {key} {100 * values[key]:.1f}"
    return json.dumps(found.get("n_rows"))
