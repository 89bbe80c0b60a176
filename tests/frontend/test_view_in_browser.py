"""The built view in a real browser, as the live widget mounts it: what it shows, keys, themes, widths, attacks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser_finder import find_browser
from tests.required import missing

playwright = pytest.importorskip("playwright.sync_api")

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "reflect_lab" / "static"
AXE = ROOT / "labextension" / "node_modules" / "axe-core" / "axe.min.js"
ORIGIN = "http://view.test"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync"]
THEMES = {
    "light": "--jp-layout-color1:#fff;--jp-content-font-color1:rgba(0,0,0,.87);",
    "dark": "--jp-layout-color1:#111;--jp-content-font-color1:#fff;",
}
NAMES = ("accepted", "stalled", "cancelled", "error", "hostile")
LIVE = {
    "step": "The generator writes draft 2",
    "text": "def mean",
    "elapsed": 3.2,
    "can_stop": True,
    "buttons_off_reason": None,
    "seq": 0,
}
FOREIGN = "script, img, iframe, a, form, input, style, link, meta, base, object, embed, math, textarea, noscript"
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>view</title>
<style>body{margin:16px;THEME--jp-ui-font-size1:13px;background:var(--jp-layout-color1)}</style>
<link rel="stylesheet" href="/widget.css"><body data-jp-theme-light="IS_LIGHT"><main id="host"></main>"""

