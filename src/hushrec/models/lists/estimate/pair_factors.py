"""Item factors of a noisy Gram matrix of users' items, and the linear model (EASE) that follows from them.

Items are muted before the Gram matrix is formed: rare ones are lost in its noise and would only shorten
what is left of each user's unit vector. Above its diagonal, the matrix is L Lᵀ plus noise of known variance,
with L_ik ~ N(N_ik, t_i/α_k) and t_i public: how much of the users' vectors falls on item i. N is what public
features say, or 0. Mean-field variational Bayes with one α_k per factor lets factors that the noise hides
vanish, or stay at their mean (Lim & Teh 2007). It is the idea of McSherry & Mironov's weighted factors, with
noise that is made equal everywhere, so that all rows share one k × k eigendecomposition.

Features let expect factors before the pairs are looked at. The pairs are whitened, with noise of variance 1
off the diagonal. Their mean is Σ_g c_g G̃_g G̃_gᵀ over the groups g of features, with one coefficient c_g ≥ 0
each. G̃_g is the table of the group's values, weighted as the users' vectors are, and centred as they are:
without its part along the direction of the average user. The coefficients are estimated by least squares, and
each direction of the mean is then moved towards what the pairs say of it, as far as these directions are seen
to vary (empirical Bayes, Efron & Morris 1975).

Privacy: post-processing of the released pairs; features are public.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from scipy.optimize import nnls

from hushrec.arrays import Floats, Floats32, Ints
from hushrec.estimation.choice_factors import pair_factors
from hushrec.item_prior import ItemPrior

DIRECTIONS, _OVERSAMPLED, _POWERS = 400, 20, 4
"""The most directions of the mean, columns beyond them, and power iterations (Halko, Martinsson & Tropp
2011): chosen by hand; docs/models/private_ease.md has what they gained."""
_FAINTEST = 1e-6
"""Smallest variance of a direction, over the largest: chosen by hand."""
_LEAST = 1e-12
"""Smallest t, so that nothing is divided by zero."""
_CLEAR = 2.0  # errors of a coefficient from 0, or features of no use would stay; chosen by hand
_UPDATES = 3  # of the mean's own diagonal, which the pairs lack; chosen by hand
_SPREADS = (0.0, *np.geomspace(1e-4, 30, 40).tolist())
"""Values of ν that are tried: chosen by hand."""


class _Centred(NamedTuple):
    """The matrix G − v₁ wᵀ, which is never formed.

    Attributes:
        table: G, sparse or dense, shape (n, n_values).
        along: v₁, shape (n,).
        part: w = Gᵀ v₂, shape (n_values,).
    """

    table: Any
    along: Floats
    part: Floats

    @classmethod
    def of(cls, table: Any, along: Floats, across: Floats) -> Self:
        """Return (I − v₁ v₂ᵀ) G."""
        return cls(table, along, np.asarray(table.T @ across))

    def times(self, block: Floats) -> Floats:
        return np.asarray(self.table @ block - np.outer(self.along, self.part @ block))

    def transposed(self, block: Floats) -> Floats:
        return np.asarray(self.table.T @ block - np.outer(self.part, self.along @ block))

    def row_squares(self) -> Floats:
        """Return the diagonal of G̃ G̃ᵀ, shape (n,)."""
        # Row i of G̃ is g_i − v₁_i w: its square is |g_i|² − 2 v₁_i g_i·w + v₁_i² |w|².
        squares = self.table.multiply(self.table).sum(axis=1)
        cross = self.along * np.asarray(self.table @ self.part)
        return np.asarray(squares - 2 * cross + self.along**2 * (self.part @ self.part))

    def alike(self, other: Self) -> float:
        """Return ‖G̃ᵀ H̃‖², from the sparse GᵀH: G̃ᵀ H̃ = GᵀH − a wᵀ − u (b − |v₁|² w)ᵀ."""
        shared = self.table.T @ other.table
        mine, theirs = self.table.T @ self.along, other.table.T @ other.along
        theirs = theirs - (self.along @ self.along) * other.part
        first, second = mine @ (shared @ other.part), self.part @ (shared @ theirs)
        total = shared.multiply(shared).sum() - 2 * (first + second)
        total += (mine @ mine) * (other.part @ other.part) + (self.part @ self.part) * (theirs @ theirs)
        return float(total + 2 * (mine @ self.part) * (other.part @ theirs))

    def seen_in(self, pairs: Floats32) -> float:
        """Return tr(G̃ᵀ Z G̃) of symmetric pairs Z."""
        across = pairs @ self.along.astype(np.float32)
        values = sparse.csr_array(self.table.T)
        total = values.multiply(values.astype(np.float32) @ pairs).sum()
        cross = np.asarray(self.table.T @ across) @ self.part
        return float(total - 2 * cross + (self.along @ across) * (self.part @ self.part))


def tables_of(prior: ItemPrior, weights: Floats, variance: Floats) -> list[Any]:
    """Return all that is publicly known of how items go together, one sparse matrix for each kind.

    Args:
        prior: features, and factors of others' interactions, which get the weights of these.
        weights: d of each item, shape (n_items,).
        variance: t of each, shape (n_items,).
    """
    tables = [sparse.csr_array(table) for table in prior.tables]
    if prior.pairs.size:
        scale = weights / np.sqrt(np.maximum(variance, _LEAST))
        tables.append(sparse.csr_array(scale[:, None] * prior.pairs))
    return tables


class ExpectedFactors(NamedTuple):
    """Whitened factors that features let expect, and the space of all that features can explain.

    Attributes:
        factors: N, columns in the order of their size, shape (n, any); none if the pairs do not show the
            features.
        basis: Q, orthonormal: the leading directions of the features' mean, shape (n, n_directions).
        loads: Q = G̃ loads with G̃ of all groups, shape (n_values, n_directions).
    """

    factors: Floats
    basis: Floats
    loads: Floats

    def by_value(self, rows: Floats) -> Floats:
        """Return B of the values: G̃ B is the part of the rows of items that features explain.

        Args:
            rows: whitened, shape (n, any).

        Returns:
            Shape (n_values, any).
        """
        return np.asarray(self.loads @ (self.basis.T @ rows), dtype=np.float64)


def feature_factors(
    pairs: Floats32, tables: Sequence[Any], variance: Floats, scale: Floats, direction: Floats
) -> ExpectedFactors:
    """Find factors N of the items with N Nᵀ the expected pairs, given what the pairs say.

    Args:
        pairs: whitened, with a zero diagonal, shape (n, n).
        tables: which items have which values, one sparse matrix for each group, shape (n, any).
        variance: t of each item, shape (n,).
        scale: r, by whose roots the rows and columns of the pairs were divided, shape (n,).
        direction: v, of length 1, shape (n,).
    """
    n_values = sum(table.shape[1] for table in tables)
    nothing = ExpectedFactors(*(np.zeros((size, 0)) for size in (len(variance), len(variance), n_values)))
    if not tables:
        return nothing
    root = np.sqrt(scale)
    # G_g = √t ∘ F_g/√r. Whitening makes the projection oblique: I − v₁ v₂ᵀ with v₁ = v/√r and v₂ = v √r.
    weights = sparse.diags_array(np.sqrt(variance) / root)
    along, across = direction / root, direction * root
    groups = [_Centred.of(sparse.csr_array(weights @ table), along, across) for table in tables]
    coefficients = _coefficients(groups, pairs)
    if not coefficients.any():
        return nothing
    shown = [group.table * math.sqrt(c) for group, c in zip(groups, coefficients, strict=True) if c > 0]
    mean = _Centred.of(sparse.csr_array(sparse.hstack(shown)), along, across)
    basis, values, axes = _directions(mean)
    sizes = np.repeat(np.sqrt(coefficients), [group.table.shape[1] for group in groups])
    loads = np.zeros((n_values, len(values)))
    loads[sizes > 0] = sizes[sizes > 0, None] * axes / np.sqrt(values)
    return ExpectedFactors(_move_to_pairs(pairs, basis, values), basis, loads)


def _coefficients(groups: Sequence[_Centred], pairs: Floats32) -> Floats:
    """Fit c ≥ 0 to the pairs off the diagonal; each shrinks by its variance; within two errors it is 0."""
    diagonals = [group.row_squares() for group in groups]
    # min over c of ‖Z − Σ c_g G̃_g G̃_gᵀ‖² off the diagonal: its normal equations, of which the whole
    # matrices give alike() and seen_in(), and the diagonals are subtracted.
    normal = np.array([[one.alike(other) for other in groups] for one in groups])
    normal -= np.array([[one @ other for other in diagonals] for one in diagonals])
    moment = np.array([group.seen_in(pairs) for group in groups])
    normal += 1e-9 * max(np.trace(normal), 1e-30) * np.eye(len(groups))
    fitted, shown = np.zeros(len(groups)), np.ones(len(groups), dtype=np.bool_)
    while shown.any():
        of_shown = normal[np.ix_(shown, shown)]
        # With RᵀR = normal, the same problem is ‖R c − R⁻ᵀ moment‖² with c ≥ 0, which nnls solves.
        root = np.linalg.cholesky(of_shown).T
        fitted[shown], _ = nnls(root, np.linalg.solve(root.T, moment[shown]))
        # Each symmetric pair is one measurement of variance 1 that is counted twice: hence the 2.
        clear = fitted[shown] ** 2 / (2 * np.diag(np.linalg.inv(of_shown)))
        weakest = int(clear.argmin())
        if clear[weakest] >= _CLEAR**2:
            fitted[shown] *= 1 - 1 / clear
            break
        # Groups may say the same, such as tenths and thirtieths of years: one leaves at a time.
        weakest = int(np.flatnonzero(shown)[weakest])
        fitted[weakest], shown[weakest] = 0, False
    return fitted


def _directions(mean: _Centred) -> tuple[Floats, Floats, Floats]:
    """Return Q, S² and V of the leading part Q S Vᵀ of G̃, shapes (n, k), (k,) and (n_values, k)."""
    n, n_values = mean.table.shape
    most = min(DIRECTIONS, n - 1, n_values)
    width = min(most + _OVERSAMPLED, n_values)
    # A start that is the same on every machine, and has a part along every direction.
    block = np.cos(np.outer(np.arange(n_values), np.arange(1, width + 1)) * 0.7390851332151607)
    for _ in range(_POWERS):
        # A product with G̃ and one with G̃ᵀ: nothing of n × n is formed.
        block, _ = np.linalg.qr(mean.times(block))
        block, _ = np.linalg.qr(mean.transposed(block))
    basis, _ = np.linalg.qr(mean.times(block))
    turned, sizes, axes = np.linalg.svd(mean.transposed(basis).T, full_matrices=False)
    values = sizes[:most] ** 2
    kept = values > _FAINTEST * max(values.max(initial=0.0), 1e-30)
    return np.asarray(basis @ turned[:, :most])[:, kept], values[kept], axes[:most][kept].T


def _move_to_pairs(pairs: Floats32, basis: Floats, values: Floats) -> Floats:
    """Move the mean Q κ Qᵀ towards the pairs, direction by direction.

    Qᵀ (Z + its missing diagonal) Q − diag κ has entries N(0, ν κ_j κ_k + 1), twice as much on the diagonal. ν
    is the most likely one; the rest is a posterior mean.
    """
    # Qᵀ Z Q of the pairs without their diagonal. What the mean has there is put back, or blocks of items with
    # one value, such as an author's, would come out too small.
    seen = basis.T @ (pairs @ basis.astype(np.float32)).astype(np.float64)
    products, double = np.outer(values, values), 1 + np.eye(len(values))
    above = np.triu_indices(len(values))
    factors = basis * np.sqrt(values)
    for _ in range(_UPDATES):
        diagonal = (factors**2).sum(axis=1)
        deviation = seen + (basis * diagonal[:, None]).T @ basis - np.diag(values)

        def surprise(spread: float, squares: Floats = deviation**2) -> float:
            variance = (spread * products + 1) * double
            return float((np.log(variance) + squares / variance)[above].sum())

        spread = min(_SPREADS, key=surprise)
        # Posterior mean given ν: each deviation shrinks by ν κ_j κ_k/(ν κ_j κ_k + 1).
        moved = np.diag(values) + deviation * spread * products / (spread * products + 1)
        sizes, turned = np.linalg.eigh((moved + moved.T) / 2)
        # The positive part B Bᵀ of the moved matrix gives the factors Q B.
        positive = sizes > 0
        factors = (basis @ (turned[:, positive] * np.sqrt(sizes[positive])))[:, ::-1]
    return np.asarray(factors, dtype=np.float64)


# The constants were tried on MovieLens 1M, on other people than those that are shown, and checked on
# MovieLens 100K and latest-small: lab/scoreboard/top_n.md.
_MUTING = 270.0
"""Times √n/(μ n̂): the count, over the average, of an item that is muted to half."""
_FEWEST_FACTORS, _FEW_FACTORS, _REACH_PER_FACTOR, _SIGNAL_PER_FACTOR = 4, 16, 100.0, 200.0
"""Factors to start with: the fewest, how many a crowd of any size may have, and μ Σ √c and μ n̂ for each;
those of features count, up to half."""
_FEWEST_ITEMS, _ITEMS_PER_CROWD = 500, 1.25
"""The fewest items to start with, and how many for each unit of μ n̂."""
LEAST = 1e-8
"""Smallest weight, scale and eigenvalue, and smallest t over its mean, so that nothing is divided by zero."""
RIDGE = 0.5
"""Of the mean of the diagonal; docs/models/private_ease.md says so, docs/decisions/one-shot-ease.md why."""
_OF_SAMPLING, _MOST_SAMPLING = 0.5, 10.0
"""Of the bound on the crowd's own sampling error, and its most over the variance of the noise."""
_MOST_POPULAR = 0.9
"""Largest squared mean cosine, over the mean squared cosine: chosen by hand."""
_FLOOR = 0.05
"""Smallest part of an item's own variance that its factors leave."""


