"""The built view in a real browser: for everyone (axe, themes, widths), and whatever a model wrote."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.frontend.viewer import AXE, FOREIGN, LIVE, MOUNT, NAMES, THEMES, stored
from tests.required import missing

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_serious(open_viewer: Any, theme: str) -> None:
    if not AXE.exists():
        missing("npm", "axe-core is not installed: run `npm ci` in labextension/")
    viewer = open_viewer(theme)
    viewer.page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
    for name, live in (*((name, None) for name in NAMES), ("stalled", LIVE)):
        page = viewer.show(stored(name), live)
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
        found = page.evaluate("axe.run('#host', {resultTypes: ['violations']})")
        assert "color-contrast" in {rule["id"] for rule in found["passes"]}
        bad = [
            (rule["id"], node["target"], node["failureSummary"])
            for rule in found["violations"]
            if rule["impact"] in ("serious", "critical")
            for node in rule["nodes"][:3]
        ]
        assert bad == [], name


@pytest.mark.parametrize("width", [1300, 900, 600, 340])
def test_nothing_overflows_to_the_side(open_viewer: Any, width: int) -> None:
    viewer = open_viewer("light", width)
    for name in NAMES:
        viewer.show(stored(name), LIVE if name == "stalled" else None)
        assert viewer.overflow() == 0, name
        cut = viewer.page.evaluate(
            """() => [...document.querySelectorAll('.rl-view *')].filter(each => {
              const style = getComputedStyle(each);
              const clips = style.overflowX === 'hidden' || style.overflowX === 'clip';
              return clips && !each.matches('.rl-aside') && each.scrollWidth > each.clientWidth + 1;
            }).map(each => each.className)"""
        )
        assert cut == [], name


def test_forced_colours_and_a_page_without_jupyter_still_show_it(open_viewer: Any) -> None:
    forced = open_viewer("light", 900, forced_colors="active").show(stored("accepted"))
    assert forced.locator(".rl-title").is_visible()
    page = open_viewer("light", 900, color_scheme="dark").page
    page.evaluate("document.body.removeAttribute('data-jp-theme-light'); document.body.removeAttribute('style')")
    page.evaluate("document.querySelector('style').remove()")
    page.evaluate(MOUNT, {"run": stored("accepted"), "live": None, "traces": None})
    page.wait_for_selector(".rl-view")
    assert page.evaluate("getComputedStyle(document.querySelector('.rl-view')).backgroundColor") == "rgb(22, 24, 28)"


def test_hostile_text_stays_text(open_viewer: Any) -> None:
    run = stored("hostile")
    viewer = open_viewer()
    for live in ({**LIVE, "step": run["task"]["text"], "text": run["task"]["text"]}, None):
        page = viewer.show(run, live)
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
        for tab in page.locator("[role=tab]").all():
            tab.click()
        assert page.locator(f".rl-run :is({FOREIGN})").count() == 0
        assert page.locator(".rl-run :is([onerror], [onload], [href], [src], [name])").count() == 0
        assert page.locator("[data-commandlinker-command]").count() == 0
        page.evaluate("close_view()")
    assert page.evaluate("window.hit") is None
    assert viewer.dialogs == []
    assert viewer.escaped == []


def test_hidden_characters_are_shown_and_model_text_is_kept_from_mathjax(open_viewer: Any) -> None:
    page = open_viewer().show(stored("hostile"))
    shown = page.locator(".rl-view").inner_text()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u200b\u202a-\u202e\u2066-\u2069\ufeff\u00ad]", shown)
    for fold in page.locator(".rl-draft .rl-fold").all():
        fold.click()
    named = set(page.locator(".rl-draft .rl-hidden").all_inner_texts())
    assert {"ESC", "RLO", "LRI", "ZWSP", "NUL", "U+D83E"} <= named
    unguarded = page.evaluate(
        """() => {
          const walker = document.createTreeWalker(document.querySelector('.rl-view'), NodeFilter.SHOW_TEXT);
          const found = [];
          for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            const isModelText = /href|<script|\\\\unicode/.test(node.data);
            if (isModelText && !node.parentElement.closest('.tex2jax_ignore.mathjax_ignore')) found.push(node.data);
          }
          return found;
        }"""
    )
    assert unguarded == []


def test_a_document_that_cannot_be_read_is_explained(open_viewer: Any) -> None:
    viewer = open_viewer()
    page = viewer.show({**stored("accepted"), "schema": "reflect-lab/run/9"})
    assert "reflect-lab/run/9" in page.get_by_role("alert").inner_text()
    broken = {**stored("accepted"), "policy": None, "models": None}
    page = viewer.show(broken)
    assert "can't be shown" in page.get_by_role("alert").inner_text()


def test_a_hundred_mounts_leave_no_listener_and_no_element_behind(open_viewer: Any) -> None:
    page = open_viewer().show(stored("accepted"), LIVE)
    page.evaluate("close_view()")
    left = page.evaluate(
        """() => {
          const counts = { added: 0, removed: 0 };
          for (const target of [window, document]) {
            const { addEventListener, removeEventListener } = target;
            target.addEventListener = (...all) => { counts.added += 1; addEventListener.apply(target, all); };
            target.removeEventListener = (...all) => { counts.removed += 1; removeEventListener.apply(target, all); };
          }
          let most = 0;
          for (let time = 0; time < 100; time += 1) {
            const close = open_view();
            emit('msg:custom', { type: 'text', delta: 'x', seq: 1 });
            most = Math.max(most, listeners.length);
            close();
          }
          const children = document.getElementById('host').childNodes.length;
          return [listeners.length, most, children, counts.added - counts.removed];
        }"""
    )
    assert left == [0, 4, 0, 0]


def test_a_draft_of_many_lines_is_shown_in_part_and_on_demand(open_viewer: Any) -> None:
    run = stored("accepted")
    run["rounds"] = run["rounds"][:1]
    run["rounds"][0]["draft"]["text"] = "\n".join(["x" * 30_000, *(f"line {n}" for n in range(10_000))])
    page = open_viewer().show(run)
    assert page.locator(".rl-row").count() == 600
    page.get_by_role("button", name=re.compile("Show more")).click()
    assert page.locator(".rl-row").count() == 6600
    assert page.get_by_role("button", name="more characters of this line").count() == 1
