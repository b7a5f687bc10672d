"""Comparers of what an answer concludes: a number, a choice, a date, or what a pattern finds."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from functools import partial

import numpy as np

from paraconsist.comparing.comparer import Comparer, ComparerSpec, Floats
from paraconsist.comparing.words import normalised
from paraconsist.errors import input_error
from paraconsist.measures.edit_effects import SMALL_NUMBERS

# Where an answer says what it concludes; what comes after the last of these is read first.
_CONCLUSION = re.compile(
    r"####|\\boxed\s*(?=\{)|\b(?:final\s+)?answer\s*(?:is|are|=|:)[\s:]*|\bANSWER\b\s*:", re.IGNORECASE
)
_IS = re.compile(r"(?:\b(?:is|are|be|was|were)|[=≈:])\s*(?:about |exactly |only )?\Z", re.IGNORECASE)
# A number that stands first by itself, as in "30 days. That is ...", and not "2 + 3 = 5" or "1. First ...".
_ALONE = re.compile(r"\W*(?!1[.)]\s)[\d.,/]*\d[^\d=+*/×]*?(?:[.:](?!\d)|[!?;(\n]|\Z)")
_MOST_DIGITS = 300  # of a number, and the largest exponent

_SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SCALES |= {"mio": 10**6, "mln": 10**6, "bn": 10**9, "mrd": 10**9, "lakh": 10**5, "crore": 10**7}
_LETTER_SCALES = {"k": 10**3, "m": 10**6, "mn": 10**6, "b": 10**9, "t": 10**12}
_PARTS = {"half": 2, "halves": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "eighth": 8}
_PARTS |= {"tenth": 10}
_PARTS |= {f"{name}s": n for name, n in _PARTS.items() if not name.endswith("s")}
_PART_OF = re.compile(r"\b(half|quarter|third)s? (?:of )?a (?=hundred|thousand|\w+illion)")  # half a million
_VULGAR = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅖": "2/5", "⅗": "3/5", "⅘": "4/5"}
_VULGAR |= {"⅙": "1/6", "⅚": "5/6", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8"}

_MONEY = "$€£¥₹"
_UNSIGNED = r"(?:\d{1,3}(?:[,\u00a0\u2009\u202f'’_ ]\d{3})+(?!\d)(?:\.\d+|(?<=[^,]\d{3}),\d+)?|\d+(?:[.,]\d+)*|\.\d+)"
_NUMBER = re.compile(
    rf"(?P<sign>(?<![\w)\]}}])-(?=[{_MONEY}\d.]))?(?P<money>[{_MONEY}]\s?(?P<sign2>-)?)?"
    rf"(?P<whole>{_UNSIGNED})(?:\^\{{?(?P<raised>-?\d+)\}}?)?(?:\s+(?P<mixed>\d+)\s*/\s*(?P<of>\d+)|\s*/\s*(?P<over>\d+(?:\.\d+)?)(?![\d/]))?"
    r"(?:\s*(?:[eE](?P<exponent>[+-]?\d+)\b|(?:[x×*]|\\times)\s*10\s*\^\s*\{?(?P<power>-?\d+)\}?))?"
    # 5k is 5000, but 5 K kelvins; m, b and t are millions and so on of money alone
    rf"(?P<scale>k\b|\s*(?:{'|'.join(_SCALES)})\b|\s?(?:mn|[mbt])\b(?(money)|(?=\s?[{_MONEY}])))?",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z]+")
_FRACTIONS = str.maketrans(_VULGAR)
_SIGNS = str.maketrans("−–⁄", "--/")
_SUPERSCRIPT = re.compile("[⁻⁰¹²³⁴-⁹]+")
_DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_PLAIN = [  # what is written otherwise first
    (re.compile(r"(?<=\d)\*\*(?=-?\d)"), "^"),
    (re.compile(r"(?<=[a-z}])\^\{?-?\d+\}?|(?<=\bm)[23]\b|(?<=\b[cdkm]m)[23]\b", re.IGNORECASE), ""),  # 5 cm^2
    (re.compile(r"(?<=\d) and a half\b", re.IGNORECASE), " 1/2"),
    (re.compile(rf"(?<![\d)\]}}] )(?<!\b[a-z] )\b(?:minus|negative) (?=[{_MONEY}\d.])", re.IGNORECASE), "-"),
    (re.compile(r"\bno one\b", re.IGNORECASE), ""),
    (re.compile(rf"\bnot [-{_MONEY}]*\d[\d.,/]*|(?:±|\+/-|\\pm)\s*\d[\d.,]*", re.IGNORECASE), ""),  # 5, not 6; 5 ± 1
    (re.compile(r"(?<![\d.])\d+(?::\d+)+"), ":"),  # 3:30 and 3:2 are no one number
    (re.compile(rf"(?<=\d)\s*(?=[{''.join(_VULGAR)}]|\\[cdt]?frac)"), " "),
    (re.compile(r"\\[cdt]?frac\s*(?:\{\s*(-?[\d.,]+)\s*\}|(\d))\s*(?:\{\s*([\d.]+)\s*\}|(\d))"), r"\1\2/\3\4"),
]


def conclusion(answer: str) -> str | None:
    """Return what an answer says after its last ``####``, ``\\boxed`` or "answer is"; None where it has none."""
    ends = [found.end() for found in _CONCLUSION.finditer(answer)]
    return answer[ends[-1] :] if ends else None


