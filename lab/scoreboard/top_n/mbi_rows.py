"""Rows of mbi's mixture of products (McKenna's library; RAP of Aydore et al. and Liu et al. 2021).

    python mbi_rows.py SUMS.npz ROWS.npz MU PEOPLE SEED

It runs in an environment of its own, which ``lab/requirements-mbi.txt`` lists. mbi adds no noise and charges
nothing: it fits a distribution to sums that somebody else made private, here ``noisy.weighted_sums``. Its
estimator takes a marginal at a time, and compiled 190 pairs in 100 seconds; all pairs are one product of
matrices here. Parameters, their start and the draw of rows are mbi's.

Privacy: post-processing.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from mbi import Domain
from mbi.extensions.mixture_of_products import MixtureOfProducts
from scipy.sparse import csr_matrix, save_npz

STEPS, RATE = 100, 0.1


class Mixture(MixtureOfProducts):
    """mbi's, with its probabilities as NumPy arrays: its draw reads them one by one."""

    @property
    def products(self) -> dict[str, np.ndarray]:
        return {item: np.asarray(jax.nn.softmax(of, axis=1)) for item, of in self._logits.items()}


def fitted(
    total: float, counts: np.ndarray, pairs: np.ndarray, alpha: float, components: int, mu: float, seed: int
) -> Mixture:
    items = [str(item) for item in range(len(counts))]
    start = MixtureOfProducts.random(Domain(items, [2] * len(items)), total, components, seed)
    first = np.stack([np.asarray(start._logits[item]) for item in items], 1)
    first[:, :, 1] += np.log(np.clip(counts / total, 1e-4, 0.9))
    logits = jnp.asarray(first)
    upper = jnp.triu(jnp.ones(pairs.shape, jnp.float32), 1)
    counts, pairs = jnp.asarray(counts, jnp.float32), jnp.asarray(pairs, jnp.float32)
    descent = optax.adam(RATE)

    def loss(logits):
        likes = jax.nn.softmax(logits, axis=2)[:, :, 1]
        scale = total / components
        off = upper * (scale * likes.T @ likes - pairs)
        return mu**2 / 2 * ((off**2).sum() + alpha * ((scale * likes.sum(0) - counts) ** 2).sum())

    @jax.jit
    def step(logits, state):
        updates, state = descent.update(jax.grad(loss)(logits), state)
        return optax.apply_updates(logits, updates), state

    state = descent.init(logits)
    for _ in range(STEPS):
        logits, state = step(logits, state)
    last = np.asarray(logits)
    return Mixture({item: last[:, at] for at, item in enumerate(items)}, start.domain, start.total)


def main() -> None:
    sums, out, mu, people, seed = sys.argv[1:]
    with np.load(sums) as given:
        total, alpha, components = (given[name].item() for name in ("total", "alpha", "components"))
        model = fitted(total, given["counts"], given["pairs"], alpha, components, float(mu), int(seed))
    drawn = model.synthetic_data(int(people))
    rows = np.stack([drawn.data[item] for item in model.domain.attributes], 1)
    save_npz(out, csr_matrix(rows.astype(np.float32)))


if __name__ == "__main__":
    main()
