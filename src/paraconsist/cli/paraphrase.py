"""``paraconsist paraphrase``: a bucket set of generated paraphrases, a sheet to judge them, their surface form."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paraconsist.cli import options as over
from paraconsist.cli.generation import (
    column_of,
    facts_of,
    generator_of,
    label_pairs,
    load_judge,
    load_originals,
    say_generator,
    say_refined,
    settings_of,
)
from paraconsist.errors import input_error, renamed

if TYPE_CHECKING:
    from paraconsist.measures.diversity import ParaphraseDiversityResult


def paraphrase(
    data: Annotated[
        str,
        typer.Argument(help="Labelled rows: a CSV, TSV, JSONL or Parquet file, builder:config, a folder or Hub name."),
    ],
    output: Annotated[
        Path | None, typer.Option(help="The bucket set to write: NAME.parquet, or a folder for load_dataset.")
    ] = None,
    generator: Annotated[
        str, typer.Option(help="rules, a causal or seq2seq model's folder or Hub id, or module:function of your own.")
    ] = "rules",
    preset: Annotated[str, typer.Option(help="Settings of a paper: a24, v23 or s24.")] = "a24",
    column: Annotated[
        str | None, typer.Option(help="The text to paraphrase; by default what the task's papers do.")
    ] = None,
    nli_model: Annotated[
        str | None, typer.Option(help="Keep candidates that this model finds entailed both ways.")
    ] = None,
    entailment: Annotated[
        bool | None, typer.Option("--entailment/--no-entailment", help="Filter by mutual entailment; the preset says.")
    ] = None,
    label_map: Annotated[list[str] | None, typer.Option(help="MODEL_LABEL=TASK_LABEL of the NLI model.")] = None,
    candidates: Annotated[int | None, typer.Option("--candidates", "-n", help="Candidates a try.")] = None,
    keep: Annotated[int | None, typer.Option(help="Paraphrases wanted for each original, k.")] = None,
    least: Annotated[int, typer.Option(min=1, help="Leave out originals with fewer.")] = 1,
    tries: Annotated[int | None, typer.Option(help="How often to ask again for originals with fewer than k.")] = None,
    beams: Annotated[int | None, typer.Option(help="Plain beam search with so many beams.")] = None,
    diversity: Annotated[
        float | None, typer.Option(help="Diverse beam search: penalty for tokens of other groups.")
    ] = None,
    temperature: Annotated[float | None, typer.Option(help="Of sampling (and of the scores, with diversity).")] = None,
    top_k: Annotated[int | None, typer.Option(help="Sample among so many tokens.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Sample among so much probability.")] = None,
    max_new_tokens: Annotated[int | None, typer.Option(help="Longest candidate.")] = None,
    most_jaccard: Annotated[
        float | None, typer.Option(help="Drop candidates that share this much or more words.")
    ] = None,
    prompt: Annotated[
        str | None, typer.Option(help="What the model reads, with {sentence}, and {examples} before it.")
    ] = None,
    examples: Annotated[
        Path | None, typer.Option(help="CSV with columns original, paraphrase, for {examples}.")
    ] = None,
    kind: Annotated[str | None, typer.Option(help="causal or seq2seq; by default what the architecture says.")] = None,
    endpoint: over.GeneratorEndpoint = None,
    api: over.Api = None,
    concurrency: over.Concurrency = None,
    api_key_variable: over.KeyVariable = None,
    timeout: over.Timeout = None,
    request_tries: over.Tries = None,
    request_field: over.RequestField = None,
    price_input: over.PriceInput = None,
    price_output: over.PriceOutput = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Draw this many originals at random.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the draw and of sampling.")] = 0,
    task: Annotated[str | None, typer.Option(help="Task of the rows, where their columns do not say.")] = None,
    columns: Annotated[list[str] | None, typer.Option(help="TASK_COLUMN=FILE_COLUMN; repeat for several.")] = None,
    label_names: Annotated[str | None, typer.Option(help="Names of numbered labels in order, with commas.")] = None,
    split: Annotated[str, typer.Option(help="Split of a builder's, folder's or Hub set.")] = "test",
    data_dir: Annotated[Path | None, typer.Option(help="Mirror in place of downloads, for builder:config.")] = None,
    sheet: Annotated[
        Path | None, typer.Option(help="The CSV to judge; by default OUTPUT's name with .check.csv.")
    ] = None,
    annotators: Annotated[int, typer.Option(min=1, help="Columns for so many people in the sheet.")] = 1,
    scores: Annotated[bool, typer.Option(help="Ask for similarity (0-100) and grammatical in place of valid.")] = False,
    checked: Annotated[
        list[Path] | None,
        typer.Option(help="Filled-in sheets: DATA is then the set written before; keep what people found valid."),
    ] = None,
    least_similarity: Annotated[float, typer.Option(help="With scores: valid above this.")] = 75.0,
    measure: Annotated[bool, typer.Option(help="Only measure the surface form of DATA, a bucket set.")] = False,
    embedding_model: Annotated[str | None, typer.Option(help="Encoder for semantic similarity.")] = None,
    bleurt: Annotated[str | None, typer.Option(help="BLEURT checkpoint, in place of the encoder.")] = None,
    parser: Annotated[str | None, typer.Option(help="For syntactic distance: stanza, or module:function.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
    overwrite: Annotated[bool, typer.Option(help="Replace the output and the sheet.")] = False,
) -> None:
    """Generate paraphrases, filter them, and write a bucket set with a sheet for human judgement."""
    from paraconsist.cli.options import quiet_libraries

    quiet_libraries()
    mapping = label_pairs(label_map)
    if measure:
        found = _measure(data, column, task, split, data_dir, nli_model, mapping, embedding_model, bleurt, parser)
        _say_form(found, as_json=as_json)
        return
    if output is None:
        raise input_error("paraphrase", "output", "be given", remedy="NAME.parquet, or a folder; or --measure.")
    from paraconsist.files import to_strict_json
    from paraconsist.transforms.paraphrase.judgements import write_judgement_sheet
    from paraconsist.transforms.paraphrase.refining import refine
    from paraconsist.transforms.paraphrase.sets import GeneratedSet, check_place, write_generated
    from paraconsist.transforms.paraphrase.surface_form import measure_pairs, pairs_of

    check_place(output, overwrite=overwrite)
    if checked:
        _keep_checked(Path(data), checked, output, least_similarity)
        return
    to_check = sheet if sheet is not None else output.with_name(f"{output.stem}.check.csv")
    if to_check.exists() and not overwrite:
        raise input_error("paraphrase", "sheet", "not be there already", got=str(to_check), remedy="Give --overwrite.")
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
    filtering = nli_model is not None if entailment is None and nli_model is not None else entailment
    settings = settings_of(
        preset,
        remote,
        prompt=prompt,
        n=candidates,
        keep=keep,
        tries=tries,
        num_beams=beams,
        diversity=diversity,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        max_new_tokens=max_new_tokens,
        most_jaccard=most_jaccard,
        mutual_entailment=filtering,
    )
    if settings.mutual_entailment and nli_model is None:
        raise input_error(
            "paraphrase",
            "nli_model",
            f"be given: preset {preset} keeps what an NLI model finds entailed both ways",
            remedy="Train one (paraconsist train --task nli ...), or give --no-entailment.",
        )
    skipped: Counter[str] = Counter()
    rows = load_originals(data, skipped, task, columns, label_names, split, data_dir, limit=limit, seed=seed)
    chosen = column_of(rows, column)
    made = generator_of(
        generator,
        settings,
        kind=kind,
        seed=seed,
        examples=examples,
        endpoint=remote,
        answers=output.with_name(f"{output.stem}.answers"),
    )
    judge = None if nli_model is None or not settings.mutual_entailment else load_judge(nli_model, mapping)
    place = rows.column(chosen)
    refined = refine([row.texts[place] for row in rows.rows], made, settings, judge)
    generated = GeneratedSet(rows, chosen, refined.accepted, generator, least, getattr(made, "rules", None))
    written = generated.rows()
    facts = {
        "source": rows.name,
        "column": chosen,
        "generator": generator,
        "preset": preset,
        "seed": seed,
        "nli_model": nli_model if settings.mutual_entailment else None,
        "settings": settings.to_dict(),
        "counts": {**refined.to_dict(), "n_kept_originals": len(generated.kept()), "least": least},
        **facts_of(made),
    }
    say_generator(made, aside=as_json)
    say_refined(refined, settings, skipped, aside=as_json)
    write_generated(written, rows, output, facts)
    write_judgement_sheet(to_check, generated.sheet_rows(), annotators=annotators, scores=scores)
    form = measure_pairs(pairs_of(written, [chosen]), n_resamples=1000)
    if as_json:
        typer.echo(json.dumps(to_strict_json({**facts, "surface_form": form.to_dict()}), indent=2))
        return
    n_kept = len(generated.kept())
    typer.echo(f"{n_kept:,} originals with {len(written) - n_kept:,} paraphrases, {least} or more each: {output}")
    _say_form(form, as_json=False)
    typer.echo(f"To judge them, fill in the empty columns of {to_check} (a copy for everybody, if you like), then")
    typer.echo(f"  paraconsist paraphrase {output} --checked {to_check} --output CHECKED{output.suffix}")
    typer.echo(f"Next: paraconsist run --model MODEL --dataset {output} --output RUN")


def _keep_checked(place: Path, sheets: Sequence[Path], output: Path, least_similarity: float) -> None:
    from paraconsist.transforms.paraphrase.judgements import read_judgements
    from paraconsist.transforms.paraphrase.sets import keep_valid

    said = read_judgements(sheets, least_similarity=least_similarity)
    counts = keep_valid(place, said, output)
    n = counts["n_valid"] + counts["n_invalid"]
    typer.echo(f"{counts['n_valid']:,} of {n:,} judged paraphrases are valid ({100 * counts['n_valid'] / n:.1f} %)")
    if counts["n_open"]:
        typer.echo(f"  left out {counts['n_open']:,} not judged")
    if said.agreement:
        typer.echo(
            f"  Fleiss' kappa {said.agreement['fleiss_kappa']:.3f} on {said.agreement['n_common']:,} judged by all"
        )
        for pair, kappa in said.agreement["cohen_kappa"].items():
            typer.echo(f"  Cohen's kappa {kappa:.3f} of annotators {pair}")
    typer.echo(f"{counts['n_buckets']:,} originals, {counts['n_rows']:,} rows: {output}")


def _measure(
    data: str,
    column: str | None,
    task: str | None,
    split: str,
    data_dir: Path | None,
    nli_model: str | None,
    label_map: dict[str, str] | None,
    embedding_model: str | None,
    bleurt: str | None,
    parser: str | None,
) -> ParaphraseDiversityResult:
    from paraconsist.data.bucket_sets import load_bucket_set
    from paraconsist.models.encoders import load_encoder
    from paraconsist.transforms.paraphrase.surface_form import (
        COLUMNS,
        load_bleurt,
        load_parser,
        measure_pairs,
        pairs_of,
    )

    with renamed():
        found = load_bucket_set(data, task=task, split=split, data_dir=None if data_dir is None else str(data_dir))
    columns = COLUMNS.get(found.task.name, ()) if column is None else (column,)
    if not columns or not set(columns) <= set(found.task.columns):
        raise input_error("paraphrase", "column", f"be one of {', '.join(found.task.columns)}", got=column)
    if bleurt is not None and embedding_model is not None:
        raise input_error("paraphrase", "bleurt", "be given without --embedding-model", got=bleurt)
    with renamed(model="embedding_model"):
        encoder = None if embedding_model is None else load_encoder(embedding_model)
    return measure_pairs(
        pairs_of(found.table.to_pylist(), columns),
        encoder=encoder,
        bleurt=None if bleurt is None else load_bleurt(bleurt),
        parser=None if parser is None else load_parser(parser),
        judge=None if nli_model is None else load_judge(nli_model, label_map),
    )


def _say_form(form: ParaphraseDiversityResult, *, as_json: bool) -> None:
    if as_json:
        from paraconsist.files import to_strict_json

        typer.echo(json.dumps(to_strict_json(form.to_dict()), indent=2))
        return
    names = ("lexical_distance", "jaccard", "semantic_similarity", "syntactic_distance", "mutual_entailment")
    for name in names:
        value, (low, high) = getattr(form, name), form.confidence_interval[name]
        if value == value:
            typer.echo(f"  {name.replace('_', ' ')}: {100 * value:.1f} [{100 * low:.1f}, {100 * high:.1f}]")
    needs = {
        "semantic_similarity": "--embedding-model ENCODER, or --bleurt CHECKPOINT",
        "syntactic_distance": "--parser stanza (or your own)",
        "mutual_entailment": "--nli-model MODEL",
    }
    for name, need in needs.items():
        if getattr(form, name) != getattr(form, name):
            typer.echo(f"  {name.replace('_', ' ')}: not measured; it needs --measure with {need}")
