"""The ledger that a release is charged to: the owner's, or an in-memory one for seeded experiments."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hushrec.errors import LedgerError, MemoryExceeded
from hushrec.figures import above
from hushrec.privacy.accounting.plan import Plan, require_strong
from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger import surroundings, witnesses
from hushrec.privacy.ledger.balance import folders
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.ledger.stores.places import store_of
from hushrec.privacy.noise.entropy import Entropy, OperatingSystem


def account_of(ledger: Ledger | str | Path | None, planned: Plan, entropy: Entropy | None) -> Ledger:
    """Open the ledger. A missing ledger is not created, because a typo would then give a fresh budget.

    Args:
        ledger: the population's ledger, or its path or URL; None only for seeded experiments.

    Privacy: public.
    """
    if isinstance(ledger, Ledger):
        return ledger
    if ledger is not None:
        return Ledger.open(ledger)
    if entropy is None or isinstance(entropy, OperatingSystem):
        raise LedgerError(
            'a private release is charged to a ledger: pass ledger="ledger.db"; to create it, once, call '
            "hushrec.Ledger.create(path, total)"
        )
    return Ledger.ephemeral(planned.budget)


def start(
    ledger: str | Path, planned: Plan, releases: Path | None = None, *, accept_weak: bool = False
) -> Ledger:
    """Create a ledger with the plan's budget as the population's total.

    Args:
        ledger: a path where no file exists, or a URL under which there is no ledger.
        releases: a folder of releases that may be of the same people, beside that of a file.
        accept_weak: as for ``Ledger.charge``.
    """
    require_startable(ledger, planned, releases, accept_weak=accept_weak)
    return Ledger.create(ledger, planned.budget, domain=planned.domain_digest, releases=releases)


def require_startable(
    path: str | Path, planned: Plan, releases: Path | None = None, *, accept_weak: bool = False
) -> None:
    """Refuse what a new ledger would refuse, before it is created and would remain with this budget.

    Args:
        path: where the ledger would be created.
        releases: as for ``start``.
        accept_weak: as for ``Ledger.charge``.
    """
    store = store_of(path)
    found = witnesses.among(*folders(store, releases))
    surroundings.require_startable(store, planned.budget, planned.domain_digest, found)
    if not accept_weak:  # last: whoever is asked about it is refused nothing else
        require_strong(planned)


@contextmanager
def spending(account: Ledger, grant: Grant, planned: Plan) -> Iterator[None]:
    """Context of the work under a charge. On failure the charge is forfeit, or stays open for its checkpoint.

    Privacy: public.
    """
    try:
        yield
    except BaseException as error:
        note = "The charge stays open: the same call resumes it, at no further cost."
        if not grant.checkpoint:
            account.forfeit(grant)
            note = "The charge stays spent: noise is never drawn twice under one charge."
        if isinstance(error, MemoryError):
            error = MemoryExceeded("there is too little memory for this release; free some memory")
            if not grant.checkpoint:
                note += f" It was ε = {above(planned.epsilon)} at δ = {above(planned.budget.delta)}. "
                note += "A fit with a checkpoint folder could resume under its charge."
            error.add_note(note)
            raise error from None
        error.add_note(note)
        raise
