"""Which earlier releases a fit takes over, and what their year may cost: by public facts and the ledger.

The releases of one model on one ledger take over each other's sums. So a release states the ε of every charge
whose noise is inside. What they hand over lies next to the ledger; the ledger knows its digest.
"""

import warnings
from collections.abc import Collection, Iterator

from hushrec.curator.authors import outsiders
from hushrec.data.domain import Domain
from hushrec.errors import ConfigError, LedgerWarning, SumsError
from hushrec.models.base import PrivateModel
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.year import Year
from hushrec.privacy.carried import Carried
from hushrec.privacy.ledger.booking import whole_year
from hushrec.privacy.ledger.history import Charge, State
from hushrec.privacy.sums_on_disk import SumsFolder
from hushrec.text import ranges


def year_of(
    model: PrivateModel,
    domain: Domain,
    state: State,
    budget: Budget | None,
    *,
    fresh: bool = False,
    without: Collection[int] = (),
) -> Year | None:
    """Choose what the next release takes over: the last made release of the same sums, with all inside it.

    Args:
        state: of the ledger.
        budget: what the release may cost; None for its share.
        fresh: take over nothing.
        without: indexes of releases whose sums are left out, with every release that holds them.

    Returns:
        None for a release that stands alone: of a model that takes over nothing, or the last of a ledger that
        has no other of the same sums.

    Raises:
        ConfigError: A release that is to be left out hands over nothing to this one.

    Privacy: public.
    """
    # None takes over what rests on an author's word, or on a condition, or losses that do not add.
    able = model.continues and not any(outsiders(type(model)))
    able = able and not any(charge.caveats for charge in state.charges)
    able = able and (budget is None or (budget.delta > 0) == (state.total.delta > 0))
    alike = [*_alike(model, domain, state)] if able else []
    if unknown := {*without} - {one.release_index for one in alike}:
        raise ConfigError(
            f"release {min(unknown)} hands nothing over to this one, so nothing of it can be left out; "
            "hushrec ledger show lists the releases, and whose sums each holds"
        )
    if not able:
        if fresh:
            raise ConfigError(f"{type(model).__name__} takes over no sums here: leave out fresh (--fresh)")
        return None
    taken = next((one for one in alike if not (fresh or {*without} & {*_inside(one)})), None)
    inside = _inside(taken) if taken else ()
    left_out = tuple(sorted({one.release_index for one in alike} - {*inside}))
    if taken and taken.year:
        before = taken.year
        return Year(before.whole, before.sums, inside, before.spent + taken.cost, left_out)
    _name_others(model, state, alike)
    # What the releases of the year may cost together shapes their sums, so it is settled at the first.
    whole = whole_year(state, budget)
    if whole is None or (state.releases_left < 2 and not left_out):
        return None
    return Year(whole, model.sums_digest(domain, whole), left_out=left_out)


def whole_of(state: State, budget: Budget | None, *, fresh: bool) -> Budget | None:
    """What all releases of a year may cost, by which a model is suggested: as at its first, if one goes on.

    Args:
        budget: what the release may cost; None for its share.
        fresh: whether it begins anew.

    Privacy: public.
    """
    made = (one for one in reversed(state.charges) if one.carried and not one.caveats)
    last = None if fresh else next(made, None)
    return last.year.whole if last and last.year else whole_year(state, budget)


def handed_over(year: Year | None, state: State, folder: SumsFolder) -> Carried | None:
    """Read what the last release of the year handed over; None in its first.

    Args:
        folder: where the sums of the ledger are kept.

    Raises:
        SumsError: It is not here as the ledger knows it.

    Privacy: public; it is made from released values.
    """
    if year is None or not year.releases:
        return None
    last = state.made(year.releases[-1])
    carried = folder.carried(last.sums, last.carried) if last else None
    if carried is None:
        raise SumsError(
            f"{folder.path.name}: what release {year.releases[-1]} handed over is not here, or was altered; "
            "put it back, or name its folder with sums= (--sums). Or leave it out: fresh=True (--fresh) "
            "starts anew, which costs accuracy and no ε; a fit that was stopped is given up first (hushrec "
            "ledger forfeit)"
        )
    return carried


def _alike(model: PrivateModel, domain: Domain, state: State) -> Iterator[Charge]:
    """Yield the made charges, without caveats, of the same sums, the last one first."""
    for charge in reversed(state.charges):
        if charge.state != "made" or charge.caveats or not charge.year or not charge.carried:
            continue
        if charge.model == type(model).__name__ and (
            model.sums_digest(domain, charge.year.whole) == charge.year.sums
        ):
            yield charge


def _inside(charge: Charge) -> tuple[int, ...]:
    """The releases whose sums a made release holds, its own the last."""
    return (*(charge.year.releases if charge.year else ()), charge.release_index)


def _name_others(model: PrivateModel, state: State, alike: Collection[Charge]) -> None:
    """Warn that earlier releases of the model measured otherwise, so that a year begins anew."""
    name = type(model).__name__
    others = [
        one.release_index for one in state.charges if one.model == name and one.carried and one not in alike
    ]
    if others:
        warnings.warn(
            f"this is the first release of a year: the sums of release {ranges(others)} are of other "
            f"settings, bounds or data, so {name} does not take them over. To take them over, declare and "
            "set what they had",
            LedgerWarning,
            stacklevel=5,
        )
