"""The IE experiment: samples, trainings as naive scikit-learn has them, votes, units that outlive a kill, decisions."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.errors import refuses
from helpers.ie_rows import words_of_rows, write_experiment
from helpers.models import tiny_encoder
from helpers.rows import write_csv

from paraconsist.errors import InputError
from paraconsist.files import locked
from paraconsist.measures.ie_test import ie_test_from_counts
from paraconsist.measures.paired_tests import replayed_p_value
from paraconsist.studies.ie.decision import decide, hard_cases
from paraconsist.studies.ie.experiment import majority_vote, plan, prepare, run_experiment
from paraconsist.studies.ie.learners import Answers
from paraconsist.studies.ie.options import DecisionOptions, ExperimentOptions, Unit, parse_rhos
from paraconsist.studies.ie.rows import sample_rows, unit_seed
from paraconsist.studies.ie.runs import Matched, distinct, family_of_counts, family_of_vectors, read_families

OTHER_ORDER = ("contradiction", "entailment", "neutral")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_experiment(tmp_path_factory.mktemp("rows"))


@pytest.fixture
def options(files, tmp_path):
    return ExperimentOptions(
        output=tmp_path / "out", train=files["train"], validation=files["validation"], test=files["test"],
        transformation="dictionary", transformation_options={"dictionary": str(files["dictionary"])},
        parameters={"n_estimators": 5}, rhos=(0.0, 0.5, 1.0), runs=2
    )  # fmt: skip


def test_a_sample_holds_every_row_once_in_one_version():
    rows = sample_rows(1000, 0.3, np.random.default_rng(0))
    assert (rows % 1000).tolist() == list(range(1000))
    assert 250 < (rows >= 1000).sum() < 350
    assert sample_rows(5, 0.0, np.random.default_rng(0)).tolist() == [0, 1, 2, 3, 4]
    assert sample_rows(5, 1.0, np.random.default_rng(0)).tolist() == [5, 6, 7, 8, 9]


def test_rows_are_transformed_independently_or_in_an_exact_number():
    """Var of Bernoulli sums is n rho (1 - rho) = 21; an exact count has none."""
    counts = [(sample_rows(100, 0.3, np.random.default_rng(seed)) >= 100).sum() for seed in range(400)]
    assert 15 < np.var(counts) < 28
    exact = [(sample_rows(100, 0.3, np.random.default_rng(seed), exact_count=True) >= 100).sum() for seed in range(20)]
    assert set(exact) == {30}
    assert (sample_rows(5, 0.5, np.random.default_rng(0), exact_count=True) >= 5).sum() == round(0.5 * 5)


@pytest.mark.parametrize("rho", [-0.1, 1.01, float("nan")])
def test_a_rho_that_is_no_probability_is_refused(rho):
    refuses("`rho` must lie between 0 and 1", sample_rows, 3, rho, np.random.default_rng(0))


def test_a_seed_depends_on_its_own_unit_only():
    assert unit_seed(0, 1, 0.1 + 0.2, 4).entropy == unit_seed(0, 1, 0.3, 4).entropy
    states = {tuple(unit_seed(s, 1, r, m).generate_state(2)) for s in (0, 1) for r in (0.0, 0.001) for m in (1, 2)}
    assert len(states) == 8


def test_rhos_as_people_write_them():
    assert parse_rhos(["0:1:21"])[6] == 0.3
    for wrong in ("0;1", "0:1:1", "0:inf:3", "nan:1:3", "0:1"):
        refuses("`rhos` must be numbers with commas between", parse_rhos, [wrong])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "max_words"), [("gradient_boosting", None), ("gradient_boosting", 9), ("gradient_boosting_tfidf", None)]
)
def test_a_training_is_what_naive_scikit_learn_makes_of_the_sample(options, model, max_words):
    """Vectorisers fitted to the sample's own texts, column by column, then the classifier: the same answers."""
    from scipy.sparse import hstack
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

    parameters = {"n_estimators": 5, "max_words": max_words}
    prepared = prepare(replace(options, model=model, parameters=parameters))
    sample = prepared.sample(0.5, 1)
    answers = prepared.learner.train(sample, parameters, seed=7)

    vectorizer = TfidfVectorizer if model.endswith("tfidf") else CountVectorizer
    inputs = prepared.rows.inputs
    train, others = [], [[], []]
    for k in (0, 1):
        fitted = vectorizer(dtype=np.float32, max_features=max_words)
        train.append(fitted.fit_transform([inputs["train"][i][k] for i in sample.train]))
        others[0].append(fitted.transform([inputs["validation"][i][k] for i in sample.validation]))
        others[1].append(fitted.transform([given[k] for given in inputs["test"]]))
    classifier = GradientBoostingClassifier(n_estimators=5, random_state=7)
    classifier.fit(hstack(train, format="csr"), sample.train_labels)
    validation, test = (classifier.predict(hstack(part, format="csr")) for part in others)
    np.testing.assert_array_equal(answers.validation, validation)
    np.testing.assert_array_equal(np.concatenate([answers.original, answers.transformed]), test)
    assert (answers.original != answers.transformed).any()


