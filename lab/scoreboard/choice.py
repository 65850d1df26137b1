"""Which model predicts best on which generated crowd, and what the first sums of ``AdaptiveFactors`` chose.

    python -m lab bench choice [--users 1000 10000 100000 500000] [--items 500 2000 10000 50000]
                                [--each 5 20 100] [--epsilon 0.5 1 2 4 8 20] [--most 20000000]
    python -m lab bench choice --show

Every combination of users, items, ratings per user, unit and ε, for effects alone, for models of factors, and
for ``AdaptiveFactors``, which is fitted once more where no crowd is declared and the bound on users is four
times their number. The rows go to lab/scoreboard/choice.csv; what is there is not run again. ``--show``
prints, by the branch that was taken, how much worse each model was than the best of the other three.
"""

import argparse
import math
import time
from itertools import product
from pathlib import Path

import polars as pl

import hushrec as hr
from hushrec.data.split import holdout
from hushrec.data.synthetic import round_up
from hushrec.errors import HushrecError

RESULTS = Path(__file__).resolve().with_name("choice.csv")
ADAPTIVE, UNDECLARED = "AdaptiveFactors", "AdaptiveFactors, undeclared"
MODELS = {
    "record": ("GlobalEffects", "CovarianceSVD", ADAPTIVE, UNDECLARED),
    "user": ("GlobalEffects", "CovarianceSVD", "PosteriorMF", ADAPTIVE, UNDECLARED),
}
BOUND = 4
"""Times the number of users: the bound on them, where no crowd is declared."""
UNITS = "record", "user"
SEED = 7
HELD_OUT, ENOUGH = 0.1, 200_000
"""Share of the ratings that are predicted, and the most of them."""
SCHEMA = {
    **dict.fromkeys(("users", "items", "ratings"), pl.Int64),
    "unit": pl.String,
    "epsilon": pl.Float64,
    **dict.fromkeys(("model", "branch"), pl.String),
    "signal": pl.Float64,
    **dict.fromkeys(("rmse", "seconds"), pl.Float64),
}
CASE = ["users", "items", "ratings", "unit", "epsilon"]


def crowd(users: int, items: int, ratings: int, seed: int = SEED) -> tuple[hr.People, hr.People]:
    """Generated ratings in two parts, with hints that are rounded up, as an owner would declare them."""
    made = hr.synthetic.netflix_like(users, items, ratings, seed=seed)
    hints = {"expected_users": round_up(users), "expected_records": round_up(ratings)}
    domain = hr.Domain(
        made.domain.items, scale=(1, 5, 1), max_users=round_up(users), max_per_user=items, **hints
    )
    loaded = hr.People(domain, made.users, made.indptr, made.items, made.values)
    return holdout(loaded, min(HELD_OUT, ENOUGH / ratings), seed=seed)


def undeclared(part: hr.People) -> hr.People:
    """The same ratings under a bound on users alone."""
    domain = part.domain
    bound = round_up(BOUND * domain.max_users)
    domain = hr.Domain(domain.items, scale=(1, 5, 1), max_users=bound, max_per_user=domain.max_per_user)
    return hr.People(domain, part.users, part.indptr, part.items, part.values)


def budget(unit: str, epsilon: float, users: int) -> hr.Budget | None:
    """δ = 1e-6, and 1e-7 from 100,000 users on, for whom 1e-6 is refused."""
    if math.isinf(epsilon):
        return None
    delta = 1e-6 if users < 100_000 else 1e-7
    return hr.Budget(epsilon=epsilon, delta=delta, unit=unit, adjacency="add-remove")


