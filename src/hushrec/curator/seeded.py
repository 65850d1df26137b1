"""The charging verbs with seeded noise, for experiments and tests: their releases claim nothing."""

from pathlib import Path

from hushrec.curator.charging import Made, Request, Resolve
from hushrec.curator.fit import Spending, fitting
from hushrec.curator.randomize import randomizing
from hushrec.data.people import People
from hushrec.errors import ConfigError
from hushrec.models.base import Model
from hushrec.models.du_leighton_patel.method import Method
from hushrec.models.du_leighton_patel.released_data import ReleasedData
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Entropy
from hushrec.progress import Progress
from hushrec.release.artefact import Release


def fit(
    data: People,
    model: Model | None = None,
    budget: Spending | None = None,
    *,
    entropy: Entropy,
    ledger: Ledger | str | Path | None = None,
    series: str | Path | None = None,
    release_index: int | None = None,
    prior: Release | None = None,
    progress: Progress | None = None,
) -> Release:
    """Make a seeded experiment: as ``hushrec.fit``, but its release states that it is not private.

    Args:
        data, model, budget, series, release_index, prior, progress: as for ``hushrec.fit``.
        entropy: ``Seeded``, or another source of keys that is not private.
        ledger: the ledger to charge; by default one in memory that allows the budget.

    Privacy: public only if the data are: the seed tells the noise.
    """
    resolve = fitting(model, budget, prior, series)
    return _request(resolve, entropy, ledger, release_index).make(data, progress)


def randomize(
    data: People,
    method: Method,
    budget: Budget | None = None,
    *,
    entropy: Entropy,
    ledger: Ledger | str | Path | None = None,
    release_index: int | None = None,
) -> ReleasedData:
    """Make a seeded experiment: as ``hushrec.randomize``, but its data set states that it is not private.

    Args:
        data, method, budget, release_index: as for ``hushrec.randomize``.
        entropy, ledger: as for ``fit``.

    Privacy: public only if the data are: the seed tells the noise.
    """
    return _request(randomizing(method, budget), entropy, ledger, release_index).make(data)


def _request(
    resolve: Resolve[Made], entropy: Entropy, ledger: Ledger | str | Path | None, release_index: int | None
) -> Request[Made]:
    if entropy.private:
        raise ConfigError(
            "a seeded experiment takes noise that can be repeated: pass entropy=Seeded(0); for a private "
            "release, call the verb of hushrec itself"
        )
    return Request(resolve, ledger=ledger, release_index=release_index, checkpoint=False, entropy=entropy)
