"""What is said of a measure: the fields of an entry of the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.measures.rules import ORIGINAL, Answers, Rule
from paraconsist.measures.signatures import SHORT_NAMES


@dataclass(frozen=True)
class Quantity:
    """A number among a measure's results that tables and plots show."""

    key: str  # in the results
    label: str  # what it is called in a line of its own
    symbol: str  # over a column
    meaning: str = ""  # in one sentence, for a reader who does not know the symbol
    is_share: bool = True  # whether it is shown in per cent
    words: str = ""  # for a reader who knows no symbol; by default the label without its own

    @property
    def name(self) -> str:
        """The label without the symbol before it."""
        symbol, _, rest = self.label.partition(", ")
        return rest if rest and len(symbol) <= 4 else self.label

    @property
    def plain(self) -> str:
        """What it is called where words come first and the symbol second."""
        return self.words or self.name


@dataclass(frozen=True, repr=False)
class MeasureSpec:
    """What is said of a measure."""

    function: Callable[..., Any]  # the measure; its name is the measure's
    title: str  # for people who meet it, as the question
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
    asks: str = ""  # as the title of a page: a question that a good model answers with yes
    outcomes: tuple[str, str] = ("keeps the rule", "breaks the rule")  # in a legend
    #: The key of the headline as its paper computes it, where that is another; ``pc_published`` in conditions.
    published: str = ""
    higher_is_better: bool | None = False  # None where neither end is good
    target: str = ""  # the role of the rows that are counted; empty where bucket sets are not scored by it
    partners: tuple[str, ...] = ()  # roles of those that must stand beside each in its bucket
    optional_partners: tuple[str, ...] = ()  # roles that may be there too
    is_default: bool = False  # whether rows with the target role are scored by it where nobody says by what
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
        """As `evaluate.load` and ``--measure`` know it."""
        return str(self.function.__name__)

    def __repr__(self) -> str:
        return f"<{self.name}: {self.question} {self.direction}>"

    @property
    def short(self) -> str:
        """As signatures and the conditions of `gate` call it."""
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

    def violations(self, answers: Answers) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return how much of each row breaks the rule, in [0, 1], and which rows the rule is about.

        This is the one place that says so: the headline is the mean of the first over the second.
        """
        if self.breaks is None:
            raise TypeError(f"{self.name} has no rule that a row could break")
        return self.breaks(answers)
