"""One browser page with one view of a run, mounted as anywidget mounts it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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


def stored(name: str) -> Any:
    return json.loads((ROOT / "tests" / "fixtures" / "runs" / f"{name}.json").read_text(encoding="ascii"))
