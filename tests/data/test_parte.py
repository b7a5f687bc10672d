"""PaRTE: the released file in its forms, its checks, and every row of the real one."""

import csv
import io
import json
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from helpers.errors import refuses

from paraconsist.data.building import prepare
from paraconsist.dataset_builders.parte.released import COLUMNS, check_pairs, find_file, read_pairs
from paraconsist.errors import InputError

N_PARTS = {"p": 402, "h": 602, "ph": 122}
N_ENTAILED, N_ORIGINALS = 542, 884


def made_up_pairs() -> list[dict[str, str]]:
    """Pairs with the published numbers and none of the published text."""
    suffixes = [suffix for suffix, n in N_PARTS.items() for _ in range(n)]
    n_repeated = len(suffixes) - N_ORIGINALS  # as many originals stand twice
    pairs = []
    for i, suffix in enumerate(suffixes):
        original = i - N_ORIGINALS if i >= N_ORIGINALS else i
        entailed = original < N_ENTAILED - n_repeated
        premise, hypothesis = f'Fact, number {original} " quoted "', f"Claim {original} ."
        pairs.append(
            {
                "id": f"prte_{2 * i + 1}",
                "original_pair_premise": premise,
                "original_pair_hypothesis": hypothesis,
                "gold_label": "entailed" if entailed else "not_entailed",
                "original_pair_id": f"RTE{1 + original % 3}_test.column_{original}_IR",
                "paraphrased_pair_premise": premise + " again" if "p" in suffix else premise,
                "paraphrased_pair_hypothesis": hypothesis + " again" if "h" in suffix else hypothesis,
                "paraphrased_pair_id": f"RTE{1 + original % 3}_test.column_{original}_IR_{suffix}",
            }
        )
    return pairs


def table(pairs: list[dict[str, str]], delimiter: str = ",") -> bytes:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, COLUMNS, delimiter=delimiter)
    writer.writeheader()
    writer.writerows(pairs)
    return out.getvalue().encode("utf-8")


def nested(pair: dict[str, str]) -> dict:
    return {
        "id": pair["id"],
        "gold_label": pair["gold_label"],
        "original_pair": {part: pair[f"original_pair_{part}"] for part in ("premise", "hypothesis", "id")},
        "paraphrased_pair": {part: pair[f"paraphrased_pair_{part}"] for part in ("premise", "hypothesis", "id")},
    }


