"""A small sparse matrix for the grant: what is in it, and changes to it that make it another or none."""

import numpy as np

from hushrec.privacy.noisy import Cells

SHAPE, STEP = (40, 30), 2**-4


def matrix(filled: float = 0.2, **changes: object) -> Cells:
    """A matrix of ``SHAPE`` with this share of its cells, in steps, but for what is named."""
    generator = np.random.default_rng(0)
    there = generator.random(SHAPE) < filled
    facts: dict[str, object] = {
        "shape": SHAPE,
        "indptr": np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64),
        "columns": np.nonzero(there)[1].astype(np.int32),
        "values": generator.integers(-16, 17, there.sum()),
        "threshold": 20,
        "limit": 32,
    }
    return Cells(**(facts | changes))  # type: ignore[arg-type]
