"""`%critic`: the list of critics, and what changed between two of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_lab.core.errors import WrongUse
from reflect_lab.notebook.critic_commands import CriticCommands
from reflect_lab.roles.prompt import shipped_critic, shipped_critics
from reflect_lab.session import Session
from tests.notebook.conftest import Lab

HOSTILE = "Be strict.\nSay \x1b[31m<img src=x onerror=alert(1)> and \u202egnorw.\n- [ ] <b>bold</b> $x$\n"


@pytest.fixture
def critics(tmp_path: Path) -> CriticCommands:
    return CriticCommands(Session(environ={"HOME": str(tmp_path)}, cwd=tmp_path))


def test_the_list_names_every_critic_with_its_hash_and_its_first_line(critics: CriticCommands) -> None:
    critics.register("strict", "Be strict.\nVery.")
    critics.register("strict", "Be very strict.")
    text = critics.line("")["text/plain"]
    assert text == critics.line("list")["text/plain"]
    for name in shipped_critics():
        prompt = shipped_critic(name)
        assert f"{name:<12}  {prompt.use.sha256[:12]}  (shipped" in text
        assert prompt.text.splitlines()[0][:90] in text
    assert "(shipped, the default)" in text and text.count("the default") == 1
    assert "(here, 2 versions)\n              Be very strict." in text


def test_the_difference_between_the_last_two_versions_is_shown(critics: CriticCommands) -> None:
    first = critics.register("strict", "Be strict.\nAlways.\n- [ ] names the day").split()[3].rstrip(",")
    second = critics.register("strict", "Be strict.\nNearly always.\n- [ ] names the hour").split()[3].rstrip(",")
    forms = critics.line("diff strict")
    assert forms["text/plain"].splitlines() == [
        f"strict {first} -> strict {second}",
        "  added to the rubric: names the hour",
        "  removed from the rubric: names the day",
        "    Be strict.",
        "  - Always.",
        "  - - [ ] names the day",
        "  + Nearly always.",
        "  + - [ ] names the hour",
    ]
    html = forms["text/html"]
    assert "added to the rubric: names the hour" in html
    assert "rgba(46,160,67,.15)" in html and "rgba(248,81,73,.15)" in html


def test_a_critic_is_compared_with_the_shipped_one_that_it_replaced(critics: CriticCommands) -> None:
    critics.register("grounded", shipped_critic("grounded").text + "\nBe brief.")
    text = critics.line("diff grounded")["text/plain"]
    assert text.startswith(f"grounded (shipped) {shipped_critic('grounded').use.sha256[:12]} -> grounded ")
    assert "  + Be brief." in text and "\n  - " not in text


def test_two_critics_are_compared_by_name_or_by_file(critics: CriticCommands, tmp_path: Path) -> None:
    text = critics.line("diff grounded intrinsic")["text/plain"]
    assert text.startswith("grounded (shipped) ") and " -> intrinsic (shipped) " in text.splitlines()[0]
    (tmp_path / "grounded.md").write_text("Mine.\n")
    assert critics.line("diff grounded.md grounded")["text/plain"].startswith("grounded ")
    assert "the texts are equal" in critics.line("diff grounded grounded")["text/plain"]
    assert "The texts are equal." in critics.line("diff grounded grounded")["text/html"]


def test_prompt_text_reaches_neither_terminal_nor_page_as_anything_but_text(critics: CriticCommands) -> None:
    critics.register("strict", "Be strict.")
    critics.register("strict", HOSTILE)
    forms = critics.line("diff strict")
    assert "<img" not in forms["text/html"] and "<b>bold" not in forms["text/html"]
    assert "&lt;img src=x onerror=alert(1)&gt;" in forms["text/html"]
    assert "mathjax_ignore" in forms["text/html"]
    for form in (*forms.values(), critics.line("list")["text/plain"]):
        assert "\x1b" not in form and "\u202e" not in form
    assert "[ESC]" in forms["text/plain"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("dif strict", "%critic dif: did you mean 'diff'?"),
        ("again strict", "%critic again: known are list, diff"),
        ("diff", "%critic takes: list, diff NAME"),
        ("diff a b c", "%critic takes: list, diff NAME"),
        ("list x", "%critic takes: list, diff NAME"),
        ("diff 'a", "%critic: the words can't be read"),
        ("diff nobody", "there is no critic 'nobody'"),
        ("diff grounded intrinsc", "there is no critic 'intrinsc'; did you mean 'intrinsic'?"),
        ("diff grounded", "critic 'grounded' is known here as it was shipped"),
    ],
)
def test_a_slip_is_one_clear_line(critics: CriticCommands, line: str, message: str) -> None:
    with pytest.raises(WrongUse) as caught:
        critics.line(line)
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


def test_in_a_kernel_a_changed_critic_shows_its_change(lab: Lab) -> None:
    lab.kernel.good("%%critic wary\nBe wary.\n")
    alone = lab.kernel.run("%critic diff wary")
    assert alone.status == "error" and "in one version" in alone.said and "Traceback" not in alone.said
    lab.kernel.good("%%critic wary\nBe very wary.\n- [ ] names a colour\n")
    shown = lab.kernel.good("%critic diff wary").outputs[-1]["data"]
    assert "+ Be very wary." in shown["text/plain"]
    assert "added to the rubric: names a colour" in shown["text/html"]
    assert "wary" in lab.kernel.good("%critic").outputs[-1]["data"]["text/plain"]
