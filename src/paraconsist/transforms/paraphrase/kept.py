"""What a rewording must keep of a text, sign by sign, and the language of both.

Kept are code, addresses, placeholders, quotations, numbers in digits, and names as far as capitals tell them.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from paraconsist.measures.diversity import bare_words

_QUOTED = (
    r'"[^"\n]+"|“[^“”\n]+”|„[^„“”\n]+[“”]|«[^«»\n]+»|»[^«»\n]+«|‹[^‹›\n]+›|›[^‹›\n]+‹|「[^「」\n]+」|『[^『』\n]+』'
    r"|(?<!\w)'[^'\n]+'(?!\w)|(?<!\w)‘[^‘’\n]+’(?!\w)|‚[^‚‘’\n]+[‘’]"
)
#: Parts that may hold one another, the outer ones first. Each begins where no other has begun, so that a long text
#: takes time in proportion to its length.
_PART = re.compile(
    "|".join(
        (
            r"```[\s\S]*?```|``[^`\n]+``|`[^`\n]+`",
            r"(?:https?://|ftp://|www\.)\S*[^\s.,;:!?)\]}'\"»”’]",
            r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
            r"\$?\{\{[^{}\n]*\}\}|\$?\{[^{}\n]*\}|%\(\w+\)[sd]|%[sd]\b|<[A-Za-z_]\w*>",
            f"(?P<quoted>{_QUOTED})",
            r"(?<![A-Za-z\d])(?:(?<!\w)[-−+])?[$€£¥]?[A-Za-z]*\d[\dA-Za-z]*(?:[.,:/'’][\dA-Za-z]*\d[\dA-Za-z]*)*[€£¥]?",
        )
    )
)
_WORD = re.compile(r"[^\W\d_]{2,}(?:-[^\W\d_]+)*")
_INITIAL = re.compile(r"\b[^\W\d_]\.")
_ENDS_SENTENCE = re.compile(r"[.!?:…。！？¿¡(\[\n]")
_TITLES = frozenset(bare_words("dr mr mrs ms st prof"))
#: German nouns have capitals too: a name is one after these words, or directly after another noun.
_BEFORE_NAMES = frozenset(bare_words("als auf aus bei für hat herr herrn frau in ist mit nach und von wie zwischen"))
_PRONOUNS = frozenset(bare_words("sie ihr ihre ihrem ihren ihrer ihres ihnen"))  # of the polite form


def parts(text: str) -> list[str]:
    """Return the kept parts of a text but its names, in order; all quotation marks are ``"``.

    >>> parts("Does `f(2)` cost 1,500.50 € for {name}, or «rien», at https://example.org/a?b=1?")
    ['`f(2)`', '1,500.50', '{name}', '"rien"', 'https://example.org/a?b=1']
    """
    return [f'"{match[0][1:-1].strip()}"' if match["quoted"] else match[0] for match in _PART.finditer(text)]


def names(text: str, language: str | None = None) -> list[str]:
    """Return the names of a text, each once: words with a capital that begin no sentence, or with one inside.

    >>> names("Which river does Paris, the capital of France, lie on? NASA knows.")
    ['Paris', 'France', 'NASA']
    >>> names("Wie viele Tage hat Anna Berg für die Reise nach Wien?", "de")
    ['Anna', 'Berg', 'Wien']
    """
    plain = _PART.sub(" x ", text)
    if plain == plain.upper():
        return []
    found: dict[str, None] = {}
    end, before, was_noun = 0, "", False
    for match in _WORD.finditer(plain):
        word, gap = match[0], plain[end : match.start()]
        begins = not before or (before not in _TITLES and bool(_ENDS_SENTENCE.search(_INITIAL.sub("", gap))))
        is_noun = is_name = word[0].isupper() and not begins
        if language == "de" and is_noun:
            is_noun = word.lower() not in _PRONOUNS
            is_name = is_noun and ((was_noun and gap.isspace()) or before in _BEFORE_NAMES)
        if is_name or any(letter.isupper() for letter in word[1:].replace("-", "")):
            found[word] = None
        end, before, was_noun = match.end(), word.lower(), is_noun
    return list(found)


def lost(candidate: str, original: str, language: str | None = None) -> list[str]:
    """Return what a candidate lost of the original, then what it has in addition; nothing where all is kept.

    A name may occur less often than in the original, every other part must occur as often.

    >>> lost("Can Ana pay 3 times?", "May Anna pay in 4 parts?")
    ['4', 'Anna', '3']
    """
    old, new = Counter(parts(original)), Counter(parts(candidate))
    gone = [name for name in names(original, language) if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", candidate)]
    return [*(old - new), *gone, *(new - old)]


_SURE = 10.0  # a language is told where it is exp(10) times as likely as another


@lru_cache(maxsize=65536)
def _likelihoods(text: str) -> dict[str, float]:
    """Return language -> log-likelihood, the likeliest first; empty without py3langid."""
    try:
        from py3langid import rank
    except ModuleNotFoundError:
        return {}
    return {language: float(score) for language, score in rank(text[:10_000])}


def language_of(text: str) -> str | None:
    """Return the code of a text's language, None where the text is too short to tell, or py3langid is missing."""
    first, second, *_ = [*_likelihoods(text).items(), ("", 0.0), ("", 0.0)]
    return first[0] if first[1] - second[1] > _SURE else None


def is_in_another(text: str, language: str) -> bool:
    """Say whether a text is surely in another language than the one with this code."""
    scores = _likelihoods(text)
    return language in scores and max(scores.values()) - scores[language] > _SURE
