"""The charging verbs with seeded noise, for experiments and tests: their releases claim nothing."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from hushrec.curator.admit import require_loaded
from hushrec.curator.charging import Made, Recipe, charged
from hushrec.curator.fit import Spending, make_release, recipe
from hushrec.curator.public_items import item_prior
from hushrec.curator.randomize import data_recipe
from hushrec.curator.stopped_fits import StoppedFits, stopped_fits
from hushrec.data.anywhere import AnyPeople
from hushrec.errors import ConfigError
from hushrec.models.base import Model, PrivateModel
from hushrec.models.du_leighton_patel.method import Method
from hushrec.models.du_leighton_patel.released_data import ReleasedData
from hushrec.privacy.accounting.accountant import budget_of, largest_cost
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.year import Year
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Entropy
from hushrec.progress import Progress, telling
from hushrec.release.artefact import Release


def fit(
    data: AnyPeople,
    model: Model | None = None,
    budget: Spending | None = None,
    *,
    entropy: Entropy,
    ledger: Ledger | str | Path | None = None,
    prior: Release | None = None,
    progress: Progress | None = None,
) -> Release:
    """Make a seeded experiment: as ``hushrec.fit``, but its release states that it is not private.

    Args:
        data, model, budget, prior, progress: as for ``hushrec.fit``.
        entropy: ``Seeded``, or another source of keys that is not private.
        ledger: the ledger to charge; by default one in memory that allows the budget.

    Privacy: public only if the data are: the seed tells the noise.
    """
    require_loaded(data)
    with telling(progress), stopped_fits(ledger, None) as stopped:
        return _make(data, recipe(data.facts, model, budget, prior, stopped), stopped, entropy)


def year(
    people: Iterable[AnyPeople],
    model: PrivateModel,
    total: Budget,
    shares: Sequence[float],
    *,
    entropy: Callable[[int], Entropy],
    prior: Release | None = None,
) -> Iterator[Release]:
    """Make the seeded releases of a year, each of which takes over the sums of those before.

    Args:
        people: of each release.
        model: the settings of all of them.
        total: what they may cost together; it shapes the sums.
        shares: the part of it, of μ² or at δ = 0 of ε, that each costs.
        entropy: gives the seeded noise of each release, by its index.
        prior: as for ``hushrec.fit``.

    Privacy: public only if the data are: the seed tells the noise.
    """
    whole, ledger = largest_cost(total), Ledger.ephemeral(total)
    earlier, before, spent = None, tuple[int, ...](), 0
    for index, (data, share) in enumerate(zip(people, shares, strict=True)):
        domain = data.domain
        # What ``fit`` would plan, but with the shares that an experiment asks for.
        of_year = Year(total, model.sums_digest(domain, total), before, spent)
        plan = model.plan_in_year(domain, budget_of(int(whole * share), total), of_year)
        grant = ledger.charge(plan, entropy=entropy(index))
        yield make_release(data, model, plan, item_prior(model, domain, prior), earlier, grant)
        ledger.finish(grant, b"")
        earlier, before, spent = grant.later, (*before, index), ledger.state().spent


def randomize(
    data: AnyPeople,
    method: Method,
    budget: Budget | None = None,
    *,
    entropy: Entropy,
    ledger: Ledger | str | Path | None = None,
) -> ReleasedData:
    """Make a seeded experiment: as ``hushrec.randomize``, but its data set states that it is not private.

    Args:
        data, method, budget: as for ``hushrec.randomize``.
        entropy, ledger: as for ``fit``.

    Privacy: public only if the data are: the seed tells the noise.
    """
    require_loaded(data)
    with stopped_fits(ledger, None) as stopped:
        return _make(data, data_recipe(data.facts, method, budget), stopped, entropy)


def _make(people: AnyPeople, recipe: Recipe[Made], stopped: StoppedFits, entropy: Entropy) -> Made:
    if entropy.private:
        raise ConfigError(
            "a seeded experiment takes noise that can be repeated: pass entropy=Seeded(0); for a private "
            "release, call the verb of hushrec itself"
        )

    def start() -> Ledger:
        return Ledger.ephemeral(recipe.plan.budget)

    return charged(people, recipe, stopped, entropy=entropy, start=start)
