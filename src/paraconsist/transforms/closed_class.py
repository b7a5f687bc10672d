"""English words of the closed classes, which WordNet lists as nouns now and then ("in" is also an inch)."""

from __future__ import annotations

_DETERMINERS = (
    "a an the this that these those some any no every each either neither both all another such what which whose "
    "my your his its our their one two three four five six seven eight nine ten"
)
_PREPOSITIONS = (
    "in on at by for with about against between into through during before after above below from of onto over under "
    "near inside outside behind past around across along beside besides beyond despite except per since till until "
    "toward towards via within without like unlike amid among and or"
)
_OTHERS = (
    "i you he she it we they me him her us them mine yours hers ours theirs myself yourself himself herself itself "
    "ourselves themselves someone somebody something anyone anybody anything everyone everybody everything nobody "
    "nothing none ones who whom zero eleven twelve hundred thousand million dozen to up down out off than upon but nor "
    "so yet if while because although though as when where whether am is are was were be been being have has had "
    "having do does did doing done can could will would shall should may might must not very too also just only then "
    "there here now again ever never more most much many few less least other own same how why"
)

#: After these a noun may come.
BEFORE_NOUNS = frozenset(f"{_DETERMINERS} {_PREPOSITIONS}".split())

#: All of them.
CLOSED_CLASS = BEFORE_NOUNS | frozenset(_OTHERS.split())
