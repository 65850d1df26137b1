"""Of neighbouring ratings all that is public about a released data set is the same, but for random rows."""

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.curator.randomize import report_rows
from hushrec.data import capping
from hushrec.models.du_leighton_patel import distance_based
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Seeded

ITEMS, CAP = 12, 4
BUDGET = hr.Budget(epsilon=9.0, delta=0.0, unit="user", adjacency="replace")
RESPONSE, SAMPLED = hr.RandomizedResponse(), hr.RandomizedResponse(sample=5)
SWAP = hr.DistanceBased(keep_probability=0.7, group_probability=0.3, threshold=9.0, groups="ratings")


class Watched(Seeded):
    """Counts how many keys were asked for."""

    def __init__(self):
        super().__init__(4)
        self.asked = 0

    def key(self):
        self.asked += 1
        return super().key()


def ratings(cells, users=None):
    """Of a person with these (item, stars), among 30 others."""
    rng = np.random.default_rng(0)
    rows = [(f"u{u:02d}", str(i), float(rng.integers(1, 6))) for u in range(30) for i in range(u % 5 + 1)]
    rows += [("me", str(item), float(stars)) for item, stars in cells]
    domain = hr.Domain(range(ITEMS), scale=(1, 5, 1), max_users=100, max_per_user=CAP, users=users)
    return hr.load(pl.DataFrame(rows, schema=["user_id", "item_id", "rating"], orient="row"), domain)


def public(of, method):
    """Everything but the rows: statement, settings, number of people, and how many keys were drawn."""
    budget = None if method is SWAP else BUDGET
    plan, entropy = method.plan(of.domain, budget), Watched()
    grant = Ledger.ephemeral(plan.budget).charge(plan, entropy=entropy)
    made = report_rows(of, method, plan, grant).data
    return str(made.statement), made.settings, made.n_people, entropy.asked, made.ratings.domain


REPLACED = ([(0, 5)], [(n, 1) for n in range(ITEMS)], [(3, 2), (7, 4)])
MOVED = ([(n, n % 5 + 1) for n in range(6)], [(ITEMS - 1 - n, n % 5 + 1) for n in range(6)])


@pytest.mark.parametrize("method", [RESPONSE, SAMPLED], ids=["all cells", "some cells"])
def test_whatever_a_person_rated(method, capfd):
    first, *others = (public(ratings(cells), method) for cells in REPLACED)
    assert all(other == first for other in others)
    assert capfd.readouterr() == ("", "")


def test_on_a_roster_also_whether_he_rated_at_all():
    people = ["me", *(f"u{u:02d}" for u in range(30))]
    first, *others = (public(ratings(cells, people), RESPONSE) for cells in ([], *REPLACED))
    assert all(other == first for other in others)


def stars_released(cells):
    """Stars of one person's reported slots, without the randomness: p* is nearly 1."""
    method = hr.DistanceBased(
        keep_probability=1 - 2**-31, group_probability=0.3, threshold=9.0, groups="ratings"
    )
    of = ratings(cells)
    plan = method.plan(of.domain)
    grant = Ledger.ephemeral(plan.budget).charge(plan, entropy=Seeded(1))
    made = report_rows(of, method, plan, grant)
    rows = made.data.ratings
    row = made.rows[of.users.to_pylist().index("me")]
    return sorted(rows.values[rows.indptr[row] : rows.indptr[row + 1]].tolist())


def test_whichever_items_a_persons_ratings_are_of():
    first, other = (public(ratings(cells), SWAP) for cells in MOVED)
    assert other == first
    assert stars_released(MOVED[0]) == stars_released(MOVED[1])  # more than the cap: which of them stay?


def test_a_choice_by_items_would_show_in_the_stars(monkeypatch):
    """The fault that the test above catches: the cap of unit user, which looks at items."""

    def by_items(users, indptr, items, steps, cap):
        return capping.chosen(users, indptr, items, cap)

    monkeypatch.setattr(distance_based, "chosen_slots", by_items)
    moved = [
        [(item, place % 5 + 1) for place, item in enumerate(order)]
        for order in (np.random.default_rng(seed).permutation(ITEMS)[:10].tolist() for seed in range(8))
    ]
    assert len({tuple(stars_released(cells)) for cells in moved}) > 1