def test_no_text_is_copied(options):
    """Both versions of a text stand once in the rows; a sample is whole numbers."""
    rows = prepare(options).rows
    assert {split: len(rows.inputs[split]) for split in rows.inputs} == {"train": 240, "validation": 60, "test": 120}
    changed = [i for i in range(60) if rows.inputs["test"][i] != rows.inputs["test"][60 + i]]
    assert len(changed) == rows.transformation["changes"]["test"]["n_changed"] > 30
    assert prepare(options).sample(0.5, 1).train.dtype == np.int64


def test_a_vote_is_the_commonest_answer_and_the_first_of_equal_ones():
    answers = np.random.default_rng(0).integers(0, 3, size=(5, 200))
    for column, vote in enumerate(majority_vote(list(answers))):
        counts = Counter(answers[:, column].tolist())
        most = max(counts.values())
        assert vote == next(a for a in answers[:, column] if counts[a] == most)


@pytest.mark.slow
def test_repeats_are_trainings_of_the_same_sample_and_vote(options):
    """Alternative 2. Random subsets of rows make the repeats differ."""
    options = replace(options, repeats=3, parameters={"n_estimators": 3, "subsample": 0.3})
    work = prepare(options)
    work.folder.open()
    trained = []
    learner = work.learner

    class Listening:
        identity, space = learner.identity, learner.space

        def train(self, sample, parameters, seed):
            trained.append((sample, seed))
            return learner.train(sample, parameters, seed)

    result = replace(work, learner=Listening()).unit(Unit(0.5, 1))
    assert len({seed for _, seed in trained}) == 3
    assert all(np.array_equal(sample.train, trained[0][0].train) for sample, _ in trained)
    answers = [learner.train(sample, options.parameters, seed).original for sample, seed in trained]
    np.testing.assert_array_equal(result.original, majority_vote(answers))
    assert options.n_trainings == 3 * 2 * 3


@pytest.mark.parametrize("search", ["once", "sample"])
def test_a_search_takes_the_best_of_its_trials_and_keeps_what_is_set(options, search):
    options = replace(options, budget=4, search=search, rhos=(0.5,), runs=1)
    assert options.n_trainings == {"once": 4 + 1, "sample": 4}[search]
    prepared = prepare(options)
    run_experiment(prepared)
    said = prepared.folder.read_unit(Unit(0.5, 1)).record
    assert said["parameters"]["n_estimators"] == 5
    assert set(said["parameters"]) == set(prepared.learner.space)
    if search == "once":
        trials = [json.loads(prepared.folder.trial_file(i).read_text()) for i in range(4)]
        assert len({json.dumps(trial["parameters"]) for trial in trials}) == 4
        assert said["parameters"] == max(trials, key=lambda trial: trial["validation_accuracy"])["parameters"]


def test_the_best_trial_on_the_sample_is_the_unit_s_answer(options):
    """A learner that is right on as many validation rows as its parameter says, the first of equal ones."""
    work = prepare(replace(options, budget=6, search="sample", parameters={}))
    tried = []

    class Toy:
        identity, space = work.learner.identity, {"n_right": [3, 8, 5, 8]}

        def train(self, sample, parameters, seed):
            tried.append(parameters["n_right"])
            gold = sample.validation_labels
            validation = np.where(np.arange(len(gold)) < parameters["n_right"], gold, (gold + 1) % 3)
            return Answers(validation, *(np.full(60, len(tried)) for _ in range(2)))

    found = replace(work, learner=Toy()).unit(Unit(1.0, 1))
    assert found.record["validation_accuracy"] == max(tried) / 30
    assert found.record["parameters"] == {"n_right": max(tried)}
    assert set(found.original) == {tried.index(max(tried)) + 1}
    assert found.record["n_transformed"] == 120


