"""A browser for tests: headless Chromium, and all it asks for and complains of written down."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]


def executable() -> str | None:
    """Return the path of Chromium, where the machine has one."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


@dataclass
class Browser:
    """Opens pages; ``asked`` are the addresses they requested, ``faults`` what went wrong."""

    context: BrowserContext
    asked: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def open(self, path: Path, fragment: str = "") -> Page:
        """Open a file at a fragment, in a tab of its own."""
        tab = self.context.new_page()
        tab.on("console", lambda message: self.faults.append(message.text))
        tab.on("pageerror", lambda error: self.faults.append(str(error)))
        tab.on("dialog", lambda dialog: self.faults.append(dialog.message))
        tab.on("request", lambda request: self.asked.append(request.url))
        tab.goto(path.as_uri() + fragment)
        return tab


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Start Chromium with an empty profile, and end it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        context = play.chromium.launch_persistent_context(
            profile, executable_path=executable(), headless=True, args=FLAGS
        )
        context.set_default_timeout(20_000)
        try:
            yield Browser(context)
        finally:
            context.close()
