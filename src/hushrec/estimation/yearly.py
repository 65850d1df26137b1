"""Sums of several releases of a year, combined by their precision.

Each release measures the same sums of a crowd that changes, with noise of its own. How far the crowd moved
from what earlier releases say, beyond their noise, is measured: it is their *misfit* D, a variance. Nothing
is forgotten by the clock, and no drift is modelled: where nothing moves, D is 0, and all releases count by
their precision alone. A release that stands alone is the first of a year.

Privacy: post-processing of released sums.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hushrec.arrays import Floats, Ints
from hushrec.errors import LedgerWarning
from hushrec.privacy.carried import Carried
from hushrec.privacy.noisy import Noisy

# Chosen by hand, all of them: on MovieLens 1M and its thousand most liked films, with crowds that stay, drift
# and grow (docs/weekly.md).
_STEPS = (0.0, *np.geomspace(1e-5, 0.3, 13).tolist())
"""Variances of a step of the crowd's size that are tried, over the largest squared size."""
SMOOTHING = 0.3
"""Part of a misfit that one release decides."""
UNKNOWN = 1e8
"""Variance of what no earlier release measured, over that of this release."""
_BEYOND = 6  # standard errors, of which noise alone reaches so many once in 10^9
_LEAST = 1e-300  # so that nothing is divided by zero


def crowd(sizes: Sequence[float], deviations: Sequence[float]) -> float:
    """Estimate the size of the crowd now, as a random walk that is measured at each release.

    The variance of its steps is the likeliest one; the rest is a Kalman filter.

    Args:
        sizes: as measured, oldest first.
        deviations: of their noise.
    """
    if len(sizes) == 1 or not deviations[-1]:
        return float(sizes[-1])
    largest = max(max(sizes), 1.0) ** 2

    def walk(step: float) -> tuple[float, float]:
        """Return how surprising the sizes are, and the last state's mean."""
        mean, variance, surprise = sizes[0], deviations[0] ** 2, 0.0
        for size, deviation in zip(sizes[1:], deviations[1:], strict=True):
            # Predict: since the release before, the crowd took a step of this variance.
            variance += step * largest
            total, missed = variance + deviation**2, size - mean
            # −2 log N(size; mean, total), up to a constant.
            surprise += math.log(total) + missed**2 / total
            # Update, with the gain v/(v + r); r/(v + r) of the variance is left.
            mean += variance / total * missed
            variance *= deviation**2 / total
        return surprise, mean

    return float(min(map(walk, _STEPS))[1])


class Sums(NamedTuple):
    """One kind of sums of the crowd now, from all releases of a year.

    Attributes:
        values: shape (n,).
        variance: of the noise of each; infinite for what was never measured.
        misfit: the smoothed misfit D; below 0 where the noise explains more than what moved.
    """

    values: Floats
    variance: Floats
    misfit: float = 0.0

    @property
    def sigma(self) -> float | Floats:
        """Standard deviation of the noise of each; of a single number, as a float."""
        sigma = np.sqrt(self.variance)
        return sigma if len(sigma) > 1 else float(sigma[0])

    def scale(self, by: float) -> Self:
        """Return the sums of a crowd that is so many times as large."""
        return type(self)(by * self.values, by**2 * self.variance, by**2 * self.misfit)

    def combine(self, values: Floats, sigma: float) -> Self:
        """Combine them with a further measurement.

        With a the earlier sums, of noise q, and y the new ones, of noise r: e = y − a, and the misfit is the
        mean of e² − q − r, weighted by how common an item is, max(|a|, √q), since the mean over a long tail
        hides what the popular items did. a moves by the gain (q + D)/(q + D + r). One number cannot tell its
        misfit from noise, so its D is 0.

        Args:
            values: as measured, shape (n,).
            sigma: deviation of their noise.
        """
        noise, apart, misfit = sigma**2, values - self.values, self.misfit
        known = np.isfinite(self.variance)
        if len(values) > 1 and known.any():
            common = np.maximum(np.abs(self.values), np.sqrt(self.variance))[known]
            beyond = float(common @ (apart**2 - self.variance - noise)[known] / max(common.sum(), _LEAST))
            misfit += SMOOTHING * (beyond - misfit)
        # What was never measured is all but forgotten: its gain is 1 − 1e-8.
        variance = np.where(known, self.variance, UNKNOWN * max(noise, _LEAST))
        # Clipped here, where it is used, and never where it is smoothed: there it would be biased upwards.
        doubt = np.maximum(variance + max(misfit, 0.0), _LEAST)
        gain = doubt / (doubt + noise)
        # The variance of the noise alone: the misfit raises the gain, but it is not noise.
        return type(self)(self.values + gain * apart, (1 - gain) ** 2 * variance + gain**2 * noise, misfit)


