"""Symmetric, transitive and additive perturbations: the rules, by hand and against naive definitions."""

import subprocess
import sys
from collections import Counter

import pytest
from helpers.errors import refuses
from helpers.examples import examples
from helpers.perturb import NLI_ROWS, labelled
from hypothesis import given
from hypothesis import strategies as st

from paraconsist.data.tasks import get_task
from paraconsist.errors import InputError
from paraconsist.transforms.negation import antonym, negation
from paraconsist.transforms.perturbation import PROPERTIES, AdditivePairs, LabelledSet, symmetric, transitive


def test_symmetric_inference_swaps_contradictions_only():
    skipped = Counter()
    (item,) = symmetric(labelled("nli", NLI_ROWS), skipped)
    original, swap = item.places
    assert (original.role, swap.role) == ("original", "swap")
    assert original.texts == ("A girl reads.", "A girl is asleep.")
    assert swap.texts == ("A girl is asleep.", "A girl reads.")
    assert (swap.label, swap.allowed_labels) == (2, (2,))
    assert sum(skipped.values()) == 3


def test_symmetric_two_way_inference_swaps_not_entailment():
    names = ("entailment", "not_entailment")
    (item,) = symmetric(labelled("nli", [("p", "h", "entailment"), ("p", "z", "not_entailment")], names), Counter())
    assert item.places[1].texts == ("z", "p")
    assert item.places[1].label == 1


def test_symmetric_word_in_context_keeps_the_word_in_its_place():
    rows = [("A coat.", "To coat.", "coat", "different_sense"), ("Same.", "Same.", "same", "same_sense")]
    skipped = Counter()
    (item,) = symmetric(labelled("word_in_context", rows), skipped)
    assert item.places[1].texts == ("To coat.", "A coat.", "coat")
    assert skipped == {"both texts are the same": 1}


@pytest.mark.parametrize("property_name", PROPERTIES)
def test_each_property_is_refused_where_the_paper_does_not_say_it_holds(property_name):
    ways = {
        "symmetric": symmetric,
        "transitive": transitive,
        "additive": lambda data, skipped: AdditivePairs(data, 9, skipped).pairs(),
        "negation": lambda data, skipped: negation(data, None, skipped),
        "antonym": lambda data, skipped: antonym(data, lambda word: (), skipped),
    }
    for task in ("defeasible_nli", "abductive_nli", *{t for ts in PROPERTIES.values() for t in ts}):
        data = LabelledSet("toy", get_task(task), get_task(task).label_names, [])
        if task in PROPERTIES[property_name]:
            assert list(ways[property_name](data, Counter())) == []
        else:
            with pytest.raises(InputError, match=f"`property` must hold for the task: .*; got '{property_name}'"):
                list(ways[property_name](data, Counter()))


def test_labels_of_other_names_are_refused():
    data = labelled("nli", [("p", "h", "yes")], ("yes", "no", "perhaps"))
    refuses(r"have 'entailment' among its names; .* `label_names`", list, symmetric(data, Counter()))


def test_transitive_inference_by_hand():
    first, second = transitive(labelled("nli", NLI_ROWS), Counter())
    assert [p.texts for p in first.places] == [
        ("A girl reads.", "A girl is asleep."),
        ("A girl reads.", "A girl is awake."),
        ("A girl is asleep.", "A girl is awake."),
    ]
    assert [(p.role, p.label, p.allowed_labels) for p in first.places] == [
        ("antecedent_1", 2, (2,)),
        ("antecedent_2", 0, (0,)),
        ("consequent", 2, (2,)),
    ]
    assert second.places[-1].texts == ("A girl likes books.", "A girl is asleep.")
    assert second.places[-1][2:] == (-1, (1, 2))
    assert second.strata == {"rule": "neutral & contradiction -> not entailment"}
    assert first.group_id == second.group_id


def test_transitive_refuses_two_way_inference():
    with pytest.raises(InputError, match="two-way inference cannot tell neutral from contradiction"):
        list(transitive(labelled("nli", [("p", "h", "entailment")], ("entailment", "not_entailment")), Counter()))


