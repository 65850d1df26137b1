"""Membership inference against releases, their synthetic people, and EASE and iALS without noise.

    python -m lab bench membership [--data FILE --likes 4 --name NAME] [--epsilon 0.5 1 2 4 8 20]
                                   [--rows 0.5 4 20] [--halves 16] [--people 20000]
    python -m lab bench membership --page

Likes. For each of ``--halves`` draws every person trains by a coin of their own, and every recommender is
trained on those: EASE, iALS (the library implicit), ``PrivateEASE`` at each ε (unit user, δ = 1e-6), and EASE
on synthetic people of the releases at ``--rows``. Each recommender is attacked with those of the other draws
as shadows (``lab.attacks.membership``). The attackers know everybody's rows, and not who trained.

Rows are added to ``lab/attacks/membership.csv`` as each recommender is done, and what is there is not made
again; ``--page`` writes the tables of ``lab/attacks/membership.md``. Noise is seeded: no
release here is private.
"""

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
import polars as pl
from scipy.sparse import csr_matrix
from synthetic_people import synthetic, trained
from top_n.peers import EASE, EASE_PENALTY, installed
from top_n.protocol import AT_LEAST, DATA, DELTA, interactions, likes, scores
from top_n.stored import append

import hushrec as hr
from hushrec.testing import Seeded
from lab.attacks.membership import (
    bound,
    classified,
    differences,
    interval,
    item_vectors,
    likelihood_ratios,
    margins,
    nearest,
    success,
)
from lab.experiments.tables import markdown, placed

ATTACKS = Path(__file__).resolve().parents[1] / "attacks"
ROWS, PAGE = ATTACKS / "membership.csv", ATTACKS / "membership.md"
COLUMNS = "data", "attacked", "epsilon", "attacker", "victim", "auc", "caught"
RANK = 50
"""Length of the vectors of items that are an attacker's own."""
ATTACKERS = {
    "loss": "loss (Yeom et al. 2018)",
    "nearest row": "nearest row",
    "shadow classifier": "difference vectors (Zhang et al. 2021)",
    "likelihood ratio": "likelihood ratio (LiRA, RecLiRA)",
}


def without_themselves(release: hr.Release, rows: csr_matrix) -> np.ndarray:
    """A release's scores of people, each own item's less what the item adds to itself."""
    found = scores(release, rows)
    if release.kind == "item scores":
        return found
    tensors = release.tensors
    itself = tensors["input_weights"] * tensors["output_weights"] * (tensors["item_factors"] ** 2).sum(1)
    return found - rows.multiply(itself).toarray()


def recommender(
    name: str, epsilon: float, train: csr_matrix, pool: csr_matrix, options: argparse.Namespace, seed: int
) -> tuple[np.ndarray, csr_matrix | None]:
    """Scores of everybody by a recommender of those who trained, and the rows that were published."""
    if name == "EASE":
        return pool @ EASE(EASE_PENALTY).fit(train, seed=0), None
    if name == "iALS":
        return trained("iALS", train, pool, real=True), None
    budget = hr.Budget(epsilon=epsilon, delta=DELTA, unit="user", adjacency="add-remove")
    entropy = Seeded(1000 * seed + round(10 * epsilon))
    release = hr.testing.fit(interactions(train, {}), hr.PrivateEASE(), budget, entropy=entropy)
    if name == "PrivateEASE":
        return without_themselves(release, pool), None
    rows = synthetic(release, options.people, seed)
    return trained("EASE", rows, pool, real=False), rows


def attacked(options: argparse.Namespace) -> list[tuple[str, float]]:
    made = [("EASE", math.inf), *([("iALS", math.inf)] if installed("implicit") else [])]
    made += [("PrivateEASE", epsilon) for epsilon in options.epsilon]
    return made + [("synthetic people", epsilon) for epsilon in options.rows]