def test_samples_of_the_rows_are_drawn_once_by_the_seed(options):
    whole = replace(options, validation=None, validation_share=0.25)

    def texts(split, **more):
        rows = prepare(replace(whole, **more)).rows
        return [tuple(text) for text in rows.inputs[split][: rows.n(split)]]

    train, validation = texts("train"), texts("validation")
    assert (len(train), len(validation)) == (90, 30)
    assert Counter([*train, *validation]) == Counter(texts("train", validation=options.test, test=options.validation))
    for split in ("train", "test"):
        drawn = [texts(split, **{f"{split}_rows": 20, "seed": seed}) for seed in (0, 0, 1)]
        assert len(drawn[0]) == 20
        assert drawn[0] == drawn[1] != drawn[2]
        assert Counter(drawn[0]) <= Counter(texts(split))
    assert len(texts("validation", validation_rows=12)) == 12


def test_labels_are_those_of_the_training_rows_that_have_one(options, tmp_path):
    rows = [{"text": f"a dog {i}", "label": ("b", "a", "-", "")[i % 4]} for i in range(16)]
    own = replace(options, validation=None, validation_share=0.3, text_columns=("text",), drop_unlabelled=True)
    files = {split: write_csv(tmp_path / f"{split}.csv", rows) for split in ("train", "test")}
    work = prepare(replace(own, **files))
    found = work.rows
    assert work.learner.train(work.sample(0.5, 1), {"n_estimators": 1}, 0).original.shape == (8,)  # of one text a row
    assert found.label_names == ("a", "b")
    assert dict(found.n_dropped) == {"train": 8, "test": 8}
    refuses("`test` must be given with `train`", ExperimentOptions, output=tmp_path, train=files["train"])
    both = {"train": files["train"], "test": files["test"], "dataset": "snli"}
    refuses("be given, or `dataset`, and not both", ExperimentOptions, output=tmp_path, **both)
    assert ExperimentOptions(output=tmp_path, dataset="snli").test is None


def test_units_are_kept_and_a_whole_run_is_the_sum_of_its_parts(options):
    """Undisturbed; then a part, a damaged file, a half-written one, and more rhos and runs."""
    whole = run_experiment(prepare(options)).read_bytes()
    other = replace(options, output=options.output.with_name("other"), rhos=(0.5,), runs=1)
    prepared = prepare(other)
    run_experiment(prepared)
    folder = prepared.folder
    kept = folder.unit_file(Unit(0.5, 1)).stat().st_mtime_ns
    run_experiment(prepare(replace(other, runs=2)))
    folder.unit_file(Unit(0.5, 2)).write_bytes(b"PK\x03\x04 cut short")
    (folder.units / ".rho-1.000000000-run-001.npz.0-99-0.new.partial").write_bytes(b"half")
    assert run_experiment(prepare(replace(options, output=other.output))).read_bytes() == whole
    assert folder.unit_file(Unit(0.5, 1)).stat().st_mtime_ns == kept
    assert not list(other.output.rglob(".*"))


def test_another_experiment_in_the_folder_is_refused(options):
    run_experiment(prepare(options))
    with pytest.raises(InputError, match=r"not hold another experiment.*parameters .*seed \(0 there, 1 now\)"):
        run_experiment(prepare(replace(options, seed=1, parameters={"n_estimators": 6})))
    killed = prepare(replace(options, seed=1, overwrite=True))
    killed.folder.open(overwrite=True)
    with pytest.raises(InputError, match=r"hold matched.parquet"):  # not what the other experiment found
        read_families(options.output)
    run_experiment(killed)
    (options.output.parent / "busy").mkdir()
    (options.output.parent / "busy" / "letter.txt").write_text("mine")
    with pytest.raises(InputError, match="`output` must be a new folder, an empty one, or hold an IE experiment"):
        run_experiment(prepare(replace(options, output=options.output.parent / "busy", overwrite=True)))
    busy = pytest.raises(InputError, match="not be in use by another command")
    with locked(options.output, "ie-test", "output"), ThreadPoolExecutor(1) as other, busy:
        other.submit(run_experiment, prepare(replace(options, seed=1))).result()


def test_a_plan_counts_what_is_left_and_writes_nothing(options):
    found = plan(prepare(options))
    assert (found.n_trainings, found.n_done) == (6, 0)
    assert found.seconds > 0
    assert not options.output.exists()
    run_experiment(prepare(options))
    assert plan(prepare(replace(options, runs=3))).n_done == 6


