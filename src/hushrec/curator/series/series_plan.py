"""The plan of a series: one charge, of which every release draws its part."""

from pathlib import Path

from hushrec.curator.authors import signed
from hushrec.data.domain import Domain
from hushrec.errors import BudgetError, BudgetUnsupported, ConfigError
from hushrec.models.base import Model
from hushrec.models.phases.repeated import Repeated
from hushrec.models.private import PrivateModel
from hushrec.privacy.accounting.ages import Part, joint_norm
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.allocation import calibrated
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.ledger.remainder import Remainder


def plan_series(config: Model, domain: Domain, ledger: Ledger | str | Path) -> Plan:
    """What a series of ``fit_next`` measures that takes all that a ledger has left. Reads no data.

    Args:
        config: ``GlobalEffects`` or ``Popularity``.
        domain: the public domain.
        ledger: the population's ledger, or its path.

    Returns:
        The plan of the first release. All others have the same noise and cost nothing more.

    Raises:
        BudgetError: The ledger has no release left, or too little ε for them.
        BudgetUnsupported: A series protects users under add-remove, with δ above 0.
        ConfigError: The model has no series.
        LedgerError: The ledger does not exist, or cannot be trusted.

    Privacy: public.
    """
    account = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    releases = account.releases_left
    if releases < 1:
        raise BudgetError("this ledger has no release left; let its owner raise max_releases")
    left = Remainder(account.total, 1, account.spent)
    budget = left.share(lambda budget: series_plan(config, domain, budget, releases))
    return series_plan(config, domain, budget, releases)


def series_plan(config: Model, domain: Domain, budget: Budget, releases: int) -> Plan:
    """What each release of a series measures, with noise that makes all of them together cost the budget.

    Args:
        config: a model's settings.
        domain: the public domain.
        budget: what the series may cost.
        releases: how many releases it has.

    Raises:
        BudgetUnsupported: A series protects users under add-remove, with δ above 0.
        BudgetError: The budget is too small, or δ too large for the domain.
        ConfigError: The model has no series.

    Privacy: public.
    """
    if (budget.unit, budget.adjacency) != ("user", "add-remove") or budget.delta == 0:
        raise BudgetUnsupported("a series protects unit user under add-remove, with Gaussian noise: set δ")
    made = repeated(config, domain, budget, releases)
    queries = [*made.sums.queries()]
    total = sum(made.shares.values())
    shares = {query.name: made.shares[query.name] / total for query in queries}
    events = calibrated(queries, shares, budget)
    plan = Plan(
        model=type(config).__name__,
        config=config.settings(),
        domain_digest=domain.digest,
        max_users=domain.max_users,
        budget=budget,
        measurements=tuple(Measurement(event, shares[event.name]) for event in events),
        part=Part(0, releases),
    )
    return signed(plan, config, domain)


def repeated(config: Model, domain: Domain, budget: Budget, releases: int) -> Repeated:
    """What a model measures in a series.

    A running sum has ‖c‖² times the noise of one measurement of the same cost, so the model's settings follow
    an ε that is smaller by that.

    Raises:
        ConfigError: The model has no series.

    Privacy: public.
    """
    if not isinstance(config, PrivateModel) or config.shares:
        raise ConfigError("a series is of GlobalEffects or Popularity, with the shares that they have")
    config.require_feedback(domain)
    config.require_effect(unit=budget.unit, adjacency=budget.adjacency)
    seen = budget.model_copy(update={"epsilon": budget.epsilon / joint_norm(releases) ** 2})
    return config.repeated(domain, seen, releases)
