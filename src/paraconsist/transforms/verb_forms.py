"""Closed lists of English words and verb forms that negation and the rule generator go by."""

from __future__ import annotations

import re
from typing import NamedTuple


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


MODALS = word_set("can could will would shall should may might must")
#: "not" stands right after these.
AUXILIARIES = word_set("is are was were am") | MODALS
HAVE_FORMS = {"has": "does", "have": "do", "had": "did"}
DO_FORMS = word_set("do does did")

DETERMINERS = word_set("a an the this that these those his her its their my your our")
NUMBERS = word_set("two three four five six seven eight nine ten eleven twelve")
SUBJECT_PRONOUNS = word_set("i you he she it we they")
OBJECT_PRONOUNS = word_set("me you him her it us them himself herself itself themselves")
PREPOSITIONS = word_set(
    """
    about above across after against along among around as at before behind below beneath beside between beyond by
    down during for from in inside into like near of off on onto out outside over past through to toward towards under
    underneath up upon with within away back together
    """
)
#: Plurals without an s.
PLURAL_NOUNS = word_set("people men women children police firemen policemen workmen")

#: They open another clause, or put two side by side: then it is not clear what "not" denies.
CLAUSE_WORDS = word_set(
    """
    who whom whose which that because while when whenever where wherever if although though unless until since whether
    what why how but or so than and
    """
)
NEGATIVES = word_set(
    """
    not no never none nobody nothing nowhere neither nor without cannot hardly barely scarcely seldom rarely few
    """
)
#: Words that say how many or how often, and the like: what is denied depends on where "not" stands.
SCOPE_WORDS = word_set(
    """
    some any every each all most many much several both either half another someone somebody something somewhere
    everyone everybody everything everywhere anyone anybody anything anywhere always already still also only just too
    almost even ever often sometimes usually again once yet probably perhaps maybe mostly lot lots plenty couple
    """
)

_PASTS = """
    ate:eat became:become began:begin bit:bite blew:blow broke:break came:come chose:choose drank:drink drew:draw
    drove:drive fell:fall felt:feel flew:fly forgot:forget froze:freeze gave:give got:get grew:grow hid:hide knew:know
    ran:run rang:ring rode:ride rose:rise sang:sing sank:sink sat:sit saw:see shook:shake slept:sleep spoke:speak
    stole:steal stood:stand swam:swim swore:swear threw:throw took:take tore:tear went:go woke:wake wore:wear
    wrote:write
"""
#: Past tenses that are no participles (so that a passive cannot look like them), and a few that can.
PAST_OF = dict(pair.split(":") for pair in sorted(word_set(_PASTS)))
#: Participles that are no past tense: "has" before them is an auxiliary.
PARTICIPLES = word_set(
    """
    been become begun bitten blown broken chosen done drawn driven eaten fallen flown forgotten frozen given gone grown
    hidden known ridden risen seen shaken shown spoken stolen sung sunk swum taken thrown torn woken won worn written
    """
)
#: Present and past look the same.
SAME_IN_PAST = word_set("beat bet burst cast cost cut hit hurt let put quit read set shut split spread")

_EDGES = "\"'`.,;:!?()[]"


class Token(NamedTuple):
    """A stretch of text without white space.

    Attributes
    ----------
    start, end : int
        Where the word stands in the text, punctuation at its edges left out.
    word : str
        Lower case.
    is_capitalised : bool
    closed : bool
        Whether punctuation follows at once.
    """

    start: int
    end: int
    word: str
    is_capitalised: bool
    closed: bool


def tokens_of(text: str) -> list[Token]:
    """Return the words of a text, those that are punctuation only left out."""
    tokens = []
    for match in re.finditer(r"\S+", text):
        word = match[0].strip(_EDGES)
        if word:
            start = match.start() + match[0].find(word)
            end = start + len(word)
            tokens.append(Token(start, end, word.lower(), word[0].isupper(), end < match.end()))
    return tokens
