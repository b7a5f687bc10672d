"""`paraconsist compare`: against the functions, on the papers' predictions, and one clean sentence for bad files."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from helpers.commands import Command
from helpers.errors import refuses

import paraconsist as pc
from paraconsist.data.predictions import write_predictions
from paraconsist.data.rows import Rows
from paraconsist.measures.consistency_difference import consistency_difference
from paraconsist.measures.results import parse_signature
from paraconsist.scoring import alignment
from paraconsist.scoring.alignment import align


def csv(path: Path, rows: list[tuple[Any, ...]], header: str = "example_id,bucket_id,label,prediction") -> Path:
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def answers(seed: int, flip: float, buckets: range = range(40)) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(seed)
    return [(f"r{b}-{j}", f"b{b}", 1, int(rng.random() > flip)) for b in buckets for j in range(4)]


@pytest.fixture
def compare(command: Command) -> Command:
    return Command(lambda given: command("compare", given, "--n-resamples", 200, "--n-permutations", 500))


def test_command_matches_the_function_whatever_the_order_of_rows(compare, tmp_path: Path) -> None:
    one, two = answers(0, 0.05), answers(1, 0.4)
    rng = np.random.default_rng(2)
    files = [csv(tmp_path / "steady.csv", one), csv(tmp_path / "shaky.csv", [two[i] for i in rng.permutation(160)])]
    (found,) = compare.json(*files, "--output", tmp_path / "found.json")
    assert json.loads((tmp_path / "found.json").read_text()) == [found]
    (pair,) = found["pairs"]
    columns = [[row[3] for row in rows] for rows in (one, two)]
    direct = consistency_difference(*columns, [1] * 160, [row[1] for row in one], n_resamples=200, n_permutations=500)
    assert (pair["first"], pair["second"]) == ("steady", "shaky")
    assert pair["result"]["difference"] == pytest.approx(direct.difference)
    assert pair["result"]["differences"]["accuracy"] == pytest.approx(direct.differences["accuracy"])
    assert found["n_common_buckets"] == 40
    out = compare.done(*files, "--stratum", "label")
    assert "warning: --stratum breaks nothing down here" in out  # it was ignored without a word
    assert "steady (1) and shaky (2), 40 buckets, 160 paraphrases" in out
    assert "beaten by steady" in out


def test_the_difference_that_so_many_problems_show(compare, tmp_path: Path) -> None:
    """(1.96 + 0.84) / 1.96 half-widths, of P_C or, where it is undefined, of the accuracy; where none was found."""
    for which, rows, symbol in (("all", slice(None), "P_C"), ("first", slice(None, None, 4), "A")):
        files = [csv(tmp_path / f"{seed}-{which}.csv", answers(seed, 0.2)[rows]) for seed in (0, 1)]
        (pair,) = compare.json(*files)[0]["pairs"]
        ends = pair["result"]["confidence_interval"]
        low, high = ends["paraphrastic_consistency_unbiased" if symbol == "P_C" else "accuracy"]
        assert low < 0 < high
        shown = f"{100 * (1.95996 + 0.84162) / 1.95996 * (high - low) / 2:.1f} points in {symbol}."
        assert f"80 % of tests find a true difference of {shown}" in " ".join(compare.done(*files).split())
    few = [csv(tmp_path / f"{seed}-few.csv", answers(seed, 0.2)[:20]) for seed in (0, 1)]
    assert "80 % of tests" not in compare.done(*few)  # below six problems: they found one of 142.9 points
    assert "only accuracies are compared, and a margin has no verdict" in compare.done(*files, "--margin", 0.02)
    assert "80 % of tests" not in compare.done(files[0], csv(tmp_path / "bad.csv", answers(1, 0.9)[rows]))


def test_three_models_are_corrected_and_only_common_buckets_count(compare, tmp_path: Path) -> None:
    files = [csv(tmp_path / f"{name}.csv", answers(i, 0.1 + 0.1 * i, range(5 * i, 40))) for i, name in enumerate("abc")]
    (found,) = compare.json(*files, "--correction", "bonferroni")
    assert [(pair["first"], pair["second"]) for pair in found["pairs"]] == [("a", "b"), ("a", "c"), ("b", "c")]
    for pair in found["pairs"]:
        assert pair["corrected_p_value"] == pytest.approx(min(1.0, 3 * pair["result"]["p_value"]))
        assert pair["result"]["n_buckets"] == 30
    assert found["warnings"][0] == "compared on 30 common buckets; a has 40, b has 35, c has 30"
    assert len(compare.json(*files, "--against-first")[0]["pairs"]) == 2
    assert "corrected for 3 comparisons (Holm)" in " ".join(compare.out(*files).split())


def test_a_table_with_a_column_for_each_model_is_a_file_of_each(compare, command, tmp_path: Path) -> None:
    """It had to be cut into files first, and the error asked for another one."""
    by_model = {name: answers(i, 0.1 + 0.1 * i) for i, name in enumerate("abc")}
    files = [csv(tmp_path / f"{name}.csv", rows) for name, rows in by_model.items()]
    wide = pd.read_csv(files[0]).rename(columns={"prediction": "a"})
    wide = wide.assign(b=pd.read_csv(files[1]).prediction, c=pd.read_csv(files[2]).prediction)
    wide.to_csv(tmp_path / "wide.csv", index=False)
    columns = ["--prediction", "a,b,c"]
    assert compare.json(tmp_path / "wide.csv", *columns)[0]["pairs"] == compare.json(*files)[0]["pairs"]
    assert [*pc.rank(wide, prediction="a,b,c").model] == [*pc.rank(*files).model]
    assert "`--prediction` takes one of them" in command.refused("score", tmp_path / "wide.csv", *columns)
    assert compare.json(tmp_path / "wide.csv", "--prediction", "a, b, c") == compare.json(
        tmp_path / "wide.csv", *columns
    )
    assert "column of the predictions; got 'd'" in command.refused(
        "compare", tmp_path / "wide.csv", "--prediction", "a,d"
    )
    twice = ["--prediction", "a", "--prediction=b"]  # of which the first was lost
    err = command.refused("compare", tmp_path / "wide.csv", *twice)
    assert "warning: --prediction is given 2 times: the last counts" in err
    assert "`--prediction` names them: a,b" in command.refused("compare", tmp_path / "wide.csv", "--prediction", "a")
    command.done("report", tmp_path / "wide.csv", *columns, "--output", tmp_path / "page.html")


def test_columns_of_one_model_of_a_table_of_several(compare, command, tmp_path: Path) -> None:
    """The error asked for `--model`, which was given."""
    rows = [(*row, int(row[3] != n % 3), f"m{seed}") for seed in (0, 1) for n, row in enumerate(answers(seed, 0.3))]
    table = csv(tmp_path / "both.csv", rows, "example_id,bucket_id,label,a,b,model")
    frame = pd.read_csv(table)
    alone = frame[frame.model == "m1"].drop(columns="model")
    alone.to_csv(tmp_path / "alone.csv", index=False)
    given = ["--prediction", "a,b"]
    found = compare.json(table, *given, "--model", "m1")
    assert found[0]["pairs"] == compare.json(tmp_path / "alone.csv", *given)[0]["pairs"]
    assert [*pc.rank(frame, prediction="a,b", model="m1").model] == [*pc.rank(alone, prediction="a,b").model]
    assert "`--model` takes one of them" in command.refused("compare", table, *given)


def test_a_table_of_several_models_is_a_file_of_each(compare, command, tmp_path: Path) -> None:
    by_model = {name: answers(i, 0.1 + 0.1 * i) for i, name in enumerate("abc")}
    files = [csv(tmp_path / f"{name}.csv", rows) for name, rows in by_model.items()]
    header = "example_id,bucket_id,label,prediction,model"
    table = csv(tmp_path / "all.csv", [(*row, name) for name, rows in by_model.items() for row in rows], header)
    assert compare.json(table)[0]["pairs"] == compare.json(*files)[0]["pairs"]
    assert pc.compare(pd.read_csv(table), n_permutations=50).to_dict()[0]["pairs"][2]["first"] == "b"
    assert "`--model` takes one of them; `compare` and `report` take them all" in command.refused("score", table)
    refuses("Column model names 3 models", pc.score, pd.read_csv(table))  # whose answers were taken for those of one
    scores = command.json("score", table, "--model", "c")["all"]["measures"]
    assert scores == command.json("score", files[2])["c"]["measures"]
    assert "byte for byte" in command.refused("compare", table, table)
    page = tmp_path / "page.html"
    assert command("report", table, "--output", page)[0] == 0
    assert "of 3 models" in page.read_text()
    unnamed = pd.read_csv(table).replace({"model": {"c": None}})  # whose rows were left out without a word
    refuses("`model` must be named in every row", pc.compare, unnamed)
    refuses("`model` must be named in every row; got None at row 320", pc.score, unnamed, model="a")
    unnamed.to_csv(table, index=False)  # an empty cell was the name of a model
    assert "`--model` must be named in every row" in command.refused("compare", table)
    assert "`--model` must be named in every row" in command.refused("score", table, "--model", "a")
    alone = unnamed[unnamed["model"] == "a"].reset_index(drop=True)
    alone.assign(model=alone["model"].where(alone.index > 4)).to_csv(table, index=False)
    assert command.json("score", table)["all"]["n_rows"] == len(by_model["a"])


def test_a_difference_by_chance_beats_nobody(compare, tmp_path: Path) -> None:
    """The first is a little better both ways, which is chance: it was said to beat the second."""
    files = [csv(tmp_path / f"{name}.csv", answers(seed, 0.2)) for name, seed in (("one", 11), ("two", 6))]
    (found,) = compare.json(*files)
    result = found["pairs"][0]["result"]
    p_values = [result["p_values"][key] for key in ("accuracy", "paraphrastic_consistency_unbiased")]
    signs = [np.sign(result["differences"][key]) for key in ("accuracy", "paraphrastic_consistency_unbiased")]
    assert min(p_values) > 0.1
    assert abs(sum(signs)) == 2
    assert [row["dominated_by"] for row in found["pareto"]] == [[], []]
    out = compare.out(*files)
    assert "not beaten" in out
    assert "beaten by" not in out


def test_models_that_were_not_compared_are_named(compare, tmp_path: Path) -> None:
    files = [csv(tmp_path / f"{name}.csv", answers(i, 0.1 + 0.1 * i)) for i, name in enumerate("abc")]
    (found,) = compare.json(*files, "--against-first")
    assert {row["model"]: row["untested"] for row in found["pareto"]} == {"a": [], "b": ["c"], "c": ["b"]}
    assert found["standings"] == []
    assert "not tested against c" in " ".join(compare(*files, "--against-first")[1].split())


def test_all_pairs_together(compare, tmp_path: Path) -> None:
    flips = (0.05, 0.06, 0.3, 0.35)
    files = [
        csv(tmp_path / f"{n}.csv", answers(i, flip)) for i, (n, flip) in enumerate(zip("abcd", flips, strict=True))
    ]
    (found,) = compare.json(*files)
    apart = set()
    for pair in found["pairs"]:
        low, high = pair["simultaneous_interval"]
        inner = pair["result"]["confidence_interval"]["difference"]
        assert (low <= 0 <= high) == (pair["simultaneous_p_value"] > 0.05)
        assert low <= inner[0]
        assert inner[1] <= high
        assert pair["result"]["p_value"] <= pair["simultaneous_p_value"]
        if pair["simultaneous_p_value"] <= 0.05:
            apart.add(pair["first"] + pair["second"])
    assert {"ac", "ad", "bc", "bd"} <= apart
    ranks = {row["model"]: (row["rank_low"], row["rank_high"], row["letters"]) for row in found["standings"]}
    assert ranks == {"a": (1, 2, "a"), "b": (1, 2, "a"), "c": (3, 4, "b"), "d": (3, 4, "b")}
    text = " ".join(compare(*files)[1].split())
    assert "Models with a letter in common are not shown to differ." in text
    assert "All pairs together (max-T): interval of the first line" in text


@pytest.mark.faults
def test_a_constant_answer_has_no_verdict_by_a_margin(compare, tmp_path: Path) -> None:
    """It never changes, so that it was not worse than a model that reads the texts; the gate failed it."""
    one = answers(1, 0.2)
    constant = [(*row[:-1], 1) for row in one]
    files = [csv(tmp_path / "reads.csv", one), csv(tmp_path / "constant.csv", constant)]
    out = " ".join(compare.out(*files, "--margin", 0.02).split())
    assert "Margin: no verdict, as one of the two is not ranked" in out
    assert "is not worse than" not in out
    assert compare.json(*files, "--margin", 0.02)[0]["pairs"][0]["result"]["margin_test"]["verdict"] == "unranked"


def test_margins_through_the_command(compare, tmp_path: Path) -> None:
    files = [csv(tmp_path / f"{n}.csv", answers(i, flip)) for i, (n, flip) in enumerate((("a", 0.05), ("b", 0.4)))]
    out = compare.out(*files, "--margin", 0.02)
    assert "Margin: a is not worse than b by more than 2.0 points" in " ".join(out.split())
    test = compare.json(*files, "--margin", 0.02)[0]["pairs"][0]["result"]["margin_test"]
    assert test["verdict"] == "first_not_worse"
    assert test["p_not_worse1"] < 0.001 < 0.9 < test["p_not_worse2"] == test["p_equivalent"]
    assert test["interval"][0] > -0.02
    assert "`--margin` must be a share above 0 and below 1; got 2.0. Two points are 0.02." in compare.refused(
        *files, "--margin", 2
    )


@pytest.mark.faults
def test_margin_verdicts_of_several_models_are_corrected(compare, tmp_path: Path) -> None:
    """Of seven models that are worse by just the margin one at least was called not worse in 22 % of all sets."""
    files = [csv(tmp_path / f"{n}.csv", answers(i, 0.3)) for i, n in enumerate("abcdefg")]
    tests = [
        pair["result"]["margin_test"] for pair in compare.json(*files, "--margin", 0.04, "--against-first")[0]["pairs"]
    ]
    p_values = np.array([[test[f"p_not_worse{i}"] for i in (1, 2)] for test in tests])
    corrected = np.array([[test[f"corrected_p_not_worse{i}"] for i in (1, 2)] for test in tests])
    assert p_values.shape == (6, 2)
    assert corrected.min() == pytest.approx(6 * p_values.min())
    assert (corrected >= p_values).all()
    for test, shown in zip(tests, corrected <= 0.05, strict=True):
        assert test["corrected_p_equivalent"] == max(test[f"corrected_p_not_worse{i}"] for i in (1, 2))
        assert (test["verdict"] == "equivalent") == shown.all()
        assert (test["verdict"] == "undecided") == (not shown.any())
    assert "corrected for 6 comparisons (Holm), by which the verdict is" in " ".join(
        compare(*files, "--margin", 0.04, "--against-first")[1].split()
    )


def test_transitive_sets_through_the_command(compare, tmp_path: Path) -> None:
    header = "example_id,bucket_id,role,label,prediction"
    rows: list[list[tuple[Any, ...]]] = [[], []]
    rng = np.random.default_rng(5)
    for b in range(30):
        for model in (0, 1):
            right = [int(rng.random() < 0.9), int(rng.random() < 0.9), int(rng.random() < (0.9, 0.6)[model])]
            for role, ok in zip(("antecedent_1", "antecedent_2", "consequent"), right, strict=True):
                rows[model].append((f"{b}.{role}", f"b{b}", role, 1, ok))
    files = [csv(tmp_path / f"m{i}.csv", rows[i], header) for i in (0, 1)]
    (pair,) = compare.json(*files)[0]["pairs"]
    assert pair["measure"] == "transitive_inconsistency"
    satisfied = []
    for model in (0, 1):
        answer = {row[0]: row[4] for row in rows[model]}
        satisfied.append({b for b in range(30) if answer[f"{b}.antecedent_1"] and answer[f"{b}.antecedent_2"]})
    assert pair["result"]["n_common"] == len(satisfied[0] & satisfied[1]) < 30
    assert "which are not the same rows" in " ".join(compare.out(*files).split())


def test_bad_files(compare, tmp_path: Path) -> None:
    good = csv(tmp_path / "good.csv", answers(0, 0.2))
    relabelled = [(e, b, 0 if b == "b7" else label, p) for e, b, label, p in answers(1, 0.2)]
    other_rows = [(f"x{e}", b, label, p) for e, b, label, p in answers(1, 0.2)]
    fewer = [row[1:] for row in answers(1, 0.2)][1:]
    named = [(e, b, "yes", "yes" if p else "no") for e, b, _, p in answers(1, 0.2)]
    cases: list[tuple[list[Any], str]] = [
        ([good], "`models` must name two models at least"),
        ([good, good], "be different models' predictions"),
        ([good, csv(tmp_path / "copy.csv", answers(0, 0.2))], "The two hold the same, byte for byte"),
        ([good, tmp_path / "absent.csv"], "must name a file that exists"),
        ([good, csv(tmp_path / "far.csv", answers(1, 0.2, range(100, 120)))], "`--bucket` must have ids in common"),
        ([good, csv(tmp_path / "gold.csv", relabelled)], "4 rows differ; the first is in bucket 'b7'"),
        ([good, csv(tmp_path / "rows.csv", other_rows)], "160 rows only in good, 160 only in rows"),
        ([good, csv(tmp_path / "few.csv", fewer, "bucket_id,label,prediction")], "Look at bucket 'b0'"),
        ([good, csv(tmp_path / "named.csv", named)], "numbers in good, names in named"),
        ([good, csv(tmp_path / "ok.csv", answers(1, 0.3)), "--name", "a"], "be given once for each of the 2 models"),
        ([good, tmp_path / "ok.csv", "--correction", "sidak"], "`--correction` must be one of holm, bonferroni"),
        ([good, tmp_path / "ok.csv", "--measure", "bleu"], "`--measure` must be one of paraphrastic_consistency"),
    ]
    for args, message in cases:
        assert message in compare.refused(*args)


def test_run_folders_of_different_sets(compare, tmp_path: Path) -> None:
    import pyarrow as pa

    from paraconsist.data.predictions import write_predictions

    for model, sets in (("a", ("one", "two")), ("b", ("two", "three")), ("c", ("three",))):
        (tmp_path / model / "predictions").mkdir(parents=True)
        for name in sets:
            rows = answers(ord(model), 0.2)
            table = pa.table(
                dict(
                    zip(
                        ("example_id", "bucket_id", "label", "prediction"),
                        map(list, zip(*rows, strict=True)),
                        strict=True,
                    )
                )
            )
            write_predictions(tmp_path / model / "predictions" / f"{name}.parquet", table, {"set": name})
    code, out, err = compare(tmp_path / "a", tmp_path / "b", "--json")
    assert code == 0, err
    assert [found["set"] for found in json.loads(out)] == ["two"]
    assert "left out, as not every model has them: one of a" in err
    assert "`models` must have a set in common; got 'a: one, two; c: three'" in compare.refused(
        tmp_path / "a", tmp_path / "c"
    )


def test_an_undivided_file_is_compared_with_the_rows_of_its_role_in_a_divided_one(tmp_path, compare):
    """Their sets had nothing in common but the rows; `plan` found no set of one name in both."""
    roles, texts = ["original", "paraphrase", "paraphrase", "negation"], ["yes", "yes", "no", "no"]
    rows = [{"bucket_id": "a", "role": role, "prediction": text} for role, text in zip(roles, texts, strict=True)]
    other = [*rows[:1], rows[1] | {"role": "swap"}]
    for name, kept in (("divided", rows), ("undivided", [*rows[:2], rows[1]]), ("other", other)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in kept))
    divided, undivided = tmp_path / "divided.jsonl", tmp_path / "undivided.jsonl"
    for files in ((divided, undivided), (undivided, divided)):
        assert [found["set"] for found in compare.json(*files)] == ["paraphrase"]
    said = compare.refused(divided, tmp_path / "other.jsonl")
    assert "A file with several roles has a set for each: give all models' files rows of the same roles." in said


def test_groups_from_a_table(compare, tmp_path: Path) -> None:
    files = [csv(tmp_path / f"{name}.csv", answers(i, 0.1 + 0.2 * i)) for i, name in enumerate("ab")]
    contexts = csv(tmp_path / "items.csv", [(f"b{b}", f"c{b // 4}") for b in range(40)], "bucket_id,context_id")
    options = ["--groups-from", contexts, "--group", "context_id"]
    result = compare.json(*files, *options)[0]["pairs"][0]["result"]
    assert result["n_clusters"]["difference"] == 10
    assert "ci:group-sign-flip200" in result["signature"]
    csv(contexts, [(f"b{b}", f"c{b // 4}") for b in range(39)], "bucket_id,context_id")
    assert "must have a group for every bucket; got \"none for 1 buckets: 'b39'\"" in compare.refused(*files, *options)
    csv(contexts, [("b0", "c0"), ("b0", "c1")], "bucket_id,context_id")
    said = compare.refused(*files, *options)
    assert "must be the same in all rows of a bucket; got ['c0', 'c1'] at row 2. Look at bucket 'b0'" in said


def test_files_that_differ_in_what_one_of_them_lacks(compare, tmp_path: Path) -> None:
    """Whether groups counted depended on the order of the files; what differed was told as labels in another order."""
    plain = [csv(tmp_path / f"{name}.csv", answers(seed, 0.3)) for seed, name in enumerate("ab")]
    grouped = tmp_path / "grouped.csv"
    frame = pd.read_csv(plain[0])
    frame.assign(group_id=frame.bucket_id.str[1:].astype(int) // 4).to_csv(grouped, index=False)
    found = [compare.json(*files)[0] for files in ((grouped, plain[1]), (plain[1], grouped))]
    sizes = [one["pairs"][0]["result"]["n_clusters"]["difference"] for one in found]
    assert sizes == [10, 10]
    assert all("those of grouped are resampled" in one["warnings"][0] for one in found)
    pd.read_csv(plain[1]).assign(group_id=frame.bucket_id.str[1:].astype(int) // 4 + 7).to_csv(plain[1], index=False)
    assert compare.json(grouped, plain[1])[0]["warnings"] == []  # other names of the same groups
    for change, message in (
        ({"label": None}, "`--label` must name gold labels in every file, or in none; got 'none in other'"),
        ({"role": ["original", *["paraphrase"] * 3] * 40}, "`--role` must be the same in every file"),
    ):
        other = tmp_path / "other.csv"
        frame.assign(**change).dropna(axis=1).to_csv(other, index=False)
        assert message in compare.refused(plain[0], other)
    frame.assign(bucket_id=frame.bucket_id.str[1:]).to_csv(other, index=False)
    assert "`--bucket` must be of one kind in all files" in compare.refused(plain[0], other)
    frame.assign(group_id=range(len(frame))).to_csv(other, index=False)
    assert "`--group` must give every row of a bucket the same" in compare.refused(other, plain[0])
    frame[:0].to_csv(other, index=False)
    assert "must have at least one row" in compare.refused(plain[0], other)


def test_pairs_in_rows_have_a_column_of_originals_for_each_model(compare, command, tmp_path: Path) -> None:
    """Every model's rewordings were compared with the one column's originals: 27.4 % changed in place of 9.6 %."""
    rng = np.random.default_rng(0)
    names = ["a_original", "a_reworded", "b_original", "b_reworded"]
    pairs = pd.DataFrame(rng.integers(0, 2, (40, 4)), columns=names).assign(bucket_id=range(40), label=1)
    for frame, options in ((pairs, ["--measure", "wording_change"]), (pairs.drop(columns="label"), [])):  # was refused
        frame.to_csv(tmp_path / "pairs.csv", index=False)
        given = [tmp_path / "pairs.csv", "--prediction", "a_reworded,b_reworded", "--original-prediction"]
        result = compare.json(*given, "a_original,b_original", *options)[0]["pairs"][0]["result"]
        for model, values in (("a", result["values1"]), ("b", result["values2"])):
            assert values["wording_change"] == np.mean(pairs[f"{model}_original"] != pairs[f"{model}_reworded"])
        alone = command.json("score", given[0], "--prediction", "b_reworded", "--original-prediction", "b_original")
        assert alone["pairs"]["wording"]["wording_change"] == result["values2"]["wording_change"]
        assert "a column for each of a_reworded, b_reworded" in compare.refused(*given, "a_original")
        (found,) = compare.json(*given, "a_original,b_original", "--margin", 0.1)  # was without verdict and word
        (pair,) = found["pairs"]
        assert pair["measure"] == "wording_change"
        assert pair["result"]["margin_test"]["verdict"]
        assert ("accuracy" in pair["result"]["differences"]) == bool(options)
    pairs.to_csv(tmp_path / "pairs.csv", index=False)
    table = compare.out(*given, "a_original,b_original")
    assert not re.search("P_C|VAP", table)
    assert re.search(r" wording change .*\n(.*better\) *\n)? A  +[\d.]+ %", table)
    (found,) = compare.json(*given, "a_original,b_original", "--measure", "paraphrastic_consistency")
    assert any("name wording_change as the measure" in each for each in found["warnings"])


def test_roles_that_are_true_or_false_are_another_option(command, tmp_path: Path) -> None:
    rows = [(*row, row[0].endswith("-0")) for row in answers(0, 0.3)]
    table = csv(tmp_path / "flags.csv", rows, "example_id,bucket_id,label,prediction,is_original")
    assert "is true or false as `--original`" in command.refused("score", table, "--role", "is_original")


@pytest.mark.faults
def test_signatures_of_pairs_say_what_both_files_say(tmp_path: Path) -> None:
    """Each named the first model's set, and the dtypes of all models, also of those that it is not about."""
    files = []
    for name, dtype, revision in (("a", "float32", "1"), ("b", "float32", "2"), ("c", "bfloat16", "2")):
        columns = zip(
            ("example_id", "bucket_id", "label", "prediction"), zip(*answers(0, 0.3), strict=True), strict=True
        )
        files.append(tmp_path / f"{name}.parquet")
        metadata = {"set": "one", "set_fingerprint": revision, "model": {"model": name, "dtype": dtype}}
        write_predictions(files[-1], pa.table(dict(columns)), metadata)
    pairs = pc.compare(*files, n_permutations=99, n_resamples=50).sets[0].pairs
    parts = [parse_signature(pair.result["signature"]).parts for pair in pairs]
    assert [part.get("dtype") for part in parts] == [None, "float32, bfloat16", "float32, bfloat16"]
    assert [part["data"] for part in parts] == ["one@1, one@2", "one@1, one@2", "one@2"]


