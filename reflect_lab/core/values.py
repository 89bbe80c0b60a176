"""Dates, amounts, identifiers and bare numbers of a text, read as values, so that `3,499 rupees` equals `3499`.

What is ambiguous keeps every reading (`05/08/2026` is in May or in August), and a value is known when any of its
readings is. A value inside a longer one is never found: tokens are read whole, so `3,499` is not in `13,499` and
`55821` is not in `INV-558219`. All offsets are code points of the original text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from decimal import Context, Decimal
from typing import Literal

ValueKind = Literal["date", "amount", "identifier", "number"]

_GROUPING = ",'\u2019\u00a0\u2009\u202f"
_DIGITS = rf"[0-9]+(?:[{_GROUPING}.][0-9]+)*"
_WESTERN = re.compile(rf"([0-9]{{1,3}})((?:([{_GROUPING}])[0-9]{{3}})(?:\3[0-9]{{3}})*)(?:\.([0-9]+))?")
_INDIAN = re.compile(rf"([0-9]{{1,2}})((?:([{_GROUPING}])[0-9]{{2}})(?:\3[0-9]{{2}})*\3[0-9]{{3}})(?:\.([0-9]+))?")
_POINTS = re.compile(r"([1-9][0-9]{0,2})((?:\.[0-9]{3})+)(?:,([0-9]{1,2}))?")
_DECIMAL = re.compile(r"([0-9]+)(?:\.([0-9]+)|,([0-9]{1,2}))?")

_CURRENCY_SIGNS = {"₹": "INR", "€": "EUR", "£": "GBP", "¥": "JPY", "$": "$", "us$": "USD", "rs": "Rs", "rs.": "Rs"}
_CODES = "INR|USD|EUR|GBP|JPY|CNY|CHF|AUD|CAD|NZD|SGD|HKD|SEK|NOK|DKK|PLN|CZK|BRL|ZAR|AED|SAR|PKR|NPR|LKR|BDT|KRW"
_CURRENCY_WORDS = {
    "rupee": "Rs", "rupees": "Rs", "dollar": "$", "dollars": "$", "euro": "EUR", "euros": "EUR", "yen": "JPY",
    "yuan": "CNY", "franc": "CHF", "francs": "CHF", "dirham": "AED", "dirhams": "AED", "pounds sterling": "GBP",
}  # fmt: skip
_LIKELIEST = {"$": "USD", "Rs": "INR"}
_FAMILIES = {"$": {"USD", "AUD", "CAD", "NZD", "SGD", "HKD"}, "Rs": {"INR", "PKR", "NPR", "LKR"}}
_MULTIPLES = {
    "lakh": 10**5, "lakhs": 10**5, "crore": 10**7, "crores": 10**7, "thousand": 10**3, "million": 10**6,
    "billion": 10**9, "k": 10**3, "m": 10**6, "bn": 10**9,
}  # fmt: skip
_MULTIPLE = r"(?:\s?(lakhs?|crores?|thousand|million|billion)\b|(k|m|bn)\b)?"
_BEFORE = r"(?<!\w)(?<!\w[-_/#])"
_AMOUNTS = (
    re.compile(rf"{_BEFORE}(?i:(us\$|rs\.?|[₹€£¥$]|\b(?:{_CODES})\b))\s?({_DIGITS})(?i:{_MULTIPLE})(?![\w])"),
    re.compile(
        rf"{_BEFORE}(?<![0-9][.{_GROUPING}])({_DIGITS})(?i:{_MULTIPLE}\s?([₹€£¥$](?!\s?[0-9])|(?:{'|'.join(_CURRENCY_WORDS)}|{_CODES}|rs)\b))"
    ),
)

_MONTHS = {name.casefold(): n for n, names in enumerate(
    ("January Jan", "February Feb", "March Mar", "April Apr", "May", "June Jun", "July Jul", "August Aug",
     "September Sept Sep", "October Oct", "November Nov", "December Dec"), 1) for name in names.split()}  # fmt: skip
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY = r"([0-9]{1,2})(?:st|nd|rd|th)?"
_AFTER = r"(?![\w])(?![-/.:,][0-9])"
_ISO = re.compile(rf"{_BEFORE}(?<![0-9][.,])([0-9]{{4}})([-/.])([0-9]{{1,2}})\2([0-9]{{1,2}})(?:{_AFTER}|(?=T[0-9]))")
_SLASHED = re.compile(rf"{_BEFORE}(?<![0-9][.,])([0-9]{{1,2}})([-/.])([0-9]{{1,2}})\2([0-9]{{4}}|[0-9]{{2}}){_AFTER}")
_DAY_MONTH = re.compile(
    rf"{_BEFORE}(?i:{_DAY}(?:\s{{1,3}}of)?[\s-]{{1,3}}({_MONTH})\b)(?:\.?,?[\s-]{{1,3}}([0-9]{{4}}){_AFTER})?"
)
_MONTH_DAY = re.compile(rf"{_BEFORE}(?i:({_MONTH})\.?\s{{1,3}}{_DAY}){_AFTER}(?:,?\s{{1,3}}([0-9]{{4}}){_AFTER})?")
_MONTH_YEAR = re.compile(rf"{_BEFORE}(?i:({_MONTH})\.?),?\s{{1,3}}([0-9]{{4}}){_AFTER}")

_TOKEN = re.compile(r"(?<!\w)(?:[A-Z]{2,5} (?=[0-9]{5,}(?!\w)))?[A-Za-z0-9]+(?:[-_/#][A-Za-z0-9]+)*(?!\w)")
_NUMBERED = re.compile(
    r"(?<!\w)(?i:(?:invoice|ticket|receipt|reference|ref|tracking|complaint|docket)\.?(?:\s(?:no\.?|number|num|id))?"
    r"|(?:order|case|policy|claim|meter|account|booking|serial|customer|phone)\s(?:no\.?|number|num|id))"
    r"[:\s]{0,2}\s?#?([0-9]{4,})(?!\w)(?![-/.,][0-9])"
)
_HASHED = re.compile(r"(?<!\w)#([0-9]{3,})(?!\w)(?![-/.,][0-9])")
_NUMBER = re.compile(
    rf"(?<![A-Za-z0-9_])(?<![A-Za-z_][-_/#])(?:[0-9]{{1,2}}(?::[0-9]{{2}}){{1,2}}(?![0-9:])|{_DIGITS})"
)
_LIST_MARKER = re.compile(r"(?m)^[ \t]*[0-9]{1,3}[.)](?=[ \t])")


@dataclass(frozen=True, kw_only=True)
class Value:
    """One value of a text. `canonical` is its first reading, in one spelling (`2026-08-25`, `3499 INR`, `INV-55821`).

    Readings of dates are ISO 8601, also partial (`2026-08`, `--08-25`); of amounts and numbers plain decimals.
    `currency` is an ISO code, or `Rs` and `$` where several currencies share the name.
    """

    kind: ValueKind
    canonical: str
    text: str
    start: int
    end: int
    readings: frozenset[str]
    currency: str | None = None


def find_values(text: str) -> tuple[Value, ...]:
    """All values of a text in order of their place. No two overlap."""
    if not text.isascii() and _UNSEEN.search(text):
        return _seen_values(text)
    plain = _plain(text)
    taken = bytearray(len(text))
    found: list[Value] = []
    for match in _LIST_MARKER.finditer(plain):
        taken[match.start() : match.end()] = b"\1" * len(match.group())
    for read, pattern in _READERS:
        for match in pattern.finditer(plain):
            start, end = match.span()
            if any(taken[start:end]):
                continue
            for value in read(match, text):
                found.append(value)
                taken[value.start : value.end] = b"\1" * (value.end - value.start)
    return tuple(sorted(found, key=lambda v: v.start))


def _seen_values(text: str) -> tuple[Value, ...]:
    """The values of a text as it looks, without its invisible characters; at their places in the text as it is."""
    places = [place for place, c in enumerate(text) if not _UNSEEN.match(c)]
    found = []
    for value in find_values("".join(text[place] for place in places)):
        start, end = places[value.start], places[value.end - 1] + 1
        found.append(replace(value, text=text[start:end], start=start, end=end))
    return tuple(found)


class KnownValues:
    """The values that some sources hold. Knows what a text's value would have to equal."""

    def __init__(self, texts: Iterable[str]) -> None:
        values = [value for text in texts for value in find_values(text)]
        self._identifiers = {r for v in values if v.kind == "identifier" for r in v.readings}
        self._numbers = {r for v in values if v.kind == "number" for r in v.readings}
        self._amounts: dict[str, set[str | None]] = {}
        for value in values:
            if value.kind == "amount":
                for reading in value.readings:
                    self._amounts.setdefault(reading, set()).add(value.currency)
        self._dates = _closure({r for v in values if v.kind == "date" for r in v.readings}, self._numbers)
        self._years = {known[:4] for known in self._dates}

    @property
    def readings(self) -> set[str]:
        """Every reading that a value must have one of to be known; not each value that has one is."""
        return {*self._identifiers, *self._numbers, *self._amounts, *self._dates, *self._years}

    def __contains__(self, value: Value) -> bool:
        """Whether any reading of the value stands in the sources, whatever its spelling there."""
        if value.kind == "date":
            return not value.readings.isdisjoint(self._dates)
        if value.kind == "identifier":
            digits = {r for r in value.readings if r.isdigit()}
            return not value.readings.isdisjoint(self._identifiers) or not digits.isdisjoint(self._numbers)
        if not value.readings.isdisjoint(self._numbers):
            return True
        if value.kind == "number":
            others = (self._amounts.keys(), self._identifiers, self._years)
            return any(not value.readings.isdisjoint(other) for other in others)
        currencies = [c for r in value.readings for c in self._amounts.get(r, ())]
        return any(_same_currency(value.currency, currency) for currency in currencies)


