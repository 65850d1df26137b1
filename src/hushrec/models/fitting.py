"""The two verbs: plan what a fit will measure, and fit."""

from pathlib import Path

from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.errors import BudgetExceeded, LedgerError
from hushrec.models.base import Model
from hushrec.models.statements import describe, not_private
from hushrec.privacy.budget import Budget
from hushrec.privacy.entropy import Entropy, OperatingSystem
from hushrec.privacy.ledger import Ledger
from hushrec.privacy.mechanisms import unprotected
from hushrec.privacy.plan import Plan, require_exact_noise
from hushrec.release.artefact import Release


def plan(config: Model, domain: Domain, budget: Budget) -> Plan:
    """What a fit will measure, with how much noise, and what that costs. Sees no data.

    Args:
        config: a model's settings.
        domain: the public frame.
        budget: what may be spent.

    Privacy: public.
    """
    return config.plan(domain, budget)


def fit(
    ratings: Ratings,
    config: Model,
    budget: Budget | None = None,
    *,
    ledger: Ledger | str | Path | None = None,
    slot: int | None = None,
    entropy: Entropy | None = None,
) -> Release:
    """Charge the ledger, measure under noise, and make a release.

    Args:
        ratings: private ratings.
        config: a model's settings.
        budget: what may be spent; None gives the non-private baseline, whose statement says so.
        ledger: the population's ledger, or its path. One that never existed is started with this budget as
            its whole total. Only seeded experiments and baselines do without.
        slot: release slot. None always charges for the next free one; a slot that was released before gives
            back the same bytes and charges nothing.
        entropy: the operating system's by default; ``hushrec.testing.Seeded`` for experiments and tests,
            whose releases are not private.

    Returns:
        The release.

    Raises:
        BudgetExceeded: The ledger has less left than the plan costs.
        LedgerError: There is no ledger, or it cannot be relied on.
        BudgetUnsupported: The model states no such guarantee.

    Privacy: charged (every event of the plan).
    """
    if budget is None:
        stand_in = Budget(epsilon=1.0, delta=1e-9, unit="rating", adjacency="add-remove")
        release = config.release(ratings, stand_in, unprotected())
        return not_private(release, config, stand_in)
    planned = config.plan(ratings.domain, budget)
    account = _account(ledger, planned, entropy)
    if slot is not None and (stored := account.stored(planned, slot)) is not None:
        return Release.from_bytes(stored)
    grant = account.charge(planned, slot, entropy)
    population = ratings.capped(ratings.domain.cap) if budget.unit == "user" else ratings
    try:
        release = describe(config.release(population, budget, grant), config, planned, grant, ratings.domain)
        account.sampled(grant, release.to_bytes())
    except BaseException as error:
        account.burn(grant)
        error.add_note("The charge was made and stays spent: noise is never drawn twice under one charge.")
        raise
    account.published(grant)
    return release


def _account(ledger: Ledger | str | Path | None, planned: Plan, entropy: Entropy | None) -> Ledger:
    if isinstance(ledger, Ledger):
        return ledger
    if ledger is not None:
        if not Path(ledger).exists():
            _require_payable(planned, entropy)
        return Ledger.for_fit(ledger, planned.budget)
    if entropy is None or isinstance(entropy, OperatingSystem):
        raise LedgerError(
            'a private release is charged to a ledger: pass ledger="ledger.db" (it is created if new)'
        )
    # A seeded experiment claims nothing, so a published plan may cost more than its budget here, or more than
    # anybody can say: then the total covers the rest of it.
    epsilon = max(planned.budget.epsilon, planned.spent.bounded.epsilon(planned.budget.delta))
    return Ledger.ephemeral(planned.budget.model_copy(update={"epsilon": epsilon}))


def _require_payable(planned: Plan, entropy: Entropy | None) -> None:
    """Refuse before a ledger is started what it would refuse: else it would stay, with this budget in it."""
    seeded = entropy is not None and not isinstance(entropy, OperatingSystem)
    require_exact_noise(planned, "not private: seeded" if seeded else "")
    if planned.spent.epsilon_units(planned.budget.delta) > planned.budget.epsilon_units:
        raise BudgetExceeded(planned.epsilon, planned.budget.epsilon, planned.budget.unit)
