"""The statement of privacy that every release carries, as it is printed and as a file has it."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from hushrec.documents import html, sentences, terminal
from hushrec.documents.document import VERSION, Block, Document, Facts, Paragraph, Points, Section, form
from hushrec.documents.fact import Fact, Sentence
from hushrec.documents.measured import Local, Measured, Promised, is_all_gaussian
from hushrec.documents.schema import is_statement
from hushrec.errors import ReleaseError
from hushrec.release.statement_facts import StatementFacts
from hushrec.release.untrusted_json import parsing, typed
from hushrec.text import above, below

__all__ = ["Local", "Measured", "Promised", "Statement"]

_STATED: Mapping[str, tuple[type[Sentence], ...]] = {
    "caveats": sentences.CAVEAT_KINDS,
    "assumes": (sentences.Assumes,),
    "decisions": (sentences.Branch,),
}
"""Fields of facts that are sentences, and the kinds of these."""
_ALWAYS = {"caveats", "unit", "adjacency", "epsilon", "delta", "measurements", "assumes", "ledger"}
"""Fields that a file has even if they are empty."""
_DERIVED = "kind", "version", "reading", "said"
"""What a file has for its readers: it follows from the fields, so of it only the headline is checked."""
_DECLARED = "population", "controller", "contact"
"""The declaration of a ledger's owner."""
_REFUTED = "NOT CONVERGED"
"""The verdict of diagnostics that contradict convergence."""


