"""Dates, amounts, identifiers and numbers are read as values."""

from __future__ import annotations

import time
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_lab.core.values import KnownValues, Value, find_values, is_identifier, number_readings


def only(text: str) -> Value:
    values = find_values(text)
    assert len(values) == 1, values
    return values[0]


def is_known(text: str, *sources: str) -> bool:
    return only(text) in KnownValues(sources)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("25/08/2026", "2026-08-25"),
        ("25.08.2026", "2026-08-25"),
        ("2026-08-25", "2026-08-25"),
        ("2026-08-25T09:30", "2026-08-25"),
        ("26 August 2026", "2026-08-26"),
        ("26th of Aug, 2026", "2026-08-26"),
        ("August 26, 2026", "2026-08-26"),
        ("25/08/26", "2026-08-25"),
        ("August 2026", "2026-08"),
        ("25 August", "--08-25"),
    ],
)
def test_dates_are_read_in_every_spelling(text: str, canonical: str) -> None:
    value = find_values(f"Bought on {text}.")[0]
    assert (value.kind, value.canonical, value.text) == ("date", canonical, text.split("T")[0])


def test_an_ambiguous_date_keeps_both_readings_and_matches_by_either() -> None:
    assert only("05/08/2026").readings == {"2026-08-05", "2026-05-08"}
    assert is_known("5 August 2026", "delivered 05/08/2026")
    assert is_known("8 May 2026", "delivered 05/08/2026")
    assert not is_known("6 August 2026", "delivered 05/08/2026")


def test_the_next_day_is_another_date() -> None:
    assert is_known("2026-08-25", "Bought on 25/08/2026 in Pune")
    assert not is_known("26 August 2026", "Bought on 25/08/2026 in Pune")


def test_a_part_of_a_known_date_is_known_but_a_whole_one_needs_its_year() -> None:
    assert is_known("August 2026", "on 25/08/2026")
    assert is_known("25 August", "on 25/08/2026")
    assert not is_known("25 August 2026", "on 25 August")
    assert is_known("25 August 2026", "on 25 August", "the year is 2026")


@pytest.mark.parametrize("text", ["31/02/2026", "99/99/2026", "2026-13-01", "29 February 2027"])
def test_a_day_that_the_calendar_does_not_have_is_no_full_date(text: str) -> None:
    assert all(len(value.canonical) < 10 for value in find_values(text) if value.kind == "date")


def test_a_verb_that_is_also_a_month_is_no_date() -> None:
    assert [v.kind for v in find_values("you may 5 times march 3 miles")] == ["number", "number"]


@pytest.mark.parametrize(
    "text",
    [
        "3,499 rupees",
        "Rs 3,499",
        "Rs. 3499/-",
        "₹3,499.00",
        "INR 3499",
        "3499 INR",
        "₹3\u202f499",
        "₹3'499",
        "३,४९९ rupees",
    ],
)
def test_an_amount_equals_the_same_amount_in_another_spelling(text: str) -> None:
    value = only(text)
    assert (value.kind, value.canonical) == ("amount", "3499 INR")
    assert is_known(text, "The price was 3499 rupees")
    assert is_known(text, "The price was 3499")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("₹1,00,000", "100000 INR"),
        ("12,34,567 rupees", "1234567 INR"),
        ("$1,234,567.89", "1234567.89 USD"),
        ("EUR 3.499,50", "3499.5 EUR"),
        ("$2 million", "2000000 USD"),
        ("$3k", "3000 USD"),
        ("Rs 3.5 lakh", "350000 INR"),
        ("12,50 €", "12.5 EUR"),
    ],
)
def test_amounts_with_grouping_decimals_and_multiples(text: str, canonical: str) -> None:
    assert only(text).canonical == canonical


def test_another_currency_is_another_amount() -> None:
    assert not is_known("$3,499", "The price was ₹3499")
    assert is_known("₹3,499", "The price was Rs 3499")
    assert is_known("US$3,499", "The price was $3499")
    assert not is_known("CAD 3499", "The price was US$3499")


def test_a_value_inside_a_longer_one_is_not_known() -> None:
    source = "The meter is MTR-918834 and the fee is Rs 13,499"
    assert not is_known("Rs 3,499", source)
    assert is_known("Rs 13499", source)
    assert not is_known("MTR-91883", source)
    assert not is_known("INV-55821", "INV-558219 and XINV-55821")


