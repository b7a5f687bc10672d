"""The catalogue: all facts about a measure except its formula.

Scoring, comparison, gate, tables, plots, page, Spaces, sweeps and ``paraconsist list`` read it. A measure that is
scored on bucket sets needs one function, and one entry here that says which rows it reads (`target`, `partners`,
`arguments`) and which of them break its rule (`breaks`). A measure without a target takes columns of its own and has a
page only.
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from paraconsist.entry_points import added, load
from paraconsist.errors import InputError
from paraconsist.measures.array_types import Floats, Mask
from paraconsist.measures.results import SHORT_NAMES
from paraconsist.measures.rules import ORIGINAL, PARAPHRASE, Answers, Rule, changed, does_not_follow, mixed, unchanged


@dataclass(frozen=True)
class Quantity:
    """A number among a measure's results that tables and plots show."""

    key: str  # in the results
    label: str  # what it is called in a line of its own
    symbol: str  # over a column
    meaning: str = ""  # in one sentence, for a reader who does not know the symbol
    is_share: bool = True  # whether it is shown in per cent
    words: str = ""  # for a reader who knows no symbol; by default the label without its own
    needs_gold: bool = False  # whether it is of right answers, where the measure is not of these alone

    @property
    def name(self) -> str:
        """The label without the symbol before it."""
        symbol, _, rest = self.label.partition(", ")
        return rest if rest and len(symbol) <= 4 else self.label

    @property
    def plain(self) -> str:
        """The label for places where words come before the symbol."""
        return self.words or self.name


def _imported(home: str) -> Callable[..., Any]:
    """Return a function by its home below `paraconsist.measures`: ``module:function``."""
    module, _, name = home.partition(":")
    return cast(Callable[..., Any], getattr(import_module(f"paraconsist.measures.{module}"), name))


class _Imported:
    """A function, or its home, from which it is imported when it is read."""

    def __get__(self, spec: MeasureSpec | None, owner: type | None = None) -> Callable[..., Any]:
        if spec is None:
            raise AttributeError
        if isinstance(function := vars(spec)["function"], str):
            function = vars(spec)["function"] = _imported(function)
        return cast(Callable[..., Any], function)

    def __set__(self, spec: MeasureSpec, function: Callable[..., Any] | str) -> None:
        vars(spec)["function"] = function


