"""The card of a release: one page for the person who answers for privacy.

It is made from public facts and from the files that are given.

Its parts are those of a model card (Mitchell et al. 2019), with the statement of privacy and the factors of
NIST SP 800-226 (March 2025) as a checklist.

Privacy: public; figures of accuracy, if they are given, are private, and the card says so first.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from hushrec.documents import schema
from hushrec.documents.document import Block, Commands, Document, Facts, Paragraph, Points, Section
from hushrec.documents.words import ENGLISH, Clause, Said, Words
from hushrec.escapes import one_line
from hushrec.figures import above, below
from hushrec.pages import evidence
from hushrec.pages.reviewed_file import ReviewedFile
from hushrec.pages.trade_off import trade_off
from hushrec.release.statement import Statement

__all__ = ["Given", "card"]


@dataclass(frozen=True, slots=True)
class Given:
    """The files that accompany the release.

    Attributes:
        audit: name and text of what ``hushrec audit --json`` printed.
        accuracy: name and text of what ``hushrec evaluate --json`` printed.
        history: what the check of the ledger's exported history found.
        options: names and values of settings that are not the model's defaults; None if hushrec does not
            know the model or one of them.
    """

    audit: evidence.Named | None = None
    accuracy: evidence.Named | None = None
    history: Clause | None = None
    options: evidence.Options = ()


def card(reviewed: ReviewedFile, inputs: Given = Given(), lang: str = ENGLISH) -> Document:
    """Make the card of a release or a released data set.

    Args:
        lang: a language of ``LANGUAGES``; what it lacks stands in English, and the card says so.
    """
    words, statement = Words(lang), reviewed.statement

    def part(name: str, blocks: Sequence[Block]) -> Section:
        return Section(words(f"card.{name}.title"), blocks)

    audit, proof = evidence.audit(inputs.audit, reviewed, words, inputs.options), statement.proof(words)
    summary: list[Block] = [
        *(block for block in audit if isinstance(block, Paragraph) and block.tone == "caution"),
        *statement.first(words),
        *([Paragraph(words("card.holds_accuracy"), "caution")] if inputs.accuracy else []),
        part("promise", _promise(statement, words)),
        part("not_promised", [Points([*_not_promised(reviewed, words)])]),
        part("uses", [Facts([*_uses(reviewed, words)])]),
        *([part("guarantee", proof)] if proof else []),
    ]
    rest: list[Block] = [
        part("audit", audit),
        part("accuracy", evidence.accuracy(inputs.accuracy, reviewed, words)),
        part("data", _data(reviewed, words)),
        *(statement.charged(words) or [part("ledger", [Paragraph(words("card.ledger.none"))])]),
        part("file", _file(reviewed, inputs, words)),
        part("checklist", [Paragraph(words("card.checklist.about")), *_checklist(reviewed, inputs, words)]),
    ]
    about, label = reviewed.about(words), words(f"card.{reviewed.sort}")
    note = [Paragraph(words("untranslated_card"))] if words.fell_back else []
    blocks = [*summary, *note, *rest]
    return Document("card", reviewed.named, blocks, about=about, label=label, lang=lang)


def _promise(statement: Statement, words: Words) -> list[Block]:
    """Tell the promise as the statement does, and the best attack."""
    return statement.plain(words, trade_off) or [
        Paragraph(statement.sentences(words)["sentence"]),
        Paragraph(words("card.promise.no_attacks")),
    ]


def _not_promised(reviewed: ReviewedFile, words: Words) -> Iterator[Said]:
    """What no reader may take the statement to mean, as docs/known-limits.md says at more length."""
    if not reviewed.promises:
        yield words("card.not_promised.anything")
        return
    if covered := reviewed.statement.guarantee.covered(words):
        yield covered
    trusted = "randomizer" if reviewed.statement.local else "curator"
    listed = ["listed"] if reviewed.lists_people else []
    accounts = ["accounts"] if reviewed.statement.unit == "user" else []
    for name in (*listed, "facts", *accounts, "public", trusted, "outside", "new_data", "for_good"):
        yield words(f"card.not_promised.{name}")


def _uses(reviewed: ReviewedFile, words: Words) -> Iterator[tuple[str, str]]:
    """Intended and other uses, and what to know before one of them."""
    kind = "rows" if reviewed.sort == "data_set" else "lists"
    named = {"intended": kind if reviewed.promises else "tests", "outside": "decisions"}
    yield from ((words(f"card.uses.{name}"), words(f"card.uses.{text}")) for name, text in named.items())
    if reviewed.taste:
        yield words("card.uses.taste"), reviewed.taste(words)
    yield words("card.uses.caveats"), words("card.uses.noise")


def _data(reviewed: ReviewedFile, words: Words) -> list[Block]:
    """The data by public facts; no number here was counted in them."""
    rows = [
        (words("card.data.catalogue"), words("card.data.items", n=reviewed.n_items)),
        (words("card.data.gives"), words.clause(reviewed.gives)),
    ]
    if reviewed.holds:
        rows.append((words("card.data.holds"), words.clause(reviewed.holds)))
    return [Paragraph(words("card.data.about")), Facts(rows)]


def _file(reviewed: ReviewedFile, inputs: Given, words: Words) -> list[Block]:
    """The file's digest, signature and versions, and the steps that verify it."""
    statement = reviewed.statement
    settings = ", ".join(f"{name}={value}" for name, value in _flat(reviewed.settings))
    model = {
        "model": statement.model or reviewed.maker,
        "settings": settings or words("card.file.no_settings"),
    }
    made_by = (
        words("card.file.version", version=statement.hushrec)
        if statement.hushrec
        else words("card.file.no_version")
    )
    rows = {
        "name": reviewed.named,
        "sha256": reviewed.sha256,
        "signature": words(
            f"card.file.{'signed' if reviewed.signed_by else 'unchecked'}", key=reviewed.signed_by
        ),
        "made_by": made_by,
        "model": one_line(words("card.file.settings", **model)),
        "digest_settings": statement.settings,
        "digest_domain": str(statement.ledger.get("domain", "")),
        "statement": words("card.file.form", version=schema.VERSION),
        "card": words("card.file.version", version=metadata.version("hushrec")),
    }
    shown = [(words(f"card.file.{name}"), value) for name, value in rows.items() if value]
    named = shlex.quote(f"./{reviewed.named}" if reviewed.named.startswith("-") else reviewed.named)
    signed = [f"hushrec show {named} --key owner.pub"] if reviewed.sort == "release" else []
    steps = [f"sha256sum {named}", f"hushrec show {named}", *signed]
    steps.append(f"hushrec ledger verify history.json {named}")
    commands = Commands(words("card.file.how"), steps)
    blocks: list[Block] = [Facts(shown), Paragraph(words("card.file.verify")), commands]
    if inputs.history:
        blocks.append(Paragraph(words("card.file.recorded", found=words.clause(inputs.history))))
    elif statement.ledger:
        blocks.append(Paragraph(words("card.file.unrecorded")))
    return blocks


