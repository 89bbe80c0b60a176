"""The grammar of cells: what becomes a requirement, a check, a fact, a label, and what stays text."""

from __future__ import annotations

from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.task import CheckSpec
from reflect_lab.documents.task_cell import Cell, Label, fill_task, parse_cell, substitute

MEAN = """\
Write `mean(xs)`.
- [ ] the mean of [2, 4, 6] is 4.0
- [ ] the empty list gives 0.0, it does not raise
- [ ] the argument is not changed

```python check R1 R2
assert mean([2, 4, 6]) == 4.0
assert mean([]) == 0.0
```
```python label
assert mean((1, 2)) == 1.5
```
"""


def cell(text: str) -> Cell:
    return parse_cell(dedent(text))


def problem(text: str) -> str:
    with pytest.raises(WrongUse) as caught:
        parse_cell(dedent(text))
    message = str(caught.value)
    assert "\n" not in message
    return message


def requirements(parsed: Cell) -> list[tuple[str, str]]:
    return [(r.id, r.text) for r in parsed.task.requirements]


def test_the_example_of_the_documentation_reads_as_it_says() -> None:
    parsed = parse_cell(MEAN)
    assert parsed.task.text == "Write `mean(xs)`."
    assert requirements(parsed)[1] == ("R2", "the empty list gives 0.0, it does not raise")
    assert parsed.task.checks == (
        CheckSpec(name="python:1/syntax", kind="python_syntax", gate=True),
        CheckSpec(
            name="python:1",
            kind="python",
            requirements=("R1", "R2"),
            options={"code": "assert mean([2, 4, 6]) == 4.0\nassert mean([]) == 0.0\n", "setup": ""},
        ),
    )
    assert parsed.task.language == "python"
    assert parsed.labels == (Label(language="python", code="assert mean((1, 2)) == 1.5\n"),)
    assert parsed.lines == {"R1": 2, "R2": 3, "R3": 4, "python:1/syntax": 6, "python:1": 6}


def test_a_label_is_no_part_of_the_task_and_changes_no_hash() -> None:
    without = MEAN[: MEAN.index("```python label")]
    assert "1.5" not in repr(parse_cell(MEAN).task)
    assert parse_cell(MEAN).task.sha256 == parse_cell(without).task.sha256


@pytest.mark.parametrize("marker", ["- [ ]", "* [x]", "+ [X]", "1. [ ]", "7) [x]"])
def test_every_kind_of_task_list_item_is_a_requirement(marker: str) -> None:
    parsed = parse_cell(f"Write.\n\n{marker} is short\n")
    assert requirements(parsed) == [("R1", "is short")]
    assert parsed.task.text == "Write."


def test_plain_items_and_boxes_in_code_stay_text() -> None:
    text = "Use this form:\n\n- plain item\n- [link](x)\n- [x](y)\n\n```text\n- [ ] not mine\n```\n\n    - [ ] code"
    parsed = parse_cell(text)
    assert requirements(parsed) == []
    assert parsed.task.text == text


def test_a_requirement_holds_its_continuation_lines_and_its_plain_sub_items() -> None:
    parsed = cell("""\
        Write.
        - [ ] is short
          and friendly
          - no threats
          - [ ] names a date
        Lazy words.
        """)
    assert requirements(parsed) == [("R1", "is short and friendly\n- no threats"), ("R2", "names a date Lazy words.")]


def test_a_block_within_a_requirement_is_read_without_its_indent() -> None:
    parsed = cell("""\
        Write.
        - [ ] doubles

          ```python check R1
          if True:
              assert f(1) == 2
          ```
        """)
    assert requirements(parsed) == [("R1", "doubles")]
    assert parsed.task.checks[1].options["code"] == "if True:\n    assert f(1) == 2\n"


def test_a_long_fence_may_hold_a_shorter_one() -> None:
    parsed = parse_cell("Write.\n\n````text reference\n```python check\nassert 0\n```\n````\n")
    assert [c.name for c in parsed.task.checks] == ["reference:1"]
    assert parsed.task.checks[0].options == {"text": "```python check\nassert 0\n```\n", "language": "text"}


def test_own_ids_count_and_automatic_ones_are_the_position_in_the_whole_list() -> None:
    parsed = cell("""\
        ---
        requirements:
        - is polite
        - R9: has a date
        - note: this is text
        ---
        Write.
        - [ ] SEC1: no secrets
        - [ ] is short
        """)
    assert requirements(parsed) == [
        ("R1", "is polite"),
        ("R9", "has a date"),
        ("R3", "note: this is text"),
        ("SEC1", "no secrets"),
        ("R5", "is short"),
    ]


