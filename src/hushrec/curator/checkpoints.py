"""Where a charged fit keeps its checkpoint, and what becomes of charges whose fit was stopped.

By default every charged fit has a checkpoint next to its ledger until its release is made. Whatever stops the
fit then costs no budget: the same call resumes it, under the same charge and with the same noise.
"""

import contextlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from hushrec.errors import ChargeUnpublished, CheckpointError, HushrecError, LedgerStale, LedgerWarning
from hushrec.privacy.checkpoint.checkpoint import Checkpoint, mark_of
from hushrec.privacy.checkpoint.folder import in_use
from hushrec.privacy.ledger.history import Charge
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.text import above

RATINGS = "ratings"
"""The fact of a checkpoint that says which ratings its fit is of, by their digest."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A charge whose fit was stopped, and the checkpoint from which it resumes.

    Args:
        charge: the charge. In a state other than ``charged``, its release is stored in the ledger.
        folder: its checkpoint.

    Privacy: public; the folder is private.
    """

    charge: Charge
    folder: Path


def folder_of(account: Ledger) -> Path:
    """The folder of a ledger's checkpoints: next to its file; the current one if it is in a database."""
    beside = account.path.parent if account.path else Path.cwd()
    return beside / f"{account.name}.checkpoints"


def stopped(account: Ledger) -> list[Stopped]:
    """The charges whose fit was stopped and can resume here, in the order of their charges.

    Checkpoints that nothing can resume from are removed: those of fits that were stopped before their charge,
    or that were given up. Those of fits that run are passed over.
    """
    resumable = []
    for folder in sorted(folder_of(account).glob(f"{_prefix(account)}*")):
        if in_use(folder):
            continue
        with Checkpoint(folder) as kept:
            charge = account.under(kept.resumed)
            if charge and charge.state != "forfeited":
                resumable.append(Stopped(charge, folder))
                continue
            if charge is None and kept.charged:
                raise _stale(folder)
            kept.forget()
    _tidy(account)
    return sorted(resumable, key=lambda one: one.charge.number)


def checkpoint_of(
    account: Ledger, named_checkpoint: str | Path | bool, digest: Callable[[], str]
) -> Path | None:
    """The folder of a checkpoint: that of the stopped charge of these people, or a new one; None for none.

    Whatever is kept, a charge that waits for its fit to be repeated is refused company.

    Args:
        named_checkpoint: as for ``fit``.
        digest: gives the digest of the people's rows; called only if a fit was stopped.
    """
    waiting = stopped(account)
    if named_checkpoint is True:
        for fit in waiting:
            with Checkpoint(fit.folder) as kept:
                if kept.knows(RATINGS, digest()):
                    return fit.folder
        _require_stored(account, waiting)
        return _new(account)
    named = Path(named_checkpoint) if named_checkpoint else None
    _require_stored(account, waiting, "" if named is None else mark_of(named))
    return named


def resumed_mark(account: Ledger, checkpoint: str | Path | bool, domain: str) -> str:
    """The commitment of the stopped fit that comes first; empty if there is none.

    Args:
        checkpoint: as for ``fit``.
        domain: digest of the domain.
    """
    if isinstance(checkpoint, bool):
        waiting = stopped(account) if checkpoint and account.kept else []
        open_ = (one.charge for one in waiting if one.charge.state == "charged")
        return next((charge.checkpoint for charge in open_ if charge.domain == domain), "")
    if not Path(checkpoint).exists():
        return ""
    with Checkpoint(checkpoint) as kept:
        return kept.resumed


@contextmanager
def bound(folder: Path | None, ratings: str, settings: str, account: Ledger) -> Iterator[Checkpoint | None]:
    """The checkpoint of exactly this fit, if it has one; deleted once the release is made.

    Args:
        folder: the checkpoint's.
        ratings: digest of the ratings.
        settings: what else must be the same, as text.

    Privacy: public.
    """
    if folder is None:
        yield None
        return
    marks = {RATINGS: ratings, "settings (release index and version too)": settings}
    with _opened(folder, marks, account) as checkpoint:
        try:
            yield checkpoint
        except BaseException:
            if folder.parent == folder_of(account):
                with contextlib.suppress(HushrecError):  # what failed comes first
                    _forget_uncharged(checkpoint, account)
            raise
        checkpoint.forget()
    _tidy(account)