def attacks(
    name: str, epsilon: float, pool: csr_matrix, members: np.ndarray, options: argparse.Namespace
) -> Iterator[tuple[str, int, np.ndarray]]:
    """Attacker, number of the recommender that is attacked, and the attacker's figure for each person."""
    statistics, vectors = [], []
    for half, inside in enumerate(members):
        start = perf_counter()
        found, rows = recommender(name, epsilon, pool[np.flatnonzero(inside)], pool, options, half)
        each = [margins(found, pool)] + ([nearest(pool, rows)] if rows is not None else [])
        statistics.append(np.stack(each, axis=1))
        vectors.append(differences(found, pool, options.items).astype(np.float32))
        print(f"{name} ε {epsilon:g}, half {half}: {perf_counter() - start:.1f} s", flush=True)
    seen = np.stack(statistics)
    for victim in range(len(members)):
        yield "loss", victim, seen[victim, :, 0]
        if seen.shape[2] > 1:
            yield "nearest row", victim, seen[victim, :, 1]
        shadow = (victim + 1) % len(members)
        guesses = classified(vectors[shadow], members[shadow], vectors[victim], seed=victim)
        yield "shadow classifier", victim, guesses
        yield "likelihood ratio", victim, likelihood_ratios(seen, members, victim)


def lines(options: argparse.Namespace, there: set[tuple[str, str, float]]) -> Iterator[list[object]]:
    liked = likes(options.data, options.likes)
    pool = liked[np.flatnonzero(np.diff(liked.indptr) >= AT_LEAST)]
    members = np.random.default_rng(0).random((options.halves, pool.shape[0])) < 0.5
    options.items = item_vectors(pool, RANK)
    print(f"{pool.shape[0]:,} people, {pool.shape[1]:,} items, {pool.nnz:,} likes")
    for name, epsilon in attacked(options):
        if (options.name, name, epsilon) in there:
            continue
        made = []
        for attacker, victim, suspicion in attacks(name, epsilon, pool, members, options):
            found = success(suspicion, members[victim])
            numbers = round(found.auc, 5), round(found.caught, 5)
            made.append([options.name, name, epsilon, attacker, victim, *numbers])
        yield from made


def read(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, schema_overrides={"epsilon": pl.Float64})


def table(results: pl.DataFrame, name: str) -> str:
    """Area under the curve, and members caught at 1 % false positives, of each attacker next to the bound."""
    some = results.filter(data=name)
    body = []
    for (what, epsilon, attacker), rows in some.group_by(
        "attacked", "epsilon", "attacker", maintain_order=True
    ):
        limit = bound(epsilon, DELTA)
        cells = [what, f"{epsilon:g}".replace("inf", "∞"), ATTACKERS[attacker]]
        for metric, most in (("auc", limit.auc), ("caught", limit.caught)):
            mean, low, high = interval(rows[metric].to_numpy())
            if metric == "auc":
                cells += [f"{mean:.3f} ({low:.3f} to {high:.3f})", f"{most:.3f}"]
            else:
                shares = [f"{100 * share:.1f}" for share in (mean, low, high, most)]
                cells += ["{} % ({} to {})".format(*shares[:3]), f"{shares[3]} %"]
        body.append(cells)
    return markdown(["attacked", "ε", "attacker", "AUC", "at most", "caught", "at most"], body)


def page(results: pl.DataFrame, text: str) -> str:
    """The page with its tables made anew: each stands between two marks."""
    for name in results["data"].unique(maintain_order=True):
        text = placed(text, f"<!-- table: {name} -->", table(results, name))
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--likes", type=float, default=4.0)
    parser.add_argument("--name", default="MovieLens 1M")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.5, 1, 2, 4, 8, 20])
    parser.add_argument("--rows", type=float, nargs="*", default=[0.5, 4, 20])
    parser.add_argument("--halves", type=int, default=16)
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--out", type=Path, default=ROWS)
    parser.add_argument("--page", action="store_true", help="write the tables")
    options = parser.parse_args()
    if options.page:
        results = read(options.out)
        PAGE.write_text(page(results, PAGE.read_text("utf-8")), "utf-8")
        return
    there = (
        set()
        if not options.out.exists()
        else set(read(options.out).select("data", "attacked", "epsilon").unique().rows())
    )
    append(options.out, COLUMNS, lines(options, there))


if __name__ == "__main__":
    main()
