"""How a page looks and speaks: its title, and a style of the site's own.

The texts of the page are the file ``texts.json``. The page gets them as a script, and its HTML and manifest
with the texts in their places.
"""

import html
import json
import re
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import Any

from hushrec.errors import ConfigError

LARGEST_CSS = 2**18
"""Bytes in a style, which every reader fetches."""
_OWN_CSS = "own.css"


@dataclass(frozen=True)
class PageStyle:
    """A site's choices for its page.

    Args:
        title: the heading of the page; by default that of its texts.
        css: a style that is loaded after the page's own.
    """

    title: str | None = None
    css: bytes | None = None

    def __post_init__(self) -> None:
        if self.title is not None and not self.title.strip():
            raise ConfigError("the title of the page is empty; give a title, or leave the option out")
        if self.css is not None and len(self.css) > LARGEST_CSS:
            raise ConfigError(
                f"the style has {len(self.css):,} bytes, and every reader fetches it; at most "
                f"{LARGEST_CSS:,} are allowed: make it smaller"
            )

    def files(self, assets: Traversable) -> dict[str, bytes]:
        """The files of a page that depend on its style, by name."""
        page_texts = texts(assets)
        title = self.title or page_texts["title"]
        link = f'\n<link rel="stylesheet" href="{_OWN_CSS}">' if self.css is not None else ""
        index = _filled((assets / "index.html").read_text("utf-8"), {**page_texts, "title": title})
        manifest = json.loads((assets / "page.webmanifest").read_text("utf-8")) | {
            "name": title,
            "short_name": self.title or page_texts["short_title"],
            "description": page_texts["description"],
        }
        script = f"export const texts = {_json(page_texts)};\n"
        style = '<link rel="stylesheet" href="style.css">'
        return {
            "index.html": index.replace(style, style + link).encode(),
            "page.webmanifest": _json(manifest).encode(),
            "texts.js": script.encode(),
            **({_OWN_CSS: self.css} if self.css is not None else {}),
        }


def texts(assets: Traversable) -> dict[str, Any]:
    """The texts of a page, by name."""
    page_texts: dict[str, Any] = json.loads((assets / "texts.json").read_text("utf-8"))
    return page_texts


def _filled(page: str, values: dict[str, Any]) -> str:
    """HTML with values, as text, in the place of their names."""
    return re.sub(r"\{(\w+)\}", lambda name: html.escape(values[name[1]]), page)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
