"""Recommenders that are trained on synthetic people, measured on real people who were held out whole.

    python -m lab bench synthetic_people [--data FILE --likes 4 --name NAME] [--items FILE]
                                         [--epsilon 1 2 4 8] [--draws 5] [--people 20000]
                                         [--held-out 500]
    python -m lab bench synthetic_people --page

Likes, unit user, strong generalisation (``top_n.protocol``), and a release of ``PrivateEASE`` for each ε.
EASE, iALS (the library implicit) and item-kNN are trained on its synthetic people and on the real people.

Penalties that are not means over rows grow with their number. Rows are added to
``lab/scoreboard/synthetic_people.csv``, with facts of the synthetic rows; ``--page`` writes the tables of
``lab/scoreboard/synthetic_people.md``. Noise is seeded: no release here is private.
"""

import argparse
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from scipy.sparse import csr_matrix
from top_n import protocol
from top_n.peers import EASE, EASE_PENALTY, FACTORS, IALS, NEIGHBOURS, ItemKNN, installed
from top_n.protocol import (
    AT_LEAST,
    DATA,
    DELTA,
    Fold,
    People,
    Texts,
    interactions,
    likes,
    measured,
    people,
    scores,
    texts,
)
from top_n.stored import append

import hushrec as hr
from hushrec.testing import Seeded
from lab.experiments.tables import markdown, placed

ROWS, PAGE = (Path(__file__).resolve().with_name(f"synthetic_people.{ending}") for ending in ("csv", "md"))
COLUMNS = "data", "epsilon", "draw", "rows", "measured", "metric", "value"
KEPT = 50
"""Likes that a person keeps before their row is randomized."""
MODELS = "EASE", "iALS", "item-kNN"


def trained(name: str, rows: csr_matrix, given: csr_matrix, *, real: bool) -> np.ndarray:
    """Scores of held-out people by a model of some rows."""
    n = rows.shape[0]
    if name == "EASE":
        return given @ EASE(EASE_PENALTY if real else n / 10).fit(rows, seed=0)
    if name == "item-kNN":
        return given @ ItemKNN(NEIGHBOURS).fit(rows, seed=0)
    settings = {"factors": 32, "alpha": 2.0, "regularization": 30 * math.sqrt(n / 5000), "iterations": 15}
    model = IALS(**(FACTORS if real else settings))
    return model.scores(model.fit(rows, seed=0), given)


def synthetic(release: hr.Release, n_people: int, seed: int) -> csr_matrix:
    blocks = list(release.synthesize(n_people, seed=seed).blocks())
    items = np.concatenate([block.items for block in blocks])
    ends = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(block.indptr) for block in blocks]))])
    return csr_matrix((np.ones(len(items), np.float32), items, ends), (n_people, len(release.items)))


def randomized(train: csr_matrix, epsilon: float, fold: Fold, rng: np.random.Generator) -> np.ndarray:
    """Scores by EASE of randomized rows, made unbiased; another person's row differs in 2 × 50 cells.

    The penalty is the one that does best on the people who are measured.
    """
    rows = np.zeros(train.shape, np.float32)
    for person, (start, end) in enumerate(zip(train.indptr[:-1], train.indptr[1:], strict=True)):
        own = train.indices[start:end]
        rows[person, rng.permutation(own)[:KEPT]] = 1
    flip = 1 / (1 + math.exp(epsilon / (2 * KEPT)))
    rows = np.abs(rows - (rng.random(rows.shape, dtype=np.float32) < flip))
    rows = (rows - flip) / (1 - 2 * flip)
    gram = (rows.T @ rows).astype(np.float64)
    gram[np.diag_indices_from(gram)] = np.maximum(rows.sum(0), 0)
    best, found = -1.0, None
    for penalty in 650.0 * 4.0 ** np.arange(12):
        ridged = gram + penalty * np.eye(len(gram))
        inverse = np.linalg.inv(ridged)
        weights = -inverse / np.diag(inverse)
        np.fill_diagonal(weights, 0)
        tried = fold.given @ weights.astype(np.float32)
        value = measured(tried, fold)["nDCG@100"].mean()
        if value > best:
            best, found = value, tried
    return found


def alike(rows: csr_matrix, real: csr_matrix, others: csr_matrix) -> Iterator[tuple[str, float]]:
    """What synthetic rows share with real ones, and how near they are to those who trained and did not."""
    popular, true = (np.asarray(of.mean(0)).ravel() for of in (rows, real))
    yield "popularity apart", float(abs(popular / popular.sum() - true / true.sum()).sum() / 2)
    yield "mean items", float(rows.sum() / rows.shape[0])
    yield "items of real people", float(real.sum() / real.shape[0])
    yield "catalogue covered", float((popular > 0).mean())
    head = np.argsort(-true)[:200]
    pairs = [np.corrcoef(of[:, head].toarray().T)[np.triu_indices(200, 1)] for of in (rows, real)]
    yield "correlation of pairs", float(np.corrcoef(*pairs)[0, 1])
    sized = rows / np.sqrt(np.maximum(rows.sum(1), 1))
    eligible = np.flatnonzero(np.diff(real.indptr) >= AT_LEAST)  # as the held-out people are
    trained_on = real[np.random.default_rng(0).choice(eligible, others.shape[0], replace=False)]
    for name, of in (("nearest to training", trained_on), ("nearest to held-out", others)):
        near = (of / np.sqrt(np.maximum(of.sum(1), 1))) @ csr_matrix(sized).T
        yield name, float(near.max(axis=1).toarray().mean())


