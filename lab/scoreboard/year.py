"""What a year of 52 releases that take over each other's sums loses to one release at the same total.

    python -m lab bench year [--data FOLDER] [--out year.csv] [--scenes whole "1000 static"] [--draws 0 1]
    python -m lab bench year --table [--out year.csv]

The crowds are made of MovieLens 1M: they stay, films enter, likes drift, people join (``SCENES``). Half of
μ² goes to the first release, equal shares to the rest. All 52 are made, but of lists of the whole catalogue,
which takes long: there the crowd stays, and the releases between two ``ENDS`` are drawn as one, with the sum
of their shares. (Where a crowd moves, that would flatter: it measures the last week's crowd alone.) One row a
scene, model, unit, ε, draw, week and metric goes to ``lab/scoreboard/year.csv``; at the ``ENDS`` beside one
release of that week's crowd at the total, one at an equal share that takes nothing over, and ``Popularity``
at the total. What is there is not run again. ``--table`` prints the losses. δ = 1e-6, add-remove. Lists are
tried on 1,000 people who are held out, predictions on a tenth of the ratings. Noise is seeded: no release
here is private.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow.compute as pc
from numpy.random import default_rng

import hushrec as hr
from hushrec.arrays import Bools, Floats, Ints32
from hushrec.data.people import People
from hushrec.data.split import held_out_people, holdout
from hushrec.data.synthetic import round_up
from hushrec.models.base import PrivateModel
from hushrec.privacy.accounting.accountant import budget_of, largest_cost
from hushrec.privacy.accounting.budget import Unit
from hushrec.testing import Seeded
from lab.experiments.tables import markdown
from lab.scoreboard.top_n.stored import append

ROOT = Path(__file__).resolve().parents[2]
DATA, RESULTS = ROOT.parent / "shared/data", ROOT / "lab/scoreboard/year.csv"
WEEKS = 52
ENDS = (1, 2, 10, 20, 30, 40, WEEKS)
"""Weeks at which releases are compared with others."""
FIRST = 0.5
"""Part of μ² of the first release."""
LIKED = 4
"""The lowest rating that is a like."""
HELD_OUT, HIDDEN = 1_000, 0.1
"""People on whom lists are tried, and the part of all ratings that is predicted."""
ENTERING, JITTER = 0.2, 3.0
"""Part of the films that enter over the year; deviation, in years, of the order in which films are liked."""
LISTS, ERRORS = ("ndcg@100", "recall@20"), ("rmse",)
MODELS: Mapping[str, type[PrivateModel]] = {
    "PrivateEASE": hr.PrivateEASE,
    "Popularity": hr.Popularity,
    "GlobalEffects": hr.GlobalEffects,
    "CovarianceSVD": hr.CovarianceSVD,
}
CASE = ("scene", "model", "unit", "epsilon", "draw", "week", "metric")
FOUND = ("continued", "one", "equal", "popularity")
TYPES: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("scene", "model", "unit", "metric"), pl.String),
    **dict.fromkeys(("draw", "week"), pl.Int64),
    **dict.fromkeys(("epsilon", *FOUND), pl.Float64),
}
Films = Mapping[int, int]
"""In which year each film came out."""


class Parts(NamedTuple):
    """People to fit; what those fold in on whom it is tried, and what is to be found of them."""

    train: People
    known: People
    sought: People


class Year(NamedTuple):
    """A crowd over a year: ``at(f)`` is it after a part f of the year, from 0 to 1."""

    at: Callable[[float], Parts]


class Case(NamedTuple):
    """A scene to run, and with what."""

    scene: str
    model: str
    unit: Unit
    epsilon: float


# Years. Each takes the parts of the whole crowd, when films came out, and a seed.


def stays(parts: Parts, films: Films, seed: int) -> Year:
    """Nothing moves."""
    return Year(lambda _: parts)


def films_enter(parts: Parts, films: Films, seed: int) -> Year:
    """A part of the films, drawn at random, enters evenly over the year."""
    n = parts.train.domain.n_items
    entering = default_rng(seed).permutation(n)[: round(ENTERING * n)]
    enters = np.zeros(n)
    enters[entering] = np.arange(1, len(entering) + 1) / len(entering)
    return Year(lambda f: Parts(*(of_items(part, enters <= f + 1e-9) for part in parts)))


def drifts(parts: Parts, films: Films, seed: int) -> Year:
    """Everybody's likes by their films' years: a window of half of them moves from the older to the newer."""
    train, *tried = parts
    ages = np.array([films[int(item)] for item in train.domain.items], dtype=np.float64)
    rng = default_rng(seed)
    order = ages[train.items] + rng.normal(0, JITTER, len(train.items))
    place = places(train.user_index(), order)
    # known and sought items of a person stand in one order
    users = np.concatenate([part.user_index() for part in tried])
    items = np.concatenate([part.items for part in tried])
    order = ages[items] + rng.normal(0, JITTER, len(items))
    known, sought = np.split(places(users, order), [len(tried[0].items)])

    def at(f: float) -> Parts:
        inside = (
            part.select((where >= f / 2) & (where < f / 2 + 0.5))
            for part, where in zip(parts, (place, known, sought), strict=True)
        )
        return Parts(*inside)

    return Year(at)


def grows(times: int) -> Callable[[Parts, Films, int], Year]:
    """Return a crowd that grows so many times, and whose histories lengthen.

    One of so many people is there at the start, the rest join evenly. Each gives half of their history at
    once, and half over the following year. Ratings are predicted of those who are there.
    """

    def year(parts: Parts, films: Films, seed: int) -> Year:
        train = parts.train
        rng = default_rng(seed)
        late = rng.permutation(train.n_users)[round(train.n_users / times) :]
        joins = np.zeros(train.n_users)
        joins[late] = np.arange(1, len(late) + 1) / len(late)
        joined, who = joins[train.user_index()], train.user_index()
        place = places(who, rng.random(len(who)))

        def at(f: float) -> Parts:
            there = train.select((joined <= f) & (place < (1 + f - joined) / 2))
            if parts.known is not train:
                return parts._replace(train=there)
            present = pc.is_in(parts.sought.users, there.users).to_numpy(zero_copy_only=False)
            return Parts(there, there, parts.sought.select(present[parts.sought.user_index()]))

        return Year(at)

    return year


class Scene(NamedTuple):
    """How many of the most liked films there are, None for all, and how the year goes."""

    films: int | None
    year: Callable[[Parts, Films, int], Year]


SCENES = {
    "whole": Scene(None, stays),
    "1000 static": Scene(1_000, stays),
    "1000 films enter": Scene(1_000, films_enter),
    "1000 strong drift": Scene(1_000, drifts),
    "1000 crowd doubles": Scene(1_000, grows(2)),
    "1000 crowd x5": Scene(1_000, grows(5)),
    "crowd doubles": Scene(None, grows(2)),
    "strong drift": Scene(None, drifts),
}
_LISTS = tuple(scene for scene, (films, _) in SCENES.items() if films)
CASES = (
    *(Case(scene, "PrivateEASE", "user", eps) for eps in (1.0, 2.0, 4.0) for scene in _LISTS),
    *(Case(scene, "Popularity", "user", 1.0) for scene in ("whole", "crowd doubles", "strong drift")),
    *(
        Case(scene, model, "user", eps)
        for model in ("GlobalEffects", "CovarianceSVD")
        for eps in (1.0, 4.0)
        for scene in ("whole", "crowd doubles")
    ),
    *(
        Case(scene, "PrivateEASE", "record", eps)
        for eps in (1.0, 4.0)
        for scene in ("1000 static", "1000 films enter")
    ),
    Case("1000 static", "PrivateEASE", "user", 8.0),
    *(Case("whole", "PrivateEASE", "user", eps) for eps in (1.0, 2.0, 4.0, 8.0)),
    *(Case("whole", "PrivateEASE", "record", eps) for eps in (1.0, 4.0)),
)


def places(groups: Ints32, order: Floats) -> Floats:
    """Return where each entry stands in its group by a rising order, from 0 to below 1."""
    if not len(groups):
        return np.zeros(0)
    by_group = np.lexsort((order, groups))
    sizes = np.bincount(groups)
    starts = np.cumsum(sizes) - sizes
    found = np.empty(len(groups))
    found[by_group] = (np.arange(len(groups)) - starts[groups[by_group]]) / sizes[groups[by_group]]
    return found


def of_items(feedback: People, kept: Bools) -> People:
    """The same people in a smaller catalogue."""
    if kept.all():
        return feedback
    domain = feedback.domain
    names = [item for item, keep in zip(domain.items, kept, strict=True) if keep]
    facts = {**domain.model_dump(by_alias=True, exclude_none=True), "items": names}
    facts.pop("item_titles", None)
    selected = feedback.select(kept[feedback.items])
    at = (np.cumsum(kept) - 1).astype(np.int32)
    return replace(selected, domain=hr.Domain(**facts), items=at[selected.items])


def films_of(folder: Path) -> Films:
    """In which year each film of MovieLens 1M came out, from its title."""
    lines = (folder / "ml-1m/movies.dat").read_text("utf-8").splitlines()
    titles = (line.split("::") for line in lines)
    return {int(film): int(title.rstrip()[-5:-1]) for film, title, _ in titles}


def loaded(table: pl.DataFrame, *, lists: bool, most: int | None) -> People:
    """Likes, or ratings, of the most liked films, in a domain that declares the crowd as it is."""
    if lists:
        table = table.filter(pl.col("rating") >= LIKED).unique(["user", "item"])
    if most is not None:
        counts = table.group_by("item").len().sort("len", "item", descending=[True, False])
        table = table.join(counts.head(most).select("item"), on="item")
    users = table["user"].n_unique()
    facts: dict[str, Any] = {
        "max_users": round_up(users),
        "expected_users": users,
        "expected_records": len(table),
        **({} if lists else {"scale": (1, 5, 1), "max_per_user": table["item"].n_unique()}),
    }
    columns = {"user_id": "user", "item_id": "item", **({} if lists else {"rating": "rating"})}
    domain = hr.Domain(table["item"].unique().sort().to_list(), **facts)
    people: People = hr.load(table.select(columns.values()), domain, hr.Reading(columns=columns))
    return people


@lru_cache(maxsize=2)
def everybody(folder: Path, lists: bool, most: int | None) -> People:
    """The whole crowd."""
    return loaded(pl.read_parquet(folder / "ml-1m.parquet"), lists=lists, most=most)


def parted(people: People, draw: int) -> Parts:
    """Hold out people for lists, or a part of the ratings."""
    if people.domain.feedback == "ratings":
        train, test = holdout(people, HIDDEN, draw)
        return Parts(train, train, test)
    return Parts(*held_out_people(people, min(people.n_users // 6, HELD_OUT), draw, least=2))


def shares(ends: Sequence[int]) -> list[float]:
    """Part of μ² of the releases up to each end: the first takes half, the others equal shares."""
    each = (1 - FIRST) / (WEEKS - 1)
    return [FIRST, *(each * (end - before) for before, end in pairwise(ends))]


def scores(release: hr.Release, parts: Parts) -> dict[str, float]:
    """nDCG and recall of lists, or the error of predictions."""
    metrics = ERRORS if parts.train.domain.feedback == "ratings" else LISTS
    found = hr.evaluate(release, train=parts.known, test=parts.sought, metrics=list(metrics))
    return {metric: float(found[metric]) for metric in metrics}


def measured(
    year: Year, model: PrivateModel, total: hr.Budget, draw: int, ends: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """Yield a row a week and metric.

    Args:
        ends: the weeks that are measured.
    """
    crowds = [year.at((end - 1) / (WEEKS - 1)) for end in ends]
    parts = [share * (1 - 1e-6) for share in shares(ends)]  # rounding must not exceed the total
    equal = budget_of(largest_cost(total) // WEEKS, total)
    releases = hr.testing.year(
        (crowd.train for crowd in crowds), model, total, parts, entropy=lambda at: _seeded(draw, 0, at)
    )
    others: tuple[tuple[str, PrivateModel, hr.Budget], ...] = (("one", model, total), ("equal", model, equal))
    if crowds[0].train.domain.feedback == "interactions":
        others += (("popularity", hr.Popularity(), total),)
    for at, (week, crowd, release) in enumerate(zip(ends, crowds, releases, strict=True)):
        found = {"continued": scores(release, crowd)}
        for kind, (name, other, budget) in enumerate(others if week in ENDS else (), 1):
            alone = hr.testing.fit(crowd.train, other, budget, entropy=_seeded(draw, kind, at))
            found[name] = scores(alone, crowd)
        for metric in found["continued"]:
            values = {name: round(of[metric], 5) for name, of in found.items()}
            yield {"week": week, "metric": metric, **values}


def _seeded(draw: int, kind: int, at: int) -> Seeded:
    return Seeded(1_000 * draw + 100 * kind + at)


def losses(rows: pl.DataFrame) -> pl.DataFrame:
    """Loss in percent against one release at the total, by case, draw and metric: its mean, and the worst.

    Means are over the weeks of the year, with straight lines between those measured. Below 0 is worse, also
    where a larger error is.
    """
    found, names = [], [name for name in CASE if name != "week"]
    for values, mine in rows.sort("week").group_by(*names, maintain_order=True):
        case = dict(zip(names, values, strict=True))
        mean = {}
        for name in FOUND:
            of = mine.drop_nulls(name)
            if len(of):
                mean[name] = np.interp(np.arange(1, WEEKS + 1), of["week"], of[name]).mean()
        percent = 100 if case["metric"] in LISTS else -100
        compared = mine.drop_nulls("one")
        by_week = percent * (compared["continued"] / compared["one"] - 1).to_numpy()
        lost = {name: percent * (of / mean["one"] - 1) for name, of in mean.items()}
        worst = int(by_week.argmin())
        found.append(
            {
                **case,
                "loss": lost["continued"],
                "alone": lost["equal"],
                "popular": lost.get("popularity"),
                "worst": float(by_week[worst]),
                "worst_week": int(compared["week"][worst]),
                **{f"mean_{name}": mean.get(name) for name in ("one", "continued")},
            }
        )
    return pl.DataFrame(found)


NAMED = {
    "whole": "all films, the crowd stays",
    "crowd doubles": "all films, the crowd doubles",
    "strong drift": "all films, likes move on",
    "1000 static": "1,000 films, the crowd stays",
    "1000 films enter": "1,000 films, a fifth of them new",
    "1000 strong drift": "1,000 films, likes move on",
    "1000 crowd doubles": "1,000 films, the crowd doubles",
    "1000 crowd x5": "1,000 films, the crowd grows fivefold",
}
"""What a scene is called in the table."""


def table(rows: pl.DataFrame) -> str:
    """The table of lab/scoreboard/year.md: means over draws ± their deviation, by case."""
    case, found = ["scene", "model", "unit", "epsilon"], losses(rows).filter(pl.col("metric") != LISTS[1])
    header = "crowd, model, ε, one release, the year, loss, worst, an equal share alone, popularity"
    lines = []
    for scene, model, unit, epsilon in sorted(set(found.select(case).rows()), key=_ordered):
        mine = found.filter(scene=scene, model=model, unit=unit, epsilon=epsilon).sort("worst")
        worst = mine.row(0, named=True)
        digits = 2 if worst["metric"] in ERRORS else 1
        lines.append(
            [
                *(NAMED[scene], model, f"{epsilon:g} per {unit}"),
                *(f"{fmean(mine[name]):.4f}" for name in ("mean_one", "mean_continued")),
                spread(mine["loss"], digits),
                f"{worst['worst']:.{digits}f} %, week {worst['worst_week']}",
                spread(mine["alone"], digits),
                spread(mine["popular"]),
            ]
        )
    return markdown(header.split(", "), lines).rstrip()


def _ordered(case: tuple[str, str, str, float]) -> tuple[int, bool, int, float]:
    scene, model, unit, epsilon = case
    return [*MODELS].index(model), unit != "user", [*NAMED].index(scene), epsilon


def spread(values: Iterable[float | None], digits: int = 1) -> str:
    """Mean ± deviation over draws; nothing without values."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    return f"{fmean(known):+.{digits}f}" + (f" ± {stdev(known):.{digits}f}" if len(known) > 1 else "") + " %"


