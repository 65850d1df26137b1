"""The verb for owners who publish data: charge the ledger, randomize every row, release the table."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hushrec.arrays import Bytes, Ints, Ints32
from hushrec.curator.admit import Accept, require_loaded, require_rows
from hushrec.curator.authors import name_authors
from hushrec.curator.charging import Recipe, charged
from hushrec.curator.statements import describe_data
from hushrec.curator.stopped_fits import stopped_fits
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.data.people import People, PublicFacts
from hushrec.errors import DataError
from hushrec.models.du_leighton_patel.method import Law, Method, randomize_rows
from hushrec.models.du_leighton_patel.released_data import ReleasedData, anonymous_ids, public_domain
from hushrec.models.du_leighton_patel.rows import Rows
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger.ledger import Ledger


def randomize(
    data: AnyPeople,
    method: Method,
    budget: Budget | None = None,
    *,
    ledger: Ledger | str | Path,
    sums: str | Path | None = None,
    accept: Accept | Collection[Accept] = (),
) -> ReleasedData:
    """Charge the ledger, randomize each user's row independently, and release the rows.

    The same call serves a curator, who holds all ratings, and a device, which holds one user's ratings,
    charges its own ledger and reports. Collecting the reports is post-processing: ``ReleasedData.collect``.

    Rows get new numbers, in random order. With a roster, everyone on it has a row, whether they rated or not.

    Args:
        data: private ratings, which are brought into this machine's memory.
        method: ``RandomizedResponse`` or ``DistanceBased``.
        budget: what may be spent; ``DistanceBased`` needs none, because its settings decide its cost.
        ledger, sums: as for ``fit``.
        accept: as for ``fit``. A device, whose roster is its one user, is not refused for its records:
            whether it reports must not depend on what its user rated. Rows that are still of use mostly cost
            an ε in the hundreds (*weak*).

    Raises:
        BudgetUnsupported: The method does not support the budget.
        DataError: The ratings carry per-user ε, which no method supports; or they are in Spark.
        HushrecError: As for ``fit``.

    Privacy: charged (the one measurement of the plan).
    """
    require_loaded(data)
    with stopped_fits(ledger, sums) as stopped:
        return charged(data, data_recipe(data.facts, method, budget), stopped, accept=accept)


def data_plan(domain: Domain, method: Method, budget: Budget | None) -> Plan:
    """Plan ``randomize``. Reads no data."""
    return name_authors(method.plan(domain, budget), method, domain)


def data_recipe(facts: PublicFacts, method: Method, budget: Budget | None) -> Recipe[ReleasedData]:
    """Plan a data set from public facts, with the arguments of ``randomize``."""
    if not isinstance(method, Method):
        raise DataError(
            "randomize takes RandomizedResponse() or DistanceBased(...); to train a model, call hushrec.fit"
        )
    require_rows(facts, type(method).__name__)
    if facts.has_personal_epsilon or facts.domain.personal_epsilon:
        raise DataError(
            "these ratings carry per-user ε, which a released data set does not support; drop the column "
            "personal_epsilon, and declare a domain without privacy classes"
        )
    plan = data_plan(facts.domain, method, budget)

    def prepare(people: AnyPeople) -> Callable[[Grant], ReleasedData]:
        """Gather the rows and make the law of what replaces them, which may run out of memory."""
        rows = people.gathered().require_ratings(by=type(method).__name__)
        law = method.randomizer(plan, method.cap_contributions(rows))
        return lambda grant: report_rows(rows, method, plan, grant, law).data

    return Recipe(
        plan=plan,
        prepare=prepare,
        content=ReleasedData.for_ledger,
        read=lambda content: replace(ReleasedData.from_bytes(content), repeated=True),
        footprint=replace(method.footprint(plan, facts.domain), gathered=True),
        is_device_report=facts.domain.n_users == 1,
    )


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


def report_rows(
    ratings: People,
    method: Method,
    plan: Plan,
    grant: Grant,
    law: Law | None = None,
) -> Reported:
    """Randomize every row through a grant, renumber the rows, and write the statement.

    Args:
        law: that of the rows, if it was made before.

    Privacy: charged (the one measurement of the plan).
    """
    kept = method.cap_contributions(ratings)
    # A random order, drawn through the grant: the place of a row would say whose it is.
    order = grant.order(kept.domain.n_users or kept.n_users)
    private = rows_in(order, plan.noisy[0].name, kept)
    answers = randomize_rows(grant, private, law or method.randomizer(plan, kept))
    randomized, rows = number_rows(answers, order, ratings.domain)
    data = ReleasedData(
        method=type(method).__name__,
        settings=dict(method.facts(plan, ratings.domain)),
        ratings=randomized,
        n_people=order.size,
        statement=describe_data(method, plan, grant, ratings.domain),
    )
    return Reported(data, rows)


def rows_in(order: Ints, name: str, ratings: People) -> Rows:
    """All rows in a given order, under the name of their measurement. Privacy: private."""
    assert ratings.values is not None
    indptr = ratings.roster_indptr() if ratings.domain.users else ratings.indptr
    counts = np.diff(indptr)[order]
    starts = np.concatenate([[0], np.cumsum(counts)])
    # Entry p of the row that comes k-th is entry indptr[order[k]] + p − starts[k] of the ratings.
    places = np.repeat(indptr[:-1][order] - starts[:-1], counts) + np.arange(starts[-1])
    return Rows(name, ratings.domain.n_items, starts, ratings.items[places], ratings.values[places])


def number_rows(answers: tuple[Ints, Ints32, Bytes], order: Ints, domain: Domain) -> tuple[People, Ints]:
    """The reported rows as ratings of numbered users, without empty rows; and whose they are.

    Args:
        answers: indptr, columns and marks of the reported rows.
        order: in which the users' rows were reported.

    Returns:
        The ratings, and ``Reported.rows``.

    Privacy: post-processing; only the owners of the rows are private.
    """
    indptr, columns, marks = answers
    listed, n = np.diff(indptr) > 0, order.size
    rows = np.full(n, -1)
    # Rows that came out empty are not in the table, but their numbers stay taken.
    rows[order[listed]] = np.arange(np.count_nonzero(listed))
    frame = public_domain(domain.items, tuple(domain.scale), n)
    users = anonymous_ids(n, np.flatnonzero(listed) + 1)
    return People(frame, users, np.concatenate([indptr[:1], indptr[1:][listed]]), columns, marks), rows
