"""The base of models without noise: no plan, no measurements, no budget."""

from typing import ClassVar

from hushrec.data.domain import Domain
from hushrec.errors import BudgetUnsupported
from hushrec.models.base import Model
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan


class Noiseless(Model):
    """A model for released data, and a non-private baseline on other data.

    Privacy: private. Of a data set that was released before, post-processing.
    """

    sums_alone: ClassVar = False
    instead: ClassVar[str] = (
        "release the data first (randomize, hushrec randomize) and fit on that, or choose a private "
        "model, such as CovarianceKNN"
    )
    """Advice for a caller with a budget."""

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """Refuse every budget."""
        raise BudgetUnsupported(f"{type(self).__name__} adds no noise, so it takes no budget; {self.instead}")
