"""``paraconsist transform``: a file's texts transformed, what was changed, and the sheet to check it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paraconsist.cli.ends import say_status
from paraconsist.cli.options import argument, echo, print_json, read_names, read_values
from paraconsist.data.options import option
from paraconsist.errors import input_error


def transform(
    *,
    file: Path | None = argument("Rows with texts: a CSV, TSV, JSONL or Parquet file.", None),
    transformation_name: str | None = option(
        None,
        "wordnet_nouns, dictionary, suffix, or module:function, yours from text to text. "
        "By default wordnet_nouns, or dictionary if one is given.",
        option="--transformation",
    ),
    columns: str = option("premise,hypothesis", "Columns to transform, with commas between."),
    output: Path | None = option(None, "The file to write: .csv, .tsv, .jsonl or .parquet."),
    option: list[str] | None = option(
        None, "NAME=VALUE, an option of the transformation, such as surface=plain; repeat for several."
    ),
    dictionary: Path | None = option(None, "dictionary: a CSV or TSV with columns key and value, or a JSON object."),
    block_list: str | None = option(None, "Words never to replace, one a line in a text file; none for no list."),
    corpus: list[Path] | None = option(None, "Fit to these files (all splits, say) in place of FILE; repeat."),
    save_dictionary: Path | None = option(
        None, "Write the substitutions that were found, .csv: --dictionary reads it."
    ),
    sheet: Path | None = option(None, "Write a random sample of changed rows to mark by hand, CSV."),
    sheet_size: int = option(400, "How many rows the sheet has.", min=1),
    sheet_read: Path | None = option(None, "Read a marked sheet, and nothing else."),
    label_column: str = option("label", "Column of labels, if there is one: for the sheet, and for lengths by label."),
    seed: int = option(0, "Random seed of the sheet's sample.", min=0),
    as_json: bool = option(False, "Print the report as JSON.", option="--json"),
    overwrite: bool = option(False, "Replace files that are there."),
) -> None:
    """Change texts by synonyms, a dictionary, a suffix or your function; report it, and sample it for checking.

    paraconsist transform rows.csv --output changed.csv --sheet sheet.csv
    paraconsist transform --sheet-read sheet.csv
    """
    from paraconsist.data.writing import check_new_files
    from paraconsist.transforms.dictionary import FittedDictionary, write_dictionary
    from paraconsist.transforms.interface import apply_to_columns, lengths_by_label
    from paraconsist.transforms.labelled_sets import read_texts, write_texts
    from paraconsist.transforms.registry import transformation
    from paraconsist.transforms.sheets import write_soundness_sheet

    if sheet_read is not None:
        if file is not None or output is not None or sheet is not None:
            raise input_error("transform", "sheet_read", "be given without a file, an output or another sheet")
        _say_soundness(sheet_read, as_json)
        return
    if file is None or output is None:
        remedy = "Or give `sheet_read` to read a marked sheet."
        raise input_error("transform", "file", "be given with `output`", remedy=remedy)
    outputs = [file for file in (output, sheet, save_dictionary) if file is not None]
    check_new_files("transform", outputs, overwrite=overwrite)
    name = transformation_name or ("wordnet_nouns" if dictionary is None else "dictionary")
    wanted = list(read_names(columns) or ())
    rows, texts = read_texts(file, wanted)  # before WordNet is opened: what is wrong with the file is told anywhere
    made = transformation(name, **_options(option or (), dictionary, block_list))
    seen = [read_texts(path, wanted)[1] for path in corpus or ()] or [texts]
    fitted = made.fit([text for part in seen for values in part.values() for text in values])
    if save_dictionary is not None and not isinstance(fitted, FittedDictionary):
        raise input_error("transform", "save_dictionary", "be given with wordnet_nouns or dictionary", got=name)
    changed = apply_to_columns(fitted, texts, made.name)
    before, after = (list(zip(*side.values(), strict=True)) for side in (texts, changed))
    labels = None
    if label_column in rows.column_names:
        labels = ["" if value is None else str(value) for value in rows[label_column].to_pylist()]
    report = {"transformation": made.name, "parameters": dict(made.parameters), **fitted.report(before, after)}
    if labels is not None:
        report["by_label"] = lengths_by_label(before, after, labels)
    if sheet is not None:
        settings: dict[str, Any] = {"columns": wanted, "name": made.name, "size": sheet_size, "seed": seed}
        report["sheet_rows"] = write_soundness_sheet(sheet, before, after, labels=labels, **settings)
    if save_dictionary is not None and isinstance(fitted, FittedDictionary):
        write_dictionary(fitted.dictionary, save_dictionary)
    write_texts(rows, changed, output)
    if as_json:
        print_json(report)
        return
    echo(*_lines(report))
    say_status(f"Written: {output}")
    if sheet is not None:
        say_status(f"{report['sheet_rows']:,} changed rows to check: fill in `valid` (yes or no) of {sheet}, then")
        say_status(f"  paraconsist transform --sheet-read {sheet}")


def _options(items: Sequence[str], dictionary: Path | None, block_list: str | None) -> dict[str, Any]:
    options = read_values("transform", "option", items)
    if dictionary is not None:
        options["dictionary"] = str(dictionary)
    if block_list is not None:
        options["block_list"] = None if block_list == "none" else block_list
    return options


def _lines(report: dict[str, Any]) -> list[str]:
    n, changed = report["n_items"], report["n_changed"]
    lines = [
        f"{report['transformation']}: {changed:,} of {n:,} rows changed ({100 * report['share_changed']:.1f} %), "
        f"{report['words_changed_per_item']:.2f} words a row; "
        f"mean length {report['mean_words']:.2f} -> {report['mean_words_changed']:.2f} words"
    ]
    tagger = report.get("tagger")
    if tagger is not None:
        lines.append(
            f"  nouns by {tagger}; {report['dictionary_size']:,} words have a substitute, "
            f"{report['n_distinct_substitutions']:,} of them occur"
        )
    if report["non_noun_share"] is not None:
        how = "in its context" if str(tagger).startswith("spacy") else "by its commonest use"
        lines.append(f"  {100 * report['non_noun_share']:.1f} % of the replaced words are no noun {how}")
    lines += [
        f"  {label}: {row['n_items']:,} rows, {row['mean_words']:.2f} -> {row['mean_words_changed']:.2f} words"
        for label, row in report.get("by_label", {}).items()
    ]
    if not changed:
        return [*lines, "  no word was changed: only case, punctuation or white space"]
    most = report["most_frequent"][:10]
    frequent = (f"{m['before'] or '(added)'} -> {m['after'] or '(removed)'} ({m['n']:,})" for m in most)
    return [*lines, f"  most frequent: {', '.join(frequent)}"]


def _say_soundness(path: Path, as_json: bool) -> None:
    from paraconsist.transforms.sheets import read_soundness

    soundness = read_soundness(path)
    if as_json:
        print_json(vars(soundness))
        return
    if not soundness.n_marked:
        remedy = "Fill in its column `valid`: yes or no."
        raise input_error("transform", "sheet_read", "have marked rows", got=str(path), remedy=remedy)
    echo(
        f"{soundness.n_sound:,} of {soundness.n_marked:,} marked rows are sound: {100 * soundness.share:.1f} % "
        f"[{100 * soundness.low:.1f}, {100 * soundness.high:.1f}] "
        f"({100 * soundness.confidence_level:g} % Clopper-Pearson)"
    )
    if soundness.n_open:
        echo(f"  {soundness.n_open:,} rows are not marked yet and not counted")
