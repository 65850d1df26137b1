"""The statement of privacy that every release carries."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

from hushrec.documents import html, terminal, words
from hushrec.documents.document import VERSION, Block, Document, Facts, Paragraph, Points, Section, form
from hushrec.documents.measured import (
    DECLARED,
    RANDOMIZERS,
    Local,
    Measured,
    Odds,
    Promised,
    finite,
    finite_or_none,
    is_ledger,
    or_infinite,
    promised_table,
    table_of,
)
from hushrec.documents.promise import ADJACENCIES, Guarantee
from hushrec.documents.words import Clause
from hushrec.errors import ReleaseError
from hushrec.release.untrusted_json import entries, number, parsing, typed
from hushrec.text import above, below

__all__ = ["Local", "Measured", "Promised", "Statement"]

_OPTIONAL = frozenset(
    {
        "beside",
        "diagnostics",
        "classes",
        "local",
        "personal_epsilon",
        "interactions",
        "model",
        "settings",
        "hushrec",
        "decisions",
        "people",
        "year",
    }
)
"""Fields that files omit when empty."""
_CLAUSES = "caveats", "assumes", "decisions"
"""Fields of clauses."""
_DERIVED = frozenset({"reading", "said"})
"""Fields that follow from others, for readers: not read back, and of them only the headline is checked."""
_SHA256 = re.compile("[0-9a-f]{64}")
_REFUTED = "NOT CONVERGED"
"""The verdict of diagnostics that contradict convergence."""
_NAMED = (("ledger", "id"), ("head", "head"), *((name, name) for name in DECLARED))
"""The rows of the ledger's facts: their heading among the words, and their field."""
CAVEATS = "unprotected", "convergence", "groups", "author"
"""The kinds of caveats, the gravest first."""


