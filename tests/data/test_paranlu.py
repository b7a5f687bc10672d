"""ParaNLU, every row against an independent reading of the published files (real data)."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.real_data

# config -> (items file, originals, paraphrases)
CONFIGS = {
    "alpha_nli": ("anli_human", 250, 2098),
    "delta_snli": ("snli_human", 250, 1980),
    "delta_atomic": ("atomic_human", 250, 1869),
    "delta_social": ("social_human", 250, 1835),
    "alpha_nli_automatic": ("anli_auto", 250, 2342),
    "delta_snli_automatic": ("snli_auto", 250, 1625),
    "delta_atomic_automatic": ("atomic_auto", 250, 1640),
    "delta_social_automatic": ("social_auto", 249, 1688),
    "alpha_nli_test": ("anli_test", 3059, 0),
    "delta_snli_test": ("snli_test", 1837, 0),
    "delta_atomic_test": ("atomic_test", 4138, 0),
    "delta_social_test": ("social_test", 9439, 0),
}
BUCKET_SETS = [name for name in CONFIGS if not name.endswith("_test")]
RENAMED = {"obs1": "observation_1", "obs2": "observation_2", "hyp1": "hypothesis_1", "hyp2": "hypothesis_2"}


@pytest.fixture(scope="session")
def sets(data_folder: Path, tmp_path_factory: pytest.TempPathFactory):
    """All configs, prepared from the mirror in a cache of their own: name -> (builder, rows)."""
    from paraconsist.data.building import prepare

    cache = tmp_path_factory.mktemp("paranlu-cache")
    builders = {name: prepare("paranlu", name, data_dir=data_folder, cache_dir=cache) for name in CONFIGS}
    return {name: (b, b.as_dataset(split="test").to_list()) for name, b in builders.items()}


def items(data_folder: Path, name: str) -> list[dict]:
    import pyarrow.parquet as pq

    return pq.read_table(data_folder / "paranlu" / "items" / f"{name}.parquet").to_pylist()


def texts_of(item: dict) -> dict[str, str]:
    columns = ("obs1", "obs2", "hyp1", "hyp2") if "obs1" in item else ("premise", "hypothesis", "update")
    return {RENAMED.get(column, column): item[column] for column in columns}


@pytest.mark.parametrize("config", CONFIGS)
def test_counts_and_schema(sets, config):
    builder, rows = sets[config]
    _, n_originals, n_paraphrases = CONFIGS[config]
    assert sum(row["role"] == "original" for row in rows) == n_originals
    assert sum(row["role"] == "paraphrase" for row in rows) == n_paraphrases
    assert len({row["example_id"] for row in rows}) == len(rows)
    assert all(row["allowed_labels"] == [row["label"]] for row in rows)
    names = builder.info.features["label"].names
    assert names == (["hypothesis_1", "hypothesis_2"] if "alpha" in config else ["weakener", "strengthener"])
    assert list(rows[0])[:5] == ["example_id", "input_id", "bucket_id", "group_id", "role"]
    assert bool(builder.config.measures) == (config in BUCKET_SETS)


@pytest.mark.parametrize("config", BUCKET_SETS)
def test_every_row_of_the_bucket_sets(sets, data_folder, config):
    _, rows = sets[config]
    expected = items(data_folder, CONFIGS[config][0])
    assert len(rows) == len(expected)
    for row, item in zip(rows, expected, strict=True):
        suffix = f".{item['paraphrase_id']}" if item["paraphrase_id"] else ""
        assert row["example_id"] == item["bucket_id"] + suffix
        assert row["bucket_id"] == item["bucket_id"]
        assert row["role"] == ("original" if item["is_original"] else "paraphrase")
        assert row["label"] == item["gold"]
        assert row["source"] == item["source"]
        assert row["annotator"] == item["worker"]
        assert {column: row[column] for column in texts_of(item)} == texts_of(item)
        assert row["context_id"] == row["group_id"]
    pairs = {(row["context_id"], item["context_id"]) for row, item in zip(rows, expected, strict=True)}
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    if "delta" in config:
        assert all(a == b for a, b in pairs)


@pytest.mark.parametrize("config", [name for name in CONFIGS if name.endswith("_test")])
def test_every_row_of_the_test_sets(sets, data_folder, config):
    _, rows = sets[config]
    for row, item in zip(rows, items(data_folder, CONFIGS[config][0]), strict=True):
        assert row["example_id"] == row["bucket_id"] == item["example_id"]
        assert row["label"] == item["gold"]
        assert {column: row[column] for column in texts_of(item)} == texts_of(item)


def test_published_predictions_join(sets, data_folder):
    import pyarrow.parquet as pq

    for config, name in (("delta_snli", "snli__bow__human"), ("alpha_nli_automatic", "anli__roberta-large__auto")):
        table = pq.read_table(data_folder / "paranlu" / "predictions" / f"{name}.parquet").to_pylist()
        ids = {f"{r['bucket_id']}.{r['paraphrase_id']}".rstrip(".") for r in table}
        assert ids == {row["example_id"] for row in sets[config][1]}


def test_contexts_and_annotators(sets):
    def distinct(config, column):
        return len({row[column] for row in sets[config][1]})

    names = ("alpha_nli", "delta_snli", "delta_atomic", "delta_social")
    assert [distinct(n, "group_id") for n in names] == [247, 127, 193, 127]
    assert [distinct(n, "annotator") - 1 for n in names] == [112, 69, 100, 110]


def test_copies_of_the_original(sets):
    copies = {n: sum(row["copies_original"] for row in sets[n][1]) for n in BUCKET_SETS}
    assert [copies[n] for n in BUCKET_SETS] == [0, 0, 1, 0, 41, 31, 13, 26]


def test_no_worker_id_is_left(sets, data_folder):
    workers = set()
    for path in (data_folder / "upstream").glob("github.com/nehasrikn/paraphrase-nlu/*/annotated_data/**/*.json"):
        for bucket in json.loads(path.read_text(encoding="utf-8")).values():
            workers |= {paraphrase["worker_id"] for paraphrase in bucket}
    assert len(workers) > 100
    for config in ("alpha_nli", "delta_snli", "delta_atomic", "delta_social"):
        for row in sets[config][1]:
            parts = {part for value in row.values() if isinstance(value, str) for part in value.split(".")}
            assert not parts & workers


def test_shared_texts_share_their_input_id(sets):
    human, test = (sets[name][1] for name in ("alpha_nli", "alpha_nli_test"))
    in_test = {row["example_id"]: row["input_id"] for row in test}
    shared = [row for row in human if row["example_id"] in in_test]
    assert len(shared) == 125
    assert all(in_test[row["example_id"]] == row["input_id"] for row in shared)
    originals = [row["input_id"] for row in human if row["role"] == "original"]
    assert sum(name in in_test.values() for name in originals) == 126  # one of them of train
    automatic = {r["bucket_id"]: r for r in sets["delta_atomic_automatic"][1] if r["role"] == "original"}
    for row in sets["delta_atomic"][1]:
        if row["role"] == "original":
            assert automatic[row["bucket_id"]]["input_id"] == row["input_id"]


def test_strata_values(sets):
    assert {r["source_split"] for r in sets["alpha_nli"][1]} == {"train_easy", "test"}
    relations = {"xAttr", "xEffect", "xIntent", "xNeed", "xReact", "xWant"}
    for name in ("delta_atomic", "delta_atomic_automatic", "delta_atomic_test"):
        assert {r["relation"] for r in sets[name][1]} == relations
    assert {r["source"] for r in sets["alpha_nli_automatic"][1]} == {"original", "gpt3", "qcpg"}


@pytest.mark.parametrize("config", ["alpha_nli", "delta_social_test"])
def test_streaming_gives_the_same_rows(sets, data_folder, config, tmp_path):
    from paraconsist.dataset_builders import builder_class

    builder = builder_class("paranlu")(cache_dir=str(tmp_path), config_name=config, data_dir=data_folder)
    assert list(builder.as_streaming_dataset(split="test")) == sets[config][1]


def test_the_card_states_the_counts(sets):
    card = (sets["alpha_nli"][0].source_folder() / "README.md").read_text(encoding="utf-8")
    for config, (_, n_originals, n_paraphrases) in CONFIGS.items():
        n = n_paraphrases or n_originals
        assert any(f"`{config}`" in line and f"| {n:,} |" in line for line in card.splitlines()), config
