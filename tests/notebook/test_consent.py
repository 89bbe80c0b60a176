"""The live view asks before a live model's code runs without isolation."""

from __future__ import annotations

import asyncio

import pytest

from reflect_lab.notebook.live import QUESTION, LiveView, PlainView


@pytest.fixture
def view() -> LiveView:
    view = LiveView(lambda document: document)
    view.start("traces/")
    return view


@pytest.mark.parametrize("may_run", [True, False])
async def test_a_click_answers_the_question_and_takes_it_away(view: LiveView, may_run: bool) -> None:
    ask = view.consent()
    assert ask is not None
    asking = asyncio.ensure_future(ask("tests"))
    await asyncio.sleep(0)
    assert view._widget.live["question"] == QUESTION.format(check="tests") and not asking.done()
    view._widget._receive(None, {"type": "answer", "may_run": may_run, "asked": 1}, [])
    assert await asking is may_run and view._widget.live["question"] is None
    view._widget._receive(None, {"type": "answer", "may_run": True, "asked": 1}, [])  # it finds nothing to answer


async def test_two_questions_are_asked_one_after_the_other(view: LiveView) -> None:
    ask = view.consent()
    assert ask is not None
    first, second = asyncio.ensure_future(ask("tests")), asyncio.ensure_future(ask("others"))
    await asyncio.sleep(0)
    view._widget._receive(None, {"type": "answer", "may_run": True, "asked": 1}, [])
    assert await first is True and not second.done()
    await asyncio.wait({second}, timeout=0.05)
    assert view._widget.live["question"] == QUESTION.format(check="others") and view._widget.live["asked"] == 2
    view._widget._receive(None, {"type": "answer", "may_run": "yes", "asked": 2}, [])  # only a plain true is a yes
    assert await second is False


@pytest.mark.parametrize("asked", [1, None, "2"])
async def test_a_click_on_an_earlier_question_answers_nothing(view: LiveView, asked: object) -> None:
    ask = view.consent()
    assert ask is not None
    first = asyncio.ensure_future(ask("tests"))
    await asyncio.sleep(0)
    view._widget._receive(None, {"type": "answer", "may_run": False, "asked": 1}, [])
    assert await first is False
    second = asyncio.ensure_future(ask("tests"))
    await asyncio.sleep(0)
    view._widget._receive(None, {"type": "answer", "may_run": True, "asked": asked}, [])
    await asyncio.wait({second}, timeout=0.05)
    assert not second.done() and view._widget.live["question"] == QUESTION.format(check="tests")
    view._widget._receive(None, {"type": "answer", "may_run": True, "asked": 2}, [])
    assert await second is True


async def test_stop_ends_the_question(view: LiveView) -> None:
    ask = view.consent()
    assert ask is not None
    asking = asyncio.ensure_future(ask("tests"))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert view._widget.live["question"] is None


def test_where_there_are_no_buttons_nobody_is_asked() -> None:
    assert PlainView().consent() is None