def read_number(answer: str) -> Fraction | None:
    """Return the number that an answer concludes with, exactly; None where it has none.

    That is the first one after its last ``####``, ``\\boxed`` or "answer is", else the last of the text. Thousands may
    be separated, a decimal comma is one where it cannot separate thousands, and ``1/2``, ``2 1/2``, ``½``,
    ``\\frac{1}{2}``, ``1.5e3``, ``10^6``, ``2 million``, ``5k``, ``$1.5M``, ``1,00,000`` and numbers in English words
    are read. Units, currencies and the per cent sign are passed over: 50 % is 50, and 3 km^2 is 3. So are ``not 6``,
    the 1 of ``5 ± 1``, and times and ratios (``3:30``).

    >>> [str(read_number(text)) for text in ("It costs $1,250.50.", "two and a half", "So 3 + 4 = 7 apples", "none")]
    ['2501/2', '5/2', '7', 'None']
    """
    plain = answer.translate(_SIGNS).replace("\\,", "").replace("\\$", "$").replace("{,}", ",")
    plain = _SUPERSCRIPT.sub(lambda match: f"^{match[0].translate(_DIGITS)}", plain)
    for pattern, written in _PLAIN:
        plain = pattern.sub(written, plain)
    plain = plain.replace("**", "").translate(_FRACTIONS)
    end = conclusion(plain)
    text = plain if end is None else end
    matches = list(_NUMBER.finditer(text))
    if end is None:
        matches.reverse()
    elif not _ALONE.match(text):  # the one that something *is* goes first: "the pension after 30 years is $500"
        matches.sort(key=lambda match: _IS.search(text, 0, match.start()) is None)
    found = next((value for match in matches if (value := _value(match)) is not None), None)
    return _in_words(text) if found is None else found


def _value(match: re.Match[str]) -> Fraction | None:
    part = match.groupdict()
    if len(match.group()) > _MOST_DIGITS:
        return None
    try:
        value = _decimal(part["whole"])
        if part["mixed"]:
            value += Fraction(int(part["mixed"]), int(part["of"]))
        elif part["over"]:
            value /= Fraction(part["over"])
        exponent, raised = int(part["exponent"] or part["power"] or "0"), int(part["raised"] or "1")
        if max(abs(exponent), abs(raised) * len(part["whole"])) > _MOST_DIGITS:
            return None
        value = value if raised == 1 else value**raised  # fractions are slow
    except (ZeroDivisionError, ValueError):
        return None
    scale = (part["scale"] or "").strip().lower()
    if exponent or scale:
        value *= Fraction(10) ** exponent * {**_SCALES, **_LETTER_SCALES}.get(scale, 1)
    return -value if part["sign"] or part["sign2"] else value


