"""The Δ that the tables of the model pages print are those that the code declares."""

from itertools import pairwise
from pathlib import Path

import pytest

import hushrec as hr

PAGES = Path(__file__).resolve().parents[2] / "docs" / "models"
ITEMS = [f"i{n}" for n in range(5_000)]
CROWD = {"max_users": 10_000, "expected_users": 6_000, "expected_records": 1_000_000}
CLICKS, STARS = hr.Domain(ITEMS, **CROWD), hr.Domain(ITEMS[:3952], scale=(1, 5, 1), **CROWD)
PEOPLE = [f"u{n}" for n in range(3_000)]
ROSTER = hr.Domain(ITEMS[:100], scale=(1, 5, 1), users=PEOPLE, **(CROWD | {"max_users": 3_000}))
RELEASED = hr.GlobalEffects(user_biases="released")
MEASURED = {
    "covariance_svd": (hr.CovarianceSVD(), STARS, {}),
    "global_effects": (
        hr.GlobalEffects(),
        STARS,
        {
            "item sums of r − 3": "item sums",
            "global sum of user means, minus 3": "global sum",
            "number of users": "global count",
        },
    ),
    "popularity": (hr.Popularity(), CLICKS, {}),
    "private_als": (
        hr.PrivateALS(),
        ROSTER,
        {"sums of users": "users, epoch 1", "sums of items": "items, epoch 1"},
    ),
    "private_ease": (hr.PrivateEASE(), CLICKS, {}),
    "user_level_sgd": (hr.UserLevelSGD(), STARS, {"gradients of items": "items, epoch 1"}),
}
"""Page → its model, the domain that it names, and which measurement a row or column of another name is."""
OTHERS = {"user sums": RELEASED, "user counts": RELEASED}
OTHERS |= dict.fromkeys(("ratings", "cells"), hr.InputPerturbationMF())
"""The models of measurements that the page's own model does not make."""


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def printed(page):
    """Yield model, unit and adjacency, measurement and Δ of every table of a page that has units in it."""
    heads, unit = [], ""
    for before, line in pairwise(["", *(PAGES / f"{page}.md").read_text("utf-8").splitlines()]):
        if not line.startswith("|"):
            heads = []
        elif not before.startswith("|"):
            heads = cells(line) if "unit, adjacency" in line else []
        elif heads and "---" not in line:
            row = dict(zip(heads, cells(line), strict=True))
            unit = row["unit, adjacency"].replace("`", "") or unit
            if "measurement" in row:
                yield "", unit, row["measurement"], next(row[name] for name in heads if name.startswith("Δ"))
            else:
                others = (item for item in row.items() if item[0] not in ("unit, adjacency", "model"))
                yield from ((row.get("model", ""), unit, *item) for item in others)


ROWS = [(page, *row) for page in MEASURED for row in printed(page)]


@pytest.mark.parametrize(("page", "model", "unit", "named", "cell"), ROWS)
def test_a_printed_sensitivity_is_the_declared_one(page, model, unit, named, cell):
    """To three digits, and where the page says that rounding adds 0.5 %, without what it adds."""
    own, domain, names = MEASURED[page]
    model = OTHERS.get(named) or (getattr(hr, model)() if model else own)
    domain = ROSTER if named in OTHERS else domain
    protected = dict(zip(("unit", "adjacency"), unit.split(", "), strict=True))
    budget = hr.Budget(epsilon=8.0, delta=1e-6, **protected)
    declared = {one.name: one for one in model.queries(domain, budget)}
    one = declared.get(names.get(named, named))
    if cell == "–":
        assert one is None
    elif cell == "exact":
        assert one.is_exact
    elif cell.startswith("below "):
        assert 0.9 * float(cell[6:]) < one.sensitivity < float(cell[6:])
    else:
        assert one.sensitivity == pytest.approx(float(cell.removeprefix("R = ")), rel=5e-3)


def test_a_row_of_every_table_is_read():
    assert len(ROWS) > 40
    assert {row[0] for row in ROWS} == MEASURED.keys()
