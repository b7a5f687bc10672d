"""What ``paraphrase`` and ``sensitivity`` share: originals, generators and judges by name, and what they say."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from paraconsist.errors import input_error, renamed

if TYPE_CHECKING:
    from paraconsist.models.endpoint.settings import EndpointSettings
    from paraconsist.transforms.paraphrase.generators import Generator
    from paraconsist.transforms.paraphrase.refining import MutualEntailment, Refined
    from paraconsist.transforms.paraphrase.settings import GeneratorSettings
    from paraconsist.transforms.perturbation import LabelledSet


def settings_of(name: str, endpoint: EndpointSettings | None = None, **options: Any) -> GeneratorSettings:
    """Return a preset's settings with other values where they are given; behind an endpoint, without its beams."""
    from paraconsist.transforms.paraphrase.generators import without_beams
    from paraconsist.transforms.paraphrase.settings import preset

    chosen = preset(name)
    if endpoint is not None and (chosen.diversity is not None or chosen.num_beams > 1):
        chosen = without_beams(chosen)
        said = f"preset {name} has beams, an endpoint has none: candidates are sampled, temperature"
        typer.echo(f"{said} {options.get('temperature') or chosen.temperature:g}.", err=True)
    with renamed(n="candidates", num_beams="beams"):
        return chosen.changed(**options)


def generator_of(
    name: str,
    settings: GeneratorSettings,
    *,
    kind: str | None,
    seed: int,
    examples: Path | None,
    endpoint: EndpointSettings | None = None,
    answers: Path,
) -> Generator:
    """Return the generator that a command line names; behind an endpoint, what it writes is kept in `answers`."""
    from paraconsist.transforms.paraphrase.generators import EXAMPLES, EndpointGenerator, load_generator, read_examples

    with renamed(model="generator", num_beams="beams"):
        solved = EXAMPLES if examples is None else read_examples(examples)
        if endpoint is None:
            return load_generator(name, settings, kind=kind, seed=seed, examples=solved)
        if kind is not None:
            raise input_error("paraphrase", "kind", "be given only without --endpoint", got=kind)
        if name == "rules":
            must = "be given with --endpoint: the model's name there"
            raise input_error("paraphrase", "generator", must, got=name)
        return EndpointGenerator(endpoint, name, settings, answers, seed, solved)


def facts_of(made: Generator) -> dict[str, Any]:
    """Return what a set's metadata say of a generator behind an endpoint; nothing of others."""
    from paraconsist.transforms.paraphrase.generators import EndpointGenerator

    if not isinstance(made, EndpointGenerator):
        return {}
    return {"endpoint": {"url": made.endpoint.url, "api": made.endpoint.api, **made.usage().to_dict()}}


def say_generator(made: Generator, *, aside: bool = False) -> None:
    """Print what a generator behind an endpoint came to; `aside`, to standard error."""
    from paraconsist.cli.options import say_usage
    from paraconsist.transforms.paraphrase.generators import EndpointGenerator

    if isinstance(made, EndpointGenerator):
        usage = made.usage()
        say_usage(usage, f"{made.model}: {usage.n_requests:,} requests answered in all", aside=aside)
        typer.echo(f"What it wrote is kept in {made.answers}; the same command does not ask for it again.", err=aside)


def load_originals(
    data: str,
    skipped: Counter[str],
    task: str | None,
    columns: Sequence[str] | None,
    label_names: str | None,
    split: str,
    data_dir: Path | None,
    *,
    limit: int | None,
    seed: int,
) -> LabelledSet:
    """Read labelled rows, of bucket sets the originals; draw `limit` of them at random."""
    from paraconsist.transforms.labelled_sets import load_labelled

    with renamed():
        rows = load_labelled(
            data,
            skipped,
            task=task,
            columns=columns or (),
            label_names=label_names,
            split=split,
            data_dir=None if data_dir is None else str(data_dir),
        )
    if limit is None or limit >= len(rows.rows):
        return rows
    drawn = sorted(random.Random(seed).sample(range(len(rows.rows)), limit))
    return replace(rows, rows=[rows.rows[i] for i in drawn])


def column_of(rows: LabelledSet, column: str | None) -> str:
    """Return which text is paraphrased."""
    from paraconsist.transforms.paraphrase.surface_form import COLUMNS

    usual = COLUMNS.get(rows.task.name, ())
    chosen = column or (usual[0] if len(usual) == 1 else None)
    if chosen not in rows.task.columns:
        raise input_error(
            "paraphrase", "column", f"be one of {', '.join(rows.task.columns)}", got=chosen, remedy="Give --column."
        )
    return chosen


def load_judge(model: str, label_map: dict[str, str] | None) -> MutualEntailment:
    """Load an NLI model to judge pairs."""
    from paraconsist.data.tasks import get_task
    from paraconsist.models.loading import load_model
    from paraconsist.running.predictor import Predictor
    from paraconsist.transforms.paraphrase.refining import MutualEntailment

    nli = get_task("nli")
    with renamed(model="nli_model"):
        loaded = load_model(model, task=nli)
    return MutualEntailment(Predictor(loaded, nli), label_map)


def say_refined(refined: Refined, settings: GeneratorSettings, skipped: Counter[str], *, aside: bool = False) -> None:
    """Print what was generated and kept, and why the rest was not; `aside`, to standard error."""
    for reason, n in skipped.most_common():
        typer.echo(f"rows left out {n:,}: {reason}", err=aside)
    typer.echo(
        f"{refined.n_accepted:,} of {refined.n_judged:,} candidates accepted ({100 * refined.acceptance_rate:.1f} %), "
        f"for {len(refined.accepted):,} distinct originals, up to {settings.keep} each; {refined.n_calls} calls"
        + (f", {refined.n_unused:,} candidates not needed" if refined.n_unused else ""),
        err=aside,
    )
    for reason, n in refined.reasons.most_common():
        typer.echo(f"  left out {n:,}: {reason}", err=aside)
    sizes = Counter(len(texts) for texts in refined.accepted.values())
    typer.echo("  originals by paraphrases: " + ", ".join(f"{k}: {sizes[k]:,}" for k in sorted(sizes)), err=aside)


def label_pairs(items: Sequence[str] | None) -> dict[str, str] | None:
    """Read MODEL_LABEL=TASK_LABEL items."""
    from paraconsist.cli.run import _pairs

    return _pairs(items)
