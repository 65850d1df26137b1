"""Runs for tests of what models measure on them: charged and seeded, or without noise."""

from hushrec.data.domain import Domain
from hushrec.models.base import PrivateModel
from hushrec.privacy.accounting.budget import Budget, Unprotected
from hushrec.privacy.grant import SEAL, Grant
from hushrec.privacy.noise.entropy import Seeded
from hushrec.privacy.run import ChargedRun, ExactRun


def charged(config: PrivateModel, domain: Domain, budget: Budget, seed: int = 1) -> ChargedRun:
    """The run of a model's plan under seeded noise."""
    plan = config.plan(domain, budget)
    return ChargedRun(plan, config.queries(domain, budget), Grant(plan.events, Seeded(seed), seal=SEAL))


def exact(unit: str = "record", adjacency: str = "add-remove") -> ExactRun:
    """The run of the non-private baseline."""
    return ExactRun(Unprotected(unit, adjacency))
