"""From a file of ratings to the devices of people on a public roster: releases that list everybody."""

import polars as pl
import pytest

import hushrec as hr
from hushrec.errors import ConfigError

LISTING = [
    hr.GlobalEffects(user_biases="released"),
    hr.InputPerturbationMF(rank=3, epochs=6),
    hr.PrivateSGD(rank=3, epochs=3),
    hr.PrivateALS(rank=3, epochs=2),
]
"""Models that publish a vector for every person on a public roster."""
BUDGET = hr.Budget(epsilon=2.0, delta=1e-6, unit="record", adjacency="add-remove")
OWN = {"i00000": 5, "i00003": 1, "i00007": 4.5, "unheard of": 2}

each_listing = pytest.mark.parametrize("model", LISTING, ids=lambda model: type(model).__name__)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


@pytest.fixture
def listing(table, tmp_path):
    """The domain with a public roster, as it comes back from its file; two people on it rate nothing."""
    people = [*table["user_id"].unique(), "silent", "sleeping"]
    declared = hr.Domain(
        (f"i{k:05d}" for k in range(12)), scale=(1, 5, 1), max_users=100, max_per_user=50, users=people
    )
    declared.save(tmp_path / "domain.json")
    return hr.Domain.open(tmp_path / "domain.json")


@each_listing
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_from_a_file_to_a_listed_persons_device(
    csv, listing, path, tmp_path, model, adjacency, capfd, on_another_device, chain
):
    ratings = hr.load(csv, listing)
    budget = BUDGET.model_copy(update={"adjacency": adjacency})
    planned = hr.plan(listing, model, budget)
    release = hr.fit(ratings, model, budget, ledger=hr.Ledger.create(path, budget))
    file = release.save(tmp_path / "films.safetensors")
    assert release.statement.private
    assert release.statement.epsilon == planned.epsilon <= 2
    assert 1.999 < planned.spent.epsilon_at(budget.delta) <= 2
    (charge,) = hr.Ledger.open(path).state().charges
    assert (charge.state, charge.cost) == ("made", planned.spent.units(BUDGET.delta))
    assert [one["measurement"] for one in charge.booked] == [one.name for one in planned.noisy]
    assert chain(path)[release.statement.ledger["seq"]] == release.statement.ledger["head"]

    # Who is listed, be he silent, asks by his id; everybody else with his ratings.
    client = hr.Client(file)
    asks = {"user": ratings.users[0].as_py()}, {"user": "silent"}, {"ratings": OWN}
    for asked, there in zip(asks, on_another_device(file, *asks), strict=True):
        predictions, recommendations, statement = there
        assert predictions == pytest.approx(client.predict(**asked), abs=1e-12)
        assert [row[0] for row in recommendations] == [r.item_id for r in client.recommend(**asked, n=4)]
        assert statement == str(release.statement)

    # The roster is public. The account does not need it, and nothing was printed.
    assert release.users == listing.users
    assert b"secret" not in path.read_bytes()
    assert capfd.readouterr() == ("", "")


@each_listing
def test_no_ratings_list_everybody_all_the_same(csv, listing, tmp_path, model, shape):
    def released(name):
        (tmp_path / name).mkdir()
        ledger = hr.Ledger.create(tmp_path / name / "ledger.db", BUDGET)
        data = hr.load(tmp_path / f"{name}.csv", listing)
        return hr.fit(data, model, BUDGET, ledger=ledger, accept="dropped")

    (tmp_path / "empty.csv").write_text("user_id,item_id,rating\n")
    full, empty = map(released, ("ratings", "empty"))
    assert shape(empty) == shape(full)
    assert empty.users == full.users == listing.users
    assert len(hr.Client(empty).recommend(user="sleeping", n=4)) == 4


@each_listing
@pytest.mark.full
def test_the_order_of_rows_changes_no_byte_of_a_listing(table, listing, tmp_path, model, arranged):
    def released(rows):
        rows.write_csv(tmp_path / "ratings.csv")
        data = hr.load(tmp_path / "ratings.csv", listing)
        return hr.testing.fit(data, model, BUDGET, entropy=hr.testing.Seeded(5)).to_bytes()

    *reordered, _ = map(released, arranged(table))  # the last has other people
    assert {*reordered} == {released(table)}
    assert released(table.tail(-1)) != released(table), "one rating fewer would be noticed"


@pytest.mark.parametrize("model", LISTING[1:], ids=lambda model: type(model).__name__)
def test_more_factors_than_items_are_refused_before_they_are_charged(path, model):
    declared = hr.Domain(["a", "b"], scale=(1, 5, 1), max_users=100, users=["u", "v"])
    nobody = hr.load(pl.DataFrame(schema=["user_id", "item_id", "rating"]), declared)
    ledger = hr.Ledger.create(path, BUDGET)
    with pytest.raises(ConfigError, match="set a smaller rank"):
        hr.fit(nobody, model, BUDGET, ledger=path, accept="dropped")
    assert ledger.state().charges == ()
    smaller = type(model)(**model.model_dump(exclude_unset=True) | {"rank": 2})
    assert hr.fit(nobody, smaller, BUDGET, ledger=path, accept="dropped").statement.private
