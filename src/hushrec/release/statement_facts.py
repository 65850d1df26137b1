"""The facts of a statement of privacy, and what must hold between them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hushrec.documents import sentences
from hushrec.documents.fact import Fact
from hushrec.documents.measured import RANDOMIZERS, Local, Measured, Promised, is_all_gaussian
from hushrec.documents.odds import Odds
from hushrec.documents.sentences import ADJACENCIES, Assumes, Guarantee


@dataclass(frozen=True, slots=True)
class StatementFacts:
    """The facts of a statement: what a release promises to whom, and on what assumptions.

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

    caveats: tuple[Fact, ...]
    unit: str
    adjacency: str
    epsilon: float
    delta: float
    measurements: tuple[Measured, ...] = ()
    assumes: tuple[Fact, ...] = ()
    decisions: tuple[Fact, ...] = ()
    ledger: Mapping[str, Any] = field(default_factory=dict)
    diagnostics: Mapping[str, float | str] = field(default_factory=dict)
    classes: tuple[Promised, ...] = ()
    personal_epsilon: bool = False
    local: Local | None = None
    beside: Fact | None = None
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
    def reading(self) -> Odds:
        """Odds, μ and the best attack, by which to read ε.

        Where the fit chose a branch, they follow from ε alone: a branch that was not taken may cost more than
        what was measured, and a bound that depends on the outcome is none. So they do where the release holds
        the sums of others.
        """
        if not self.decisions and not self.earlier:
            return Odds.of(self.epsilon, self.delta, self.measurements)
        gaussian = self.delta > 0 and is_all_gaussian(self.measurements)
        return (Odds.gaussian if gaussian else Odds.of)(self.epsilon, self.delta)

    @property
    def earlier(self) -> Sequence[int]:
        """Numbers of the earlier releases whose sums it holds."""
        releases: Sequence[int] = self.year.get("releases", ())
        return releases

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that its ε gives."""
        counts = any(one.sentence is Assumes.catalogue_counts for one in self.assumes)
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
    def sampled(self) -> bool:
        """Whether a posterior sample was measured."""
        return any(line.mechanism == "posterior sample" for line in self.measurements)

    @property
    def sentence(self) -> str:
        """The promise to a person in plain words, its condition, or why there is none."""
        if self.private and not math.isinf(self.epsilon):
            return self.guarantee.promise()
        return sentences.no_promise(self.caveats, on_condition=not self.has("unprotected"))

    @property
    def headline(self) -> str:
        """The guarantee in a few words: the first of its caveats, and ε with what it is for.

        Its words are part of the file's format, because every client checks them.
        """
        first = self.caveats[0] if self.caveats else None
        if self.has("unprotected") or not self.measurements:
            return sentences.CAVEATS[first.kind] if first else sentences.NOTHING_MEASURED
        if first:
            return sentences.conditional_headline(first, self.epsilon, self.unit)
        return self.guarantee.loss()

    def is_possible(self) -> bool:
        """Whether its facts can be together."""
        pair = self.unit, self.adjacency
        return (
            pair in ADJACENCIES
            and all(line.is_possible for line in self.measurements)
            and (pair == ("record", "replace") or all(line.entries for line in self.measurements))
            and (pair == ("user", "add-remove") or not (self.personal_epsilon or self.classes))
            and all(one.is_possible and self._keeps(one) for one in self.classes)
            and len({one.name for one in self.classes}) == len(self.classes)
            and (self.local is None or self._answers(self.local))
            and (not self.year or self._is_of_a_year())
        )

    def _is_of_a_year(self) -> bool:
        """Whether each release is inside or left out once, and its own charge costs no more than all."""
        listed = [*self.year["releases"], *self.year["left_out"]]
        return len({*listed}) == len(listed) and bool(self.year["own_epsilon"] <= self.epsilon)

    def is_grounded(self) -> bool:
        """Whether there is noise of a known cost, and any condition of the promise is stated."""
        return (
            math.isfinite(self.epsilon)
            and any(m.mechanism != "exact" for m in self.measurements)
            and (self.has("convergence") or not self.sampled)
        )

    def _answers(self, local: Local) -> bool:
        """Whether the figures match what was measured, and the release's ε covers all answers."""
        return (
            local.is_possible
            and self.unit == "user"
            and {m.mechanism for m in self.measurements} - {"exact"} == {RANDOMIZERS[local.what]}
            and local.costs(self.epsilon, self.delta)
        )

    def _keeps(self, promise: Promised) -> bool:
        """Whether a class is promised what its weight implies: the release's own ε at full weight, which
        everyone has who asks for at least that ε."""
        full = promise.weight == 1
        enough = promise.personal_epsilon >= max(self.epsilon, 1e-12)  # smaller values count as 0
        least = self.epsilon * (1 - 1e-9) if full else 0.0
        return least <= promise.promised <= self.epsilon and (full or not enough)
