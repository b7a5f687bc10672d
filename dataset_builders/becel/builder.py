"""BECEL (Jang, Kwon, Lukasiewicz 2022): reads the published files; ships none of their text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from paraconsist.dataset_builders.becel.additive import additive_pairs
from paraconsist.dataset_builders.becel.configs import CONFIGS, N_GROUPS, N_ROWS, TEST_CASES, TOKEN_LIMITS
from paraconsist.dataset_builders.becel.files import FILES, TASKS, BecelTask, read_rows
from paraconsist.dataset_builders.becel.joining import TextIndex, join_by_index, require_same
from paraconsist.dataset_builders.bucket_set import BucketSetBuilder, BucketSetConfig
from paraconsist.dataset_builders.upstream import UpstreamFile
from paraconsist.errors import input_error

#: The labels of SNLI's transitive file -> what they allow. 4 (not contradiction) does not occur.
_SNLI_ALLOWED: Mapping[int, list[int]] = {2: [2], 3: [1, 2], 4: [0, 1]}
_SNLI_RULES: Mapping[tuple[int, int, int], str] = {
    (2, 0, 2): "contradiction and entailment: contradiction",
    (1, 2, 3): "neutral and contradiction: not entailment",
}
_WIC_RULES: Mapping[tuple[int, int, int], str] = {
    (1, 1, 1): "same and same: same",
    (1, 0, 0): "same and different: different",
    (0, 1, 0): "different and same: different",
}

Row = dict[str, Any]


class BecelBuilder(BucketSetBuilder):
    """BECEL's 19 test cases, one label-preserving set beside them, normalised twins, and the base sets."""

    NAME = "becel"
    BUILDER_CONFIGS: ClassVar[list[BucketSetConfig]] = CONFIGS
    DEFAULT_CONFIG_NAME = "snli_semantic"
    #: The names of the configs that are test cases of the paper.
    TEST_CASES: ClassVar[tuple[str, ...]] = TEST_CASES
    STRATA: ClassVar[Mapping[str, str]] = {"negation_method": "string", "rule": "string"}
    HOMEPAGE = "https://github.com/MJ-Jang/BECEL"
    CITATION = (
        "Myeongjun Jang, Deuk Sin Kwon, Thomas Lukasiewicz. BECEL: Benchmark for consistency evaluation of "
        "language models. COLING, 2022."
    )

    @property
    def task_and_kind(self) -> tuple[str, str]:
        """BECEL's name of the task (``ag_news``), and the kind of test case or the base set's split."""
        task, _, kind = self.config.name.removesuffix("_normalized").rpartition("_")
        return task, kind

    def upstream_files(self) -> Mapping[str, UpstreamFile]:
        task, kind = self.task_and_kind
        if kind in self.config.counts or kind == "train":  # a base set
            return {split: FILES[f"{task}/{split}"] for split in self.config.counts}
        files = {} if kind == "additive" else {kind: FILES[f"{task}/{kind}"]}
        base = self._base(task, kind)
        return files | {base: FILES[f"{task}/{base}"]}

    def rows(self, split: str, files: Mapping[str, bytes]) -> Iterator[Mapping[str, Any]]:
        task, kind = self.task_and_kind
        if not self.config.measures:
            for row in _base_rows(task, split, self._read(files, split)):
                yield row | {"example_id": row["group_id"], "bucket_id": row["group_id"], "role": "original"}
            return
        base = self._base(task, kind)
        published = self._read(files, base)
        originals = _base_rows(task, base, published)
        if kind == "additive":
            buckets = _additive(task, originals)
        elif kind == "transitive":
            buckets = _transitive(task, self._read(files, kind), originals)
        elif kind == "symmetric":
            buckets = _symmetric(task, self._read(files, kind), published, originals)
        else:
            buckets = _rewritten(task, kind, self._read(files, kind), published, originals)
        groups = set()
        for row in buckets:
            groups.add(row["group_id"])
            yield row
        wanted = N_GROUPS[f"{task}/{kind}"]
        if len(groups) != wanted:
            raise input_error(f"build becel:{self.config.name}", "group_id", f"name {wanted} groups", got=len(groups))

    @staticmethod
    def _base(task: str, kind: str) -> str:
        """The split that a kind's originals stand in."""
        from_train = (kind == "symmetric" and task != "snli") or (task, kind) == ("wic", "transitive")
        return "train" if from_train else TASKS[task].base

    def _read(self, files: Mapping[str, bytes], kind: str) -> list[dict[str, str]]:
        name = f"{self.task_and_kind[0]}/{kind}"
        return read_rows(files[kind], N_ROWS[name], name)


