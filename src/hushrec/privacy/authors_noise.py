"""Noise that a researcher draws as they like, for seeded experiments: its releases are not private."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.random import Generator, default_rng  # noqa: TID251  (an author's own noise, which no ε covers)

from hushrec.arrays import Floats
from hushrec.errors import GrantError
from hushrec.privacy.grant import Grant


@dataclass(frozen=True, slots=True)
class OwnNoise:
    """Values with noise that their author draws as they like, for experiments: the release is NOT PRIVATE.

    A plan with it has no finite ε, so only a fit with ``entropy=Seeded(…)`` and without a ledger makes it.

    Args:
        name: the measurement's name.
        size: number of entries.
        deviation: the noise's standard deviation, which the statement repeats as its author's word.
        draw: called with a generator and the values; returns the noisy values, in the same shape.

    Privacy: public.
    """

    name: str
    size: int
    deviation: float
    draw: Callable[[Generator, Floats], Floats] = field(compare=False)
    sensitivity: float = field(default=math.inf, init=False)
    norm: Literal["own"] = field(default="own", init=False)
    step: float = field(default=1.0, init=False)
    rate: float = field(default=1.0, init=False)
    is_exact: bool = field(default=False, init=False)

    def release(self, grant: Grant, values: Floats) -> Floats:
        """The values with their author's noise, from a key of the grant.

        Privacy: charged (the event booked under ``name``), and not private, as its grant says.
        """
        key = int.from_bytes(grant.sample_key(self.name))
        noisy = np.asarray(self.draw(default_rng(key), values.copy()), dtype=np.float64)
        if noisy.shape != values.shape:
            raise GrantError(f"{self.name}: the noise changed the shape of the values; return it as it was")
        return noisy

    def exact(self, values: Floats) -> Floats:
        """The same without noise. Privacy: private."""
        return values.copy()
