"""The ground `absent`: what stands in the draft and in no source."""

from __future__ import annotations

import pytest

from reflect_lab.core.absent import find_names
from reflect_lab.core.assessment import judge
from reflect_lab.core.critique import RaisedIssue
from reflect_lab.core.evidence import Evidence, Finding, Location
from reflect_lab.core.grounding import Grounded, Sources
from reflect_lab.core.policy import Policy
from reflect_lab.core.run import Draft
from reflect_lab.core.task import Fact, Requirement, Task

LETTER = Task(
    text="Write a letter to the shop about a broken mixer grinder.",
    requirements=(Requirement(id="R1", text="gives the shop a deadline in days"),),
    facts=(
        Fact(index=0, text="bought on 12 June 2026 from Lal Stores"),
        Fact(index=1, text="it cost 3,499 rupees"),
        Fact(index=2, text="two visits brought no repair"),
    ),
)
DRAFT = (
    "To the manager, Lal Stores: the mixer that I bought on 12/06/2026 for Rs 3499 (invoice INV-55821) is broken. "
    "After 2 visits your engineer Ravi promised help by 5 August. Please repair it within 15 days."
)
FACTS_CHECK = Evidence(
    source="facts",
    kind="facts",
    rank="deterministic",
    status="failed",
    text="the identifier INV-55821 stands in no fact, requirement or task text",
    findings=(
        Finding(
            id="INV-55821",
            status="failed",
            message="the identifier INV-55821 stands in no fact, requirement or task text",
            location=Location(kind="quote", value="INV-55821"),
        ),
    ),
)


def ground(
    evidence: str,
    location: str | None = None,
    suggestion: str = "",
    task: Task = LETTER,
    draft: str = DRAFT,
    checks: tuple[Evidence, ...] = (),
) -> Grounded | str:
    issue = RaisedIssue(id="a", severity="blocking", evidence=evidence, location=location, suggestion=suggestion)
    return Sources(task, Draft(index=0, text=draft), checks, Policy()).ground(issue)


@pytest.mark.parametrize(
    ("evidence", "key", "text"),
    [
        ("where does INV-55821 come from", "INV-55821", "INV-55821"),
        ("inv-55821 is made up", "INV-55821", "INV-55821"),
        ("nobody said August 5", "--08-05", "5 August"),
        ("who is ravi", "Ravi", "Ravi"),
        ("why 15 days", "15", "15"),
        ("Ravi came with INV-55821", "INV-55821", "INV-55821"),
    ],
)
def test_a_value_or_name_that_only_the_draft_holds_is_a_ground_with_offsets_into_the_draft(
    evidence: str, key: str, text: str
) -> None:
    found = ground(evidence)
    assert isinstance(found, Grounded)
    assert (found.ground.kind, found.ground.source, found.key, found.requirement) == ("absent", "draft", key, None)
    assert DRAFT[found.ground.start : found.ground.end] == text


@pytest.mark.parametrize(
    "evidence",
    [
        "the sum Rs 3,499 is odd",  # a fact, with another separator
        "it says 12th June, 2026",
        "2 visits seem few",  # a fact says two
        "why call them Lal",
        "INV-55822 was invented",  # stands nowhere in the draft
        "INV-558211 was invented",
        "please be kinder",  # opens a sentence of the draft
        "see step 15",  # a place, no value
        "lines 3 to 15",
    ],
)
def test_what_a_source_holds_or_the_draft_does_not_is_not_absent(evidence: str) -> None:
    assert isinstance(ground(evidence), str)


def test_the_location_may_point_at_it_and_the_suggestion_never() -> None:
    found = ground("", location="INV-55821")
    assert isinstance(found, Grounded) and found.ground.kind == "absent"
    assert isinstance(ground("odd", suggestion="remove INV-55821"), str)
    assert isinstance(ground("", location="line 15"), str)
    assert isinstance(ground("", location="15-16"), str)


def test_a_finding_that_calls_a_value_invented_does_not_make_it_known() -> None:
    found = ground("where does INV-55821 come from", checks=(FACTS_CHECK,))
    assert isinstance(found, Grounded) and found.ground.kind == "absent"


