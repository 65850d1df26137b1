"""Rankers beside which hushrec's is judged, on one protocol of top-N recommendation.

    python -m lab bench top_n_peers [--draws 5] [--data ratings.parquet --out results.csv] [--likes 4]
    python -m lab bench top_n_peers --search METHOD [--trials 40] [--epsilon 1 4]

Without privacy: popularity, cosine item-kNN, EASE (Steck 2019) and iALS, which is the library implicit's,
tuned. With user-level privacy, add-remove, at δ = 1e-6: popularity, and DP-ALS (Chien et al. 2021) with every
measurement charged, once with the best settings at each ε and once with the same at all. The protocol is that
of ``top_n.protocol``. Settings were chosen by ``--search`` on the validation people of draw 0; that choice is
not charged.

Results go to ``lab/scoreboard/top_n_peers.csv``, one row per method, ε, draw and metric; the error is that
over the people of a draw. ``implicit`` is left out where it is not installed.
"""

import argparse
import csv
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy.sparse import csr_matrix
from top_n.least_squares import DPALS
from top_n.protocol import likes, measured, people

from hushrec.privacy.accounting.accountant import gaussian_mu

ROOT = Path(__file__).resolve().parents[2]
DATA, RESULTS = ROOT.parent / "shared/data/ml-1m.parquet", ROOT / "lab/scoreboard/top_n_peers.csv"
EPSILONS, DELTA = (0.5, 1.0, 2.0, 4.0, 8.0, 20.0), 1e-6
METRICS = "recall@20", "recall@50", "nDCG@100"
REFERENCE = {"EASE": 0.419, "iALS": 0.409, "item-kNN": 0.362}
"""nDCG@100 on MovieLens 1M that a right implementation reaches."""

EASE_PENALTY = 650.0
NEIGHBOURS = 200
FACTORS = {"factors": 64, "alpha": 6.2, "regularization": 4.2, "iterations": 30}
DP_ALS = {
    0.5: DPALS(8, 2, 0.63, 22.0, 0.057, 0.0, 0.053, 0.384, 0.8),
    1.0: DPALS(9, 3, 1.1, 16.0, 0.028, -0.25, 0.11, 0.12, 0.9),
    2.0: DPALS(22, 2, 0.71, 12.0, 0.044, 0.0, 0.143, 0.08, 0.95),
    4.0: DPALS(29, 3, 0.54, 6.5, 0.023, -0.25, 0.27, 0.05, 0.99),
    8.0: DPALS(39, 3, 0.31, 5.5, 0.031, -0.25, 0.2, 0.08, 0.95),
    20.0: DPALS(29, 4, 0.59, 6.1, 0.041, -0.5, 0.26, 0.05, 0.95),
}
ONE = 4.0
"""DP-ALS with one setting for all ε has that of this one."""


class Popularity:
    """How many like an item; with privacy, the sum of unit rows, Δ = 1, with all of μ."""

    def fit(self, train: csr_matrix, mu: float = math.inf, seed: int = 0) -> np.ndarray:
        if mu == math.inf:
            return np.asarray(train.sum(0)).ravel()
        share = 1 / np.sqrt(np.diff(train.indptr))
        return train.T @ share + np.random.default_rng([seed, 3]).normal(0, 1 / mu, train.shape[1])

    def scores(self, model: np.ndarray, given: csr_matrix) -> np.ndarray:
        return np.tile(model, (given.shape[0], 1))


class Similarities:
    """Scores are sums of item-item weights over what is folded in."""

    def scores(self, model: np.ndarray, given: csr_matrix) -> np.ndarray:
        return given @ model


class EASE(Similarities):
    """Steck 2019, eq. 8: B = −P / diag P with P = (XᵀX + λ)⁻¹, and a zero diagonal."""

    def __init__(self, penalty: float) -> None:
        self.penalty = penalty

    def fit(self, train: csr_matrix, seed: int) -> np.ndarray:
        gram = (train.T @ train).toarray().astype(float)
        gram[np.diag_indices_from(gram)] += self.penalty
        inverse = np.linalg.inv(gram)
        weights = -inverse / np.diag(inverse)
        np.fill_diagonal(weights, 0)
        return weights.astype(np.float32)