@pytest.mark.parametrize("text", ["INV-55821", "inv-55821", "INV/55821", "INV 55821", "INV55821", "INV\u201155821"])
def test_an_identifier_is_the_same_in_another_spelling(text: str) -> None:
    assert only(text).kind == "identifier"
    assert is_known(text, "invoice INV-55821")
    assert not is_known(text, "invoice INV-55822")


def test_an_identifier_keeps_its_inner_borders() -> None:
    assert not is_known("AB-12-345", "AB-123-45")


@pytest.mark.parametrize("text", ["invoice 55821", "Order no. 55821", "#55821", "ticket number: 55821"])
def test_a_number_that_is_said_to_be_one_is_an_identifier(text: str) -> None:
    assert [(v.kind, v.canonical) for v in find_values(text)] == [("identifier", "55821")]
    assert find_values(text)[0] in KnownValues(["its number is 55821"])


@pytest.mark.parametrize(
    "token",
    ["COVID-19", "mp3", "H2O", "15-day", "mid-2026", "1500kg", "1500px", "Q3-2026", "Boeing-747", "hello", "1234"],
)
def test_measures_years_and_models_are_no_identifiers(token: str) -> None:
    assert not is_identifier(token)


def test_counts_and_durations_are_bare_numbers() -> None:
    values = find_values("within 15 days after 4 tries, at 10:30, 5kg")
    assert [(v.kind, v.canonical) for v in values] == [
        ("number", "15"), ("number", "4"), ("number", "10:30"), ("number", "5"),
    ]  # fmt: skip


def test_a_list_marker_is_no_number() -> None:
    assert [v.canonical for v in find_values("1. first\n 2) second has 3")] == ["3"]


def test_a_point_before_three_digits_has_two_readings() -> None:
    assert number_readings("7.351") == ("7351", "7.351")
    assert number_readings("0.125") == ("0.125",)
    assert number_readings("7.35") == ("7.35",)
    assert number_readings("1.2.3") == ()


@settings(deadline=None)
@given(st.dates(min_value=date(1950, 1, 1), max_value=date(2099, 12, 31)))
def test_every_spelling_of_a_day_is_known_from_every_other(day: date) -> None:
    spellings = [
        day.isoformat(),
        f"{day.day:02}/{day.month:02}/{day.year}",
        f"{day.day}.{day.month}.{day.year}",
        f"{day.day} {day:%B} {day.year}",
        f"{day:%B} {day.day}, {day.year}",
    ]
    for spelling in spellings:
        for source in spellings:
            assert is_known(spelling, f"It was on {source}, they said.")


def indian(number: int) -> str:
    digits = str(number)
    head, tail = digits[:-3], digits[-3:]
    groups = [head[max(0, end - 2) : end] for end in range(len(head), 0, -2)][::-1]
    return ",".join([*groups, tail])


@settings(deadline=None)
@given(st.integers(min_value=0, max_value=10**15))
def test_every_grouping_of_a_number_has_one_value(number: int) -> None:
    spellings = [
        f"{number}",
        f"{number:,}",
        indian(number),
        *(f"{number:,}".replace(",", s) for s in "\u00a0\u2009\u202f'’"),
    ]
    assert {number_readings(spelling)[0] for spelling in spellings} == {str(number)}
    for spelling in spellings:
        assert is_known(f"₹{spelling}", f"It costs {number} rupees.")


@settings(deadline=None)
@given(st.text(max_size=300))
def test_values_of_any_text_are_its_own_spans_in_order_without_overlap(text: str) -> None:
    values = find_values(text)
    end = 0
    for value in values:
        assert end <= value.start < value.end
        assert text[value.start : value.end] == value.text
        assert value.readings
        end = value.end


@settings(deadline=None)
@given(st.text(alphabet="0123456789,.'-/:#₹$ RsINVAug abc\u00a0\n", max_size=200))
def test_a_text_knows_its_own_values(text: str) -> None:
    known = KnownValues([text])
    assert all(value in known for value in find_values(text))


@pytest.mark.parametrize("unit", ["1'", "1,", "9", "a-", "1 ", "A1-", "$", "May ", "1:1", "Rs 1", "1.", "#1"])
def test_reading_takes_time_in_proportion_to_the_text(unit: str) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        start = time.process_time()
        find_values(text)
        return time.process_time() - start

    # Four times the text may take four times as long; sixteen times would be the square.
    small, large = min(seconds(5_000) for _ in range(3)), min(seconds(20_000) for _ in range(3))
    assert large < 10 * small + 0.05