def test_what_a_check_says_of_its_own_is_a_source() -> None:
    tests = Evidence(source="tests", kind="python", rank="executed", status="failed", text="expected 15 of them")
    assert isinstance(ground("why 15 days", checks=(tests,)), str)


@pytest.mark.parametrize(
    ("evidence", "draft", "is_kept"),
    [
        ("there are 7 of them", "It takes 7 days.", False),  # a digit alone points at nothing
        ("7 days is too long", "It takes 7 days.", True),
        ("only 17 of them", "It takes 17 days.", True),
        ("it took 0.5 of that", "It takes 0.5 days.", True),
        ("see 4815", "In step 4815 of them", True),  # too large to count places
        ("so 12 is wrong", "## Step 12: add\nthat is all", False),
        ("the sum 36 is wrong", "we get $4b=36$, so $b=9$ and \\frac{1}{2}", True),
    ],
)
def test_a_number_is_pointed_at_by_its_digits_or_by_the_word_beside_it(
    evidence: str, draft: str, is_kept: bool
) -> None:
    assert isinstance(ground(evidence, draft=draft), Grounded) is is_kept


def test_dollar_signs_around_formulas_are_no_currency() -> None:
    found = ground("why 36", draft="we get $4b=36$, so $b=9$ and \\frac{1}{2}")
    assert isinstance(found, Grounded) and found.key == "36"
    paid = ground("why 36", draft="we get $36 for it")
    assert isinstance(paid, Grounded) and paid.key == "36 USD"


def test_a_heading_that_counts_steps_names_nothing() -> None:
    assert isinstance(ground("Therefore it fails", draft="## Step 2: Therefore we stop\n2. **One** thing"), str)


def test_a_quote_of_a_source_goes_before_an_absent_value() -> None:
    found = ground("INV-55821 is in the letter to the shop")
    assert isinstance(found, Grounded) and found.ground.kind == "task"


def test_code_has_no_names() -> None:
    code = Task(text="Write mean(xs).", language="python")
    assert isinstance(ground("it returns None", task=code, draft="def mean(xs): return None"), str)
    found = ground("it returns None", task=Task(text="Write mean(xs)."), draft="It gives back None")
    assert isinstance(found, Grounded) and found.key == "None"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ask Ravi. Then Asha comes", ["Ravi", "Asha"]),
        ("Ask Dr. Rao or Mr. Lal now.", ["Rao", "Lal"]),
        ("Dear all,\nThanks to Pune!", ["Pune"]),
        ('- Bread\n- "Milk" (Cold)', ["Cold"]),
        ("We may meet in May, I hope", []),
        ("let A be \\Delta and Émile", ["Émile"]),
    ],
)
def test_a_name_is_a_capitalised_word_that_opens_no_sentence(text: str, names: list[str]) -> None:
    assert [text[w.start : w.end] for w in find_names(text)] == names


def test_a_draft_full_of_names_numbers_and_dates_is_read_as_well() -> None:
    letters = str.maketrans("0123456789", "abcdefghij")
    names = " ".join(f"and X{str(i).translate(letters)}" for i in range(10_000))
    numbers = " ".join(str(i) for i in range(3000, 13_000))
    task = Task(text=" ".join(f"{year}-{month:02d}-01" for year in range(1000, 1400) for month in range(1, 13)))
    found = ground("really " * 2_000 + "xjjjj", task=task, draft=f"{names} {numbers}")
    assert isinstance(found, Grounded) and found.key == "Xjjjj"


def test_hundreds_of_issues_about_a_draft_full_of_values_are_grounded_by_looking_up() -> None:
    draft = Draft(index=0, text=" ".join(str(i) for i in range(3000, 33_000)))
    raised = [RaisedIssue(id=f"i{i}", severity="blocking", evidence=f"why {i} here", location="x") for i in range(500)]
    raised.append(RaisedIssue(id="last", severity="blocking", evidence="why 32001 here"))
    kept, discarded = judge(Task(text="Write."), Policy(), draft, (), raised)
    assert [i.key for i in kept] == ["32001"] and len(discarded) == 500