def archive(name: str, data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as files:
        files.writestr("MANIFEST.TXT", "what is in it")
        files.writestr(f"data/{name}", data)
    return out.getvalue()


def as_json(content: object) -> bytes:
    return json.dumps(content).encode("utf-8")


FORMS = {
    "csv": table,
    "csv with a byte order mark": lambda pairs: b"\xef\xbb\xbf" + table(pairs),
    "tab-separated": lambda pairs: table(pairs, "\t"),
    "json list": as_json,
    "json lines": lambda pairs: b"\n".join(map(as_json, pairs)) + b"\n",
    "json under a key": lambda pairs: as_json({"data": pairs}),
    "json by id": lambda pairs: as_json({pair["id"]: pair for pair in pairs}),
    "json by column": lambda pairs: as_json({c: [pair[c] for pair in pairs] for c in COLUMNS}),
    "json by column and number": lambda pairs: as_json(
        {c: {str(i): pair[c] for i, pair in enumerate(pairs)} for c in COLUMNS}
    ),
    "nested json": lambda pairs: as_json([nested(pair) for pair in pairs]),
    "archive with csv": lambda pairs: archive("prte_test.csv", table(pairs)),
    "archive with json": lambda pairs: archive("prte_test.json", as_json(pairs)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read_alike(form):
    pairs = made_up_pairs()
    assert read_pairs(FORMS[form](pairs), "file") == pairs
    assert check_pairs(pairs, "file").count(0) == N_ENTAILED


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a,b\n1,2\n", r"record 0 has no text in id, original_pair_premise, "),
        (b"[1, 2]", "the json is no list of records"),
        (b'{"data": [}', "got: "),
        (b"\xff\xfe\x00", "got: "),
        (archive("other.csv", b""), "the archive holds no prte_test file"),
        (b"", "be as many as published"),
    ],
)
def test_what_is_no_released_file(data, message):
    refuses(message, lambda: check_pairs(read_pairs(data, "file"), "file"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gold_label": "1"}, r"`gold_label` must be entailed or not_entailed; got '1' at row prte_1\."),
        ({"paraphrased_pair_id": "RTE1_test.column_0_IR_x"}, "`paraphrased_pair_id` must .* one of _p, _h, _ph"),
        ({"paraphrased_pair_hypothesis": "Other."}, "`paraphrased_pair_hypothesis` must be the original's"),
        ({"paraphrased_pair_premise": 'Fact, number 0 " quoted "'}, "`paraphrased_pair_premise` must differ from"),
        ({"gold_label": "not_entailed"}, "`original_pair_id` must name one pair|`pairs` must be as many as published"),
    ],
)
def test_content_is_checked(change, message):
    pairs = made_up_pairs()
    pairs[0] |= change
    refuses(message, check_pairs, pairs, "file")


def test_a_pair_too_few():
    with pytest.raises(
        InputError, match=r"`pairs` must be as many as published: .*'premise': 402.*Download file again"
    ):
        check_pairs(made_up_pairs()[1:], "file")


def test_where_the_file_is_found(tmp_path):
    (tmp_path / "parte").mkdir()
    refuses(r"`data_dir` must be prte_test\.csv or prte_test\.json, or a folder", find_file, tmp_path)
    below = tmp_path / "parte" / "prte_test.json"
    below.write_bytes(b"[]")
    assert find_file(tmp_path) == find_file(tmp_path / "parte") == find_file(below) == below
    (tmp_path / "prte_test.csv").write_bytes(b"")
    assert find_file(tmp_path).name == "prte_test.csv"


def test_forms_make_the_same_set(tmp_path):
    pairs = made_up_pairs()
    sets = []
    for name, data in (
        ("prte_test.csv", table(pairs)),
        ("prte_test.json", as_json(pairs)),
        ("x.zip", FORMS["archive with csv"](pairs)),
    ):
        (tmp_path / name).write_bytes(data)
        sets.append(
            prepare("parte", data_dir=tmp_path / name, cache_dir=tmp_path / f"cache-{name}")
            .as_dataset()["test"]
            .to_list()
        )
    assert sets[0] == sets[1] == sets[2]
    assert len(sets[0]) == 2 * 1126


def test_without_a_copy_or_a_network(tmp_path):
    refuses(r"`network` must give https://dataverse.*prte_test\.csv by hand", prepare, "parte", cache_dir=tmp_path)


@pytest.fixture(scope="session")
def builder(data_folder: Path, tmp_path_factory: pytest.TempPathFactory):
    return prepare("parte", data_dir=data_folder, cache_dir=tmp_path_factory.mktemp("parte-cache"))


@pytest.fixture(scope="session")
def rows(builder) -> list[dict]:
    return builder.as_dataset(split="test").to_list()


def released(data_folder: Path, name: str) -> list[dict]:
    with (data_folder / "parte" / name).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.mark.real_data
def test_every_row(builder, rows, data_folder):
    assert builder.config.measures == ("prediction_change",)
    assert builder.info.features["label"].names == ["entailment", "not_entailment"]
    source = released(data_folder, "prte_test.csv")
    assert len(rows) == 2 * len(source) == 2252
    for original, paraphrase, pair in zip(rows[::2], rows[1::2], source, strict=True):
        assert original["role"] == "original"
        assert paraphrase["role"] == "paraphrase"
        assert original["bucket_id"] == paraphrase["bucket_id"] == pair["id"]
        assert original["group_id"] == paraphrase["group_id"] == pair["original_pair_id"]
        for row, side in ((original, "original"), (paraphrase, "paraphrased")):
            assert row["premise"] == pair[f"{side}_pair_premise"]
            assert row["hypothesis"] == pair[f"{side}_pair_hypothesis"]
            assert row["label"] == ["entailed", "not_entailed"].index(pair["gold_label"])
            assert row["allowed_labels"] == [row["label"]]
            assert f"{row['challenge']}_test.column_" in pair["original_pair_id"]
            assert pair["original_pair_id"].endswith(f"_{row['source_task']}")
            assert row["gold_label"] == ["entailment", "not_entailment"][row["label"]]


@pytest.mark.real_data
def test_strata(rows):
    originals = [row for row in rows if row["role"] == "original"]
    assert Counter(row["paraphrased"] for row in originals) == {"premise": 402, "hypothesis": 602, "both": 122}
    assert Counter(row["gold_label"] for row in originals) == {"entailment": 542, "not_entailment": 584}
    tasks = {"IR": 288, "QA": 234, "SUM": 207, "IE": 193, "RC": 68, "CD": 58, "MT": 50, "PP": 28}
    assert Counter(row["source_task"] for row in originals) == tasks
    assert {row["challenge"] for row in originals} == {"RTE1", "RTE2", "RTE3"}
    assert len({row["group_id"] for row in originals}) == len({row["input_id"] for row in originals}) == 884


@pytest.mark.real_data
def test_published_predictions_join(rows, data_folder):
    by_id = {row["example_id"]: row for row in rows}
    changed = Counter()
    for line in released(data_folder, "predictions_bert_gpt3.csv"):
        original, paraphrase = by_id[f"{line['id']}.original"], by_id[f"{line['id']}.paraphrase"]
        assert line["paraphrased_pair_id"].startswith(f"{paraphrase['group_id']}_")
        assert original["label"] == int(line["gold_label"] == "not_entailed")
        for model in ("bert", "gpt3"):
            before, after = (1 - int(line[f"{model}_{side}"]) for side in ("original", "paraphrase"))
            if before != after:
                changed[model, "correct" if before == original["label"] else "incorrect"] += 1
    assert changed == {
        ("bert", "correct"): 55,
        ("bert", "incorrect"): 55,
        ("gpt3", "correct"): 62,
        ("gpt3", "incorrect"): 46,
    }


@pytest.mark.real_data
def test_the_normalized_twin(rows, data_folder, tmp_path):
    twin = (
        prepare("parte", "rte_normalized", data_dir=data_folder, cache_dir=tmp_path).as_dataset(split="test").to_list()
    )
    texts = {"premise", "hypothesis", "input_id"}
    for row, other in zip(rows, twin, strict=True):
        assert {k: v for k, v in row.items() if k not in texts} == {k: v for k, v in other.items() if k not in texts}
        assert other["premise"] == other["premise"].lower()
    # what was not paraphrased is still the same on both sides
    for original, paraphrase in zip(twin[::2], twin[1::2], strict=True):
        if original["paraphrased"] == "premise":
            assert original["hypothesis"] == paraphrase["hypothesis"]


def test_the_card_states_the_counts():
    from paraconsist.dataset_builders import builder_class

    card = (builder_class("parte").source_folder() / "README.md").read_text(encoding="utf-8")
    for number in ("1,126", "402", "602", "122", "542", "884"):
        assert number in card