@dataclass(frozen=True, slots=True)
class Statement:
    """The promise of a release: to whom, and on what assumptions.

    Attributes:
        caveats: why nothing is promised (kind ``unprotected``), or only on a condition (``convergence``), or
            only against readers who learn nothing from groups that were made from exact ratings
            (``groups``), or only on the word of an author whose code is not part of hushrec (``author``);
            empty if the promise holds.
        unit: ``user`` or ``record``.
        adjacency: ``add-remove``, ``replace`` or ``replace-items``.
        epsilon: true ε at ``delta`` of this release alone; infinite without noise.
        delta: δ.
        measurements: everything that was measured.
        assumes: what the promise rests on.
        decisions: which branch of its plan the fit took after its first releases, and why.
        ledger: of the ledger that was charged: id, file, entry number, head, number of this release and of
            all that are planned, domain; its total ε and what is spent of it with this release; population,
            controller and contact as its owner declared them; and the day (UTC) of the charge.
        diagnostics: of the Markov chains, such as R̂ and effective sample size, by name; numbers are finite.
        classes: what each class of users is promised.
        personal_epsilon: whether users asked for their own ε.
        local: what one answer reveals, if users' rows were randomized; else None.
        beside: the release that groups of items were made from, which this one reveals; None without. The
            statement covers what this release reveals beyond that one.
        interactions: whether people gave interactions in place of ratings, which unit ``record`` then means.
        model: name of the model or method that was charged.
        settings: SHA-256 of its settings, hex.
        hushrec: version of hushrec that charged it.
        people: of a baseline, the SHA-256 of the data that it was made from, hex, and of those of its prior:
            a release of the same data may not take it for public.
        year: of a release that takes over the sums of others: their numbers in the ledger (``releases``), the
            ε of its own charge alone (``own_epsilon``), and the numbers of those left out (``left_out``).
            ``epsilon`` is then that of all of them together. Empty for one that stands alone.

    Privacy: public.
    """

    caveats: tuple[Clause, ...]
    unit: str
    adjacency: str
    epsilon: float
    delta: float
    measurements: tuple[Measured, ...] = ()
    assumes: tuple[Clause, ...] = ()
    decisions: tuple[Clause, ...] = ()
    ledger: Mapping[str, Any] = field(default_factory=dict)
    diagnostics: Mapping[str, float | str] = field(default_factory=dict)
    classes: tuple[Promised, ...] = ()
    personal_epsilon: bool = False
    local: Local | None = None
    beside: Clause | None = None
    interactions: bool = False
    model: str = ""
    settings: str = ""
    hushrec: str = ""
    people: tuple[str, ...] = ()
    year: Mapping[str, Any] = field(default_factory=dict)

    @property
    def private(self) -> bool:
        """Whether the release promises anything."""
        return not self.caveats

    @property
    def unprotected(self) -> bool:
        """Whether it promises nothing at all, on no condition."""
        return self.has("unprotected") or math.isinf(self.epsilon)

    def has(self, kind: str) -> bool:
        """Whether it has a caveat of this kind."""
        return any(caveat.kind == kind for caveat in self.caveats)

    @property
    def epsilon_per_cell(self) -> float | None:
        """Exact ε of one cell of a user's row; None if no cells were randomized."""
        return self._of_one("cell")

    @property
    def epsilon_per_slot(self) -> float | None:
        """Exact ε of one slot of a user's profile; None if no slots were randomized."""
        return self._of_one("slot")

    @property
    def epsilon_per_user(self) -> float | None:
        """``epsilon`` if it covers all that one user gave; None for unit ``record``."""
        return self.epsilon if self.unit == "user" else None

    @property
    def expected_per_user(self) -> float | None:
        """Mean privacy loss of all answers of one user that may differ; None if there are none."""
        return None if self.local is None else self.local.expected_together

    @property
    def reading(self) -> Odds:
        """Odds, μ and the best attack, by which to read ε.

        Where the fit chose a branch, they follow from ε alone: a branch that was not taken may cost more than
        what was measured, and a bound that depends on the outcome is none. So they do where the release holds
        the sums of others.
        """
        if not self.decisions and not self.earlier:
            return Odds.of(self.epsilon, self.delta, self.measurements)
        alone = self.delta > 0 and all(line.mechanism in ("gaussian", "exact") for line in self.measurements)
        return (Odds.gaussian if alone else Odds.of)(self.epsilon, self.delta)

    @property
    def earlier(self) -> Sequence[int]:
        """Numbers of the earlier releases whose sums it holds."""
        releases: Sequence[int] = self.year.get("releases", ())
        return releases

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that its ε gives."""
        counts = any(clause.name == "assumes.catalogue_counts" for clause in self.assumes)
        return Guarantee(self.unit, self.adjacency, self.reading, self.interactions, counts=counts)

    @property
    def together(self) -> Guarantee | None:
        """The guarantee of all releases of its ledger together; None where there is only one."""
        if (
            self.unprotected
            or self.ledger.get("max_releases", 1) == 1
            or not {"total_epsilon", "total_delta"} <= self.ledger.keys()
        ):
            return None
        odds = Odds.of(self.ledger["total_epsilon"], self.ledger["total_delta"])
        return replace(self.guarantee, odds=odds, files=self.ledger["max_releases"])

    @property
    def sentence(self) -> str:
        """The promise to a person in plain words, its condition, or why there is none."""
        if self.private and not math.isinf(self.epsilon):
            return self.guarantee.promise()
        if not self.caveats:
            return words.say("promise.nothing")
        kind = "unprotected" if self.has("unprotected") else "condition"
        return words.say(f"promise.{kind}", caveat=". ".join(self._caveat(one) for one in self.caveats))

    @property
    def headline(self) -> str:
        """The guarantee in a few words: the first of its caveats, and ε with what it is for.

        Its words are part of the file's format, because every client checks them.
        """
        first = words.say(f"caveat.{self.caveats[0].kind}") if self.caveats else None
        if self.has("unprotected") or not self.measurements:
            return first or words.say("loss.nothing")
        if first:
            return self.guarantee.loss("conditional", caveat=first)
        return self.guarantee.loss()

    def sentences(self) -> dict[str, str]:
        """Return the sentences that a page shows of it, by name: those that need no table."""
        shown = {"headline": self.headline, "sentence": self.sentence}
        if self.private:
            guarantee = self.together or self.guarantee
            shown |= {"story": words.join(guarantee.story()), "protected": guarantee.protected()}
            shown["unprotected"] = guarantee.unprotected()
        if self.together:
            parts = self.of_all(self.together), self.together.brief()
            shown["together"] = words.join(parts if self.private else parts[:1])
        return shown

    def document(self) -> Document:
        """The whole statement."""
        blocks = [*self.first(), *self.plain(), *self.proof(), *self.charged()]
        title, label = words.say("statement.title"), words.say("statement.label")
        return Document("statement", title, blocks, label=label, facts=self.to_json())

    def to_json(self) -> dict[str, Any]:
        """As JSON values, by version 3 of the schema; infinite numbers become null."""
        values = {**form("statement"), **asdict(self)}
        values |= {name: [one.to_json() for one in getattr(self, name)] for name in _CLAUSES}
        values["beside"] = self.beside and self.beside.to_json()
        values["reading"] = self.reading.to_json()
        values["said"] = self.sentences()
        values["ledger"] = dict(self.ledger)
        values["epsilon"] = finite_or_none(self.epsilon)
        values["diagnostics"] = dict(self.diagnostics)
        values["people"] = list(self.people)
        values["year"] = dict(self.year)
        values["measurements"] = [line.to_json() for line in self.measurements]
        return {name: value for name, value in values.items() if name not in _OPTIONAL or value}

    @classmethod
    def from_json(cls, values: Any) -> Self:
        """The statement that ``to_json`` described."""
        with parsing("the statement of privacy is malformed"):
            names = {entry.name for entry in fields(cls)}
            values = dict(typed(values, dict))
            if (version := values.pop("version", None)) != VERSION or version is True:
                raise ReleaseError(
                    f"the statement of privacy has version {version!r}, this hushrec reads {VERSION}; "
                    "upgrade hushrec"
                )
            if values.pop("kind", None) != "statement":
                raise ReleaseError("the statement of privacy is malformed")
            derived = {name: values.pop(name, None) for name in _DERIVED}
            if None in derived.values():
                raise ReleaseError("the statement of privacy has missing fields")
            sayings(derived["said"], "headline", "sentence")
            if not names - _OPTIONAL <= set(values) <= names:
                raise ReleaseError("the statement of privacy has missing or unknown fields")
            values["measurements"] = tuple(Measured(**line) for line in entries(values["measurements"]))
            for name in _CLAUSES:
                values[name] = tuple(map(Clause.from_json, entries(values.get(name, ()))))
            if values.get("beside") is not None:
                values["beside"] = Clause.from_json(values["beside"])
            values["classes"] = tuple(Promised(**one) for one in entries(values.get("classes", ())))
            values["people"] = entries(values.get("people", ()))
            values["epsilon"] = number(or_infinite(values["epsilon"]))
            if values.get("local") is not None:
                values["local"] = Local(**values["local"])
            statement = cls(**values)
            statement._check()
            if derived["said"]["headline"] != statement.headline:
                raise ReleaseError(
                    "the headline of the statement of privacy is not that of its figures; do not use the "
                    "release, and fetch it again from its owner"
                )
            return statement

    def _check(self) -> None:
        """Refuse a statement that promises without grounds, or that holds unknown values."""
        valid = (
            all(clause.is_known and clause.kind in CAVEATS for clause in self.caveats)
            and all(clause.is_known and clause.kind == "assumes" for clause in self.assumes)
            and all(clause.is_known and clause.kind == "branch" for clause in self.decisions)
            and (self.beside is None or (self.beside.is_known and self.beside.kind == "beside"))
            and (self.unit, self.adjacency) in ADJACENCIES
            and finite(self.delta)
            and self.delta < 1
            and self.epsilon >= 0
            and all(line.is_valid for line in self.measurements)
            and (
                (self.unit, self.adjacency) == ("record", "replace")
                or all(m.entries for m in self.measurements)
            )
            and is_ledger(self.ledger)
            and isinstance(self.diagnostics, Mapping)
            and all(isinstance(v, str) or math.isfinite(v) for v in self.diagnostics.values())
            and isinstance(self.personal_epsilon, bool)
            and isinstance(self.interactions, bool)
            and all(one.is_valid and self._keeps(one) for one in self.classes)
            and len({one.name for one in self.classes}) == len(self.classes)
            and ((self.unit, self.adjacency) == ("user", "add-remove") or not self._for_people())
            and (self.local is None or self._answers(self.local))
            and all(text.isprintable() for text in self._texts())
            and all(_SHA256.fullmatch(typed(one, str)) for one in self.people)
            and self._is_year(self.year)
        )
        if not valid or not (self._grounded() or self.has("unprotected")):
            raise ReleaseError("the statement of privacy promises something without grounds")

    def _is_year(self, year: Mapping[str, Any]) -> bool:
        """Whether it says which sums are inside and left out, and what its own charge costs of the whole."""
        if not year:
            return isinstance(year, Mapping)
        listed = [*entries(year["releases"]), *entries(year["left_out"])]
        whole = all(type(index) is int and index >= 0 for index in listed) and len({*listed}) == len(listed)
        return (
            whole
            and finite(year["own_epsilon"])
            and 0 < year["own_epsilon"] <= self.epsilon
            and len(year) == 3
        )

    def _grounded(self) -> bool:
        """Whether there is noise of a known cost, and any condition of the promise is stated."""
        return (
            math.isfinite(self.epsilon)
            and any(m.mechanism != "exact" for m in self.measurements)
            and (self.has("convergence") or not self.sampled)
        )

    def _answers(self, local: Local) -> bool:
        """Whether the figures match what was measured, and the release's ε covers all answers."""
        return (
            local.is_valid
            and self.unit == "user"
            and {m.mechanism for m in self.measurements} - {"exact"} == {RANDOMIZERS[local.what]}
            and local.costs(self.epsilon, self.delta)
        )

    def _of_one(self, what: str) -> float | None:
        return self.local.epsilon if self.local is not None and self.local.what == what else None

    def _keeps(self, promise: Promised) -> bool:
        """Whether a class is promised what its weight implies: the release's own ε at full weight, which
        everyone has who asks for at least that ε."""
        full = promise.weight == 1
        enough = promise.personal_epsilon >= max(self.epsilon, 1e-12)  # smaller values count as 0
        least = self.epsilon * (1 - 1e-9) if full else 0.0
        return least <= promise.promised <= self.epsilon and (full or not enough)

    @property
    def sampled(self) -> bool:
        """Whether a posterior sample was measured."""
        return any(m.mechanism == "posterior sample" for m in self.measurements)

    def _for_people(self) -> bool:
        """Whether any field is valid only for unit ``user`` under add-remove."""
        return self.personal_epsilon or bool(self.classes)

    def _texts(self) -> Iterator[str]:
        yield from (self.model, self.settings, self.hushrec)
        for clause in (*self.caveats, *self.assumes, *self.decisions, *filter(None, [self.beside])):
            yield from (clause.name, *map(str, clause.values.values()))
        yield from map(str, self.ledger.values())
        for name, value in self.diagnostics.items():
            yield from (name, str(value))

    def first(self) -> list[Block]:
        """Say first what must not be missed, then ε: of all releases together if there are several.

        The ε of one of several follows in ``plain`` and ``summary``; without a promise it follows here.
        """
        cautions = [self._caveat(caveat) for caveat in self.caveats]
        if self.sampled and self.diagnostics.get("verdict") == _REFUTED:
            cautions.append(words.say("note.refuted"))
        if self.has("groups"):
            cautions.append(words.say("note.groups"))
        if any(caveat.name == "unprotected.exact" for caveat in self.caveats):
            cautions.append(words.say("note.exact"))
        blocks: list[Block] = [Paragraph(line, "caution") for line in cautions]
        if not self.measurements:
            return blocks
        if self.has("unprotected"):
            blocks.append(Paragraph(words.say("promise.nothing")))
        if self.together:
            blocks.append(Paragraph(self.of_all(self.together), "strong"))
        if not (self.together and self.private):
            loss = self._alone() if self.together else self.guarantee.loss()
            if self.has("author"):
                loss = words.join([loss, words.say("loss.author")], "")
            blocks.append(Paragraph(loss, "plain" if cautions or self.together else "strong"))
        if self.beside:
            blocks.append(Paragraph(words.say("note.beside", beside=words.clause(self.beside))))
        return blocks

    def of_all(self, together: Guarantee) -> str:
        """Say in one line what all releases of its ledger together may cost."""
        spent = above(self.ledger.get("spent_epsilon"))
        return together.loss("together", n=self.ledger["max_releases"], spent=spent)

    def summary(self) -> list[Block]:
        """The first lines, what readers may learn, and the ε of one of several releases."""
        blocks = self.first()
        if self.private and self.measurements:
            blocks.append(Paragraph((self.together or self.guarantee).brief()))
            if self.together:
                blocks.append(Paragraph(self._alone()))
        return blocks

    def _alone(self) -> str:
        """Say in one line what this release costs, with those whose sums it holds."""
        if not self.earlier:
            return self.guarantee.loss("alone")
        return self.guarantee.loss("held", n=len(self.earlier), own=above(self.year["own_epsilon"]))

    def plain(self) -> list[Block]:
        """The promise in plain words, and what it means for one person; nothing where nothing is promised.

        Of one of several releases, it is first that of all of them together.
        """
        if not (self.private and self.measurements):
            return []
        single, together = self.guarantee, self.together
        if together is None:
            return [Paragraph(single.promise()), single.section()]
        gaussian = all(line.mechanism in ("gaussian", "exact") for line in self.measurements)
        why = together.any_noise(gaussian=gaussian)
        alone = Paragraph(self._alone(), "strong"), Paragraph(single.promise())
        whole = Paragraph(together.promise()), together.section(more=why)
        return [*whole, *alone, single.section(alone=True)]

    def proof(self) -> list[Block]:
        """Describe the basis of the figures: measurements, people and assumptions."""
        blocks: list[Block] = []
        if not self.measurements:
            return blocks
        if self.local:
            blocks.append(self.local.section(self.epsilon))
        if self.personal_epsilon:
            blocks.append(self._personal())
        table: list[Block] = [table_of(self.measurements)]
        table += [Paragraph(words.clause(decision)) for decision in self.decisions]
        if (mu := self.reading.mu) is not None:
            together = "measured.mu_held" if self.earlier else "measured.mu"
            table.append(Paragraph(words.say(together, mu=above(mu, 3))))
        blocks.append(Section(words.say("measured.title"), table, folded=True))
        if self.diagnostics:
            shown = [(name, _shown(value)) for name, value in self.diagnostics.items()]
            blocks.append(Section(words.say("chain.title"), [Facts(shown)], folded=True))
        assumed = [words.clause(clause) for clause in self.assumes]
        blocks.append(Section(words.say("assumed.title"), [Points(assumed)], folded=True))
        return blocks

    def charged(self) -> list[Block]:
        """Which ledger was charged, which of its releases this is, and who answers for it."""
        ledger = self.ledger
        if not ledger or not self.measurements:
            return []
        named = {"file": ledger.get("file") or words.say("charged.memory"), "seq": ledger.get("seq", 0)}
        named |= {"number": ledger.get("release_index", 0) + 1, "most": ledger.get("max_releases", 1)}
        dated = {"date": ledger["date"]} if ledger.get("date") else {}
        lines = [words.say("charged.kept" if dated else "charged.kept_undated", **named, **dated)]
        if "total_epsilon" in ledger:
            figures = {"spent": above(ledger.get("spent_epsilon")), "total": below(ledger["total_epsilon"])}
            lines.append(words.say("charged.spent", **figures))
        if self.together:
            lines.append(words.say("charged.raised"))
        rows = [(words.say(f"charged.{key}"), str(ledger[name])) for key, name in _NAMED if ledger.get(name)]
        blocks: list[Block] = [*map(Paragraph, lines), Facts(rows)]
        if missing := self.undeclared:
            names = ", ".join(words.say(f"charged.{name}") for name in missing)
            blocks.append(Paragraph(words.say("charged.undeclared", names=names)))
        return [Section(words.say("charged.title"), blocks)]

    @property
    def undeclared(self) -> list[str]:
        """The declarations that a kept ledger's owner omitted: a reader asks who answers for the file."""
        return [name for name in DECLARED if self.ledger.get("file") and not self.ledger.get(name)]

    def _caveat(self, caveat: Clause) -> str:
        return words.join([words.say(f"caveat.{caveat.kind}"), words.clause(caveat)], ": ")

    def _personal(self) -> Section:
        """Describe the promise to people who asked for their own ε."""
        blocks: list[Block] = []
        if self.classes:
            blocks.append(promised_table(self.classes, sure=self.private))
        if self.private:
            blocks.append(Paragraph(words.say("personal.each")))
        return Section(words.say("personal.title"), blocks)

    def __repr__(self) -> str:
        return f"Statement({self.headline})"

    def _repr_html_(self) -> str:
        return html.notebook(self.document())

    def __str__(self) -> str:
        return terminal.text(self.document().blocks)


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def sayings(value: Any, *names: str) -> None:
    """Refuse what readers see, by name, if it is not lines of text, or lacks a name."""
    sentences = typed(value, dict)
    printable = all(typed(text, str).isprintable() for text in sentences.values())
    if not printable or not sentences.keys() >= {*names}:
        raise ValueError("what readers see is malformed")


def placeholder_statement(diagnostics: Mapping[str, float | str] | None = None) -> Statement:
    """The statement of a release before the real one is written: it promises nothing.

    Args:
        diagnostics: of the chains, which the statement will show. They are published, so they may depend
            only on what the grant released.
    """
    return Statement(
        caveats=(Clause("unprotected.unstated"),),
        unit="record",
        adjacency="add-remove",
        epsilon=float("inf"),
        delta=0.0,
        diagnostics=diagnostics or {},
    )