def _closure(dates: set[str], numbers: set[str]) -> set[str]:
    """Dates and what follows from them: a full date holds its month and its day; a day without a year is of any year
    that the sources name."""
    years = {n for n in numbers if re.fullmatch(r"(?:19|20)[0-9]{2}", n)} | {d[:4] for d in dates if d[0] != "-"}
    closed = set(dates)
    for known in dates:
        if known.startswith("--"):
            closed |= {f"{year}{known[1:]}" for year in years} | {f"{year}{known[1:4]}" for year in years}
        elif len(known) == 10:
            closed |= {known[:7], f"-{known[4:]}"}
    return closed


def _same_currency(one: str | None, other: str | None) -> bool:
    if one is None or other is None or one == other:
        return True
    return other in _FAMILIES.get(one, ()) or one in _FAMILIES.get(other, ())


def number_readings(text: str) -> tuple[str, ...]:
    """What a number's digits may mean, as plain decimals, the likeliest first; empty where they are no one number.

    Comma, Indian grouping, apostrophes, no-break and thin spaces separate thousands; so does the point where groups of
    three follow (`7.351` is read as 7351 and as 7.351); a comma with one or two digits after it is a decimal comma.
    """
    for pattern in (_WESTERN, _INDIAN):
        if match := pattern.fullmatch(text):
            return (_decimal(match[1] + re.sub(r"[^0-9]", "", match[2]), match[4]),)
    if match := _POINTS.fullmatch(text):
        joined = _decimal(match[1] + match[2].replace(".", ""), match[3])
        is_ambiguous = len(match[2]) == 4 and match[3] is None
        return (joined, _decimal(match[1], match[2][1:])) if is_ambiguous else (joined,)
    if match := _DECIMAL.fullmatch(text):
        return (_decimal(match[1], match[2] or match[3]),)
    return ()


