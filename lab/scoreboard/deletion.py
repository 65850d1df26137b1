"""A person asks to be deleted: seconds, how good lists stay, and what an attack still sees of them.

    python -m lab bench deletion [--data FILE --name NAME] [--epsilon 1] [--worlds 8] [--held-out 100]
    python -m lab bench deletion --page

Likes, and the protocol of ``top_n.protocol``. A fifth of the people may ask. In each world each of them is,
by a coin, among those who trained and then ask to be deleted, or never trained; of all others who train, nine
tenths are drawn. EASE is trained on those who stay and those who ask, then *again* without the latter, or
*downdated*: (XᵀX + λ)⁻¹ changes by one outer product a person (Sherman & Morrison 1950). A release of
``PrivateEASE`` at ε for whole people stays as it is, and the next one is of those who stay.

The attack is the likelihood ratio of ``lab.attacks.membership``, with the other worlds as shadows: did this
person ever train? It sees one model, or how far the margin of the person moved between two.
Rows go to ``lab/attacks/deletion.csv``; ``--page`` writes the tables of ``lab/attacks/deletion.md``. Noise is
seeded: no release here is private.
"""

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from time import process_time

import numpy as np
import polars as pl
from membership import ATTACKS, read, without_themselves
from scipy.sparse import csr_matrix
from top_n import protocol
from top_n.peers import EASE, EASE_PENALTY
from top_n.protocol import AT_LEAST, DATA, DELTA, interactions, likes, measured, people, scores
from top_n.stored import append

import hushrec as hr
from hushrec.documents.odds import FALSE_POSITIVES
from hushrec.testing import Seeded
from lab.attacks.membership import Success, bound, interval, likelihood_ratios, margins, success
from lab.experiments.tables import markdown, placed

ROWS, PAGE = ATTACKS / "deletion.csv", ATTACKS / "deletion.md"
COLUMNS = "data", "model", "epsilon", "seen", "world", "metric", "value"
ASK, STAY = 0.2, 0.9
NOTHING = Success(0.5, FALSE_POSITIVES)
"""What an attack may reach on a model that never had the person."""
REQUESTS = 3
"""Requests that are timed, in CPU seconds, one after the other."""


def downdated(inverse: np.ndarray, rows: csr_matrix) -> np.ndarray:
    """(XᵀX + λ)⁻¹ without some rows of X, one row at a time."""
    found = inverse.copy()
    for row in rows:
        reached = found[:, row.indices].sum(1)
        found += np.outer(reached, reached / (1 - reached[row.indices].sum()))
    return found


def weights(inverse: np.ndarray) -> np.ndarray:
    """EASE's B of P = (XᵀX + λ)⁻¹."""
    found = -inverse / np.diag(inverse)
    np.fill_diagonal(found, 0)
    return found


def inverted(rows: csr_matrix) -> np.ndarray:
    gram = (rows.T @ rows).toarray().astype(float)
    return np.linalg.inv(gram + EASE_PENALTY * np.eye(len(gram)))


def requests(rows: csr_matrix) -> Iterator[tuple[str, float]]:
    """Seconds a request: EASE trained again, downdated, and how far apart their weights are at most."""
    inverse = inverted(rows)
    for at in range(REQUESTS):
        start = process_time()
        quick = weights(downdated(inverse, rows[at : at + 1]))
        middle = process_time()
        again = EASE(EASE_PENALTY).fit(rows[np.arange(rows.shape[0]) != at], seed=0)
        yield "seconds, downdated", middle - start
        yield "seconds, trained again", process_time() - middle
        yield "weights apart", float(abs(quick - again).max())


def released(rows: csr_matrix, epsilon: float, seed: int) -> hr.Release:
    budget = hr.Budget(epsilon=epsilon, delta=DELTA, unit="user", adjacency="add-remove")
    return hr.testing.fit(interactions(rows, {}), hr.PrivateEASE(), budget, entropy=Seeded(seed))


