"""``paraconsist perturb``: bucket sets from any labelled set, and the sheet to check them by hand."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paraconsist.errors import input_error

if TYPE_CHECKING:
    from paraconsist.transforms.lexicon import Lexicon
    from paraconsist.transforms.perturbation import LabelledSet, Perturbation


def perturb(
    data: Annotated[
        str,
        typer.Argument(help="Labelled rows: a CSV, TSV, JSONL or Parquet file, builder:config, a folder or Hub name."),
    ],
    output: Annotated[Path, typer.Option(help="The bucket set to write, .parquet or .jsonl.")],
    property_name: Annotated[
        str | None,
        typer.Option("--property", help="symmetric, transitive, additive, negation or antonym."),
    ] = None,
    task: Annotated[str | None, typer.Option(help="Task of the rows, where their columns do not say.")] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(help="TASK_COLUMN=FILE_COLUMN, where the names differ; repeat for several."),
    ] = None,
    label_names: Annotated[
        str | None, typer.Option(help="Names of numbered labels in order, such as entailment,not_entailment.")
    ] = None,
    split: Annotated[str, typer.Option(help="Split of a builder's, folder's or Hub set.")] = "test",
    limit: Annotated[int | None, typer.Option(min=1, help="Draw this many items at random.")] = None,
    seed: Annotated[int, typer.Option(help="Of the draw.")] = 0,
    token_limit: Annotated[
        int, typer.Option(help="additive: most white-space tokens of the joined text (SST-2: 25, AG-News: 36).")
    ] = 25,
    antonyms: Annotated[
        Path | None, typer.Option(help="antonym: a CSV with columns word, antonym, in place of WordNet.")
    ] = None,
    wordnet: Annotated[
        Path | None, typer.Option(help="Folder with WordNet's dict files, where it is in none of the usual places.")
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option(help="The CSV to check by hand; by default beside the output, NAME.check.csv.")
    ] = None,
    checked: Annotated[
        Path | None,
        typer.Option(help="A filled-in sheet: DATA is then the set written before; keep what is marked valid."),
    ] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Mirror in place of downloads, for builder:config.")] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace the output and the sheet.")] = False,
) -> None:
    """Make a symmetric, transitive, additive or negational bucket set from labelled rows (BECEL, section 3.2)."""
    from paraconsist.data.writing import check_new_files
    from paraconsist.transforms.labelled_sets import SET_ENDINGS, keep_checked, load_labelled, write_set

    if checked is not None:
        if property_name is not None:
            remedy = "DATA is then the set that was written before; nothing is made anew."
            raise input_error("perturb", "checked", "be given without `property`", got=property_name, remedy=remedy)
        check_new_files("perturb", [output], endings=SET_ENDINGS, overwrite=overwrite)
        for line in keep_checked(Path(data), checked, output):
            typer.echo(line)
        return
    if property_name is None:
        remedy = "One of symmetric, transitive, additive, negation, antonym."
        raise input_error("perturb", "property", "be given", remedy=remedy)
    to_check = sheet if sheet is not None else output.with_name(f"{output.stem}.check.csv")
    check_new_files("perturb", [output, to_check], endings=SET_ENDINGS, overwrite=overwrite)
    skipped: Counter[str] = Counter()
    rows = load_labelled(
        data,
        skipped,
        task=task,
        columns=column or (),
        label_names=label_names,
        split=split,
        data_dir=None if data_dir is None else str(data_dir),
    )
    items, total = _items(
        property_name,
        rows,
        skipped,
        limit=limit,
        seed=seed,
        token_limit=token_limit,
        antonyms=antonyms,
        wordnet=wordnet,
    )
    n_written = write_set(items, rows, output, to_check)
    drawn = f" (drawn from {total:,} with seed {seed})" if total is not None and total > n_written else ""
    typer.echo(f"{n_written:,} {property_name} items{drawn} from {len(rows.rows):,} rows: {output}")
    for reason, n in skipped.most_common():
        typer.echo(f"  left out {n:,}: {reason}")
    typer.echo(f"To check by hand, fill in the column `valid` (yes or no) of {to_check}, then")
    typer.echo(f"  paraconsist perturb {output} --checked {to_check} --output CHECKED{output.suffix}")


def _items(
    property_name: str,
    rows: LabelledSet,
    skipped: Counter[str],
    *,
    limit: int | None,
    seed: int,
    token_limit: int,
    antonyms: Path | None,
    wordnet: Path | None,
) -> tuple[Iterator[Perturbation], int | None]:
    """Return the items in their order, and how many there were before the limit (None: as many as come)."""
    from paraconsist.transforms.pairings import AdditivePairs
    from paraconsist.transforms.perturbation import check_task

    check_task(rows, property_name)
    if property_name == "additive":
        pairs = AdditivePairs(rows, token_limit, skipped)
        return pairs.pairs(limit, seed), len(pairs)
    items = _perturbations(property_name, rows, skipped, antonyms, wordnet)
    if limit is None:
        return items, None
    everything = list(items)
    if limit >= len(everything):
        return iter(everything), len(everything)
    wanted = sorted(random.Random(seed).sample(range(len(everything)), limit))
    return (everything[i] for i in wanted), len(everything)


def _perturbations(
    property_name: str, rows: LabelledSet, skipped: Counter[str], antonyms: Path | None, wordnet: Path | None
) -> Iterator[Perturbation]:
    from paraconsist.transforms.antonyms import antonym, antonyms_from_list, antonyms_from_wordnet
    from paraconsist.transforms.negation import negation
    from paraconsist.transforms.pairings import symmetric, transitive

    if property_name == "symmetric":
        return symmetric(rows, skipped)
    if property_name == "transitive":
        return transitive(rows, skipped)
    if property_name == "negation":
        return negation(rows, _lexicon(wordnet), skipped)
    if antonyms is not None:
        return antonym(rows, antonyms_from_list(antonyms), skipped)
    return antonym(rows, antonyms_from_wordnet(wordnet), skipped)


def _lexicon(wordnet: Path | None) -> Lexicon | None:
    """Return WordNet if it is there; without it lexical verbs are left alone, which is said."""
    from paraconsist.transforms.lexicon import known_lexicon

    lexicon = known_lexicon(wordnet)
    if lexicon is not None:
        return lexicon
    typer.echo(
        "WordNet was not found: only sentences with a copula, an auxiliary or `have` are negated. "
        "Install nltk and WordNet (`python -m nltk.downloader wordnet`, or Debian's wordnet-base) for the others.",
        err=True,
    )
    return None