def _texts(spec: BecelTask, row: Mapping[str, str], replaced: str | None = None) -> dict[str, str]:
    """The input columns of a published row, the perturbed one taken from column `replaced` if given.

    The space that GLUE leaves at the end of SST-2's sentences is taken off: BECEL's own rows have it in
    one half of them only.
    """
    texts = {column: row[published] for column, published in spec.columns.items()}
    if replaced is not None:
        texts[spec.perturbed] = row[replaced]
    if spec.task == "sentiment":
        texts = {column: text.strip() for column, text in texts.items()}
    return texts


def _base_rows(task: str, split: str, rows: Sequence[Mapping[str, str]]) -> list[Row]:
    """Texts, label and id of the rows of a base set; ids carry the row's number, from 0."""
    return [
        {**_texts(TASKS[task], row), "label": int(row["label"]), "group_id": f"{task}.{split}.{number}"}
        for number, row in enumerate(rows)
    ]


def _place(bucket_id: str, role: str, row: Row, **more: Any) -> Row:
    return row | {"bucket_id": bucket_id, "example_id": f"{bucket_id}.{role}", "role": role} | more


def _rewritten(
    task: str,
    kind: str,
    rows: Sequence[Mapping[str, str]],
    published: Sequence[Mapping[str, str]],
    originals: list[Row],
) -> Iterator[Row]:
    """Paraphrases and negations. The original's text is the one beside them; the join gives its id."""
    spec, where = TASKS[task], f"{task}_{kind}"
    ending = "paraphrase" if kind == "semantic" else "neg"
    keeps_label = kind == "semantic" or task == "wic"
    role = "paraphrase" if keeps_label else "negation"
    by_index = kind == "semantic" and task in ("boolq", "rte")
    positions = join_by_index(where, rows, published) if by_index else []
    columns = list(spec.columns)
    index = TextIndex(where, [{c: o[c] for c in columns} for o in originals], [o["label"] for o in originals])
    for number, row in enumerate(rows):
        texts, label = _texts(spec, row), int(row["label"])
        original = originals[positions[number] if by_index else index.find(number, texts, label)]
        if by_index:
            require_same(where, number, {column: (texts[column], original[column]) for column in columns})
        if label != original["label"]:
            raise input_error(f"build becel:{where}", "label", f"be {original['label']}", got=label, row=number)
        new_label = int(row["neg_label"]) if kind == "negational" else label
        if keeps_label != (new_label == label):
            raise input_error(f"build becel:{where}", "neg_label", "follow the set's rule", got=new_label, row=number)
        shared = {"group_id": original["group_id"]}
        if kind == "negational":
            shared["negation_method"] = row["tag"]
        bucket_id = f"{task}.{kind}.{number}"
        yield _place(bucket_id, "original", {**texts, **shared, "label": label})
        rewritten = _texts(spec, row, f"{spec.columns[spec.perturbed]}_{ending}")
        yield _place(bucket_id, role, {**rewritten, **shared, "label": new_label})


