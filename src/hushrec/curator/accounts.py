"""The ledger that a release is charged to: the owner's, or one in memory for seeded experiments."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hushrec.errors import BudgetExceeded, LedgerError, MemoryExceeded
from hushrec.figures import above
from hushrec.privacy.accounting.plan import Plan, require_releasable
from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger import surroundings
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Entropy, OperatingSystem


def account_of(ledger: Ledger | str | Path | None, planned: Plan, entropy: Entropy | None) -> Ledger:
    """Open the ledger. A path that leads to none starts none: else a typo would be a fresh budget.

    Args:
        ledger: the population's ledger, or its path; None only for seeded experiments.
        planned: what will be charged.
        entropy: where the noise comes from.

    Raises:
        LedgerError: There is no ledger, or it cannot be relied on.

    Privacy: public.
    """
    if isinstance(ledger, Ledger):
        return ledger
    if ledger is not None:
        return Ledger.open(ledger)
    if entropy is None or isinstance(entropy, OperatingSystem):
        raise LedgerError(
            'a private release is charged to a ledger: pass ledger="ledger.db", which '
            "hushrec.Ledger.create(path, total) starts, once"
        )
    # A seeded experiment claims nothing, so a published plan may cost more than its budget here, or more than
    # anybody can say: then the total covers the rest of it.
    epsilon = max(planned.budget.epsilon, planned.spent.bounded.epsilon(planned.budget.delta))
    return Ledger.ephemeral(planned.budget.model_copy(update={"epsilon": epsilon}))


def start(ledger: str | Path, planned: Plan) -> Ledger:
    """Start a ledger for a plan and those like it, with the plan's budget as the population's whole total.

    Args:
        ledger: a path where there is none.
        planned: what will be charged.

    Raises:
        LedgerError: There is a ledger already, or another one of the same people in the folder.
        BudgetError: It could not pay for the plan, whose noise may be for seeded experiments alone.

    Privacy: public.
    """
    require_startable(ledger, planned)
    return Ledger.create(ledger, planned.budget, domain=planned.domain_digest)


def require_startable(path: str | Path, planned: Plan) -> None:
    """Refuse before a ledger is started what it would refuse: else it would stay, with this budget in it.

    Args:
        path: where it is to be.
        planned: what will be charged.

    Raises:
        LedgerError: There is a ledger already, or another one of the same people in the folder.
        BudgetExceeded: It could not pay for the plan.
        BudgetError: The plan's noise is for seeded experiments alone.

    Privacy: public.
    """
    require_releasable(planned, "")
    if planned.spent.epsilon_units(planned.budget.delta) > planned.budget.epsilon_units:
        raise BudgetExceeded(planned.epsilon, planned.budget.epsilon, planned.budget.unit, started=False)
    surroundings.require_startable(Path(path).resolve(), planned.budget, planned.domain_digest)


@contextmanager
def spending(account: Ledger, grant: Grant, planned: Plan) -> Iterator[None]:
    """What is done under a charge: if it fails, the charge is given up, or kept open for its checkpoint.

    Args:
        account: the ledger.
        grant: what was charged.
        planned: and for how much.

    Raises:
        MemoryExceeded: There is too little; without NumPy's words, which tell how many ratings there are.

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
            error = MemoryExceeded("there is too little memory for this release; make room for it")
            if not grant.checkpoint:
                note += f" It was ε = {above(planned.epsilon)} at δ = {above(planned.budget.delta)}. "
                note += "A fit with a checkpoint folder would go on under its charge."
            error.add_note(note)
            raise error from None
        error.add_note(note)
        raise
