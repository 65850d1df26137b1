"""Similar items, without noise: for data that was randomized when it was released, and as a baseline."""

from typing import Literal

import numpy as np
from pydantic import Field

from hushrec.data.ratings import Ratings
from hushrec.errors import ConfigError
from hushrec.kernels.neighbours.similarities import similarities
from hushrec.models.noiseless import Noiseless
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.grant import Grant
from hushrec.release.artefact import DISTANCES, LARGEST_COUNT, Release
from hushrec.release.statement import placeholder_statement

_LARGEST = 40_000  # 3.2 GB of similarities


class ItemKNN(Noiseless):
    """Ratings of the K most similar items that a person rated (Sarwar et al. 2001, §3.2.1).

    mean_i + Σ_j s_ij (r_j − mean_j) / Σ_j s_ij over those with s_ij > 0. An item is the vector of its
    ratings, 0 where a person did not rate it.

    Args:
        neighbours: K.
        distance: s_ij is for ``squared`` 1/(1 + ‖a − b‖²), for ``cosine`` the cosine of the angle, for
            ``pearson`` the same after subtracting from an item's ratings their mean, missing ones staying 0.

    Privacy: private. Of a data set that was released before, post-processing.
    """

    neighbours: int = Field(default=20, ge=1, le=LARGEST_COUNT)
    distance: Literal["squared", "cosine", "pearson"] = "pearson"

    def release(self, ratings: Ratings, budget: Budget, grant: Grant) -> Release:
        """Every item's mean, the mean of all where there is none, and all similarities.

        Raises:
            ConfigError: The catalogue is too large for a similarity of every two items.

        Privacy: private, unless the ratings are public.
        """
        domain = ratings.domain
        if domain.n_items > _LARGEST:
            raise ConfigError(f"ItemKNN takes at most {_LARGEST:,} items; choose UserKNN or a factor model")
        lo, hi, step = domain.scale
        values = ratings.values()
        counts = np.bincount(ratings.items, minlength=domain.n_items)
        means = np.full(domain.n_items, values.mean() if len(values) else domain.scale.mid)
        np.divide(np.bincount(ratings.items, values, domain.n_items), counts, out=means, where=counts > 0)
        similarity = similarities(
            ratings.indptr,
            ratings.items,
            values.astype(np.float32),
            domain.n_items,
            DISTANCES.index(self.distance),
        )
        return Release(
            model=type(self).__name__,
            config=self.settings(),
            kind="item neighbours",
            items=domain.items,
            scale=(lo, hi, step),
            constants={"neighbours": float(self.neighbours)},
            tensors={"item_means": means.astype(np.float32), "similarity": similarity},
            statement=placeholder_statement(),
        )
