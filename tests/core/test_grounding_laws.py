"""Laws of grounding, over random tasks, drafts and issues."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from reflect_lab.core.critique import RaisedIssue
from reflect_lab.core.evidence import Evidence, Finding
from reflect_lab.core.grounding import Grounded, Sources
from reflect_lab.core.policy import Policy, Rules
from reflect_lab.core.run import Draft
from reflect_lab.core.task import Fact, Requirement, Task
from reflect_lab.core.values import find_values
from reflect_lab.core.words import is_content, words
from tests.core.strategies import LAW

CONTENT = ["lift", "floor", "caretaker", "parcels", "kettle", "repair", "1204331", "stairs"]
FUNCTION = ["the", "of", "is", "on", "and", "to"]
FOREIGN = ["zebra", "quartz", "violin", "meadow", "copper"]
VALUES = {
    "INV-55821": ["INV-55821", "inv-55821", "INV/55821", "INV 55821"],
    "25 August 2026": ["2026-08-25", "August 25, 2026", "25th august 2026"],
    "Rs 3,499": ["3499 rupees", "₹3,499.00", "INR 3 499".replace("3 4", "3\u202f4")],
    "4815": ["4,815", "4815", "4'815", "4815.0"],
}
SPELLINGS_OF_THE_NUMBER = ["1204331", "1,204,331", "12,04,331", "1'204'331", "1\u202f204\u202f331", "1.204.331"]

sentence = st.lists(st.sampled_from(CONTENT + FUNCTION), min_size=1, max_size=12).map(" ".join)
foreign = st.lists(st.sampled_from(FOREIGN), max_size=4).map(" ".join)
value = st.sampled_from(sorted(VALUES))
text = st.lists(st.one_of(sentence, value, foreign), max_size=4).map(" ".join)


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    requirements = draw(st.lists(sentence, max_size=3))
    facts = draw(st.lists(sentence, max_size=3))
    return Task(
        text=draw(sentence),
        requirements=tuple(Requirement(id=f"R{i}", text=t) for i, t in enumerate(requirements, 1)),
        facts=tuple(Fact(index=i, text=t) for i, t in enumerate(facts)),
    )


@st.composite
def reports(draw: st.DrawFn) -> tuple[Evidence, ...]:
    messages = draw(st.lists(sentence, max_size=2))
    findings = tuple(Finding(id=str(i), status="failed", message=m) for i, m in enumerate(messages))
    report = "\n".join(messages)
    return (
        Evidence(
            source="tests", kind="python", rank="executed", status="failed", text=report, findings=findings
        ),
    ) if messages else ()  # fmt: skip


policies = st.sampled_from([Policy(), Policy(rules=Rules(draft_quotes="allow"))])


def ground(
    task: Task,
    evidence: str,
    draft: str = "",
    reports: tuple[Evidence, ...] = (),
    policy: Policy | None = None,
    location: str | None = None,
    suggestion: str = "",
) -> Grounded | str:
    issue = RaisedIssue(id="a", severity="major", evidence=evidence, location=location, suggestion=suggestion)
    return Sources(task, Draft(index=0, text=draft), reports, policy or Policy()).ground(issue)


def own_text(name: str, task: Task, draft: str, reports: tuple[Evidence, ...]) -> str:
    texts = {"task": task.text, "draft": draft, **{r.id: r.text for r in task.requirements}}
    texts |= {f"fact:{f.index}": f.text for f in task.facts} | {f"evidence:{e.source}": e.text for e in reports}
    return texts[name]


def identifiers(text: str) -> set[frozenset[str]]:
    return {value.readings for value in find_values(text) if value.kind == "identifier"}


def plain(text: str) -> list[str]:
    return [word.text for word in words(text)]


@LAW
@given(tasks(), text, text, reports(), policies, text)
def test_grounding_is_a_function_of_what_it_is_given(
    task: Task, evidence: str, draft: str, said: tuple[Evidence, ...], policy: Policy, location: str
) -> None:
    once = ground(task, evidence, draft, said, policy, location)
    assert once == ground(task, evidence, draft, said, policy, location)


@LAW
@given(tasks(), text, text, reports(), policies, st.data())
def test_case_white_space_quote_marks_and_thousands_separators_change_no_ground(
    task: Task, evidence: str, draft: str, said: tuple[Evidence, ...], policy: Policy, data: st.DataObject
) -> None:
    recased = data.draw(st.sampled_from([str.upper, str.lower, str.title, str.swapcase]))(evidence)
    # In capitals a word before a number makes an identifier of both ("INV 55821"): that is another value.
    assume(identifiers(recased) == identifiers(evidence))
    spaced = recased.replace(" ", data.draw(st.sampled_from([" ", "  ", "\n", "\t"])))
    number = data.draw(st.sampled_from(SPELLINGS_OF_THE_NUMBER))
    quoted = data.draw(st.sampled_from(['"{}"', "“{}”", "'{}'", "«{}»", "`{}`", "{}"])).format(spaced)
    respelled = quoted.replace("1204331", number)
    assert ground(task, respelled, draft, said, policy) == ground(task, evidence, draft, said, policy)


@LAW
@given(tasks(), reports(), text, policies, foreign, foreign, st.data())
def test_three_words_of_a_source_are_a_ground_whose_offsets_cover_exactly_them(
    task: Task, said: tuple[Evidence, ...], draft: str, policy: Policy, before: str, after: str, data: st.DataObject
) -> None:
    texts = [task.text, *(r.text for r in task.requirements), *(f.text for f in task.facts)]
    texts += [f.message for e in said for f in e.findings]
    source = data.draw(st.sampled_from(texts)).split()
    start = data.draw(st.integers(0, len(source) - 1))
    quote = source[start : data.draw(st.integers(start + 1, len(source)))]
    if (len(quote) < 3 and quote != source) or not any(is_content(word) for word in quote):
        return
    found = ground(task, " ".join([before, *quote, after]), draft, said, policy)
    assert isinstance(found, Grounded) and found.ground.kind not in ("absent", "draft")
    covered = own_text(found.ground.source, task, draft, said)[found.ground.start : found.ground.end]
    if found.ground.kind == "requirement":  # goes first, also with a shorter run of the same words
        assert " ".join(plain(covered)) in " ".join(quote)
    else:
        assert plain(covered) == quote


@LAW
@given(tasks(), reports(), policies, st.lists(st.sampled_from(FOREIGN + FUNCTION), max_size=12))
def test_words_that_share_no_content_with_any_source_are_discarded(
    task: Task, said: tuple[Evidence, ...], policy: Policy, shuffled: list[str]
) -> None:
    found = ground(task, " ".join(shuffled), "a draft without values", said, policy)
    assert isinstance(found, str) and found


@LAW
@given(tasks(), text, st.data())
def test_a_value_of_a_source_is_never_absent_however_it_is_spelled(task: Task, more: str, data: st.DataObject) -> None:
    name = data.draw(value)
    spelling = st.sampled_from([name, *VALUES[name]])
    fact = Fact(index=9, text=f"known is {data.draw(spelling)}")
    known = Task(text=task.text, requirements=task.requirements, facts=(*task.facts, fact))
    found = ground(known, f"zebra {data.draw(spelling)}", f"it says {data.draw(spelling)}. {more}")
    assert isinstance(found, str) or found.ground.kind != "absent"
    unknown = ground(task, f"zebra {data.draw(spelling)}", f"it says {data.draw(spelling)}.")
    assert isinstance(unknown, Grounded) and unknown.ground.kind == "absent"


@LAW
@given(tasks(), text, reports(), policies, text, text)
def test_what_stands_in_the_draft_grounds_nothing_but_absent_and_draft(
    task: Task, evidence: str, said: tuple[Evidence, ...], policy: Policy, draft: str, more: str
) -> None:
    empty = ground(task, evidence, "", said, policy)
    for longer in (draft, f"{draft} {more}"):
        found = ground(task, evidence, longer, said, policy)
        if isinstance(empty, Grounded):
            assert found == empty
        else:
            assert isinstance(found, str) or found.ground.kind in ("absent", "draft")


@LAW
@given(tasks(), text, reports(), policies, text, text)
def test_a_suggestion_never_matters(
    task: Task, evidence: str, said: tuple[Evidence, ...], policy: Policy, draft: str, suggestion: str
) -> None:
    plainly = ground(task, evidence, draft, said, policy)
    for more in (suggestion, task.text, draft):
        assert ground(task, evidence, draft, said, policy, suggestion=more) == plainly


@LAW
@given(tasks(), text, text, st.one_of(st.none(), text))
def test_an_absent_ground_covers_text_of_the_draft_alone(
    task: Task, evidence: str, draft: str, location: str | None
) -> None:
    found = ground(task, evidence, draft, location=location)
    if isinstance(found, Grounded) and found.ground.kind == "absent":
        assert found.ground.source == "draft" and found.key
        covered = draft[found.ground.start : found.ground.end]
        assert covered and covered not in task.text
