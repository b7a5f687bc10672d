"""``paraconsist paraphrase``: a bucket set of generated paraphrases, a sheet to judge them, their surface form."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from paraconsist.cli.ends import say_status
from paraconsist.cli.options import (
    Fields,
    Given,
    argument,
    echo,
    endpoint_fields,
    endpoint_settings,
    print_json,
    quiet_libraries,
    read_label_map,
)
from paraconsist.cli.run import say_usage
from paraconsist.data.options import LABEL_MAP, option
from paraconsist.errors import input_error, renamed
from paraconsist.models.endpoint.settings import EndpointSettings
from paraconsist.reporting.formatting import plural
from paraconsist.transforms.paraphrase.generators import GeneratorSettings, MeasuringModels, ParaphraseOptions
from paraconsist.transforms.perturbation import RowOptions

if TYPE_CHECKING:
    from paraconsist.measures.diversity import ParaphraseDiversityResult
    from paraconsist.transforms.paraphrase.generators import Generator
    from paraconsist.transforms.paraphrase.refining import Refined

#: The endpoint's `tries` are of a request, the generator's of candidates.
GENERATOR_ENDPOINT = endpoint_fields(tries="request_tries")
#: A paper's settings have these; here they are given only to change them.
_SETTINGS = tuple(name for name, one in GeneratorSettings.__dataclass_fields__.items() if one.metadata)


@dataclass(frozen=True)
class SheetOptions:
    """The sheet in which people judge paraphrases."""

    sheet: Path | None = option(None, "The CSV to judge; by default OUTPUT's name with .check.csv.")
    annotators: int = option(1, "How many people judge: each has columns in the sheet.", min=1)
    scores: bool = option(False, "Ask for similarity (0-100) and grammatical in place of valid.")


def paraphrase(
    *,
    data: str = argument(
        "Labelled rows, or questions of your own: a CSV, TSV, JSONL or Parquet file, YAML of questions, "
        "builder:config, a folder or Hub name."
    ),
    output: Path | None = option(
        None,
        "The bucket set to write: NAME.parquet, or a folder for load_dataset; of questions NAME.yaml or NAME.parquet, "
        "by default DATA's name with .reworded before its ending.",
    ),
    options: Annotated[ParaphraseOptions, Fields(without=("endpoint", "label_map"))],
    label_map: list[str] | None = option(None, LABEL_MAP),
    changes: Annotated[Given, Fields(GeneratorSettings, only=_SETTINGS, unset=_SETTINGS)],
    endpoint: Annotated[Given, GENERATOR_ENDPOINT],
    limit: int | None = option(None, "Draw this many originals at random.", min=1),
    reading: RowOptions,
    judging: SheetOptions,
    checked: list[Path] | None = option(
        None, "Filled-in sheets: DATA is then the set written before; keep what people found valid."
    ),
    least_similarity: float = option(75.0, "With scores: valid above this."),
    measure: bool = option(False, "Only measure the surface form of DATA, a bucket set."),
    measuring: MeasuringModels,
    as_json: bool = option(False, "Print what was done as JSON.", option="--json"),
    overwrite: bool = option(False, "Replace the output and the sheet."),
) -> None:
    """Generate paraphrases, filter them, and write a bucket set with a sheet for human judgement.

    paraconsist paraphrase rows.csv --nli-model ORG/NLI --output set.parquet
    paraconsist paraphrase questions.yaml --generator MODEL --endpoint http://localhost:8000/v1
    """
    quiet_libraries()
    options = replace(options, label_map=read_label_map("paraphrase", label_map), endpoint=generator_endpoint(endpoint))
    if measure:
        _measure(data, reading, options, measuring, as_json=as_json)
        return
    if checked:
        _keep_checked(data, checked, output, least_similarity, overwrite=overwrite)
        return
    from paraconsist.data.tasks import QUESTIONS
    from paraconsist.data.writing import is_filled
    from paraconsist.transforms.labelled_sets import labelled, load_rows
    from paraconsist.transforms.paraphrase.generators import settings_of
    from paraconsist.transforms.paraphrase.sets import make_paraphrases

    skipped: Counter[str] = Counter()
    rows = load_rows(data, skipped, reading)
    asks = rows.task is QUESTIONS
    output = _place(output, data, asks=asks, overwrite=overwrite)
    to_check = judging.sheet or output.parent / f"{output.stem}.check.csv"
    is_there = to_check.exists() and not overwrite and is_filled(to_check)
    if is_there or not to_check.parent.is_dir():
        must = "not be there already" if is_there else "be in a folder that exists"
        remedy = "Give `overwrite` to replace it." * is_there
        raise input_error("paraphrase", "sheet", must, got=str(to_check), remedy=remedy)
    if options.nli_model is not None:
        changes.setdefault("mutual_entailment", True)
    if asks and endpoint:  # by the chat API, as `run` asks questions
        options = replace(options, endpoint=generator_endpoint({"api": "chat", **endpoint}))
    preset = options.preset or ("questions" if asks else "a24")
    options = replace(options, preset=preset)
    settings = settings_of(preset, changes, endpoint=options.endpoint, say=say_status)
    answers = output.parent / f"{output.stem}.answers"
    originals = rows if asks else labelled(rows, skipped, limit=limit, seed=options.seed)
    made = make_paraphrases(originals, settings, options, answers=answers, limit=limit, say=say_status)
    say_generator(made.generator)
    say_refined(made.refined, settings, skipped)
    form = made.write(output, to_check, annotators=judging.annotators, scores=judging.scores)
    if as_json:
        print_json({**made.facts, "surface_form": form.to_dict()})
        return
    kept = made.generated.kept()
    n, least = sum(len(texts) for _, texts in kept), options.least
    if asks:
        echo(
            f"{len(kept):,} questions with {n:,} new wordings, {least} or more each with those that they had: {output}"
        )
    else:
        echo(f"{len(kept):,} originals with {n:,} paraphrases, {least} or more each: {output}")
    _say_form(form)
    say_next(output, to_check, options if asks else None)


def say_next(output: Path, to_check: Path, asked: ParaphraseOptions | None = None) -> None:
    """Print how to judge a written set and how to run it, questions by the model that was `asked` for wordings."""
    say_status(f"To judge them, fill in the empty columns of {to_check} (a copy for everybody, if you like), then")
    checking = ["paraphrase", output, "--checked", to_check, "--output", output.with_stem(f"{output.stem}-checked")]
    say_status(f"  paraconsist {shlex.join(map(str, checking))}")
    running = ["run", "--model", "MODEL"]
    if asked is not None and asked.endpoint:
        running = ["run", "--model", asked.generator]
        running += [part for url in asked.endpoint.urls for part in ("--endpoint", url)]
        key = asked.endpoint.api_key_variable
        running += [] if key is None else ["--api-key-variable", key]
    running += ["--dataset", str(output), "--output", f"{output.with_suffix('')}-run"]
    say_status(f"Next: paraconsist {shlex.join(running)}")


def _place(output: Path | None, data: str, *, asks: bool, overwrite: bool) -> Path:
    """Return the output, of questions by default one with the name of `data`, if it can be written."""
    from paraconsist.data.bucket_sets import YAML_ENDINGS
    from paraconsist.transforms.paraphrase.sets import check_place

    if output is None and asks:
        output = Path(data).with_suffix(".reworded" + (".yaml" if data.endswith(YAML_ENDINGS) else ".parquet"))
    if output is None:
        raise input_error("paraphrase", "output", "be given", remedy="NAME.parquet, or a folder; or `measure`.")
    check_place(output, asks=asks, overwrite=overwrite)
    return output


def _measure(
    data: str, reading: RowOptions, options: ParaphraseOptions, models: MeasuringModels, *, as_json: bool
) -> None:
    from paraconsist.data.bucket_sets import load_bucket_set
    from paraconsist.transforms.paraphrase.sets import measure_set

    rows = load_bucket_set(data, task=reading.task, split=reading.split, data_dir=reading.data_dir)
    form = measure_set(rows, options, models)
    if as_json:
        print_json(form.to_dict())
    else:
        _say_form(form)


def _keep_checked(
    data: str, sheets: Sequence[Path], output: Path | None, least_similarity: float, *, overwrite: bool
) -> None:
    from paraconsist.data.prompts import are_questions
    from paraconsist.transforms.paraphrase.judgements import read_judgements
    from paraconsist.transforms.paraphrase.sets import keep_valid, read_generated

    place = Path(data)
    asks = are_questions(read_generated(place)[0].column_names)
    output = _place(output, f"{place.with_suffix('')}-checked{place.suffix}", asks=asks, overwrite=overwrite)
    judgements = read_judgements(sheets, least_similarity=least_similarity)
    counts = keep_valid(place, judgements, output)
    n = counts["n_valid"] + counts["n_invalid"]
    echo(f"{counts['n_valid']:,} of {n:,} judged paraphrases are valid ({100 * counts['n_valid'] / n:.1f} %)")
    if counts["n_open"]:
        echo(f"  left out {counts['n_open']:,} not judged")
    if counts["n_missed"]:
        echo(f"  {counts['n_missed']:,} that did not pass are valid, too: add them to the set as wordings of your own")
    agreement = judgements.agreement
    if agreement:
        echo(f"  Fleiss' kappa {agreement['fleiss_kappa']:.3f} on {agreement['n_common']:,} judged by all")
        for pair, kappa in agreement["cohen_kappa"].items():
            echo(f"  Cohen's kappa {kappa:.3f} of annotators {pair}")
    echo(f"{counts['n_buckets']:,} originals, {counts['n_rows']:,} rows: {output}")


def _say_form(form: ParaphraseDiversityResult) -> None:
    names = ("lexical_distance", "jaccard", "semantic_similarity", "syntactic_distance", "mutual_entailment")
    for name in names:
        value, (low, high) = getattr(form, name), form.confidence_interval[name]
        if value == value:
            interval = f" [{100 * low:.1f}, {100 * high:.1f}]" if low == low else ""
            echo(f"  {name.replace('_', ' ')}: {100 * value:.1f}{interval}")
    needs = {
        "semantic_similarity": "--embedding-model ENCODER, or --bleurt CHECKPOINT",
        "syntactic_distance": "--parser stanza (or your own)",
        "mutual_entailment": "--nli-model MODEL",
    }
    for name, need in needs.items():
        if getattr(form, name) != getattr(form, name):
            echo(f"  {name.replace('_', ' ')}: not measured; it needs --measure with {need}")


def generator_endpoint(options: Given) -> EndpointSettings | None:
    """Return what the options of `GENERATOR_ENDPOINT` say of an endpoint; None where there is none."""
    with renamed(tries="request_tries"):
        return endpoint_settings(options)


def say_generator(generator: Generator) -> None:
    """Print what a generator behind an endpoint came to."""
    from paraconsist.transforms.paraphrase.generators import EndpointGenerator

    if isinstance(generator, EndpointGenerator):
        usage = generator.usage()
        say_usage(usage, generator.model)
        say_status(f"What it wrote is kept in {generator.answers}; the same command does not ask for it again.")


def say_refined(refined: Refined, settings: GeneratorSettings, skipped: Counter[str]) -> None:
    """Print what was generated and kept, and why the rest was not."""
    for reason, n in skipped.most_common():
        say_status(f"rows left out {n:,}: {reason}")
    rate = f" ({100 * refined.acceptance_rate:.1f} %)" * bool(refined.n_judged)
    say_status(
        f"{refined.n_accepted:,} of {refined.n_judged:,} candidates accepted{rate}, "
        f"for {len(refined.accepted):,} distinct originals, up to {settings.keep} each; "
        f"{plural(refined.n_calls, 'call')}"
        + (f", {refined.n_unused:,} candidates not needed" if refined.n_unused else "")
    )
    for reason, n in refined.reasons.most_common():
        say_status(f"  left out {n:,}: {reason}")
    sizes = Counter(len(texts) for texts in refined.accepted.values())
    say_status("  originals by paraphrases: " + ", ".join(f"{k}: {sizes[k]:,}" for k in sorted(sizes)))