class YearlySums(NamedTuple):
    """The size of the crowd, and sums by name, over the releases of a year.

    Attributes:
        sizes, deviations: of the crowd at every release, as measured, and of their noise, oldest first.
        sums: of the crowd at the last release.
    """

    sizes: tuple[float, ...] = ()
    deviations: tuple[float, ...] = ()
    sums: Mapping[str, Sums] = {}

    @classmethod
    def of(cls, carried: Carried | None, items: Sequence[str]) -> Self:
        """Read what the release before handed over, for a catalogue; nothing in the first."""
        if carried is None or len(carried.items) < 2:  # the sum of one item could not be told from a number
            return cls()
        arrays, at = carried.arrays, places(carried.items, items)
        sizes, deviations = (tuple(arrays[f"crowd.{name}"].tolist()) for name in ("sizes", "deviations"))
        sums = {}
        for name in (key.removesuffix(".misfit") for key in arrays if key.startswith("sums.")):
            if f"{name}.misfit" not in arrays:
                continue
            values, variance = arrays[f"{name}.values"], arrays[f"{name}.variance"]
            if len(values) > 1:
                values, variance = values[at], np.where(at >= 0, variance[at], math.inf)
                values = np.where(at >= 0, values, 0.0)
            sums[name.removeprefix("sums.")] = Sums(values, variance, float(arrays[f"{name}.misfit"][0]))
        return cls(sizes, deviations, sums)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Name them as the arrays of a carried sum."""
        arrays = {"crowd.sizes": np.array(self.sizes), "crowd.deviations": np.array(self.deviations)}
        for name, of in self.sums.items():
            arrays |= {f"sums.{name}.values": of.values, f"sums.{name}.variance": of.variance}
            arrays[f"sums.{name}.misfit"] = np.array([of.misfit])
        return arrays

    @property
    def size(self) -> float:
        """The crowd now, at least 1."""
        return max(crowd(self.sizes, self.deviations), 1.0) if self.sizes else 1.0

    def warn_of_fewer(self, counts: Noisy) -> None:
        """Warn if the items sum to less than half of what earlier releases say, beyond the noise of both.

        Args:
            counts: as this release measured them.
        """
        earlier = self.sums.get(counts.name)
        if earlier is None:
            return
        known = np.isfinite(earlier.variance)  # not the items that are new
        now, before = float(counts.values[known].sum()), float(earlier.values[known].sum())
        noise = math.sqrt(known.sum() * counts.sigma**2 + float(earlier.variance[known].sum()) / 4)
        if now + _BEYOND * noise < before / 2:
            warnings.warn(
                "this release counts less than half of what those before it counted, by the noisy sums of "
                "both: if its file holds one week alone, where it has to hold all records so far, leave this "
                "release out of the next, without=[its index] (--without)",
                LedgerWarning,
                stacklevel=2,
            )

    def follow_size(self, size: float, deviation: float) -> Self:
        """Follow the crowd to this release.

        Args:
            size: as measured.
            deviation: of its noise.
        """
        after = self._replace(sizes=(*self.sizes, size), deviations=(*self.deviations, deviation))
        # All sums are of a crowd of the size now, as if everyone who came were like those before.
        by = after.size / self.size
        return after._replace(sums={name: of.scale(by) for name, of in self.sums.items()})

    def follow_total(self, counts: Noisy) -> Self:
        """Follow the crowd by the sum of the counts, where its size is not measured.

        Items that are new add to the sum, and not to the crowd.
        """
        total, deviation = float(counts.values.sum()), counts.sigma * math.sqrt(len(counts.values))
        earlier, more = self.sums.get(counts.name), 1.0
        if earlier is not None and not (known := np.isfinite(earlier.variance)).all():
            more = max(total / max(float(counts.values[known].sum()), 1.0), 1.0)
        sizes, deviations = (tuple(more * one for one in listed) for listed in (self.sizes, self.deviations))
        return self._replace(sizes=sizes, deviations=deviations).follow_size(total, deviation)

    def combine(self, name: str, values: Floats, sigma: float, *, moved: float = 0.0) -> Self:
        """Combine sums of this release with those before.

        Args:
            name: of the sums.
            values: as measured, shape (n,).
            sigma: deviation of their noise.
            moved: deviation of what moved since the release before, where it is known and not measured.
        """
        earlier = self.sums.get(name)
        if earlier is not None:
            earlier = earlier._replace(variance=earlier.variance + moved**2)
        if earlier is None:
            combined = Sums(values, np.full(len(values), sigma**2))
        else:
            combined = earlier.combine(values, sigma)
        return self._replace(sums={**self.sums, name: combined})


def places(before: Sequence[str], now: Sequence[str]) -> Ints:
    """Return the place of each item in an earlier catalogue, −1 for a new one, shape (n_now,)."""
    known = {item: place for place, item in enumerate(before)}
    return np.array([known.get(item, -1) for item in now], dtype=np.int64)