def _flat(settings: Mapping[str, Any], outer: str = "") -> Iterator[tuple[str, Any]]:
    """Settings by name; a group of them is dotted, as on the command line."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{outer}{name}.")
        else:
            yield outer + name, value


def _checklist(reviewed: ReviewedFile, inputs: Given, words: Words) -> Iterator[Section]:
    """Return the file's answers about each factor, and the boxes that a person has yet to tick."""
    statement = reviewed.statement
    author = ["author"] if statement.has("author") else []
    factors: dict[str, tuple[Sequence[str], Sequence[str]]] = {
        "parameters": ([_parameters(reviewed, words)], ["suits"]),
        "unit": (_unit(statement, words), [statement.unit]),
        "algorithms": ([_algorithms(statement, words)], ["read" if inputs.audit else "audit", *author]),
        "utility": ([words(f"card.utility.{'measured' if inputs.accuracy else 'unmeasured'}")], ["enough"]),
        "bias": ([words("card.bias.noise")], ["groups"]),
        "queries": ([*_composed(statement, words)], ["only", "raise"]),
        "trust": (
            [words(f"card.trust.{'local' if statement.local else 'central'}")],
            [*(["devices"] if statement.local else []), "known"],
        ),
        "channels": ([_channels(reviewed, words)], ["watched", "tuned"]),
        "access": ([words("card.access.owner")], ["few"]),
        "collection": ([words("card.collection.breach")], ["needed", "deleted"]),
    }
    for name, (answers, tasks) in factors.items():
        boxes = Points([words(f"card.{name}.task_{task}") for task in tasks], open=True)
        yield Section(words(f"card.{name}.title"), [Paragraph(words.join(answers)), boxes])


def _parameters(reviewed: ReviewedFile, words: Words) -> Said:
    if not reviewed.promises:
        return words("card.parameters.nothing")
    statement = reviewed.statement
    parts = [statement.of_all(statement.together, words)] if statement.together else []
    if not statement.ledger.get("parts"):
        figures = {"epsilon": above(statement.epsilon), "delta": above(statement.delta)}
        parts.append(words("card.parameters.figures", **figures))
    if (mu := statement.reading.mu) is not None:
        parts.append(words("card.parameters.mu", mu=above(mu, 3)))
    return words.join([*parts, words("card.parameters.computed")])


def _unit(statement: Statement, words: Words) -> list[Said]:
    one = words(f"given.{'interactions' if statement.interactions else 'ratings'}.one")
    return [words(f"card.unit.{statement.unit}", one=one), words(f"card.unit.{statement.adjacency}")]


def _algorithms(statement: Statement, words: Words) -> Said:
    mechanisms = dict.fromkeys(line.mechanism for line in statement.measurements if line.mechanism != "exact")
    if not mechanisms:
        return words("card.algorithms.no_noise")
    derived = "declared" if statement.has("author") else "derived"
    return words(f"card.algorithms.{derived}", mechanisms=", ".join(mechanisms).capitalize())


def _composed(statement: Statement, words: Words) -> Iterator[Said]:
    yield words("card.queries.planned")
    ledger = statement.ledger
    if not ledger:
        yield words("card.queries.no_ledger")
        return
    number, most = ledger.get("release_index", 0) + 1, ledger.get("max_releases", 1)
    yield words("card.queries.composed", number=number, most=most)
    if "total_epsilon" in ledger:
        figures = {"spent": above(ledger.get("spent_epsilon")), "total": below(ledger["total_epsilon"])}
        yield words("card.queries.spent", **figures)


def _channels(reviewed: ReviewedFile, words: Words) -> Said:
    if not reviewed.promises:
        return words("card.channels.nothing")
    return words(f"card.channels.{'chain' if reviewed.statement.sampled else 'exact'}")