def lines(options: argparse.Namespace) -> Iterator[tuple[object, ...]]:
    liked, public = likes(options.data, options.likes), texts(options.data, options.items)
    for draw in range(options.draws):
        split = people(liked, draw)
        for epsilon, rows, name, found in models(split, public, options, draw):
            if isinstance(found, dict):
                values = found
            else:
                each = measured(found, split.test)
                values = {metric: float(each[metric].mean()) for metric in ("recall@20", "nDCG@100")}
            for metric, value in values.items():
                yield options.name, epsilon, draw, rows, name, metric, round(value, 5)


def models(
    split: People, public: Texts, options: argparse.Namespace, draw: int
) -> Iterator[tuple[float, str, str, np.ndarray | dict[str, float]]]:
    """ε, the rows, the model, and its scores of the test people, or facts about the rows."""
    train, given = split.train, split.test.given
    others = split.validation.given + split.validation.hidden
    names = [name for name in MODELS if installed("implicit") or name != "iALS"]
    for name in names:
        yield math.inf, "real", name, trained(name, train, given, real=True)
    for epsilon in options.epsilon:
        budget = hr.Budget(epsilon=epsilon, delta=DELTA, unit="user", adjacency="add-remove")
        entropy = Seeded(1000 * draw + round(10 * epsilon))
        release = hr.testing.fit(interactions(train, public), hr.PrivateEASE(), budget, entropy=entropy)
        rows = synthetic(release, options.people, draw)
        yield epsilon, "release", "its own lists", scores(release, given)
        yield epsilon, "synthetic", "rows", dict(alike(rows, train, others))
        for name in names:
            yield epsilon, "synthetic", name, trained(name, rows, given, real=False)


def table(results: pl.DataFrame, name: str) -> str:
    """nDCG@100 of releases, of models of synthetic rows as shares of it, and of real rows."""
    some = results.filter(data=name, metric="nDCG@100")
    draws = some["draw"].n_unique()
    own = some.filter(rows="release").select("epsilon", "draw", own="value")
    shares = (
        some.filter(rows="synthetic")
        .join(own, on=("epsilon", "draw"))
        .with_columns(share=pl.col("value") / pl.col("own"))
    )
    head = ["ε", "release", *(f"{model}, share of it" for model in MODELS), "item-kNN, share of real rows"]
    body = []
    real = {model: _mean(some.filter(rows="real", measured=model)["value"]) for model in MODELS}
    for epsilon in sorted(set(own["epsilon"])):
        at = shares.filter(epsilon=epsilon)
        cells = [f"{epsilon:g}", f"{_mean(own.filter(epsilon=epsilon)['own']):.3f}"]
        for model in MODELS:
            each = at.filter(measured=model)["share"]
            cells.append(f"{_mean(each):.3f} ({each.min():.3f} to {each.max():.3f})")
        knn = _mean(at.filter(measured="item-kNN")["value"]) / real["item-kNN"]
        body.append([*cells, f"{knn:.3f}"])
    rows = ", ".join(f"{model} {value:.3f}" for model, value in real.items())
    said = f"Means of {draws} draws, with the smallest and the largest. On real rows: {rows}."
    return f"{markdown(head, body)}\n{said}"


def _mean(values: pl.Series) -> float:
    return float(np.mean(values.to_numpy()))


def facts(results: pl.DataFrame, name: str) -> str:
    """Means of what rows share with real people, by ε."""
    some = results.filter(data=name, measured="rows")
    epsilons = sorted(set(some["epsilon"]))
    body = []
    for metric in some["metric"].unique(maintain_order=True):
        at = (_mean(some.filter(metric=metric, epsilon=epsilon)["value"]) for epsilon in epsilons)
        body.append([metric, *(f"{value:.4g}" for value in at)])
    return markdown(["ε", *(f"{epsilon:g}" for epsilon in epsilons)], body)


def page(results: pl.DataFrame, text: str) -> str:
    """The page with its tables made anew: each stands between two marks."""
    for name in results["data"].unique(maintain_order=True):
        for kind, make in (("table", table), ("facts", facts)):
            text = placed(text, f"<!-- {kind}: {name} -->", make(results, name))
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--likes", type=float, default=4.0)
    parser.add_argument("--name", default="MovieLens 1M")
    parser.add_argument("--items", type=Path)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--held-out", type=int, default=protocol.HELD_OUT, help="people of each part")
    parser.add_argument("--page", action="store_true", help="write the tables")
    options = parser.parse_args()
    protocol.HELD_OUT = options.held_out
    if options.page:
        results = pl.read_csv(ROWS, schema_overrides={"epsilon": pl.Float64})
        PAGE.write_text(page(results, PAGE.read_text("utf-8")), "utf-8")
        return
    append(ROWS, COLUMNS, lines(options))


if __name__ == "__main__":
    main()
