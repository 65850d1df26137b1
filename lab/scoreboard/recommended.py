"""The recommended model beside every other model of ratings, on public data sets: RMSE by unit and ε.

    python -m lab bench recommended [--sets ml-100k ml-1m] [--models PosteriorMF] [--splits 0 1 2]
                                 [--data DIR]
    python -m lab bench recommended --sets ml-1m --public features ratings --out more.csv
    python -m lab bench recommended --page

Random 90/10 splits, adjacency add-remove, δ = 1e-6, default settings. The crowd is declared to the nearest
of 1, 2, 5, 10, … people and ratings. Models that list users are given a public list of them. Rows go to
lab/scoreboard/every-set.csv; what is there is not run again. ``--public`` adds what is known of the items:
the publisher's titles and genres, or the ratings of ml-latest-small, taken for public. ``--page`` writes
the tables of lab/scoreboard/every-set.md. Noise is seeded by the split: no release here is private.
"""

import argparse
import math
import time
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
from top_n.stored import append

import hushrec as hr
from hushrec import models
from hushrec.data.split import holdout
from hushrec.errors import HushrecError
from hushrec.evaluation import baselines
from hushrec.evaluation.compare import METRICS
from hushrec.evaluation.protocol import predictions
from lab.experiments import datasets
from lab.experiments.tables import markdown, placed

ROWS, PAGE = (Path(__file__).resolve().with_name(f"every-set.{ending}") for ending in ("csv", "md"))
RECOMMENDED, AVERAGE = "recommended", "item average"
SETS = "ml-100k", "filmtrust", "ml-latest-small", "netflix-sample", "anime", "ml-1m", "ciao"
OTHERS = "ml-latest-small"
"""The set whose ratings are taken for public."""
LISTING = "InputPerturbationMF", "PrivateSGD", "PrivateALS"
"""Models that need a public list of users."""
LEFT_OUT = "PosteriorSampleMF", "AdaptiveFactors"
"""The ε of the first holds only if its chain converges; the second is the recommended model itself."""
UNITS, EPSILONS, DELTA, HELD_OUT = ("record", "user"), (0.5, 1.0, 2.0, 4.0, 8.0, 20.0), 1e-6, 0.1
BUDGETS: tuple[tuple[str | None, float], ...] = (*product(UNITS, EPSILONS), (None, math.inf))
CASE = "data", "public", "unit", "epsilon", "model", "split"
COLUMNS = (*CASE, "chosen", "rmse", "mae", "fit_seconds", "refused")
TYPES = {
    **dict.fromkeys(("epsilon", "rmse", "mae", "fit_seconds"), pl.Float64),
    **dict.fromkeys(("data", "public", "unit", "model", "chosen", "refused"), pl.String),
}
NEAR = 1.002
"""How much worse than the best of the others the recommended model may be."""


def others(unit: str | None) -> list[str]:
    """Models of ratings that add noise and support a unit; without noise, those of any."""
    found = []
    for name in models.MODELS:
        model: Any = models.class_of(name)
        offered = model.feedback == "ratings" and any(unit in (None, each) for each, _ in model.supports)
        if offered and name not in LEFT_OUT:
            found.append(name)
    return found


def declared_near(number: int) -> int:
    """The nearest of 1, 2, 5, 10, … by ratio: what one would say of a number that is about known."""
    steps = [n * 10**k for k in range(19) for n in (1, 2, 5)]
    return min(steps, key=lambda step: abs(math.log(step / max(number, 1))))


@lru_cache(maxsize=1)
def read(name: str, folder: Path | None) -> pl.DataFrame:
    return datasets.table(name, folder)


def domain(name: str, folder: Path | None, *, listed: bool, described: bool) -> hr.Domain:
    """The publisher's range of ids, or the items of the file; no cap."""
    table, known = read(name, folder), dict(datasets.SETS[name].frame)
    if ends := known.pop("items", None):
        items = [str(item) for item in range(ends[0], ends[1] + 1)]
    else:
        items = sorted(table["item"].unique())
    users = sorted(table["user"].unique())
    known |= {"expected_users": declared_near(len(users)), "expected_records": declared_near(len(table))}
    if described:
        said = hr.Domain.from_catalogue(datasets.catalogue(name, folder), max_users=1)
        told = {"titles": said.titles or (), **(said.features or {})}
        mine = {at: dict(zip(said.items, texts, strict=True)) for at, texts in told.items()}
        kept = {at: {item: of[item] for item in items if item in of} for at, of in mine.items()}
        known |= {"titles": kept.pop("titles"), "features": kept}
    return hr.Domain(items, max_per_user=len(items), users=users if listed else None, **known)


@lru_cache(maxsize=1)
def parts(
    name: str, folder: Path | None, split: int, listed: bool, described: bool
) -> tuple[hr.People, hr.People]:
    facts = domain(name, folder, listed=listed, described=described)
    return holdout(hr.load(read(name, folder), facts), HELD_OUT, seed=split)


def public_prior(items: tuple[str, ...], scale: object, folder: Path | None) -> hr.Release:
    """What is learned, without noise, from ratings that are public."""
    facts = hr.Domain(items, scale=scale, max_users=1000, max_per_user=len(items))
    return hr.baseline(hr.load(datasets.table(OTHERS, folder), facts), hr.suggest_model(facts))