def _decimal(written: str) -> Fraction:
    """Return the value of digits with points, commas and blanks: which of these separates decimals is told by form."""
    digits = re.sub(r"[\u00a0\u2009\u202f'’_ ]", "", written)
    last = max(digits.rfind(","), digits.rfind("."))
    if last >= 0:
        mark, others = digits[last], digits[:last]
        in_threes = re.fullmatch(rf"(?!0)\d{{1,3}}(?:{re.escape(mark)}\d{{3}})+|[1-9]\d?(?:,\d\d)+,\d{{3}}", digits)
        if in_threes is not None and (mark == "," or mark in others):
            digits = digits.replace(mark, "")
        elif mark in others:
            raise ValueError("neither separates thousands nor decimals")  # 1.2.3
        else:
            digits = re.sub("[.,]", "", others) + "." + digits[last + 1 :]
    return Fraction(digits)


def _in_words(text: str) -> Fraction | None:
    """Return the last number that is written in English words, such as ``three hundred and five``."""
    found: Fraction | None = None
    total, current, open_ = Fraction(0), Fraction(0), False
    dozens = re.sub(r"\bhalf a dozen\b", "six", text.lower())  # in "48 dozen eggs" it is a unit
    words = _WORD.findall(_PART_OF.sub(r"\1 ", re.sub(r"\ba dozen\b", "twelve", dozens)))
    for i, word in enumerate([*words, ""]):
        if not open_:
            sign = -1 if words[max(i - 1, 0) : i] in (["minus"], ["negative"]) else 1
        if word in SMALL_NUMBERS:
            current, open_ = current + SMALL_NUMBERS[word], True
        elif word == "hundred" and (open_ or words[i - 1 : i] == ["a"]):
            current, open_ = (current or Fraction(1)) * 100, True
        elif word in _SCALES and (open_ or words[i - 1 : i] == ["a"]):
            total, current, open_ = total + (current or Fraction(1)) * _SCALES[word], Fraction(0), True
        elif word in _PARTS and (open_ or words[i - 1 : i] in (["a"], ["one"]) or word == "half"):
            is_mixed = words[max(i - 2, 0) : i] == ["and", "a"] and open_
            part = Fraction(1, _PARTS[word])
            found = total + current + part if is_mixed else (total + current or Fraction(1)) * part
            found *= sign * _SCALES.get(words[i + 1] if i + 1 < len(words) else "", 1)
            total, current, open_ = Fraction(0), Fraction(0), False
        elif not (open_ and word in ("and", "a")):
            found = sign * (total + current) if open_ else found
            total, current, open_ = Fraction(0), Fraction(0), False
    return found


def _near(first: Sequence[Fraction], second: Sequence[Fraction], tolerance: Fraction) -> Floats:
    pairs = zip(first, second, strict=True)
    return np.array([abs(a - b) <= tolerance * max(abs(a), abs(b)) for a, b in pairs], dtype=np.float64)


def _number_comparer(argument: str) -> Comparer:
    try:
        tolerance = Fraction(argument or 0)
    except ValueError:
        tolerance = Fraction(-1)
    if not 0 <= tolerance < 1:
        must = "have a share from 0 to 1 after number, such as number:0.01"
        raise input_error("compare_answers", "same", must, got=f"number:{argument}")
    return Comparer(lambda answer, _: read_number(answer), partial(_near, tolerance=tolerance) if tolerance else None)


_LETTER = r"[\"'(\[*$]*\s?([A-Z])\b\)?"
_SECOND = re.compile(r"[)\]*]*\s*(?:,\s*and|,|/|&|or|and)\s*[(\[*]*([A-Z])\b(?=[)\]*.\s]*(?:\n|\Z|,|/|&|or\b|and\b))")
_LETTERS = [
    re.compile(r"^\W*([A-Za-z])\W*$"),
    re.compile(r"(?i:answer(?:\s+is|\s*:))\s*\(?([a-z])\)?\W*$"),
    re.compile(rf"\bANSWER\s*:\s*{_LETTER}"),
    re.compile(
        rf"(?i:answer|choice|option)\"?(?i:\s+is|\s*:|\s*=)?\s*(?i:option\s+|choice\s+)?:?\s*{_LETTER}(?![\w'])"
    ),
    re.compile(rf"(?i:\b(?:choose|chose|pick|picked|select|selected|go with)\s+(?:option\s+)?){_LETTER}(?![\w'])"),
    re.compile(r"(?<![\w'])([A-Z])\)?\s+(?i:is|would be|seems)\s+(?i:the\s+)?(?i:correct|right|best|answer|most)\b"),
    re.compile(r"<answer>\s*([A-Z])\s*</answer>"),
    re.compile(r"\\boxed\{\s*(?:\\text\{)?\s*\(?([A-Z])\)?\s*\}"),
    re.compile(r"^\W*([A-Z])\s*[).:]"),
    re.compile(r"(?:\A|\n\n)[^\w\n]*([A-Z])[^\w\n]*(?:\n(?!\W*\w\b)|\s*\Z)"),
    re.compile(r"(?<!\bnot )(?<!\bthan )\(([A-Z])\)"),
]


