"""Equal shares of a total over several releases: what each may cost."""

from hushrec.data.domain import Domain
from hushrec.errors import BudgetError
from hushrec.figures import whole
from hushrec.models.base import Model
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.ledger.remainder import Remainder


def split_budget(domain: Domain, model: Model, total: Budget, releases: int) -> Budget:
    """The largest budget that each of several equal releases may have, so that together they fit a total.

    ε is rounded down to four significant digits, so it is at most 0.1 % below the largest. A ledger that is
    created with this total and this number of releases covers exactly these charges, and
    ``fit(data, model, "auto", ledger=...)`` takes them one by one.

    Args:
        domain: the public domain.
        model: a model's settings.
        total: what the population may lose over all releases.
        releases: how many releases there will be.

    Raises:
        BudgetError: The total is too little for this many releases of this model, or there are none.
        BudgetUnsupported: The model does not support the total's unit, adjacency or δ.
    """
    releases = whole(releases, "releases", 1, BudgetError)
    return Remainder(total, releases).share(lambda budget: model.plan(domain, budget))