def _symmetric(
    task: str, rows: Sequence[Mapping[str, str]], published: Sequence[Mapping[str, str]], originals: list[Row]
) -> Iterator[Row]:
    """Swapped rows; the files hold them swapped already. Joined by position or index, and checked."""
    spec, where = TASKS[task], f"{task}_symmetric"
    if task == "snli":  # the contradictions, in order
        positions = [number for number, original in enumerate(originals) if original["label"] == 2]
    elif task == "rte":
        positions = join_by_index(where, rows, published)
    else:
        positions = list(range(len(originals)))
    first, second = list(spec.columns)[:2]
    for number, (row, position) in enumerate(zip(rows, positions, strict=True)):
        texts, original = _texts(spec, row), originals[position]
        swapped = original | {first: original[second], second: original[first]}
        require_same(where, number, {column: (text, swapped[column]) for column, text in texts.items()})
        bucket_id = f"{task}.symmetric.{number}"
        yield _place(bucket_id, "original", original)
        yield _place(bucket_id, "swap", {**texts, "group_id": original["group_id"], "label": int(row["label"])})


def _transitive(task: str, rows: Sequence[Mapping[str, str]], originals: list[Row]) -> Iterator[Row]:
    """Consequents with their two antecedents, which `originated_idx` names by row."""
    spec, where = TASKS[task], f"{task}_transitive"
    rules = _SNLI_RULES if task == "snli" else _WIC_RULES
    first_with: dict[str, int] = {}
    for number, original in enumerate(originals):
        first_with.setdefault(original[next(iter(spec.columns))], number)
    for number, row in enumerate(rows):
        texts, label = _texts(spec, row), int(row["label"])
        one, two = (originals[int(position)] for position in row["originated_idx"].split("|"))
        rule = rules.get((one["label"], two["label"], label))
        if rule is None:
            got, must = (one["label"], two["label"], label), f"follow a rule of {sorted(rules)}"
            raise input_error(f"build becel:{where}", "labels", must, got=got, row=number)
        if task == "snli":
            pairs = {
                "premise": (texts["premise"], one["hypothesis"]),
                "hypothesis": (texts["hypothesis"], two["hypothesis"]),
            }
            require_same(where, number, {**pairs, "shared premise": (one["premise"], two["premise"])})
            group_id = f"snli.test.premise.{first_with[one['premise']]}"
            allowed = _SNLI_ALLOWED[label]
        else:
            _require_chain(where, number, texts, one, two)
            group_id = f"wic.train.word.{texts['word']}"
            allowed = [label]
        bucket_id = f"{task}.transitive.{number}"
        shared = {"group_id": group_id, "rule": rule}
        yield _place(bucket_id, "antecedent_1", one | shared)
        yield _place(bucket_id, "antecedent_2", two | shared)
        gold = label if len(allowed) == 1 else -1
        yield _place(bucket_id, "consequent", {**texts, **shared, "label": gold}, allowed_labels=allowed)


def _require_chain(where: str, number: int, texts: Mapping[str, str], one: Row, two: Row) -> None:
    """Check that a WiC consequent joins the ends of two pairs that share a sentence, all of one word."""
    pairs = [[row["sentence_1"], row["sentence_2"]] for row in (one, two)]
    ends = [texts["sentence_1"], texts["sentence_2"]]
    holds = any(
        pairs[0][i] == ends[0] and pairs[1][j] == ends[1] and pairs[0][1 - i] == pairs[1][1 - j]
        for i in (0, 1)
        for j in (0, 1)
    )
    if not holds or {one["word"], two["word"]} != {texts["word"]}:
        raise input_error(f"build becel:{where}", "originated_idx", "name two pairs in a chain", got=pairs, row=number)


def _additive(task: str, originals: list[Row]) -> Iterator[Row]:
    """Pairs of texts of one label, and both joined by a space; made one after the other, never all at once."""
    labels = [original["label"] for original in originals]
    n_tokens = [len(original["text"].split()) for original in originals]
    for i, j in additive_pairs(labels, n_tokens, TOKEN_LIMITS[task]):
        one, two = originals[i], originals[j]
        bucket_id = f"{task}.additive.{i}-{j}"
        merged = {"text": f"{one['text'].rstrip()} {two['text'].lstrip()}", "label": one["label"]}
        shared = {"group_id": one["group_id"]}
        yield _place(bucket_id, "part_1", one | shared)
        yield _place(bucket_id, "part_2", two | shared)
        yield _place(bucket_id, "merged", merged | shared)
