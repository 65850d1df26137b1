"""A fit that this machine has no room for is refused before its charge."""

import polars as pl
import pytest

import hushrec as hr
from hushrec.curator import admit
from hushrec.curator.admit import require_memory
from hushrec.data.dropped import Dropped
from hushrec.data.spark.people import SparkPeople, StoredBlock
from hushrec.errors import MemoryExceeded
from hushrec.models.du_leighton_patel.groups import Groups
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.sums.footprint import Footprint
from support.packed import packed

BUDGET = hr.Budget(epsilon=1.0, delta=1e-9, unit="record", adjacency="add-remove")
GB = 10**9


def of(items, users=4):
    """One rating, in a domain of that size."""
    domain = hr.Domain(range(items), scale=(1, 5, 1), max_users=users, users=range(users))
    return hr.load(pl.DataFrame({"user_id": ["0"], "item_id": ["0"], "rating": [3.0]}), domain)


@pytest.fixture
def small(monkeypatch):
    """A machine of a gigabyte, of which a tenth is free."""
    monkeypatch.setattr(admit, "machine", lambda: (GB, GB // 10))


def test_of_ratings_in_spark_the_driver_holds_none(small):
    many = (StoredBlock(10**9, 10**11, {}),)
    there = SparkPeople(of(3).domain, None, Dropped(), has_personal_epsilon=False, _kept=None, _parts=many)
    require_memory("Model", Footprint(GB / 20, 40, 400), there)
    with pytest.raises(MemoryExceeded, match="Nothing was charged"):
        require_memory("Model", Footprint(GB, 0), there)


@pytest.mark.parametrize(
    ("model", "items", "users"),
    [
        (hr.CovarianceSVD(noise="laplace"), 30_000, 4),
        (hr.CovarianceKNN(), 4_000, 4),
        (hr.PrivateALS(rank=128), 200, 5_000),
        (hr.PrivateSGD(rank=128), 200, 20_000),
        (hr.GlobalEffects(user_biases="released"), 200, 50_000),
        (hr.InputPerturbationMF(epochs=6), 10_000, 10_000),
    ],
)
def test_whatever_grows_is_refused(tmp_path, small, model, items, users):
    """A huge roster, a Laplace covariance, all cells of people by items."""
    ledger = Ledger.create(tmp_path / "ledger.db", BUDGET)
    with pytest.raises(MemoryExceeded, match="Nothing was charged"):
        hr.fit(of(items, users), model, BUDGET, ledger=ledger)
    assert not ledger.state().charges


def test_groups_of_items_are_made_before_the_charge(tmp_path, monkeypatch):
    """Of ratings they may be as many as pairs of items, and no public fact tells."""
    monkeypatch.setattr(Groups, "of_ratings", lambda *_: (_ for _ in ()).throw(MemoryError("too many")))
    groups = {"keep_probability": 0.5, "group_probability": 0.5, "threshold": 1.0, "groups": "ratings"}
    budget = hr.Budget(epsilon=1000.0, delta=0.0, unit="user", adjacency="replace-items")
    ledger = Ledger.create(tmp_path / "ledger.db", budget)
    with pytest.raises(MemoryError):
        hr.randomize(of(10), hr.DistanceBased(**groups), budget, ledger=ledger)
    assert not ledger.state().charges


def test_the_error_tells_no_private_number(monkeypatch):
    """Neither how many ratings there are nor how much of the machine they take."""
    messages = set()
    for free in (1, 2, 3):
        monkeypatch.setattr(admit, "machine", lambda free=free: (8 * GB, free))
        with pytest.raises(MemoryExceeded) as caught:
            hr.fit(of(40), hr.CovarianceSVD(rank=2), BUDGET, ledger=Ledger.ephemeral(BUDGET))
        messages.add(str(caught.value))
    assert len(messages) == 1


def test_of_blocks_one_is_held_unless_a_fit_gathers_them(tmp_path, monkeypatch):
    data = hr.synthetic.netflix_like(60, 12, 300, seed=1)
    blocks = packed(data, tmp_path / "blocks", 40)
    monkeypatch.setattr(admit, "machine", lambda: (GB, 100 * data.n_entries - 1))
    require_memory("Model", Footprint(10, each_rating=100), blocks)
    with pytest.raises(MemoryExceeded):
        require_memory("Model", Footprint(10, each_rating=100, gathered=True), blocks)


def test_a_fit_that_runs_out_anyway_says_what_is_spent(monkeypatch):
    def starved(*_):
        raise MemoryError("Unable to allocate 12.3 GiB for an array with shape (314159,)")

    monkeypatch.setattr(hr.GlobalEffects, "fit", starved)
    with pytest.raises(MemoryExceeded) as caught:
        hr.fit(of(4), hr.GlobalEffects(), BUDGET, ledger=Ledger.ephemeral(BUDGET))
    told = "\n".join([str(caught.value), *caught.value.__notes__])
    assert "stays spent, ε = 1 at δ = 1e-09" in told
    assert "314159" not in told


# -- what a plan says --------------------------------------------------------------------------------------


def test_a_plan_says_what_a_fit_needs_and_asks_no_machine(monkeypatch):
    monkeypatch.setattr(admit, "machine", lambda: pytest.fail("a plan is a function of public facts"))
    told = str(hr.plan(of(17_770).domain, hr.CovarianceSVD(), BUDGET))
    assert "A fit needs about 4.3 GB of memory besides the ratings, and 20 bytes for each of them" in told
    assert "takes roughly" in told
