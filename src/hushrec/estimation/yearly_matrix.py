"""A symmetric matrix over pairs of items, of several releases of a year, combined by precision.

Its misfit is measured in the directions that predictions use, those of the last factors: among all pairs, a
drift would drown in noise. Memory is three squares of 32-bit numbers.

Privacy: post-processing of released sums.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hushrec.arrays import Floats, Floats32, Ints
from hushrec.estimation.head import Head
from hushrec.estimation.yearly import SMOOTHING, UNKNOWN, places
from hushrec.kernels.csr import packed_size
from hushrec.privacy.carried import Carried

_ROWS = 256  # of a matrix that are processed at a time; limits memory only
_LEAST = 1e-300  # so that nothing is divided by zero


class YearlyMatrix(NamedTuple):
    """Sums over the pairs of a head's items, of the crowd at the last release that measured them.

    Attributes:
        matrix: A, symmetric, shape (m, m).
        variance: q of each item, shape (m,): the noise of A_ij has the variance √(q_i q_j).
        misfit: smoothed misfit of an entry; below 0 where the noise explains more than what moved.
        head: its items; −1 for one that left the catalogue.
        size: of the crowd.
    """

    matrix: Floats32
    variance: Floats
    misfit: float
    head: Head
    size: float

    @property
    def sigma(self) -> Floats:
        """σ of each item, shape (m,): the noise of A_ij has the variance σ_i σ_j."""
        return np.sqrt(self.variance)

    @classmethod
    def of(cls, carried: Carried | None, name: str, items: Sequence[str]) -> Self | None:
        """Read what earlier releases handed over; None if none measured it.

        Args:
            name: of the matrix.
            items: of the catalogue now.
        """
        if carried is None or f"{name}.triangle" not in carried.arrays:
            return None
        parts = ("triangle", "noise", "misfit", "items", "size")
        triangle, noise, misfit, head, size = (carried.arrays[f"{name}.{part}"] for part in parts)
        here = Head(len(items), _places_now(head, carried, items))
        return cls(unpack_triangle(triangle, len(noise)), noise, float(misfit[0]), here, float(size[0]))

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Name it as the arrays of a carried sum."""
        rows = [self.matrix[i, i:] for i in range(len(self.matrix))]
        of: dict[str, NDArray[Any]] = {
            "triangle": np.concatenate(rows) if rows else np.zeros(0, dtype=np.float32),
            "noise": self.variance,
            "misfit": np.array([self.misfit]),
            "items": self.head.items,
            "size": np.array([self.size]),
        }
        return {f"{name}.{part}": array for part, array in of.items()}

    def even_noise(self, variance: Floats) -> Floats32:
        """Scale rows and columns such that the noise of all entries is that of a typical one, packed.

        Args:
            variance: q of each item by which they are scaled.
        """
        # With s_i = (q̄/q_i)^¼, the variance of s_i A_ij s_j is s_i² s_j² √(q_i q_j) = q̄.
        scale = (np.median(variance) / np.maximum(variance, _LEAST)) ** 0.25
        scale = np.asarray(np.minimum(scale, 1), dtype=np.float32)
        return np.concatenate([row[i:] * scale[i:] * scale[i] for i, row in enumerate(self.matrix)])

    def carry_over(self, size: float, head: Head, noise: float, ratio: Floats | None = None) -> Self:
        """Carry it over to the crowd now, and to a new head.

        Args:
            size: of the crowd now.
            head: the new one; what was not in the old one is unknown.
            noise: variance of an entry of this release.
            ratio: ρ by which rows and columns of the new head grow, and their noise; 1 by default.
        """
        at, by = self.head.places[head.items], size / self.size
        known = at >= 0
        ratio = known.astype(np.float64) if ratio is None else np.where(known, ratio, 0.0)
        matrix = self.matrix[np.ix_(at, at)]
        matrix *= (by * ratio).astype(np.float32)[:, None]
        matrix *= ratio.astype(np.float32)
        most = UNKNOWN * max(noise, _LEAST)
        # A_ij grows by ρ_i ρ_j, so √(q_i q_j) by ρ_i² ρ_j².
        variance = np.where(known, np.minimum(by**2 * self.variance[at] * ratio**4, most), most)
        return type(self)(matrix, variance, by**2 * self.misfit, head, size)

    def combine(self, measured: Floats32, noise: float, factors: Floats) -> Self:
        """Combine it with that of this release, in place.

        With U an orthonormal basis of the last factors, E = Y − A, and R the noise of Y, the misfit of an
        entry is (‖Uᵀ E‖² − what noise alone gives)/(k m), in which columns count by their precision.
        A_ij moves by the gain (√(q_i q_j) + D)/(… + R).

        Args:
            measured: Y, symmetric, shape (m, m); overwritten.
            noise: R, variance of an entry.
            factors: of the last release, shape (m, any).
        """
        measured -= self.matrix
        spread, misfit = np.sqrt(self.variance), self.misfit
        if factors.any():
            basis = _span(factors)
            # Column j of Uᵀ E has the mean square Σ_i u_ik² √(q_i q_j) + R over k if nothing moved.
            seen = ((basis.T.astype(np.float32) @ measured).astype(np.float64) ** 2).mean(axis=0)
            by_noise = np.maximum(spread * float(((basis**2).T @ spread).mean()) + noise, _LEAST)
            beyond = float(np.average(seen - by_noise, weights=(by_noise.min() / by_noise) ** 2))
            misfit += SMOOTHING * (beyond - misfit)
        drift = max(misfit, 0.0) + _LEAST
        for start in range(0, len(measured), _ROWS):
            rows = slice(start, start + _ROWS)
            doubt = np.outer(spread[rows], spread) + drift
            self.matrix[rows] += measured[rows] * (doubt / (doubt + noise)).astype(np.float32)
        # An entry with an item of typical noise is the one to be right about: what was never measured has the
        # noise of this release beside any other.
        typical = float(np.median(self.variance))
        doubt = np.sqrt(np.append(self.variance, typical) * typical)
        gain = (doubt + drift) / (doubt + drift + noise)
        after = (1 - gain) ** 2 * doubt + gain**2 * noise
        return self._replace(variance=after[:-1] ** 2 / max(after[-1], _LEAST), misfit=misfit)


def unpack_triangle(packed: Floats | Floats32, n: int) -> Floats32:
    """Unpack an upper triangle, row by row, with its diagonal or without, into a symmetric matrix."""
    matrix, diagonal = np.zeros((n, n), dtype=np.float32), int(len(packed) < packed_size(n))
    start = 0
    for i in range(n - diagonal):
        row = packed[start : start + n - i - diagonal]
        matrix[i, i + diagonal :] = matrix[i + diagonal :, i] = row
        start += len(row)
    return matrix


def head_of(carried: Carried | None, name: str, items: Sequence[str]) -> Head | None:
    """Return the head of a matrix that an earlier release handed over, for a catalogue; None without one."""
    head = carried.arrays.get(f"{name}.items") if carried else None
    return None if carried is None or head is None else Head(len(items), _places_now(head, carried, items))


def _places_now(head: Ints, carried: Carried, items: Sequence[str]) -> Ints:
    """Return the place of a head's items in the catalogue now, −1 for those that left."""
    return np.where(head >= 0, places(items, carried.items)[head], -1)


def _span(factors: Floats) -> Floats:
    """Return an orthonormal basis of the factors' columns, as far as they are apart."""
    vectors, sizes, _ = np.linalg.svd(factors, full_matrices=False)
    return np.asarray(vectors[:, sizes > 1e-6 * sizes[0]])
