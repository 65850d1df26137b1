"""The plan of a series: one charge, and every release draws its part of it."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from hushrec.curator.authors import signed
from hushrec.data.domain import Domain
from hushrec.errors import BudgetError, BudgetUnsupported, ConfigError
from hushrec.models.base import Model
from hushrec.models.phases.repeated import Repeated
from hushrec.models.private import PrivateModel
from hushrec.privacy.accounting.ages import Part, joint_norm
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.allocation import calibrated
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.ledger.remainder import Remainder


def plan_series(domain: Domain, model: Model, ledger: Ledger | str | Path) -> Plan:
    """Plan a series of ``fit`` with a folder that takes all that a ledger has left. Reads no data.

    Args:
        domain: the public domain.
        model: ``GlobalEffects`` or ``Popularity``.
        ledger: the population's ledger, or its path.

    Returns:
        The plan of the first release. All others have the same noise and cost nothing more.

    Raises:
        BudgetError: The ledger has no release left, or too little ε for them.
        BudgetUnsupported: A series protects users under add-remove, with δ above 0.
        ConfigError: The model has no series.
        LedgerError: The ledger does not exist, or cannot be trusted.
    """
    account = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    releases = account.releases_left
    if releases < 1:
        raise BudgetError("this ledger has no release left; let its owner raise max_releases")
    left = Remainder(account.total, 1, account.spent)
    budget = left.share(lambda budget: _first(model, domain, budget, releases))
    return _first(model, domain, budget, releases)


def _first(model: Model, domain: Domain, budget: Budget, releases: int) -> Plan:
    """The plan of the first release, which settles what later ones take over as it is."""
    _require(model, domain, budget)
    assert isinstance(model, PrivateModel)
    settled = model.settled(domain, seen(budget, releases))
    split = repeated(settled, domain, budget, releases).split
    return series_plan(settled, domain, budget, releases, split)


def series_plan(
    model: Model, domain: Domain, budget: Budget, releases: int, split: Mapping[str, float]
) -> Plan:
    """Plan the releases of a series, with noise that makes all of them together cost the budget.

    Args:
        model: a model's settings, written out.
        budget: what the series may cost.
        releases: how many releases it has.
        split: of the budget, by name of measurement.
    """
    measured = repeated(model, domain, budget, releases)
    queries = [*measured.sums.queries()]
    total = math.fsum(split[query.name] for query in queries)
    split = {query.name: split[query.name] / total for query in queries}
    events = calibrated(queries, split, budget)
    assert isinstance(model, PrivateModel)  # others have no series
    plan = model.plan_of(events, split, domain, budget)
    return signed(replace(plan, part=Part(0, releases)), model, domain)


def repeated(model: Model, domain: Domain, budget: Budget, releases: int) -> Repeated:
    """Return a model's measurements in a series."""
    _require(model, domain, budget)
    assert isinstance(model, PrivateModel)
    return model.repeated(domain, seen(budget, releases), releases)


def seen(budget: Budget, releases: int) -> Budget:
    """Cost of one release whose noise is that of a running sum, ‖c‖² times that of the whole budget."""
    return budget.model_copy(update={"epsilon": budget.epsilon / joint_norm(releases) ** 2})


def _require(model: Model, domain: Domain, budget: Budget) -> None:
    if (budget.unit, budget.adjacency) != ("user", "add-remove") or budget.delta == 0:
        raise BudgetUnsupported("a series protects unit user under add-remove, with Gaussian noise: set δ")
    if not isinstance(model, PrivateModel) or model.split:
        raise ConfigError("a series is of GlobalEffects or Popularity, with the split that they have")
    model.require_feedback(domain)
    model.require_effect(unit=budget.unit, adjacency=budget.adjacency)