def fitted(
    parts: tuple[hr.People, hr.People], config, terms: hr.Budget | None
) -> tuple[float, float, hr.Release | None]:
    """RMSE and processor seconds of a fit, and the release; NaN and None where it is refused."""
    train, test = parts
    start = time.process_time()
    try:
        if terms is None:
            release = hr.baseline(train, config)
        else:
            release = hr.testing.fit(train, config, terms, entropy=hr.testing.Seeded(SEED))
    except HushrecError as error:
        print("  refused:", error, flush=True)
        return math.nan, math.nan, None
    seconds = time.process_time() - start
    error = hr.evaluate(release, train=train, test=test, metrics=["rmse"])["rmse"]
    return round(error, 5), round(seconds, 2), release


def stored(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, schema_overrides=SCHEMA) if path.exists() else pl.DataFrame(schema=SCHEMA)


def run(asked: argparse.Namespace) -> None:
    """Every combination that is not there yet, small crowds first."""
    sizes = sorted(product(asked.users, asked.items, asked.each), key=math.prod)
    for users, items, each in sizes:
        ratings = users * each
        if each > items // 4 or ratings > asked.most:
            continue
        parts = None
        for unit, epsilon in product(UNITS, asked.epsilon):
            case = dict(zip(CASE, (users, items, ratings, unit, epsilon), strict=True))
            there = stored(asked.out)
            done = there.filter(**case)["model"].to_list()
            rows = []
            for model in (name for name in MODELS[unit] if name not in done):
                parts = parts or crowd(users, items, ratings)
                people = tuple(map(undeclared, parts)) if model == UNDECLARED else parts
                config, terms = getattr(hr, model.partition(",")[0])(), budget(unit, epsilon, users)
                rmse, seconds, release = fitted(people, config, terms)
                told = {"model": model, "branch": "", "signal": None}
                for decision in release.statement.decisions if release else ():
                    told["branch"] = decision.name.removeprefix("branch.")
                    told["signal"] = float(decision.values["signal"])
                rows.append({**case, **told, "rmse": rmse, "seconds": seconds})
                print(*rows[-1].values(), flush=True)
            if rows:
                pl.concat([there, pl.DataFrame(rows, schema=SCHEMA)]).sort(*CASE, "model").write_csv(
                    asked.out
                )


def losses(rows: pl.DataFrame) -> pl.DataFrame:
    """Each row with ``loss``, its error above the best of the models that decide nothing, in percent.

    ``branch`` is the one that ``AdaptiveFactors`` took where the crowd is declared.
    """
    rows = rows.filter(pl.col("rmse").is_not_nan())
    others = rows.filter(~pl.col("model").is_in([ADAPTIVE, UNDECLARED]))
    best = others.group_by(CASE).agg(best=pl.min("rmse"))
    taken = rows.filter(model=ADAPTIVE).select(*CASE, "branch")
    joined = rows.drop("branch").join(best, on=CASE).join(taken, on=CASE)
    return joined.with_columns(loss=100 * (pl.col("rmse") / pl.col("best") - 1))


def show(rows: pl.DataFrame) -> None:
    """By unit and branch: the mean loss of each model against the best of each case."""
    there = losses(rows)
    table = there.pivot("model", index=["unit", "branch"], values="loss", aggregate_function="mean")
    counts = there.filter(model=ADAPTIVE).group_by("unit", "branch").agg(cases=pl.len())
    with pl.Config(
        tbl_rows=-1, float_precision=2, tbl_hide_column_data_types=True, tbl_hide_dataframe_shape=True
    ):
        print("mean loss against the best model of each case, %")
        print(table.join(counts, on=["unit", "branch"]).sort("unit", "branch"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--users", type=int, nargs="+", default=[1_000, 10_000, 100_000, 500_000])
    parser.add_argument("--items", type=int, nargs="+", default=[500, 2_000, 10_000, 50_000])
    parser.add_argument("--each", type=int, nargs="+", default=[5, 20, 100], help="ratings per user")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.5, 1, 2, 4, 8, 20])
    parser.add_argument("--most", type=int, default=20_000_000, help="ratings of the largest crowd")
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    if not asked.show:
        run(asked)
    show(stored(asked.out))


if __name__ == "__main__":
    main()
