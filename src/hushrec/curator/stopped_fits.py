"""Fits that were stopped after their charge, and the sums from which the same call goes on.

What stops a fit costs no budget: its charge stays open, what was measured is kept (``sums_on_disk``), and the
same call measures the rest. Only a Markov chain that failed is not run again: its failure is its value.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from hushrec.errors import ChargeUnpublished, HushrecError, LedgerWarning
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.ledger.history import Charge
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.sums_on_disk import ChargeSums, SumsFolder
from hushrec.text import above


class StoppedFits:
    """The charges whose fit was stopped and can go on here, each with its folder, held by this process.

    Folders that nothing goes on from are removed: those of fits that were stopped before their charge, or
    that were given up. Those that another process holds are passed over.

    Args:
        ledger: the ledger; None for a new one, or none.
        sums: where its sums are kept, as for ``stopped_fits``.
        stack: lets go of all folders in the end.

    Privacy: public; the folders are private.
    """

    def __init__(self, ledger: Ledger | None, sums: str | Path | None, stack: ExitStack) -> None:
        self.ledger, self._sums, self._stack = ledger, sums, stack
        self._held: dict[str, ChargeSums] = {}
        """The folders of open and made charges, by their token."""
        if ledger is None or not ledger.kept:
            return
        folder = sums_of(ledger, sums)
        # A folder that knows a charge of which the ledger does not: then an older ledger was restored.
        ledger.require_known(folder.marks())
        for held in folder.free():
            stack.enter_context(held)
            if _is_given_up(ledger.state().under(held.token)):
                held.remove()
            else:
                self._held[held.token] = held
        handed_over = folder.carrieds()  # before the ledger is asked: what is written meanwhile stays
        state = ledger.state()
        for token, place in handed_over.items():
            if _is_given_up(state.under(token)):
                place.unlink(missing_ok=True)
        _name_others(ledger, folder)

    def new(self, ledger: Ledger) -> ChargeSums:
        """The folder of a new charge."""
        return self._stack.enter_context(sums_of(ledger, self._sums).new())

    def folder(self, ledger: Ledger) -> SumsFolder:
        """The folder of all charges of a ledger that are made from here."""
        return sums_of(ledger, self._sums)

    @property
    def waiting(self) -> Charge | None:
        """The first charge that is open; or else one whose file was perhaps never written."""
        charges = self._charges()
        return next((charge for charge in charges if charge.state == "charged"), next(iter(charges), None))

    def settle(self, digest: Callable[[], str]) -> bool:
        """Set aside, with a warning, each release of other rows whose file was perhaps never written.

        Args:
            digest: of the rows.

        Returns:
            Whether there was one, so that a fit has to be planned anew.
        """
        made = [charge for charge in self._charges() if charge.state == "made"]
        others = [charge for charge in made if not self._held[charge.sums].is_of(digest())]
        for charge in others:
            self._set_aside(charge)
        return bool(others)

    def resumes(self, plan: Plan) -> bool:
        """Whether a fit of this plan was stopped, and goes on."""
        if self.ledger is None:
            return False
        key = plan.key(self.ledger.id)
        return any(charge.state == "charged" and charge.key == key for charge in self._charges())

    def under(self, key: str, digest: Callable[[], str]) -> tuple[Charge, ChargeSums] | None:
        """The charge of the same plan, and its sums; refuses a new charge while another one is open.

        A release of other rows or another plan that is made already, but perhaps never reached its file, is
        set aside with a warning.

        Args:
            key: ``Plan.key`` of what is asked for.
            digest: of the rows.
        """
        charges = self._charges()
        alike = [charge for charge in charges if charge.key == key]
        ours = [charge for charge in alike if self._held[charge.sums].is_of(digest())]
        opened = [charge for charge in (*ours, *alike) if charge.state == "charged"]
        for charge in (*opened, *ours):
            return charge, self._held[charge.sums]
        for charge in charges:
            if charge.state == "charged":
                raise self._refusal(charge)
            self._set_aside(charge)
        return None

    def _set_aside(self, charge: Charge) -> None:
        warnings.warn(
            f"release {charge.release_index} is made, and its file was perhaps never written: hushrec "
            f"ledger fetch LEDGER {charge.release_index} writes it, at no cost",
            LedgerWarning,
            stacklevel=5,
        )
        self._held.pop(charge.sums).remove()

    def _charges(self) -> list[Charge]:
        charges = self.ledger.state().charges if self.ledger and self._held else ()
        return [charge for charge in charges if charge.sums in self._held]

    def _refusal(self, charge: Charge) -> ChargeUnpublished:
        assert self.ledger is not None
        give_up = f"hushrec ledger forfeit {self.ledger.place} {charge.release_index}"
        return ChargeUnpublished(
            f"{_name_of(charge)} was charged, and its fit was stopped before the release was made. Nothing "
            "was charged. To go on with it at no cost, repeat it with the same model and budget; to give it "
            f"up, so that its ε stays spent, run {give_up}"
        )


@contextmanager
def stopped_fits(place: Ledger | str | Path | None, sums: str | Path | None) -> Iterator[StoppedFits]:
    """Hold the sums of every stopped fit of a ledger that can go on here.

    Args:
        place: the ledger, or where it is; None for a new one, or none.
        sums: the folder of its sums; by default ``NAME.sums``, next to its file, or in the current folder if
            it is in a database.

    Raises:
        LedgerStale: The folder knows a charge that the ledger does not: a backup was restored.
    """
    with ExitStack() as stack:
        yield StoppedFits(None if place is None else Ledger.of(place), sums, stack)


def sums_of(ledger: Ledger, sums: str | Path | None = None) -> SumsFolder:
    """The folder of a ledger's sums.

    Args:
        sums: as for ``stopped_fits``.

    Privacy: public; what lies in it is private.
    """
    beside = ledger.path.parent if ledger.path else Path.cwd()
    return SumsFolder(Path(sums) if sums else beside / f"{ledger.name}.sums", ledger.id)


def drop_uncharged(ledger: Ledger, sums: ChargeSums) -> None:
    """Remove the folder of a fit that failed, if its charge was refused. Privacy: public."""
    with suppress(HushrecError):  # what failed comes first
        if ledger.state().under(sums.token) is None:
            sums.remove()


def _is_given_up(charge: Charge | None) -> bool:
    """Whether nothing goes on from a charge: it was never made, or was forfeited."""
    return charge is None or charge.state == "forfeited"


def _name_others(ledger: Ledger, folder: SumsFolder) -> None:
    """Name the open charges whose sums are not here; their fits may run elsewhere."""
    here = {path.name.rpartition("-")[2] for path in folder.path.glob("*-*")}
    for charge in ledger.state().charges:
        if charge.state == "charged" and charge.sums not in here:
            warnings.warn(
                f"{_name_of(charge)} was charged and is not made. If no fit of it runs elsewhere, it was "
                f"stopped: repeat it where its sums are, or give it up, so that its ε stays spent (hushrec "
                f"ledger forfeit {ledger.place} {charge.release_index})",
                LedgerWarning,
                stacklevel=6,
            )


def _name_of(charge: Charge) -> str:
    day = f", {charge.date}" if charge.date else ""
    return f"release {charge.release_index} ({charge.model}, ε = {above(charge.budget.epsilon)}{day})"