def measured(case: dict[str, Any], folder: Path | None) -> dict[str, Any]:
    """RMSE, MAE and processor seconds of a fit, and which model it was; or why it was refused."""
    name, epsilon, split = case["model"], case["epsilon"], case["split"]
    facts = name in LISTING, case["public"] == "features"
    train, test = parts(case["data"], folder, split, *facts)
    if name == AVERAGE:
        return errors(test, baselines.item_average(train, test))
    budget = None
    if math.isfinite(epsilon):
        budget = hr.Budget(epsilon=epsilon, delta=DELTA, unit=case["unit"], adjacency="add-remove")
    own = name == RECOMMENDED
    config = hr.suggest_model(train.domain, budget) if own else models.class_of(name)()
    more = {}
    if case["public"] == "ratings":
        more["prior"] = public_prior(train.domain.items, train.domain.scale, folder)
    start = time.process_time()
    try:
        if budget is None:
            release = hr.baseline(train, config, **more)
        else:
            release = hr.testing.fit(train, config, budget, entropy=hr.testing.Seeded(split), **more)
    except HushrecError as error:
        return {"refused": str(error)}
    seconds = round(time.process_time() - start, 2)
    branches = [decision.name.removeprefix("branch.") for decision in release.statement.decisions]
    chosen = branches[0] if branches else models.name_of(type(config))
    predicted = predictions(release, train=train, test=test)
    return {**errors(test, predicted), "chosen": chosen, "fit_seconds": seconds}


def errors(test: hr.People, predicted: Any) -> dict[str, float]:
    return {name: round(metric(test.numbers(), predicted), 5) for name, metric in METRICS.items()}


def cases(asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Every run, set by set."""
    for split, data in product(asked.splits, asked.sets):
        yield dict(zip(CASE, (data, "", None, math.inf, AVERAGE, split), strict=True))
        for public, (unit, epsilon) in product(["", *asked.public], BUDGETS):
            for model in [RECOMMENDED, *([] if public else asked.models or others(unit))]:
                yield dict(zip(CASE, (data, public, unit, epsilon, model, split), strict=True))


def stored(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, schema_overrides=TYPES).with_columns(pl.col("public").fill_null(""))


def lines(asked: argparse.Namespace, there: set[tuple[object, ...]]) -> Iterator[list[object]]:
    for case in cases(asked):
        if tuple(case.values()) not in there:
            found = measured(case, asked.data)
            yield [*case.values(), *(found.get(name, "") for name in COLUMNS[len(CASE) :])]


def ratios(rows: pl.DataFrame) -> pl.DataFrame:
    """A line a set, unit and ε: the recommended model beside the best other one, means over shared splits."""
    cell = ["data", "unit", "epsilon"]
    rows = rows.filter(pl.col("rmse").is_not_null(), public="")
    mine, average = (rows.filter(model=name) for name in (RECOMMENDED, AVERAGE))
    theirs = rows.filter(~pl.col("model").is_in([RECOMMENDED, AVERAGE]))
    own = mine.select(*cell, "split", branch="chosen", own="rmse")
    both = theirs.join(own, on=[*cell, "split"], nulls_equal=True)
    means = both.group_by(*cell, "model").agg(pl.mean("rmse", "own"), pl.first("branch"))
    best = means.sort(pl.col("rmse") / pl.col("own"), "model").unique(cell, keep="first")
    effects = means.filter(model="GlobalEffects").select(*cell, effects="rmse")
    simple = average.group_by("data").agg(average=pl.mean("rmse"))
    found = best.join(effects, on=cell, how="left", nulls_equal=True)
    found = found.join(simple, on="data", how="left")
    order = pl.col("data").replace_strict({name: at for at, name in enumerate(SETS)})
    return found.sort(order, "epsilon").with_columns(ratio=pl.col("own") / pl.col("rmse"))


def table(rows: pl.DataFrame, unit: str | None) -> str:
    """The recommended model beside effects, the best other model and the item average."""
    header = ["set", "ε", "chosen", "RMSE", "effects", "best other", "RMSE", "ratio"]
    body = []
    for line in ratios(rows).filter(pl.col("unit").eq_missing(pl.lit(unit))).iter_rows(named=True):
        numbers = ("" if line[at] is None else f"{line[at]:.4f}" for at in ("ratio", "average"))
        epsilon = f"{line['epsilon']:g}".replace("inf", "∞")
        first = [line["data"], epsilon, f"`{line['branch']}`", f"{line['own']:.4f}", f"{line['effects']:.4f}"]
        body.append([*first, f"`{line['model']}`", f"{line['rmse']:.4f}", *numbers])
    return markdown([*header, "item average"], body).rstrip()


def marks(rows: pl.DataFrame) -> str:
    """In how many cells the recommended model is near the best other one, and at most effects."""
    found = ratios(rows)
    near, at_most = (found["ratio"] <= NEAR).sum(), (found["own"] <= found["effects"]).sum()
    return (
        f"In {near} of {len(found)} cells the recommended model is at most {NEAR:g} times the best other "
        f"model, and in {at_most} it is at most `GlobalEffects`."
    )


def page(rows: pl.DataFrame, text: str) -> str:
    """The page with its tables made anew: each stands between two marks."""
    text = placed(text, "<!-- marks -->", marks(rows))
    for unit in (*UNITS, None):
        text = placed(text, f"<!-- table: {unit or 'no noise'} -->", table(rows, unit))
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of data sets")
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--models", nargs="+", default=[])
    parser.add_argument("--public", nargs="+", default=[], choices=["features", "ratings"])
    parser.add_argument("--splits", type=int, nargs="+", default=[0])
    parser.add_argument("--out", type=Path, default=ROWS)
    parser.add_argument("--page", action="store_true", help="write the tables")
    asked = parser.parse_args()
    if asked.page:
        PAGE.write_text(page(stored(asked.out), PAGE.read_text("utf-8")), "utf-8")
        return
    there = set(stored(asked.out).select(CASE).rows()) if asked.out.exists() else set()
    append(asked.out, COLUMNS, lines(asked, there))


if __name__ == "__main__":
    main()
