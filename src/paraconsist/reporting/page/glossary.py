"""What the page's terms mean, said once: a button beside a term opens it, and the method section lists all of them."""

from __future__ import annotations

from typing import Any

from paraconsist.measures.catalogue import list_measures

#: What is no number of a measure; those are explained by the catalogue.
_TERMS = {
    "bucket": "One problem in several wordings, all with one right answer. The original is not counted among its "
    "paraphrases.",
    "interval": "Where the value would lie in most repetitions (95 of 100, where nothing else is written) with other "
    "problems of the same kind. The signature says how it was made.",
    "design effect": "How many times as many problems it takes because they resemble each other within a context (or "
    "wordings within a problem). 1: they say as much as independent ones.",
    "context": "What several problems share, such as a premise. Intervals resample contexts, as they are independent.",
    "noise floor": "How often an answer flips when nothing was changed: other batches, other precision, or another "
    "draw. A share of flips below it says nothing about wording.",
    "unparsed": "An answer that could not be read. It counts as wrong, as a class of its own, or its problem is left "
    "out.",
    "tau": "The share of pairs or triples that break the rule of a set: same answer for the same meaning, another for "
    "a negation. Lower is better.",
    "least P_C": "With bucket accuracy a no model has a P_C below 1 − 2a(1 − a), which a coin of this accuracy gets.",
}


class Glossary:
    """Explains the terms that a page uses; called by its templates."""

    def __init__(self) -> None:
        quantities = [q for spec in list_measures() for q in spec.quantities if q.meaning]
        terms = {spec.symbol: f"{spec.question} {spec.direction}" for spec in list_measures()}
        terms |= {q.symbol: f"{q.plain[0].upper()}{q.plain[1:]}: {q.meaning}." for q in reversed(quantities)}
        self.terms = terms | _TERMS
        self.used: dict[tuple[str, str], str] = {}  # (term, what it means) -> the element's id

    def __call__(self, term: str, meaning: str = "") -> Any:
        """Return a button that opens what a term means; nothing where nobody knows."""
        from markupsafe import Markup

        text = self.terms.get(term, meaning)
        if not text:
            return ""
        name = self.used.setdefault((term, text), f"term-{len(self.used)}")
        button = '<button type="button" class="help" popovertarget="{}" aria-label="What is {}?">?</button>'
        return Markup(button).format(name, term)
