"""Equal shares of a total over several releases: what each may cost."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hushrec.data.domain import Domain
from hushrec.errors import BudgetError, LedgerError, ShareExceeded
from hushrec.models.base import Model
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.ledger.remainder import Remainder


def share(config: Model, domain: Domain, total: Budget, releases: int) -> Budget:
    """The largest budget that each of several equal releases may have, so that together they fit a total.

    ε is rounded down to four significant digits, so it is at most 0.1 % below the largest. A ledger that is
    created with this total and this number of releases covers exactly these charges, and
    ``fit(ratings, config, "auto", ledger=...)`` takes them one by one.

    Args:
        config: a model's settings.
        domain: the public domain.
        total: what the population may lose over all releases.
        releases: how many releases there will be.

    Raises:
        BudgetError: The total is too little for so many releases of this model, or there are none.
        BudgetUnsupported: The model does not support the total's unit, adjacency or δ.
    """
    if releases < 1:
        raise BudgetError("a total is shared by one release or more; raise releases")
    return Remainder(total, releases).share(lambda budget: config.plan(domain, budget))


def next_share(
    ledger: Ledger | str | Path | None,
    config: Model,
    domain: Domain,
    release_index: int | None = None,
    mark: str = "",
) -> Budget:
    """The budget that a fit with ``"auto"`` takes: an equal share of what the ledger has left.

    A release that was made before, or whose checkpoint resumes, keeps the budget that it was charged for.

    Args:
        ledger: the population's ledger, or its path.
        release_index: as for ``fit``.
        mark: commitment of the checkpoint that resumes; empty for none.
    """
    return opened(ledger).share(lambda budget: config.plan(domain, budget), release_index, mark)


def opened(ledger: Ledger | str | Path | None) -> Ledger:
    """The ledger that ``"auto"`` takes a share of."""
    if ledger is None:
        raise LedgerError('"auto" takes a share of a ledger: pass ledger="ledger.db", or a Budget')
    return ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)


@contextmanager
def naming_share(
    account: Ledger, release_index: int | None, plan: Callable[[Budget], Plan]
) -> Iterator[None]:
    """Context of a charge. If it is refused because it exceeds its share, the error names the share.

    Args:
        release_index: the release index of the charge.
        plan: the plan of the release under a budget.
    """
    try:
        yield
    except ShareExceeded as error:
        try:
            equal = account.share(plan, release_index)
        except BudgetError:  # settings decide the cost, or nothing smaller can be planned
            raise error from None
        raise error.naming(equal.epsilon) from None