class Muting(NamedTuple):
    """How much each item counts in the users' vectors.

    Attributes:
        weights: d, above 0 and at most 1, shape (n,).
        direction: v, of length 1: where the vectors of all users lie on average, shape (n,).
        variance: t, mean 1: how much of the squared vectors falls on each item, shape (n,).
        half: the count of an item that is muted to half.

    Privacy: post-processing.
    """

    weights: Floats
    direction: Floats
    variance: Floats
    half: float = 0.0

    def of(self, items: Ints) -> Self:
        """Select some items; the direction of the average user has length 1 among them, too."""
        direction = self.direction[items]
        length = max(float(np.linalg.norm(direction)), 1e-300)
        return type(self)(self.weights[items], direction / length, self.variance[items], self.half)


def muting(counts: Floats, signal: float) -> Muting:
    """Return weights d_i = s_i/(s_i + 270 √n/(μ n̂) · mean s), scaled so that the largest is 1.

    Args:
        counts: s, denoised counts, positive, shape (n,).
        signal: μ n̂, the Gaussian-DP parameter μ of the fit times the size of the crowd; infinite without
            noise.
    """
    # Rare items are muted and not weighted up, as for ratings: that ranked worse at every exponent tried.
    half = float(_MUTING * math.sqrt(len(counts)) / signal * counts.mean())
    weights = counts / (counts + half)
    weights = np.maximum(weights / weights.max(), LEAST)
    direction = counts * weights
    # t ∝ s d²: how much of the squared vectors, each d_i² on the items that a user has, falls on item i.
    variance = direction * weights
    return Muting(weights, direction / np.linalg.norm(direction), variance / variance.mean(), half)


