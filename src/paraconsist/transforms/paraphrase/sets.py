"""A bucket set of paraphrases: made from labelled rows or questions, written with a card, checked by people, measured.

Wordings of questions may also differ in their surface alone, as careless typing does.

The surface form of paraphrases beside their originals is that of Table 6 of Srikanth et al. (2024); a constituency
parser and BLEURT are optional packages.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import pyarrow as pa

from paraconsist._version import __version__
from paraconsist.data.bucket_sets import (
    COMPARERS_KEY,
    YAML_ENDINGS,
    BucketSet,
    bucket_set_from_table,
    declared_comparers,
)
from paraconsist.data.prompts import are_questions, asked, by_bucket, read_questions, reworded, write_questions
from paraconsist.data.sharing import public, public_comparer, public_name
from paraconsist.data.tables import PARAPHRASE_KEY, read_table
from paraconsist.data.tasks import QUESTIONS, input_id, named_in_rows
from paraconsist.data.writing import bucket_set_schema, file_in_folder, write_set_folder, write_table
from paraconsist.entry_points import load_function
from paraconsist.errors import InputError, first_line, input_error, renamed
from paraconsist.files import Json
from paraconsist.measures.diversity import ParaphraseDiversityResult, paraphrase_diversity
from paraconsist.transforms.paraphrase import generators, refining
from paraconsist.transforms.paraphrase.judgements import Judgements, is_rejected, write_judgement_sheet
from paraconsist.transforms.paraphrase.kept import parts
from paraconsist.transforms.perturbation import PROPERTIES, LabelledRow, LabelledSet, sampled
from paraconsist.transforms.rewording import KINDS
from paraconsist.transforms.sheets import check_same_texts, render

if TYPE_CHECKING:
    from paraconsist.models.encoders import Encoder

_MOST_SHOWN = 1_000  # letters of a rejected candidate in the sheet


@dataclass(frozen=True)
class GeneratedSet:
    """Originals with their accepted paraphrases."""

    data: LabelledSet  # the originals, task and label names
    column: str  # the paraphrased text
    accepted: Mapping[str, Sequence[str]]  # original text -> paraphrases
    generator: str  # for the stratum of that name
    least: int = 1  # originals with fewer paraphrases are left out
    #: (original, paraphrase) -> the rules that made it, if the generator names them.
    rules: Mapping[tuple[str, str], str] | None = None

    def kept(self) -> list[tuple[LabelledRow, Sequence[str]]]:
        """Return the originals with enough paraphrases, in order."""
        place = self.data.column(self.column)
        pairs = ((row, self.accepted.get(row.texts[place], ())) for row in self.data.rows)
        return [(row, texts) for row, texts in pairs if len(texts) >= max(self.least, 1)]

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of the long format; in data without groups, equal contexts are a group."""
        task, place = self.data.task, self.data.column(self.column)
        has_groups = any(row.group_id != row.example_id for row in self.data.rows)
        rows = []
        for row, paraphrases in self.kept():
            context = (*row.texts[:place], *row.texts[place + 1 :])
            key = repr((task.name, context)).encode("utf-8", "surrogatepass")
            by_context = not has_groups and any(context)
            group = hashlib.blake2b(key, digest_size=8).hexdigest() if by_context else row.group_id
            for number, text in enumerate((row.texts[place], *paraphrases)):
                texts = dict(zip(task.columns, row.texts, strict=True)) | {self.column: text}
                made = {
                    "example_id": f"{row.example_id}.{f'paraphrase_{number}' if number else 'original'}",
                    "input_id": input_id(task, texts),
                    "bucket_id": row.example_id,
                    "group_id": group,
                    "role": "paraphrase" if number else "original",
                    **texts,
                    "label": row.label,
                    "allowed_labels": [row.label],
                    **named_in_rows(task),
                    "generator": public_name(self.generator) if number else "original",
                }
                if self.rules is not None:
                    made["rule"] = self.rules.get((row.texts[place], text), "") if number else "original"
                rows.append(made)
        return rows

    def sheet_rows(self) -> list[dict[str, str]]:
        """Return the rows of the sheet to judge: each paraphrase with its original and context."""
        place, columns = self.data.column(self.column), self.data.task.columns
        context = (*columns[:place], *columns[place + 1 :])
        return [
            {
                "example_id": f"{row.example_id}.paraphrase_{number}",
                "context": render(context, [(*row.texts[:place], *row.texts[place + 1 :])]),
                "original": row.texts[place],
                "paraphrase": text,
                "label": self.data.label_names[row.label],
            }
            for row, paraphrases in self.kept()
            for number, text in enumerate(paraphrases, start=1)
        ]


