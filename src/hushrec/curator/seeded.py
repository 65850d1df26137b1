"""The charging verbs with seeded noise, for experiments and tests: their releases claim nothing."""

from pathlib import Path

from hushrec.curator.admit import require_loaded
from hushrec.curator.charging import Made, Recipe, charged
from hushrec.curator.fit import Spending, recipe
from hushrec.curator.randomize import data_recipe
from hushrec.curator.stopped_fits import StoppedFits, stopped_fits
from hushrec.data.people import People
from hushrec.errors import ConfigError
from hushrec.models.base import Model
from hushrec.models.du_leighton_patel.method import Method
from hushrec.models.du_leighton_patel.released_data import ReleasedData
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Entropy
from hushrec.progress import Progress, telling
from hushrec.release.artefact import Release


def fit(
    data: People,
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
        return _charged(data, recipe(data.facts, model, budget, prior, stopped), stopped, entropy)


def randomize(
    data: People,
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
        return _charged(data, data_recipe(data.facts, method, budget), stopped, entropy)


def _charged(people: People, recipe: Recipe[Made], stopped: StoppedFits, entropy: Entropy) -> Made:
    if entropy.private:
        raise ConfigError(
            "a seeded experiment takes noise that can be repeated: pass entropy=Seeded(0); for a private "
            "release, call the verb of hushrec itself"
        )

    def start() -> Ledger:
        return Ledger.ephemeral(recipe.plan.budget)

    return charged(people, recipe, stopped, entropy=entropy, start=start)
