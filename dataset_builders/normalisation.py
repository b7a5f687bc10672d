"""One surface form for texts that were tokenised, cased or encoded differently."""

from __future__ import annotations

import html
import re

_REPLACED = (
    (r"\s?&?#39;", "'"),  # AG-News: "company #39;s"
    (r"&?#(\d{2,4});", lambda match: chr(int(match[1]))),
    (r"\s?&?\bquot;", '"'),
    (r"&?\bamp;", "&"),
    (r"``|''", '"'),  # Penn Treebank quotes and brackets
    (r"-lrb-", "("),
    (r"-rrb-", ")"),
    (r"[\x00-\x1f\x7f-\x9f\\]", " "),  # what is left of curly quotes and dashes; AG-News' line ends
    (r"[\u2018\u2019`]", "'"),
    (r"[\u201c\u201d]", '"'),
    (r"[\u2013\u2014]", "-"),
    (r"\s+", " "),
    (r" n't\b", "n't"),
    (r" '(?=(?:s|t|re|ve|ll|d|m)\b)", "'"),
    (r" (?=[.,;:!?%)\]}])", ""),
    (r"(?<=[(\[{$]) ", ""),
    (r'" ?([^"]*?) ?"', r'"\1"'),
)
_PATTERNS = tuple((re.compile(pattern), replacement) for pattern, replacement in _REPLACED)


def normalize_surface(text: str) -> str:
    """Return `text` in lower case, detokenised, with plain quotes and dashes and no full stop at its end.

    Published originals are often tokenised, lower-cased or HTML-encoded where their paraphrases are natural
    text: a model that reacts to that looks inconsistent without being sensitive to the wording. The rules are
    few and the same for every set: entities and escapes decoded; spaces before closing and after opening
    punctuation, before ``n't`` and ``'s``, and inside double quotes removed; final ``.`` and ``?`` removed.

    Examples
    --------
    >>> normalize_surface("The firm 's shares didn 't fall ( much ) .")
    "the firm's shares didn't fall (much)"
    >>> normalize_surface("The firm #39;s shares did not fall.")
    "the firm's shares did not fall"
    """
    text = html.unescape(text).lower()
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text.strip().rstrip(".?").rstrip()