def _decimal(whole: str, part: str | None) -> str:
    part = (part or "").rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{part}" if part else "")


def _plain(text: str) -> str:
    """The text with digits of other scripts and other hyphens as ASCII, code point by code point."""
    if text.isascii():
        return text
    digits = (str(unicodedata.decimal(c)) if c.isdecimal() else _PLAIN.get(c, c) for c in text)
    plain = "".join(digits)
    # A longer dash is a hyphen within an identifier or a date of digits; elsewhere it parts (`25–27 August`).
    return _DASHED.sub(lambda match: re.sub("[\u2012-\u2015\u2212]", "-", match[0]), plain)


_PLAIN = {chr(0xFEE0 + code): chr(code) for code in range(0x21, 0x7F)} | {"\u3000": " ", "\u2010": "-", "\u2011": "-"}
"""Full-width characters and hyphens by the ASCII ones that they stand for."""
_UNSEEN = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe0e\ufe0f\ufeff]")
_DASH = "[-\u2012-\u2015\u2212]"
_DASHED = re.compile(
    rf"(?<![\w-])(?:[A-Z]{{1,6}}{_DASH}[0-9]{{3,}}|[0-9]{{4}}{_DASH}[0-9]{{1,2}}{_DASH}[0-9]{{1,2}}"
    rf"|[0-9]{{1,2}}{_DASH}[0-9]{{1,2}}{_DASH}[0-9]{{4}})(?!\w)"
)


def _value(
    kind: ValueKind, span: tuple[int, int], text: str, readings: Iterable[str], currency: str | None = None
) -> Value:
    kept = tuple(readings)
    canonical = f"{kept[0]} {_LIKELIEST.get(currency, currency)}" if currency else kept[0]
    start, end = span
    return Value(
        kind=kind, canonical=canonical, text=text[start:end], start=start, end=end, readings=frozenset(kept),
        currency=currency,
    )  # fmt: skip


def _read_iso(match: re.Match[str], text: str) -> Iterator[Value]:
    if day := _date(match[1], match[3], match[4]):
        yield _value("date", match.span(), text, [day])


def _read_slashed(match: re.Match[str], text: str) -> Iterator[Value]:
    year = match[4]
    if len(year) == 2:
        if match[2] == "." or len(match[1]) == 1 or len(match[3]) == 1:
            return
        year = ("20" if int(year) < 70 else "19") + year
    days = [d for d in (_date(year, match[3], match[1]), _date(year, match[1], match[3])) if d]
    if days:
        yield _value("date", match.span(), text, days)