def test_an_id_taken_twice_is_wrong_use() -> None:
    assert problem("Write.\n- [ ] R2: a\n- [ ] b\n").startswith("cell, line 3: the requirement id R2 is taken (line 2)")


def test_checks_are_numbered_by_language_or_named_and_those_of_a_language_share_a_gate() -> None:
    parsed = cell("""\
        Write.
        - [ ] a

        ```python setup
        LIMIT = 3
        ```
        ```python check R1
        assert f(LIMIT)
        ```
        ```py check name=edge R1
        assert f(0)
        ```
        ```sql check
        SELECT 1
        ```
        """)
    assert [(c.name, c.kind, c.gate) for c in parsed.task.checks] == [
        ("python:1/syntax", "python_syntax", True),
        ("python:1", "python", False),
        ("edge", "python", False),
        ("sql:1/syntax", "sql_syntax", True),
        ("sql:1", "sql", False),
    ]
    assert parsed.task.checks[2].options == {"code": "assert f(0)\n", "setup": "LIMIT = 3\n"}
    assert parsed.task.checks[4].options["setup"] == ""


SQL = """\
---
checks:
  - sql:
      database: shop.duckdb
      sample: 500
      totals: {revenue: "SELECT 3"}
      requirements: [R1]
---
The revenue.
- [ ] it is right
- [ ] one row

```sql setup
CREATE TABLE a AS SELECT 1 AS b;
```
```sql check R2
SELECT count(*) = 1 FROM draft
```
"""


def test_sql_in_front_matter_is_a_check_with_a_gate_and_its_database_is_that_of_the_blocks() -> None:
    task = parse_cell(SQL).task
    assert [(c.name, c.kind, c.gate, c.requirements) for c in task.checks] == [
        ("sql/syntax", "sql_syntax", True, ()),
        ("sql", "sql", False, ("R1",)),
        ("sql:2", "sql", False, ("R2",)),
    ]
    setup = "CREATE TABLE a AS SELECT 1 AS b;\n"
    database = {"database": "shop.duckdb", "sample": 500, "setup": setup}
    assert task.checks[1].options == {**database, "totals": {"revenue": "SELECT 3"}}
    assert task.checks[2].options == {**database, "code": "SELECT count(*) = 1 FROM draft\n"}
    assert task.language == "sql"


def test_a_setup_after_the_block_is_for_front_matter_s_check_only() -> None:
    parts = SQL.split("```sql check")
    later = parts[0].replace("```sql setup\nCREATE TABLE a AS SELECT 1 AS b;\n```\n", "")
    task = parse_cell(f"{later}```sql check{parts[1]}```sql setup\nSELECT 2;\n```\n").task
    assert [c.options["setup"] for c in task.checks if c.kind == "sql"] == ["SELECT 2;\n", ""]


def test_a_schema_is_a_gate_and_asks_for_json() -> None:
    parsed = parse_cell('Write.\n```json schema\n{"type": "object"}\n```\n')
    assert parsed.task.checks == (
        CheckSpec(name="schema:1", kind="json_schema", gate=True, options={"schema": {"type": "object"}}),
    )
    assert parsed.task.language == "json"


def test_facts_of_all_places_are_one_check() -> None:
    parsed = cell("""\
        ---
        facts:
        - Price: 1_000.50 rupees
        - 3499
        checks: [facts]
        ---
        Write.
        - [ ] a

        ```text facts R1
        The order is KET-7731

        It was paid
        ```
        """)
    assert [f.text for f in parsed.task.facts] == [
        "Price: 1_000.50 rupees",
        "3499",
        "The order is KET-7731",
        "It was paid",
    ]
    assert [f.index for f in parsed.task.facts] == [0, 1, 2, 3]
    assert parsed.task.checks == (CheckSpec(name="facts", kind="facts", requirements=("R1",)),)


def test_front_matter_lists_checks_by_name_or_with_options() -> None:
    parsed = cell("""\
        ---
        checks:
        - quota
        - text: {must: '(?i)caretaker', max_words: 90}
        - text:
            min_words: 4
            requirements: [R1]
        ---
        Write.
        - [ ] is long
        """)
    assert parsed.task.checks == (
        CheckSpec(name="quota", kind="custom"),
        CheckSpec(name="text", kind="text", options={"must": ["(?i)caretaker"], "max_words": 90}),
        CheckSpec(name="text:2", kind="text", requirements=("R1",), options={"min_words": 4}),
    )


