"""Lists with public facts: nDCG by ε with nothing, features, other people's clicks, or both.

    python -m lab bench top_n_public [--draws 2] [--epsilon .5 1 2 4 8 20] [--new-items]

MovieLens 1M, likes from 4 stars on, unit user, strong generalisation (``top_n.protocol``). Features are the
genres and titles of its own list of films; titles hold the year. The other people are those of MovieLens
latest-small, whose likes are taken as public; films are matched by title. EASE is the
model without noise. Rows are added to ``lab/scoreboard/top_n_public.csv``; with ``--picture`` they are drawn.
Noise is seeded: no release here is private.

With ``--new-items``, a twentieth of the films is held out whole, and added to the release of the others by
``add_items``. Recall@20 is among the new films alone, of those that test people like, from what they fold in
of the others. Rows are written to ``lab/scoreboard/top_n_new.csv``.
"""

import argparse
import csv
from collections.abc import Iterator
from time import perf_counter

import numpy as np
import polars as pl
from scipy.sparse import csr_matrix, hstack
from top_n.protocol import likes, measured, people
from top_n_models import RESULTS, ROOT, interactions, scores, texts
from top_n_peers import EASE, EASE_PENALTY

import hushrec as hr
from hushrec.testing import Seeded
from lab.experiments.plots import COLOURS, MARKS, REFERENCE, canvas, caption, svg

SETS = ROOT.parent / "shared/data"
ROWS, NEW_ROWS = RESULTS.with_name("top_n_public.csv"), RESULTS.with_name("top_n_new.csv")
VARIANTS = "nothing", "genres, titles", "titles, others' clicks", "genres, titles, others' clicks"
COLUMNS = "variant", "epsilon", "draw", "recall@20", "nDCG@100", "seconds"
NEW_COLUMNS = "ranked by", "epsilon", "draw", "new films", "people", "recall@20"
NEW = 20
"""One film of so many is new."""


def others() -> hr.Release:
    """Which films go together, by people whose likes are public."""
    films = hr.Domain.from_catalogue(SETS / "ml-latest-small/movies.csv", max_users=1000)
    table = pl.read_parquet(SETS / "ml-latest-small.parquet").filter(pl.col("rating") >= 4)
    columns = (pl.col(name).cast(pl.String).alias(f"{name}_id") for name in ("user", "item"))
    return hr.baseline(hr.load(table.select(columns), films), hr.PrivateEASE())


def rows(epsilons: list[float], draws: int) -> Iterator[list[object]]:
    data = SETS / "ml-1m.parquet"
    liked, public, prior = likes(data, 4.0), texts(data, SETS / "ml-1m/movies.dat"), others()
    titles = {"titles": public["titles"]}
    for draw in range(draws):
        split = people(liked, draw)
        exact = measured(split.test.given @ EASE(EASE_PENALTY).fit(split.train, seed=0), split.test)
        yield ["EASE", float("inf"), draw, *(round(exact[name].mean(), 5) for name in COLUMNS[3:5]), ""]
        for epsilon in epsilons:
            budget = hr.Budget(epsilon=epsilon, delta=1e-6, unit="user", adjacency="add-remove")
            for variant in VARIANTS:
                known = {VARIANTS[0]: {}, VARIANTS[2]: titles}.get(variant, public)
                more = prior if variant in VARIANTS[2:] else None
                start = perf_counter()
                entropy = Seeded(1000 * draw + round(10 * epsilon))
                train = interactions(split.train, known)
                release = hr.testing.fit(train, hr.PrivateEASE(), budget, entropy=entropy, prior=more)
                took = perf_counter() - start
                found = measured(scores(release, split.test.given), split.test)
                line = [variant, epsilon, draw, *(round(found[name].mean(), 5) for name in COLUMNS[3:5])]
                print(*line, f"{took:.1f} s", flush=True)
                yield [*line, round(took, 2)]


