"""``paraconsist train``: fine-tune a classifier, or train one of the word-level baselines."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from paraconsist.errors import input_error


def train(
    output: Annotated[Path, typer.Option(help="Folder to write: new, or an interrupted training with --resume.")],
    model: Annotated[
        str | None,
        typer.Option(help="bow, glove_bow, bilstm, a Hub id, or a folder: an encoder, or a classifier to go on with."),
    ] = None,
    train_file: Annotated[Path | None, typer.Option(help="Training rows: CSV, TSV, JSON Lines or Parquet.")] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Training rows from a builder, such as sample:defeasible_nli_train.")
    ] = None,
    eval_file: Annotated[Path | None, typer.Option(help="Rows to measure accuracy on after each epoch.")] = None,
    eval_dataset: Annotated[str | None, typer.Option(help="The same, from a builder.")] = None,
    task: Annotated[str | None, typer.Option(help="Task of the rows, where their columns do not say.")] = None,
    preset: Annotated[
        str | None, typer.Option(help="Named settings (`paraconsist list` shows them); options given win.")
    ] = None,
    text_column: Annotated[
        str | None, typer.Option(help="Column with ready-made text, in place of the task's columns.")
    ] = None,
    text_pair_column: Annotated[str | None, typer.Option(help="Column with the second text.")] = None,
    label_column: Annotated[str, typer.Option(help="Column of labels, by name or number.")] = "label",
    label_names: Annotated[
        str | None, typer.Option(help="Labels in order, with commas, in place of the task's own.")
    ] = None,
    input_columns: Annotated[
        str | None,
        typer.Option(help="The task's columns that the model is shown, with commas: a partial-input model."),
    ] = None,
    drop_unlabelled: Annotated[
        bool, typer.Option(help="Leave out rows without a gold label (empty, '-', -1).")
    ] = False,
    limit: Annotated[int | None, typer.Option(help="Train on a random sample of this many rows.")] = None,
    limit_seed: Annotated[int, typer.Option(help="Of --limit and --share; --seed does not change it.")] = 0,
    share: Annotated[float | None, typer.Option(help="Train on this share of the rows (0.05), drawn by group.")] = None,
    group_columns: Annotated[
        str | None,
        typer.Option(help="Columns whose rows stay together in --share; by default the task's context."),
    ] = None,
    head: Annotated[str, typer.Option(help="auto, classification or multiple_choice.")] = "auto",
    batch_size: Annotated[int | None, typer.Option(help="Rows in a step, on each device.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Of AdamW, at its highest.")] = None,
    epochs: Annotated[float | None, typer.Option(help="Passes over the rows.")] = None,
    weight_decay: Annotated[float | None, typer.Option(help="Of AdamW.")] = None,
    warmup: Annotated[float | None, typer.Option(help="Share of steps in which the rate rises.")] = None,
    gradient_accumulation: Annotated[int | None, typer.Option(help="Batches added up to one step.")] = None,
    max_length: Annotated[int | None, typer.Option(help="Cut inputs at this many tokens.")] = None,
    group_by_length: Annotated[bool | None, typer.Option(help="Batches of similar length: less padding.")] = None,
    best_model: Annotated[bool, typer.Option(help="Keep the best epoch, not the last.")] = False,
    best_by: Annotated[str | None, typer.Option(help="'accuracy' or 'loss' on the evaluation rows.")] = None,
    patience: Annotated[
        int | None, typer.Option(help="Early stopping: end after this many epochs without a better one.")
    ] = None,
    vectors: Annotated[
        Path | None, typer.Option(help="Word vectors (GloVe text format) for glove_bow and bilstm.")
    ] = None,
    extra_words: Annotated[int | None, typer.Option(help="Take this many more words of that file.")] = None,
    freeze_vectors: Annotated[bool, typer.Option(help="Leave the word vectors as they are.")] = False,
    embedding_dim: Annotated[int | None, typer.Option(help="Length of vectors that start random.")] = None,
    lstm_size: Annotated[int | None, typer.Option(help="Units of bilstm in each direction.")] = None,
    lstm_layers: Annotated[int | None, typer.Option(help="Layers of bilstm.")] = None,
    pooling: Annotated[str | None, typer.Option(help="Of bilstm: max, mean or last.")] = None,
    mlp_size: Annotated[int | None, typer.Option(help="Units of the fully connected layers.")] = None,
    mlp_layers: Annotated[int | None, typer.Option(help="How many, the last one included.")] = None,
    dropout: Annotated[float | None, typer.Option(help="Of glove_bow and bilstm.")] = None,
    bf16: Annotated[bool, typer.Option(help="bfloat16 mixed precision.")] = False,
    save_steps: Annotated[
        int | None, typer.Option(help="Checkpoint after this many steps, in place of each epoch.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of initial weights, order and dropout.")] = 0,
    seeds: Annotated[
        str | None, typer.Option(help="Several, with commas: one training each, in OUTPUT/seed-0 and so on.")
    ] = None,
    resume: Annotated[bool, typer.Option(help="Go on with an interrupted training in the folder.")] = False,
    device: Annotated[str | None, typer.Option(help="'cpu', or leave it out for the best there is.")] = None,
    data_dir: Annotated[str | None, typer.Option(help="Mirror in place of downloads.")] = None,
    revision: Annotated[str | None, typer.Option(help="Revision of a Hub model.")] = None,
    trust_remote_code: Annotated[bool, typer.Option(help="Run code that comes with a Hub model.")] = False,
) -> None:
    """Train a classifier that `paraconsist run` can run."""
    from paraconsist.cli.options import quiet_libraries

    quiet_libraries()
    from paraconsist.models.training.folder import TrainingFolder
    from paraconsist.models.training.presets import options_from_preset
    from paraconsist.models.training.trainer import train as train_model
    from paraconsist.models.training.trainer import train_seeds

    options = options_from_preset(
        preset,
        output=output,
        model=model,
        train_file=train_file,
        dataset=dataset,
        eval_file=eval_file,
        eval_dataset=eval_dataset,
        task=task,
        text_column=text_column,
        text_pair_column=text_pair_column,
        label_column=label_column,
        label_names=_names(label_names),
        input_columns=_names(input_columns),
        drop_unlabelled=drop_unlabelled,
        limit=limit,
        limit_seed=limit_seed,
        share=share,
        group_columns=_names(group_columns),
        head=head,
        batch_size=batch_size,
        learning_rate=learning_rate,
        epochs=epochs,
        weight_decay=weight_decay,
        warmup=warmup,
        gradient_accumulation=gradient_accumulation,
        max_length=max_length,
        group_by_length=group_by_length,
        best_model=best_model or None,
        best_by=best_by,
        patience=patience,
        vectors=vectors,
        extra_words=extra_words,
        freeze_vectors=freeze_vectors or None,
        embedding_dim=embedding_dim,
        lstm_size=lstm_size,
        lstm_layers=lstm_layers,
        pooling=pooling,
        mlp_size=mlp_size,
        mlp_layers=mlp_layers,
        dropout=dropout,
        bf16=bf16,
        save_steps=save_steps,
        seed=seed,
        resume=resume,
        device=device,
        data_dir=data_dir,
        revision=revision,
        trust_remote_code=trust_remote_code,
    )
    chosen = None if seeds is None else _seeds(seeds)
    folders = [train_model(options, say=typer.echo)] if chosen is None else train_seeds(options, chosen, say=typer.echo)
    if os.environ.get("RANK", "0") != "0":  # of several processes the first one speaks
        return
    for folder in folders:
        if folder.is_dir() and (folder / "training.json").is_file():
            _conclude(folder, TrainingFolder(folder).read())


def _names(given: str | None) -> tuple[str, ...] | None:
    """Read ``a,b``."""
    return None if given is None else tuple(name.strip() for name in given.split(","))


def _seeds(given: str) -> list[int]:
    """Read ``0,1,2``."""
    try:
        return [int(part) for part in given.split(",")]
    except ValueError:
        raise input_error("train", "seeds", "be whole numbers with commas between", got=given) from None


def _conclude(folder: Path, said: Mapping[str, Any]) -> None:
    """Say how good it got beside the majority rate, and what to type next."""
    metrics = said.get("metrics")
    if metrics is None:  # another process of several is still writing
        return
    n_rows = said["data"]["train"]["n_rows"]
    typer.echo(f"Trained on {n_rows:,} rows in {said['seconds']:.0f} s; saved in {folder}.")
    if "eval_accuracy" in metrics:
        typer.echo(
            f"Accuracy on {said['data']['eval']['n_rows']:,} evaluation rows: "
            f"{100 * metrics['eval_accuracy']:.1f} "
            f"(always the commonest label: {100 * metrics['eval_majority']:.1f})."
        )
    else:
        typer.echo("No evaluation rows were given (--eval-file): how good it is, nobody has measured yet.")
    typer.echo(f"Next: paraconsist run --model {shlex.quote(str(folder))} --dataset SET --output FOLDER")