def stored(path: Path) -> pl.DataFrame:
    """The rows that are there."""
    return pl.read_csv(path, schema_overrides=TYPES) if path.is_file() else pl.DataFrame(schema=TYPES)


def run(cases: Sequence[Case], draws: Iterable[int], folder: Path, path: Path) -> Iterator[list[object]]:
    """Run what is not there, draw by draw."""
    films, known = films_of(folder), stored(path)
    for draw in draws:
        for case in cases:
            model, scene = MODELS[case.model](), SCENES[case.scene]
            slow = scene.films is None and case.model == "PrivateEASE"
            ends = ENDS if slow else tuple(range(1, WEEKS + 1))
            there = known.filter(**case._asdict(), draw=draw)["week"].unique().to_list()
            if set(ends) <= set(there):
                continue
            people = everybody(folder, model.feedback == "interactions", scene.films)
            year = scene.year(parted(people, draw), films, draw)
            total = hr.Budget(epsilon=case.epsilon, delta=1e-6, unit=case.unit, adjacency="add-remove")
            for row in [*measured(year, model, total, draw, ends)]:  # whole years only
                every = {**case._asdict(), "draw": draw, **row}
                yield [every.get(name) for name in (*CASE, *FOUND)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--scenes", nargs="+", default=[*SCENES], choices=[*SCENES])
    parser.add_argument("--draws", nargs="+", type=int, default=(0, 1))
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    if not given.table:
        chosen = [case for case in CASES if case.scene in given.scenes]
        append(given.out, (*CASE, *FOUND), run(chosen, given.draws, given.data, given.out))
    print(table(stored(given.out)))


if __name__ == "__main__":
    main()
