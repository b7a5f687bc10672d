"""``paraconsist sensitivity``: how easily variants that a model finds equivalent talk it out of right answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from paraconsist.cli.ends import say, say_status
from paraconsist.cli.options import REQUIRED, Fields, Given, argument, echo, print_json, quiet_libraries, read_label_map
from paraconsist.cli.paraphrase import GENERATOR_ENDPOINT, generator_endpoint, say_generator, say_refined
from paraconsist.data.options import LABEL_MAP, option
from paraconsist.errors import renamed
from paraconsist.reporting.formatting import interval
from paraconsist.studies.options import SensitivityOptions
from paraconsist.transforms.paraphrase.generators import GeneratorSettings
from paraconsist.transforms.perturbation import RowOptions

if TYPE_CHECKING:
    from paraconsist.studies.sensitivity import SensitivityRun

_SETTINGS = ("n", "keep", "tries", "temperature", "most_jaccard", "prompt")
_SHIFTS = {
    "jensen_shannon_distance": "Jensen-Shannon distance",
    "jensen_shannon_divergence": "Jensen-Shannon divergence, bits",
    "max_difference": "largest difference of a probability",
    "standard_deviation": "standard deviation of the probabilities",
    "standard_deviation_difference": "the same less the original's",
}
_DISTANCES = {
    "confidence_change": "change of confidence in the gold label",
    "embedding_distance": "embedding distance from the original",
    "token_overlap": "token overlap with the original (Jaccard)",
    "lexical_distance": "lexical distance from the original",
}


def sensitivity(
    *,
    data: str = argument("Labelled inference rows: a CSV, TSV, JSONL or Parquet file, builder:config, or Hub name."),
    model: str = option(REQUIRED, "Hub id or folder of an NLI classifier: it answers and judges variants."),
    output: Path = option(REQUIRED, "The folder to write; the same command goes on with an interrupted one."),
    study: Annotated[SensitivityOptions, Fields(without=("endpoint", "label_map"))],
    generation: str = option("a24", "Generator settings of a paper: a24, v23 or s24."),
    changes: Annotated[Given, Fields(GeneratorSettings, only=_SETTINGS, unset=_SETTINGS)],
    rows: int | None = option(None, "Draw this many rows before the model answers them.", min=1),
    label_map: list[str] | None = option(None, LABEL_MAP),
    endpoint: Annotated[Given, GENERATOR_ENDPOINT],
    reading: Annotated[RowOptions, Fields(without=("task",))],
    as_json: bool = option(False, "Print the results as JSON.", option="--json"),
) -> None:
    """Measure semantic sensitivity: fooling rates of variants that the same model finds equivalent (A24).

    paraconsist sensitivity rows.csv --model ORG/NLI --output runs/s
    paraconsist sensitivity rows.csv --model ORG/NLI --output runs/s --preset code --limit 100
    """
    quiet_libraries()
    from paraconsist.studies.sensitivity import generator_settings, run_sensitivity
    from paraconsist.transforms.labelled_sets import labelled, load_rows
    from paraconsist.transforms.paraphrase.generators import settings_of

    study = replace(study, label_map=read_label_map("sensitivity", label_map), endpoint=generator_endpoint(endpoint))
    with renamed(preset="generation"):
        settings = settings_of(generation, changes, endpoint=study.endpoint, say=say_status)
    settings = generator_settings(study.preset, settings)  # before anything is read
    skipped: Counter[str] = Counter()
    originals = labelled(load_rows(data, skipped, replace(reading, task="nli")), skipped, limit=rows, seed=study.seed)
    done = run_sensitivity(originals, model, output, settings, study, say_status)
    if as_json:
        print_json(done.results)
    else:
        _say(done, skipped, study.preset)


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
        within = interval(fooling.confidence_interval[name], digits=2)
        echo(f"  {name}: {100 * getattr(fooling, name):.2f} % {within}".rstrip())
    for label, row in fooling.by_label.items():
        relaxed, strict = (f"{name} {100 * row[name]:.2f} %" for name in ("relaxed", "strict"))
        echo(f"    {label}: {relaxed}, {strict}, {row['n_items']:,} originals")
    echo("Variants, changed / unchanged answer:")
    changed, unchanged = report.sides["changed"], report.sides["unchanged"]
    echo(f"  number: {changed.n:,} / {unchanged.n:,}")
    for name, title in _SHIFTS.items():
        values = getattr(report.shift, name)
        echo(f"  {title}: {_shown(values['changed'])} / {_shown(values['unchanged'])}")
    for name, title in _DISTANCES.items():
        echo(f"  {title}: {_shown(getattr(changed, name).mean)} / {_shown(getattr(unchanged, name).mean)}")
    for warning in dict.fromkeys((*fooling.warnings, *report.shift.warnings)):
        say(f"warning: {warning}")
    echo(fooling.signature)
    output = done.folder.path
    say_status(f"Results in {output / 'sensitivity.json'}, variants in {output / 'variants.parquet'} (a bucket set).")
    say_status(f"Next: paraconsist score {done.folder.file_of('predictions', 'variants')}; paraconsist report {output}")


def _shown(value: float) -> str:
    return "-" if value != value else f"{value:.4f}"
