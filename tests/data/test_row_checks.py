"""The checks that rows pass while a set is built."""

from __future__ import annotations

import pytest
from helpers.toy_builder import toy_rows

from paraconsist.data.tasks import get_task
from paraconsist.dataset_builders.checks import SplitChecker
from paraconsist.errors import InputError


def checked(rows: list[dict], counts: dict[str, int] | None = None) -> None:
    checker = SplitChecker(
        where="build toy",
        task=get_task("nli"),
        n_labels=3,
        strata={"worker": "int32"},
        counts={"original": 2, "paraphrase": 4} if counts is None else counts,
    )
    for row in rows:
        checker.add({"input_id": "i", "group_id": "g", "allowed_labels": [row.get("label")], **row})
    checker.finish()


def test_good_rows_pass():
    checked(toy_rows())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"example_id": "b0.0"}, r"`example_id` must be unique in the split; got 'b0\.0' at row b0\.0"),
        ({"example_id": ""}, "`example_id` must not be empty"),
        ({"premise": None}, r"`premise` must be text; got None at row b1\.2"),
        ({"worker": None}, "`worker` must be of type int32; got None"),
        ({"worker": True}, "`worker` must be of type int32; got True"),
        ({"worker": "1"}, "`worker` must be of type int32; got '1'"),
        ({"extra": 1}, r"declared columns \(missing: \[\], not declared: \['extra'\]\)"),
        ({"role": "copy"}, "`role` must be one of original"),
        ({"role": "original"}, "`counts` must be"),
        ({"label": 3, "allowed_labels": [3]}, "`label` must be a class from 0 to 2, or -1; got 3"),
        ({"label": "contradiction"}, "`label` must be a class"),
        ({"label": True}, "`label` must be a class"),
        ({"label": 1, "allowed_labels": [1]}, "`label` must be 2 throughout bucket b1; got 1"),
        ({"allowed_labels": []}, "`allowed_labels` must be a list of at least one class"),
        ({"allowed_labels": [0]}, "`allowed_labels` must be classes, the label among them"),
        ({"bucket_id": "b2"}, "`role` must be `original` exactly once in bucket b2; got '0 times'"),
    ],
)
def test_bad_rows(change, message):
    rows = toy_rows()
    rows[-1] |= change
    with pytest.raises(InputError, match=message):
        checked(rows)


def test_a_missing_column():
    rows = toy_rows()
    del rows[2]["hypothesis"]
    with pytest.raises(InputError, match=r"missing: \['hypothesis'\].* at row b0\.2"):
        checked(rows)


def test_declared_counts():
    with pytest.raises(InputError, match=r"`counts` must be .*'paraphrase': 4.* rows per role; got .*'paraphrase': 3"):
        checked(toy_rows()[:-1])


def places(roles: list[str], labels: list[int]) -> list[dict]:
    """One bucket with a row for each role."""
    return [
        {**toy_rows()[0], "example_id": f"x.{i}", "role": role, "label": label}
        for i, (role, label) in enumerate(zip(roles, labels, strict=True))
    ]


@pytest.mark.parametrize(
    ("roles", "labels"),
    [
        (["original", "negation"], [0, 2]),
        (["original", "swap"], [2, 2]),
        (["antecedent_1", "antecedent_2", "consequent"], [2, 0, 2]),
        (["part_1", "part_2", "merged"], [1, 1, 1]),
    ],
)
def test_buckets_of_every_kind(roles, labels):
    checked(places(roles, labels), counts=dict.fromkeys(roles, 1))


@pytest.mark.parametrize(
    ("roles", "labels", "message"),
    [
        (["original", "negation"], [0, 0], "`label` must be another than that of the original of bucket b0; got 0"),
        (["original", "swap"], [2, 1], "`label` must be 2 throughout bucket b0; got 1"),
        (["part_1", "part_2", "merged"], [1, 1, 0], "`label` must be 1 throughout bucket b0; got 0"),
    ],
)
def test_gold_labels_follow_the_roles(roles, labels, message):
    with pytest.raises(InputError, match=message):
        checked(places(roles, labels), counts=dict.fromkeys(roles, 1))


def test_a_bucket_without_its_consequent():
    rows = places(["antecedent_1", "antecedent_2", "consequent"] * 2, [2, 0, 2] * 2)
    for row in rows[3:]:
        row["bucket_id"] = "b1"
    rows[5]["bucket_id"] = "b0"
    with pytest.raises(InputError, match="`role` must be `consequent` exactly once in bucket b0; got '2 times'"):
        checked(rows, counts={"antecedent_1": 2, "antecedent_2": 2, "consequent": 2})
