"""``paraconsist sensitivity``: how easily variants that a model finds equivalent talk it out of right answers."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paraconsist.cli import options as over
from paraconsist.cli.generation import (
    facts_of,
    generator_of,
    label_pairs,
    load_originals,
    say_generator,
    say_refined,
    settings_of,
)
from paraconsist.errors import renamed

if TYPE_CHECKING:
    from paraconsist.data.run_folder import RunFolder
    from paraconsist.running.predictor import Predictor
    from paraconsist.studies.sensitivity import SensitivityReport


def sensitivity(
    data: Annotated[
        str,
        typer.Argument(help="Labelled inference rows: a CSV, TSV, JSONL or Parquet file, builder:config, or Hub name."),
    ],
    model: Annotated[str, typer.Option(help="Hub id or folder of an NLI classifier: it answers and judges variants.")],
    output: Annotated[
        Path, typer.Option(help="The folder to write; the same command goes on with an interrupted one.")
    ],
    preset: Annotated[
        str, typer.Option(help="paper (all variants, every right original) or code (the first 5, originals with 5).")
    ] = "paper",
    generator: Annotated[
        str, typer.Option(help="rules, a causal or seq2seq model's folder or Hub id, or module:function of your own.")
    ] = "rules",
    generation: Annotated[str, typer.Option(help="Generator settings of a paper: a24, v23 or s24.")] = "a24",
    limit: Annotated[int | None, typer.Option(min=1, help="Draw this many of the right originals.")] = None,
    rows: Annotated[int | None, typer.Option(min=1, help="Draw this many rows before the model answers them.")] = None,
    label_map: Annotated[list[str] | None, typer.Option(help="MODEL_LABEL=TASK_LABEL, repeated.")] = None,
    label_rule: Annotated[str, typer.Option(help="For many-to-one maps: argmax or sum.")] = "argmax",
    candidates: Annotated[int | None, typer.Option("--candidates", "-n", help="Candidates a try.")] = None,
    keep: Annotated[int | None, typer.Option(help="Variants wanted for each original, k.")] = None,
    tries: Annotated[int | None, typer.Option(help="How often to ask again for originals with fewer than k.")] = None,
    temperature: Annotated[float | None, typer.Option(help="Of the generator.")] = None,
    most_jaccard: Annotated[
        float | None, typer.Option(help="Drop candidates that share this much or more words.")
    ] = None,
    prompt: Annotated[str | None, typer.Option(help="What the generator reads, with {sentence}.")] = None,
    examples: Annotated[
        Path | None, typer.Option(help="CSV with columns original, paraphrase, for {examples}.")
    ] = None,
    kind: Annotated[str | None, typer.Option(help="Of the generator: causal or seq2seq.")] = None,
    endpoint: over.GeneratorEndpoint = None,
    api: over.Api = None,
    concurrency: over.Concurrency = None,
    api_key_variable: over.KeyVariable = None,
    timeout: over.Timeout = None,
    request_tries: over.Tries = None,
    request_field: over.RequestField = None,
    price_input: over.PriceInput = None,
    price_output: over.PriceOutput = None,
    embedding_model: Annotated[
        str | None, typer.Option(help="Encoder for embedding distances; by default the model's own, where it has one.")
    ] = None,
    columns: Annotated[list[str] | None, typer.Option(help="TASK_COLUMN=FILE_COLUMN; repeat for several.")] = None,
    label_names: Annotated[str | None, typer.Option(help="Names of numbered labels in order, with commas.")] = None,
    split: Annotated[str, typer.Option(help="Split of a builder's, folder's or Hub set.")] = "test",
    data_dir: Annotated[Path | None, typer.Option(help="Mirror in place of downloads, for builder:config.")] = None,
    device: Annotated[str | None, typer.Option(help="'cpu', or leave it out for the best there is.")] = None,
    n_resamples: Annotated[int, typer.Option(min=1, help="Bootstrap replicates.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Of draws, sampling and bootstrap.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    overwrite: Annotated[bool, typer.Option(help="Delete an earlier run in the folder.")] = False,
) -> None:
    """Measure semantic sensitivity: fooling rates of variants that the same model finds equivalent (A24)."""
    from paraconsist.cli.options import quiet_libraries

    quiet_libraries()
    mapping = label_pairs(label_map)
    from paraconsist.data.run_folder import RunFolder
    from paraconsist.files import to_strict_json
    from paraconsist.models.encoders import encoder_of, load_encoder
    from paraconsist.models.loading import load_model
    from paraconsist.running.predictor import Predictor
    from paraconsist.studies.sensitivity import generator_settings, measure_sensitivity

    with renamed(tries="request_tries"):
        remote = over.endpoint_settings(
            endpoint,
            api=api,
            concurrency=concurrency,
            api_key_variable=api_key_variable,
            timeout=timeout,
            tries=request_tries,
            request_field=request_field,
            price_input=price_input,
            price_output=price_output,
        )
    with renamed(preset="generation"):
        asked = settings_of(
            generation,
            remote,
            n=candidates,
            keep=keep,
            tries=tries,
            temperature=temperature,
            most_jaccard=most_jaccard,
            prompt=prompt,
        )
    settings = generator_settings(preset, asked)
    skipped: Counter[str] = Counter()
    found = load_originals(data, skipped, "nli", columns, label_names, split, data_dir, limit=rows, seed=seed)
    classifier = load_model(model, task=found.task)
    folder = RunFolder(output)
    folder.open({"nli": dict(classifier.identity)}, overwrite=overwrite)
    made = generator_of(
        generator,
        settings,
        kind=kind,
        seed=seed,
        examples=examples,
        endpoint=remote,
        answers=folder.path / "answers",
    )
    with renamed(model="embedding_model"):
        encoder = encoder_of(classifier) if embedding_model is None else load_encoder(embedding_model)
    predictor = Predictor(classifier, found.task, store=folder.store, device=device)
    report = measure_sensitivity(
        predictor,
        found,
        made,
        settings,
        preset=preset,
        label_map=mapping,
        label_rule=label_rule,
        limit=limit,
        encoder=encoder,
        name=generator,
        n_resamples=n_resamples,
        seed=seed,
    )
    facts = {
        "data": found.name,
        "model": dict(classifier.identity),
        "preset": preset,
        "generator": generator,
        "settings": settings.to_dict(),
        "seed": seed,
        **facts_of(made),
    }
    results = to_strict_json({**facts, **report.to_dict()})
    _write(folder, report, predictor, facts, results)
    if as_json:
        typer.echo(json.dumps(results, indent=2, default=str))
        return
    say_generator(made)
    _say(report, skipped, settings, preset)
    typer.echo(f"Results in {output / 'sensitivity.json'}, variants in {output / 'variants.parquet'} (a bucket set).")
    typer.echo(f"Next: paraconsist score {folder.predictions_file('variants')}; paraconsist report {output}")


def _write(
    folder: RunFolder, report: SensitivityReport, predictor: Predictor, facts: dict[str, Any], results: Any
) -> None:
    """Write the variants as a bucket set, the predictions as a run has them, and the results."""
    import pyarrow.parquet as pq

    from paraconsist.data.bucket_sets import load_bucket_set
    from paraconsist.data.predictions import write_predictions
    from paraconsist.running.outputs import predictions_table, run_metadata, texts_table
    from paraconsist.transforms.paraphrase.sets import write_generated

    variants = folder.path / "variants.parquet"
    data = report.generated.data
    write_generated(report.generated.rows(), data, variants, {"column": "hypothesis", "source": data.name, **facts})
    found = load_bucket_set(str(variants), task="nli")
    table = predictions_table(found, predictor.finished(found), report.label_map)
    identity = predictor.model.identity
    write_predictions(
        folder.predictions_file("variants"), table, run_metadata(found, identity, report.label_map, seed=facts["seed"])
    )
    texts = folder.texts_file("variants")
    texts.parent.mkdir(exist_ok=True)
    pq.write_table(texts_table(found), texts, compression="zstd")
    folder.update_run({"sets": {"variants": "predictions/variants.parquet"}})
    partial = folder.path / "sensitivity.json.partial"
    partial.write_text(json.dumps(results, indent=2, default=str) + "\n", encoding="utf-8")
    partial.replace(folder.path / "sensitivity.json")


def _say(report: SensitivityReport, skipped: Counter[str], settings: Any, preset: str) -> None:
    typer.echo(
        f"{report.n_right:,} of {report.n_rows:,} originals answered right "
        f"({100 * report.n_right / report.n_rows:.1f} %)"
        + (f"; {report.n_used:,} of them drawn" if report.n_used < report.n_right else "")
    )
    say_refined(report.refined, settings, skipped)
    enough = ", ".join(f"{k}: {n:,}" for k, n in report.n_with.items())
    typer.echo(f"  right originals with at least k variants: {enough}")
    fooling = report.fooling
    typer.echo(f"Fooling rates, preset {preset}, {fooling.n_items:,} originals:")
    for name in ("relaxed", "strict"):
        low, high = fooling.confidence_interval[name]
        typer.echo(f"  {name}: {100 * getattr(fooling, name):.2f} % [{100 * low:.2f}, {100 * high:.2f}]")
    for label, row in fooling.by_label.items():
        typer.echo(
            f"    {label}: relaxed {100 * row['relaxed']:.2f} %, strict {100 * row['strict']:.2f} %, "
            f"{row['n_items']:,} originals"
        )
    typer.echo("Variants, changed / unchanged answer:")
    changed, unchanged = report.sides["changed"], report.sides["unchanged"]
    typer.echo(f"  number: {changed['n']:,} / {unchanged['n']:,}")
    for name, title in (
        ("jensen_shannon_distance", "Jensen-Shannon distance"),
        ("jensen_shannon_divergence", "Jensen-Shannon divergence, bits"),
        ("max_difference", "largest difference of a probability"),
        ("standard_deviation", "standard deviation of the probabilities"),
    ):
        values = getattr(report.shift, name)
        typer.echo(f"  {title}: {_shown(values['changed'])} / {_shown(values['unchanged'])}")
    for name, title in (
        ("confidence_change", "change of confidence in the gold label"),
        ("embedding_distance", "embedding distance from the original"),
        ("token_overlap", "token overlap with the original (Jaccard)"),
        ("lexical_distance", "lexical distance from the original"),
    ):
        typer.echo(f"  {title}: {_shown(changed[name]['mean'])} / {_shown(unchanged[name]['mean'])}")
    for warning in dict.fromkeys((*fooling.warnings, *report.shift.warnings)):
        typer.echo(f"warning: {warning}")
    typer.echo(fooling.signature)


def _shown(value: float) -> str:
    return "-" if value != value else f"{value:.4f}"
