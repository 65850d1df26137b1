"""Du, Leighton & Patel 2019, "Exploring some approaches to privatize data releases", §III.B–C, as printed.

What fails: the probability of §III.B is right for two symbols; with k of them a cell loses ln(k − 1) more.
The representatives of §III.C are drawn once for all users, and have no finite ε (docs/models/errata.md).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from hushrec.arrays import Bytes, Ints, Ints32
from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.errors import GrantError
from hushrec.local.distance_based import DistanceBased
from hushrec.local.method import CELLS, SLOTS
from hushrec.local.randomized_response import RandomizedResponse
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.events import Event, drawn_rate
from hushrec.privacy.accounting.local_events import LARGEST, Responses
from hushrec.privacy.accounting.own_noise import Unpriced
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.local.rows import Rows
from hushrec.privacy.local.substitution import SubstitutionRandomizer


class DuResponse(RandomizedResponse):
    """Randomized response on every cell, untrue with probability 1/(1 + e^ε_k), ε_k = ε/m (§III.B).

    The rest is spread over the k − 1 other symbols, which loses ε_k + ln(k − 1). The statement gives both,
    and the ledger is charged the true cost.

    Args:
        sample: how many cells of each row are answered; None for all of them.

    Privacy: charged its true cost, which is above the paper's ε; unit ``user``, adjacency ``replace``.
    """

    def _planned(self, domain: Domain, budget: Budget, sort: Mapping[str, int]) -> Plan:
        # −ln(1/(1 + e^ε_k)), for the paper's two symbols.
        exponent = math.log1p(math.exp(min(budget.epsilon / sort["size"], 2 * LARGEST)))
        return self.planned(
            domain, budget, Responses(CELLS, exponent=exponent, **sort), claimed=budget.epsilon
        )


class DuRepresentatives(DistanceBased):
    """Items are replaced, each by the same one for all users (§III.C).

    A representative σ(i) of every item i is drawn once: with ``group_probability`` (p) from its group G_i,
    else from all m items. Then each rating of each user keeps its item with ``keep_probability`` (p*), else
    its item becomes σ(i). A single rating comes out as under ``DistanceBased``, but many rows together show
    σ, and with it whether a slot can have held an item: no slot has a finite ε. The paper states none.

    Where an item of a row and a representative coincide, the item's own rating is listed; of several
    representatives, a random one. The paper does not say.

    Args:
        keep_probability: p*, the probability that an item is kept.
        group_probability: p, the probability that a representative comes from the item's group.
        distance, threshold, groups: as for ``DistanceBased``; the paper's are ``squared`` and ``"ratings"``.

    Privacy: never private: its slots have no finite ε, so no ledger accepts it.
    """

    supports: ClassVar = frozenset[tuple[str, str]]()

    def plan(self, domain: Domain, budget: Budget | None = None) -> Plan:
        """What is drawn; its ε is infinite. A budget's ε buys nothing: it only names a point of a grid."""
        budget = budget or Budget(epsilon=1.0, delta=0.0, unit="user", adjacency="replace-items")
        self.require_items(budget)
        chance = 1 - drawn_rate(self.keep_probability)
        event = SharedSubstitutions(SLOTS, math.inf, chance, 1.0, domain.n_items)
        return self.planned(domain, budget, event, uncovered=self._uncovered())

    def randomizer(self, plan: Plan, ratings: Ratings) -> "SharedRandomizer":
        """The law of the groups, with one draw of representatives for all rows."""
        law = super().randomizer(plan, ratings)
        return SharedRandomizer(law.keep_probability, law.group_probability, law.indptr, law.members)

    def local(self, plan: Plan, domain: Domain) -> None:
        """None: a slot has no finite ε."""

    def assumes(self, plan: Plan) -> tuple[str, ...]:
        """That rows are not independent, and what the groups depend on."""
        return ("all rows share one representative of each item", *super().assumes(plan)[1:])


@dataclass(frozen=True, slots=True)
class SharedSubstitutions(Unpriced):
    """Substitution of items by representatives that all rows share: no finite ε, see ``Unpriced``.

    ``noise`` is the probability that an item is not simply kept.

    Privacy: public.
    """

    mechanism: ClassVar[str] = "item substitution"
    symbol: ClassVar[str] = "swap"
    doors: ClassVar[tuple[str, ...]] = ("randomize",)
    only_seeded: ClassVar[str] = (
        "representatives that all rows share have no finite ε; use DistanceBased, which draws them anew for "
        "each rating"
    )


class SharedRandomizer(SubstitutionRandomizer):
    """Selector and profiler with one representative of each item, for all rows.

    Privacy: public or private, as the groups.
    """

    __slots__ = ()

    def require_booked(self, rows: Rows, event: Event) -> None:
        """Refuse any booking but the one that has no ε.

        Raises:
            GrantError: Another randomizer was booked, or for another catalogue.

        Privacy: public.
        """
        if not isinstance(event, SharedSubstitutions) or not event.size == rows.width == self.n_items:
            raise GrantError(f"{rows.name}: booked was {event.mechanism} of another kind or catalogue")

    def draw(
        self, rows: Rows, key: Callable[[str], bytes], count_draws: object
    ) -> tuple[Ints, Ints32, Bytes]:
        """As ``SubstitutionRandomizer.draw``, after the representatives were drawn.

        Privacy: never private.
        """
        m, every = self.n_items, np.arange(2 * self.n_items + 1)
        # One row for every item, never kept.
        each = Rows(rows.name, m, every[: m + 1], every[:m].astype(np.int32), np.zeros(m, np.uint8))
        selector = SubstitutionRandomizer(0.0, self.group_probability, self.indptr, self.members)
        _, representatives, _ = selector.draw(each, key, count_draws)
        # Item m + j stands for j as a representative, so that an item may represent itself.
        profiler = SubstitutionRandomizer(
            self.keep_probability, 1.0, np.minimum(every, m), m + representatives
        )
        indptr, listed, marks = profiler.draw(replace(rows, width=2 * m), key, count_draws)
        cells = np.repeat(np.arange(indptr.size - 1), np.diff(indptr)) * m + listed % m
        cells, first = np.unique(cells, return_index=True)  # what was kept comes first
        starts = np.searchsorted(cells, np.arange(indptr.size) * m)
        return starts.astype(np.int64), (cells % m).astype(np.int32), marks[first]
