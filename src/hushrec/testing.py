"""Tools for authors of models and for experiments: verbs with seeded noise, and the search for neighbours.

Releases made with ``Seeded`` state that they are not private.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hushrec.curator.seeded import fit, randomize, year
from hushrec.privacy.noise.entropy import Seeded

if TYPE_CHECKING:
    from hushrec.data.domain import Domain
    from hushrec.models.base import Model
    from hushrec.privacy.accounting.budget import Budget

__all__ = ["Seeded", "fit", "randomize", "search_neighbours", "year"]


def search_neighbours(
    model: "Model", budget: "Budget", *, domain: "Domain | None" = None, seed: int = 0
) -> Mapping[str, float]:
    """Search for neighbouring made-up ratings that move measurements by more than the model's Δ.

    A value above 1 refutes that Δ for certain. Values up to 1 prove nothing: ``hushrec.audit.fits.audit``
    reports the smallest fault that a search would have noticed.

    Args:
        model: a model, of hushrec or of your own.
        budget: what may be spent; its unit and adjacency say who is a neighbour.
        domain: gives scale, cap and first items of the made-up ratings; by default made up too.
        seed: of the search.

    Returns:
        For each measurement, by name, the largest distance divided by its declared Δ.

    Raises:
        Leak: Neighbours are not measured in the same way, or a fit fails.

    Privacy: public; no private rating is read.
    """
    from hushrec.audit.search import leads, most, search, widen
    from hushrec.audit.worlds import World

    world, wide = World.of(domain, model.feedback), World.wide(domain, model.feedback)
    results, broad = [], World.broad(domain, model.feedback)
    for where, branch, factors in leads(model, budget, world, wide, broad):
        results.append(search(model, budget, where, seed=seed, lead=(branch, factors)))
        if where is world:
            widen(results[-1], model, budget, wide, factors=factors)
    return most(results)