class ItemKNN(Similarities):
    """Cosines between items (Sarwar et al. 2001), of the nearest ones of each item."""

    def __init__(self, neighbours: int) -> None:
        self.neighbours = neighbours

    def fit(self, train: csr_matrix, seed: int) -> np.ndarray:
        gram = (train.T @ train).toarray()
        norms = np.sqrt(np.maximum(np.diag(gram), 1))
        cosines = gram / norms / norms[:, None]
        np.fill_diagonal(cosines, 0)
        least = -np.partition(-cosines, self.neighbours, axis=0)[self.neighbours]
        return np.where(cosines > least, cosines, 0).astype(np.float32)


class IALS:
    """Hu, Koren & Volinsky 2008 by the library implicit, whose penalty does not grow with counts."""

    def __init__(self, **settings: float) -> None:
        self.settings = settings

    def fit(self, train: csr_matrix, seed: int):
        from implicit.cpu.als import AlternatingLeastSquares

        model = AlternatingLeastSquares(**self.settings, random_state=seed, num_threads=1)
        model.fit(train, show_progress=False)
        return model

    def scores(self, model, given: csr_matrix) -> np.ndarray:
        return model.recalculate_user(np.arange(given.shape[0]), given) @ model.item_factors.T


def installed(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None


def methods() -> Iterator[tuple[str, float, object, object]]:
    """Name, ε, method and its fit of training rows and a seed."""
    plain = {
        "popularity": Popularity(),
        "item-kNN": ItemKNN(NEIGHBOURS),
        "EASE": EASE(EASE_PENALTY),
    }
    if installed("implicit"):
        plain["iALS"] = IALS(**FACTORS)
    for name, method in plain.items():
        yield name, math.inf, method, lambda train, seed, fit=method.fit: fit(train, seed=seed)
    for epsilon in EPSILONS:
        private = {"popularity": Popularity(), "DP-ALS": DP_ALS[epsilon], "DP-ALS, one setting": DP_ALS[ONE]}
        for name, method in private.items():
            yield name, epsilon, method, partial(method.fit, mu=gaussian_mu(epsilon, DELTA))


def run(liked: csr_matrix, draws: Iterable[int]) -> Iterator[tuple[str, float, int, str, float, float]]:
    """One row per method, ε, draw and metric: the mean over people and its standard error."""
    for draw in draws:
        split = people(liked, draw)
        for name, epsilon, method, fit in methods():
            start = perf_counter()
            found = measured(method.scores(fit(split.train, seed=draw), split.test.given), split.test)
            line = "  ".join(f"{metric} {found[metric].mean():.4f}" for metric in METRICS)
            took = perf_counter() - start
            print(f"draw {draw}  {name:19} ε {epsilon:4g}  {line}  {took:6.1f} s", flush=True)
            for metric, values in found.items():
                error = values.std(ddof=1) / len(values) ** 0.5
                yield name, epsilon, draw, metric, round(values.mean(), 5), round(error, 5)


def table(path: Path = RESULTS) -> str:
    """The results as Markdown: means over the draws ± the standard error of that mean."""
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            values = found.setdefault((row["method"], row["epsilon"]), {})
            values.setdefault(row["metric"], []).append(float(row["value"]))
    lines = [f"| method | ε | {' | '.join(METRICS)} |", f"|---|---|{'---|' * len(METRICS)}"]
    order = list(dict.fromkeys(method for method, _ in found))
    place = {key: (key[1] != "inf", order.index(key[0]), float(key[1])) for key in found}
    for method, epsilon in sorted(found, key=lambda key: place[key]):
        cells = []
        for metric in METRICS:
            draws = np.array(found[method, epsilon][metric])
            error = draws.std(ddof=1) / len(draws) ** 0.5 if len(draws) > 1 else math.nan
            cells.append(f"{draws.mean():.3f} ± {error:.3f}".replace("0.", "."))
        lines.append(f"| {method} | {f'{float(epsilon):g}'.replace('inf', '∞')} | {' | '.join(cells)} |")
    return "\n".join(lines)


def search(liked: csr_matrix, name: str, trials: int, epsilons: list[float]) -> None:
    """Print the nDCG@100 of the validation people of draw 0 for many settings of a method."""
    split, rng = people(liked, 0), np.random.default_rng(0)

    def valued(label, method, fit):
        found = measured(method.scores(fit(split.train, seed=0), split.validation.given), split.validation)
        print(f"{found['nDCG@100'].mean():.4f}  {label}", flush=True)
        return found["nDCG@100"].mean()

    if name == "EASE":
        for penalty in (100, 200, 300, 500, 800):
            valued(penalty, EASE(penalty), EASE(penalty).fit)
    elif name == "item-kNN":
        for neighbours in (20, 50, 100, 200, 500, 1000):
            valued(neighbours, ItemKNN(neighbours), ItemKNN(neighbours).fit)
    elif name == "iALS":
        for _ in range(trials):
            factors, iterations = int(rng.choice([32, 64, 128])), int(rng.choice([10, 20, 30]))
            alpha, penalty = 2 ** rng.uniform(0, 5), 10 ** rng.uniform(0, 2)
            settings = {
                "factors": factors,
                "alpha": alpha,
                "regularization": penalty,
                "iterations": iterations,
            }
            valued(settings, IALS(**settings), IALS(**settings).fit)
    elif name == "DP-ALS":
        for epsilon in epsilons:
            tune(epsilon, valued, trials, rng)
    else:
        raise SystemExit(f"no search for {name!r}; choose EASE, item-kNN, iALS or DP-ALS")


def tune(epsilon: float, valued, trials: int, rng: np.random.Generator) -> None:
    """Start from the settings above, of any ε, and move those that do best; each value is of two noises."""
    mu = gaussian_mu(epsilon, DELTA)

    def tried(method):
        fits = (lambda train, seed, noise=noise: method.fit(train, mu, noise) for noise in (100, 101))
        return np.mean([valued((epsilon, method), method, fit) for fit in fits])

    top, best = max(((tried(method), method) for method in set(DP_ALS.values())), key=lambda pair: pair[0])
    for _ in range(trials):
        moved = {
            at: getattr(best, at) * 10 ** rng.normal(0, 0.15) for at in ("unobserved", "penalty", "clip")
        }
        near = {
            "rank": max(2, round(best.rank * rng.choice([0.75, 1, 1, 1.33]))),
            "steps": max(1, best.steps + int(rng.choice([-1, 0, 0, 1]))),
            "weight": best.weight + float(rng.choice([-0.25, 0, 0, 0.25])),
            "head": round(min(1.0, best.head * float(rng.choice([0.75, 1, 1, 1.33]))), 3),
            "counts": round(min(0.8, best.counts * float(rng.choice([0.6, 1, 1, 1.6]))), 3),
            "right": round(min(0.99, max(0.3, best.right + float(rng.choice([-0.1, 0, 0, 0.05])))), 2),
        }
        method = replace(best, **{at: float(f"{value:.2g}") for at, value in moved.items()}, **near)
        value = tried(method)
        if value > top:
            top, best = value, method
    print(f"best at ε = {epsilon:g}: {top:.4f}  {best}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="Parquet with user, item, rating")
    parser.add_argument("--likes", type=float, default=4.0)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--search")
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--epsilon", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.data != DATA and not (options.out or options.search):
        parser.error(f"{RESULTS.name} is of MovieLens 1M; name another file for these results: --out")
    if not options.data.exists():
        raise SystemExit(
            f"there is no file {options.data}; name ratings as Parquet (user, item, rating): --data"
        )
    liked = likes(options.data, options.likes)
    print(f"{liked.shape[0]:,} people, {liked.shape[1]:,} items, {liked.nnz:,} likes")
    if options.search:
        return search(liked, options.search, options.trials, options.epsilon)
    rows, out = list(run(liked, range(options.draws))), options.out or RESULTS
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["method", "epsilon", "draw", "metric", "value", "error"])
        writer.writerows(rows)
    print(table(out))
    for name, expected in REFERENCE.items() if options.data == DATA else ():
        values = [value for method, _, _, metric, value, _ in rows if (method, metric) == (name, "nDCG@100")]
        if values:
            print(f"{name}: nDCG@100 {np.mean(values):.3f}, expected about {expected:.3f}")


if __name__ == "__main__":
    main()