# A model as anywidget gives it, whose listeners can be counted and fired.
MOUNT = """async ({run, live, traces}) => {
  const { default: widget } = await import('/widget.js');
  const data = { run, live, traces };
  const listeners = [];
  const model = {
    get: name => data[name],
    on: (event, callback) => listeners.push([event, callback]),
    off: (event, callback) => listeners.splice(listeners.findIndex(l => l[0] === event && l[1] === callback), 1),
    send: message => window.sent.push(message),
  };
  window.close_view?.();
  window.sent = [];
  window.listeners = listeners;
  window.emit = (event, ...values) => listeners.filter(l => l[0] === event).forEach(l => l[1](...values));
  window.set = (name, value) => { data[name] = value; window.emit('change:' + name); };
  window.open_view = () => widget.render({ model, el: document.getElementById('host') });
  window.close_view = window.open_view();
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    path = find_browser()
    if path is None:
        missing("browser", "no Chromium or Chrome was found")
    if not (STATIC / "widget.js").exists():
        missing("browser", "the view is not built: npm run build:prod in labextension/")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield opened
        opened.close()


class Viewer:
    """One page with one view. Requests that leave the page and dialogs are kept, never let through."""

    def __init__(self, browser: Any, theme: str, width: int, **options: Any) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 900}, **options)
        self.escaped: list[str] = []
        self.dialogs: list[str] = []
        self.errors: list[str] = []
        self.theme = theme
        self.page.route("**/*", self._answer)
        self.page.on("dialog", self._dismiss)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(f"{ORIGIN}/")

    def _answer(self, route: Any) -> None:
        name = route.request.url.removeprefix(ORIGIN)
        if name == "/":
            html = PAGE.replace("THEME", THEMES[self.theme]).replace("IS_LIGHT", str(self.theme == "light").lower())
            route.fulfill(body=html, content_type="text/html")
        elif name in ("/widget.js", "/widget.css"):
            kind = "text/javascript" if name.endswith("js") else "text/css"
            route.fulfill(body=(STATIC / name[1:]).read_text(encoding="utf-8"), content_type=kind)
        else:
            self.escaped.append(route.request.url)
            route.abort()

    def _dismiss(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def show(self, run: Any, live: Any = None) -> Any:
        self.page.evaluate(MOUNT, {"run": run, "live": live, "traces": "traces/ of this project"})
        self.page.wait_for_selector(".rl-view")
        return self.page

    def overflow(self) -> int:
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@pytest.fixture
def open_viewer(browser: Any) -> Iterator[Any]:
    viewers: list[Viewer] = []

    def opened(theme: str = "light", width: int = 1100, **options: Any) -> Viewer:
        viewers.append(Viewer(browser, theme, width, **options))
        return viewers[-1]

    yield opened
    for viewer in viewers:
        viewer.page.close()
        assert viewer.errors == []


def stored(name: str) -> Any:
    return json.loads((ROOT / "tests" / "fixtures" / "runs" / f"{name}.json").read_text(encoding="ascii"))


def test_an_accepted_run_says_on_what_and_shows_its_returned_draft(open_viewer: Any) -> None:
    page = open_viewer().show(stored("accepted"))
    banner = page.locator(".rl-banner").inner_text()
    assert "Accepted on the evidence shown" in banner
    assert "correct" not in page.locator(".rl-view").inner_text().lower()
    assert "score" in banner and "0.95" in banner
    assert "2,154 tokens" in banner and "unpriced" in banner
    assert page.locator("[role=tab][aria-selected=true]").inner_text().startswith("Round 1")
    added = page.locator(".rl-row.rl-added").all_inner_texts()
    assert any("return 0.0" in row for row in added)
    assert page.locator(".rl-solved").count() == 3
    assert "process limits (no isolation)" in page.locator(".rl-evidence").inner_text()
    assert "could have forged the verdict" in page.locator(".rl-evidence").inner_text()
    assert "traces/ of this project" in page.locator(".rl-origin").inner_text()


def test_the_first_round_shows_the_failing_case_quoted_and_the_discarded_issue_with_why(open_viewer: Any) -> None:
    page = open_viewer().show(stored("accepted"))
    page.locator("[role=tab]").first.click()
    case = page.locator(".rl-issue.rl-blocking").first
    assert "python:1/case:3" in case.inner_text()
    assert case.locator("mark").inner_text() == "mean([]) == 0.0"
    assert "quotes the report of python:1" in case.inner_text()
    discarded = page.locator(".rl-discarded")
    assert "no ground: its quote stands in no source" in discarded.inner_text()
    assert discarded.locator("s").first.inner_text() == "major style"
    assert page.locator(".rl-fold").count() == 0
    case.get_by_role("button", name="line 9").click()
    assert page.evaluate("document.activeElement.dataset.line") == "9"


def test_ends_differ_in_words_and_signs_and_not_by_colour_alone(open_viewer: Any) -> None:
    seen = {}
    viewer = open_viewer()
    for name in ("accepted", "stalled", "cancelled", "error", "unfinished"):
        run = stored(name) if name != "unfinished" else {**stored("accepted"), "outcome": None}
        page = viewer.show(run)
        sign = page.locator(".rl-disc svg path").get_attribute("d")
        seen[name] = (page.locator(".rl-badge-tone").inner_text(), sign)
    assert len({words for words, _ in seen.values()}) == 5
    assert len({sign for _, sign in seen.values()}) == 5
    assert seen["stalled"][0] == "a person must decide"


def test_unknown_and_not_recorded_are_neither_zero_nor_none(open_viewer: Any) -> None:
    run = stored("stalled")
    run["rounds"][2]["critique"] = None
    run["not_recorded"] = ["/rounds/2/critique"]
    page = open_viewer().show(run)
    assert "tokens unknown" in page.locator(".rl-banner").inner_text()
    assert "unknown" in page.locator(".rl-receipt tfoot").inner_text()
    page.locator("[role=tab]").nth(2).click()
    assert "The critique was not recorded." in page.locator(".rl-issues").inner_text()


def test_rounds_are_chosen_with_the_keyboard_alone(open_viewer: Any) -> None:
    page = open_viewer().show(stored("stalled"))
    selected = page.locator("[role=tab][aria-selected=true]")
    selected.focus()
    assert page.locator("[role=tab][tabindex='0']").count() == 1
    for key, name in (("ArrowRight", "Round 2"), ("ArrowRight", "Round 2"), ("Home", "Round 0"), ("End", "Round 2")):
        page.keyboard.press(key)
        assert selected.inner_text().startswith(name)
        assert page.evaluate("document.activeElement.getAttribute('aria-selected')") == "true"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "tabpanel"


def test_a_folded_run_of_lines_unfolds(open_viewer: Any) -> None:
    page = open_viewer().show(stored("accepted"))
    before = page.locator(".rl-row").count()
    page.get_by_role("button", name=re.compile(r"Show \d+ unchanged lines")).first.click()
    assert page.locator(".rl-row").count() > before


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


def test_astral_characters_are_marked_where_python_counted_them(open_viewer: Any) -> None:
    page = open_viewer().show(stored("hostile"))
    assert "before" in page.locator(".rl-row.rl-removed").first.inner_text()
    marked = page.locator(".rl-row.rl-removed").first.locator("mark").all_inner_texts()
    assert marked == ["before"]


def test_text_streams_while_it_runs_and_stop_reaches_the_kernel(open_viewer: Any) -> None:
    page = open_viewer().show(stored("accepted"), LIVE)
    for seq, delta in enumerate(("(xs)", ":\n", "    return"), start=1):
        page.evaluate("([delta, seq]) => emit('msg:custom', {type: 'text', delta, seq})", [delta, seq])
    page.wait_for_function("document.querySelector('.rl-stream').innerText.includes('def mean(xs):\\n    return')")
    assert "The generator writes draft 2" in page.locator("[role=status]").inner_text()
    page.get_by_role("button", name="Stop").click()
    assert page.evaluate("sent") == [{"type": "stop"}]
    assert page.get_by_role("button", name="Stopping").is_disabled()
    page.evaluate("set('live', null)")
    page.wait_for_selector("text=Accepted on the evidence shown")
    assert page.locator(".rl-stream").count() == 0


def test_a_view_without_buttons_says_why(open_viewer: Any) -> None:
    reason = "The cell runs under %%time."
    page = open_viewer().show(None, {**LIVE, "can_stop": False, "buttons_off_reason": reason})
    assert reason in page.locator(".rl-banner").inner_text()
    assert page.get_by_role("button", name="Stop").count() == 0


def test_a_live_view_follows_the_newest_round_until_another_is_chosen(open_viewer: Any) -> None:
    run = stored("stalled")
    page = open_viewer().show({**run, "rounds": run["rounds"][:1], "outcome": None}, LIVE)
    selected = page.locator("[role=tab][aria-selected=true]")
    page.evaluate("run => set('run', run)", {**run, "rounds": run["rounds"][:2], "outcome": None})
    page.wait_for_selector("[role=tab] >> nth=1")
    assert selected.inner_text().startswith("Round 1")
    page.locator("[role=tab]").first.click()
    page.evaluate("run => set('run', run)", {**run, "outcome": None})
    page.wait_for_selector("[role=tab] >> nth=2")
    assert selected.inner_text().startswith("Round 0")


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