@pytest.mark.faults
def test_a_plan_does_not_scale_what_a_first_training_imports(options, monkeypatch):
    first = [10.0]  # torch alone takes that long on a slow disk: 10 s on 50 rows are not 2,000 s on 10,000
    monkeypatch.setattr(
        "paraconsist.studies.ie.experiment._time_training",
        lambda work, share: 3.0 * share + (first.pop() if first else 0.0),
    )
    assert plan(prepare(options)).seconds_a_training == pytest.approx(3.0)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["bow", "bilstm", "encoder"])
def test_neural_models_train_on_samples_and_are_repeatable(options, model, tmp_path):
    parameters = {"epochs": 1, "learning_rate": 5e-3}
    if model == "encoder":
        name = str(tiny_encoder(tmp_path / "encoder", OTHER_ORDER, words=words_of_rows()))
    else:
        name = model
        parameters |= {"embedding_dim": 8}
    options = replace(options, model=name, parameters=parameters, device="cpu", rhos=(0.5,), runs=1)
    first = prepare(options)
    run_experiment(first)
    again = prepare(replace(options, output=tmp_path / "again"))
    run_experiment(again)
    a, b = (prepared.folder.read_unit(Unit(0.5, 1)) for prepared in (first, again))
    np.testing.assert_array_equal(a.original, b.original)
    np.testing.assert_array_equal(a.transformed, b.transformed)
    assert set(np.unique(a.original)) <= {0, 1, 2}


@pytest.mark.slow
def test_an_encoder_with_its_labels_in_another_order_is_read_in_ours(options, tmp_path):
    """A model that has learnt the labels well is well above chance only if class numbers are translated."""
    encoder = tiny_encoder(tmp_path / "encoder", OTHER_ORDER, words=words_of_rows())
    parameters = {"epochs": 8, "learning_rate": 2e-3, "batch_size": 8}
    prepared = prepare(replace(options, model=str(encoder), parameters=parameters, device="cpu"))
    sample = prepared.sample(0.0, 1)
    assert (prepared.learner.train(sample, parameters, seed=0).validation == sample.validation_labels).mean() > 0.55


def counts(n, before, after):
    return n, int((before & ~after).sum()), int((after & ~before).sum()), int(before.sum())


def test_decisions_are_those_of_the_measure():
    """Every number of the table beside `ie_test_from_counts`, at each rho and over all runs."""
    rng = np.random.default_rng(3)
    rows = []
    for rho, gap in ((0.0, 0.10), (0.5, 0.0), (1.0, 0.0)):
        for run in (1, 2, 3):
            before = rng.random(400) < 0.6
            after = np.where(rng.random(400) < 0.2, rng.random(400) < 0.6 - 3 * gap, before)
            rows.append((rho, run, *counts(400, before, after)))
    table = decide([family_of_counts("a", rows)])["families"][0]
    whole = ie_test_from_counts(*zip(*((r[2], r[3], r[4]) for r in rows), strict=True), n_correct=[r[5] for r in rows])
    assert [run["p_value"] for run in table["runs"]] == whole.p_values
    assert [run["statistic"] for run in table["runs"]] == whole.statistics
    assert [run["rejected_overall"] for run in table["runs"]] == whole.rejected
    assert [run["difference_interval"] for run in table["runs"]] == whole.intervals
    assert (table["overall"]["p_value"], table["overall"]["reject"]) == (whole.p_value, whole.reject)
    assert table["overall"]["snr"] == whole.snr
    for entry in table["by_rho"]:
        here = [row for row in rows if row[0] == entry["rho"]]
        part = ie_test_from_counts(
            *zip(*((r[2], r[3], r[4]) for r in here), strict=True), n_correct=[r[5] for r in here]
        )
        assert (entry["p_value"], entry["reject"]) == (part.p_value, part.reject)
        assert entry["smallest_p"] == min(part.p_values)
        assert entry["statistic"] == part.statistic
        assert [r["rejected_at_rho"] for r in table["runs"] if r["rho"] == entry["rho"]] == part.rejected
    assert [entry["reject"] for entry in table["by_rho"]] == [True, False, False]
    assert "|ties:mid|" in table["signature"]
    assert not table["warnings"]