@dataclass(frozen=True, repr=False)
class MeasureSpec:
    """The facts about a measure."""

    function: Any  # the measure, or its home as `_Imported` reads it; its name is the measure's
    title: str  # for readers, as is the question
    question: str
    direction: str  # which end is good, in a sentence
    headline: str  # the key of the results that the measure is known by
    symbol: str  # over columns of summaries
    quantities: Sequence[Quantity] = ()  # what is shown of its results
    has_table: bool = False  # whether all of them are shown, a line each, or the headline alone
    #: What answers that are drawn independently get, in a sentence; what a model's own answers get when they are
    #: shuffled over the texts is `chance` in its results (`paraconsist.measures.chance`).
    chance: str = ""
    #: How much breaks the rule, in words: ``{answer}`` becomes "1 answer in 5", and a key of the results its value.
    sentence: str = ""
    outcomes: tuple[str, str] = ("keeps the rule", "breaks the rule")  # in a legend
    #: The key of the headline as its paper computes it, where that is another; ``pc_published`` in conditions.
    published: str = ""
    higher_is_better: bool | None = False  # None where neither end is good
    target: str = ""  # the role of the rows that are counted; empty where bucket sets are not scored by it
    partners: tuple[str, ...] = ()  # roles that must be in the bucket of each
    optional_partners: tuple[str, ...] = ()  # roles that may be there too
    is_default: bool = False  # whether rows with the target role are scored by it by default
    needs_gold: bool = True  # whether it is undefined without gold labels
    #: The function's parameter -> ``role.column``: prediction, label, allowed, unanswered or strata of the counted rows
    #: (role ``target``) or of a partner; prediction, label, bucket or role of all rows (role ``rows``); a field of
    #: `paraconsist.measures.rules.Statements` (role ``tuple``).
    arguments: Mapping[str, str] = field(default_factory=dict)
    breaks: Rule | None = None  # which rows break its rule
    #: Or "buckets": what the headline averages `breaks` over; it is 1 minus that where higher is better.
    mean_over: str = "rows"
    #: Roles whose rows may be counted in place of `target`, with their partners; where none is there, buckets are.
    alternatives: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name for `evaluate.load` and ``--measure``."""
        function = vars(self)["function"]
        return function.partition(":")[2] if isinstance(function, str) else str(function.__name__)

    def __repr__(self) -> str:
        return f"<{self.name}: {self.question} {self.direction}>"

    @property
    def short(self) -> str:
        """The name in signatures and in the conditions of `gate`."""
        return SHORT_NAMES.get(self.name, self.name)

    @property
    def is_about_probabilities(self) -> bool:
        """Whether it reads what probability each label has, and not only the answers."""
        return any(source.startswith("tuple.") for source in self.arguments.values())

    @property
    def is_conditional(self) -> bool:
        """Whether the rule is about those rows only whose partners are answered right."""
        return bool(self.partners) and ORIGINAL not in self.partners

    @property
    def is_about_pairs(self) -> bool:
        """Whether it compares an original with one other text, and nothing else."""
        return self.partners == (ORIGINAL,) and self.mean_over == "rows"

    def on(self, roles: NDArray[Any]) -> MeasureSpec:
        """Return it as it reads rows with these roles: with the one of its targets that is among them."""
        present = set(np.unique(roles).tolist()) if self.alternatives else {self.target}
        if self.target in present:
            return self
        for target, partners in self.alternatives.items():
            if target in present:
                return replace(self, target=target, partners=partners)
        return replace(self, partners=(), optional_partners=tuple(sorted(present)))

    def violations(self, answers: Answers) -> tuple[Floats, Mask]:
        """Return how much of each row breaks the rule, in [0, 1], and which rows the rule is about.

        Nothing else decides this: the headline is the mean of the first over the second.
        """
        if self.breaks is None:
            raise TypeError(f"{self.name} has no rule that a row could break")
        return self.breaks(answers)


MeasureSpec.function = _Imported()

_REWORDING = "Rewording a question changes {answer}"
_SAME = ("same answer", "another answer")
_MIXED = "Of two wordings of a question one is answered right and the other wrong in {pair}"
_ROWS = {"predictions": "rows.prediction", "references": "rows.label", "buckets": "rows.bucket", "roles": "rows.role"}
_DOWN = "Down is good: 0 % is a model that never breaks the rule."
_PAIRS = {
    "predictions": "original.prediction",
    "perturbed_predictions": "target.prediction",
    "references": "original.label",
    "perturbed_references": "target.label",
}


#: On one scale for every measure that answers can be shuffled in.
_SCALE = (
    "0: as if the wording decided all, so answers shuffled over the texts; 100: no wording changes an answer; below 0: "
    "answers change more often than shuffled ones, as a single change does if all originals are answered alike"
)
ABOVE_CHANCE = Quantity("chance_corrected", "consistency above chance", "above chance", _SCALE)
_of_right = partial(Quantity, needs_gold=True)


def _pairs(
    function: str, kind: str, arguments: dict[str, str] | None = None, also: Sequence[Quantity] = (), **more: Any
) -> MeasureSpec:
    """Return the entry of a share of pairs that break a rule."""
    quantities = (
        Quantity("inconsistency", f"tau, {kind} inconsistency", "tau", "share of pairs that break the rule"),
        _of_right("accuracy", "A, accuracy on originals", "acc.", "accuracy on the originals"),
        _of_right("perturbed_accuracy", "A, accuracy on perturbed texts", "pert.", "accuracy on the perturbed side"),
        ABOVE_CHANCE,
        *also,
    )
    pairs = {"partners": (ORIGINAL,), "arguments": {**_PAIRS, **(arguments or {})}, "needs_gold": False}
    return _tau(function, kind, quantities, **pairs, **more)


def _conclusions(function: str, kind: str, partners: tuple[str, str], references: str, **more: Any) -> MeasureSpec:
    """Return the entry of a share of conclusions."""
    arguments = {"predictions": "target.prediction", "references": references}
    for partner in partners:
        arguments[f"{partner}_predictions"] = f"{partner}.prediction"
        if kind == "transitive":
            arguments[f"{partner}_references"] = f"{partner}.label"
    more |= {"partners": partners, "arguments": arguments}
    meaning = "share of conclusions that break the rule, of those whose antecedents are answered right"
    tau = Quantity("inconsistency", f"tau, {kind} inconsistency", "tau", meaning)
    return _tau(function, kind, (tau, ABOVE_CHANCE), is_default=True, breaks=does_not_follow, **more)


def _tau(function: str, kind: str, quantities: Sequence[Quantity], **more: Any) -> MeasureSpec:
    title, symbol, headline = f"{kind.capitalize()} inconsistency", f"tau {kind[:3]}.", "inconsistency"
    names = title, more.pop("question"), _DOWN, headline, symbol, quantities
    return MeasureSpec(function, *names, **more)


def _by_success(key: str, words: str, *, is_share: bool = True) -> list[Quantity]:
    kinds = {"succeeded": "both runs succeeded", "failed": "both failed", "mixed": "one succeeded"}
    return [
        Quantity(f"{key}_{ending}", f"{words}, {kind}", ending, is_share=is_share) for ending, kind in kinds.items()
    ]


BUILT_IN = (
    MeasureSpec(
        "paraphrastic:paraphrastic_consistency",
        title="Paraphrastic consistency",
        question="When a problem is reworded, does the model stay right, or stay wrong?",
        direction="Up is good: 100 % means that every problem is right in all its wordings, or wrong in all of them.",
        headline="paraphrastic_consistency_unbiased",
        published="paraphrastic_consistency",
        symbol="P_C",
        quantities=(
            Quantity(
                "accuracy", "A, accuracy on paraphrases", "A", "accuracy on paraphrases", words="right on rewordings"
            ),
            Quantity("original_accuracy", "A_O, accuracy on originals", "A_O", "accuracy on originals"),
            Quantity(
                "paraphrastic_consistency_unbiased",
                "P_C, paraphrastic consistency",
                "P_C",
                "two different paraphrases of a problem are both right or both wrong",
                words="two rewordings both right or both wrong",
            ),
            Quantity(
                "paraphrastic_consistency",
                "P_C as published",
                "P_C publ.",
                "the same as published: it pairs paraphrases with themselves too, so it is too high",
            ),
            Quantity(
                "min_paraphrastic_consistency",
                "least P_C as published at this accuracy",
                "least P_C publ.",
                "at this accuracy",
            ),
            Quantity(
                "agreement_unbiased", "same answer, right or wrong", "same answer", "two paraphrases get one answer"
            ),
            Quantity("consistently_right", "consistently right", "both right", "two paraphrases are both right"),
            Quantity("consistently_wrong", "consistently wrong", "both wrong", "two paraphrases are both wrong"),
            ABOVE_CHANCE,
            Quantity("vap_unbiased", "VAP, variance due to paraphrasing", "VAP", is_share=False),
            Quantity("vap", "VAP as published", "VAP publ.", is_share=False),
            Quantity(
                "pvap_unbiased",
                "PVAP, share of variance due to paraphrasing",
                "PVAP",
                "share of the variance of correctness that is due to wording",
            ),
            Quantity("pvap", "PVAP as published", "PVAP publ.", "the same as published, which is too low"),
            Quantity("test_accuracy", "A_T, accuracy on the full test set", "A_T", "accuracy on the full test set"),
            Quantity("corrected_accuracy", "A, corrected for sampling", "A corr.", "A weighted back to the test set"),
            Quantity(
                "corrected_paraphrastic_consistency_unbiased", "P_C, corrected", "P_C corr.", "weighted to the test set"
            ),
            Quantity(
                "corrected_paraphrastic_consistency", "P_C, corrected, as published", "P_C corr. publ.", "as published"
            ),
            Quantity("corrected_vap", "VAP, corrected", "VAP corr.", is_share=False),
            Quantity("corrected_pvap", "PVAP, corrected", "PVAP corr.", "PVAP weighted back to the full test set"),
            Quantity("covered_mass", "test mass in deciles with buckets", "mass", "test mass in deciles with buckets"),
        ),
        has_table=True,
        chance="A constant answer gets 100 %; two coins get 50 %.",
        sentence=_MIXED,
        higher_is_better=True,
        target=PARAPHRASE,
        optional_partners=(ORIGINAL,),
        is_default=True,
        arguments=_ROWS,
        breaks=mixed,
        mean_over="buckets",
    ),
    _pairs(
        "pairs:semantic_inconsistency",
        "semantic",
        question="How often does a paraphrase change the model's answer?",
        chance="Two independent uniform answers among L labels get 1 - 1/L.",
        sentence=_REWORDING,
        outcomes=_SAME,
        target=PARAPHRASE,
        breaks=changed,
    ),
    _pairs(
        "pairs:symmetric_inconsistency",
        "symmetric",
        question="How often does the answer depend on which of two texts comes first?",
        also=(
            Quantity("first_place_share", "verdicts for what is shown first", "first", "50 % without position bias"),
            Quantity("primacy", "of the verdicts that turn, for the first", "primacy", "50 % without position bias"),
            Quantity("tie_rate", "pairs with a tie", "ties", "in either order"),
        ),
        chance="Two independent uniform answers among L labels get 1 - 1/L.",
        sentence="Swapping the two texts changes {answer}",
        outcomes=_SAME,
        target="swap",
        is_default=True,
        arguments={"places": "rows.places"},
        breaks=changed,
    ),
    _pairs(
        "pairs:negational_inconsistency",
        "negational",
        question="How often does the model give a text and its negation the same answer?",
        chance="Two independent uniform answers among L labels get 1/L; a constant answer gets 100 %.",
        sentence="A negation does not change {answer}",
        outcomes=("negated, another answer", "negated, the same answer"),
        target="negation",
        is_default=True,
        arguments={"unanswered": "target.unanswered"},
        breaks=unchanged,
    ),
    _conclusions(
        "antecedents:transitive_inconsistency",
        "transitive",
        ("antecedent_1", "antecedent_2"),
        "target.allowed",
        question="Does the model draw the conclusion that follows from two premises it gets right?",
        chance="A uniform answer among L labels gets 1 - a/L where the rule allows a of them.",
        sentence="Of two premises that are answered right it fails to draw {conclusion}",
        outcomes=("the conclusion follows", "it does not follow"),
        target="consequent",
    ),
    _conclusions(
        "antecedents:additive_inconsistency",
        "additive",
        ("part_1", "part_2"),
        "target.label",
        question="If the model labels both parts of a text correctly, does the merged text keep that label?",
        chance="A uniform answer among L labels gets 1 - 1/L.",
        sentence="Both parts of a text answered right, it gets {merged text} wrong",
        outcomes=("the whole as its parts", "the whole otherwise"),
        target="merged",
    ),
    MeasureSpec(
        "prediction_change:prediction_change",
        title="Prediction change",
        question="How often does a paraphrase change the answer, and which way?",
        direction="Down is good: 0 % is a model that never changes its mind.",
        headline="change_rate",
        symbol="change",
        quantities=(
            Quantity(
                "change_rate",
                "changed predictions",
                "change",
                "share of answers that a change turns",
                words="answers that change when reworded",
            ),
            ABOVE_CHANCE,
        ),
        chance="Two independent uniform answers among L labels get 1 - 1/L.",
        sentence=_REWORDING,
        outcomes=_SAME,
        target=PARAPHRASE,
        partners=(ORIGINAL,),
        arguments={
            "predictions": "target.prediction",
            "original_predictions": "original.prediction",
            "references": "target.label",
            "strata": "target.strata",
        },
        breaks=changed,
        needs_gold=False,
    ),
    MeasureSpec(
        "prompt_sensitivity:prompt_sensitivity",
        title="Prompt sensitivity",
        question="How much do answers depend on the wording, in terms of the indices that other papers report?",
        direction="Down is good: 0 % means that every problem is right in all its wordings, or wrong in all of them.",
        headline="prompt_sensitivity_score",
        symbol="PSS",
        quantities=(
            _of_right(
                "prompt_sensitivity_score",
                "PSS, prompt sensitivity score",
                "PSS",
                "of two wordings of a problem one is answered right and the other wrong (1 - P_C)",
            ),
            _of_right("accuracy", "A, accuracy on paraphrases", "A", "accuracy on paraphrases"),
            Quantity("agreement", "same answer, right or wrong", "same answer", "two paraphrases get one answer"),
            _of_right(
                "majority_accuracy", "accuracy of the commonest answer", "majority", "the commonest answer is right"
            ),
            _of_right("worst_case_accuracy", "worst-case accuracy", "worst case", "right in every wording"),
            _of_right("best_case_accuracy", "best-case accuracy", "best case", "right in some wording"),
            _of_right("core", "CORE, consistency and accuracy in one", "CORE", "area under the minimum accuracy curve"),
            Quantity("unanimous_share", "one answer in every wording", "unanimous", "one answer in every wording"),
            Quantity("krippendorff_alpha", "Krippendorff's alpha", "alpha", "agreement above chance", is_share=False),
            Quantity(
                "normalized_entropy", "entropy of the answers", "entropy", "over that of equally many", is_share=False
            ),
            _of_right("mean_accuracy", "AvgP, mean accuracy of the variants", "AvgP"),
            _of_right("max_accuracy", "MaxP, accuracy of the best variant", "MaxP"),
            _of_right("min_accuracy", "accuracy of the worst variant", "MinP"),
            _of_right("spread", "spread, best less worst variant", "spread"),
            _of_right("spread_by_chance", "spread that equal variants show by chance", "by chance"),
            _of_right("spread_p_value", "p of such a spread of equal variants", "p of spread", is_share=False),
            _of_right("performance_drop_rate", "PDR, performance drop rate", "PDR"),
            _of_right("combined_performance_score", "CPS, combined performance score", "CPS"),
        ),
        has_table=True,
        chance="A constant answer gets 0 %; two coins get 50 %.",
        sentence=_MIXED,
        outcomes=("all right, or all wrong", "right in some wordings, wrong in others"),
        target=PARAPHRASE,
        optional_partners=(ORIGINAL,),
        arguments={**_ROWS, "variants": "rows.variant"},
        breaks=mixed,
        needs_gold=False,
        mean_over="buckets",
    ),
    MeasureSpec(
        "probability_coherence:probability_coherence",
        title="Coherence of probabilities",
        question="Could the probabilities of related statements all be right?",
        direction="Down is good: 0 % means that no bettor can be sure to gain .01 nats from any bucket.",
        headline="arbitrage_rate",
        symbol="incoherent",
        quantities=(
            Quantity("arbitrage_rate", "incoherent: a sure gain of .01 nats", "incoherent", "a bettor surely gains"),
            Quantity("arbitrage_violation", "mean sure gain, in nats", "gain", "of the best bet", is_share=False),
            Quantity("frequentist_rate", "frequentist violation of .129 or more", "freq.", "beyond noise"),
            Quantity("frequentist_violation", "mean frequentist violation", "freq. mean", "in sd", is_share=False),
        ),
        has_table=True,
        sentence="The probabilities of texts that belong together contradict one another in {case}",
        outcomes=("coherent", "incoherent"),
        target=PARAPHRASE,
        partners=(ORIGINAL,),
        alternatives={
            **dict.fromkeys(("swap", "negation"), (ORIGINAL,)),
            "consequent": ("antecedent_1", "antecedent_2"),
        },
        arguments={
            "probabilities": "tuple.probability",
            "roles": "tuple.role",
            "buckets": "tuple.bucket",
            "relations": "tuple.relations",
        },
        breaks=lambda answers: _imported("probability_coherence:incoherent")(answers),
        needs_gold=False,
    ),
    MeasureSpec(
        "trajectories:trajectory_consistency",
        title="Trajectory consistency",
        question="Does an agent that is run again on a task succeed again, and by the same calls?",
        direction="Up is good: 100 % means that all runs of a task make the same calls in the same order.",
        headline="trajectory_consistency",
        symbol="C_traj",
        quantities=(
            Quantity(
                "trajectory_consistency",
                "C_traj, same calls in the same order",
                "C_traj",
                "two runs of a task make the same calls in the same order: 1 less their edit distance",
            ),
            *_by_success("trajectory_consistency", "same order"),
            Quantity("distribution_consistency", "same calls in any order", "any order"),
            *_by_success("distribution_consistency", "any order"),
            Quantity("first_divergence", "number of calls before two part", "parted", is_share=False),
            *_by_success("first_divergence", "before two part", is_share=False),
            Quantity("identical_share", "two runs make the same calls throughout", "identical"),
            Quantity("trajectory_consistency_with_arguments", "same order, same arguments", "C_traj arg."),
            Quantity("distribution_consistency_with_arguments", "any order, same arguments", "any order arg."),
            Quantity(
                "first_divergence_with_arguments",
                "number of calls before two part, with arguments",
                "parted arg.",
                is_share=False,
            ),
            Quantity(
                "identical_share_with_arguments",
                "two runs make the same calls with the same arguments",
                "identical arg.",
            ),
            Quantity("outcome_consistency", "outcome consistency (0: a coin)", "outcome"),
            Quantity("outcome_consistency_published", "outcome consistency as published, (2p - 1)^2", "outcome publ."),
            Quantity("pass_hat_n", "pass^{n}, all of {n} runs succeed", "pass^n"),
            Quantity("pass_at_n", "pass@{n}, one of {n} runs succeeds", "pass@n"),
        ),
        has_table=True,
        chance="Runs without a call in common get 0 %.",
        sentence="Two runs of a task make different calls",
        outcomes=("the same calls", "different calls"),
        higher_is_better=True,
        target=PARAPHRASE,
        arguments={
            **{"calls": "rows.calls", "successes": "rows.right", "buckets": "rows.bucket"},
            "arguments": "rows.arguments",
        },
        breaks=lambda answers: _imported("trajectories:calls_differ")(answers),
        mean_over="buckets",
    ),
    MeasureSpec(
        "fooling_rate:fooling_rate",
        title="Fooling rate",
        question="How many right answers does at least one harmless variant change?",
        direction="Down is good. It grows with the number of variants, so compare only at one number.",
        headline="relaxed",
        symbol="fooled",
        quantities=(
            Quantity("relaxed", "relaxed, to any other answer", "relaxed", "right items that a variant turns"),
            Quantity("strict", "strict, to the opposite answer", "strict", "right items turned to the opposite"),
        ),
        chance="It tends to 100 % with the number of variants.",
    ),
    MeasureSpec(
        "distribution_shift:distribution_shift",
        title="Distribution shift",
        question="How far do the class probabilities move when a text is reworded?",
        direction="Down is good: 0 is no move at all, 1 a move from one certain answer to another.",
        headline="jensen_shannon_distance",
        symbol="shift",
        quantities=(
            Quantity("jensen_shannon_distance", "Jensen-Shannon distance", "JSD", "of the class probabilities", False),
        ),
    ),
    MeasureSpec(
        "ie_test:ie_test",
        title="IE test",
        question="Does a change that keeps the meaning change the accuracy?",
        direction="A small p says that it does, down or up (the test is two-sided): the model is not invariant.",
        headline="p_value",
        symbol="p",
        quantities=(Quantity("p_value", "p-value", "p", "of no difference in accuracy", False),),
        higher_is_better=None,
    ),
    MeasureSpec(
        "consistency_difference:consistency_difference",
        title="Consistency difference",
        question="Is one model more consistent than another on the same problems?",
        direction="Above 0 the first model is more consistent. A small p says that chance does not explain it.",
        headline="difference",
        symbol="difference",
        quantities=(Quantity("difference", "difference of P_C", "difference", "of the two models' P_C"),),
        chance="0.",
        higher_is_better=None,
    ),
    MeasureSpec(
        "diversity:paraphrase_diversity",
        title="Paraphrase diversity",
        question="How far are paraphrases from their originals in words, structure and meaning?",
        direction="Neither end is good. A distance of 0 is a copy, and 1 shares nothing with its original; a "
        "similarity runs the other way, so a Jaccard similarity of 1 has the same words.",
        headline="lexical_distance",
        symbol="distance",
        quantities=(
            Quantity("lexical_distance", "lexical distance", "lexical", "of the words, in [0, 1]", False),
            Quantity("jaccard", "Jaccard similarity of the words", "Jaccard", "of the sets of words, in [0, 1]", False),
        ),
        higher_is_better=None,
    ),
)


class _Catalogue(UserDict[str, MeasureSpec]):
    """The measures by name. Those of other distributions are added when a name is not among ours, or all are listed."""

    is_complete = False

    def __missing__(self, name: str) -> MeasureSpec:
        return self._complete()[name]

    def __contains__(self, name: object) -> bool:
        return name in self.data or name in self._complete()

    def __iter__(self) -> Iterator[str]:
        return iter(self._complete())

    def __len__(self) -> int:
        return len(self._complete())

    def _complete(self) -> dict[str, MeasureSpec]:
        if not self.is_complete:
            self.is_complete = True
            for entry in added("measures", tuple(self.data)).values():
                if spec := load(entry, MeasureSpec):
                    self.data[entry.name] = spec
        return self.data


#: Every measure by name.
CATALOGUE = _Catalogue({spec.name: spec for spec in BUILT_IN})

#: The measures that others are built around have a name of their own here.
PARAPHRASTIC = CATALOGUE["paraphrastic_consistency"]
SEMANTIC = CATALOGUE["semantic_inconsistency"]
CHANGE = CATALOGUE["prediction_change"]
FOOLING = CATALOGUE["fooling_rate"]
SENSITIVITY = CATALOGUE["prompt_sensitivity"]
COHERENCE = CATALOGUE["probability_coherence"]
TRAJECTORIES = CATALOGUE["trajectory_consistency"]
SHIFT = CATALOGUE["distribution_shift"]
IE_TEST = CATALOGUE["ie_test"]


def list_measures() -> list[MeasureSpec]:
    """Return the entries of all measures: name, question, range, direction, chance level."""
    return list(CATALOGUE.values())


def scored_measures() -> dict[str, MeasureSpec]:
    """Return the measures that bucket sets are scored by, by name."""
    return {name: spec for name, spec in CATALOGUE.items() if spec.target}


def check_result(spec: MeasureSpec, result: Mapping[str, Any]) -> None:
    """Raise if a measure's result lacks a key that its entry declares, or that every result has."""
    needed = [spec.headline, "confidence_interval", "signature", "warnings"]
    needed += ["n_buckets", "n_examples"] if spec.mean_over == "buckets" else []
    absent = [key for key in needed if key not in result]
    if not absent and spec.headline not in result["confidence_interval"]:
        absent = [f"confidence_interval[{spec.headline!r}]"]
    if absent:
        remedy = f"Its keys are {', '.join(result)}: mend the function, or the `MeasureSpec` that declares them."
        raise InputError(f"the result of {spec.name} must have the key {absent[0]!r}.", function="score", remedy=remedy)


def reads_probabilities(names: Sequence[str] | None) -> bool:
    """Return whether a measure among these reads the probabilities of labels."""
    return any(name in CATALOGUE and CATALOGUE[name].is_about_probabilities for name in names or ())


#: The role of the rows that a measure counts -> the roles of all its rows.
PLACES = {
    target: {target, *(role for spec in BUILT_IN if spec.target == target for role in spec.partners)}
    for target in dict.fromkeys(spec.target for spec in BUILT_IN if spec.target)
}


def counted_roles(roles: Collection[str]) -> list[str]:
    """Return those of the roles that measures count; rows with several of them are of several measures."""
    return [target for target in PLACES if target in roles]


def default_measures(roles: Sequence[str]) -> list[str]:
    """Return the default measures for rows with these roles: of swaps, negations, rules; else of paraphrases.

    Those of other distributions are computed only where they are named.
    """
    called = [spec.name for spec in BUILT_IN if spec.is_default and spec.target in roles]
    own_role = [name for name in called if CATALOGUE[name].target != PARAPHRASE]
    return own_role or [PARAPHRASTIC.name]