def read_choice(answer: str, choices: Sequence[str] | None) -> int | str | None:
    """Return which choice an answer names, from 0; None where it names none, or several alike.

    It is named by its letter (``B``, ``(B)``, ``ANSWER: B``, ``the answer is B``, the last of several such), or by its
    text: the whole answer, else the only choice that stands in it. Without `choices` the letter is returned.

    >>> read_choice("I think the answer is (B).", ["red", "blue"]), read_choice("It is red.", ["red", "blue"])
    (1, 0)
    """
    written, texts = ([*map(form, choices or ())] for form in (str.strip, normalised))
    if answer.strip() in written:
        return written.index(answer.strip())
    if texts.count(whole := normalised(answer)) == 1:  # signs, which are passed over, may be all that differs
        return texts.index(whole)
    offered = string.ascii_uppercase if choices is None else string.ascii_uppercase[: len(texts)]
    for pattern in _LETTERS:
        named = [match for match in pattern.finditer(answer) if match[1].upper() in offered]
        if named:
            letter, second = named[-1][1].upper(), _SECOND.match(answer, named[-1].end())
            if second is not None and second[1] in offered and second[1] != letter:
                return None
            return letter if choices is None else offered.index(letter)
    for text in (conclusion(answer), answer):
        inside = [i for i, choice in enumerate(texts) if choice and f" {choice} " in f" {normalised(text or '')} "]
        inside = [i for i in inside if not any(i != j and f" {texts[i]} " in f" {texts[j]} " for j in inside)]
        if len(inside) == 1:
            return inside[0]
    return None


#: Names of each month, in English, German, French, Spanish, Italian, Portuguese and Dutch.
_MONTHS = (
    r"jan(?:uar[yi]?|vier|eiro)?|jänner|enero|gennaio",
    r"feb(?:ruar[yi]?|rero|braio)?|février|fevereiro",
    r"mar(?:ch|s|zo)?|märz|março|maart",
    r"apr(?:ile?)?|avril|abril",
    r"ma[iy]|mayo|maggio|maio|mei",
    r"jun[ei]?|juin|junio|giugno|junho",
    r"jul[yi]?|juillet|julio|luglio|julho",
    r"aug(?:ust(?:us)?)?|août|agosto",
    r"sept?(?:embe?r|embre|iembre)?|settembre|setembro",
    r"o[ck]t(?:ober|obre|ubre)?|ottobre|outubro",
    r"nov(?:embe?r|embre|iembre|embro)?",
    r"de[cz](?:embe?r|embre|embro)?|décembre|di[cz]iembre|dicembre",
)
_MONTH = rf"(?P<name>{'|'.join(_MONTHS)})\.?"
_DAY = r"(?:the\s+)?(?P<day>\d{1,2})(?:st|nd|rd|th|er|º)?"
_OF = r"(?:(?:of|del?)\s+)?"
_YEAR = r"(?P<year>\d{4})"
_DATES = [
    rf"{_YEAR}(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}})(?:T[\d:.]+Z?)?",
    rf"{_DAY}\.?[\s-]+{_OF}{_MONTH},?[\s-]+{_OF}{_YEAR}",
    rf"{_MONTH}\s*{_DAY}(?:,\s*|\s+){_YEAR}",
    rf"{_YEAR},?\s+{_MONTH}\s+{_DAY}",
    rf"(?P<first>\d{{1,2}})(?P<mark>[-./])(?P<second>\d{{1,2}})(?P=mark){_YEAR}",
    rf"{_MONTH},?\s+{_OF}{_YEAR}",
    rf"{_YEAR}-(?P<month>0[1-9]|1[0-2])",
    rf"(?P<month>0?[1-9]|1[0-2])/{_YEAR}",
    rf"{_DAY}\.?\s+{_OF}{_MONTH}|{_MONTH.replace('name', 'name2')}\s+{_DAY.replace('day', 'day2')}",
    r"(?P<year>1\d{3}|20\d{2})",
]
_ANY_DATE = [re.compile(rf"(?<![\w.])(?:{pattern})(?!\w)", re.IGNORECASE) for pattern in _DATES]