class Crowd(NamedTuple):
    """The size of the crowd whose pairs were measured, as the noisy sums say it.

    Attributes:
        total: T, the sum of all users' squared vectors: their number, or Σ ‖y‖ for unit ``record``.
        users: T² over the sum of their squares: how many equal users they are worth; below it the pairs
            err even without noise.
        signal: μ n̂, as for ``muting``.
        reach: μ Σ √c for users with c items, in half for unit ``user``: how much noise the pairs stand.
        cosine: mean cosine between the users' vectors and the direction v of the average user.

    Privacy: post-processing.
    """

    total: float
    users: float
    signal: float
    reach: float
    cosine: float


class ItemFactors(NamedTuple):
    """Factors of items, and what features explain of them.

    Attributes:
        factors: L, shape (n, rank).
        values: B: of L_i, features explain √t_i F_i B − v_i (vᵀ √t F) B; shape (n_values, rank).

    Privacy: post-processing.
    """

    factors: Floats
    values: Floats


def clean_pairs(
    pairs: Floats32, sigma: Floats, weights: Muting, crowd: Crowd, features: Sequence[Any], rank: int
) -> ItemFactors:
    """Fit item factors to released pairs; where the noise hides all, rows are 0.

    Entry ij has the variance σ_i σ_j of the noise, and that of the crowd itself, which is a sample of people:
    with own_i = T t_i/Σ t, by Cauchy's inequality at most own_i own_j/n; half of it is taken. So row and
    column i are divided by √r_i with r_i² = σ_i² + own_i²/2n, and the noise has variance 1. The second part
    counts up to 10 σ_i² where there is noise.

    Where the crowd is small for its noise, rare items and further factors only make the fit slower to tell
    signal from noise, so it starts with fewer of both. Features reach all items.

    Args:
        pairs: symmetric, with a zero diagonal, shape (n, n); overwritten.
        sigma: σ of each item, shape (n,).
        weights: d, v and t of the items.
        crowd: how large it is.
        features: which items have which values of each kind of feature, sparse, shape (n, any).
        rank: largest number of factors that features do not bring.
    """
    n, variance = len(weights.variance), weights.variance
    own_variance = max(crowd.total, 1.0) * variance / variance.sum()
    # The pairs of a crowd of n err without noise, too, by at most own_i own_j/n in variance. Half of that is
    # a compromise: on dense sets none would be better by .003 of nDCG at ε = 20.
    sampling = _OF_SAMPLING * own_variance**2 / max(crowd.users, 1.0)
    if np.any(sigma):
        sampling = np.minimum(sampling, _MOST_SAMPLING * sigma**2)
    scale = np.maximum(np.sqrt(sigma**2 + sampling), LEAST)
    root = np.sqrt(scale).astype(np.float32)
    # From here on everything is whitened: noise of variance 1 on every entry off the diagonal.
    pairs /= root[:, None]
    pairs /= root
    public = feature_factors(pairs, features, variance, scale, weights.direction)
    expected = public.factors
    # Noise of variance 1 has eigenvalues up to 2√n: of directions below half of that, the pairs say little.
    faint = (expected**2).sum(axis=0) <= math.sqrt(n)
    # Faint directions stay at their mean, which helps; the others are start and prior means of the fit.
    fixed, means = expected[:, faint], expected[:, ~faint]
    # As many further factors as the crowd may show, and fewer where features have brought some.
    shown = crowd.signal / _SIGNAL_PER_FACTOR
    shown = max(_FEW_FACTORS, shown - expected.shape[1], shown / 2)
    most = min(crowd.reach / _REACH_PER_FACTOR, shown)
    further = min(rank, n - 1, round(max(min(most, float(rank)), _FEWEST_FACTORS)))
    n_items = max(_FEWEST_ITEMS, further + 1, round(min(_ITEMS_PER_CROWD * crowd.signal, n)))
    kept = np.sort(np.argsort(-variance, kind="stable")[:n_items])
    if len(kept) < n:
        # Of a small crowd only the commonest items speak; features reach the others.
        pairs = pairs[np.ix_(kept, kept)]
    if fixed.shape[1]:  # the pairs say too little of these to move them any further
        faintly = fixed[kept].astype(np.float32)
        pairs -= faintly @ faintly.T
        np.fill_diagonal(pairs, 0)
    factors = np.hstack([means, np.zeros((n, further))])
    fitted, axes = pair_factors(pairs, variance[kept] / scale[kept], means[kept], further)
    # The items that were left out turn with the fit's axes, then the fitted ones are filled in.
    factors = factors @ axes
    factors[kept] = fitted
    whole = np.asarray(np.hstack([factors, fixed]) * np.sqrt(scale)[:, None], dtype=np.float64)
    return ItemFactors(whole, public.by_value(whole / np.sqrt(scale)[:, None]))