def part(public: dict[str, object], places: np.ndarray) -> dict[str, object]:
    """Titles and features of some films."""
    features = {name: [texts[at] for at in places] for name, texts in public["features"].items()}
    return {"titles": [public["titles"][at] for at in places], "features": features}


def new_rows(epsilons: list[float], draws: int) -> Iterator[list[object]]:
    data = SETS / "ml-1m.parquet"
    liked, public = likes(data, 4.0), texts(data, SETS / "ml-1m/movies.dat")
    n = liked.shape[1]
    for draw in range(draws):
        split, rng = people(liked, draw), np.random.default_rng(draw)
        new = np.sort(rng.choice(n, n // NEW, replace=False))
        old = np.setdiff1d(np.arange(n), new)
        train = interactions(split.train[:, old].tocsr(), part(public, old))
        given, hidden = (of.tocsc() for of in split.test)
        sought = (given + hidden)[:, new].toarray() > 0
        shown = sought.any(axis=1)
        for epsilon in epsilons:
            budget = hr.Budget(epsilon=epsilon, delta=1e-6, unit="user", adjacency="add-remove")
            entropy = Seeded(1000 * draw + round(10 * epsilon))
            release = hr.testing.fit(train, hr.PrivateEASE(), budget, entropy=entropy)
            longer, _ = hr.add_items(release, [f"new {at}" for at in new], **part(public, new))
            own = csr_matrix(hstack([given[:, old], csr_matrix(sought.shape)]))
            ranked = {
                "features": scores(longer, own)[:, len(old) :],
                "predicted popularity": np.tile(longer.tensors["item_scores"][len(old) :], (len(sought), 1)),
                "chance": rng.random(sought.shape),
                "popularity in the training data": np.tile(split.train[:, new].sum(0), (len(sought), 1)),
            }
            for name, values in ranked.items():
                best = np.argsort(-np.asarray(values), axis=1, kind="stable")[shown, :20]
                hits = np.take_along_axis(sought[shown], best, axis=1).sum(1)
                recall = (hits / np.minimum(sought[shown].sum(1), 20)).mean()
                line = [name, epsilon, draw, len(new), int(shown.sum()), round(float(recall), 5)]
                print(*line, flush=True)
                yield line


def picture(table: pl.DataFrame) -> str:
    """Mean nDCG@100 of all draws against ε."""
    mean = table.group_by("variant", "epsilon").agg(pl.col("nDCG@100").mean()).sort("epsilon")
    with canvas(3.6) as (drawing, (axes,)):
        for variant, colour, mark in zip(VARIANTS, COLOURS, MARKS, strict=False):
            line = mean.filter(variant=variant)
            axes.plot(
                line["epsilon"], line["nDCG@100"], color=colour, marker=mark, markersize=4, label=variant
            )
        exact = mean.filter(variant="EASE")["nDCG@100"][0]
        axes.axhline(exact, **REFERENCE, label="EASE, without noise")
        axes.set_xscale("log")
        axes.set_xticks(sorted(set(mean["epsilon"]) - {np.inf}), labels=None)
        axes.set_xticklabels([f"{e:g}" for e in sorted(set(mean["epsilon"]) - {np.inf})])
        axes.minorticks_off()
        axes.set_xlabel("ε per user")
        axes.set_ylabel("nDCG@100")
        axes.legend(frameon=False, loc="lower right")
        caption(
            drawing,
            "MovieLens 1M, likes, strong generalisation, δ = 1e-6",
            "other people: 610 of latest-small",
        )
        return svg(drawing, "What public facts add to private lists, by ε")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.5, 1, 2, 4, 8, 20])
    parser.add_argument("--new-items", action="store_true", help="measure films that are held out whole")
    options = parser.parse_args()
    path, columns, measure = (NEW_ROWS, NEW_COLUMNS, new_rows) if options.new_items else (ROWS, COLUMNS, rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in measure(options.epsilon, options.draws):
            writer.writerow(row)
            file.flush()


if __name__ == "__main__":
    main()