def _read_day_month(match: re.Match[str], text: str) -> Iterator[Value]:
    return _named_month(match, text, match[2], match[1], match[3])


def _read_month_day(match: re.Match[str], text: str) -> Iterator[Value]:
    return _named_month(match, text, match[1], match[2], match[3])


def _named_month(match: re.Match[str], text: str, name: str, day: str, year: str | None) -> Iterator[Value]:
    month = str(_MONTHS[name.casefold()])
    # Without a year a small letter makes it a word: "2 may leave", "march 3 times".
    full = _date(year or "2000", month, day)
    if full and (year or name[0].isupper()):
        yield _value("date", match.span(), text, [full if year else f"-{full[4:]}"])


def _read_month_year(match: re.Match[str], text: str) -> Iterator[Value]:
    yield _value("date", match.span(), text, [f"{match[2]}-{_MONTHS[match[1].casefold()]:02d}"])


def _date(year: str, month: str, day: str) -> str | None:
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return None


def _read_amount_after_sign(match: re.Match[str], text: str) -> Iterator[Value]:
    return _amount(match, text, match[1], match[2], match[3] or match[4])


def _read_amount_before_word(match: re.Match[str], text: str) -> Iterator[Value]:
    return _amount(match, text, match[4], match[1], match[2] or match[3])


def _amount(match: re.Match[str], text: str, sign: str, digits: str, multiple: str | None) -> Iterator[Value]:
    readings = number_readings(digits)
    if multiple and readings:
        context = Context(prec=60)
        scaled = [context.multiply(Decimal(r[:50]), Decimal(_MULTIPLES[multiple.casefold()])) for r in readings]
        readings = tuple(_decimal(*f"{value:f}.".split(".")[:2]) for value in scaled)
    word = sign.casefold()
    currency = _CURRENCY_SIGNS.get(word) or _CURRENCY_WORDS.get(word) or sign.upper()
    if readings:
        yield _value("amount", match.span(), text, readings, currency)


def _read_numbered(match: re.Match[str], text: str) -> Iterator[Value]:
    yield _value("identifier", match.span(1), text, [match[1]])


def _read_token(match: re.Match[str], text: str) -> Iterator[Value]:
    token = match.group().replace(" ", "-")
    if is_identifier(token):
        spelled = re.sub(r"[_/#]", "-", token.upper())
        compact = re.sub(r"(?<=[A-Z])-(?=[0-9])", "", spelled)
        yield _value("identifier", match.span(), text, [spelled, compact])


def is_identifier(token: str) -> bool:
    """Whether a token names one thing (`INV-55821`, `KET-7731`, `AB12C3`), rather than a measure, year or model.

    It has letters and three digits or more; its letters are capitals, or short and parted from the digits.
    """
    runs = re.findall(r"[A-Za-z]+", token)
    digits = re.findall(r"[0-9]+", token)
    if not runs or sum(map(len, digits)) < 3:
        return False
    if re.fullmatch(r"[0-9]+[A-Za-z]{1,4}|[0-9]+(?:-[a-z]+)+|[A-Za-z][a-z]*-(?:19|20)[0-9]{2}|Q[1-4]-[0-9]{4}", token):
        return False
    if all(run.isupper() for run in runs):
        return True
    is_parted = re.search(r"[A-Za-z][-_/#][0-9]", token) is not None
    return is_parted and max(map(len, digits)) >= 3 and all(run.isupper() or len(run) <= 5 for run in runs)


def _read_number(match: re.Match[str], text: str) -> Iterator[Value]:
    digits, start = match.group(), match.start()
    if ":" in digits:
        yield _value("number", match.span(), text, [digits])
    elif readings := number_readings(digits):
        yield _value("number", match.span(), text, readings)
    else:
        for piece in re.finditer(r"[0-9]+", digits):
            yield _value("number", (start + piece.start(), start + piece.end()), text, [_decimal(piece.group(), None)])


_READERS: tuple[tuple[Callable[[re.Match[str], str], Iterator[Value]], re.Pattern[str]], ...] = (
    (_read_iso, _ISO),
    (_read_slashed, _SLASHED),
    (_read_day_month, _DAY_MONTH),
    (_read_month_day, _MONTH_DAY),
    (_read_month_year, _MONTH_YEAR),
    (_read_amount_after_sign, _AMOUNTS[0]),
    (_read_amount_before_word, _AMOUNTS[1]),
    (_read_numbered, _NUMBERED),
    (_read_numbered, _HASHED),
    (_read_token, _TOKEN),
    (_read_number, _NUMBER),
)
