"""Debian's Chromium, as tests start it."""

LAUNCH = {
    "executable_path": "/usr/bin/chromium",
    "args": [
        *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
        *("--disable-sync", "--no-first-run"),
    ],
}
