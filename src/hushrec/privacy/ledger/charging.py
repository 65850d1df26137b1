"""Charging a ledger: book a plan, or find the charge under which a checkpoint resumes."""

from typing import Any

from hushrec.errors import BudgetError, BudgetExceeded, CheckpointError, GrantError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.checkpoint.checkpoint import Checkpoint
from hushrec.privacy.ledger.history import Charge, History, booking
from hushrec.privacy.ledger.routes import chosen, counted
from hushrec.privacy.ledger.sqlite import Session
from hushrec.privacy.noise.entropy import Entropy


def commitment(entropy: Entropy | None, ledger: str) -> str:
    """The commitment that a ledger records for a checkpoint; empty for any other source of noise.

    Args:
        entropy: where the noise comes from.
        ledger: id of the ledger.

    Raises:
        CheckpointError: The checkpoint is bound to another ledger.

    Privacy: public.
    """
    return entropy.commitment_to(ledger) if isinstance(entropy, Checkpoint) else ""


def finished(history: History, plan: Plan, slot: int | None, checkpoint: str) -> Charge | None:
    """The finished charge of a plan, whose artefact is stored; None if there is none.

    Args:
        history: history of the ledger.
        plan: what was measured.
        slot: the release slot; None for the slot of the checkpoint's charge.
        checkpoint: the commitment; empty for none.

    Privacy: public.
    """
    charge = history.under(checkpoint) if slot is None else history.latest(slot)
    answers = charge and charge.finished and charge.key == plan.key(history.id, charge.slot)
    return charge if answers else None


def resumed(session: Session, plan: Plan, slot: int | None, checkpoint: str) -> Charge | None:
    """The open charge of a checkpoint. It may be used until its artefact is stored.

    Args:
        session: a transaction on the ledger.
        plan: what will be measured.
        slot: the release slot; None for any.
        checkpoint: the commitment; empty for none.

    Returns:
        The charge, or None if nothing was charged under this checkpoint.

    Raises:
        GrantError: The charge's artefact is stored already.
        CheckpointError: The charge was burnt, or is for another plan or slot.

    Privacy: public.
    """
    charge = session.history.under(checkpoint)
    if charge is None:
        return None
    if charge.finished:
        raise _finished(charge.slot)
    if charge.state == "burnt":
        raise CheckpointError(
            "the charge of this checkpoint is burnt, because its slot was charged again; delete the "
            "checkpoint's folder, and fit again"
        )
    if slot not in (None, charge.slot) or charge.key != plan.key(session.history.id, charge.slot):
        raise CheckpointError("this checkpoint was charged for another plan or slot; resume with those")
    return charge


def entered(
    session: Session, plan: Plan, slot: int | None, caveat: str, checkpoint: str, *, bounded: bool
) -> Charge:
    """Book every measurement of a plan as an entry of its own.

    Args:
        session: a transaction on the ledger.
        plan: what will be measured.
        slot: the release slot; None for the next free one.
        caveat: why its release claims no ε; empty if it does.
        checkpoint: commitment of the checkpoint that may resume under this charge; empty for none.
        bounded: whether the total ignores losses without a known bound. Only a ledger in memory does, because
            its releases claim nothing.

    Raises:
        BudgetExceeded: The ledger has less left than the plan costs.
        BudgetError: The slot is beyond the horizon.
        GrantError: The slot holds a finished release.

    Privacy: charged (every event of the plan).
    """
    history = session.history
    if slot is None:
        slot = history.free_slot()
    elif held := history.latest(slot):
        if held.finished:
            raise _finished(slot)
        session.append(kind="burnt", charge=held.number)
    spent = history.spent + plan.spent
    route = history.route if history.charges else chosen(plan.spent.bounded, history.total)
    requested = counted(spent.bounded if bounded else spent, route, history.total.delta)
    if requested > history.total.epsilon_units:
        raise BudgetExceeded(fixed_point.shown(requested), history.remaining, history.total.unit)
    if not 0 <= slot < history.horizon:
        raise BudgetError(
            f"slot {slot} is beyond the horizon of {history.horizon} releases; name an unfinished slot "
            "to charge it again, or let the ledger's owner extend the horizon"
        )
    number, key = history.head.seq + 1, plan.key(history.id, slot)
    charge = Charge(number, slot, key, plan.model, plan.domain_digest, checkpoint=checkpoint)
    for event in plan.events:
        first = {} if history.charges else {"route": route}
        session.append(**booking(charge, caveat, event), **first)
    return history.charges[number]


def stamp(session: Session, charge: Charge, file: str | None, size: int) -> dict[str, Any]:
    """What a release says about its ledger: its state when the charge was booked, as JSON values.

    Args:
        session: a transaction on the ledger.
        charge: a charge that was booked with one record per measurement.
        file: name of the ledger's file; None for one in memory.
        size: number of measurements.

    Privacy: public.
    """
    history = session.history
    head = history.at(charge.number + size - 1)
    return {
        "id": history.id,
        "file": file,
        "seq": head.seq,
        "head": head.hash,
        "slot": charge.slot,
        "horizon": history.horizon,
        "domain": charge.domain,
    }


def _finished(slot: int) -> GrantError:
    return GrantError(
        f"slot {slot} holds a finished release; get its bytes with stored(plan, {slot}), or use the next "
        "slot for a new release"
    )
