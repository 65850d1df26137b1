"""Similar items, without noise: for released data that was randomized before, and as a baseline."""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from hushrec.data.anywhere import AnyPeople
from hushrec.errors import ConfigError
from hushrec.estimation.shrinkage import known_popularity
from hushrec.models.base import Noiseless
from hushrec.privacy.grant import Measures
from hushrec.release.artefact import Release
from hushrec.release.kinds import DISTANCES, LARGEST_COUNT
from hushrec.release.statement import placeholder_statement
from hushrec.sums.kernels.neighbours import similarities

_LARGEST = 40_000  # chosen by hand: its packed triangle of float32 takes 3.2 GB


class ItemKNN(Noiseless):
    """Ratings of the K most similar items that a user rated (Sarwar et al. 2001, §3.2.1).

    r̂_ui = mean_i + Σ_j s_ij (r_uj − mean_j) / Σ_j s_ij over the K items j with the largest s_ij > 0 that the
    user rated. An item is the vector of its ratings, 0 where a user did not rate it.

    Privacy: private. Of a data set that was released before, post-processing.
    """

    glance: ClassVar = {
        "measures": "everything exactly: for released data",
        "predicts by": "the user's own ratings of the items most similar in released data: "
        "not private on its own",
        "noise": "none",
        "lists users": "no",
        "paper": "Sarwar et al. 2001, §3.2.1",
        "page": "not_private",
    }
    n_neighbours: int = Field(default=20, ge=1, le=LARGEST_COUNT)
    """K."""
    distance: Literal["squared", "cosine", "pearson"] = "pearson"
    """s_ij is 1/(1 + ‖a − b‖²) for ``squared``, the cosine of the angle for ``cosine``, and for
    ``pearson`` the cosine after an item's mean is subtracted from its ratings (missing ones stay 0).
    """

    def fit(self, people: AnyPeople, run: Measures) -> Release:
        """Compute the mean of every item (the overall mean for unrated items), and all similarities.

        Raises:
            ConfigError: The catalogue is too large for a matrix of similarities.

        Privacy: private, unless the ratings are public.
        """
        ratings = people.gathered()
        domain = ratings.domain
        if domain.n_items > _LARGEST:
            raise ConfigError(f"ItemKNN takes at most {_LARGEST:,} items; choose UserKNN or a factor model")
        lo, hi, step = domain.scale
        values = ratings.numbers()
        counts = np.bincount(ratings.items, minlength=domain.n_items)
        means = np.full(domain.n_items, values.mean() if len(values) else domain.scale.mid)
        # An item that no one rated keeps the overall mean.
        np.divide(np.bincount(ratings.items, values, domain.n_items), counts, out=means, where=counts > 0)
        popularity = known_popularity(counts.astype(np.float64), means - domain.scale.mid, domain.scale.span)
        similarity = similarities(
            ratings.indptr,
            ratings.items,
            values.astype(np.float32),
            domain.n_items,
            DISTANCES.index(self.distance),
        )
        return Release(
            model=type(self).__name__,
            settings=self.settings(),
            kind="item neighbours",
            items=domain.items,
            scale=(lo, hi, step),
            constants={"neighbours": float(self.n_neighbours)},
            tensors={
                "item_means": means.astype(np.float32),
                "item_popularity": popularity.astype(np.float32),
                "similarity": similarity,
            },
            statement=placeholder_statement(),
        )
