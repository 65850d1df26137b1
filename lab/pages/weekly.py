"""Measures a year of weekly releases, and writes the table of docs/weekly.md.

``python -m lab.pages.weekly`` takes about ten minutes. All ratings are made up: users join over the year,
each rates over several weeks, a fifth of the items join late, and all items' effects drift. Everything is
seeded, so that no release here is private.
"""

import csv
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from numpy.random import default_rng

import hushrec as hr

LAB = Path(__file__).resolve().parents[1]
DOCS = LAB.parent / "docs"
ROWS, PAGE = LAB / "scoreboard/weekly.csv", DOCS / "weekly.md"
WEEKS, TOTAL = 52, {"epsilon": 4.0, "delta": 1e-6, "unit": "user", "adjacency": "add-remove"}
SHOWN = 1, 2, 4, 8, 13, 20, 26, 39, 52
WAYS = {
    "one": "one release with the whole ε",
    "series": "a series: correlated noise",
    "shares": "equal shares: independent noise",
}


class Year:
    """A year of made-up ratings that drift.

    Args:
        users, items, each: how many users and items there are at the end, and ratings per user on average.
        seed: of everything random.
    """

    def __init__(self, users, items, each, seed):
        rng = default_rng(seed)
        counts = np.clip(np.exp(np.log(each) - 0.5 + rng.standard_normal(users)), 2, items // 4).astype(int)
        came = np.where(rng.random(users) < 0.2, 0, rng.integers(0, WEEKS, users))
        born = np.where(rng.random(items) < 0.8, 0, rng.integers(0, WEEKS - 4, items))
        fame = np.exp(1.3 * rng.standard_normal(items))
        effect = 0.45 * rng.standard_normal(items) + np.cumsum(
            0.3 / np.sqrt(WEEKS) * rng.standard_normal((WEEKS + 1, items)), axis=0
        )
        level = 0.45 * rng.standard_normal(users)
        rows = []
        for user, count in enumerate(counts):
            # Half of the ratings come at once, the others over the rest of the year, and one week after it.
            weeks = came[user] + np.where(
                rng.random(count) < 0.5, 0, rng.integers(0, WEEKS + 1 - came[user], count)
            )
            known = np.flatnonzero(born <= came[user])
            chance = fame[known] / fame[known].sum()
            given = rng.choice(known, size=min(count, len(known) // 2), replace=False, p=chance)
            rows.append((np.full(len(given), user), given, weeks[: len(given)]))
        user, item, week = (np.concatenate(part) for part in zip(*rows, strict=True))
        order = np.lexsort((item, user))
        self.user, self.item, self.week = user[order], item[order], week[order]
        noise = 0.95 * rng.standard_normal(len(order))
        values = 3.4 + level[self.user] + effect[self.week, self.item] + noise
        self.steps = (np.clip(np.rint(values), 1, 5) - 1).astype(np.uint8)
        self.names = pl.Series([f"u{n:07}" for n in range(users)])
        # The catalogue of the year: an item that is not there yet has no ratings, which is public.
        self.domain = hr.Domain(
            [f"i{n:05}" for n in range(items)],
            scale=(1, 5, 1),
            max_users=2 * users,
            max_per_user=500,
            expected_users=users,
            expected_records=each * users,
        )

    def ratings(self, chosen):
        """The chosen ratings, by a mask."""
        owners, counts = np.unique(self.user[chosen], return_counts=True)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return hr.Ratings(
            self.domain, self.names.gather(owners), indptr, self.item[chosen], self.steps[chosen]
        )

    def up_to(self, week):
        """What came up to a week, and what those users give in the week after it."""
        train = self.week < week
        test = (self.week == week) & np.isin(self.user, self.user[train])
        return self.ratings(train), self.ratings(test)


def measured(users, items, each, seed):
    """RMSE on the ratings of the week after each release: rows of way, week, RMSE."""
    from hushrec.curator import seeded

    year, total = Year(users, items, each, seed), hr.Budget(**TOTAL)
    model, share = hr.GlobalEffects(), hr.split_budget(year.domain, hr.GlobalEffects(), total, WEEKS)
    ledger = hr.Ledger.ephemeral(total, WEEKS)
    with tempfile.TemporaryDirectory() as folder:
        for week in range(1, WEEKS + 1):
            train, test = year.up_to(week)
            own = hr.testing.Seeded(1000 * seed + week)
            made = {
                "series": seeded.fit(train, model, series=Path(folder) / "series", ledger=ledger, entropy=own)
            }
            if week not in SHOWN:
                continue
            for way, budget in (("one", total), ("shares", share)):
                made[way] = hr.testing.fit(
                    train, model, budget, entropy=hr.testing.Seeded(1000 * seed + week)
                )
            made["none"] = hr.baseline(train, model)
            for way, release in made.items():
                rmse = hr.evaluate(release, train=train, test=test, metrics=["rmse"])["rmse"]
                yield {"users": users, "seed": seed, "way": way, "week": week, "rmse": f"{rmse:.5f}"}
                print(users, seed, way, week, f"{rmse:.5f}", flush=True)


CROWDS, SEEDS = ((5_000, 1_000), (20_000, 2_000)), (1, 2, 3)
"""Users and items; ratings per user are about 40."""


def kept():
    """The measured rows."""
    with ROWS.open(encoding="utf-8", newline="") as file:
        return [row | {"rmse": float(row["rmse"])} for row in csv.DictReader(file)]


def mean(rows, users, way, weeks):
    """Mean RMSE over seeds and weeks, and over how many seeds each week's was measured."""
    found = [
        row["rmse"]
        for row in rows
        if (int(row["users"]), row["way"]) == (users, way) and int(row["week"]) in weeks
    ]
    return float(np.mean(found))


def table(rows):
    """RMSE by crowd and way, in week 52 and on average over the weeks, and the loss to one release."""
    yield "| users | releases | week 52 | loss | mean over weeks | loss |"
    yield "|---|---|---:|---:|---:|---:|"
    for users, _ in CROWDS:
        for way, name in (*WAYS.items(), ("none", "no noise, not private")):
            cells = [f"{users:,}", name]
            for weeks in ({WEEKS}, {*SHOWN}):
                own, best = (mean(rows, users, one, weeks) for one in (way, "one"))
                cells += [f"{own:.4f}", "" if way == "one" else f"{100 * (own / best - 1):+.1f} %"]
            yield f"| {' | '.join(cells)} |"


def picture(rows):
    """RMSE against the week, as SVG."""
    from lab.experiments.plots import canvas, svg

    users = CROWDS[-1][0]
    with canvas(3.4, width=7.2) as (drawing, (axes,)):
        for (way, label), colour in zip(WAYS.items(), ("#444444", "#0072B2", "#D55E00"), strict=True):
            losses = [
                100 * (mean(rows, users, way, {week}) / mean(rows, users, "none", {week}) - 1)
                for week in SHOWN
            ]
            axes.plot(SHOWN, losses, color=colour, label=label, marker="o", markersize=3)
        axes.set_xlim(0, WEEKS + 1)
        axes.set_ylim(0, None)
        axes.set_xlabel("week")
        axes.set_ylabel("RMSE above no noise, %")
        axes.legend(frameon=False)
        return svg(drawing, f"What a year of weekly releases loses to no noise, {users:,} users, total ε = 4")


def main():
    if "--again" not in sys.argv:
        rows = [row for size in CROWDS for seed in SEEDS for row in measured(*size, 40, seed)]
        with ROWS.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    rows = kept()
    marked, made = r"(<!-- table -->\n).*?(<!-- end of table -->)", "\n".join(table(rows))
    text = PAGE.read_text("utf-8")
    PAGE.write_text(re.sub(marked, lambda m: f"{m[1]}{made}\n{m[2]}", text, flags=re.DOTALL), "utf-8")


if __name__ == "__main__":
    main()
