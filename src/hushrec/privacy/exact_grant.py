"""The grant of the non-private baseline: the same interface without noise, marked as not private."""

import numpy as np

from hushrec.arrays import Bools, Floats
from hushrec.privacy.bounded import (
    Bounded,
    BoundedMatrix,
    Noisy,
    NoisyMatrix,
    in_own_units,
    require_range,
    require_scales,
)
from hushrec.privacy.checkpoint.checkpoint import Checkpoint
from hushrec.privacy.grant import Grant


class _Unprotected(Grant):
    """A grant without budget, noise or claim."""

    def __init__(self, checkpoint: Checkpoint | None) -> None:
        self.caveat, self.ledger, self.charge, self.key = "not private: no noise was added", {}, 0, ""
        self.checkpoint = checkpoint

    def already_released(self, name: str) -> None:
        """None: exact values are not kept.

        Privacy: public.
        """

    def release(self, bounded: Bounded) -> Noisy:
        """The exact values, for the non-private baseline.

        Privacy: private. ``sigma`` is 0 and ``event`` None.
        """
        values = in_own_units(np.array(bounded.values, order="C"), bounded.step)
        return Noisy(bounded.name, values, 0.0, bounded.step, None)

    def release_matrix(self, bounded: BoundedMatrix, *, threshold: int, limit: int) -> NoisyMatrix:
        """The stored cells, clamped to ±limit, even if they are below the threshold.

        Privacy: private. ``sigma`` is 0 and ``event`` None.
        """
        require_range(bounded.name, threshold, limit)
        values = np.clip(bounded.values, -limit, limit).astype(np.int32)
        indptr, columns = bounded.indptr.copy(), bounded.columns.copy()
        return NoisyMatrix(bounded.name, bounded.shape, indptr, columns, values, 0.0, bounded.step, None)

    def release_rows(self, name: str, values: Floats, scales: Floats) -> Noisy:
        """The exact rows.

        Privacy: private. ``sigma`` is 0 and ``event`` None.
        """
        require_scales(name, values, scales)
        return Noisy(name, values.copy(), 0.0, 0.0, None)

    def sample(self, name: str, n_people: int) -> Bools:
        """Every user takes part.

        Privacy: private.
        """
        return np.ones(n_people, np.bool_)

    def sample_key(self, name: str) -> bytes:
        """A fixed, public key.

        Privacy: public.
        """
        return bytes(32)

    def close(self) -> None:
        """Do nothing: nothing was booked."""


def unprotected(checkpoint: Checkpoint | None = None) -> Grant:
    """Create the grant of the non-private baseline: it charges nothing and adds no noise.

    Args:
        checkpoint: keeps a model's own states, so that a killed fit can resume.

    Privacy: private; every release made with it carries the caveat "not private".
    """
    return _Unprotected(checkpoint)
