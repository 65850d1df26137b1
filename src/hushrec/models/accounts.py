"""The ledger that a release is charged to: the owner's, or one in memory for seeded experiments."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hushrec.errors import BudgetExceeded, LedgerError
from hushrec.privacy.entropy import Entropy, OperatingSystem
from hushrec.privacy.ledger import Ledger
from hushrec.privacy.mechanisms import Grant
from hushrec.privacy.plan import Plan, require_exact_noise


def account_of(ledger: Ledger | str | Path | None, planned: Plan, entropy: Entropy | None) -> Ledger:
    """Open the ledger, or start one with the plan's budget as its whole total where there never was one.

    Args:
        ledger: the population's ledger, or its path; None only for seeded experiments.
        planned: what will be charged.
        entropy: where the noise comes from.

    Raises:
        LedgerError: There is no ledger, or it cannot be relied on.
        BudgetExceeded: A new ledger could not pay for the plan.

    Privacy: public.
    """
    if isinstance(ledger, Ledger):
        return ledger
    if ledger is not None:
        if not Path(ledger).exists():
            _require_payable(planned, entropy)
        return Ledger.for_fit(ledger, planned.budget)
    if entropy is None or isinstance(entropy, OperatingSystem):
        raise LedgerError(
            'a private release is charged to a ledger: pass ledger="ledger.db" (it is created if new)'
        )
    # A seeded experiment claims nothing, so a published plan may cost more than its budget here, or more than
    # anybody can say: then the total covers the rest of it.
    epsilon = max(planned.budget.epsilon, planned.spent.bounded.epsilon(planned.budget.delta))
    return Ledger.ephemeral(planned.budget.model_copy(update={"epsilon": epsilon}))


@contextmanager
def spending(account: Ledger, grant: Grant) -> Iterator[None]:
    """What is done under a charge: if it fails, the charge is given up, or kept open for its checkpoint.

    Raises:
        MemoryError: There is too little; without NumPy's words, which tell how many ratings there are.

    Privacy: public.
    """
    try:
        yield
    except BaseException as error:
        note = "The charge stays open: the same call with this checkpoint goes on under it."
        if not grant.checkpoint:
            account.burn(grant)
            note = "The charge stays spent: noise is never drawn twice under one charge."
        if isinstance(error, MemoryError):
            error = MemoryError("there is too little memory for this release; make room for it")
            error.add_note(note)
            raise error from None
        error.add_note(note)
        raise


def _require_payable(planned: Plan, entropy: Entropy | None) -> None:
    """Refuse before a ledger is started what it would refuse: else it would stay, with this budget in it."""
    seeded = entropy is not None and not isinstance(entropy, OperatingSystem)
    require_exact_noise(planned, "not private: seeded" if seeded else "")
    if planned.spent.epsilon_units(planned.budget.delta) > planned.budget.epsilon_units:
        raise BudgetExceeded(planned.epsilon, planned.budget.epsilon, planned.budget.unit, started=False)
