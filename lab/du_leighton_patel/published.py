"""Du, Leighton & Patel 2019, "Exploring some approaches to privatize data releases", §III.B–C, as printed.

What fails: the probability of §III.B is right for two symbols; with k of them a cell loses ln(k − 1) more.
The representatives of §III.C are drawn once for all users, and have no finite ε (README.md).
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hushrec.arrays import Bytes, Ints, Ints32
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.models.du_leighton_patel.distance_based import DistanceBased
from hushrec.models.du_leighton_patel.method import CELLS, SLOTS
from hushrec.models.du_leighton_patel.randomized_response import RandomizedResponse
from hushrec.models.du_leighton_patel.response import ResponseRandomizer
from hushrec.models.du_leighton_patel.rows import Rows
from hushrec.models.du_leighton_patel.substitution import SubstitutionRandomizer, drawn
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.measurement import LARGEST, Responses
from lab.paper import Noise, PaperNoise, PublishedMethod


class DuResponse(PublishedMethod, RandomizedResponse):
    """Randomized response on every cell, untrue with probability 1/(1 + e^ε_k), ε_k = ε/m (§III.B).

    The rest is spread over the k − 1 other symbols, which loses ε_k + ln(k − 1).

    Args:
        sample: how many cells of each row are answered; None for all of them.
    """

    def event(self, domain: Domain, budget: Budget) -> Responses:
        """The answers, with their true loss."""
        answered = self.answered(domain, budget)
        # −ln(1/(1 + e^ε_k)), for the paper's two symbols.
        exponent = math.log1p(math.exp(min(budget.epsilon / answered["size"], 2 * LARGEST)))
        return Responses.of(CELLS, exponent=exponent, **answered)

    def claim(self, budget: Budget) -> float:
        """The paper's ε."""
        return budget.epsilon

    def printed(self, domain: Domain, budget: Budget) -> dict[str, Noise]:
        """The answers."""
        return {CELLS: self.event(domain, budget)}

    def law(self, ratings: People, budget: Budget) -> ResponseRandomizer:
        """The law of the answers."""
        event = self.event(ratings.domain, budget)
        return ResponseRandomizer(event.symbols, event.exponent, self.sample)

    def known(self, domain: Domain, budget: Budget) -> Mapping[str, Any]:
        """As of ``RandomizedResponse``: what unbiased estimates need."""
        return self.event_facts(self.event(domain, budget), domain)


class DuRepresentatives(PublishedMethod, DistanceBased):
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
    """

    def claim(self, budget: Budget) -> None:
        """None is stated."""

    def printed(self, domain: Domain, budget: Budget) -> dict[str, Noise]:
        """Slots without a finite ε; ``noise`` is the probability that an item is not simply kept."""
        self.require_items(budget)
        return {SLOTS: PaperNoise(SLOTS, math.inf, 1 - drawn(self.keep_probability))}

    def law(self, ratings: People, budget: Budget) -> "SharedRandomizer":
        """The law of the groups, with one draw of representatives for all rows."""
        each = self.replacements(ratings)
        return SharedRandomizer(each.keep_probability, each.group_probability, each.indptr, each.members)

    def known(self, domain: Domain, budget: Budget) -> Mapping[str, Any]:
        """The settings."""
        return self.settings()


class SharedRandomizer(SubstitutionRandomizer):
    """Selector and profiler with one representative of each item, for all rows."""

    __slots__ = ()

    def draw(self, rows: Rows, key: bytes) -> tuple[Ints, Ints32, Bytes]:
        """As ``SubstitutionRandomizer.draw``, after the representatives were drawn."""
        m, every = self.n_items, np.arange(2 * self.n_items + 1)
        # One row for every item, never kept.
        each = Rows(rows.name, m, every[: m + 1], every[:m].astype(np.int32), np.zeros(m, np.uint8))
        selector = SubstitutionRandomizer(0.0, self.group_probability, self.indptr, self.members)
        _, representatives, _ = selector.draw(each, hashlib.sha256(b"selector" + key).digest())
        # Item m + j stands for j as a representative, so that an item may represent itself.
        profiler = SubstitutionRandomizer(
            self.keep_probability, 1.0, np.minimum(every, m), m + representatives
        )
        indptr, listed, marks = profiler.draw(replace(rows, width=2 * m), key)
        cells = np.repeat(np.arange(indptr.size - 1), np.diff(indptr)) * m + listed % m
        cells, first = np.unique(cells, return_index=True)  # what was kept comes first
        starts = np.searchsorted(cells, np.arange(indptr.size) * m)
        return starts.astype(np.int64), (cells % m).astype(np.int32), marks[first]
