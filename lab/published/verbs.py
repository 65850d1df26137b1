"""Two verbs of reproduction: fit a published model, and release rows by a published method.

Their statements say NOT PRIVATE. What the noise costs is for ``cost`` to say.
"""

from dataclasses import replace

from hushrec.curator.randomize import Reported, numbered, rows_in
from hushrec.curator.statements import unprotected
from hushrec.data.blocks import Blocks
from hushrec.data.feedback import Ratings
from hushrec.errors import BudgetUnsupported
from hushrec.models.du_leighton_patel.released_data import ReleasedData
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.noise.entropy import Seeded
from hushrec.release.artefact import Release
from lab.published.paper import PublishedMethod, PublishedModel
from lab.published.paper_run import PaperRun, answers, order

REPRODUCED = "unprotected.published"
"""The caveat of every reproduction."""


def fit(data: Ratings | Blocks, form: PublishedModel, budget: Budget, seed: int) -> Release:
    """Fit a model with the noise that its paper prints; nothing is charged.

    Args:
        data: the ratings.
        form: the model.
        budget: the ε that the paper claims, with its δ, unit and adjacency.
        seed: of the noise.

    Raises:
        BudgetUnsupported: The paper does not have this unit, adjacency or noise, or an ε for each user.
        DataError: The model learns from another kind of feedback.
    """
    if data.has_personal_epsilon:
        raise BudgetUnsupported(
            "these ratings carry per-user ε, which no published form supports; drop personal_epsilon"
        )
    domain = data.domain
    run = PaperRun.of(form, domain, budget, seed)
    made = form.fit(data.capped(domain.max_per_user) if budget.unit == "user" else data, run)
    statement = unprotected(REPRODUCED, form, budget, made.statement.diagnostics)
    return replace(made, titles=domain.titles or (), features=domain.features or {}, statement=statement)


def randomize(ratings: Ratings, method: PublishedMethod, budget: Budget, seed: int | Seeded) -> Reported:
    """Randomize every row by the law that its paper prints; nothing is charged.

    Args:
        ratings: the ratings.
        method: the method.
        budget: the ε that the paper claims; where it states none, it buys nothing.
        seed: of the randomness, or its keys.

    Returns:
        The data set, and which of its rows is whose.

    Raises:
        BudgetUnsupported: The paper does not have this unit or adjacency.
    """
    domain = ratings.domain
    (name,) = method.printed(domain, budget)
    keys = seed if isinstance(seed, Seeded) else Seeded(seed)
    kept = method.cap_contributions(ratings)
    law, places = method.law(kept, budget), order(kept.domain.n_users or kept.n_users, keys)
    given, rows = numbered(answers(rows_in(places, name, kept), law, keys), places, domain)
    data = ReleasedData(
        method=type(method).__name__,
        settings=dict(method.known(domain, budget)),
        ratings=given,
        n_people=places.size,
        statement=unprotected(REPRODUCED, method, budget),
    )
    return Reported(data, rows)
