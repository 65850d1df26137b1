"""A small sparse matrix for the door: what is in it, and changes to it that make it another or none."""

import numpy as np

from hushrec.privacy.bounded import BoundedMatrix

SHAPE, STEP = (40, 30), 2**-4


def matrix(filled: float = 0.2, **changes: object) -> BoundedMatrix:
    """A matrix of ``SHAPE`` on the grid of ``STEP`` with this share of its cells, but for what is named."""
    generator = np.random.default_rng(0)
    there = generator.random(SHAPE) < filled
    facts: dict[str, object] = {
        "name": "cells",
        "shape": SHAPE,
        "indptr": np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64),
        "columns": np.nonzero(there)[1].astype(np.int32),
        "values": generator.integers(-16, 17, there.sum()),
        "sensitivity": 1.0,
        "norm": "l1",
        "step": STEP,
    }
    return BoundedMatrix(**(facts | changes))  # type: ignore[arg-type]
