"""A small charged release that tells how large the crowd is, where nobody knows it publicly."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np

from hushrec.arrays import Floats
from hushrec.curator.acceptance import admit, pays
from hushrec.curator.accounts import spending
from hushrec.curator.room import kept_size, reserved_beside
from hushrec.data.domain import Domain
from hushrec.data.feedback import Feedback
from hushrec.data.interactions import Interactions
from hushrec.data.packed.blocks import Blocks
from hushrec.data.ratings import Ratings
from hushrec.data.spark.spark_feedback import SparkFeedback
from hushrec.errors import BudgetError, BudgetUnsupported, CheckpointError, DataError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import Spent, largest_rho
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.allocation import calibrated
from hushrec.privacy.checkpoint.checkpoint import Checkpoint
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Entropy
from hushrec.privacy.run import ChargedRun
from hushrec.statistics.crowd_totals import CrowdTotals
from hushrec.statistics.engines.spark_engine import require_ready
from hushrec.statistics.population import Population

PART = Fraction(1, 50)
"""Part of a ledger's total that a pilot costs: of its ρ, or at δ = 0 of its ε."""
_USERS = {"user": 0.2, "rating": 0.5}
"""Share of the number of users, by unit; for unit ``user`` the other sum has a far larger Δ."""


def pilot(
    ratings: Ratings | Interactions | Blocks | SparkFeedback,
    ledger: Ledger | str | Path,
    *,
    release_index: int | None = None,
    entropy: Entropy | None = None,
    accept_dropped: bool = False,
    accept_users: bool = False,
    accept_weak: bool = False,
) -> Domain:
    """Count people and ratings under noise, for 2 % of a ledger's total, and declare both.

    Where the size of the crowd is public knowledge, declare it instead: that costs nothing. A pilot is a
    release of its own: it takes a release index, and its numbers may be published. Load the ratings again
    under the domain that it returns, and fit with ``budget="auto"``, which takes what the ledger has left.

    Args:
        ratings: private ratings or interactions, as for ``fit``.
        ledger: the population's ledger, or its path.
        release_index: as for ``fit``.
        entropy: as for ``fit``.
        accept_dropped: as for ``fit``.
        accept_users: as for ``fit``.
        accept_weak: as for ``fit``.

    Returns:
        The domain with ``expected_users`` and ``expected_ratings``, of two digits. For unit ``user``, up to
        200 ratings of each user are counted, so the second may be low.

    Raises:
        BudgetUnsupported: The ledger's adjacency is not ``add-remove``, or the ratings carry per-user ε.
        BudgetError: The ledger has no release left for a fit after the pilot.
        BudgetExceeded: The ledger has less left than the pilot costs.
        WeakBudget: As for ``fit``.
        LedgerError: As for ``fit``.
        RecordsDropped, UsersExceeded: As for ``fit``.
        DataError: The ratings were not loaded, or a block is damaged.

    Privacy: charged (the two events of ``pilot_plan``).
    """
    if isinstance(entropy, Checkpoint):
        raise CheckpointError("a pilot takes seconds and has no checkpoint; leave out entropy")
    if not isinstance(ratings, Feedback | Blocks | SparkFeedback):
        raise DataError("pilot takes what was loaded under a domain; load it first with hushrec.load")
    domain = ratings.domain
    if ratings.asks or domain.privacy_classes:
        raise BudgetUnsupported(
            "a pilot counts everybody in full, so it does not support per-user ε: declare expected_users and "
            "expected_ratings instead"
        )
    account = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    totals, planned = pilot_plan(domain, account.total)
    if release_index is not None and (stored := account.stored(planned, release_index)) is not None:
        account.handed_out(planned, release_index)
        return _declared(domain, json.loads(stored))
    if account.releases_left < 2:
        raise BudgetError(
            "a pilot takes a release index of its own, and the ledger has none left for the fit after it; "
            "create the ledger with one release more (max_releases, --max-releases)"
        )
    if isinstance(ratings, Blocks | SparkFeedback):
        ratings.verify()
    if isinstance(ratings, SparkFeedback):
        require_ready(ratings)
    admit(
        ratings,
        planned.model,
        None,
        spends=pays(account, entropy),
        accept_dropped=accept_dropped,
        accept_users=accept_users,
    )
    queries = (totals.users, totals.given)
    population = ratings.capped(domain.cap) if planned.budget.unit == "user" else ratings
    with reserved_beside(account, kept_size(planned)) as room:
        grant = account.charge(planned, release_index, entropy, accept_weak=accept_weak)
        with spending(account, grant, planned):
            run = ChargedRun(planned, queries, grant)
            found = [
                run.measure(query, values).values for query, values in totals.measure(Population(population))
            ]
            told = _told(found, domain)
            if room:
                room.keep(0)
            account.sampled(grant, json.dumps(told).encode())
        account.published(grant)
    return _declared(domain, told)


def pilot_plan(domain: Domain, total: Budget) -> tuple[CrowdTotals, Plan]:
    """What a pilot measures, with how much noise, at what cost."""
    if total.adjacency != "add-remove":
        raise BudgetUnsupported(
            f"{total.adjacency} leaves the number of users and ratings unprotected, so a pilot has nothing "
            "to count under noise: declare expected_users and expected_ratings"
        )
    totals = CrowdTotals(domain, total.unit, "l1" if total.delta == 0 else "l2")
    budget = _part(total)
    shares = {totals.users.name: _USERS[total.unit], totals.given.name: 1 - _USERS[total.unit]}
    events = calibrated((totals.users, totals.given), shares, budget)
    return totals, Plan(
        model="Pilot",
        config={"most": totals.most},
        domain_digest=domain.digest,
        max_users=domain.max_users,
        budget=budget,
        measurements=tuple(Measurement(event, shares[event.name]) for event in events),
    )


def _part(total: Budget) -> Budget:
    """The part of a total that a pilot costs."""
    if total.delta == 0:
        epsilon = fixed_point.float_below(Fraction(total.epsilon_units, fixed_point.PER_ONE) * PART)
    else:
        epsilon = Spent(rho=int(largest_rho(total) * PART)).epsilon(total.delta)
    return total.model_copy(update={"epsilon": epsilon})


def _told(found: list[Floats], domain: Domain) -> dict[str, int]:
    """Two digits of each noisy number, within what the domain allows."""
    users, given = (float(value[0]) for value in found)
    people = _two_digits(min(max(users, 1.0), domain.max_users))
    most = people * min(domain.cap, domain.n_items)
    return {"expected_users": people, "expected_ratings": _two_digits(min(max(given, people), most))}


def _two_digits(number: float) -> int:
    return int(float(np.format_float_positional(number, 2, fractional=False, trim="-")))


def _declared(domain: Domain, told: dict[str, int]) -> Domain:
    return Domain(**{**domain.model_dump(mode="json", exclude_none=True, by_alias=True), **told})