def test_transitive_word_in_context_by_hand():
    rows = [
        ("a", "b", "w", "same_sense"),
        ("c", "a", "w", "same_sense"),
        ("b", "d", "w", "different_sense"),
        ("d", "e", "w", "different_sense"),  # with the row above: two differences give nothing
        ("a", "x", "v", "same_sense"),  # another word
    ]
    items = {item.bucket_id: item for item in transitive(labelled("word_in_context", rows), Counter())}
    assert {name: (i.places[-1].texts, i.places[-1].label) for name, i in items.items()} == {
        "transitive.e0|e1": (("b", "c", "w"), 1),
        "transitive.e0|e2": (("a", "d", "w"), 0),
    }


def test_transitive_leaves_out_what_the_data_deny_or_repeat():
    rows = [
        ("p", "h", "entailment"),
        ("p", "z", "contradiction"),
        ("p", "z", "contradiction"),
        ("z", "h", "neutral"),
    ]
    skipped = Counter()
    assert list(transitive(labelled("nli", rows), skipped)) == []
    assert skipped == {"the data give the conclusion another label": 2}
    (item,) = transitive(labelled("nli", rows[:3]), skipped)
    assert item.bucket_id == "transitive.e1|e0"
    assert skipped["the same texts again"] == 1


TEXT = st.sampled_from("abcde")


@given(st.lists(st.tuples(TEXT, TEXT, st.sampled_from(["same_sense", "different_sense"])), max_size=12))
@examples(100)
def test_word_in_context_conclusions_hold_whenever_senses_are_classes(rows):
    """Gold made from real classes of senses is never contradicted, and each pair of rows comes once."""
    sense = {"a": 0, "b": 0, "c": 1, "d": 1, "e": 2}
    true = [(a, b, "w", "same_sense" if sense[a] == sense[b] else "different_sense") for a, b, _ in rows]
    items = list(transitive(labelled("word_in_context", true), Counter()))
    for item in items:
        a, b, _ = item.places[-1].texts
        assert item.places[-1].label == int(sense[a] == sense[b])
    assert len({item.bucket_id for item in items}) == len(items)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["negative", "positive"])), max_size=12),
    st.integers(2, 9),
)
@examples(200)
def test_additive_pairs_are_those_of_the_double_loop(rows, token_limit):
    data = labelled("sentiment", [(" ".join(["w"] * n), label) for n, label in rows])
    pairs = AdditivePairs(data, token_limit, Counter())
    naive = {
        f"additive.e{i}|e{j}"
        for i, (n, a) in enumerate(rows)
        for j, (m, b) in enumerate(rows)
        if i != j and a == b and n and m and n + m <= token_limit
    }
    found = [item.bucket_id for item in pairs.pairs()]
    assert len(pairs) == len(found)
    assert set(found) == naive
    assert len(found) == len(naive)
    if len(naive) > 1:
        drawn = [item.bucket_id for item in pairs.pairs(len(naive) - 1, seed=3)]
        assert len(set(drawn)) == len(naive) - 1
        assert [name for name in found if name in set(drawn)] == drawn


def test_additive_joins_by_one_space():
    data = labelled("topic", [("Rovers win. ", "sports"), (" City lose.", "sports"), ("Oil up.", "business")])
    skipped = Counter()
    first, second = AdditivePairs(data, 4, skipped).pairs()
    assert [p.role for p in first.places] == ["part_1", "part_2", "merged"]
    assert first.places[-1].texts == ("Rovers win. City lose.",)
    assert second.places[-1].texts == ("City lose. Rovers win.",)
    assert second.places[-1].label == 1
    assert skipped == {"no other text of the label is short enough": 1}


def test_additive_draws_are_uniform_over_pairs():
    data = labelled("sentiment", [(text, "positive") for text in ("a", "b b", "c c c")])
    seen = Counter(
        item.bucket_id for seed in range(600) for item in AdditivePairs(data, 4, Counter()).pairs(1, seed=seed)
    )
    assert len(seen) == 4
    assert min(seen.values()) > 110  # of 150 expected


@pytest.mark.slow
def test_transforms_pull_in_the_standard_library_only():
    names = ["lexicon", "negation", "perturbation", "sheets"]
    code = "; ".join(f"import paraconsist.transforms.{name}" for name in names)
    code += "; import sys; print(' '.join({m.partition('.')[0] for m in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"numpy", "pyarrow", "datasets", "torch", "nltk", "click", "pandas"}