def test_options_of_the_run_are_kept_apart_from_the_task() -> None:
    parsed = cell("""\
        ---
        name: note
        tags: {team: blue, n: 3}
        policy: {limits: {revisions: 1}}
        preset: grounded
        model: local
        critic: strict
        critic_model: other
        reflection: off
        ---
        Write.
        """)
    options = parsed.options
    assert (options.name, options.model, options.critic, options.critic_model) == ("note", "local", "strict", "other")
    assert options.tags == {"team": "blue", "n": "3"}
    assert options.policy == {"limits": {"revisions": 1}}
    assert options.reflection == "off"
    assert parsed.task.name == "note"
    assert parsed.task.sha256 == parse_cell("Write.").task.sha256


def test_a_second_word_that_is_not_special_leaves_the_block_in_the_text() -> None:
    text = 'Write.\n\n```python example\nx = 1\n```\n\n```text title="checks"\ny\n```'
    assert parse_cell(text).task.text == text


def test_trailing_whitespace_and_gaps_of_removed_blocks_change_nothing() -> None:
    loose = "\n\nWrite.  \r\n\r\n- [ ] a\r\n\r\n\r\nThen stop.\t\n\n"
    assert parse_cell(loose).task.text == "Write.\n\nThen stop."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x\n```python chek\na\n```", "cell, line 2: 'chek' is no kind of block; did you mean 'check'?"),
        ("x\n```python Check\na\n```", "cell, line 2: 'Check' is no kind of block; did you mean 'check'?"),
        ("x\n```facts\na\n```", "cell, line 2: a facts block needs a language before the word: ```text facts"),
        ("x\n```label R1\na\n```", "cell, line 2: a label block needs a language before the word: ```python label"),
        ("x\n- [ ] a\n```python check R2\n1\n```", "cell, line 3: there is no requirement 'R2'; known are R1"),
        ("x\n```python check nam=a\n1\n```", "cell, line 2: a check block has no option 'nam'; did you mean 'name'?"),
        ("x\n```pyton check\n1\n```", "cell, line 2: no check is written in 'pyton'; did you mean 'python'?"),
        ("x\n```python check\na = 1\nb = (\n```", "cell, line 4: this check block is not valid Python:"),
        ("x\n```python check\n# only this\n```", "cell, line 2: this check block holds no code"),
        ("x\n```python check\nassert 1", "cell, line 2: the fenced block that opens here is never closed (```)"),
        ("x\n```text\nwords", "cell, line 2: the fenced block that opens here is never closed (```)"),
        ('x\n```json schema\n{\n"a": }\n```', "cell, line 4: this schema is not valid JSON: Expecting value"),
        ('x\n```json schema\n{"a": NaN}\n```', "cell, line 2: this schema can't be read: NaN is no JSON value"),
        ("x\n```json schema\n[]\n```", "cell, line 2: a JSON Schema is an object in { }"),
        ("x\n```python setup\na = 1\n```", "cell, line 2: no python check or label comes after this setup block"),
        ("x\n```python check name=a\n1\n```\n```python check name=a\n1\n```", "cell, line 5: there is a check 'a' a"),
        ("x\n```python check name=a/b\n1\n```", "cell, line 2: 'name=a/b' can't name this block"),
        ("x\n```python check name=critic\n1\n```", "cell, line 2: 'name=critic' can't name this block"),
        ("x\n- [ ]\n", "cell, line 2: this requirement is empty"),
        ("", "cell, line 1: there is no task; write what is asked for"),
        ("---\nname: a\n---\n", "cell, line 4: there is no task"),
        ("---\nrequirement:\n- a\n---\nx", "cell, line 2: unknown key 'requirement'; did you mean 'requirements'?"),
        ("---\nname: a\nx", "cell, line 1: the front matter that opens here has no closing ---"),
        ("---\nname: [a\n---\nx", "cell, line 2: not valid YAML:"),
        ("---\n- a\n---\nx", "cell, line 2: expected `key: value` lines"),
        ("---\nname: a\nname: b\n---\nx", "cell, line 3: 'name' stands there twice"),
        ("---\nmodel: 3\n---\nx", "cell, line 2: model must be text, not 3"),
        ("---\nreflection: maybe\n---\nx", "cell, line 2: reflection is on or off, not 'maybe'"),
        ("---\nrequirements: a\n---\nx", "cell, line 2: requirements must be a list of lines of text"),
        ("---\nrequirements:\n- a\n-\n---\nx", "cell, line 4: an item of requirements is empty"),
        ("---\nchecks:\n- text: {mst: a}\n---\nx", "cell, line 2: check text: unknown option 'mst'; did you mean 'mu"),
        ("---\nchecks:\n- text: {must: ['(']}\n---\nx", "cell, line 2: check text: must: '(' is not a valid regular"),
        ("---\nchecks:\n- text: {min_words: true}\n---\nx", "cell, line 2: check text: min_words must be a whole"),
        ("---\nchecks:\n- text\n---\nx", "cell, line 2: check text: it needs at least one of must"),
        ("---\nchecks:\n- a b\n---\nx", "cell, line 2: 'a b' can't be the name of a check"),
        ("---\npolicy: {rules: {patience: 0}}\n---\nx", "cell, line 2: policy: rules.patience must be at least 1"),
        ("---\nname: &a b\nmodel: *a\n---\nx", "cell, line 3: YAML aliases (*name) are not allowed"),
        ("---\nname: !!python/object:os.system b\n---\nx", "cell, line 2: YAML tags ("),
    ],
)  # fmt: skip
def test_a_wrong_cell_is_one_line_that_names_the_line(text: str, message: str) -> None:
    assert problem(text).startswith(message)