@dataclass(frozen=True, slots=True)
class Statement(StatementFacts):
    """The promise of a release: its facts, what they say in English, and both in a file.

    Privacy: public.
    """

    def document(self) -> Document:
        """The whole statement."""
        blocks = [*self.first(), *self.plain(), *self._proof(), *self._charged()]
        title, label = sentences.STATEMENT, sentences.STATEMENT_LABEL
        return Document("statement", title, blocks, label=label, facts=self.to_json())

    def says(self) -> dict[str, str]:
        """Return the sentences that a page shows of it, by name: those that need no table."""
        shown = {"headline": self.headline, "sentence": self.sentence}
        if self.private:
            guarantee = self.together or self.guarantee
            shown |= {"story": " ".join(guarantee.story()), "protected": guarantee.protected()}
            shown["unprotected"] = guarantee.unprotected()
        if together := self.together:
            brief = f" {together.brief()}" if self.private else ""
            shown["together"] = together.together(self.ledger.get("spent_epsilon")) + brief
        return shown

    def first(self) -> list[Block]:
        """Say first what must not be missed, then ε: of all releases together if there are several.

        The ε of one of several follows in ``plain`` and ``summary``; without a promise it follows here.
        """
        cautions = list(map(sentences.caveat, self.caveats))
        if self.sampled and self.diagnostics.get("verdict") == _REFUTED:
            cautions.append(sentences.REFUTED)
        if self.has("groups"):
            cautions.append(sentences.GROUPS_NOT_COVERED)
        if any(one.sentence is sentences.Unprotected.exact for one in self.caveats):
            cautions.append(sentences.EXACT)
        blocks: list[Block] = [Paragraph(line, "caution") for line in cautions]
        if not self.measurements:
            return blocks
        if self.has("unprotected"):
            blocks.append(Paragraph(sentences.NOTHING))
        if together := self.together:
            blocks.append(Paragraph(together.together(self.ledger.get("spent_epsilon")), "strong"))
        if not (together and self.private):
            loss = self._alone() if together else self.guarantee.loss()
            loss += sentences.AS_CLAIMED if self.has("author") else ""
            blocks.append(Paragraph(loss, "plain" if cautions or together else "strong"))
        if self.beside:
            blocks.append(Paragraph(sentences.beside(self.beside)))
        return blocks

    def summary(self) -> list[Block]:
        """The first lines, what readers may learn, and the ε of one of several releases."""
        blocks = self.first()
        if self.private and self.measurements:
            blocks.append(Paragraph((self.together or self.guarantee).brief()))
            if self.together:
                blocks.append(Paragraph(self._alone()))
        return blocks

    def plain(self) -> list[Block]:
        """The promise in plain words, and what it means for one person; nothing where nothing is promised.

        Of one of several releases, it is first that of all of them together.
        """
        if not (self.private and self.measurements):
            return []
        single, together = self.guarantee, self.together
        if together is None:
            return [Paragraph(single.promise()), single.section()]
        why = together.any_noise(gaussian=is_all_gaussian(self.measurements))
        alone = Paragraph(self._alone(), "strong"), Paragraph(single.promise())
        whole = Paragraph(together.promise()), together.section(more=why)
        return [*whole, *alone, single.section(alone=True)]

    def _alone(self) -> str:
        """Say in one line what this release costs, with those whose sums it holds."""
        epsilon, delta, n = self.epsilon, self.delta, len(self.earlier)
        if not n:
            return sentences.loss_alone(epsilon, delta)
        return sentences.loss_with_earlier(n, epsilon, delta, self.year["own_epsilon"])

    def _proof(self) -> list[Block]:
        """Describe the basis of the figures: answers, people, measurements and assumptions."""
        blocks: list[Block] = []
        if not self.measurements:
            return blocks
        if self.local:
            blocks.append(sentences.answers_section(self.local, self.epsilon))
        if self.personal_epsilon:
            sure = self.private
            asked: list[Block] = [sentences.promised_table(self.classes, sure=sure)] if self.classes else []
            asked += [Paragraph(sentences.PERSONAL_EACH)] if sure else []
            blocks.append(Section(sentences.PERSONAL, asked))
        measured: list[Block] = [sentences.measured_table(self.measurements)]
        measured += [Paragraph(str(decision)) for decision in self.decisions]
        if (mu := self.reading.mu) is not None:
            measured.append(Paragraph(sentences.mu_together(mu, earlier=bool(self.earlier))))
        blocks.append(Section(sentences.MEASURED, measured, folded=True))
        if self.diagnostics:
            shown = [(name, _shown(value)) for name, value in self.diagnostics.items()]
            blocks.append(Section(sentences.CHAIN, [Facts(shown)], folded=True))
        assumed = Points(list(map(str, self.assumes)))
        return [*blocks, Section(sentences.ASSUMED, [assumed], folded=True)]

    def _charged(self) -> list[Block]:
        """Say which ledger was charged, which of its releases this is, and who answers for it."""
        ledger = self.ledger
        if not ledger or not self.measurements:
            return []
        numbers = ledger.get("release_index", 0), ledger.get("max_releases", 1), ledger.get("seq", 0)
        lines = [sentences.charge(ledger.get("file"), ledger.get("date"), *numbers)]
        if "total_epsilon" in ledger:
            spent, total = above(ledger.get("spent_epsilon")), below(ledger["total_epsilon"])
            lines.append(sentences.ledger_spent(spent, total))
        if self.together:
            lines.append(sentences.LEDGER_RAISED)
        named = {"ledger": "id", "head": "head"} | {name: name for name in _DECLARED}
        rows = [(name, str(ledger[field])) for name, field in named.items() if ledger.get(field)]
        blocks: list[Block] = [*map(Paragraph, lines), Facts(rows)]
        # A reader asks who answers for the file.
        if missing := [name for name in _DECLARED if ledger.get("file") and not ledger.get(name)]:
            blocks.append(Paragraph(sentences.missing_declarations(", ".join(missing))))
        return [Section(sentences.CHARGED, blocks)]

    def to_json(self) -> dict[str, Any]:
        """As JSON values that keep to the schema; an infinite ε becomes null."""
        values = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if value or name in _ALWAYS
        }
        values |= {name: [one.to_json() for one in getattr(self, name)] for name in _STATED if name in values}
        if self.beside:
            values["beside"] = self.beside.to_json()
        values["epsilon"] = None if math.isinf(self.epsilon) else self.epsilon
        return {
            **form("statement"),
            **values,
            "reading": self.reading.to_json(),
            "said": self.says(),
        }

    @classmethod
    def from_json(cls, values: Any) -> Self:
        """The statement that ``to_json`` described.

        Raises:
            ReleaseError: It does not keep to the schema, or what it says cannot be.
        """
        with parsing("the statement of privacy is malformed"):
            if (version := typed(values, dict).get("version")) != VERSION or version is True:
                raise ReleaseError(
                    f"the statement of privacy has version {version!r}, this hushrec reads {VERSION}; "
                    "upgrade hushrec"
                )
            if not is_statement(values):
                raise ReleaseError("the statement of privacy is malformed")
            facts = {name: value for name, value in values.items() if name not in _DERIVED}
            for name, kinds in _STATED.items():
                facts[name] = tuple(Fact.from_json(one, *kinds) for one in facts.get(name, ()))
            if "beside" in facts:
                facts["beside"] = Fact.from_json(facts["beside"], sentences.Beside)
            facts["measurements"] = tuple(Measured(**line) for line in facts["measurements"])
            facts["classes"] = tuple(Promised(**one) for one in facts.get("classes", ()))
            if "local" in facts:
                facts["local"] = Local(**facts["local"])
            facts["people"] = tuple(facts.get("people", ()))
            facts["epsilon"] = math.inf if facts["epsilon"] is None else float(facts["epsilon"])
            statement = cls(**facts)
            if not statement.is_possible() or not (statement.is_grounded() or statement.has("unprotected")):
                raise ReleaseError("the statement of privacy promises something without grounds")
            if values["said"]["headline"] != statement.headline:
                raise ReleaseError(
                    "the headline of the statement of privacy is not that of its figures; do not use the "
                    "release, and fetch it again from its owner"
                )
            return statement

    def __repr__(self) -> str:
        return f"Statement({self.headline})"

    def _repr_html_(self) -> str:
        return html.notebook(self.document())

    def __str__(self) -> str:
        return terminal.text(self.document().blocks)


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def placeholder_statement(diagnostics: Mapping[str, float | str] | None = None) -> Statement:
    """The statement of a release before the real one is written: it promises nothing.

    Args:
        diagnostics: of the chains, which the statement will show. They are published, so they may depend
            only on what the grant released.
    """
    return Statement(
        caveats=(sentences.Unprotected.unstated(),),
        unit="record",
        adjacency="add-remove",
        epsilon=float("inf"),
        delta=0.0,
        diagnostics=diagnostics or {},
    )
