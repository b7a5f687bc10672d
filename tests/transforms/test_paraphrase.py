"""Paraphrase generation: settings, filters, the refining loop, the rules, and language models that generate."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.errors import refuses
from helpers.language_models import byte_tokenizer, tiny_language_model
from helpers.paraphrase import fill, write_places
from helpers.perturb import NLI_ROWS, labelled, write_csv

from paraconsist.data.bucket_sets import load_bucket_set
from paraconsist.errors import InputError
from paraconsist.transforms.paraphrase.generators import (
    PRESETS,
    DiverseGroups,
    GeneratorOptions,
    GeneratorSettings,
    LanguageGenerator,
    ParaphraseOptions,
    call,
    load_generator,
    preset,
    read_examples,
)
from paraconsist.transforms.paraphrase.judgements import (
    _agreement,
    read_judgements,
    write_judgement_sheet,
)
from paraconsist.transforms.paraphrase.refining import entailment_label, reason_against, refine
from paraconsist.transforms.paraphrase.rules import RuleGenerator, rewordings
from paraconsist.transforms.paraphrase.sets import GeneratedSet, keep_valid, make_paraphrases, write_generated

PLAIN = GeneratorSettings(n=4, keep=2)


def test_presets_are_the_papers():
    a24, v23, s24 = PRESETS["a24"], PRESETS["v23"], PRESETS["s24"]
    assert (a24.n, a24.max_new_tokens, a24.temperature, a24.mutual_entailment) == (10, 40, 0.6, True)
    assert a24.prompt == "Rephrase the following sentence while preserving its original meaning: {sentence}"
    assert (v23.n, v23.top_k, v23.top_p, v23.most_jaccard) == (3, 120, 0.95, 0.75)
    assert (s24.n, s24.temperature, s24.n_examples) == (9, 0.7, 10)
    assert preset("a24").changed(n=3, keep=None).n == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 0}, "`n` must be a whole number of at least 1; got 0"),
        ({"n": 6, "num_beams": 5}, r"`n` must not be above the number of beams \(5\); got 6. A beam gives one"),
        ({"temperature": None}, r"`n` must not be above the number of beams \(1\)"),
        ({"prompt": "Rephrase it."}, r"`prompt` must have \{sentence\}"),
        ({"temperature": 0.0}, "`temperature` must be above 0"),
        ({"most_jaccard": 75.0}, "`most_jaccard` must lie between 0 and 1"),
    ],
)
def test_settings_refuse(change, message):
    refuses(f"^paraphrase: {message}", GeneratorSettings, **change)
    refuses("`preset` must be one of a24, v23, s24, questions; got 'x'", preset, "x")


@pytest.mark.parametrize(("candidate", "reason"), [
    ("", "empty"), (" ... ", "empty"), ("the dog SLEEPS on a bed", "copy of the original"),
    ("A dog is asleep in a bed!", "duplicate"), ("Dog.", "too short"),
    ("The dog " + "really " * 20 + "sleeps on a bed.", "too long"), ("Собака is asleep on a bed.", "another language"),
    ("Hund schläft tief jetzt dort.", "another language"), ("Hund schläft jetzt dort.", "another language"),
    ("Hund schläft dort.", None), ("The dog sleeps on the bed.", "words overlap"),
    ("In a bed, some dog is sleeping.", None)
])  # fmt: skip
def test_filters(candidate, reason):
    settings = PLAIN.changed(most_jaccard=0.75)
    assert reason_against(candidate, "The dog sleeps on a bed.", ["a dog is asleep in a bed"], settings) == reason


def test_jaccard_at_the_limit_is_dropped():
    settings = PLAIN.changed(most_jaccard=0.75)
    assert reason_against("a b c x", "a b c", [], settings) == "words overlap"  # 3/4
    assert reason_against("a b x y", "a b", [], settings) is None


class Scripted:
    """A generator that says what it was told to, call after call, and counts."""

    def __init__(self, *calls):
        self.calls = calls
        self.asked = []

    def __call__(self, texts):
        self.asked.append(list(texts))
        said = self.calls[min(len(self.asked), len(self.calls)) - 1]
        return [said.get(text, []) for text in texts]


def test_refining_asks_again_only_for_what_lacks():
    generator = Scripted(
        {"one a b c": ["one a b d", "ONE A B C", "one a b e", "one a b f"], "two a b c": ["two a b d"]},
        {"two a b c": ["two a b d", "two a b e"]},
    )
    found = refine(["one a b c", "two a b c", "one a b c"], generator, PLAIN.changed(tries=5))
    assert found.accepted == {"one a b c": ["one a b d", "one a b e"], "two a b c": ["two a b d", "two a b e"]}
    assert generator.asked == [["one a b c", "two a b c"], ["two a b c"]]
    assert dict(found.reasons) == {"copy of the original": 1, "duplicate": 1}
    assert (found.n_candidates, found.n_judged, found.n_unused, found.n_calls) == (7, 6, 1, 2)
    assert found.acceptance_rate == 4 / 6


def test_the_judge_is_asked_for_as_many_as_lack():
    asked = []

    def judge(originals, candidates):
        asked.append(list(candidates))
        return np.array([candidate.endswith("yes") for candidate in candidates])

    found = refine(["o a b"], Scripted({"o a b": ["o a no", "o b yes", "o c yes", "o d yes"]}), PLAIN, judge)
    assert asked == [["o a no", "o b yes"], ["o c yes"]]
    assert found.accepted == {"o a b": ["o b yes", "o c yes"]}
    assert found.reasons["not entailed both ways"] == 1
    assert found.n_unused == 1


def test_a_generator_of_empty_texts_is_bounded_and_said():
    generator = Scripted({"a dog": ["", "  ", ""]})
    with pytest.raises(InputError, match="`generator` must write texts; got '21 empty texts in 7 calls'"):
        refine(["a dog"], generator, PLAIN.changed(tries=7))
    assert len(generator.asked) == 7
    nothing = Scripted({})
    assert refine(["a dog"], nothing, PLAIN.changed(tries=7)).n_accepted == 0
    assert len(nothing.asked) == 1  # no candidates at all: it is not asked again


def test_bad_originals_and_bad_generators():
    refuses("`originals` must not be empty; got ' ' at row 1", refine, ["a", " "], Scripted({}), PLAIN)
    for returned, message in [
        ("text", "return a list of candidates for each of 1 texts"),
        ([[], []], "return a list of candidates for each of 1 texts; got '2 items'"),
        (["text"], "return lists of texts; got 'text' at row 0"),
        ([[1]], "return lists of texts"),
        (None, "return a list of candidates"),
    ]:
        refuses(message, call, lambda texts, said=returned: said, ["a"])
    with pytest.raises(
        InputError, match="`generator` must be in a module that can be imported; got 'nowhere:function'"
    ):
        load_generator(GeneratorOptions("nowhere:function"), PLAIN)


def test_rules_by_example():
    found = {text: rule for rule, text in rewordings("Two kids and a dog are sitting on a couch.")}
    assert found["Two children and a dog are sitting on a couch."] == "synonym"
    assert found["There are two kids and a dog sitting on a couch."] == "there is"
    assert found["On a couch, two kids and a dog are sitting."] == "place first"
    assert found["Two kids and a dog are sitting on a sofa."] == "synonym"
    assert found["There are two kids and a dog sitting on a sofa."] == "there is + synonym"
    assert "Two kids and a dog are sitting on a couch." not in found
    assert "The man isn't here." in {text for _, text in rewordings("The man is not here.")}
    assert "A woman and a man are singing." in {text for _, text in rewordings("A man and a woman are singing.")}
    assert "A man is riding." in {text for _, text in rewordings("There is a man riding.")}
    assert "The kids are outdoors." in {text for _, text in rewordings("The kids are outside.")}
    assert "The kids are outdoors a house." not in {text for _, text in rewordings("The kids are outside a house.")}
    assert list(rewordings("Xyzzy")) == []
    fragment = {text: rule for rule, text in rewordings("Two dogs near a big house.")}
    assert fragment["There are two dogs near a big house."] == "there is"
    assert fragment["Two dogs are near a big house."] == "whole sentence"
    assert fragment["Two dogs that are near a big house."] == "relative clause"
    assert "A man who is on a horse." in {text for _, text in rewordings("A man on a horse.")}
    texts = ("A man is sitting in silence.", "A man is singing for the children.", "A man is having a sandwich.")
    for text in texts:
        assert not {"place first", "passive"} & {rule for rule, _ in rewordings(text)}
    for subject, who in (("man", "who"), ("dog", "that")):
        found = {text for _, text in rewordings(f"A {subject} is running fast.")}
        assert f"It is a {subject} {who} is running fast." in found


def test_rules_with_inflected_verbs():
    pytest.importorskip("lemminflect", reason="lemminflect is not installed: pip install 'paraconsist[nlp]'")
    found = {text for _, text in rewordings("A man is riding a horse on the beach.")}
    assert {"A man rides a horse on the beach.", "A horse is being ridden by a man on the beach."} <= found
    found = {text for _, text in rewordings("A man is holding the two big dogs in the park.")}
    assert "The two big dogs are being held by a man in the park." in found
    assert "Two women plant a tree." in {text for _, text in rewordings("Two women are planting a tree.")}


def test_rules_give_further_ones_when_asked_again():
    generator = RuleGenerator(2)
    (first,), (second,) = generator(["The kids are outside."]), generator(["The kids are outside."])
    assert len(first) == len(second) == 2
    assert not set(first) & set(second)
    assert generator.rules["The kids are outside.", first[0]]


def test_rules_leave_a_text_of_another_language_alone():
    """Among English texts a German one got "Kann guy in der Stadt ... parken?"."""
    pytest.importorskip("py3langid", reason="py3langid is not installed")
    german = "Kann man in der Stadt Wien am Sonntag mit dem Auto parken?"
    english, other = RuleGenerator(3)(["The kids are outside.", german])
    assert (len(english), other) == (3, [])
    assert RuleGenerator(3, "en")([german]) != [[]]


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    return write_places(tmp_path_factory.mktemp("paraphrase"))


@pytest.mark.parametrize("kind", ["causal", "seq2seq"])
def test_a_language_model_gives_n_candidates_for_each_text_and_others_when_asked_again(places, kind):
    for name, change in (("a24", {"n": 4}), ("v23", {}), ("s24", {"n": 2}), ("a24", {"n": 3, "num_beams": 3})):
        settings = preset(name).changed(max_new_tokens=6, **change)
        one, other = (load_generator(GeneratorOptions(str(places / kind)), settings, seed=3) for _ in range(2))
        texts = ["the dog sleeps", "she works very late every day"]
        found = one(texts)
        assert [len(candidates) for candidates in found] == [settings.n] * 2
        assert found == other(texts)  # the same seed
        if settings.num_beams == 1:
            assert found != one(texts)  # the next call draws anew


@pytest.mark.parametrize("kind", ["llama", "t5"])
def test_diverse_groups_choose_what_the_definition_says(kind):
    """Against a plain loop: greedy search in groups, a token costs the penalty for each earlier group that chose it."""
    import torch

    from paraconsist.models.pretrained import LanguageModel

    tokenizer = byte_tokenizer()
    module = tiny_language_model(kind, tokenizer, seed=1, scale=3.0)
    language = LanguageModel(module, tokenizer, "seq2seq" if kind == "t5" else "causal")
    n, penalty, temperature, length = 3, 2.5, 4.0, 5
    settings = GeneratorSettings(n=n, diversity=penalty, temperature=temperature, max_new_tokens=length)
    texts = ["the dog sleeps", "it is late"]
    found = LanguageGenerator(language, settings)(texts)
    for text, candidates in zip(texts, found, strict=True):
        ids = tokenizer(text, return_tensors="pt", return_token_type_ids=False)["input_ids"]
        groups = [[] for _ in range(n)]
        with torch.inference_mode():
            for _ in range(length):
                taken = {}
                for group in groups:
                    if group[-1:] == [2]:
                        continue
                    if kind == "t5":
                        out = module(input_ids=ids, decoder_input_ids=torch.tensor([[0, *group]]))
                    else:
                        out = module(input_ids=torch.cat([ids, torch.tensor([group], dtype=torch.long)], dim=1))
                    scores = torch.log_softmax(out.logits[0, -1].float() / temperature, dim=-1)
                    for token, times in taken.items():
                        scores[token] -= penalty * times
                    chosen = int(scores.argmax())
                    group.append(chosen)
                    taken[chosen] = taken.get(chosen, 0) + 1
        expected = [tokenizer.decode(group, skip_special_tokens=True) for group in groups]
        lines = [next((line.strip() for line in said.splitlines() if line.strip()), "") for said in expected]
        assert [" ".join(c.split()) for c in candidates] == [" ".join(line.split()) for line in lines]
    assert len(set(found[0])) > 1


def test_a_group_that_has_ended_costs_the_others_nothing_until_the_next_batch():
    import torch

    choose, scores = DiverseGroups(2, penalty=9.0, temperature=1.0, stop=(2,)), torch.tensor([[0.0, 1, 3, 2]] * 2)
    for before, chosen in (([[5], [5]], [2, 3]), ([[5, 2], [5, 3]], [2, 2]), ([[5, 2, 0], [5, 3, 2]], [2, 2])):
        assert choose(torch.tensor(before), scores).argmax(dim=1).tolist() == chosen
    assert choose(torch.tensor([[6, 1], [6, 1]]), scores).argmax(dim=1).tolist() == [2, 3]


def test_models_that_write_nothing_are_refused(places, tmp_path):
    with pytest.raises(InputError, match="`generator` must be rules, module:function, or a causal or"):
        load_generator(GeneratorOptions(str(places / "nli")), preset("v23"))
    with pytest.raises(InputError, match="`examples` must be at least 10 for this prompt; got 1"):
        write_csv(tmp_path / "examples.csv", ("original", "paraphrase"), [("a", "b")])
        load_generator(GeneratorOptions(str(places / "causal"), tmp_path / "examples.csv"), preset("s24"))
    write_csv(tmp_path / "empty.csv", ("original", "paraphrase"), [("a", "b"), ("c", " ")])
    refuses("have texts in the columns original and paraphrase; .* at row 2", read_examples, tmp_path / "empty.csv")


def test_which_label_is_entailment():
    assert entailment_label(["CONTRADICTION", "NEUTRAL", "ENTAILMENT"]) == 2
    assert entailment_label(["not_entailment", "entailment"]) == 1
    assert entailment_label(["LABEL_0", "LABEL_1"], {"LABEL_1": "entailment"}) == 1
    for names in (["good", "bad"], ["LABEL_0", "LABEL_1"]):
        refuses(r"`nli_model` must have one label called entailment; got \['.*`label_map`", entailment_label, names)


# ---------- Generated paraphrases as a bucket set, the sheet that people check them on, and how far those people agree


def test_fleiss_kappa_is_the_textbooks():
    # Fleiss 1971's method on the table of ten subjects, fourteen raters, five categories: kappa 0.210
    table = [
        (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
        (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
    ]  # fmt: skip
    items = [[category for category, n in enumerate(row) for _ in range(n)] for row in table]
    answers = {str(subject): {str(i): answer for i, answer in enumerate(item)} for subject, item in enumerate(items)}
    raters = [str(i) for i in range(14)]
    assert _agreement(answers, raters)["fleiss_kappa"] == pytest.approx(0.210, abs=5e-4)
    assert _agreement({**answers, "one of them only": {"0": 1}}, raters)["n_common"] == 10
    assert math.isnan(_agreement({}, ["1", "2"])["fleiss_kappa"])
    assert math.isnan(_agreement({"row": {"1": True, "2": True}}, ["1", "2"])["fleiss_kappa"])


def test_cohen_kappa_by_hand():
    # both yes 20, yes-no 5, no-yes 10, both no 15: observed .7, by chance .5
    first = [True] * 25 + [False] * 25
    second = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15

    def cohen_kappa(one, other):
        answers = {str(row): {"1": a, "2": b} for row, (a, b) in enumerate(zip(one, other, strict=True))}
        return _agreement({**answers, "other": {"1": True}}, ["1", "2"])["cohen_kappa"]["1, 2"]

    assert cohen_kappa(first, second) == pytest.approx(0.4, abs=1e-12)
    assert math.isnan(cohen_kappa([], []))
    assert math.isnan(cohen_kappa([1, 1], [1, 1]))


@pytest.fixture
def generated():
    data = labelled("nli", NLI_ROWS)
    accepted = {
        "A girl is awake.": ["The girl is awake.", "=A girl isn't asleep."],
        "A girl is asleep.": ["A girl sleeps."],
    }
    return GeneratedSet(data, "hypothesis", accepted, "rules")


FACTS = {"column": "hypothesis", "source": "toy"}


def test_rows_of_the_bucket_set(generated):
    rows = generated.rows()
    assert [row["example_id"] for row in rows] == [
        "e0.original", "e0.paraphrase_1", "e0.paraphrase_2", "e2.original", "e2.paraphrase_1",
    ]  # fmt: skip
    assert {row["premise"] for row in rows} == {"A girl reads."}
    assert [row["label"] for row in rows] == [0, 0, 0, 2, 2]
    assert len({row["group_id"] for row in rows}) == 1  # one premise
    assert [row["role"] for row in rows][:2] == ["original", "paraphrase"]
    assert not GeneratedSet(generated.data, "hypothesis", generated.accepted, "x", least=3).rows()
    refuses("`originals` must have enough paraphrases", write_generated, [], generated.data, None, {})


@pytest.mark.parametrize("name", ["set.parquet", "folder"])
def test_the_set_is_read_by_run_and_by_load_dataset(tmp_path, generated, name):
    datasets = pytest.importorskip("datasets")
    place = tmp_path / name
    write_generated(generated.rows(), generated.data, place, FACTS)
    found = load_bucket_set(str(place))
    assert (found.task.name, found.label_names) == ("nli", ("entailment", "neutral", "contradiction"))
    assert found.strata == ("generator",)
    assert found.table["hypothesis"].to_pylist() == [row["hypothesis"] for row in generated.rows()]
    if name == "folder":
        rows = datasets.load_dataset(str(place), split="test")
        assert rows.features["label"].names == ["entailment", "neutral", "contradiction"]
        assert rows.num_rows == 5
        assert "2 originals of toy with 3 generated paraphrases" in (place / "README.md").read_text()


@pytest.mark.parametrize(("column", "originals"), [(None, ["A dog is here."]), ("premise", ["A man is here."])])
def test_the_column_that_is_named_is_paraphrased(tmp_path, column, originals):
    data = labelled("nli", [("A man is here.", "A dog is here.", "neutral")])
    options = ParaphraseOptions(column=column)
    settings = PLAIN.changed(mutual_entailment=False)
    made = make_paraphrases(data, settings, options, answers=tmp_path)
    assert list(made.refined.accepted) == originals
    other = {"premise": "hypothesis"}.get(column, "premise")
    assert len({row[other] for row in made.generated.rows()}) == 1


def test_a_set_written_anew_is_not_served_from_the_cache_of_datasets(tmp_path, generated):
    place = tmp_path / "again"
    for accepted, expected in ((generated.accepted, 5), ({"A girl is awake.": ["She is awake."]}, 2)):
        made = GeneratedSet(generated.data, "hypothesis", accepted, "rules")
        write_generated(made.rows(), made.data, place, FACTS)
        assert load_bucket_set(str(place)).table.num_rows == expected


def test_the_sheet_comes_back_with_agreement(tmp_path, generated):
    place, sheet = tmp_path / "set.parquet", tmp_path / "s.csv"
    write_generated(generated.rows(), generated.data, place, FACTS)
    write_judgement_sheet(sheet, generated.sheet_rows(), annotators=3)
    fill(sheet, valid_1=["yes", "no", "yes"], valid_2=["1", "yes", "x"], valid_3=["no", "no", ""])
    said = read_judgements([sheet])
    assert dict(said.valid) == {"e0.paraphrase_1": True, "e0.paraphrase_2": False, "e2.paraphrase_1": True}
    assert said.agreement["n_common"] == 2
    assert set(said.agreement["cohen_kappa"]) == {"1, 2", "1, 3", "2, 3"}
    # items yyn and nyn: P = 1/3 each, p(yes) = 1/2
    assert said.agreement["fleiss_kappa"] == pytest.approx((1 / 3 - 1 / 2) / (1 / 2))
    counts = keep_valid(place, said, tmp_path / "kept.parquet")
    assert counts == {"n_valid": 2, "n_invalid": 1, "n_open": 0, "n_missed": 0, "n_buckets": 2, "n_rows": 4}
    assert load_bucket_set(str(tmp_path / "kept.parquet")).table["example_id"].to_pylist() == [
        "e0.original", "e0.paraphrase_1", "e2.original", "e2.paraphrase_1",
    ]  # fmt: skip


def test_copies_of_the_sheet_and_ties(tmp_path, generated):
    sheets = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for sheet, said in zip(sheets, (["yes", "yes", ""], ["no", "yes", ""]), strict=True):
        write_judgement_sheet(sheet, generated.sheet_rows())
        fill(sheet, valid=said)
    found = read_judgements(sheets)
    assert list(found.valid.values()) == [False, True, None]  # a tie is no
    assert found.annotators == ("1", "2")


def test_human_scores_keep_similar_and_grammatical_ones_most_similar_first(tmp_path, generated):
    place, sheet = tmp_path / "set.parquet", tmp_path / "s.csv"
    write_generated(generated.rows(), generated.data, place, FACTS)
    write_judgement_sheet(sheet, generated.sheet_rows(), scores=True)
    fill(sheet, similarity=["80", "95,5", "75"], grammatical=["yes", "yes", "yes"])
    said = read_judgements([sheet])
    assert list(said.valid.values()) == [True, True, False]  # above 75, not 75
    keep_valid(place, said, tmp_path / "kept.parquet")
    ids = load_bucket_set(str(tmp_path / "kept.parquet")).table["example_id"].to_pylist()
    assert ids == ["e0.original", "e0.paraphrase_2", "e0.paraphrase_1"]


def test_bad_sheets(tmp_path, generated):
    place, sheet = tmp_path / "set.parquet", tmp_path / "s.csv"
    write_generated(generated.rows(), generated.data, place, FACTS)
    for columns, message in [
        ({"valid": ["perhaps", "", ""]}, "`valid` must be yes, no or empty; got 'perhaps' at row 1 of s.csv"),
        ({"example_id": ["e0.paraphrase_1"] * 3}, "`example_id` must be filled in, each value once; got 'e0.par"),
    ]:
        write_judgement_sheet(sheet, generated.sheet_rows())
        fill(sheet, **columns)
        refuses(message, read_judgements, [sheet])
    for columns, message in [
        ({"valid": ["", "", ""]}, "`checked` must find at least one paraphrase valid"),
        ({"valid": ["yes"] * 3, "paraphrase": ["edited"] * 3}, "`checked` must show the texts of the set unchanged"),
        ({"valid": ["yes"] * 3, "example_id": ["x", "y", "z"]}, "which has no such row; got 'x'"),
    ]:
        write_judgement_sheet(sheet, generated.sheet_rows())
        fill(sheet, **columns)
        refuses(message, keep_valid, place, read_judgements([sheet]), tmp_path / "kept.parquet")
    write_judgement_sheet(sheet, generated.sheet_rows(), scores=True)
    fill(sheet, similarity=["101", "", ""], grammatical=["yes"] * 3)
    refuses("`similarity` must be a number from 0 to 100, or empty; got '101'", read_judgements, [sheet])
    with pytest.raises(InputError, match="must have the columns example_id, original, paraphrase"):
        read_judgements([write_csv(tmp_path / "t.csv", ("a", "b"), [])])
    refuses("`checked` must name a CSV sheet that can be read", read_judgements, [tmp_path / "none.csv"])
