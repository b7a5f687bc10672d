"""Numbers in cards and in the README: where they stand, which claim recomputes each, and which need none.

A `Claim` is a piece of a document with its numbers as fields: ``"BERT {n_changed} changed ({rate:.2f} %)"``. The
fields are computed and compared with what the document says; every number that no claim, quotation or exemption
covers is a fault. Fields are written as `str.format` writes them; ``word`` spells a whole number out.

    python tests/documented_numbers.py [README.md ...]     # put recomputed numbers into the documents
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = tuple(
    path.relative_to(ROOT).as_posix()
    for path in (
        ROOT / "README.md",
        *sorted(ROOT.glob("metrics/*/README.md")),
        *sorted(ROOT.glob("dataset_builders/*/README.md")),
    )
)
Values = Callable[[Any], Mapping[str, Any]]

WORDS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
]
# One to ten are ordinary words too ("one of them"); they are checked only where a claim names them.
_SPELLED = (*WORDS[11:], "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred", "thousand")
NUMBER = re.compile(rf"\d(?:[\d,.]*\d)?|\b(?:{'|'.join(_SPELLED)}|(?<!\d )million)\b", re.IGNORECASE)
_FIELD = r"([-−+]?(?:\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?|\.\d+)|" + "|".join(WORDS) + r"|nan)"

#: What needs no claim: pattern -> why. A pattern covers what it matches, nothing around it. Text set as code is exempt
#: as well (names, options, labels, formulas), unless it is a number of more than one digit and nothing else.
EXEMPT: Mapping[str, str] = {
    r"\A---\n.*?\n---\n": "metadata, which test_cards.py checks",
    r"^```(?:python|bibtex)\n.*?^```$": "examples are run by test_cards.py; a citation's year is the paper's",
    r"^```(?:bash)?\n(?=(?:[A-Z]=|cd |pip |make |python |paraconsist |docker )).*?^```$": "options in commands",
    r"(?:et al\.|Augenstein|Lukasiewicz|Rudinger|Poliak|Landis|Koch),?\s\(?(?:19|20)\d\d\b": "year of a paper",
    r"\((?:ACL|COLING|TACL|EACL) (?:19|20)\d\d\)": "year of a paper",
    r"\b(?:[Tt]ables?|[Ff]igures?|[Ss]ections?|[Ee]quations?) \d+(?:(?:,| and|\)? and [Ff]igure) \d+)*": "a place",
    r"\b(?:SST-2|GPT-3|RTE1?-?[123]|RTE 1, 2 and 3|T5|sha256|UTF-8|Apache-2\.0|Social-Chem-101)\b": "a name",
    r"\bsst2_(?:semantic|additive)\b": "a config's name",
    r"\bround [123]\b": "names of ANLI's three sets",
    r"\balternative 1\b": "the paper's own name for a test",
    r"\| near 1 \|": "what a design effect is where rows are independent",
    r"^\| (?:`bow`|MiniLM) \| \d+ % \|": "names a row: documented_sweep.py claims what stands in it, by this name",
    r"\bPython 3\.1\d\b": "a version, held by pyproject.toml",
    r"https?://\S+|\bdoi:\S+": "an address",
    r"\|\s*(?:−1|0(?:\.\d+)?) to (?:`relaxed`|\d(?:\.\d+)?) (?=\|)": "a range; see test_cards.py",
}


@dataclass(frozen=True)
class Claim:
    """Numbers that can be recomputed.

    Attributes
    ----------
    document : str
        Path from the root of the project.
    text : str
        What the document says, with fields for its numbers. Any white space stands for any other.
    values : callable
        Gets a `documented_sources.Sources`, returns the fields.
    needs : {"", "data", "results", "data results"}
        What it reads beside the code: the papers' data folder, the runs stored in ``tests/results``.
    """

    document: str
    text: str
    values: Values
    needs: str = ""

    @property
    def id(self) -> str:
        start = " ".join(re.sub(r"[^\w{}. ]+", " ", self.text).split())
        return f"{self.document.removesuffix('/README.md')}: {start[:60]}"

    @property
    def fields(self) -> list[tuple[str, str]]:
        return [(name, spec or "") for _, name, spec, _ in Formatter().parse(self.text) if name is not None]

    def find(self, text: str) -> re.Match[str]:
        """Find the claim's place; numbers may be any. It must be there once."""
        found = list(_pattern(self.text).finditer(text))
        if len(found) != 1:
            raise AssertionError(f"{self.document} must have this text once, not {len(found)} times: {self.text!r}")
        return found[0]

    def compute(self, sources: Any) -> list[str]:
        """Return the fields as the document should have them."""
        values = self.values(sources)
        return [written(values[name], spec) for name, spec in self.fields]