def test_a_statistic_that_is_undefined_decides_only_where_none_is_defined():
    """Where nothing changed, and where a row was lost and one gained, p is 1: the table showed no t."""
    rows = [(0.5, 1, 4, 0, 0, 4), (0.5, 2, 4, 1, 1, 3)]
    (entry,) = decide([family_of_counts("a", rows)])["families"][0]["by_rho"]
    assert entry["statistic"] == 0.0 == ie_test_from_counts([4, 4], [0, 1], [0, 1], n_correct=[4, 3]).statistic


def test_a_collapsed_run_is_reported_and_counts_in_every_number():
    gold = np.array([0, 1, 2, 0, 1, 2])
    good, constant = gold.copy(), np.ones(6, dtype=int)

    def vectors():
        for run, predicted in ((1, good), (2, constant)):
            yield Matched(0.0, run, predicted == gold, predicted == gold, gold, predicted, predicted)

    table = decide([family_of_vectors("m", vectors)])["families"][0]
    assert [run["collapsed"] for run in table["runs"]] == [False, True]
    assert (table["n_collapsed"], table["by_rho"][0]["n_collapsed"]) == (1, 1)
    assert table["overall"]["accuracy"] == pytest.approx((1 + 1 / 3) / 2)
    assert table["overall"]["snr"] == pytest.approx(2.0)
    assert not any("signal-to-noise" in warning for warning in table["warnings"])
    same = decide([family_of_counts("c", [(0.0, 1, 4, 1, 0, 4), (0.0, 2, 4, 0, 1, 4)])])["families"][0]
    assert np.isnan(same["overall"]["snr"])
    assert any("their signal-to-noise ratio is undefined" in warning for warning in same["warnings"])
    assert any("(0, 2): collapsed, and kept in all numbers" in warning for warning in table["warnings"])
    assert Matched(0.0, 1, gold == 0, gold < 2).counts[2:6] == (6, 0, 2, 2)
    assert Matched(0.0, 1, gold > 0, gold > 1).counts[2:6] == (6, 2, 0, 4)
    # without predictions: right exactly where the gold label is 1
    assert Matched(0.0, 1, gold == 1, gold == 1, gold).collapsed is True
    assert Matched(0.0, 1, gold < 2, gold == 1, gold).collapsed is False
    assert Matched(0.0, 1, gold == 1, gold == 1).collapsed is None
    assert Matched(0.0, 1, gold < 3, gold < 3, np.zeros(6), np.zeros(6)).collapsed is None  # one gold label


def test_hard_cases_under_both_readings():
    """Row 0 is lost at every rho by both models, row 1 at some rho by both, row 2 by one model only."""

    def family(name, lost_by_rho):
        def vectors():
            for rho, lost in lost_by_rho:
                for run, rows in enumerate(lost, start=1):
                    after = np.ones(4, dtype=bool)
                    after[list(rows)] = False
                    yield Matched(rho, run, np.ones(4, dtype=bool), after)

        return family_of_vectors(name, vectors)

    a = family("a", [(0.0, [{0, 1, 2}, {3}]), (1.0, [{0}, {0}])])
    found = hard_cases([a, family("b", [(0.0, [{0}, {0}]), (1.0, [{0, 1}, {0, 3}])])])
    assert found["first_run"] == {"some_rho": [0, 1], "every_rho": [0]}
    assert found["all_runs"] == {"some_rho": [0, 1, 3], "every_rho": []}
    assert hard_cases([a])["first_run"]["some_rho"] == [0, 1, 2]
    assert hard_cases([a, family_of_counts("c", [(0.0, 1, 4, 1, 0, 4)])]) is None


def test_counts_of_a_file(tmp_path):
    (tmp_path / "c.csv").write_text("rho,batch,n,n11,n10,n01\n0.5,1,10,5,3,2\n0.5,2,10,1,0,2\n")
    first, second = decide(read_families(tmp_path / "c.csv"))["families"][0]["runs"]
    assert (first["accuracy"], first["transformed_accuracy"], first["n10"], first["n01"]) == (0.8, 0.7, 3, 2)
    assert (second["accuracy"], second["transformed_accuracy"]) == (0.1, 0.3)
    (tmp_path / "d.csv").write_text("rho,n,n11,n10,n01\n0.5,10,6,3,2\n")
    refuses("n11 . n10 . n01 at most n, and none negative; got .10, 6, 3, 2.", read_families, tmp_path / "d.csv")