class ValueFactors(NamedTuple):
    """Parts of linear scores that features explain: of g_i, (√t_i F_i W + v_i (w − (vᵀ √t F) W))/A_i.

    Attributes:
        factors: W, shape (n_values, rank).
        direction: w, shape (rank,).
        diagonal: A, shape (n,).

    Privacy: post-processing.
    """

    factors: Floats
    direction: Floats
    diagonal: Floats


class LinearWeights(NamedTuple):
    """Scores that are linear in a user's items and in the length of their vector.

    score_j = b_j ⟨Σ_i a_i x_i g_i + |a ∘ x| h, g_j⟩.

    Attributes:
        factors: g, shape (n, rank).
        inputs: a, shape (n,).
        outputs: b, shape (n,).
        intercept: h, shape (rank,).

    Privacy: post-processing.
    """

    factors: Floats
    inputs: Floats
    outputs: Floats
    intercept: Floats


def ease(
    factors: ItemFactors, weights: Muting, popular_part: float, crowd: Crowd
) -> tuple[LinearWeights, ValueFactors]:
    """Solve EASE for a covariance of low rank plus diagonal, in closed form (Steck 2019, eq. 8).

    C = U Λ Uᵀ + A with U = [L, v], Λ = diag(1 − ℓ/T, …, ℓ) and the diagonal A: what the factors leave of
    each item's own variance T t_i/Σ t, plus a ridge. With P = C⁻¹ = A⁻¹ − A⁻¹ H Hᵀ A⁻¹ and
    H = U (Λ⁻¹ + Uᵀ A⁻¹ U)^(−1/2), EASE scores item j by −Σ_i x_i d_i P_ij/(P_jj d_j) over the items i ≠ j.

    A user's part along v has a mean, too: the released cosine times |d ∘ x|. So what a short history does not
    say is filled in by popularity; in the scores this is the intercept.

    Args:
        factors: L, shape (n, k), and B.
        weights: d, v and t.
        popular_part: ℓ, how much of the squared vectors lies along v.
        crowd: the sum T of the squared vectors, and the mean cosine between them and v.
    """
    # Steck 2019, eq. 8: B = I − P diag(P)⁻¹ for P = (XᵀX + λ I)⁻¹, here of the cleaned covariance.
    total = max(crowd.total, 1.0)
    popular_part = min(max(popular_part, 1e-3 * total), 0.95 * total)
    cosine = min(max(crowd.cosine, 0.0), math.sqrt(_MOST_POPULAR * popular_part / total))
    directions = np.column_stack([factors.factors, weights.direction])
    sizes = np.append(np.full(factors.factors.shape[1], 1 - popular_part / total), popular_part)
    # The diagonal was not measured: what users have on item i is T t_i/Σ t, by the counts.
    own_variance = total * weights.variance / weights.variance.sum()
    diagonal = (
        np.maximum(own_variance - (directions**2) @ sizes, _FLOOR * own_variance)
        + RIDGE * own_variance.mean()
    )
    # Λ⁻¹ + Uᵀ A⁻¹ U = R Rᵀ, so H = U R⁻ᵀ and P = A⁻¹ − A⁻¹ H Hᵀ A⁻¹ (Woodbury).
    inner = np.diag(1 / sizes) + directions.T @ (directions / diagonal[:, None])
    root = np.linalg.cholesky(inner)
    loaded = np.linalg.solve(root, directions.T).T
    precision = 1 / diagonal - (loaded**2).sum(axis=1) / diagonal**2  # P_jj, by which eq. 8 divides
    along = np.zeros(len(sizes))
    # E[part along v] = cosine · |d ∘ x|: it enters Λ⁻¹ U in the place of what own items say along v.
    along[-1] = cosine / popular_part
    outputs = 1 / (precision * weights.weights)
    intercept = np.asarray(np.linalg.solve(root, along), dtype=np.float64)
    linear = LinearWeights(loaded / diagonal[:, None], weights.weights, outputs, intercept)
    values = np.pad(factors.values, ((0, 1), (0, 1)))
    # The last direction is v itself, so it has a row and a column of its own.
    values[-1, -1] = 1
    loaded_values = np.asarray(np.linalg.solve(root, values.T).T, dtype=np.float64)
    return linear, ValueFactors(loaded_values[:-1], loaded_values[-1], diagonal)
