"""A release's whole statement of privacy as a page, for its readers and for who answers for privacy."""

from dataclasses import replace

from hushrec.documents import html, sentences
from hushrec.documents.document import Points, Section
from hushrec.release.statement import Statement


def statement_html(
    statement: Statement,
    about: str,
    *,
    stylesheet: str = "",
    home: str = "",
    icon: str = "",
) -> str:
    """Write the statement as a page of HTML, in the words of ``hushrec show``, and a checklist.

    It has no script and no style of its own, so it is shown under ``style-src 'self'`` with no script at all.

    Args:
        about: what the file is, in one line.
        stylesheet: name of ``documents.html.CSS`` as it is served, relative to the page; by default the rules
            stand in the page itself.
        home: name of a page to go back to, if there is one.
        icon: name of a picture in SVG as it is served, if there is one.

    Returns:
        HTML, the same for the same statement.
    """
    questions = Points(sentences.QUESTIONS, open=True)
    document = statement.document()
    blocks = [*document.blocks, Section(sentences.CHECKLIST, [questions])]
    document = replace(document, about=about, blocks=blocks)
    return html.page(document, stylesheet=stylesheet, home=home, icon=icon, back=sentences.BACK)
