"""A release's whole statement of privacy as a page, for readers of the release."""

from dataclasses import replace

from hushrec.documents import html
from hushrec.documents.words import ENGLISH, LANGUAGES, Words
from hushrec.pages.reviewed_file import ReviewedFile
from hushrec.release.artefact import Release

__all__ = ["statement_html"]


def statement_html(
    release: Release, lang: str = ENGLISH, *, stylesheet: str = html.CSS.name, home: str = "", icon: str = ""
) -> str:
    """Write the statement as a page of HTML, in the words of ``hushrec show``.

    It has no script and no style of its own, so it is shown under ``style-src 'self'`` with no script at all.

    Args:
        lang: the language of the page; English stands for one that no statement is written in.
        stylesheet: name of ``documents.html.CSS`` as it is served, relative to the page.
        home: name of a page to go back to, if there is one.
        icon: name of a picture in SVG as it is served, if there is one.

    Returns:
        HTML, the same for the same release.
    """
    words = Words(lang if lang in LANGUAGES else ENGLISH)
    document = replace(release.statement.document(words.lang), about=ReviewedFile.of(release).about(words))
    back = words("statement.back")
    return html.page(document, stylesheet=stylesheet, home=home, icon=icon, back=back)
