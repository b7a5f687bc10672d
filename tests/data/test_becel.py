"""BECEL: every test case against the published files, read independently (real data)."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from paraconsist.dataset_builders.becel.additive import additive_pairs
from paraconsist.dataset_builders.becel.joining import TextIndex
from paraconsist.errors import InputError

real_data = pytest.mark.real_data

# config -> buckets (the paper's Table 1), groups
TABLE_1 = {
    "boolq_semantic": (1076, 1076),
    "boolq_negational": (401, 344),
    "mrpc_semantic": (202, 202),
    "mrpc_negational": (290, 231),
    "mrpc_symmetric": (3668, 3668),
    "rte_semantic": (248, 248),
    "rte_negational": (153, 128),
    "rte_symmetric": (1241, 1241),
    "snli_semantic": (4406, 4406),
    "snli_negational": (2204, 1852),
    "snli_symmetric": (3237, 3237),
    "snli_transitive": (2375, 1977),
    "wic_semantic": (140, 140),
    "wic_symmetric": (5428, 5428),
    "wic_transitive": (3162, 416),
    "sst2_semantic": (187, 187),
    "sst2_additive": (53_214, 597),
    "ag_news_semantic": (540, 540),
    "ag_news_additive": (55_598, 1378),
}
SETS = TABLE_1 | {"wic_negational": (536, 394)}
SMALL = [name for name in SETS if not name.endswith("additive")]
REWRITTEN = [name for name in SETS if name.endswith(("semantic", "negational"))]
BASE = {
    "boolq_validation": {"validation": 3270},
    "mrpc_train": {"train": 3668, "validation": 408},
    "mrpc_validation": {"validation": 408},
    "mrpc_test": {"test": 1725},
    "rte_train": {"train": 2490, "validation": 277},
    "rte_validation": {"validation": 277},
    "snli_validation": {"validation": 9842},
    "snli_test": {"test": 9824},
    "wic_train": {"train": 5428, "validation": 638},
    "wic_validation": {"validation": 638},
    "sst2_validation": {"validation": 872},
    "ag_news_validation": {"validation": 3800},
    "ag_news_test": {"test": 3800},
}
ROLES = {
    "semantic": ["original", "paraphrase"],
    "negational": ["original", "negation"],
    "symmetric": ["original", "swap"],
    "transitive": ["antecedent_1", "antecedent_2", "consequent"],
    "additive": ["part_1", "part_2", "merged"],
}
# task -> input columns with their published names, the one that is rewritten first
COLUMNS = {
    "boolq": {"question": "question", "passage": "passage"},
    "mrpc": {"sentence_2": "sentence2", "sentence_1": "sentence1"},
    "rte": {"hypothesis": "sentence2", "premise": "sentence1"},
    "snli": {"hypothesis": "hypothesis", "premise": "premise"},
    "wic": {"sentence_2": "sentence2", "sentence_1": "sentence1", "word": "word"},
    "sst2": {"text": "sentence"},
    "ag_news": {"text": "text"},
}
LABELS = {
    "boolq": ["no", "yes"],
    "mrpc": ["not_paraphrase", "paraphrase"],
    "rte": ["entailment", "not_entailment"],
    "snli": ["entailment", "neutral", "contradiction"],
    "wic": ["different_sense", "same_sense"],
    "sst2": ["negative", "positive"],
    "ag_news": ["world", "sports", "business", "sci_tech"],
}


@pytest.fixture(scope="session")
def prepared(data_folder: Path, tmp_path_factory: pytest.TempPathFactory):
    """A function: config -> its splits, prepared from the mirror in a cache of its own."""
    from paraconsist.data.building import prepare

    cache = tmp_path_factory.mktemp("becel-cache")
    found = {}

    def splits(config: str):
        if config not in found:
            builder = prepare("becel", config, data_dir=data_folder, cache_dir=cache)
            found[config] = {split: rows.with_format("arrow")[:] for split, rows in builder.as_dataset().items()}
        return found[config]

    return splits


@pytest.fixture(scope="session")
def rows_of(prepared):
    """A function: config -> the rows of its test split."""
    found = {}

    def rows(config: str) -> list[dict]:
        if config not in found:
            found[config] = prepared(config)["test"].to_pylist()
        return found[config]

    return rows


@pytest.fixture(scope="session")
def published(data_folder: Path):
    """A function: ``task/file`` -> the published rows."""
    (root,) = (data_folder / "upstream" / "github.com" / "MJ-Jang" / "BECEL").iterdir()

    def read(name: str) -> list[dict]:
        with (root / "data" / f"{name}.tsv").open(encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines, delimiter="\t"))

    return read


def split_name(config: str) -> tuple[str, str]:
    task, _, kind = config.rpartition("_")
    return task, kind


def test_the_configs():
    from paraconsist.dataset_builders import builder_class

    builder = builder_class("becel")
    configs = {config.name: config for config in builder.BUILDER_CONFIGS}
    assert sorted(configs) == sorted([*SETS, *(f"{name}_normalized" for name in REWRITTEN), *BASE])
    assert sorted(builder.TEST_CASES) == sorted(TABLE_1)
    assert len(TABLE_1) == 19
    for name, config in configs.items():
        task, kind = split_name(name.removesuffix("_normalized"))
        assert list(config.label_names) == LABELS[task]
        assert config.normalize_surface == name.endswith("_normalized")
        if name in BASE:
            assert config.measures == ()
        elif task == "wic" and kind == "negational":
            assert config.measures == ("prediction_change",)
        else:
            assert config.measures == (f"{kind}_inconsistency",)


@real_data
@pytest.mark.parametrize(
    "config", [pytest.param(name, marks=pytest.mark.slow if name.endswith("additive") else ()) for name in SETS]
)
def test_counts_groups_and_roles(prepared, config):
    table = prepared(config)["test"]
    n_buckets, n_groups = SETS[config]
    _, kind = split_name(config)
    roles = ROLES["semantic"] if config == "wic_negational" else ROLES[kind]
    assert table["role"].to_pylist() == roles * n_buckets
    buckets = table["bucket_id"].to_pylist()
    assert len(set(buckets)) == n_buckets
    assert all(len(set(buckets[i : i + len(roles)])) == 1 for i in range(0, len(buckets), len(roles)))
    groups = table["group_id"].to_pylist()
    assert len(set(groups)) == n_groups
    assert len(set(zip(buckets, groups, strict=True))) == n_buckets
    assert len(set(table["example_id"].to_pylist())) == table.num_rows
    assert table.column_names[:5] == ["example_id", "input_id", "bucket_id", "group_id", "role"]


@real_data
@pytest.mark.parametrize("config", REWRITTEN)
def test_paraphrases_and_negations(rows_of, published, config):
    task, kind = split_name(config)
    columns = COLUMNS[task]
    rewritten_column, rewritten_published = next(iter(columns.items()))
    ending = "_paraphrase" if kind == "semantic" else "_neg"
    base = published(f"{task}/{ {'snli': 'test', 'mrpc': 'test', 'ag_news': 'test'}.get(task, 'validation') }")
    rows = rows_of(config)
    for number, source in enumerate(published(f"{task}/{kind}")):
        original, other = rows[2 * number : 2 * number + 2]
        for column, name in columns.items():
            assert original[column].strip() == source[name].strip()
            if column != rewritten_column:
                assert other[column] == original[column]
        assert other[rewritten_column] == source[rewritten_published + ending]
        assert original["label"] == int(source["label"])
        assert other["label"] == int(source["neg_label"] if kind == "negational" else source["label"])
        assert (other["label"] == original["label"]) == (kind == "semantic" or task == "wic")
        assert other["allowed_labels"] == [other["label"]]
        if kind == "negational":
            assert original["negation_method"] == other["negation_method"] == source["tag"]
        found = base[int(original["group_id"].rpartition(".")[2])]
        assert int(found["label"]) == original["label"]
        for column, name in columns.items():  # but for the words that BECEL mended, the same letters
            letters = [
                Counter(c for c in text.lower() if c.isascii() and c.isalpha())
                for text in (original[column], found[name])
            ]
            different = (letters[0] - letters[1]) + (letters[1] - letters[0])
            assert different.total() <= (1 if config == "snli_negational" else 0), number


@real_data
@pytest.mark.parametrize("config", [name for name in SETS if name.endswith("symmetric")])
def test_swaps(rows_of, config):
    task, _ = split_name(config)
    second, first = list(COLUMNS[task])[:2]
    rows = rows_of(config)
    wrong = [
        original["bucket_id"]
        for original, swap in zip(rows[::2], rows[1::2], strict=True)
        if (original[first], original[second]) != (swap[second], swap[first])
    ]
    assert wrong == (["snli.symmetric.1352"] if task == "snli" else [])  # BECEL's row has a slash too many
    assert all(a["label"] == b["label"] for a, b in zip(rows[::2], rows[1::2], strict=True))
    labels = {"snli": {2}, "rte": {1}, "mrpc": {0, 1}, "wic": {0, 1}}
    assert {row["label"] for row in rows} == labels[task]


@real_data
def test_snli_transitive(rows_of):
    rows = rows_of("snli_transitive")
    kinds = Counter()
    for one, two, consequent in zip(rows[::3], rows[1::3], rows[2::3], strict=True):
        assert one["premise"] == two["premise"]
        assert consequent["premise"].strip(" /") == one["hypothesis"].strip(" /")
        assert consequent["hypothesis"] == two["hypothesis"]
        assert one["rule"] == two["rule"] == consequent["rule"]
        assert (one["allowed_labels"], two["allowed_labels"]) == ([one["label"]], [two["label"]])
        kinds[one["label"], two["label"], consequent["label"], tuple(consequent["allowed_labels"])] += 1
    assert kinds == {(2, 0, 2, (2,)): 717, (1, 2, -1, (1, 2)): 1658}
    assert len({row["rule"] for row in rows}) == 2
    consequents = [(row["premise"], row["hypothesis"], row["group_id"]) for row in rows[2::3]]
    assert len(consequents) - len(set(consequents)) == 15


@real_data
def test_wic_transitive(rows_of):
    rows = rows_of("wic_transitive")
    kinds = Counter()
    for bucket in zip(rows[::3], rows[1::3], rows[2::3], strict=True):
        one, two, consequent = ({row["sentence_1"], row["sentence_2"]} for row in bucket)
        assert consequent <= one | two
        assert one & two
        assert len({row["word"] for row in bucket}) == 1
        assert all(row["allowed_labels"] == [row["label"]] for row in bucket)
        kinds[tuple(row["label"] for row in bucket)] += 1
    assert kinds == {(1, 1, 1): 806, (1, 0, 0): 1127, (0, 1, 0): 1229}
    assert len({row["rule"] for row in rows}) == 3


@real_data
@pytest.mark.slow
@pytest.mark.parametrize(("config", "limit"), [("sst2_additive", 25), ("ag_news_additive", 36)])
def test_additive(prepared, config, limit):
    columns = prepared(config)["test"].select(["role", "text", "label", "bucket_id"]).to_pydict()
    one, two, merged = ({name: values[i::3] for name, values in columns.items()} for i in range(3))
    assert one["label"] == two["label"] == merged["label"]
    for a, b, both in zip(one["text"], two["text"], merged["text"], strict=True):
        assert both == f"{a.rstrip()} {b.lstrip()}"
        assert len(both.split()) <= limit
    numbers = [tuple(bucket.rpartition(".")[2].split("-")) for bucket in merged["bucket_id"]]
    assert all(a != b for a, b in numbers)
    assert {(b, a) for a, b in numbers} == set(numbers)
    # what --limit takes is spread over labels and first texts
    share = Counter(one["label"])
    first = Counter(one["label"][:660])
    assert all(abs(first[label] / 660 - n / len(one["label"])) < 0.01 for label, n in share.items())
    assert len({a for a, _ in numbers[:660]}) > 150


@real_data
@pytest.mark.parametrize("config", BASE)
def test_base_sets(prepared, published, config):
    task, _ = split_name(config)
    found = prepared(config)
    assert {split: table.num_rows for split, table in found.items()} == BASE[config]
    for split, table in found.items():
        source = published(f"{task}/{split}")
        assert table["label"].to_pylist() == [int(row["label"]) for row in source]
        for column, name in COLUMNS[task].items():
            texts = [row[name].strip() if task == "sst2" else row[name] for row in source]
            assert table[column].to_pylist() == texts
        assert table["example_id"].to_pylist() == [f"{task}.{split}.{i}" for i in range(len(source))]
        assert set(table["role"].to_pylist()) == {"original"}


@real_data
def test_the_same_text_has_one_id_everywhere(prepared):
    texts: dict[str, tuple] = {}
    ids: dict[tuple, str] = {}
    for config in [*SMALL, *BASE]:
        task, _ = split_name(config)
        for table in prepared(config).values():
            columns = [table[column].to_pylist() for column in sorted(COLUMNS[task])]
            for input_id, *values in zip(table["input_id"].to_pylist(), *columns, strict=True):
                key = ("nli" if task in ("rte", "snli") else task, *values)
                assert texts.setdefault(input_id, key) == key
                assert ids.setdefault(key, input_id) == input_id


@pytest.mark.slow
@real_data
def test_distinct_inputs(prepared):
    asked, distinct, overall = 0, 0, set()
    for config in TABLE_1:
        ids = prepared(config)["test"]["input_id"].to_pylist()
        asked += len(ids)
        distinct += len(set(ids))
        overall |= set(ids)
    assert (asked, distinct, len(overall)) == (389_889, 169_774, 159_896)


@real_data
def test_normalized_twins_differ_in_text_only(prepared):
    changed = {}
    for config in REWRITTEN:
        task, _ = split_name(config)
        plain, normalized = prepared(config)["test"], prepared(f"{config}_normalized")["test"]
        same = [c for c in plain.column_names if c not in {"input_id", *COLUMNS[task]}]
        assert plain.select(same).equals(normalized.select(same))
        texts = normalized[next(iter(COLUMNS[task]))].to_pylist()
        assert all(text == text.lower().strip() for text in texts)
        pairs = list(zip(texts[::2], texts[1::2], strict=True))
        changed[config] = sum(a != b for a, b in pairs) / len(pairs)
    assert all(share > 0.9 for share in changed.values()), changed  # the wording still differs


@real_data
def test_a_join_that_fails_stops_the_build(data_folder, tmp_path, monkeypatch):
    from paraconsist.data.building import prepare
    from paraconsist.dataset_builders.becel import builder, joining

    monkeypatch.setattr(joining, "MENDED", {"snli_negational": {56: 6250}})
    with pytest.raises(InputError, match=r"becel:snli_negational: `original` must be one base row; got \[\] at row 56"):
        prepare("becel", "snli_negational", data_dir=data_folder, cache_dir=tmp_path)
    monkeypatch.setattr(builder, "N_GROUPS", {"wic/semantic": 141})
    with pytest.raises(InputError, match=r"becel:wic_semantic: `group_id` must name 141 groups; got 140"):
        prepare("becel", "wic_semantic", data_dir=data_folder, cache_dir=tmp_path)


@real_data
def test_streaming_gives_the_same_rows(rows_of, data_folder, tmp_path):
    from paraconsist.dataset_builders import builder_class

    builder = builder_class("becel")(cache_dir=str(tmp_path), config_name="snli_transitive", data_dir=data_folder)
    assert list(builder.as_streaming_dataset(split="test")) == rows_of("snli_transitive")


def test_the_card_states_the_counts():
    from paraconsist.dataset_builders import builder_class

    card = (builder_class("becel").source_folder() / "README.md").read_text(encoding="utf-8")
    for config, (n_buckets, n_groups) in SETS.items():
        assert any(
            f"`{config}`" in line and f"| {n_buckets:,} |" in line and f"| {n_groups:,} |" in line
            for line in card.splitlines()
        ), config
    for config, splits in BASE.items():
        n_rows = " + ".join(f"{n:,}" for n in splits.values())
        assert any(f"`{config}`" in line and f"| {n_rows} |" in line for line in card.splitlines()), config


def naive_pairs(labels, n_tokens, limit):
    rows = range(len(labels))
    return [
        (i, j) for i in rows for j in rows if i != j and labels[i] == labels[j] and n_tokens[i] + n_tokens[j] <= limit
    ]


@pytest.mark.parametrize("seed", range(20))
def test_additive_pairs_are_the_definition(seed):
    import random

    rng = random.Random(seed)
    n = rng.randrange(0, 30)
    labels = [rng.randrange(3) for _ in range(n)]
    n_tokens = [rng.randrange(0, 12) for _ in range(n)]
    limit = rng.randrange(-1, 26)
    found = list(additive_pairs(labels, n_tokens, limit))
    assert sorted(found) == naive_pairs(labels, n_tokens, limit)


def test_an_index_finds_each_row_once():
    texts = [{"text": "A cat sat ."}, {"text": "A cat sat!"}, {"text": "It #39;s late."}]
    index = TextIndex("toy", texts, [0, 0, 1])
    assert index.find(0, {"text": "A cat sat!"}, 0) == 1
    assert index.find(0, {"text": "it's late"}, 1) == 2
    for text, label in (("a cat sat", 0), ("It's late.", 0), ("gone", 1)):
        with pytest.raises(InputError, match="`original` must be one base row"):
            index.find(0, {"text": text}, label)
