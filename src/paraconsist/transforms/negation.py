"""Negation of a sentence that has one finite verb, by rule, and antonyms in place of words.

What is not clearly handled is left alone. Negation goes by closed lists of English words and verb forms, which stand
first; the rule generator reads them too.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from paraconsist.errors import input_error
from paraconsist.transforms.dictionary import replace_span
from paraconsist.transforms.lexicon import Lexicon, english, load_lexicon, load_wordnet
from paraconsist.transforms.perturbation import LabelledSet, NegationTarget, Perturbation
from paraconsist.transforms.sheets import read_sheet


def word_set(text: str) -> frozenset[str]:
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
PREPOSITIONS = frozenset(english()["prepositions"])
#: Plurals without an s.
PLURAL_NOUNS = word_set("people men women children police firemen policemen workmen")

#: They open another clause, or put two side by side: then it is not clear what "not" denies.
CLAUSE_WORDS = frozenset(english()["clause_words"])
NEGATIVES = frozenset(english()["negatives"])
#: Words that say how many or how often, and the like: what is denied depends on where "not" stands.
SCOPE_WORDS = frozenset(english()["scope_words"])
#: Past tenses that are no participles (so that a passive cannot look like them), and a few that can.
PAST_OF: Mapping[str, str] = english()["pasts"]
#: Participles that are no past tense: "has" before them is an auxiliary.
PARTICIPLES = frozenset(english()["participles"])
#: Present and past look the same.
SAME_IN_PAST = word_set("beat bet burst cast cost cut hit hurt let put quit read set shut split spread")

_EDGES = "\"'`.,;:!?()[]"


class Token(NamedTuple):
    """A stretch of text without white space."""

    # Where the word stands in the text, punctuation at its edges left out.
    start: int
    end: int
    word: str  # Lower case
    is_capitalised: bool
    closed: bool  # Whether punctuation follows at once


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


class Negated(NamedTuple):
    """A negated text and the form of the negation, or None and the reason why there is none."""

    text: str | None
    note: str


def is_negated(text: str) -> bool:
    """Return whether a text holds a negative word ("not", "n't", "no", "never", "few" ...)."""
    has_not = re.search(r"n\s?['’]t\b|\bn['’]?t\b", text, re.IGNORECASE)
    return bool(has_not) or any(token.word in NEGATIVES for token in tokens_of(text))


def negate(text: str, lexicon: Lexicon | None = None, *, question: bool = False) -> Negated:
    """Return a text with its one finite verb negated.

    It is one sentence, or a yes-no `question` that opens with its auxiliary. Forms: ``not`` after the copula, a modal
    or an auxiliary; ``no`` in "there is a ..."; ``do not``, ``does not``, ``did not`` before lexical verbs, "have"
    among them (others only with a lexicon). Participles and infinitives do not count as further verbs (BECEL's own
    sentences have them). Left alone: several clauses or possible verbs, "and" or "or" (in questions everywhere, else
    after the subject too), commas, words of quantity and frequency, negatives, contractions, noun phrases without a
    verb.

    >>> negate("Two dogs are running.")
    Negated(text='Two dogs are not running.', note='not')
    >>> negate("There is a girl on the sand.")
    Negated(text='There is no girl on the sand.', note='no')
    >>> negate("The woman has a hat.")
    Negated(text='The woman does not have a hat.', note='do not')
    >>> negate("Some people are outside.")
    Negated(text=None, note='a word of quantity or frequency: some')
    """
    tokens = tokens_of(text)
    words = [token.word for token in tokens]
    problem = _problem(text, words, question)
    if problem:
        return Negated(None, problem)
    if question:
        return _question(text, tokens)
    if words[0] == "there":
        return _there(text, tokens, 1)
    auxiliaries = [i for i in range(1, len(tokens)) if _is_auxiliary(tokens, i)]
    if len(auxiliaries) > 1:
        return Negated(None, "more than one verb")
    if not auxiliaries:
        return _lexical(text, tokens, lexicon)
    at = auxiliaries[0]
    after = words[at + 1] if at + 1 < len(words) else ""
    if tokens[at].closed or not after:
        return Negated(None, "the verb ends its clause")
    if words[at - 1] in DETERMINERS or not {"as", "before", "after"}.isdisjoint(words[1:at]):
        return Negated(None, "where the subject ends is not clear")
    if words[at] in AUXILIARIES or (words[at] in HAVE_FORMS and after in PARTICIPLES):
        return Negated(_insert(text, tokens[at].end, " not"), "not")
    if after in DETERMINERS or after in NUMBERS or (words[at] in DO_FORMS and after in OBJECT_PRONOUNS):
        support = HAVE_FORMS.get(words[at], words[at])
        verb = "have" if words[at] in HAVE_FORMS else "do"
        return Negated(_replace(text, tokens[at], f"{support} not {verb}"), "do not")
    return Negated(None, f"auxiliary or main verb: {words[at]}")


def _problem(text: str, words: Sequence[str], question: bool) -> str:
    """Return why a text is not one plain sentence, or nothing."""
    body = text.strip().rstrip(".!?\"' ") if not question else text.strip().rstrip("? ")
    if len(words) < 2:
        return "fewer than two words"
    if is_negated(text):
        return "already negated"
    if not question and text.rstrip(" \"'").endswith("?"):
        return "a question"
    if re.search(r"[,;:\"()\u2014]|--|''|``|[.!?]\s", body):
        return "punctuation inside the sentence"
    for word in words:
        if re.search(r"['’](?:re|m|ve|ll|d)$", word) or re.fullmatch(r"(?:he|she|it|that|there|who|what)['’]s", word):
            return "a contracted verb"
    scope = [word for word in words if word in SCOPE_WORDS]
    there_is_some = words[:1] == ["there"] and words[2:3] == ["some"]
    if scope and not (there_is_some and scope == ["some"]):
        return f"a word of quantity or frequency: {scope[0]}"
    if question and words[1:2] == ["there"] and words[2:3] == ["going"]:
        return "more than one verb"
    subject = next((word for word in words[2 if question else 1 :] if word in SUBJECT_PRONOUNS - {"it", "you"}), None)
    if subject is not None:
        return f"another clause, or a list: {subject}"
    clause = next((word for word in words[1:] if word in CLAUSE_WORDS), None)
    if clause is not None and not (clause == "and" and _joins_subjects(words)):
        return f"another clause, or a list: {clause}"
    return ""


def _joins_subjects(words: Sequence[str]) -> bool:
    """Whether each "and" stands before the first auxiliary ("A man and a woman are ...")."""
    last = max(i for i, word in enumerate(words) if word == "and")
    first = next((i for i, word in enumerate(words) if i and (word in AUXILIARIES or word in HAVE_FORMS)), -1)
    return last < first and not any(word in CLAUSE_WORDS - {"and"} for word in words[1:])


def _is_auxiliary(tokens: Sequence[Token], i: int) -> bool:
    word, before = tokens[i].word, tokens[i - 1].word
    if tokens[i].is_capitalised:  # a name
        return False
    if word in HAVE_FORMS or word in DO_FORMS:
        return before not in MODALS and before != "to"
    return word in AUXILIARIES and not (word in MODALS and before in DETERMINERS)


def _there(text: str, tokens: Sequence[Token], at: int) -> Negated:
    """Negate "there is ..."; `at` is the place of the verb in a sentence, of "there" in a question."""
    if tokens[at].word not in {"there", "is", "are", "was", "were"} or len(tokens) < at + 2:
        return Negated(None, "no verb that is clearly the only one")
    rest = tokens[at + 1 :]
    if any(_is_auxiliary(tokens, i) for i in range(at + 2, len(tokens))):
        return Negated(None, "more than one verb")
    if rest[0].word in {"a", "an", "some"}:
        return Negated(_replace(text, rest[0], "no"), "no") if len(rest) > 1 else Negated(None, "no noun")
    if rest[0].word in NUMBERS or rest[0].word == "one" or rest[0].word.isdigit():
        return Negated(_insert(text, tokens[at].end, " not"), "not")
    if rest[0].word in DETERMINERS | PREPOSITIONS | SUBJECT_PRONOUNS or rest[0].word.endswith(("ly", "ing")):
        return Negated(None, "what there is is not clear")
    return Negated(_insert(text, tokens[at].end, " no"), "no")


def _question(text: str, tokens: Sequence[Token]) -> Negated:
    first, second = tokens[0].word, tokens[1].word
    if first not in AUXILIARIES and first not in DO_FORMS and first not in HAVE_FORMS:
        return Negated(None, "the question does not open with its verb")
    if second == "there" and first in {"is", "are", "was", "were"}:
        return _there(text, tokens, 1)
    if second in SUBJECT_PRONOUNS and len(tokens) > 2:
        return Negated(_insert(text, tokens[1].end, " not"), "not")
    return Negated(None, "where the question's subject ends is not clear")


def _lexical(text: str, tokens: Sequence[Token], lexicon: Lexicon | None) -> Negated:
    if lexicon is None:
        return Negated(None, "no auxiliary (lexical verbs need WordNet)")
    plural = tokens[0].word in NUMBERS | {"these", "those", "they", "we", "you", "i"} | PLURAL_NOUNS
    readings = [(i, reading) for i in range(1, len(tokens)) if (reading := _finite(tokens, i, lexicon, plural))]
    if not readings:
        return Negated(None, "no verb that is clearly finite")
    if len(readings) > 1:
        return Negated(None, "more than one verb")
    at, (support, base) = readings[0]
    if support == "":
        return Negated(None, "a past tense that may be a participle")
    return Negated(_replace(text, tokens[at], f"{support} not {base}"), "do not")


def _finite(tokens: Sequence[Token], i: int, lexicon: Lexicon, plural: bool) -> tuple[str, str] | None:
    """Return (do, does or did; base form) of a word that can be the finite verb, None of any other.

    ``("", "")`` marks a form that may be finite and may not: with it the sentence has a second candidate.
    """
    word, before = tokens[i].word, tokens[i - 1].word
    if before in DETERMINERS or before in NUMBERS or before == "to" or tokens[i].is_capitalised:
        return None
    if before.endswith(("ing", "ed")) and i > 1 and tokens[i - 2].word in DETERMINERS:
        return None  # "the remaining shares"
    if not word.isalpha() or word in PREPOSITIONS | DETERMINERS | PARTICIPLES | OBJECT_PRONOUNS or word == "being":
        return None
    after = tokens[i + 1].word if i + 1 < len(tokens) and not tokens[i].closed else ""
    if word in PAST_OF:
        return ("did", PAST_OF[word])
    bases = [base for base in lexicon.base_forms(word, "v") if base != word]
    if word.endswith("s") and bases and not word.endswith("ss"):
        if plural or before in PREPOSITIONS or not _more_verb_than_noun(word, lexicon):
            return None
        return ("does", bases[0])
    if word.endswith("ed") and bases:
        is_past = before in SUBJECT_PRONOUNS or after in DETERMINERS | NUMBERS | OBJECT_PRONOUNS
        return ("did", bases[0]) if is_past else ("", "")
    if bases and not word.endswith("ing"):
        return ("", "")  # an irregular form: "left", "held"
    return _plain_form(tokens, i, after, lexicon, plural)


def _plain_form(tokens: Sequence[Token], i: int, after: str, lexicon: Lexicon, plural: bool) -> tuple[str, str] | None:
    """Return the reading of a word in its dictionary form, after a plural subject."""
    word, before = tokens[i].word, tokens[i - 1].word
    if word in SAME_IN_PAST:
        return ("", "") if before not in PREPOSITIONS else None
    if word.endswith("ing") or word not in lexicon.base_forms(word, "v"):
        return None
    is_subject = before in SUBJECT_PRONOUNS - {"he", "she", "it"} or before in PLURAL_NOUNS
    opens = not any(token.word in PREPOSITIONS for token in tokens[:i])  # all before can be one bare noun phrase
    is_subject = is_subject or (before.endswith("s") and bool(lexicon.base_forms(before, "n")) and opens)
    follows = after == "" or after in DETERMINERS | NUMBERS | PREPOSITIONS | OBJECT_PRONOUNS or after.endswith("ly")
    return ("do", word) if is_subject and follows and _more_verb_than_noun(word, lexicon) else None


def _more_verb_than_noun(word: str, lexicon: Lexicon) -> bool:
    return lexicon.frequency(word, "v") > max(lexicon.frequency(word, "n"), lexicon.frequency(word, "a"))


def _insert(text: str, at: int, words: str) -> str:
    return text[:at] + words + text[at:]


def _replace(text: str, token: Token, words: str) -> str:
    return text[: token.start] + words + text[token.end :]


def negation(data: LabelledSet, lexicon: Lexicon | None, skipped: Counter[str]) -> Iterator[Perturbation]:
    """Yield each positive row with one of its texts negated; `skipped` and InputError as for `symmetric`.

    Roles ``original`` and ``negation``; stratum `method`: ``not``, ``no`` or ``do not``.
    """
    target = NegationTarget.of(data, "negation")
    is_question = data.task.columns[target.place] == "question"
    for row, text in target.rows(skipped, "negation does not turn it"):
        negated, note = negate(text, lexicon, question=is_question)
        if negated is None:
            skipped[note.partition(":")[0]] += 1  # without the word that was met
        else:
            yield target.item(row, negated, note, row.example_id)


#: Words that WordNet lists as adjectives or adverbs with an antonym, and that do another job in most sentences.
_NOT_REPLACED = frozenset(english()["no_antonym"])
_WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*")

Antonyms = Callable[[str], tuple[str, ...]]


def antonyms_from_list(path: str | os.PathLike[str]) -> Antonyms:
    """Return the look-up of a CSV file with the columns ``word`` and ``antonym``; a pair counts in that direction."""
    pairs: dict[str, dict[str, None]] = {}
    for place, row in read_sheet(path, ("word", "antonym"), function="perturb", parameter="antonyms"):
        word, antonym = row["word"].strip().lower(), row["antonym"].strip()
        if not word or not antonym:
            raise input_error("perturb", "antonyms", "have a word and an antonym in each row", got=row, row=place)
        pairs.setdefault(word, {})[antonym] = None
    return lambda word: tuple(pairs.get(word, ()))


def antonyms_from_wordnet(folder: str | Path | None = None) -> Antonyms:
    """Return the look-up of direct antonyms of adjectives and adverbs, over all senses, sorted.

    There is no tagger: a word counts as one where WordNet's tagged texts have it as adjective or adverb at least as
    often as as a noun or verb.
    """
    reader, lexicon = load_wordnet(folder), load_lexicon(folder)

    def look_up(word: str) -> tuple[str, ...]:
        if word in _NOT_REPLACED or len(word) < 3:
            return ()
        senses = (lemma for part in "ar" for synset in reader.synsets(word, part) for lemma in synset.lemmas())
        lemmas = (other for lemma in senses if lemma.name().lower() == word for other in lemma.antonyms())
        opposites = {lemma.name().replace("_", " ") for lemma in lemmas}
        noun, verb, adjective, adverb = (lexicon.frequency(word, part) for part in "nvar")
        if max(0, adjective) + max(0, adverb) < max(noun, verb):
            return ()
        return tuple(sorted(opposite for opposite in opposites if opposite.lower() != word))

    return look_up


def antonym(data: LabelledSet, antonyms: Antonyms, skipped: Counter[str]) -> Iterator[Perturbation]:
    """Yield each positive row with one word of one text replaced by an antonym, once for each antonym.

    As `negation`; roles ``original`` and ``negation``, stratum `method`: ``antonym``. Intervals resample the original.
    """
    target = NegationTarget.of(data, "antonym")
    for row, text in target.rows(skipped, "the opposite does not turn it"):
        if is_negated(text):
            skipped["already negated"] += 1
            continue
        n_items = 0
        for match in _WORD.finditer(text):
            for opposite in antonyms(match[0].lower()):
                n_items += 1
                changed = replace_span(text, match.start(), match.end(), opposite)
                yield target.item(row, changed, "antonym", f"{row.example_id}.{match.start()}.{opposite}")
        if n_items == 0:
            skipped["no word with an antonym"] += 1
