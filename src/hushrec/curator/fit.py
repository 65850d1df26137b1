"""The two verbs: plan what a fit will measure, and fit."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from hushrec.curator.accounts import account_of, spending
from hushrec.curator.authors import signed
from hushrec.curator.memory import require_memory
from hushrec.curator.statements import describe, from_data, not_private
from hushrec.data.domain import Domain
from hushrec.data.packed.blocks import Blocks
from hushrec.data.ratings import Ratings
from hushrec.errors import BudgetUnsupported, CheckpointError, ConfigError, DataError
from hushrec.local.released import ReleasedData
from hushrec.models.base import Model
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan, version
from hushrec.privacy.checkpoint.checkpoint import Checkpoint
from hushrec.privacy.exact_grant import unprotected
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Entropy
from hushrec.release.artefact import Release
from hushrec.release.statement import Statement

_ANY = -1  # stands for the slot of None: the checkpoint finds its charge by its commitment


def plan(config: Model, domain: Domain, budget: Budget) -> Plan:
    """What a fit will measure, with how much noise, and what that costs. Sees no data.

    Args:
        config: a model's settings.
        domain: the public frame.
        budget: what may be spent.

    Privacy: public.
    """
    return signed(config.plan(domain, budget), config, domain)


def fit(
    ratings: Ratings | Blocks | ReleasedData,
    config: Model,
    budget: Budget | None = None,
    *,
    ledger: Ledger | str | Path | None = None,
    slot: int | None = None,
    entropy: Entropy | None = None,
    checkpoint: str | Path | None = None,
) -> Release:
    """Charge the ledger, measure under noise, and make a release.

    A fit that is stopped before its release is stored has spent its charge: noise is never drawn twice under
    one. With a checkpoint the same call goes on where it stopped, under the same charge and with the same
    noise, whether it was killed, interrupted or ended by an error; only deleting the folder gives it up.

    Args:
        ratings: private ratings, in memory or, for a model that goes over them so, in block files; or a
            released data set, which was paid for: then without budget and ledger, and the release says what
            the data set says.
        config: a model's settings.
        budget: what may be spent; None gives the non-private baseline, whose statement says so.
        ledger: the population's ledger, or the path of one that ``Ledger.create`` started. Only seeded
            experiments and baselines do without.
        slot: release slot. None always charges for the next free one; a slot that was released before gives
            back the same bytes and charges nothing.
        entropy: the operating system's by default; ``hushrec.testing.Seeded`` for experiments and tests,
            whose releases are not private.
        checkpoint: a folder of its own, on a local disk, from which this fit goes on if it is stopped. It is
            as private as the ratings, and is removed when the release is made. Without one nothing is kept.

    Returns:
        The release.

    Raises:
        BudgetExceeded: The ledger has less left than the plan costs.
        MemoryExceeded: This machine has no room for the fit, which ``plan`` says beforehand. Nothing is
            charged, unless a note to the error says what is.
        LedgerError: There is no ledger, it cannot be relied on, or it would be a second one of the same
            people.
        CheckpointError: The checkpoint is in use, damaged, or of a fit of other ratings, settings or ledger;
            or there is ``entropy`` beside it; or ``entropy`` is one.
        BudgetUnsupported: The model states no such guarantee, or cannot give people the ε they ask for; or
            there is a budget for a released data set.
        DataError: The model cannot go over ratings in blocks, a block is damaged, or the domain has classes
            and the ratings do not say who is in which.

    Privacy: charged (every event of the plan).
    """
    if checkpoint is not None and entropy is not None:
        raise CheckpointError("a checkpoint has a noise key of its own; leave out checkpoint or entropy")
    if isinstance(entropy, Checkpoint):
        raise CheckpointError(
            "a fit binds its checkpoint to its ratings, plan and ledger itself: close this one, and pass its "
            "folder as checkpoint= in place of entropy="
        )
    if not isinstance(config, Model):
        raise ConfigError(
            f"{type(config).__name__} is no model; to release data, call hushrec.release_data with it"
        )
    published: Statement | None = None
    if isinstance(ratings, ReleasedData):
        if budget is not None or ledger is not None or slot is not None:
            raise BudgetUnsupported(
                "a released data set is public, and what is made from it costs nothing: leave out budget, "
                "ledger and slot"
            )
        published, ratings = ratings.statement, ratings.ratings
    config.require_heed(budget, asks=ratings.asks)
    if ratings.domain.levels and not ratings.asks:
        raise DataError(
            "the domain declares classes of privacy, but the ratings have no column epsilon that says who is "
            "in which; name it with columns=, or declare a domain without levels"
        )
    if isinstance(ratings, Blocks) and not config.blockwise:
        raise DataError(f"{type(config).__name__} needs all ratings in memory; load them with hushrec.load")
    if isinstance(ratings, Blocks):
        ratings.verify()  # before anything is charged that a damaged file would waste
    ratings = cast(Ratings, ratings)  # those that go over blocks take either
    if budget is None:
        with _going_on(checkpoint, ratings, _named(config), "") as kept:
            stand_in = Budget(epsilon=1.0, delta=1e-9, unit="rating", adjacency="add-remove")
            release = config.release(ratings, stand_in, unprotected(kept))
            return from_data(release, published) if published else not_private(release, config, stand_in)
    planned = plan(config, ratings.domain, budget)
    account = account_of(ledger, planned, entropy)
    place = _ANY if slot is None else slot
    with _going_on(checkpoint, ratings, planned.key(account.id, place), account.id) as kept:
        if (stored := account.stored(planned, slot, kept)) is not None:
            release = Release.from_bytes(stored)
            account.handed_out(planned, slot, kept)
            return release
        return _charged(ratings, config, planned, account, slot, kept or entropy)


@contextmanager
def _going_on(
    folder: str | Path | None, ratings: Ratings, settings: str, ledger: str
) -> Iterator[Checkpoint | None]:
    """The checkpoint of this very fit, if it is to have one; forgotten once the release is made."""
    if folder is None:
        yield None
        return
    with Checkpoint(folder) as checkpoint:
        checkpoint.bind({"ratings": ratings.digest(), "settings (slot and version too)": settings}, ledger)
        yield checkpoint
        checkpoint.forget()


def _named(config: Model) -> str:
    return json.dumps([type(config).__name__, config.settings(), version()], sort_keys=True)


def _charged(
    ratings: Ratings,
    config: Model,
    planned: Plan,
    account: Ledger,
    slot: int | None,
    entropy: Entropy | None,
) -> Release:
    budget = planned.budget
    require_memory(planned.model, config.footprint(ratings.domain, budget), ratings)
    grant = account.charge(planned, slot, entropy)
    population = ratings.capped(ratings.domain.cap) if budget.unit == "user" else ratings
    with spending(account, grant, planned):
        made = config.release(population, budget, grant)
        release = describe(made, config, planned, grant, ratings.domain, personal=ratings.asks)
        account.sampled(grant, release.to_bytes())
    account.published(grant)
    return release
