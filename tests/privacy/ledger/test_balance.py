"""What a ledger says, each time that it is asked."""

from collections.abc import Callable

from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.ledger.balance import Balance
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.ledger.stores.places import store_of
from support.ledgers import finish

TOTAL = Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")


def test_a_balance_follows_the_ledger(place: str, make_plan: Callable[..., Plan]) -> None:
    """Also one that another process charges."""
    ledger = Ledger.create(place, TOTAL, max_releases=3)
    balance = Balance(store_of(place))
    assert (balance.id, balance.total, balance.max_releases) == (ledger.id, TOTAL, 3)
    assert (balance.remaining, balance.releases_left, balance.entries()) == (2.0, 3, ())
    plan = make_plan(0.5)
    finish(ledger, ledger.charge(plan), b"bytes")
    assert (balance.head, balance.spent, balance.releases_left) == (ledger.head, plan.spent, 2)
    assert balance.stored(plan, 0) == b"bytes"
    assert balance.entries() == ledger.entries()
    assert "whatever earlier ones show" in balance.holds
