"""From a file of ratings to predictions on another machine, with a real ledger and real noise."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import hushrec as hr
from hushrec.errors import LedgerError, LedgerMissing, LedgerStale
from hushrec.privacy.ledger.history import Head

MODELS = [
    hr.GlobalEffects(),
    hr.CovarianceSVD(rank=3),
    hr.CovarianceKNN(rank=3, n_neighbours=5),
    hr.UserLevelSGD(rank=3, epochs=3),
]
BUDGET = hr.Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")
THRICE = BUDGET.model_copy(update={"epsilon": 6.0})
OWN = {"i00000": 5, "i00003": 1, "i00007": 4.5, "unheard of": 2}

each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


@pytest.fixture(scope="module")
def domain():
    return hr.Domain((f"i{k:05d}" for k in range(12)), scale=(1, 5, 1), max_users=100, max_per_user=50)


@pytest.fixture
def ratings(csv, domain):
    return hr.load(csv, domain)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


def new_ledger(folder):
    """In a folder of its own."""
    folder.mkdir()
    return hr.Ledger.create(folder / "ledger.db", BUDGET)


# -- the whole way ----------------------------------------------------------------------------------------


@each_model
def test_from_a_file_to_another_device(csv, domain, path, tmp_path, model, capfd, on_another_device, chain):
    domain.save(tmp_path / "domain.json")
    declared = hr.Domain.open(tmp_path / "domain.json")
    ratings = hr.load(csv, declared)
    planned = hr.plan(declared, model, BUDGET)
    hr.Ledger.create(path, BUDGET)
    release = hr.fit(ratings, model, BUDGET, ledger=path)
    file = release.save(tmp_path / "films.safetensors")

    # What was planned is what was booked is what is stated.
    ledger = hr.Ledger.open(path).state()
    (charge,) = ledger.charges
    assert charge.state == "made"
    booked = [(one["measurement"], one["sensitivity"], one["sigma"]) for one in charge.booked]
    assert booked == [(one.name, one.sensitivity, one.noise) for one in planned.noisy]
    stated = [(m.name, m.sensitivity, m.noise) for m in release.statement.measurements]
    assert stated == [(e.name, e.sensitivity, e.noise) for e in planned.noisy]
    assert release.statement.private
    assert 1.999 < release.statement.epsilon == planned.epsilon <= 2
    assert ledger.spent == charge.cost == planned.spent.units(BUDGET.delta)

    # The release names a record of its ledger's chain.
    named = release.statement.ledger
    hashes = chain(path)
    assert hashes[named["seq"]] == named["head"]
    assert Head(len(hashes) - 1, hashes[-1]) == ledger.head
    assert (named["id"], named["file"], named["release_index"]) == (ledger.id, "ledger.db", 0)

    # The device sees what we see.
    client = hr.Client(file)
    ((predictions, recommendations, statement),) = on_another_device(file, {"ratings": OWN})
    assert predictions == pytest.approx(client.predict(OWN), abs=1e-12)
    assert list(predictions) == list(declared.items)
    assert [row[0] for row in recommendations] == [row.item_id for row in client.recommend(OWN, 4)]
    assert statement == str(release.statement)

    # Nobody's id is in what leaves the building, nor in the account, and nothing was printed.
    for public in (file, path):
        assert b"secret" not in public.read_bytes()
    assert capfd.readouterr() == ("", "")


# -- what may be released ---------------------------------------------------------------------------------


def test_a_budget_is_spent_once(ratings, path, tmp_path):
    hr.Ledger.create(path, BUDGET)
    hr.fit(ratings, MODELS[0], BUDGET, ledger=path).save(tmp_path / "films.safetensors")
    before = path.read_bytes()
    for model in MODELS:
        with pytest.raises(hr.BudgetExceeded) as caught:
            hr.fit(ratings, model, BUDGET, ledger=path)
        assert caught.value.requested > 2 > 0.001 > caught.value.remaining >= 0
    planned = hr.plan(ratings.domain, MODELS[0], BUDGET)
    assert hr.Ledger.open(path).state().spent == planned.spent.units(BUDGET.delta)
    assert path.read_bytes() == before
    hr.Client(tmp_path / "films.safetensors")


@each_model
def test_releases_share_no_noise(ratings, path, model, chain):
    ledger = hr.Ledger.create(path, THRICE, max_releases=3)
    one, other = (hr.fit(ratings, model, BUDGET, ledger=ledger) for _ in range(2))
    assert [charge.release_index for charge in ledger.state().charges] == [0, 1]
    assert one.items == other.items
    for name in ("item_effects", "item_noise"):
        assert (one.tensors[name] != other.tensors[name]).all()
    assert one.constants["user_mean"] != other.constants["user_mean"]
    hashes = chain(path)
    heads = [release.statement.ledger for release in (one, other)]
    assert [hashes[head["seq"]] for head in heads] == [head["head"] for head in heads]
    assert heads[0]["seq"] < heads[1]["seq"]


# -- a ledger that cannot be relied on --------------------------------------------------------------------


def test_a_ledger_deleted_beside_its_release_is_missed(ratings, path, tmp_path):
    hr.Ledger.create(path, BUDGET)
    hr.fit(ratings, MODELS[0], BUDGET, ledger=path).save(tmp_path / "films.safetensors")
    path.unlink()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(LedgerMissing, match="put it back"):
        hr.fit(ratings, MODELS[0], BUDGET, ledger=path)
    assert sorted(tmp_path.iterdir()) == before


def test_a_ledger_restored_from_a_backup_is_noticed(ratings, path, tmp_path):
    ledger = hr.Ledger.create(path, THRICE, max_releases=3)
    hr.fit(ratings, MODELS[0], BUDGET, ledger=ledger).save(tmp_path / "first.safetensors")
    backup = shutil.copy(path, tmp_path / "backup")
    hr.fit(ratings, MODELS[0], BUDGET, ledger=ledger).save(tmp_path / "second.safetensors")
    latest = shutil.copy(path, tmp_path / "latest")
    shutil.copy(backup, path)
    for where in (path, ledger):  # reopened, and still open
        with pytest.raises(LedgerStale, match="latest copy"):
            hr.fit(ratings, MODELS[0], BUDGET, ledger=where)
    assert path.read_bytes() == Path(backup).read_bytes()
    shutil.copy(latest, path)
    assert hr.fit(ratings, MODELS[0], BUDGET, ledger=path).statement.ledger["release_index"] == 2


def test_a_private_release_needs_a_ledger_and_a_seeded_one_does_not(ratings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    for model in MODELS[:3]:
        with pytest.raises(LedgerError, match=r'pass ledger="ledger\.db"'):
            hr.fit(ratings, model, BUDGET, ledger=None)
        seeded = hr.testing.fit(ratings, model, BUDGET, entropy=hr.testing.Seeded(1))
        assert str(seeded.statement).startswith("NOT PRIVATE: the noise was drawn from a seed")
        assert str(hr.baseline(ratings, model).statement).startswith("NOT PRIVATE: no noise")
    assert sorted(tmp_path.iterdir()) == before


def test_a_seeded_release_is_charged_where_there_is_a_ledger(ratings, path):
    hr.Ledger.create(path, BUDGET)
    release = hr.testing.fit(ratings, MODELS[0], BUDGET, ledger=path, entropy=hr.testing.Seeded(1))
    assert not release.statement.private
    assert hr.Ledger.open(path).state().remaining < 0.001


# -- emptiness and order are private ----------------------------------------------------------------------


@each_model
def test_no_ratings_give_a_release_like_any_other(ratings, domain, tmp_path, model, on_another_device, shape):
    (tmp_path / "empty.csv").write_text("user_id,item_id,rating\n")
    nothing = hr.load(tmp_path / "empty.csv", domain)
    full, empty, other = (
        hr.fit(data, model, BUDGET, ledger=new_ledger(tmp_path / name), accept="dropped")
        for name, data in (("full", ratings), ("empty", nothing), ("other", nothing))
    )
    assert shape(empty) == shape(full)
    assert empty.statement.private
    file = empty.save(tmp_path / "empty.safetensors")
    ((predictions, recommendations, _),) = on_another_device(file, {"ratings": OWN})
    assert np.isfinite(list(predictions.values())).all()
    assert len(recommendations) == 4
    assert (other.tensors["item_effects"] != empty.tensors["item_effects"]).any()


@pytest.mark.parametrize(
    ("model", "unit"),
    [(model, unit) for unit in ("user", "record") for model in (MODELS if unit == "user" else MODELS[:3])],
    ids=lambda part: part if isinstance(part, str) else type(part).__name__,
)
def test_the_order_of_rows_and_of_users_changes_no_byte(table, domain, tmp_path, model, unit, arranged):
    budget = BUDGET.model_copy(update={"unit": unit})
    hr.Ledger.create(tmp_path / "blank.db", budget)

    def released(rows):
        rows.write_csv(tmp_path / "ratings.csv")
        data = hr.load(tmp_path / "ratings.csv", domain)
        ledger = shutil.copy(tmp_path / "blank.db", tmp_path / "ledger.db")
        return hr.testing.fit(data, model, budget, ledger=ledger, entropy=hr.testing.Seeded(5)).to_bytes()

    assert {released(rows) for rows in arranged(table)} == {released(table)}
    assert released(table.tail(-1)) != released(table), "one rating fewer would be noticed"
