"""``paraconsist run``: a model over bucket sets, then the measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paraconsist.cli import options as over
from paraconsist.cli.options import quiet_libraries
from paraconsist.errors import input_error

if TYPE_CHECKING:
    from paraconsist.data.bucket_sets import BucketSet
    from paraconsist.models.classifier import Classifier
    from paraconsist.running.prompting import Pool
    from paraconsist.running.run import RunReport


def run(
    model: Annotated[
        list[str],
        typer.Option(
            help="Hub id or folder of a classifier or language model; PATTERN=MODEL, repeated, for one for some sets."
        ),
    ],
    dataset: Annotated[
        list[str],
        typer.Option(help="builder:config, builder:all, a file, a folder, or a Hub name; repeat for several."),
    ],
    output: Annotated[Path, typer.Option(help="The run folder. The same command goes on with an interrupted run.")],
    with_test: Annotated[
        bool, typer.Option(help="Also run the full test set of each set: test accuracy and corrected values.")
    ] = False,
    task: Annotated[str | None, typer.Option(help="Task of the sets, where their columns do not say.")] = None,
    label_map: Annotated[
        list[str] | None,
        typer.Option(help="MODEL_LABEL=TASK_LABEL, repeated; may be many-to-one."),
    ] = None,
    label_rule: Annotated[
        str, typer.Option(help="For many-to-one maps: 'argmax' (then map) or 'sum' (of probabilities).")
    ] = "argmax",
    revision: Annotated[str | None, typer.Option(help="Revision of a Hub model.")] = None,
    dtype: Annotated[str, typer.Option(help="float32, bfloat16 or float16.")] = "float32",
    device: Annotated[str | None, typer.Option(help="'cpu', or leave it out for the best there is.")] = None,
    batch_tokens: Annotated[int | None, typer.Option(min=1, help="Computed tokens a batch, padding included.")] = None,
    max_length: Annotated[int | None, typer.Option(min=1, help="Cut inputs at this many tokens.")] = None,
    trust_remote_code: Annotated[bool, typer.Option(help="Run code that comes with a Hub model.")] = False,
    kind: Annotated[
        str | None, typer.Option(help="classifier, causal or seq2seq; by default what the model's architecture says.")
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(help="Language models: a prompt template's name, or a YAML file; by default the task's."),
    ] = None,
    shots: Annotated[int | None, typer.Option(min=0, help="Language models: solved examples in the prompt.")] = None,
    examples: Annotated[
        list[str] | None,
        typer.Option(help="Set or file to draw them from; repeat to draw evenly from several."),
    ] = None,
    example_split: Annotated[str, typer.Option(help="Split of the sets that examples are drawn from.")] = "train",
    example_seed: Annotated[int, typer.Option(min=0, help="Of the draw of examples.")] = 0,
    scoring: Annotated[
        str | None,
        typer.Option(help="Language models: 'label' (probabilities of the label words) or 'generate' (read answers)."),
    ] = None,
    normalize: Annotated[
        str | None, typer.Option(help="Divide label log-probabilities by: 'none', 'tokens' or 'characters'.")
    ] = None,
    chat: Annotated[bool, typer.Option(help="Put the prompt through the tokenizer's chat template.")] = False,
    max_new_tokens: Annotated[
        int | None,
        typer.Option("--max-new-tokens", "--max-tokens", min=1, help="Longest answer with --scoring generate."),
    ] = None,
    device_map: Annotated[
        str | None, typer.Option(help="Language models: 'auto' spreads the weights over the devices there are.")
    ] = None,
    endpoint: over.Endpoint = None,
    api: over.Api = None,
    concurrency: over.Concurrency = None,
    api_key_variable: over.KeyVariable = None,
    timeout: over.Timeout = None,
    tries: over.Tries = None,
    request_field: over.RequestField = None,
    price_input: over.PriceInput = None,
    price_output: over.PriceOutput = None,
    texts: Annotated[bool, typer.Option(help="Keep the texts in the run folder, for reports.")] = True,
    noise_floor: Annotated[
        int, typer.Option(min=0, help="Ask the originals N times more, in other batches: what flips anyway.")
    ] = 0,
    split: Annotated[str, typer.Option(help="Split of the sets.")] = "test",
    input_columns: Annotated[
        str | None,
        typer.Option(help="The task's columns that a classifier is shown, with commas; by default as it was trained."),
    ] = None,
    limit: Annotated[
        list[str] | None, typer.Option(help="Whole buckets up to N rows of every set, or PATTERN=N for some.")
    ] = None,
    data_dir: Annotated[str | None, typer.Option(help="Mirror in place of downloads.")] = None,
    figures: Annotated[
        bool, typer.Option(help="Also show which answers turn into which, and the confidence of inconsistent pairs.")
    ] = False,
    renormalize: Annotated[bool, typer.Option(help="Divide corrected values by the covered mass.")] = False,
    confidence_level: Annotated[float, typer.Option(min=0, max=1, help="Of the intervals.")] = 0.95,
    n_resamples: Annotated[int, typer.Option(min=1, help="Bootstrap replicates.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 0,
    overwrite: Annotated[bool, typer.Option(help="Delete an earlier run in the folder.")] = False,
) -> None:
    """Run a model over bucket sets and print its consistency."""
    mapping = _pairs(label_map)
    quiet_libraries()
    from paraconsist.running.prompting import AskOptions, PromptOptions, load_pools, settings_for
    from paraconsist.running.run import RunOptions
    from paraconsist.scoring.score import ScoreOptions

    prompts = PromptOptions(template, shots, examples or (), example_split, example_seed, data_dir)
    ask = AskOptions(prompts, scoring, normalize, chat, max_new_tokens, device_map)
    pools: list[Pool] = []

    def load_sets() -> Mapping[str, Sequence[BucketSet]]:
        from paraconsist.data.bucket_sets import load_bucket_set
        from paraconsist.data.selection import assign_models, expand_specs, parse_limits, with_test_sets
        from paraconsist.running.partial_input import shown_to

        assigned = assign_models(model, expand_specs(dataset))
        if with_test:  # by the same model as the set: the corrected values put the two together
            assigned = {name: with_test_sets(answered) for name, answered in assigned.items()}
        pools[:] = load_pools(prompts)
        return {
            name: [
                shown_to(
                    name,
                    load_bucket_set(spec, task=task, data_dir=data_dir, split=split).limited(parse_limits(limit, spec)),
                    input_columns,
                )
                for spec in answered
            ]
            for name, answered in assigned.items()
        }

    options = RunOptions(
        output=output,
        label_map=mapping,
        label_rule=label_rule,
        device=device,
        batch_tokens=batch_tokens,
        seed=seed,
        overwrite=overwrite,
        texts=texts,
        noise_floor=noise_floor,
    )
    scores = ScoreOptions(
        confidence_level=confidence_level, n_resamples=n_resamples, seed=seed, renormalize=renormalize
    )
    remote = {
        "api": api,
        "concurrency": concurrency,
        "api_key_variable": api_key_variable,
        "timeout": timeout,
        "tries": tries,
        "request_field": request_field,
        "price_input": price_input,
        "price_output": price_output,
    }
    if endpoint is not None:
        local = {
            "kind": kind,
            "revision": revision,
            "dtype": dtype if dtype != "float32" else None,
            "device": device,
            "batch_tokens": batch_tokens,
            "max_length": max_length,
            "trust_remote_code": trust_remote_code,
        }
        if noise_floor:
            raise input_error("run", "noise_floor", "not be given with --endpoint", got=noise_floor)
        if input_columns is not None:
            raise input_error("run", "input_columns", "not be given with --endpoint", remedy="Use a template.")
        over.run_over_endpoint(load_sets, ask, pools, options, local=local, url=endpoint, **remote)
        score_run(output, scores, figures=figures)
        return
    over.check_no_address(model)
    over.endpoint_settings(None, **remote)
    from paraconsist.models.loading import load_model
    from paraconsist.running.partial_input import check_partial
    from paraconsist.running.run import run as run_sets

    def load(name: str, group: Sequence[BucketSet]) -> Classifier:
        loaded = load_model(
            name,
            task=group[0].task,
            revision=revision,
            dtype=dtype,
            max_length=max_length,
            trust_remote_code=trust_remote_code,
            kind=kind,
            ask=lambda: settings_for(group, ask, pools),
        )
        ask.check_used(loaded)
        check_partial(loaded, input_columns)
        return loaded

    report = run_sets(load, load_sets, options)
    if report.is_main_process:
        _say_loop(report)
        score_run(report.folder.path, scores, figures=figures)


def score_run(folder: Path, options: Any, *, figures: bool = False) -> None:
    """Score every predictions file of a run folder, print the tables and write ``results.json``.

    Sets without paraphrases get a line with their accuracy, which ``run.json`` keeps.
    """
    from paraconsist.data.run_folder import RunFolder
    from paraconsist.reporting.result import Scores, score_tables, show
    from paraconsist.scoring.folders import plain_accuracies, score_sources
    from paraconsist.scoring.sources import open_source

    run_folder, opened = RunFolder(folder), open_source(folder, function="run")
    accuracies = plain_accuracies(opened)
    results = Scores(opened, score_sources(opened, options)).to_dict() if opened.sets else {}
    show(score_tables(results, figures=figures))
    for name, accuracy in accuracies.items():
        if accuracy["corrects"] is None:  # else it stands in that set's table
            typer.echo(_accuracy_line(name, accuracy))
    if accuracies:
        run_folder.update_run({"accuracies": accuracies})
    run_folder.write_results(results)
    where, file = ("Results", run_folder.results_file) if results else ("Accuracies", run_folder.run_file)
    typer.echo(f"{where} in {file}, predictions in {folder / 'predictions'}.")


def _accuracy_line(name: str, found: Mapping[str, Any]) -> str:
    unparsed = f", {found['n_unparsed']:,} unparsed and wrong" if found["n_unparsed"] else ""
    split = f" ({found['split']})" if found["split"] else ""
    return (
        f"{name}{split}: accuracy {found['accuracy']:.1%} on {found['n_rows']:,} rows{unparsed}, always the commonest "
        f"label {found['majority_rate']:.1%}; no paraphrases, so no consistency."
    )


def _pairs(items: Sequence[str] | None) -> dict[str, str] | None:
    """Read ``MODEL_LABEL=TASK_LABEL`` items."""
    if not items:
        return None
    pairs: dict[str, str] = {}
    for item in items:
        left, equals, right = item.rpartition("=")
        if not equals or not left or not right or left in pairs:
            raise input_error("run", "label_map", "be items of the form MODEL_LABEL=TASK_LABEL, each once", got=item)
        pairs[left] = right
    return pairs


def _say_loop(report: RunReport) -> None:
    for task, loop in report.statistics.items():
        if not loop.n_computed:
            typer.echo(f"{task}: all {loop.n_inputs:,} distinct inputs were there already.")
            continue
        rate = loop.n_computed / max(loop.seconds, 1e-9)
        again = loop.n_inputs - loop.n_computed
        found = f" ({again:,} were there already)" if again else ""
        typer.echo(
            f"{task}: {loop.n_computed:,} distinct inputs computed{found} in {loop.seconds:.1f} s, "
            f"{rate:,.0f} inputs/s, {loop.padding:.1%} padding, "
            f"{loop.n_ranks} process{'es' if loop.n_ranks > 1 else ''}."
        )
