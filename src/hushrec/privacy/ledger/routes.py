"""How a ledger counts its total: the first charge fixes the route, so that no release can choose it.

A release that is planned after seeing earlier ones can choose its noise, and so which bound on the total
is smallest. The smallest of several valid bounds is then not a valid bound. So the first charge, which does
not depend on any outcome, fixes the bound that counts, the *route*:

- ``exact``: only Gaussian noise, which composes exactly in ρ, or only pure losses, which add. Both also hold
  if later measurements are chosen after seeing earlier ones (Smith & Thakurta 2022; Rogers et al. 2016).
- ``concentrated``: zCDP of everything except samples. Its ε is within the total exactly if ρ is at most the
  largest ρ that the total allows. So in effect a single order counts, the best one for that largest ρ,
  whatever was spent. ρ adds like the divergences below.
- an order α, as digits: Rényi divergences of everything at this single order. Up to a bound that is fixed
  beforehand they also add if later measurements are chosen after seeing earlier ones (Feldman & Zrnic 2021;
  Lécuyer 2021).

A later charge that does not fit the route leaves it, for example samples after Gaussian noise alone. From
then on the total is the smallest bound on everything in the ledger, and it holds for releases that were
planned without looking at earlier ones. Outcomes must not decide whether a ledger leaves its route either: a
bound that only some outcomes keep to is not a bound. The ledger states which case applies.
"""

from fractions import Fraction

from hushrec.documents.words import Clause
from hushrec.privacy.accounting.accountant import ORDERS, Spent, conversion
from hushrec.privacy.accounting.budget import Budget

EXACT, CONCENTRATED = "exact", "concentrated"
ROUTES = (EXACT, CONCENTRATED, *map(str, ORDERS))


def chosen(first: Spent, total: Budget) -> str:
    """The route that allows the most charges like the first within the total.

    Args:
        first: what the first charge costs.
        total: what the population may lose.
    """
    allowed, delta = total.epsilon_units, total.delta
    if delta == 0 or not (first.curve or first.epsilon_sum):
        return EXACT
    if first.curve:
        room = {o: Fraction(allowed - conversion(o, delta), _divergence(first, o)) for o in ORDERS}
        order = max(ORDERS, key=room.__getitem__)
        return str(order) if room[order] >= 1 else EXACT
    copies = {route: _copies(first, route, total) for route in (EXACT, CONCENTRATED)}
    return max(copies, key=copies.__getitem__)


def settled(spent: Spent, route: str) -> bool:
    """Whether the route covers everything spent, so that it also holds for adaptively chosen releases."""
    if route.isdigit():
        return True
    return not spent.curve and (route == CONCENTRATED or not (spent.epsilon_sum and spent.rho))


def counted(spent: Spent, route: str, delta: float) -> int:
    """ε of a ledger at δ in units of 1e-12, rounded up: by its route, or the smallest bound off it."""
    if delta == 0 or spent == Spent() or not settled(spent, route):
        return spent.epsilon_units(delta)
    return _along(spent, route, delta)


def holds(spent: Spent, route: str) -> Clause | None:
    """The releases for which a ledger's total holds; None if nothing was spent."""
    if spent == Spent():
        return None
    if not settled(spent, route):
        return Clause("holds.planned")
    if route == CONCENTRATED:
        return Clause("holds.zcdp")
    if route.isdigit():
        return Clause("holds.renyi", {"order": int(route)})
    return Clause("holds.gaussian" if spent.rho else "holds.pure")


def _along(spent: Spent, route: str, delta: float) -> int:
    if route.isdigit():
        return max(0, _divergence(spent, int(route)) + conversion(int(route), delta))
    return spent.concentrated(delta) if route == CONCENTRATED else spent.exact(delta)


def _divergence(spent: Spent, order: int) -> int:
    loss = spent.curve[ORDERS.index(order)] if spent.curve else 0
    return loss + order * (spent.rho + spent.pure_rho)


def _copies(first: Spent, route: str, total: Budget) -> int:
    low, high = 0, 1
    while _along(first * high, route, total.delta) <= total.epsilon_units:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        inside = _along(first * middle, route, total.delta) <= total.epsilon_units
        low, high = (middle, high) if inside else (low, middle)
    return low