@dataclass(frozen=True)
class GeneratedQuestions:
    """Questions with their accepted new wordings."""

    column: ClassVar[str] = "question"
    data: BucketSet
    buckets: Mapping[str, Sequence[Json]]  # question -> its rows, the original first
    refined: refining.Refined
    generator: str
    least: int  # questions with fewer wordings besides the original are left out
    kinds: Mapping[tuple[str, str], str] = field(default_factory=dict)  # (question, wording) -> its maker, if several

    def kept(self) -> list[tuple[str, Sequence[str]]]:
        """Return the questions with enough wordings, and their new ones."""
        new = ((bucket, self.refined.accepted[asked(rows[0])]) for bucket, rows in self.buckets.items())
        return [(bucket, texts) for bucket, texts in new if len(self.buckets[bucket]) - 1 + len(texts) >= self.least]

    def rows(self) -> list[Json]:
        """Return the rows of the long format: the original, the wordings that it had, the new ones."""
        rows = []
        for bucket, texts in self.kept():
            original, *given = ({"generator": "given", **row} for row in self.buckets[bucket])
            original["generator"] = "original"
            for text in texts:
                maker = self.kinds.get((asked(original), text), public_name(self.generator))
                given.append({**reworded(original, text), "role": "paraphrase", "generator": maker})
            rows += by_bucket([original, *given])[bucket]
        return [{**row, "input_id": input_id(QUESTIONS, row)} for row in rows]

    def sheet_rows(self) -> list[dict[str, str]]:
        """Return the rows of the sheet: every candidate with what its checks said, those that passed first."""
        names = {(row["bucket_id"], asked(row)): row["example_id"] for row in self.rows()}
        examined: dict[str, list[refining.Examined]] = {}
        for one in sorted(self.refined.examined, key=lambda one: one.reason is not None):
            examined.setdefault(one.original, []).append(one)
        listed = []
        for bucket, (row, *_) in self.buckets.items():
            columns = [name for name in QUESTIONS.columns if name != "question" and row[name]]
            for number, (original, candidate, reason, note) in enumerate(examined.get(asked(row), ()), start=1):
                passed = reason is None and (bucket, candidate) in names
                said = "passed" if passed else f"left out: {reason or f'its question has fewer than {self.least}'}"
                listed.append(
                    {
                        "example_id": names[bucket, candidate] if passed else f"{bucket}.rejected_{number}",
                        "context": render(columns, [[row[name] for name in columns]]),
                        "original": original,
                        "paraphrase": candidate if passed else candidate[:_MOST_SHOWN],
                        "expected": " | ".join(row["label"] or ()),
                        "checks": said + note,
                    }
                )
        return listed


@dataclass(frozen=True)
class Paraphrased:
    """Labelled rows, or questions, with paraphrases, not written yet."""

    generated: GeneratedSet | GeneratedQuestions
    refined: refining.Refined
    generator: generators.Generator
    facts: Json  # how the set was made, for its metadata

    def write(
        self, output: Path, sheet: Path, *, annotators: int = 1, scores: bool = False
    ) -> ParaphraseDiversityResult:
        """Write the bucket set and the sheet to judge it, and return the set's surface form."""
        rows = self.generated.rows()
        if listed := self.generated.sheet_rows():
            write_judgement_sheet(sheet, listed, annotators=annotators, scores=scores)
        write_generated(rows, self.generated.data, output, self.facts)
        return measure_pairs(pairs_of(rows, [self.generated.column]), n_resamples=1000)


