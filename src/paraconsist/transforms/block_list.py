"""Words that noun substitution leaves alone unless told otherwise: WordNet's first synset has no usual synonym.

Salvatore et al. (2023) block words by hand too; this list is our own, made from the commonest substitutions in
sentences about everyday scenes.
"""

from __future__ import annotations

from paraconsist.transforms.closed_class import CLOSED_CLASS

#: The first synset has another meaning, or another number: men -> hands, table -> tabular array.
_ANOTHER_MEANING = (
    "men women feet front table hat guy hand hands band lot class arms police way car family end time years view place "
    "cake shoes cream works fun tan square hammer van hose soda scooter runner stroller tank upside past number "
    "intersection s"
)
#: Nobody says it so: water -> h2o, head -> caput.
_LEARNED = "water girl horse head mouth foot knee chest palm eye bat neon silver gold father back nose belly zoo magic"
#: In running text the word is mostly no noun: looks -> face, blue -> blueness.
_NO_NOUN = "blue looks look play watch run catch match cover kick pose wait leans passes talks paint stop leaps"

#: With words of the closed classes, of which a tagger takes one or the other for a noun now and then ("are" -> "ar").
STANDARD_BLOCK_LIST = CLOSED_CLASS | frozenset(f"{_ANOTHER_MEANING} {_LEARNED} {_NO_NOUN}".split())
