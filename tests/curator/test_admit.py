"""What the records must be like: more than a tenth dropped, or nobody, is not charged."""

import polars as pl
import pytest

import hushrec as hr
from hushrec.errors import RecordsDropped
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.testing import Seeded


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_thumbs_down_are_charged_as_likes_only_if_somebody_says_so(budget, tmp_path, where):
    table = pl.DataFrame(
        {"user_id": [f"u{k}" for k in range(20)], "item_id": ["a", "b"] * 10, "rating": [1] * 19 + [-1]}
    )
    people = hr.load(table, hr.Domain(["a", "b"], max_users=50), where=where)
    path = tmp_path / "ledger.db"
    hr.Ledger.create(path, budget(1.0, unit="user"))
    before = path.read_bytes()
    for accept in ((), "dropped", ("dropped", "users", "weak", "share")):
        with pytest.raises(
            RecordsDropped, match=r"have ratings other than 1, .* accept=\"rating\", or --accept"
        ):
            hr.fit(people, hr.Popularity(), budget(1.0, unit="user"), ledger=path, accept=accept)
    assert path.read_bytes() == before
    made = hr.fit(people, hr.Popularity(), budget(1.0, unit="user"), ledger=path, accept="rating")
    assert made.statement.private


BUDGET = hr.Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")
ROWS = hr.Budget(epsilon=4.0, delta=0.0, unit="user", adjacency="replace")
MODEL = hr.GlobalEffects()


def table(bad, records=100):
    """Records of 20 users, the first ``bad`` of them above the scale."""
    return pl.DataFrame(
        {
            "user_id": [f"secret-{k % 20}" for k in range(records)],
            "item_id": [str(k // 20) for k in range(records)],
            "rating": [77.0 if k < bad else 3.0 for k in range(records)],
        }
    )


DOMAIN = hr.Domain(range(5), scale=(1, 5, 1), max_users=100)


@pytest.fixture
def domain():
    return DOMAIN


@pytest.fixture
def few(domain):
    return hr.load(table(10), domain)


@pytest.fixture
def many(domain):
    return hr.load(table(11), domain)


@pytest.fixture
def nobody(domain):
    return hr.load(table(0).with_columns(item_id=pl.lit("nosuch")), domain)


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "ledger.db", BUDGET)


def test_a_tenth_is_charged(few, ledger):
    assert hr.fit(few, MODEL, BUDGET, ledger=ledger).statement.private


def test_more_is_refused_by_a_ledger_without_a_file_too(many, ledger, tmp_path, monkeypatch):
    """As one in PostgreSQL."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ledger, "path", None)
    with pytest.raises(RecordsDropped):
        hr.fit(many, MODEL, BUDGET, ledger=ledger)


def test_experiments_and_baselines_go_on(many, nobody, tmp_path):
    total = BUDGET.model_copy(update={"epsilon": 9.0})
    on_disk = Ledger.create(tmp_path / "seeded.db", total, max_releases=2)
    for ratings in (many, nobody):
        assert not hr.testing.fit(ratings, MODEL, BUDGET, entropy=Seeded(0)).statement.private
        assert not hr.baseline(ratings, MODEL).statement.private
        assert not hr.fit(ratings, MODEL, BUDGET, ledger=Ledger.ephemeral(BUDGET)).statement.private
        made = hr.testing.fit(ratings, MODEL, BUDGET, ledger=on_disk, entropy=Seeded(0))
        assert not made.statement.private


@pytest.mark.parametrize("bad", [0, 5])
@pytest.mark.parametrize("item", ["0", "nosuch"])
def test_whether_a_device_reports_does_not_depend_on_what_its_user_rated(tmp_path, bad, item):
    device = hr.Domain(range(5), scale=(1, 5, 1), max_users=100, users=["secret-0"])
    own = hr.load(table(bad, 5).with_columns(user_id=pl.lit("secret-0"), item_id=pl.lit(item)), device)
    ledger = Ledger.create(tmp_path / "ledger.db", ROWS)
    assert hr.randomize(own, hr.RandomizedResponse(), ROWS, ledger=ledger).n_people == 1