def make_paraphrases(
    data: LabelledSet | BucketSet,
    settings: generators.GeneratorSettings,
    options: generators.ParaphraseOptions,
    *,
    answers: Path,
    limit: int | None = None,
    say: Callable[[str], object] = str,
) -> Paraphrased:
    """Generate paraphrases of labelled rows, or wordings of questions (all or `limit` at random); keep those that pass.

    An endpoint's answers are kept in the folder `answers`; `say` is told the number of requests before any is sent.
    """
    texts: dict[str, list[str]] = {}  # original -> the wordings that it has already
    column, buckets = options.column or "", dict[str, Sequence[Json]]()
    if isinstance(data, LabelledSet):
        usual = COLUMNS.get(data.task.name, data.task.columns)
        column = column or (usual[0] if len(usual) == 1 else "")
        if column not in data.task.columns:
            must = f"be one of {', '.join(data.task.columns)}"
            raise input_error("paraphrase", "column", must, got=options.column, remedy="Give `column`.")
        texts = {row.texts[data.column(column)]: [] for row in data.rows}
    elif options.column is not None:
        raise input_error("paraphrase", "column", "be given for labelled rows only", got=options.column)
    else:
        settings = replace(settings, whole=True)
        buckets = dict(sampled([*by_bucket(data.table.to_pylist()).items()], limit, options.seed))
        for original, *others in buckets.values():
            texts.setdefault(asked(original), []).extend(map(asked, others))
    nli_model = options.nli_model if settings.mutual_entailment else None
    judge: refining.Judge | None = None
    if options.check is not None:
        judge = refining.MeaningCheck(options.check)
    elif settings.mutual_entailment and nli_model is None:
        must = f"be given: preset {options.preset or 'a24'} keeps what an NLI model finds entailed both ways"
        remedy = "Train one (paraconsist train --task nli ...), or turn `mutual_entailment` off."
        raise input_error("paraphrase", "nli_model", must, remedy=remedy)
    elif nli_model is not None:
        judge = refining.load_judge(nli_model, options.label_map)
    generator = generators.load_generator(options, settings, seed=options.seed, answers=answers, say=say)
    n = settings.n * settings.tries
    if options.endpoint is not None:
        of = "an original" if isinstance(data, LabelledSet) else "a question"
        say(f"{n:,} requests {of}, {n * len(texts):,} in all{' at most' if settings.tries > 1 else ''}")
    if options.check is not None:
        say(f"check: {refining.error_of_check(options.check)}")
    if options.check is not None and options.check.startswith("judge:"):
        say(f"and 2 to the judge for each candidate that passes the other checks, {2 * n * len(texts):,} at most")
    refined = refining.refine(list(texts), generator, settings, judge, texts)
    generated: GeneratedSet | GeneratedQuestions
    if isinstance(data, LabelledSet):
        rules = getattr(generator, "rules", None)
        generated = GeneratedSet(data, column, refined.accepted, options.generator, options.least, rules)
    else:
        generated = GeneratedQuestions(data, buckets, refined, options.generator, options.least)
    facts = {
        "source": generated.data.name,
        "column": generated.column,
        "generator": options.generator,
        "preset": options.preset,
        "seed": options.seed,
        "nli_model": nli_model,
        "check": None if options.check is None else public_comparer(options.check),
        "error_of_check": None if options.check is None else refining.error_of_check(options.check),
        "settings": asdict(settings),
        "counts": {**refined.to_dict(), "n_kept_originals": len(generated.kept()), "least": options.least},
        **generators.endpoint_facts(generator),
    }
    return Paraphrased(generated, refined, generator, facts)


