"""``paraconsist sensitivity``: how easily variants that a model finds equivalent talk it out of right answers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from paraconsist.cli.ends import say, say_status
from paraconsist.cli.generation import (
    GENERATOR_ENDPOINT,
    GeneratorOptions,
    generator_endpoint,
    say_generator,
    say_refined,
)
from paraconsist.cli.options import (
    REQUIRED,
    Fields,
    RowOptions,
    argument,
    echo,
    print_json,
    quiet_libraries,
    read_label_map,
)
from paraconsist.data.options import DEVICE, LABEL_MAP, LABEL_RULE, option
from paraconsist.errors import renamed
from paraconsist.transforms.paraphrase.generators import GeneratorSettings

if TYPE_CHECKING:
    from paraconsist.studies.sensitivity import SensitivityRun

_SETTINGS = ("n", "keep", "tries", "temperature", "most_jaccard", "prompt")


def sensitivity(
    *,
    data: str = argument("Labelled inference rows: a CSV, TSV, JSONL or Parquet file, builder:config, or Hub name."),
    model: str = option(REQUIRED, "Hub id or folder of an NLI classifier: it answers and judges variants."),
    output: Path = option(REQUIRED, "The folder to write; the same command goes on with an interrupted one."),
    preset: str = option(
        "paper", "paper (all variants, every right original) or code (the first 5, originals with 5)."
    ),
    generating: GeneratorOptions,
    generation: str = option("a24", "Generator settings of a paper: a24, v23 or s24."),
    changes: Annotated[dict[str, Any], Fields(GeneratorSettings, only=_SETTINGS, unset=_SETTINGS)],
    limit: int | None = option(None, "Draw this many of the right originals.", min=1),
    rows: int | None = option(None, "Draw this many rows before the model answers them.", min=1),
    label_map: list[str] | None = option(None, LABEL_MAP),
    label_rule: str = option("argmax", LABEL_RULE),
    endpoint: Annotated[dict[str, Any], GENERATOR_ENDPOINT],
    embedding_model: str | None = option(
        None, "Encoder for embedding distances; by default the model's own, where it has one."
    ),
    reading: Annotated[dict[str, Any], Fields(RowOptions, without=("task",))],
    device: str | None = option(None, DEVICE),
    n_resamples: int = option(10_000, "Bootstrap replicates.", min=1),
    seed: int = option(0, "Random seed of draws, sampling and bootstrap.", min=0),
    as_json: bool = option(False, "Print the results as JSON.", option="--json"),
    overwrite: bool = option(False, "Delete an earlier run in the folder."),
) -> None:
    """Measure semantic sensitivity: fooling rates of variants that the same model finds equivalent (A24).

    paraconsist sensitivity rows.csv --model ORG/NLI --output runs/s
    paraconsist sensitivity rows.csv --model ORG/NLI --output runs/s --preset code --limit 100
    """
    quiet_libraries()
    from paraconsist.studies.sensitivity import generator_settings, run_sensitivity
    from paraconsist.transforms.labelled_sets import load_labelled
    from paraconsist.transforms.paraphrase.generators import settings_of

    mapping, remote = read_label_map("sensitivity", label_map), generator_endpoint(endpoint)
    with renamed(preset="generation"):
        settings = settings_of(generation, changes, endpoint=remote, say=say_status)
    settings = generator_settings(preset, settings)  # before anything is read
    skipped: Counter[str] = Counter()
    done = run_sensitivity(
        load_labelled(data, skipped, task="nli", **reading, limit=rows, seed=seed),
        model,
        output,
        settings,
        preset=preset,
        generator=generating.generator,
        examples=generating.examples,
        kind=generating.kind,
        endpoint=remote,
        embedding_model=embedding_model,
        device=device,
        seed=seed,
        overwrite=overwrite,
        label_map=mapping,
        label_rule=label_rule,
        limit=limit,
        n_resamples=n_resamples,
    )
    if as_json:
        print_json(done.results)
    else:
        _say(done, skipped, preset)


def _say(done: SensitivityRun, skipped: Counter[str], preset: str) -> None:
    report = done.report
    say_generator(done.generator)
    echo(
        f"{report.n_right:,} of {report.n_rows:,} originals answered right "
        f"({100 * report.n_right / report.n_rows:.1f} %)"
        + (f"; {report.n_used:,} of them drawn" if report.n_used < report.n_right else "")
    )
    say_refined(report.refined, done.settings, skipped)
    enough = ", ".join(f"{k}: {n:,}" for k, n in report.n_with.items())
    echo(f"  right originals with at least k variants: {enough}")
    fooling = report.fooling
    echo(f"Fooling rates, preset {preset}, {fooling.n_items:,} originals:")
    for name in ("relaxed", "strict"):
        low, high = fooling.confidence_interval[name]
        echo(f"  {name}: {100 * getattr(fooling, name):.2f} % [{100 * low:.2f}, {100 * high:.2f}]")
    for label, row in fooling.by_label.items():
        echo(
            f"    {label}: relaxed {100 * row['relaxed']:.2f} %, strict {100 * row['strict']:.2f} %, "
            f"{row['n_items']:,} originals"
        )
    echo("Variants, changed / unchanged answer:")
    changed, unchanged = report.sides["changed"], report.sides["unchanged"]
    echo(f"  number: {changed.n:,} / {unchanged.n:,}")
    for name, title in (
        ("jensen_shannon_distance", "Jensen-Shannon distance"),
        ("jensen_shannon_divergence", "Jensen-Shannon divergence, bits"),
        ("max_difference", "largest difference of a probability"),
        ("standard_deviation", "standard deviation of the probabilities"),
        ("standard_deviation_difference", "the same less the original's"),
    ):
        values = getattr(report.shift, name)
        echo(f"  {title}: {_shown(values['changed'])} / {_shown(values['unchanged'])}")
    for name, title in (
        ("confidence_change", "change of confidence in the gold label"),
        ("embedding_distance", "embedding distance from the original"),
        ("token_overlap", "token overlap with the original (Jaccard)"),
        ("lexical_distance", "lexical distance from the original"),
    ):
        echo(f"  {title}: {_shown(getattr(changed, name).mean)} / {_shown(getattr(unchanged, name).mean)}")
    for warning in dict.fromkeys((*fooling.warnings, *report.shift.warnings)):
        say(f"warning: {warning}")
    echo(fooling.signature)
    output = done.folder.path
    say_status(f"Results in {output / 'sensitivity.json'}, variants in {output / 'variants.parquet'} (a bucket set).")
    say_status(f"Next: paraconsist score {done.folder.predictions_file('variants')}; paraconsist report {output}")


def _shown(value: float) -> str:
    return "-" if value != value else f"{value:.4f}"
