"""Which sets a command line means, which model answers which, and how many rows of each are taken."""

import pytest
from helpers.errors import refuses

from paraconsist.data.bucket_sets import assign_models, expand_specs, matches, parse_limits
from paraconsist.dataset_builders import builder_class


def test_all_of_becel_is_the_papers_nineteen_cases():
    found = expand_specs(["becel:all"])
    assert len(found) == 19
    assert found == [f"becel:{name}" for name in builder_class("becel").TEST_CASES]
    assert "becel:wic_negational" not in found


def test_the_beginning_of_several_names():
    assert expand_specs(["becel:sst2"]) == ["becel:sst2_semantic", "becel:sst2_additive"]
    assert expand_specs(["paranlu:delta_snli"]) == ["paranlu:delta_snli"]
    assert set(expand_specs(["paranlu:delta"])) == {
        f"paranlu:delta_{name}{kind}" for name in ("snli", "atomic", "social") for kind in ("", "_automatic")
    }


def test_names_that_are_no_builders_stay_and_none_comes_twice():
    assert expand_specs(["mine.csv", "org/set:x", "becel:rte_semantic", "becel:rte"])[:3] == [
        "mine.csv",
        "org/set:x",
        "becel:rte_semantic",
    ]
    assert len(expand_specs(["becel:rte", "becel:rte"])) == len(expand_specs(["becel:rte"]))


@pytest.mark.parametrize("spec", ["becel:nothing", "becel", "becel:"])
def test_a_name_that_stands_for_nothing(spec):
    refuses(r"must name a config of 'becel'.*The configs are", expand_specs, [spec])


@pytest.mark.parametrize(
    ("pattern", "spec", "answer"),
    [
        ("becel:rte_semantic", "becel:rte_semantic", True),
        ("rte_semantic", "becel:rte_semantic", True),
        ("rte", "becel:rte_semantic", True),
        ("rt", "becel:rte_semantic", False),
        ("*_additive", "becel:ag_news_additive", True),
        ("becel:*", "becel:ag_news_additive", True),
        ("mine.csv", "mine.csv", True),
        ("*", "anything", True),
    ],
)
def test_patterns(pattern, spec, answer):
    assert matches(pattern, spec) is answer


def test_models_by_pattern_first_fit_wins_and_the_rest_goes_to_the_one_without():
    sets = ["becel:rte_semantic", "becel:snli_semantic", "becel:wic_symmetric"]
    assert assign_models(["m"], sets) == {"m": sets}
    with pytest.warns(UserWarning, match="no model is given for becel:wic_symmetric: left out"):
        assert assign_models(["rte=a", "snli=b"], sets) == {"a": sets[:1], "b": sets[1:2]}
    assert assign_models(["rte=a", "rest", "*_semantic=b"], sets) == {"a": sets[:1], "b": sets[1:2], "rest": sets[2:]}


def test_a_folder_with_an_equals_sign_is_a_folder(tmp_path):
    folder = tmp_path / "lr=3"
    folder.mkdir()
    assert assign_models([str(folder)], ["x"]) == {str(folder): ["x"]}


@pytest.mark.parametrize(
    ("models", "sentence"), [(["a", "b"], "must be given once"), (["rte=a"], "must answer at least one of the sets")]
)
def test_models_that_cannot_be_assigned(models, sentence):
    refuses(sentence, assign_models, models, ["becel:snli_semantic"])


def test_limits():
    assert parse_limits(None, "x") is None
    assert parse_limits(["50"], "x") == 50
    assert parse_limits(["*additive=20", "50"], "becel:sst2_additive") == 20
    assert parse_limits(["*additive=20", "50"], "becel:sst2_semantic") == 50
    for bad in ("0", "-1", "many", "x=", "=x", "²"):
        refuses("must be a number of rows", parse_limits, [bad], "x")