def lines(options: argparse.Namespace) -> Iterator[list[object]]:
    split = people(likes(options.data, options.likes), 0)
    train, rng = split.train, np.random.default_rng(0)
    asking = rng.random(train.shape[0]) < ASK
    asking &= np.diff(train.indptr) >= AT_LEAST
    candidates, others = train[np.flatnonzero(asking)], np.flatnonzero(~asking)
    asked = rng.random((options.worlds, candidates.shape[0])) < 0.5
    drawn = rng.random((options.worlds, len(others))) < STAY
    print(f"{train.shape[0]:,} people, {candidates.shape[0]:,} of them may ask")
    for metric, value in requests(train):
        yield [options.name, "EASE", math.inf, "", 0, metric, round(value, 9)]
    for epsilon in (math.inf, *options.epsilon):
        name, seen = "EASE" if math.isinf(epsilon) else "PrivateEASE", {}
        for world, (who, there) in enumerate(zip(asked, drawn, strict=True)):
            stay = train[others[there]]
            both = train[np.concatenate([others[there], np.flatnonzero(asking)[who]])]
            for when, rows in (("before", both), ("after", stay)):
                start = process_time()
                if math.isinf(epsilon):
                    learned = weights(inverted(rows))
                    ranked, known = split.test.given @ learned, candidates @ learned
                else:
                    seed = 10_000 * (when == "after") + 100 * world + round(10 * epsilon)
                    release = released(rows, epsilon, seed)
                    ranked, known = scores(release, split.test.given), without_themselves(release, candidates)
                if when == "after":
                    yield [
                        options.name,
                        name,
                        epsilon,
                        when,
                        world,
                        "seconds",
                        round(process_time() - start, 3),
                    ]
                value = float(measured(ranked, split.test)["nDCG@100"].mean())
                yield [options.name, name, epsilon, when, world, "nDCG@100", round(value, 5)]
                seen.setdefault(when, []).append(margins(np.asarray(known), candidates))
        seen["both"] = np.subtract(seen["before"], seen["after"])
        for what, statistic in seen.items():
            for world in range(options.worlds):
                ratios = likelihood_ratios(np.stack(statistic)[..., None], asked, world)
                found = success(ratios, asked[world])
                for metric, value in (("auc", found.auc), ("caught", found.caught)):
                    yield [options.name, name, epsilon, what, world, metric, round(value, 5)]


def table(results: pl.DataFrame, name: str) -> str:
    """By model and what is seen: nDCG, and the attack beside what the guarantee allows."""
    body = []
    some = results.filter((pl.col("seen") != "") & ~pl.col("metric").str.starts_with("seconds"), data=name)
    for (model, epsilon, seen), rows in some.group_by("model", "epsilon", "seen", maintain_order=True):
        lists, auc, caught = (
            rows.filter(metric=metric)["value"].to_numpy() for metric in ("nDCG@100", "auc", "caught")
        )
        limit = NOTHING if seen == "after" else bound(epsilon, DELTA)
        cells = [model, f"{epsilon:g}".replace("inf", "∞"), seen, f"{lists.mean():.3f}" if len(lists) else ""]
        cells += ["{:.3f} ({:.3f} to {:.3f})".format(*interval(auc)), f"{limit.auc:.3f}"]
        shares = "{:.1f} % ({:.1f} to {:.1f})".format(*(max(0, 100 * share) for share in interval(caught)))
        body.append([*cells, shares, f"{100 * limit.caught:.1f} %"])
    head = ["model", "ε", "the attack sees", "nDCG@100", "AUC", "at most", "caught", "at most"]
    return markdown(head, body)


def times(results: pl.DataFrame, name: str) -> str:
    """Median CPU seconds of one request, and of a release."""
    some = results.filter(pl.col("metric").str.starts_with("seconds"), data=name)
    some = some.filter((pl.col("seen") == "") | (pl.col("model") != "EASE"))
    body = []
    for (model, epsilon, metric), rows in some.group_by("model", "epsilon", "metric", maintain_order=True):
        label = model if math.isinf(epsilon) else f"{model}, ε = {epsilon:g}"
        body.append([label, _SAID[metric], f"{rows['value'].median():.3g}"])
    return markdown(["model", "does", "CPU seconds"], body)


_SAID = {
    "seconds, downdated": "downdates at each request",
    "seconds, trained again": "trains again at each request",
    "seconds": "nothing at a request; makes the next release in time",
}


def page(results: pl.DataFrame, text: str) -> str:
    """The page with its tables made anew: each stands between two marks."""
    results = results.with_columns(pl.col("seen").fill_null(""))
    for name in results["data"].unique(maintain_order=True):
        for kind, make in (("seconds", times), ("attack", table)):
            text = placed(text, f"<!-- {kind}: {name} -->", make(results, name))
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--likes", type=float, default=4.0)
    parser.add_argument("--name", default="MovieLens 1M")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1])
    parser.add_argument("--worlds", type=int, default=8)
    parser.add_argument("--held-out", type=int, default=protocol.HELD_OUT, help="people of each part")
    parser.add_argument("--page", action="store_true", help="write the tables")
    options = parser.parse_args()
    protocol.HELD_OUT = options.held_out
    if options.page:
        PAGE.write_text(page(read(ROWS), PAGE.read_text("utf-8")), "utf-8")
        return
    append(ROWS, COLUMNS, lines(options))


if __name__ == "__main__":
    main()