def test_line_numbers_start_where_the_caller_says() -> None:
    with pytest.raises(WrongUse, match=r"^notes\.md, line 13: "):
        parse_cell("---\nname: a\n---\nx\n```python chek\n```", where="notes.md", first_line=9)


def test_variables_are_filled_once_and_only_after_parsing() -> None:
    parsed = parse_cell(
        "---\nfacts:\n- '{{facts}}'\n---\nUse {{ words }}, not \\{{words}}.\n- [ ] names {{who}}\n\n"
        "```python check\nassert f('{{who}}')\n```"
    )
    values = {"words": "```python check\nassert 0\n```\n- [ ] {{who}}", "who": "Asha\nRao", "facts": "one\n\ntwo"}
    task = fill_task(parsed.task, values)
    assert task.text == "Use ```python check\nassert 0\n```\n- [ ] {{who}}, not {{words}}."
    assert [r.text for r in task.requirements] == ["names Asha Rao"]
    assert [f.text for f in task.facts] == ["one", "two"]
    assert task.checks == parsed.task.checks
    assert task.sha256 != parsed.task.sha256


def test_a_missing_variable_is_named_with_the_nearest_one() -> None:
    with pytest.raises(WrongUse, match=r"there is no variable 'wrods' for \{\{wrods\}\}; did you mean 'words'"):
        substitute("{{wrods}}", {"words": "a"})


PIECES = st.sampled_from(
    ["---", "...", "- [ ] ", "* [x] R1: ", "1. [ ] ", "```python check", "```json schema", "```text facts", "~~~~",
     "```", "````", "> ", "    ", "\t",
     "name: ", "checks:", "- text:", "{", "}", "[", "*a", "&a ", "!!set", "<<: ", "R1",
     "name=a", "\n", "\r\n", "\0", "\ufeff", "\ud800", "assert 1", "{{x}}", "<div>", "label", "setup", ": ", "? "]
)  # fmt: skip


@settings(max_examples=1500, deadline=None)
@given(st.lists(st.one_of(PIECES, PIECES, st.just("\n"), st.text(max_size=6)), max_size=40).map("".join))
def test_any_text_is_a_cell_or_one_clear_line(text: str) -> None:
    try:
        parsed = parse_cell(text)
    except WrongUse as error:
        assert str(error).startswith("cell")
        assert "\n" not in str(error)
    else:
        assert parsed.task.text or parsed.task.requirements
        names = [c.name for c in parsed.task.checks]
        assert len(set(names)) == len(names)


WORDS = st.text(alphabet="abcdefghijk ", min_size=1, max_size=30).map(lambda s: " ".join(s.split())).filter(bool)


@settings(max_examples=200, deadline=None)
@given(text=WORDS, wanted=st.lists(WORDS, max_size=5), facts=st.lists(WORDS, min_size=1, max_size=4))
def test_what_was_written_is_read_back(text: str, wanted: list[str], facts: list[str]) -> None:
    source = (
        f"# {text}\n\n" + "".join(f"- [ ] {w}\n" for w in wanted) + "\n```text facts\n" + "\n".join(facts) + "\n```"
    )
    parsed = parse_cell(source)
    assert parsed.task.text == f"# {text}"
    assert [r.text for r in parsed.task.requirements] == wanted
    assert [f.text for f in parsed.task.facts] == facts


def test_values_of_check_options_are_plain_json_and_a_date_is_the_text_that_was_written() -> None:
    parsed = parse_cell(
        "---\nchecks:\n- fresh: {since: 2024-05-01, days: 3, strict: true, ratio: 0.5, note: null}\n---\nx"
    )
    assert parsed.task.checks[0].options == {
        "since": "2024-05-01", "days": 3, "strict": True, "ratio": 0.5, "note": None,
    }  # fmt: skip
