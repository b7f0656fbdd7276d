#!/bin/sh
# Installs a browser for the tests of HTML reports: the package of Debian or Ubuntu where there is one, else the one that
# Playwright brings, whose path it prints. Tests take THROUGHLINE_BROWSER, or chromium or google-chrome on the PATH.
set -eu
if command -v chromium >/dev/null || command -v google-chrome >/dev/null; then
    echo "there is a browser already"
elif command -v apt-get >/dev/null && apt-get install -y --no-install-recommends chromium; then
    command -v chromium
elif command -v npx >/dev/null; then
    npx --yes playwright@1.65.0 install --only-shell chromium
    echo "set THROUGHLINE_BROWSER to:"
    find "${PLAYWRIGHT_BROWSERS_PATH:-$HOME/.cache/ms-playwright}" -type f \( -name headless_shell -o -name chrome-headless-shell \)
else
    echo "neither apt-get nor npx is here: install chromium by hand" >&2
    exit 1
fi
