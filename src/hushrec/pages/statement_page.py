"""A release's whole statement of privacy as a page, for readers of the release."""

from pathlib import Path

from hushrec.pages.cards import stated
from hushrec.pages.cards.document import Document
from hushrec.pages.cards.hypertext import to_html
from hushrec.pages.cards.subject import Subject
from hushrec.release.artefact import Release

__all__ = ["STATEMENT_CSS", "statement_html"]

STATEMENT_CSS = Path(__file__).with_name("assets") / "statement.css"
"""The stylesheet of the page: a file to be served beside it."""


def statement_html(
    release: Release, stylesheet: str = "statement.css", *, home: str = "", icon: str = ""
) -> str:
    """The statement as a page of HTML, in the words of ``hushrec show``.

    It has no script and no style of its own, so it is shown under ``style-src 'self'`` with no script at all.

    Args:
        release: the release whose statement it is.
        stylesheet: name of ``STATEMENT_CSS`` as it is served, relative to the page.
        home: name of a page to go back to, if there is one.
        icon: name of a picture in SVG as it is served, if there is one.

    Returns:
        HTML, the same for the same release.
    """
    subject = Subject.of(release)
    statement = subject.statement
    document = Document(
        kind="Statement of privacy",
        title="What this release promises",
        about=subject.about,
        top=stated.guarantee(statement),
        sections=tuple(stated.sections(statement)),
    )
    return to_html(document, stylesheet=stylesheet, home=home, icon=icon)
