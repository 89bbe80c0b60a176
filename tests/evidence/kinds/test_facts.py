"""The facts check."""

from __future__ import annotations

import pytest

from reflect_lab.core.critique import RaisedIssue
from reflect_lab.core.grounding import Grounded, Sources
from reflect_lab.core.policy import Policy
from reflect_lab.core.run import Draft
from reflect_lab.core.task import Fact, Task
from tests.evidence.evidence_support import evidence_of

KETTLE = ("The kettle was bought from Lal Stores in Pune", "The price was 3499 rupees", "The order number is KET-7731")


async def test_an_invented_invoice_number_is_found() -> None:
    evidence = await evidence_of("facts", {}, "Please repair it, invoice INV-55821.", facts=KETTLE)
    assert (evidence.status, evidence.rank, evidence.gate) == ("failed", "deterministic", False)
    (finding,) = evidence.failed_findings
    assert finding.id == "INV-55821"
    assert finding.location is not None and (finding.location.kind, finding.location.value) == ("quote", "INV-55821")
    assert finding.message in evidence.text


async def test_values_are_compared_not_spellings() -> None:
    evidence = await evidence_of("facts", {}, "It cost 3,499 rupees, order KET-7731.", facts=KETTLE)
    assert evidence.status == "passed" and evidence.findings == ()


@pytest.mark.parametrize(("draft", "failed"), [
    ("Bought on 26 August 2026.", ["2026-08-26"]),
    ("Bought on 2026-08-25.", []),
    ("Bought on August 25, 2026.", []),
])  # fmt: skip
async def test_dates_are_compared_as_dates(draft: str, failed: list[str]) -> None:
    evidence = await evidence_of("facts", {}, draft, facts=("Bought on 25/08/2026 in Pune",))
    assert [f.id for f in evidence.failed_findings] == failed


async def test_a_value_inside_a_longer_one_is_not_known() -> None:
    facts = ("The meter is MTR-918834 and the fee is Rs 13,499",)
    wrong = await evidence_of("facts", {}, "The fee is Rs 3,499.", facts=facts)
    right = await evidence_of("facts", {}, "The fee is Rs 13499.", facts=facts)
    assert (wrong.status, right.status) == ("failed", "passed")
    assert [f.id for f in wrong.failed_findings] == ["3499 INR"]


async def test_values_that_the_task_or_a_requirement_asks_for_are_known() -> None:
    draft = "About TCK-2210, by 1 June 2027."
    evidence = await evidence_of(
        "facts", {}, draft, text="Mention TCK-2210.", requirements={"R1": "is due on 2027-06-01"}, facts=KETTLE
    )
    assert evidence.status == "passed"


async def test_counts_and_durations_are_advisory() -> None:
    evidence = await evidence_of("facts", {}, "Please repair it within 15 days after 4 tries.", facts=KETTLE)
    assert evidence.status == "passed"
    assert [(f.id, f.status) for f in evidence.findings] == [("15", "advisory"), ("4", "advisory")]


async def test_facts_may_stand_in_the_options() -> None:
    evidence = await evidence_of("facts", {"facts": ["ticket AB-1234"]}, "See AB-1234.")
    assert evidence.status == "passed"


async def test_one_value_is_one_finding_with_the_same_id_in_any_spelling() -> None:
    first = await evidence_of("facts", {}, "Pay Rs 9,000. Again: ₹9000!", facts=KETTLE)
    second = await evidence_of("facts", {}, "Pay 9000 rupees.", facts=KETTLE)
    assert [f.id for f in first.findings] == [f.id for f in second.findings] == ["9000 INR"]
    assert first.findings[0].message == second.findings[0].message


async def test_a_draft_full_of_values_gives_a_bounded_report() -> None:
    draft = " ".join(f"INV-{n}" for n in range(10_000, 12_000))
    evidence = await evidence_of("facts", {}, draft, facts=KETTLE)
    assert len(evidence.findings) == 50 and len(evidence.text) < 5_000
    assert "2,000 values" in evidence.text


async def test_an_invented_invoice_is_absent_to_a_critic_while_the_bare_duration_beside_it_fails_no_check() -> None:
    facts = ("mixer grinder bought on 5 August 2026", "the shop did not answer two letters")
    letter = "My mixer grinder (invoice INV-55821) broke. Please repair it within 15 days."
    evidence = await evidence_of("facts", {}, letter, facts=facts)
    assert [f.id for f in evidence.failed_findings] == ["INV-55821"]
    assert [f.id for f in evidence.findings if f.status == "advisory"] == ["15"]
    task = Task(text="Write a firm and polite letter.", facts=tuple(Fact(index=i, text=t) for i, t in enumerate(facts)))
    issue = RaisedIssue(id="invented", severity="blocking", evidence="INV-55821 was never given")
    found = Sources(task, Draft(index=0, text=letter), [evidence], Policy()).ground(issue)
    assert isinstance(found, Grounded)
    assert (found.ground.kind, found.ground.source, found.key) == ("absent", "draft", "INV-55821")
    assert letter[found.ground.start : found.ground.end] == "INV-55821"


@pytest.mark.parametrize("spelled", [
    "INV-\u200b55822", "INV\u201355822", "INV\uff0d\uff15\uff1582\uff12",
    "2026\u201308\u201325", "3\u200b499 INR",
])  # fmt: skip
async def test_an_invented_value_is_found_as_it_looks(spelled: str) -> None:
    draft = f"About {spelled} we know nothing."
    evidence = await evidence_of("facts", {}, draft)
    (finding,) = evidence.failed_findings
    assert finding.location is not None and finding.location.value == spelled
    assert (await evidence_of("facts", {"facts": f"See {spelled}."}, draft)).status == "passed"