def test_an_id_twice_in_a_bucket() -> None:
    rows = Rows(
        buckets=np.array([1, 1]), groups=None, roles=np.array(["paraphrase"] * 2), labels=np.array([1, 1]),
        predictions=np.array([1, 0]), has_gold=np.ones(2, dtype=bool), unparsed=np.zeros(2, dtype=bool),
        confidences=None, strata={"\x00row": np.array(["x", "x"])}
    )  # fmt: skip
    refuses("`example` must differ within a bucket; got 'x'", align, {"a": rows, "b": rows})


#: RoBERTa-large minus bag of words on the authors' predictions: unbiased P_C, the shared contexts, and whether the
#: interval over contexts holds 0.
PUBLISHED = {
    "anli": (-0.343, 247, False),
    "atomic": (-0.006, 193, True),
    "snli": (-0.086, 127, False),
    "social": (-0.047, 127, True),
}


@pytest.mark.real_data
@pytest.mark.parametrize("name", PUBLISHED)
def test_roberta_against_bag_of_words(compare, data_folder: Path, name: str) -> None:
    folder = data_folder / "paranlu" / "predictions"
    files = [folder / f"{name}__{model}__human.parquet" for model in ("roberta-large", "bow")]
    columns = ["--label", "gold", "--prediction", "pred", "--original", "is_original", "--example", "paraphrase_id"]
    contexts = ["--groups-from", data_folder / "paranlu" / "items" / f"{name}_human.parquet", "--group", "context_id"]
    (pair,) = compare.json(*files, *columns, *contexts)[0]["pairs"]
    result = pair["result"]
    difference, n_contexts, holds_0 = PUBLISHED[name]
    assert (result["n_buckets"], result["n_clusters"]["difference"]) == (250, n_contexts)
    assert result["difference"] == pytest.approx(difference, abs=5e-4)
    low, high = result["confidence_interval"]["difference"]
    assert (low <= 0 <= high) == holds_0 == (result["p_value"] > 0.05)
    # the plug-in values are those of Table 4
    table = json.loads((data_folder / "paranlu" / "expected_values.json").read_text())["table4"]
    published = {row["model"]: row["computed"]["P_C"] for row in table if row["dataset"] == name}
    assert result["values1"]["paraphrastic_consistency"] == pytest.approx(published["roberta-large"], abs=1e-12)
    assert result["values2"]["paraphrastic_consistency"] == pytest.approx(published["bow"], abs=1e-12)


def test_rows_that_were_scored_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [csv(tmp_path / f"{seed}.csv", answers(seed, 0.3)) for seed in (1, 2)]
    expected = pc.compare(*files).to_dict()
    scored = [pc.score(file) for file in files]
    monkeypatch.setattr(alignment, "read_rows", None)
    assert pc.compare(*scored).to_dict() == expected
