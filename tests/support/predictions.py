"""What the docstrings of predictors say, computed item by item, and made-up users who ask."""

import numpy as np

N = 7
EVERYTHING = np.arange(N)


def dense(release, name, packed):
    """A symmetric item × item matrix of a release, cell by cell."""
    n = len(release.items)
    if name in release.tensors:
        factors = release.tensors[name].astype(np.float64)
        return factors @ factors.T
    matrix, cells = np.zeros((n, n)), iter(release.tensors[packed].tolist())
    for i in range(n):
        for j in range(i, n):
            matrix[i, j] = matrix[j, i] = next(cells)
    return matrix


def conditional(release, rated, ratings):
    """E[μ + b + z | r], by conditioning the joint normal law of all items on the rated ones."""
    constants = release.constants
    mean = release.tensors["item_effects"].astype(np.float64) + constants["user_mean"]
    law = dense(release, "item_factors", "covariance") + constants["user_variance"] * np.ones((N, N))
    seen = law[np.ix_(rated, rated)] + np.diag(release.tensors["item_noise"].astype(np.float64)[rated])
    return mean + law[:, rated] @ np.linalg.inv(seen) @ (ratings - mean[rated])


def kriged(release, rated, ratings, k):
    """The docstring's formula, target by target."""
    constants = release.constants
    mean = release.tensors["item_effects"].astype(np.float64) + constants["user_mean"]
    covariance = dense(release, "item_factors", "covariance")
    similarity = dense(release, "similarity_factors", "similarity")
    residuals = ratings - mean[rated]
    # b ~ N(0, user_variance), each residual b + N(0, bias_noise): the posterior mean of b.
    level = residuals.sum() / (len(rated) + constants["bias_noise"] / constants["user_variance"])
    found = []
    for target in range(N):
        nearest = sorted(range(len(rated)), key=lambda j: -similarity[target, rated[j]])[:k]
        items = [rated[j] for j in nearest]
        system = covariance[np.ix_(items, items)] + np.diag(release.tensors["item_noise"][items])
        weights = np.linalg.solve(system, covariance[items, target])
        found.append(mean[target] + level + weights @ (residuals[nearest] - level))
    return np.array(found)


def chosen(release, rated, ratings, k=None, raised=2.0):
    """log n + 2 z/span, with z = E[z | r + raised], the level left out; from k neighbours of each, or all."""
    residuals = ratings - release.tensors["item_effects"][rated] - release.constants["user_mean"] + raised
    law = dense(release, "item_factors", "covariance")
    similarity = law if k is None else dense(release, "similarity_factors", "similarity")
    found = np.log(release.tensors["item_popularity"].astype(np.float64))
    for target in range(N):
        near = sorted(range(len(rated)), key=lambda j: -similarity[target, rated[j]])[:k]
        items = [rated[j] for j in near]
        system = law[np.ix_(items, items)] + np.diag(release.tensors["item_noise"][items].astype(float))
        found[target] += 2 / 4 * law[target, items] @ np.linalg.solve(system, residuals[near])
    return found


def added_by_each(release, rated, ratings, k):
    """Where each target starts, and w (r − μ − b) of each of its k nearest rated items, one at a time."""
    constants = release.constants
    mean = release.tensors["item_effects"].astype(np.float64) + constants["user_mean"]
    noise = release.tensors["item_noise"].astype(np.float64)
    covariance = dense(release, "item_factors", "covariance")
    residuals = ratings - mean[rated]
    if release.kind.startswith("factors"):
        variance = constants["user_variance"]
        law = covariance[np.ix_(rated, rated)] + variance + np.diag(noise[rated])
        level = variance * np.linalg.solve(law, residuals).sum()
        nearness = np.ones((N, N))
    else:
        level = residuals.sum() / (len(rated) + constants["bias_noise"] / constants["user_variance"])
        nearness = dense(release, "similarity_factors", "similarity")
    added = np.zeros((len(rated), N))
    for target in range(N):
        nearest = sorted(range(len(rated)), key=lambda j: -nearness[target, rated[j]])[:k]
        items = [rated[j] for j in nearest]
        weights = np.linalg.solve(
            covariance[np.ix_(items, items)] + np.diag(noise[items]), covariance[items, target]
        )
        added[nearest, target] = weights * (residuals[nearest] - level)
    return mean + level, added


def people(seed=0):
    """Who rated what, from nothing to everything, in any order."""
    rng = np.random.default_rng(seed)
    for count in range(N + 1):
        rated = rng.permutation(N)[:count]
        yield rated, rng.integers(1, 6, count).astype(np.float64)