@dataclass(frozen=True)
class Quote:
    """Numbers that a paper prints and that nothing at hand can recompute; the text must say whose they are.

    `says` is what stands before them, no farther than a paragraph: the words that name the source.
    """

    document: str
    text: str
    says: str
    source: str

    def find(self, text: str) -> re.Match[str]:
        found = list(re.finditer(_loose(self.text), text))
        if len(found) != 1:
            raise AssertionError(f"{self.document} must have this text once, not {len(found)} times: {self.text!r}")
        before = text[: found[0].end()].rpartition("\n\n")[2] if "|" not in self.text else text[: found[0].end()]
        if not re.search(_loose(self.says), before):
            raise AssertionError(f"{self.document}: {self.text!r} must be said to be from {self.source}: {self.says!r}")
        return found[0]


def written(value: Any, spec: str) -> str:
    """Write a value as a document does.

    >>> written(2098, ","), written(6, "word"), written(0.0326, ".4")
    ('2,098', 'six', '.0326')
    """
    if spec == "word":
        return WORDS[value]
    if re.fullmatch(r"\.\d", spec):  # a share without its leading zero
        return format(value, f"{spec}f").removeprefix("0")
    text = format(value, spec)
    return text.replace("-", "−") if text.startswith("-") else text


@cache
def _pattern(template: str) -> re.Pattern[str]:
    parts = []
    for literal, name, _, _ in Formatter().parse(template):
        parts.append(_loose(literal))
        if name is not None:
            parts.append(_FIELD)
    return re.compile(r"(?<![\d.,])" * template.startswith("{") + "".join(parts) + r"(?![\d])")


def _loose(literal: str) -> str:
    return r"\s+".join(re.escape(part) for part in re.split(r"\s+", literal))


@cache
def text_of(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def uncovered(document: str, claims: Sequence[Claim], quotes: Sequence[Quote]) -> Iterator[str]:
    """Yield every number of a document that nothing covers, with its line."""
    text = text_of(document)
    covered = bytearray(len(text))

    def cover(start: int, end: int) -> None:
        covered[start:end] = b"\1" * (end - start)

    for pattern in EXEMPT:
        for found in re.finditer(pattern, text, re.MULTILINE | re.DOTALL):
            cover(*found.span())
    for code in _code(text):
        cover(*code)
    for claim in claims:
        found = claim.find(text)
        for i in range(len(claim.fields)):
            cover(*found.span(i + 1))
    for quote in quotes:
        cover(*quote.find(text).span())
    for found in NUMBER.finditer(text):
        if not all(covered[found.start() : found.end()]):
            line = text.count("\n", 0, found.start()) + 1
            start = text.rfind("\n", 0, found.start()) + 1
            yield f"{document}:{line}: {found[0]} in {text[start : text.find(chr(10), start)].strip()[:110]}"


def _code(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of text set as code within a line of text, but for bare numbers."""
    prose = re.sub(r"^```.*?^```$", lambda fence: " " * len(fence[0]), text, flags=re.MULTILINE | re.DOTALL)
    for found in re.finditer(r"`([^`]+)`", prose):
        if len(found[1]) == 1 or not re.fullmatch(r"[\d.,%\s]+", found[1]):
            yield found.span()


def differences(claim: Claim, sources: Any) -> list[str]:
    """Return what a document says otherwise than it is recomputed."""
    text = text_of(claim.document)
    found = claim.find(text)
    line = text.count("\n", 0, found.start()) + 1
    return [
        f"{claim.document}:{line}: {name} is {said!r}, recomputed {now!r}"
        for (name, _), said, now in zip(claim.fields, found.groups(), claim.compute(sources), strict=True)
        if said != now
    ]


def rewrite(claims: Sequence[Claim], sources: Any) -> Iterator[str]:
    """Put the recomputed numbers into the documents; yield what changed."""
    for claim in claims:
        changes = differences(claim, sources)
        if changes:
            text = text_of(claim.document)
            found = claim.find(text)
            for i, now in reversed(list(enumerate(claim.compute(sources), 1))):
                text = text[: found.start(i)] + now + text[found.end(i) :]
            (ROOT / claim.document).write_text(text, encoding="utf-8")
            text_of.cache_clear()
        yield from changes


def main() -> None:
    import tempfile

    import documented_claims
    from documented_sources import Sources, usual_data_folder

    data = usual_data_folder()
    with tempfile.TemporaryDirectory() as cache:
        sources = Sources(data, Path(cache))
        for claim in documented_claims.CLAIMS:
            if claim.document not in (sys.argv[1:] or DOCUMENTS):
                continue
            if not sources.has(claim.needs):
                print(f"skipped, its data are not there: {claim.id}")
                continue
            try:
                for change in rewrite([claim], sources):
                    print(change)
            except (AssertionError, FileNotFoundError) as problem:
                print(problem)


if __name__ == "__main__":
    main()
