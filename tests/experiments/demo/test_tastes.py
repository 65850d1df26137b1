import numpy as np
import polars as pl
import pytest

from hushrec.curator.fit import fit
from hushrec.data.domain import Domain
from hushrec.data.interactions import Interactions
from hushrec.experiments.demo import demonstration, tastes
from hushrec.experiments.demo.tastes import Place
from hushrec.models.private_ease import PrivateEASE
from hushrec.privacy.noise.entropy import Seeded


def planted():
    """40 items, of which 0 to 2 go together in one half of the users, and 5 to 7 in the other half."""
    rng, rows = np.random.default_rng(0), []
    for user in range(400):
        likely = np.full(40, 0.02)
        likely[:10] = 0.5
        likely[[0, 1, 2]] = 0.95 if user % 2 else 0.1
        likely[[5, 6, 7]] = 0.1 if user % 2 else 0.85
        rows.append(np.flatnonzero(rng.random(40) < likely))
    domain = Domain([f"i{item:02}" for item in range(40)], max_users=500)
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    users = pl.Series([f"u{user:03}" for user in range(400)])
    return Interactions(domain, users, indptr, np.concatenate(rows).astype(np.int32))


def test_each_user_has_items_that_go_together_and_not_with_the_other_users():
    first, second = tastes.two_tastes(planted())
    assert sorted(first) == ["i00", "i01", "i02"]
    assert sorted(second) == ["i05", "i06", "i07"]


@pytest.fixture(scope="module")
def seeded(clicks):
    return fit(clicks, PrivateEASE(), demonstration.budget(1), entropy=Seeded(0))


def test_the_demonstrations_users_are_always_the_same_and_their_lists_are_their_own(clicks, seeded):
    first, second = tastes.two_tastes(clicks)
    assert (first, second) == tastes.two_tastes(clicks)
    assert len({*first, *second}) == 2 * tastes.OWN
    places = tastes.side_by_side(seeded, first, second)
    assert [place.rank for place in places] == list(range(1, tastes.LENGTH + 1))
    popular, own, other = (set(column) for column in list(zip(*places, strict=True))[1:])
    assert not own & set(first)
    assert not other & set(second)
    assert own != popular != other != own


def test_popular_items_are_those_that_most_users_give(clicks, seeded):
    counts = np.bincount(clicks.items)
    listed = [place.popular for place in tastes.side_by_side(seeded, *tastes.two_tastes(clicks))]
    positions = [clicks.domain.items.index(item) for item in listed]
    assert counts[positions].min() >= np.sort(counts)[-2 * tastes.LENGTH]


def test_shared_counts_pairs_of_lists():
    places = [Place(1, "a", "b", "c"), Place(2, "b", "d", "x"), Place(3, "c", "a", "y")]
    assert tastes.shared(places) == (2, 1, 0)


def test_the_quick_demonstration_has_two_tastes_as_well():
    first, second = tastes.two_tastes(demonstration.QUICK.make_clicks())
    assert len({*first, *second}) == 2 * tastes.OWN
