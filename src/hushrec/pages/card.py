"""The card of a release: one page for whoever answers for privacy, from public facts and given files alone.

Its parts are those of a model card (Mitchell et al. 2019), with the statement of privacy and the factors of
NIST SP 800-226 (March 2025) as a checklist.

Privacy: public; figures of accuracy, if they are given, are private, and the card says so first.
"""

from dataclasses import dataclass

from hushrec.pages.cards import evidence, hazards, limits, origin, stated
from hushrec.pages.cards.document import Block, Caution, Document, Section, Text
from hushrec.pages.cards.hypertext import to_html
from hushrec.pages.cards.markdown import to_markdown
from hushrec.pages.cards.subject import Subject
from hushrec.pages.cards.trade_off import trade_off
from hushrec.pages.statement_page import STATEMENT_CSS

__all__ = ["Given", "card", "html", "markdown"]


@dataclass(frozen=True, slots=True)
class Given:
    """What was given beside the release: each a file's name and text, or a line.

    Attributes:
        audit: name and text of what ``hushrec audit --json`` printed.
        accuracy: name and text of what ``hushrec evaluate --json`` printed.
        history: what the check of the ledger's exported history found.
        options: names and values of settings that are not the model's defaults; None if hushrec does not
            know the model or one of them.
    """

    audit: tuple[str, str] | None = None
    accuracy: tuple[str, str] | None = None
    history: str = ""
    options: evidence.Options = ()


def card(subject: Subject, given: Given = Given()) -> Document:
    """The card of a release or a released data set.

    Args:
        given: what stands beside it.
    """
    said = subject.statement
    audit, accuracy = _audit(subject, given), _accuracy(subject, given)
    parts = {section.title: section.blocks for section in stated.sections(said)}
    elsewhere = stated.PLAIN, stated.LEDGER
    guarantee = tuple(
        block
        for title, blocks in parts.items()
        if title not in elsewhere
        for block in (Text(f"{title}:"), *blocks)
    )
    first: tuple[Block, ...] = (*stated.guarantee(said), *evidence.refuted(audit))
    if given.accuracy:
        first += (Caution((_HOLDS_ACCURACY,)),)
    checked = hazards.hazards(subject, audited=bool(given.audit), measured=bool(given.accuracy))
    return Document(
        kind=f"Card of a {subject.sort}",
        title=subject.named,
        about=subject.about,
        top=first,
        sections=(
            Section("What it promises", _promise(subject, parts.get(stated.PLAIN, ()))),
            Section("What it does not promise", limits.not_promised(subject)),
            Section("What it is for", limits.uses(subject)),
            Section("The guarantee", guarantee),
            Section("Audit", audit),
            Section("Accuracy", accuracy),
            Section("The data", origin.data(subject)),
            Section("The ledger", origin.ledger(subject, given.history)),
            Section("The file, and how to verify it", origin.file(subject)),
            Section("Checklist after NIST SP 800-226", checked),
        ),
    )


def html(document: Document) -> str:
    """A card as one file of HTML that loads nothing."""
    return to_html(document, css=STATEMENT_CSS.read_text("utf-8"))


def markdown(document: Document) -> str:
    return to_markdown(document)


_HOLDS_ACCURACY = (
    "This card holds figures of accuracy, which no guarantee covers: whether to publish them is the owner's "
    "decision. Without them, the card is as public as the file."
)


def _promise(subject: Subject, plain: tuple[Block, ...]) -> tuple[Block, ...]:
    said = subject.statement
    if not said.private:
        return Text(said.sentence), *plain, Text("So no figures of attacks are given.")
    return *plain, *trade_off(said)


def _audit(subject: Subject, given: Given) -> tuple[Block, ...]:
    if given.audit is None:
        return evidence.no_audit(subject, given.options)
    name, text = given.audit
    return evidence.audit(text, name, subject)


def _accuracy(subject: Subject, given: Given) -> tuple[Block, ...]:
    if given.accuracy is None:
        return evidence.no_accuracy()
    name, text = given.accuracy
    return evidence.accuracy(text, name, subject)
