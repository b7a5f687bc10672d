"""``paraconsist perturb``: bucket sets from any labelled set, and the sheet to check them by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from paraconsist.cli.ends import say, say_status
from paraconsist.cli.options import REQUIRED, Fields, argument, echo, read_names
from paraconsist.data.options import option
from paraconsist.errors import input_error, renamed
from paraconsist.reporting.formatting import plural
from paraconsist.transforms.perturbation import RowOptions

if TYPE_CHECKING:
    from paraconsist.data.bucket_sets import BucketSet
    from paraconsist.transforms.lexicon import Lexicon
    from paraconsist.transforms.perturbation import LabelledSet, Perturbation


@dataclass(frozen=True)
class ItemOptions:
    """How many items are made, and what each property needs."""

    limit: int | None = option(None, "Draw this many items at random.", min=1)
    seed: int = option(0, "Random seed of the draw.")
    token_limit: int = option(25, "additive: most white-space tokens of the joined text (SST-2: 25, AG-News: 36).")
    antonyms: Path | None = option(None, "antonym: a CSV with columns word, antonym, in place of WordNet.")
    wordnet: Path | None = option(None, "Folder with WordNet's dict files, where it is in none of the usual places.")


def perturb(
    *,
    data: str = argument(
        "Labelled rows, or questions: a file (CSV, TSV, JSONL, Parquet, YAML), builder:config, folder or Hub name."
    ),
    output: Path = option(REQUIRED, "The bucket set to write, .parquet or .jsonl, of questions .parquet or .yaml."),
    property_name: str | None = option(
        None,
        "symmetric, transitive, additive, negation or antonym; of questions typos, lower_case and punctuation, with "
        "commas, by default all three.",
        option="--property",
    ),
    reading: Annotated[RowOptions, Fields(names={"columns": "column"})],
    making: ItemOptions,
    sheet: Path | None = option(None, "The CSV to check by hand; by default beside the output, NAME.check.csv."),
    checked: Path | None = option(
        None, "A filled-in sheet: DATA is then the set written before; keep what is marked valid."
    ),
    overwrite: bool = option(False, "Replace the output and the sheet."),
) -> None:
    """Make a symmetric, transitive, additive or negational bucket set from labelled rows (BECEL, section 3.2).

    paraconsist perturb rows.csv --property symmetric --output set.parquet
    paraconsist perturb set.parquet --checked set.check.csv --output checked.parquet
    """
    from paraconsist.data.bucket_sets import YAML_ENDINGS
    from paraconsist.data.tasks import QUESTIONS
    from paraconsist.data.writing import check_new_files
    from paraconsist.transforms.labelled_sets import SET_ENDINGS, keep_checked, labelled, load_rows, write_set

    if checked is not None:
        if property_name is not None:
            remedy = "DATA is then the set that was written before; nothing is made anew."
            raise input_error("perturb", "checked", "be given without `property`", got=property_name, remedy=remedy)
        check_new_files("perturb", [output], endings=SET_ENDINGS, overwrite=overwrite)
        for line in keep_checked(Path(data), checked, output):
            echo(line)
        return
    to_check = sheet if sheet is not None else output.parent / f"{output.stem}.check.csv"
    skipped: Counter[str] = Counter()
    with renamed(columns="column"):
        loaded = load_rows(data, skipped, reading)
    asks = loaded.task is QUESTIONS
    endings = (".parquet", *YAML_ENDINGS) if asks else SET_ENDINGS
    check_new_files("perturb", [output, to_check], endings=endings, overwrite=overwrite)
    if asks:
        _of_questions(loaded, read_names(property_name), making, output, to_check)
        return
    if property_name is None:
        remedy = "One of symmetric, transitive, additive, negation, antonym."
        raise input_error("perturb", "property", "be given", remedy=remedy)
    rows = labelled(loaded, skipped)
    items, total = _items(property_name, rows, skipped, making)
    n_written = write_set(items, rows, output, to_check)
    drawn = f" (drawn from {total:,} with seed {making.seed})" if total is not None and total > n_written else ""
    echo(f"{n_written:,} {property_name} items{drawn} from {len(rows.rows):,} rows: {output}")
    for reason, n in skipped.most_common():
        echo(f"  left out {n:,}: {reason}")
    say_status(f"To check by hand, fill in the column `valid` (yes or no) of {to_check}, then")
    say_status(f"  paraconsist perturb {output} --checked {to_check} --output CHECKED{output.suffix}")


def _of_questions(rows: BucketSet, kinds: Sequence[str] | None, making: ItemOptions, output: Path, sheet: Path) -> None:
    """Write wordings of questions, with a sheet to check them, and say how many of each kind there are."""
    from paraconsist.cli.paraphrase import say_next
    from paraconsist.transforms.paraphrase.judgements import write_judgement_sheet
    from paraconsist.transforms.paraphrase.sets import perturbed_questions, write_generated

    made, counts = perturbed_questions(rows, kinds, limit=making.limit, seed=making.seed)
    if listed := made.sheet_rows():
        write_judgement_sheet(sheet, listed)
    facts = {"source": rows.name, "column": made.column, "kinds": dict(counts), "seed": making.seed}
    write_generated(made.rows(), rows, output, facts)
    of_kinds = ", ".join(f"{kind} {n:,}" for kind, n in counts.items())
    echo(f"{plural(counts.total(), 'wording')} of {plural(len(made.buckets), 'question')} ({of_kinds}): {output}")
    say_next(output, sheet)


def _items(
    property_name: str, rows: LabelledSet, skipped: Counter[str], options: ItemOptions
) -> tuple[Iterator[Perturbation], int | None]:
    """Return the items in their order, and how many there were before the limit (None: as many as come)."""
    from paraconsist.transforms.perturbation import AdditivePairs, check_task, sampled

    check_task(rows, property_name)
    if property_name == "additive":
        pairs = AdditivePairs(rows, options.token_limit, skipped)
        return pairs.pairs(options.limit, options.seed), len(pairs)
    items = _perturbations(property_name, rows, skipped, options)
    if options.limit is None:
        return items, None
    everything = list(items)
    return iter(sampled(everything, options.limit, options.seed)), len(everything)


def _perturbations(
    property_name: str, rows: LabelledSet, skipped: Counter[str], options: ItemOptions
) -> Iterator[Perturbation]:
    from paraconsist.transforms.negation import antonym, antonyms_from_list, antonyms_from_wordnet, negation
    from paraconsist.transforms.perturbation import symmetric, transitive

    if property_name in ("symmetric", "transitive"):
        return (symmetric if property_name == "symmetric" else transitive)(rows, skipped)
    if property_name == "negation":
        return negation(rows, _lexicon(options.wordnet), skipped)
    named, wordnet = options.antonyms, options.wordnet
    return antonym(rows, antonyms_from_wordnet(wordnet) if named is None else antonyms_from_list(named), skipped)


def _lexicon(wordnet: Path | None) -> Lexicon | None:
    """Return WordNet if it is there; without it lexical verbs are left alone, which is said."""
    from paraconsist.transforms.lexicon import known_lexicon

    lexicon = known_lexicon(wordnet)
    if lexicon is None:
        lost = "WordNet was not found: only sentences with a copula, an auxiliary or `have` are negated."
        how = "(`python -m nltk.downloader wordnet`, or Debian's wordnet-base)"
        say(f"{lost} Install nltk and WordNet {how} for the others.")
    return lexicon
