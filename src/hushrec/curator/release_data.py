"""The verb for owners who publish data: charge the ledger, randomize every row, release the table."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hushrec.arrays import Bytes, Ints, Ints32
from hushrec.curator.acceptance import admit, pays
from hushrec.curator.accounts import account_of, spending
from hushrec.curator.authors import signed
from hushrec.curator.room import data_size, reserved_beside
from hushrec.curator.shares import naming_share
from hushrec.curator.statements import describe_data
from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.errors import CheckpointError, DataError
from hushrec.local.dataset_files import anonymous_ids
from hushrec.local.method import Method
from hushrec.local.released import ReleasedData, public_domain
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.checkpoint.checkpoint import Checkpoint
from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.local.response import ResponseRandomizer
from hushrec.privacy.local.rows import Rows
from hushrec.privacy.local.substitution import SubstitutionRandomizer
from hushrec.privacy.noise.entropy import Entropy


def release_data(
    ratings: Ratings,
    method: Method,
    budget: Budget | None = None,
    *,
    ledger: Ledger | str | Path | None = None,
    release_index: int | None = None,
    entropy: Entropy | None = None,
    accept_dropped: bool = False,
    accept_users: bool = False,
    beyond_share: bool = False,
    accept_weak: bool = False,
) -> ReleasedData:
    """Charge the ledger, randomize every user's row by itself, and release the rows.

    The same call serves a curator, who holds all ratings, and a device, which holds one user's ratings,
    charges its own ledger and reports. Collecting the reports is post-processing: ``ReleasedData.collect``.

    Rows get new numbers, in random order. With a roster, everyone on it has a row, whether they rated or not.

    Args:
        ratings: private ratings.
        method: ``RandomizedResponse`` or ``DistanceBased``.
        budget: what may be spent; ``DistanceBased`` needs none, because its settings decide its cost.
        ledger: the population's ledger, or its path, as for ``fit``.
        release_index: release index, as for ``fit``.
        entropy: as for ``fit``.
        accept_dropped: as for ``fit``. A device, whose roster is its one user, never asks for it: whether it
            reports must not depend on what its user rated.
        accept_users: as for ``fit``.
        beyond_share: as for ``fit``.
        accept_weak: as for ``fit``. Rows that are still of use mostly cost an ε in the hundreds.

    Raises:
        BudgetExceeded: The ledger has less left than the plan costs.
        ShareExceeded, WeakBudget: As for ``fit``.
        MemoryExceeded: As for ``fit``.
        LedgerError: As for ``fit``.
        RecordsDropped, UsersExceeded: As for ``fit``.
        BudgetUnsupported: The method does not support the budget.
        DataError: The ratings carry per-user ε, which no method supports; or they are not in memory.
        CheckpointError: ``entropy`` is a checkpoint.
        ReleaseError: The release's data set was too large for the ledger to keep.

    Privacy: charged (the one event of the plan).
    """
    if not isinstance(ratings, Ratings) or not isinstance(method, Method):
        raise DataError(
            "release_data takes ratings in memory, from hushrec.load, and RandomizedResponse or "
            "DistanceBased; to train a model, call hushrec.fit"
        )
    if isinstance(entropy, Checkpoint):
        raise CheckpointError("release_data cannot resume from a checkpoint; leave out entropy")
    if ratings.asks or ratings.domain.privacy_classes:
        raise DataError(
            "these ratings carry per-user ε, which a released data set does not support; drop the column "
            "epsilon, and declare a domain without privacy classes"
        )
    planned = signed(method.plan(ratings.domain, budget), method, ratings.domain)
    account = account_of(ledger, planned, entropy)
    if release_index is not None and (stored := account.stored(planned, release_index)) is not None:
        data = ReleasedData.from_bytes(stored)
        account.handed_out(planned, release_index)
        return replace(data, repeated=True)
    admit(
        ratings,
        planned.model,
        method.footprint(planned, ratings.domain),
        spends=pays(account, entropy) and not on_device(ratings.domain),
        accept_dropped=accept_dropped,
        accept_users=accept_users,
    )
    randomizer = method.randomizer(
        planned, method.cap_contributions(ratings)
    )  # which may also run out of memory
    with reserved_beside(account, data_size(planned, ratings), private=True) as room:
        with naming_share(account, release_index, lambda less: method.plan(ratings.domain, less)):
            grant = account.charge(
                planned, release_index, entropy, beyond_share=beyond_share, accept_weak=accept_weak
            )
        with spending(account, grant, planned):
            data = reported(ratings, method, planned, grant, randomizer).data
            if room:
                room.keep(0)
            account.sampled(grant, data.for_ledger())
        account.published(grant)
    return data


def on_device(domain: Domain) -> bool:
    """Whether a domain's roster is one user: their device reports, and others see whether it does."""
    return domain.n_users == 1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reported:
    """A data set, and which row belongs to whom.

    Attributes:
        rows: row in ``data.ratings`` of each user of the ratings (of the roster, if there is one); −1 if the
            row came out empty. Shape (n_people,).

    Privacy: ``data`` is public, ``rows`` private.
    """

    data: ReleasedData
    rows: Ints


def reported(
    ratings: Ratings,
    method: Method,
    planned: Plan,
    grant: Grant,
    randomizer: ResponseRandomizer | SubstitutionRandomizer | None = None,
) -> Reported:
    """Randomize every row through a grant, renumber the rows, and write the statement.

    Args:
        randomizer: the law of the rows, if it was made before.

    Privacy: charged (the one event of the plan).
    """
    kept = method.cap_contributions(ratings)
    order = grant.order(kept.domain.n_users or kept.n_users)
    private = rows_in(order, planned.events[0].name, kept)
    shuffled = grant.randomize(private, randomizer or method.randomizer(planned, kept))
    answers = shuffled.indptr, shuffled.columns, shuffled.marks
    given, rows = numbered(answers, order, ratings.domain)
    data = ReleasedData(
        method=type(method).__name__,
        settings=dict(method.facts(planned, ratings.domain)),
        ratings=given,
        n_people=order.size,
        statement=describe_data(method, planned, grant, ratings.domain),
    )
    return Reported(data, rows)


def rows_in(order: Ints, name: str, ratings: Ratings) -> Rows:
    """All rows in a given order, under the name of their measurement. Privacy: private."""
    indptr = ratings.roster_indptr() if ratings.domain.users else ratings.indptr
    counts = np.diff(indptr)[order]
    starts = np.concatenate([[0], np.cumsum(counts)])
    places = np.repeat(indptr[:-1][order] - starts[:-1], counts) + np.arange(starts[-1])
    return Rows(name, ratings.domain.n_items, starts, ratings.items[places], ratings.steps[places])


def numbered(answers: tuple[Ints, Ints32, Bytes], order: Ints, domain: Domain) -> tuple[Ratings, Ints]:
    """The reported rows as ratings of numbered users, without empty rows; and whose they are.

    Args:
        answers: indptr, columns and marks of the reported rows.
        order: in which the users' rows were reported.

    Returns:
        The ratings, and ``Reported.rows``.

    Privacy: post-processing, but for whose the rows are, which is private.
    """
    indptr, columns, marks = answers
    listed, n = np.diff(indptr) > 0, order.size
    rows = np.full(n, -1)
    rows[order[listed]] = np.arange(np.count_nonzero(listed))
    frame = public_domain(domain.items, tuple(domain.scale), n)
    users = anonymous_ids(n, np.flatnonzero(listed) + 1)
    return Ratings(frame, users, np.concatenate([indptr[:1], indptr[1:][listed]]), columns, marks), rows