def read_date(answer: str, order: str = "") -> tuple[int, int, int] | None:
    """Return the date that an answer concludes with, as (year, month, day), 0 for what it leaves open; else None.

    ``2020-03-04``, ``4 March 2020``, ``March 4th, 2020``, ``March 2020``, ``2020-03``, ``03/2020``, ``4 March`` and
    ``2020`` are read, and months in seven languages: ``4. März 2020``.
    ``3/4/2020`` is read in the `order` ``dmy`` or ``mdy``, and without one only where the day is above 12 or both are
    the same. The first date after "the answer is" counts, else the last of the most complete kind.

    >>> read_date("It was signed on July 4, 1776."), read_date("13.5.2001"), read_date("3/4/2020"), read_date("soon")
    ((1776, 7, 4), (2001, 5, 13), None, None)
    """
    end = conclusion(answer)
    for text, last in ((end or "", False), (answer, True)):
        for pattern in _ANY_DATE:
            found = list(pattern.finditer(text))
            if found:
                return _date(found[-1 if last else 0].groupdict(), order)
    return None


def _date(part: dict[str, str | None], order: str) -> tuple[int, int, int] | None:
    year, day = int(part.get("year") or 0), int(part.get("day") or part.get("day2") or 0)
    month = int(part.get("month") or 0)
    if name := part.get("name") or part.get("name2"):
        month = 1 + next(i for i, names in enumerate(_MONTHS) if re.fullmatch(names, name, re.IGNORECASE))
    if part.get("first"):
        day, month = int(part["first"] or 0), int(part["second"] or 0)
        if order == "mdy" or (not order and day <= 12 < month):
            day, month = month, day
        elif not order and day <= 12 and month <= 12 and day != month:
            return None
    try:
        date(year or 2000, month or 1, day or 1)
    except ValueError:
        return None
    return year, month, day


def _date_comparer(argument: str) -> Comparer:
    if argument not in ("", "dmy", "mdy"):
        raise input_error("compare_answers", "same", "have dmy or mdy after date", got=f"date:{argument}")
    return Comparer(lambda answer, _: read_date(answer, argument))


def _regex_comparer(argument: str) -> Comparer:
    """Return a comparer of the first group that is matched last, or of the whole match."""
    must = "have a regular expression after regex, such as regex:ANSWER: (\\w+)"
    if not argument:
        raise input_error("compare_answers", "same", must, got="regex")
    try:
        pattern = re.compile(argument)
    except re.error as problem:
        raise input_error("compare_answers", "same", must, got=argument, remedy=f"It says: {problem}.") from None

    def read(answer: str, _: Sequence[str] | None) -> str | None:
        found = [match.group(min(pattern.groups, 1)) for match in pattern.finditer(answer)]
        return found[-1] if found else None

    return Comparer(read)


NUMBER = ComparerSpec(
    name="number",
    title="the numbers that they conclude with are equal (1/2, 0.5 and 'a half' are)",
    make=_number_comparer,
    argument="a relative tolerance, 0 by default; with one it is not transitive",
    unread="answers without a number",
)
CHOICE = ComparerSpec(
    name="choice",
    title="they name the same choice, by its letter or its text",
    make=lambda _: Comparer(read_choice),
    needs="the choices, for texts",
    unread="answers that name no choice, or several",
)
DATE = ComparerSpec(
    name="date",
    title="they conclude with the same date, equally complete",
    make=_date_comparer,
    argument="dmy or mdy, for 3/4/2020",
    unread="answers without a date, and 3/4/2020 without an order",
)
REGEX = ComparerSpec(
    name="regex",
    title="what a pattern last finds in them is equal: its first group, else all of it",
    make=_regex_comparer,
    argument="the pattern",
    unread="answers in which it finds nothing",
)
