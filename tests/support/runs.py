"""What models measure with, in tests: a charged and seeded grant, or none that adds noise."""

from hushrec.data.domain import Domain
from hushrec.models.base import PrivateModel
from hushrec.privacy.accounting.budget import Budget, Unprotected
from hushrec.privacy.grant import SEAL, Grant, WithoutNoise
from hushrec.privacy.noise.entropy import Seeded


def charged(config: PrivateModel, domain: Domain, budget: Budget, seed: int = 1) -> Grant:
    """The grant of a model's plan under seeded noise."""
    return Grant(config.plan(domain, budget), Seeded(seed), seal=SEAL)


def exact(unit: str = "record", adjacency: str = "add-remove") -> WithoutNoise:
    """The non-private baseline's."""
    return WithoutNoise(Unprotected(unit, adjacency))
