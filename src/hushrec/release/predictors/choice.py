"""Which item a user chooses next: the model by which releases of ratings rank.

Ratings are missing not at random: users choose what they expect to like, and most choose what is popular
(Marlin & Zemel 2009; Steck 2010). A list that is ordered by predicted ratings alone consists of items that
hardly anybody chooses. So items are ranked by a log-linear model of choice,

    log P(u chooses and likes i) = log n_i + 2 (b_i + z_ui)/span + constant,

with n_i the number of ratings of the item, b_i its effect and z_ui what the user's taste adds to their
rating. The release holds n_i exp(2 b_i/span), to first order n_i (1 + 2 b_i/span), as the popularity of the
item. The user's taste is estimated from which items they rated as well as from how: an item that they did
not choose counts as one that they would rate half the scale's width below its mean.

Privacy: post-processing.
"""

import numpy as np

from hushrec.arrays import Floats
from hushrec.release.artefact import Release

LIKING = 2.0
"""Logarithm of how much likelier a choice is if the rating is higher by the scale's width."""
ABSENCE = 0.5
"""How much lower a user would rate an item that they did not choose, in widths of the scale."""
LEAST_POPULARITY = 1e-3
"""Popularity of an item that no one chose or liked."""


def choice(popularity: Floats, taste: Floats, span: float) -> Floats:
    """Logarithm of how likely a user chooses and likes each item, up to a constant: log n_i + 2 z_i/span.

    Args:
        popularity: of each item, positive, shape (n_items,).
        taste: z_i, what the user's taste adds to their rating of each, in rating units, shape (n_items,).
        span: width of the scale.
    """
    return np.asarray(np.log(popularity) + LIKING / span * taste, dtype=np.float64)


def popularity_and_span(release: Release) -> tuple[Floats, float]:
    """Popularity of every item, shape (n_items,), and the width of the scale."""
    lo, hi, _ = release.require_scale()
    return release.tensors["item_popularity"].astype(np.float64), hi - lo
