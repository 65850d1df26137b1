"""Every model in every unit and adjacency that it supports: what audits go over."""

from typing import NamedTuple

import hushrec as hr
from hushrec import models
from hushrec.audit.worlds import World
from hushrec.errors import HushrecError

EPSILONS = (1.0, 4.0)


class Case(NamedTuple):
    """A model by its public name, and what it protects."""

    model: str
    unit: str
    adjacency: str

    def config(self):
        return models.class_of(self.model)()

    def budget(self, epsilon):
        return hr.Budget(epsilon=epsilon, delta=1e-6, unit=self.unit, adjacency=self.adjacency)

    @property
    def supported(self):
        """Whether its default settings can be planned: some adjacencies belong to other settings."""
        try:
            config = self.config()
            config.plan(World.of(feedback=config.feedback).domain, self.budget(1.0))
        except HushrecError:
            return False
        return True

    def __str__(self):
        return f"{self.model}, {self.unit}, {self.adjacency}"


CASES = [
    case
    for name in models.MODELS
    for unit, adjacency in sorted(models.class_of(name).supports)
    if (case := Case(name, unit, adjacency)).supported
]