def refusal(account: Ledger, charge: Charge) -> ChargeUnpublished:
    """Why nothing new is charged while a charge waits whose fit was stopped."""
    return ChargeUnpublished(
        f"{_named(charge)} was charged, and its fit was stopped before the release was made. Nothing was "
        "charged. To resume it at no cost, repeat it with the same data, settings and version of hushrec, "
        "and with a release index only if it had one; to give it up, so that its ε stays spent, run hushrec "
        f"ledger forfeit {account.place} {charge.release_index}"
    )


def _require_stored(account: Ledger, waiting: list[Stopped], mark: str = "") -> None:
    """Refuse while one of these charges has no release; otherwise they need their checkpoints no more."""
    if open_ := [fit for fit in waiting if fit.charge.state == "charged"]:
        raise refusal(account, open_[0].charge)
    for fit in waiting:
        _set_aside(account, fit)
    _name_others(account, mark)


def _opened(folder: Path, marks: dict[str, str], account: Ledger) -> Checkpoint:
    is_default = folder.parent == folder_of(account)
    if is_default:
        _make_folder(account)
    checkpoint = Checkpoint(folder)
    before = checkpoint.resumed
    try:
        checkpoint.bind(marks, account.id)
        if checkpoint.charged and account.under(checkpoint.commitment) is None:
            checkpoint.close()
            raise _stale(folder)
        return checkpoint
    except CheckpointError:
        checkpoint.close()
        charge = account.under(before) if is_default else None
        if charge is None:
            raise
    if charge.state == "charged":
        raise refusal(account, charge)
    _set_aside(account, Stopped(charge, folder))
    return _opened(_new(account), marks, account)


def _stale(folder: Path) -> LedgerStale:
    return LedgerStale(
        f"the ledger does not know the charge of the checkpoint {folder.name}: a backup was restored; put "
        "the latest copy back"
    )


def _forget_uncharged(checkpoint: Checkpoint, account: Ledger) -> None:
    """Remove a checkpoint without a charge in the ledger: the charge was refused."""
    if account.under(checkpoint.commitment) is None and not checkpoint.charged:
        checkpoint.forget()
        _tidy(account)


def _set_aside(account: Ledger, fit: Stopped) -> None:
    """Remove the checkpoint of a release that is stored: its bytes are in the ledger, so nothing is lost."""
    if fit.charge.state == "sampled":
        warnings.warn(
            f"release {fit.charge.release_index} is stored in the ledger, and its file was perhaps never "
            f"written: the same command with --release-index {fit.charge.release_index} gives its bytes, at "
            "no cost",
            LedgerWarning,
            stacklevel=4,
        )
    with Checkpoint(fit.folder) as kept:
        kept.forget()


def _new(account: Ledger) -> Path:
    """Where a new checkpoint lies."""
    return folder_of(account) / f"{_prefix(account)}{token_hex(4)}"


def _make_folder(account: Ledger) -> None:
    try:
        folder_of(account).mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise CheckpointError(
            f"no checkpoint can be kept next to the ledger ({error.strerror}): name a folder on a local disk "
            "with checkpoint= (--checkpoint), or do without one (checkpoint=False, --no-checkpoint); a fit "
            "that is stopped then loses its charge"
        ) from None


def _name_others(account: Ledger, mark: str) -> None:
    """Name the charges without a release whose checkpoint is not here; their fits may run elsewhere."""
    running = {mark, *map(mark_of, folder_of(account).glob(f"{_prefix(account)}*"))} - {""}
    for charge in account.unpublished:
        if charge.state == "charged" and charge.checkpoint not in running:
            warnings.warn(
                f"{_named(charge)} was charged and is not published. If no fit of it runs elsewhere, it was "
                f"stopped: repeat it where its checkpoint is, or give it up, so that its ε stays spent "
                f"(hushrec ledger forfeit {account.place} {charge.release_index})",
                LedgerWarning,
                stacklevel=3,
            )


def _named(charge: Charge) -> str:
    cost = f", ε = {above(charge.budget.epsilon)}" if charge.budget else ""
    day = f", {charge.date}" if charge.date else ""
    return f"release {charge.release_index} ({charge.model}{cost}{day})"


def _prefix(account: Ledger) -> str:
    """How the names of a ledger's checkpoints begin: another ledger of its name has others."""
    return f"{account.id[:16]}-"


def _tidy(account: Ledger) -> None:
    """Remove the folder of checkpoints if it is empty."""
    with contextlib.suppress(OSError):
        folder_of(account).rmdir()
