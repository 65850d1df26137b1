"""A small charged release of the size of the crowd, where that is not public."""

import json
from collections.abc import Collection
from fractions import Fraction
from pathlib import Path

import numpy as np

from hushrec.arrays import Floats
from hushrec.curator.charging import Accept, Request, Work
from hushrec.curator.disk_space import kept_size
from hushrec.data.domain import Domain
from hushrec.data.people import People, PublicFacts
from hushrec.errors import BudgetError, BudgetUnsupported, LedgerError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import Spent, largest_rho
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.allocation import calibrated
from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.run import ChargedRun
from hushrec.statistics.crowd_totals import CrowdTotals
from hushrec.statistics.population import Population

PART = Fraction(1, 50)
"""Part of a ledger's total that an estimate of the crowd costs: of its ρ, or at δ = 0 of its ε."""
_USERS = {"user": 0.2, "record": 0.5}
"""Split of the number of users, by unit; by hand: for unit ``user`` the other sum has a far larger Δ."""


def estimate_crowd(
    data: People,
    ledger: Ledger | str | Path,
    *,
    release_index: int | None = None,
    checkpoint: str | Path | bool = True,
    accept: Accept | Collection[Accept] = (),
) -> Domain:
    """Count people and ratings under noise, for 2 % of a ledger's total, and declare both.

    Where the size of the crowd is public knowledge, declare it instead: that costs nothing. An estimate is a
    release of its own: it takes a release index, and its numbers may be published. Load the ratings again
    under the domain that it returns, and fit with ``budget="auto"``, which takes what the ledger has left.

    Args:
        data: private ratings or interactions, as for ``fit``.
        ledger, release_index, checkpoint, accept: as for ``fit``.

    Returns:
        The domain with ``expected_users`` and ``expected_records``, of two digits. For unit ``user``, up to
        200 ratings of each user are counted, so the second may be low.

    Raises:
        BudgetUnsupported: The ledger's adjacency is not ``add-remove``, or the ratings carry per-user ε.
        BudgetError: The ledger has no release left for a fit after it.
        HushrecError: As for ``fit``.

    Privacy: charged (the two events of ``crowd_plan``).
    """
    request = Request(
        Counting, ledger=ledger, release_index=release_index, checkpoint=checkpoint, accept=accept
    )
    return request.make(data)


class Counting(Work[Domain]):
    """Two noisy numbers.

    Args:
        facts, account, release_index, mark: as of ``charging.Resolve``.

    Privacy: public until it is prepared; ``make`` is charged.
    """

    suffixes = (".json",)

    def __init__(
        self, facts: PublicFacts, account: Ledger | None, release_index: int | None, mark: str
    ) -> None:
        if facts.has_personal_epsilon or facts.domain.personal_epsilon:
            raise BudgetUnsupported(
                "an estimate counts everybody in full, so it does not support personal_epsilon: declare "
                "expected_users and expected_records instead"
            )
        if account is None:
            raise LedgerError(
                "an estimate of the crowd takes a part of a ledger's total: create the ledger first"
            )
        self.domain = facts.domain
        self.totals, self.plan = crowd_plan(facts.domain, account.total)
        repeats = account.under(mark) or (release_index is not None and account.is_finished(release_index))
        if account.releases_left < 2 and not repeats:
            raise BudgetError(
                "an estimate takes a release index of its own, and the ledger has none left for the fit "
                "after it; create the ledger with one release more (max_releases, --max-releases)"
            )

    def plan_at(self, budget: Budget) -> Plan:
        raise BudgetError("an estimate of the crowd costs 2 % of a ledger's total, whatever is left")

    def largest(self, people: People, suffix: str = "") -> int:
        text = len(self.domain.model_dump_json(exclude_none=True).encode()) if suffix else 0
        return kept_size(self.plan) + 2 * text

    def make(self, people: People, grant: Grant) -> Domain:
        queries = (self.totals.users, self.totals.records)
        population = people.capped(self.domain.max_per_user) if self.plan.budget.unit == "user" else people
        run, measured = ChargedRun(self.plan, queries, grant), self.totals.measure(Population(population))
        return self._declared(_told([run.measure(*pair).values for pair in measured], self.domain))

    def content(self, domain: Domain) -> bytes:
        counts = {"expected_users": domain.expected_users, "expected_records": domain.expected_records}
        return json.dumps(counts).encode()

    def read(self, content: bytes) -> Domain:
        return self._declared(json.loads(content))

    def _declared(self, counts: dict[str, int]) -> Domain:
        declared = self.domain.model_dump(mode="json", exclude_none=True, by_alias=True)
        return Domain(**{**declared, **counts})


def crowd_plan(domain: Domain, total: Budget) -> tuple[CrowdTotals, Plan]:
    """Plan the measurements of an estimate of the crowd, with noise and cost."""
    if total.adjacency != "add-remove":
        raise BudgetUnsupported(
            f"{total.adjacency} leaves the number of users and ratings unprotected, so an estimate has "
            "nothing to count under noise: declare expected_users and expected_records"
        )
    totals = CrowdTotals(domain, total.unit, "l1" if total.delta == 0 else "l2")
    budget = _part(total)
    split = {totals.users.name: _USERS[total.unit], totals.records.name: 1 - _USERS[total.unit]}
    events = calibrated((totals.users, totals.records), split, budget)
    return totals, Plan(
        model="Pilot",
        settings={"most": totals.most},
        domain_digest=domain.digest,
        max_users=domain.max_users,
        budget=budget,
        measurements=tuple(Measurement(event, split[event.name]) for event in events),
    )


def _part(total: Budget) -> Budget:
    """The part of a total that an estimate of the crowd costs."""
    if total.delta == 0:
        epsilon = fixed_point.float_below(Fraction(total.epsilon_units, fixed_point.PER_ONE) * PART)
    else:
        epsilon = Spent(rho=int(largest_rho(total) * PART)).epsilon(total.delta)
    return total.model_copy(update={"epsilon": epsilon})


def _told(totals: list[Floats], domain: Domain) -> dict[str, int]:
    """Two digits of each noisy number, within what the domain allows."""
    users, records = (float(value[0]) for value in totals)
    people = _two_digits(min(max(users, 1.0), domain.max_users))
    most = people * min(domain.max_per_user, domain.n_items)
    return {"expected_users": people, "expected_records": _two_digits(min(max(records, people), most))}


def _two_digits(number: float) -> int:
    return int(float(np.format_float_positional(number, 2, fractional=False, trim="-")))
