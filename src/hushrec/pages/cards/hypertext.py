"""Documents as HTML without scripts, in which every text is escaped."""

from functools import cache
from typing import TYPE_CHECKING, Any

from hushrec.escapes import escaped
from hushrec.pages.cards.document import Document

if TYPE_CHECKING:
    from jinja2 import Environment


def to_html(
    document: Document, *, css: str = "", stylesheet: str = "", home: str = "", icon: str = ""
) -> str:
    """A whole page.

    Args:
        document: what it says.
        css: rules that stand in the page itself; trusted.
        stylesheet: name of a file of rules beside the page, in place of ``css``.
        home: name of a page to go back to, if there is one.
        icon: name of a picture in SVG, if there is one.
    """
    from markupsafe import Markup

    return (
        _environment()
        .get_template("document.html.j2")
        .render(page=document, css=Markup(css), stylesheet=stylesheet, home=home, icon=icon)
    )


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("hushrec.pages.cards"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda shown: escaped(shown) if type(shown) is str else shown,
    )
    environment.filters["drawing"] = _drawing(Markup)
    return environment


def _drawing(trusted: Any) -> Any:
    """Lets a drawing of ours through unescaped."""
    return lambda svg: trusted(svg)