_WORD = re.compile(r"(?<![\w'’])[^\W\d_]{4,}(?![\w'’])")
_WORDS_A_SLIP = 8  # of a text, for each of its words with a slip


def _typos(text: str, rng: Random) -> str:
    """Swap two letters inside some words, at least one; the first and the last letter stay."""
    words = [match.span() for match in _WORD.finditer(text) if len(set(match[0][1:-1])) > 1]
    letters = list(text)
    for start, end in rng.sample(words, min(len(words), 1 + len(words) // _WORDS_A_SLIP)):
        place = rng.choice([i for i in range(start + 1, end - 2) if text[i] != text[i + 1]])
        letters[place : place + 2] = letters[place + 1], letters[place]
    return "".join(letters)


SURFACE: Mapping[str, Callable[[str, Random], str]] = {
    "typos": _typos,
    "lower_case": lambda text, _: text.lower(),
    "punctuation": lambda text, _: re.sub(r"(?<![ ?.])(?:[ ?.]|(?<![\d)])(?<!\b\w)!)+\Z", "", text),  # n! stays
}


def perturbed_questions(
    data: BucketSet, names: Sequence[str] | None, *, limit: int | None, seed: int
) -> tuple[GeneratedQuestions, Counter[str]]:
    """Return questions, all or `limit` drawn at random, with a wording of each kind, and the number of each kind.

    Code, numbers, quotations and the like stay as they are: a question that a kind would change there has none of it.
    InputError for a kind that questions cannot have, or that changes none of these.
    """
    for name in names or ():
        if name not in SURFACE:
            remedy = "".join(f"Did you mean {near}?" for near in get_close_matches(name, SURFACE, 1))
            remedy = f"`paraconsist reword` has the kind {name}." if name in KINDS else remedy
            remedy = "It needs rows with labels, of a task of the papers." if name in PROPERTIES else remedy
            must = f"be kinds for questions ({', '.join(SURFACE)})"
            raise input_error("perturb", "property", must, got=name, remedy=remedy)
    buckets = dict(sampled([*by_bucket(data.table.to_pylist()).items()], limit, seed))
    given: dict[str, set[str]] = {}  # question -> its wordings, of all buckets that ask it
    for rows in buckets.values():
        given.setdefault(asked(rows[0]), set()).update(map(asked, rows))
    made, kinds = refining.Refined({text: [] for text in given}), dict[tuple[str, str], str]()
    for text, seen in given.items():
        for name in names or SURFACE:
            new = SURFACE[name](text, Random(f"{seed}/{name}/{text}"))
            if new.strip() and new not in seen and parts(new) == parts(text):
                seen.add(new)
                kinds[text, new] = name
                made.add(refining.Examined(text, new, None, f"; {name}"))
    counts = Counter(kinds.values())
    for name in names or ():
        if not counts[name]:
            must = "be kinds that change one of these questions: it made none"
            raise input_error("perturb", "property", must, got=name)
    return GeneratedQuestions(data, buckets, made, "perturb", 1, kinds), counts


def check_place(output: Path, *, asks: bool, overwrite: bool) -> None:
    """Refuse an output of another kind (of questions YAML or Parquet), one without a parent, or one that exists."""
    must, remedy = "", ""
    taken = output.exists() and (output.is_file() or any(output.iterdir()))
    if output.suffix not in (".parquet", *(YAML_ENDINGS if asks else ("",))):
        must = "end in .parquet, or " + ("in .yaml" if asks else "be a folder's name without a dot")
    elif not output.parent.is_dir():
        must = "be in a folder that exists"
    elif taken and output.is_dir() and file_in_folder(output) is None:
        must = "be new, empty, or written by this command"
    elif taken and not overwrite:
        must, remedy = "not be there already", "Give `overwrite` to replace it."
    if must:
        raise input_error("paraphrase", "output", must, got=str(output), remedy=remedy)


def write_generated(rows: Sequence[Json], data: LabelledSet | BucketSet, output: Path, facts: Json) -> None:
    """Write rows to ``NAME.parquet``, or a folder with a card for ``load_dataset``; `facts` say how it was made.

    Questions are written as YAML or Parquet, with their comparers and, in Parquet, all columns that `data` has.
    """
    if not rows:
        must = "have enough paraphrases, at least one of them"
        remedy = "Look at the counts above: ask for more candidates or tries, or loosen the filter that removed most."
        raise input_error("paraphrase", "originals", must, got="no original has", remedy=remedy)
    if isinstance(data, LabelledSet):
        schema = bucket_set_schema(rows[0], data.label_names)
    else:
        fields = {field.name: field for field in (*data.table.schema, pa.field("generator", pa.string()))}
        schema = pa.schema(fields.values(), {COMPARERS_KEY: json.dumps(dict(data.comparers)).encode()})
    _write(pa.Table.from_pylist(list(rows), schema=schema), output, facts)


def _write(table: pa.Table, output: Path, facts: Json) -> None:
    facts = public(dict(facts))
    metadata = {**table.schema.metadata, PARAPHRASE_KEY: json.dumps(facts, sort_keys=True, default=str).encode()}
    table = table.replace_schema_metadata(metadata)
    if output.suffix in YAML_ENDINGS:
        error = {key: facts[key] for key in ("error_of_check",) if facts.get(key)}
        write_questions(table.to_pylist(), declared_comparers(table) | error, output)
    elif output.suffix == ".parquet":
        write_table(table, output)
    else:
        write_set_folder(table, output, text=_card_text(output.name, table, facts), tags=["paraphrase"])


def read_generated(place: Path) -> tuple[pa.Table, Json]:
    """Read a set that `write_generated` wrote, and how it was made, which YAML does not say."""
    if place.suffix in YAML_ENDINGS:
        table, comparers = read_questions(place)
        table = bucket_set_from_table(table, name=place.stem, task="questions").table
        table = pa.Table.from_pylist([row for group in by_bucket(table.to_pylist()).values() for row in group])
        declared = {COMPARERS_KEY: json.dumps(comparers).encode()}
        return table.replace_schema_metadata(declared), {"column": "question"}
    file = (file_in_folder(place) or place / "data") if place.is_dir() else place
    table = read_table(file, function="paraphrase", parameter="data")
    facts = (table.schema.metadata or {}).get(PARAPHRASE_KEY)
    if facts is None:
        raise input_error("paraphrase", "data", "be a set that `paraconsist paraphrase` wrote", got=str(place))
    return table, json.loads(facts)


def keep_valid(place: Path, judgements: Judgements, output: Path) -> dict[str, int]:
    """Write the paraphrases of a set that people found valid, with their originals; the most similar first.

    Of questions the wordings that they had before, which no sheet lists, are kept too.

    Originals without a valid paraphrase are left out. Returns ``n_valid``, ``n_invalid``, ``n_open`` paraphrases,
    ``n_missed`` valid candidates that are not in the set, ``n_buckets``, ``n_rows``.
    """
    table, facts = read_generated(place)
    asks = are_questions(table.column_names)
    if output.suffix != place.suffix and not asks:
        raise input_error("paraphrase", "output", "be of the set's kind, file or folder", got=str(output))
    rows = table.to_pylist()
    column = facts["column"]
    originals = {row["bucket_id"]: asked(row, column) for row in rows if row["role"] == "original"}
    paraphrases = {row["example_id"]: row for row in rows if row["role"] != "original"}
    written = {name: (originals[row["bucket_id"]], asked(row, column)) for name, row in paraphrases.items()}
    listed = {name: texts for name, texts in judgements.texts.items() if name in written or not is_rejected(name)}
    check_same_texts("paraphrase", listed, written)
    given = {name for name in paraphrases if asks and name not in listed}  # wordings that a question had before
    found = {name for name in paraphrases if judgements.valid.get(name)}
    if not found:
        raise input_error("paraphrase", "checked", "find at least one paraphrase valid", got=f"{len(paraphrases)} rows")
    valid = found | given
    buckets = {paraphrases[name]["bucket_id"] for name in valid}
    order = {bucket: i for i, bucket in enumerate(originals)}

    def rank(row: Json) -> tuple[int, bool, float]:
        similarity = judgements.similarity.get(row["example_id"], 0.0)
        return order[row["bucket_id"]], row["role"] != "original", -similarity

    chosen = (r for r in rows if (r["bucket_id"] in buckets if r["role"] == "original" else r["example_id"] in valid))
    kept = sorted(chosen, key=rank)  # without scores nothing moves
    n_open = sum(judgements.valid.get(name) is None for name in paraphrases.keys() - given)
    counts = {"n_valid": len(found), "n_invalid": len(paraphrases) - len(valid) - n_open, "n_open": n_open}
    n_missed = sum(bool(valid) for name, valid in judgements.valid.items() if name not in listed)
    counts |= {"n_missed": n_missed, "n_buckets": len(buckets), "n_rows": len(kept)}
    checked = {**facts, "checked": {**counts, **judgements.agreement}, "error_of_check": None}
    _write(pa.Table.from_pylist(kept, schema=table.schema), output, checked)
    return counts


def _card_text(name: str, table: pa.Table, facts: Json) -> str:
    n_original = table["role"].to_pylist().count("original")
    counts = {"n_originals": f"{n_original:,}", "n_paraphrases": f"{table.num_rows - n_original:,}"}
    named = {"name": name, "source": facts.get("source", "a set"), "column": facts.get("column", "text")}
    made = "\n".join(f"- {key}: {json.dumps(value, default=str)}" for key, value in facts.items())
    template = files("paraconsist.transforms.paraphrase").joinpath("card.md").read_text(encoding="utf-8")
    return template.format(**named, **counts, version=__version__, made=made)


#: Task -> the columns that its papers paraphrase.
COLUMNS = {"nli": ("hypothesis",), "defeasible_nli": ("update",), "abductive_nli": ("hypothesis_1", "hypothesis_2")}
COLUMNS |= {QUESTIONS.name: (GeneratedQuestions.column,)}

#: Paraphrase, original, bucket.
Pair = tuple[str, str, str]


def pairs_of(rows: Sequence[Json], columns: Sequence[str]) -> list[Pair]:
    """Return (paraphrase, original, bucket) of every paraphrase, once for each paraphrased column."""
    originals = {row["bucket_id"]: row for row in rows if row["role"] == "original"}
    pairs: list[Pair] = []
    for number, row in enumerate(rows):
        if row["role"] != "paraphrase":
            continue
        original = originals.get(row["bucket_id"])
        if original is None:
            must = "have an original in every bucket"
            raise input_error("paraphrase", "data", must, got=row["bucket_id"], row=number)
        pairs += [(asked(row, column), asked(original, column), row["bucket_id"]) for column in columns]
    if not pairs:
        raise input_error("paraphrase", "data", "have paraphrases", got="none", remedy="Give a bucket set.")
    return pairs


def measure_pairs(
    pairs: Sequence[Pair],
    *,
    encoder: Encoder | None = None,
    bleurt: Callable[[Sequence[str], Sequence[str]], list[float]] | None = None,
    parser: Parser | None = None,
    judge: refining.Judge | None = None,
    **options: Any,
) -> ParaphraseDiversityResult:
    """Measure the pairs of `pairs_of`; intervals resample the buckets.

    Encoder or BLEURT give similarity, the parser syntactic distance, the judge mutual entailment. `options` as for
    `paraconsist.measures.diversity.paraphrase_diversity`.
    """
    new, old = [p for p, _, _ in pairs], [o for _, o, _ in pairs]
    if encoder is not None:
        options |= {"embeddings": encoder(new), "original_embeddings": encoder(old)}
    if bleurt is not None:
        options |= {"similarities": bleurt(new, old)}
    if parser is not None:
        texts = list(dict.fromkeys([*new, *old]))
        trees = dict(zip(texts, parser(texts), strict=True))
        options |= {"parses": [trees[t] for t in new], "original_parses": [trees[t] for t in old]}
    if judge is not None:
        options |= {"entailed": judge(old, new).tolist()}
    return paraphrase_diversity(new, old, groups=[bucket for _, _, bucket in pairs], **options)


def measure_set(
    rows: BucketSet, options: generators.ParaphraseOptions, models: generators.MeasuringModels
) -> ParaphraseDiversityResult:
    """Measure a bucket set as `measure_pairs` does; the options' NLI model judges mutual entailment."""
    from paraconsist.models.encoders import load_encoder

    columns = COLUMNS.get(rows.task.name, ()) if options.column is None else (options.column,)
    if not columns or not set(columns) <= set(rows.task.columns):
        raise input_error("paraphrase", "column", f"be one of {', '.join(rows.task.columns)}", got=options.column)
    if models.bleurt is not None and models.embedding_model is not None:
        raise input_error("paraphrase", "bleurt", "be given without `embedding_model`", got=models.bleurt)
    with renamed(model="embedding_model"):
        encoder = None if models.embedding_model is None else load_encoder(models.embedding_model)
    return measure_pairs(
        pairs_of(rows.table.to_pylist(), columns),
        encoder=encoder,
        bleurt=None if models.bleurt is None else load_bleurt(models.bleurt),
        parser=None if models.parser is None else load_parser(models.parser),
        judge=None if options.nli_model is None else refining.load_judge(options.nli_model, options.label_map),
    )


#: Texts -> a bracketed constituency tree for each.
Parser: TypeAlias = Callable[[Sequence[str]], list[str]]


def load_parser(name: str) -> Parser:
    """Return a constituency parser: ``stanza``, or the user's ``module:function`` (texts -> bracketed trees)."""
    if ":" in name:
        user_parser: Parser = load_function(name, "paraphrase", "parser", "texts to bracketed trees")
        return user_parser
    if name != "stanza":
        raise input_error("paraphrase", "parser", "be stanza, or your own module:function", got=name)
    try:
        stanza: Any = importlib.import_module("stanza")
    except ImportError:
        raise _missing("parser", "stanza", 'pip install stanza, then stanza.download("en")') from None
    try:
        pipeline = stanza.Pipeline("en", processors="tokenize,pos,constituency", tokenize_no_ssplit=True, verbose=False)
    except Exception as problem:
        how = f'stanza.download("en"). Its error: {first_line(problem)}'
        raise _missing("parser", "stanza with its English model", how) from None
    return lambda texts: [str(pipeline(text).sentences[0].constituency) for text in texts]


def load_bleurt(checkpoint: str) -> Callable[[Sequence[str], Sequence[str]], list[float]]:
    """Return BLEURT, (paraphrases, originals) -> scores, from a checkpoint of Google's package ``bleurt``."""
    try:
        score: Any = importlib.import_module("bleurt.score")
    except ImportError:
        how = "pip install git+https://github.com/google-research/bleurt, and unpack a checkpoint"
        how += "; or give `embedding_model` for the cosine of embeddings"
        raise _missing("similarity", "bleurt", how) from None
    try:
        scorer = score.BleurtScorer(checkpoint)
    except Exception as problem:
        must, remedy = "name a BLEURT checkpoint", first_line(problem)
        raise input_error("paraphrase", "similarity", must, got=checkpoint, remedy=remedy) from None
    return lambda paraphrases, originals: [
        float(value) for value in scorer.score(references=list(originals), candidates=list(paraphrases))
    ]


def _missing(parameter: str, package: str, how: str) -> InputError:
    return input_error("paraphrase", parameter, f"be installed: {package}", remedy=f"{how}.")
