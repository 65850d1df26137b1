"""The plan of a series: one charge, of which every release draws its part."""

from hushrec.curator.authors import signed
from hushrec.data.domain import Domain
from hushrec.errors import BudgetUnsupported, ConfigError
from hushrec.models.base import Model
from hushrec.models.phases.repeated import Repeated
from hushrec.models.private import PrivateModel
from hushrec.privacy.accounting.ages import Part, joint_norm
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.allocation import calibrated


def series_plan(config: Model, domain: Domain, budget: Budget, releases: int, part: int = 0) -> Plan:
    """What every release of a series measures, with noise that makes all of them together cost the budget.

    Args:
        config: a model's settings.
        domain: the public domain.
        budget: what the series may cost.
        releases: how many releases it has.
        part: number of one of them, from 0.

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
        part=Part(part, releases),
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
