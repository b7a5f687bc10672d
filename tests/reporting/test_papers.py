"""What papers print on the set that was scored, by the same estimator, and why there is nothing for some sets."""

import pytest

import paraconsist as pc
from paraconsist.measures.catalogue import CHANGE, PARAPHRASTIC, SEMANTIC
from paraconsist.reporting.papers import paper_values

P_C = {PARAPHRASTIC.name: {PARAPHRASTIC.name: 0.8, "accuracy": 0.5, "confidence_interval": {}}}
TAU = {SEMANTIC.name: {SEMANTIC.headline: 0.2}}


def test_the_same_estimator_ranks_the_models():
    (plugin, accuracy), reason = paper_values("paranlu:delta_snli", P_C)
    assert (plugin.own, plugin.label, reason) == (0.8, "P_C publ.", "")
    assert [*plugin.models.items()][::5] == [("GPT-3 Curie", 89.3), ("BiLSTM", 73.2)]  # S24, table 4
    assert accuracy.models["GPT-3 Curie"] == 51.1
    assert list(accuracy.models) == list(plugin.models)
    (tau,), _ = paper_values("becel:snli_semantic", TAU)
    assert [*tau.models.items()][-1] == ("GPT2 base", 16.3)  # the most inconsistent of J22, table 2
    (change,), _ = paper_values("parte:rte", {CHANGE.name: {CHANGE.headline: 0.1}})
    assert next(iter(change.models.items())) == ("RoBERTa", 7.99)


@pytest.mark.parametrize(
    ("name", "more", "words"),
    [
        ("paranlu:delta_snli_automatic", {}, "people's paraphrases"),
        ("paranlu:delta_snli", {"limit": 1200}, "the first 1,200 rows"),
        ("paranlu:delta_snli", {"is_partial": True}, "left out"),
        ("becel:wic_negational", {"measures": TAU}, "nothing by its measures"),  # keeps the label: not in the paper
        ("becel:sst2_additive", {}, "rebuilt"),
        ("parte:rte_normalized", {}, "one surface form"),
        ("mine", {}, ""),
    ],
)
def test_what_is_not_comparable(name, more, words):
    printed, reason = paper_values(name, **{"measures": P_C, **more})
    assert not printed
    assert words in reason
    assert bool(words) == bool(reason)


def test_the_fault_of_the_published_bag_of_words_is_not_ranked():
    models = paper_values("paranlu:alpha_nli", P_C)[0][0].models
    assert "BoW" not in models
    assert [*models.items()][::3] == [("GPT-3 Curie", 80.1), ("BiLSTM", 100.0)]  # whose answer is constant


def test_scores_show_it(command, tmp_path, stored_run):
    scores = pc.score(stored_run)
    assert "GPT-3 Curie" in repr(scores)
    frame = scores.published()
    row = frame[(frame.key == PARAPHRASTIC.name) & (frame.model == "DeBERTa-V3 large")].iloc[0]
    assert (row["value"], row["set"]) == (0.828, "paranlu:delta_snli")
    assert "theirs is P_C publ." in command.out("score", stored_run)
    assert "GPT-3" not in command("score", stored_run, "--no-published")[1]
    scores.report(tmp_path / "page.html")
    assert "GPT-3 Curie" in (tmp_path / "page.html").read_text()


@pytest.fixture
def stored_run(tmp_path):
    """A run on a set of a paper, of four buckets."""
    import pyarrow as pa

    from paraconsist.data.predictions import write_predictions

    rows = [
        {"example_id": f"{b}.{i}", "bucket_id": b, "role": role, "label": 1, "prediction": (i + n) % 2}
        for n, b in enumerate("abcd")
        for i, role in enumerate(("original", "paraphrase", "paraphrase"))
    ]
    metadata = {"set": "paranlu:delta_snli", "task": "defeasible_nli", "label_names": ["weakener", "strengthener"]}
    write_predictions(tmp_path / "mine.parquet", pa.Table.from_pylist(rows), metadata)
    return tmp_path / "mine.parquet"