def test_families_of_one_name_are_told_apart_by_where_they_are(tmp_path):
    (a, b), other = (family_of_counts("m", [(0.0, 1, 4, 1, 0, 4)]) for _ in "ab"), family_of_counts("n", [])
    read = [(tmp_path / "ie" / "matched.parquet", a), (tmp_path / "more", b), (tmp_path / "ie", other)]
    assert [family.name for family in distinct(read)] == ["m (ie)", "m (more)", "n"]
    read = [(Path("x/ie"), a), (Path("y/ie"), b)]
    assert [family.name for family in distinct(read)] == [f"m ({path})" for path, _ in read]


def matched_file(path, *runs):
    """A file of matched rows; each run gives its rows' ids, and those that are lost."""
    lines = [
        f"{rho},{run},{row},1,{int(row not in lost)},{label}"
        for run, (rho, ids, lost, labels) in enumerate(runs)
        for row, label in zip(ids, labels, strict=True)
    ]
    path.write_text("\n".join(["rho,run,row,A,B,label", *lines]))
    return path


def test_hard_cases_are_of_the_same_rows(tmp_path):
    """Rows were compared by their places: row 1 of one run was row 2 of another that lacks row 1."""
    (same,) = read_families(matched_file(tmp_path / "a.csv", (0, [10, 2, 1], [2], "xyx"), (1, [1, 2, 10], [2], "xyx")))
    assert hard_cases([same])["all_runs"] == {"some_rho": [1], "every_rho": [1]}
    (other,) = read_families(matched_file(tmp_path / "b.csv", (0, [1, 2, 3], [1], "xxx"), (1, [2, 3, 4], [2], "xxx")))
    assert hard_cases([other]) is None
    (labelled,) = read_families(matched_file(tmp_path / "c.csv", (0, [1, 2, 10], [1], "xxy")))
    assert hard_cases([same, labelled]) is None
    twice = matched_file(tmp_path / "d.csv", (0, [1, 2, 1], [], "xyx"))
    refuses("hold each row of a rho and run of d once; got 'rho 0, run 0'", read_families, twice)


def test_every_method_stands_beside_the_one_that_decides(options):
    family = read_families(run_experiment(prepare(options)).parent)[0]
    table = decide([family], DecisionOptions(method="replay", n_resamples=50))["families"][0]
    assert set(table["runs"][0]["p_values"]) == {
        "exact", "exact_lower", "paper", "mcnemar", "mcnemar_mid_p", "mcnemar_resampled",
    }  # fmt: skip
    assert "est:replay" in table["signature"]
    assert "|seed:0|" in table["signature"]
    right, wrong = np.ones(9, dtype=bool), np.arange(9) > 3
    published = family_of_vectors("p", lambda: iter([Matched(0.0, 1, right, wrong, seed=7)]))
    (found,) = (decide([published], DecisionOptions(method="replay", n_resamples=50, seed=s))["families"] for s in [3])
    assert "|seed:published|" in found[0]["signature"]
    assert found[0]["runs"][0]["p_value"] == replayed_p_value(right, wrong, seed=7, n_resamples=50)
    assert any("50 resamples are too few" in warning for warning in table["warnings"])
    with pytest.raises(InputError, match="`method` must not be a replay where only counts are known"):
        decide([family_of_counts("c", [(0.0, 1, 4, 1, 0, 4)])], DecisionOptions(method="replay"))
    refuses("`group`|`method`", DecisionOptions, method="replay", group="g")
    refuses("`ties` must be left out unless `method` is 'exact'", DecisionOptions, method="paper", ties="mid")


def test_vectors_come_back_as_they_were_written(options):
    prepared = prepare(options)
    family = read_families(run_experiment(prepared))[0]
    assert family.n_runs == 6
    assert family.rho.tolist() == [0.0, 0.0, 0.5, 0.5, 1.0, 1.0]
    for one in family.vectors():
        unit = prepared.folder.read_unit(Unit(one.rho, one.run))
        gold = prepared.rows.labels["test"]
        np.testing.assert_array_equal(one.original_correct, unit.original == gold)
        np.testing.assert_array_equal(one.transformed_correct, unit.transformed == gold)
        np.testing.assert_array_equal(one.label, gold)
    assert family.at([0.5]).n_runs == 2
    assert [one.rho for one in family.at([0.5]).vectors()] == [0.5, 0.5]
    refuses(r"`rhos` must be rhos of .*: 0, 0.5, 1; got 0.25", family.at, [0.5, 0.25, 1.0])
