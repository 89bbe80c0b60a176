#!/bin/sh
# Makes sure that the browser tests have a browser: an installed one, else Debian's package where this user may
# install it, else the one that Playwright fetches. Where none can be had, says so in one line and goes on: the tests
# that need it are then skipped, or fail where REFLECT_LAB_REQUIRE names it.
cd "$(dirname "$0")/.." || exit 1
python=.venv/bin/python
log=.setup/browser.log

"$python" tests/browser_finder.py >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "browser: installing Debian's chromium"
    (apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium) >"$log" 2>&1
    "$python" tests/browser_finder.py >/dev/null 2>&1 && exit 0
fi
echo "browser: asking Playwright to fetch Chromium"
"$python" -m playwright install chromium >"$log" 2>&1
"$python" tests/browser_finder.py >/dev/null 2>&1 && exit 0
echo "browser: none found and none could be installed (see $log): install Chromium, or set REFLECT_LAB_BROWSER" >&2
exit 0
