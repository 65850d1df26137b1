"""The remainder of a ledger's total, its number of releases, and the equal share of each."""

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

from hushrec.errors import BudgetError, BudgetUnsupported, ShareExceeded
from hushrec.figures import above
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import Spent
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.ledger.history import History
from hushrec.privacy.ledger.routes import chosen, counted

_DIGITS = 4
"""Significant digits of the ε of a share, so that it can be read off and typed."""
_PER_DECADE = 9 * 10 ** (_DIGITS - 1)  # numbers with these digits between two powers of ten
_SMALLEST = Decimal("1e-12")


@dataclass(frozen=True, slots=True)
class Remainder:
    """The loss that a ledger still allows, and for how many releases.

    Args:
        total: what the population may lose over all releases.
        releases: how many releases are still planned, with the next one.
        spent: what it has lost.
        route: how the ledger counts; empty before the first charge, which settles it.
    """

    total: Budget
    releases: int
    spent: Spent = field(default_factory=Spent)
    route: str = ""

    @classmethod
    def of(cls, history: History, release_index: int | None = None) -> "Remainder":
        """Return the remainder of a ledger with this history, if this release index is charged next.

        Args:
            release_index: the release index, whose unfinished charge is then forfeited; None for a free one.
        """
        releases = history.max_releases - len(history.taken - {release_index})
        return cls(history.total, releases, history.spent, history.route)

    def after(self, cost: Spent, times: int) -> int:
        """Return ε of the ledger after this many releases of equal cost, in units of 1e-12, rounded up."""
        route = self.route or chosen(cost, self.total)
        return counted(self.spent + cost * times, route, self.total.delta)

    def covers(self, cost: Spent) -> bool:
        """Whether every planned release may cost this much."""
        return self.after(cost, self.releases) <= self.total.epsilon_units

    def require_share(self, plan: Plan) -> None:
        """Refuse a release that leaves less than it takes to any of those that are still planned."""
        if plan.part or self.covers(plan.spent):  # a series is all that was planned
            return
        alone = above(plan.spent.epsilon(self.total.delta))
        together = above(fixed_point.shown(self.after(plan.spent, self.releases)))
        raise ShareExceeded(
            f"this release costs ε = {alone} per {self.total.unit}, more than an equal share of what the "
            f"ledger has left for {self.releases:,} releases: {self.releases:,} like it would bring the "
            f"total to ε = {together}, and it may be {above(self.total.epsilon)}; spend less, or, if later "
            'releases may have less, accept it: accept="share", or --accept share'
        )

    def share(self, plan: Callable[[Budget], Plan]) -> Budget:
        """The largest budget that each planned release may have, so that together they fit.

        Found by bisection on plans, whose costs are integers. ε is rounded down to four significant digits,
        so it is at most 0.1 % below the largest.

        Args:
            plan: the plan of one release under a budget.
        """
        if self.releases < 1:
            raise BudgetError(
                "this ledger has no release left; let its owner raise max_releases (hushrec ledger extend)"
            )
        plan(self.total)  # what is refused whatever ε is, is refused here

        def fits(place: int) -> bool:
            try:
                planned = plan(self._budget(place))
            except BudgetUnsupported:
                raise
            except BudgetError:  # ε is too small to be planned; so is any smaller one
                return True
            return self.covers(planned.spent)

        low, high = _place(_SMALLEST), _place(Decimal(repr(self.total.epsilon))) + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        budget, why = self._budget(low), ""
        try:
            if self.covers(plan(budget).spent):
                return budget
        except BudgetError as error:
            why = f" ({error})"
        raise BudgetError(
            f"what is left of the total is too little for {self.releases:,} more releases of this model{why}"
            "; plan fewer, or let the ledger's owner raise the total (hushrec ledger extend)"
        )

    def _budget(self, place: int) -> Budget:
        return self.total.model_copy(update={"epsilon": _epsilon(place)})


def _place(epsilon: Decimal) -> int:
    """The place of ε among all numbers of four significant digits; between two, that of the smaller."""
    exponent = epsilon.adjusted()
    digits = int(epsilon.scaleb(_DIGITS - 1 - exponent))  # rounds down
    return int(exponent * _PER_DECADE + digits - _PER_DECADE // 9)


def _epsilon(place: int) -> float:
    exponent, digits = divmod(place, _PER_DECADE)
    return float(f"{digits + _PER_DECADE // 9}e{exponent - _DIGITS + 1}")
