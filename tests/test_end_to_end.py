"""From a file of ratings to predictions on another machine, with a real ledger and real noise."""

import dataclasses
import hashlib
import json
import shutil
import sqlite3

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.privacy.ledger.history import Head
from support.bare import bare

MODELS = [
    hr.GlobalEffects(),
    hr.CovarianceSVD(rank=3),
    hr.CovarianceKNN(rank=3, n_neighbours=5),
    hr.UserLevelSGD(rank=3, epochs=3),
]
LISTING = [
    hr.GlobalEffects(user_biases="released"),
    hr.InputPerturbationMF(rank=3, epochs=6),
    hr.PrivateSGD(rank=3, epochs=3),
    hr.PrivateALS(rank=3, epochs=2),
]
"""Models that publish a vector for every person on a public roster."""
BUDGET = hr.Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")
THRICE = BUDGET.model_copy(update={"epsilon": 6.0})
RECORD, STARS = (
    BUDGET.model_copy(update={"unit": "record", "adjacency": a}) for a in ("add-remove", "replace")
)
OWN = {"i00000": 5, "i00003": 1, "i00007": 4.5, "unheard of": 2}


def named(part):
    return part if isinstance(part, str) else getattr(part, "adjacency", type(part).__name__)


each_with_budget = pytest.mark.parametrize(
    ("model", "budget"),
    [
        *((model, BUDGET) for model in MODELS),
        *((model, (RECORD, STARS)[k % 2]) for k, model in enumerate(LISTING)),
    ],
    ids=named,
)


@pytest.fixture(scope="module")
def table():
    """Ratings as somebody would export them, with user ids that would be noticed where they do not belong."""
    made = hr.synthetic.netflix_like(60, 12, 400, 7)
    return pl.from_arrow(made.table()).with_columns("secret-" + pl.col("user_id"))


@pytest.fixture
def csv(table, tmp_path):
    table.write_csv(tmp_path / "ratings.csv")
    return tmp_path / "ratings.csv"


DEVICE = """
import json

from hushrec.release.client import Client

client = Client(sys.argv[1])
for asked in json.loads(sys.argv[2]):
    found = client.predict(**asked), client.recommend(**asked, n=4), str(client.release.statement)
    print(json.dumps(found))
"""


def on_another_device(path, *asked):
    """Predictions, recommendations and statement, by what is asked, in a process that has NumPy, safetensors
    and the client."""
    done = bare(DEVICE, str(path), json.dumps(asked))
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def chain(ledger):
    """Every record's hash, recomputed from the file without the library."""
    with sqlite3.connect(ledger) as database:
        records = database.execute("SELECT seq, body, hash FROM log ORDER BY seq").fetchall()
    database.close()
    before, hashes = bytes(32), []
    for seq, body, digest in records:
        before = hashlib.sha256(before + seq.to_bytes(8, "big") + body).digest()
        assert digest == before
        hashes.append(before.hex())
    return hashes


def shape(release):
    """All of a release that may not depend on the ratings."""
    statement = dataclasses.replace(release.statement, ledger={})
    kept = {name: (t.dtype, t.shape) for name, t in release.tensors.items() if name != "similarity_factors"}
    constants = {name: value for name, value in release.constants.items() if name != "user_mean"}
    facts = release.model, release.settings, release.kind, release.items, release.scale
    return facts, statement, kept, constants, sorted(release.constants), sorted(release.tensors)


def arranged(table):
    """The same ratings, as other exports would give them."""
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=3)
    yield table.reverse()
    yield shuffled
    yield shuffled.select("rating", "item_id", "user_id")
    yield pl.concat([shuffled, table.head(40)])
    renamed = {user: f"secret-{k}" for k, user in enumerate(shuffled["user_id"].unique(maintain_order=True))}
    yield table.with_columns(pl.col("user_id").replace(renamed))


@pytest.fixture(scope="module")
def domain():
    return hr.Domain((f"i{k:05d}" for k in range(12)), scale=(1, 5, 1), max_users=100, max_per_user=50)


@pytest.fixture(scope="module")
def listing(table, domain):
    """The same with a public roster; two people on it rate nothing."""
    people = [*table["user_id"].unique(), "silent", "sleeping"]
    return hr.Domain(domain.items, scale=(1, 5, 1), max_users=100, max_per_user=50, users=people)


@pytest.fixture
def ratings(csv, domain):
    return hr.load(csv, domain)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


def new_ledger(folder, budget):
    """In a folder of its own."""
    folder.mkdir()
    return hr.Ledger.create(folder / "ledger.db", budget)


# -- the whole way ----------------------------------------------------------------------------------------


@each_with_budget
def test_from_a_file_to_another_device(csv, domain, listing, path, tmp_path, model, budget, capfd):
    (listing if model in LISTING else domain).save(tmp_path / "domain.json")
    declared = hr.Domain.open(tmp_path / "domain.json")
    ratings = hr.load(csv, declared)
    planned = hr.plan(declared, model, budget)
    hr.Ledger.create(path, budget)
    release = hr.fit(ratings, model, budget, ledger=path)
    file = release.save(tmp_path / "films.safetensors")

    # What was planned is what was booked is what is stated.
    ledger = hr.Ledger.open(path).state()
    (charge,) = ledger.charges
    assert charge.state == "made"
    booked = [(one["measurement"], one["sensitivity"], one["sigma"]) for one in charge.booked]
    assert booked == [(one.name, one.sensitivity, one.deviation) for one in planned.noisy]
    stated = [(m.name, m.sensitivity) for m in release.statement.measurements if m.mechanism != "exact"]
    assert stated == [(e.name, e.sensitivity) for e in planned.noisy]
    assert release.statement.private
    assert release.statement.epsilon == planned.epsilon <= 2
    assert 1.999 < planned.spent.epsilon_at(budget.delta) <= 2
    assert ledger.spent == charge.cost == planned.spent.units(budget.delta)

    # The release names a record of its ledger's chain.
    named = release.statement.ledger
    hashes = chain(path)
    assert hashes[named["seq"]] == named["head"]
    assert Head(len(hashes) - 1, hashes[-1]) == ledger.head
    assert (named["id"], named["file"], named["release_index"]) == (ledger.id, "ledger.db", 0)

    # The device sees what we see. Who is listed asks by their id, also without ratings; others by ratings.
    client, asks = hr.Client(file), [{"ratings": OWN}]
    if model in LISTING:
        asks += [{"user": ratings.users[0].as_py()}, {"user": "silent"}]
    assert release.users == (listing.users if model in LISTING else ())
    for asked, there in zip(asks, on_another_device(file, *asks), strict=True):
        predictions, recommendations, statement = there
        assert predictions == pytest.approx(client.predict(**asked), abs=1e-12)
        assert list(predictions) == list(declared.items)
        assert [row[0] for row in recommendations] == [row.item_id for row in client.recommend(**asked, n=4)]
        assert statement == str(release.statement)

    # Nobody's id is in what leaves the building, but for a public roster; and nothing was printed.
    for public in (path,) if model in LISTING else (file, path):
        assert b"secret" not in public.read_bytes()
    assert capfd.readouterr() == ("", "")


# -- what may be released ---------------------------------------------------------------------------------


def test_releases_share_no_noise(ratings, path):
    ledger = hr.Ledger.create(path, THRICE, max_releases=3)
    one, other = (hr.fit(ratings, MODELS[1], BUDGET, ledger=ledger) for _ in range(2))
    assert [charge.release_index for charge in ledger.state().charges] == [0, 1]
    assert one.items == other.items
    for name in ("item_effects", "item_noise"):
        assert (one.tensors[name] != other.tensors[name]).all()
    assert one.constants["user_mean"] != other.constants["user_mean"]
    hashes = chain(path)
    heads = [release.statement.ledger for release in (one, other)]
    assert [hashes[head["seq"]] for head in heads] == [head["head"] for head in heads]
    assert heads[0]["seq"] < heads[1]["seq"]


# -- emptiness and order are private ----------------------------------------------------------------------


@pytest.mark.parametrize("model", [*MODELS, *LISTING], ids=named)
def test_no_ratings_give_a_release_like_any_other(csv, domain, listing, tmp_path, model):
    (tmp_path / "empty.csv").write_text("user_id,item_id,rating\n")
    declared, budget = (listing, RECORD) if model in LISTING else (domain, BUDGET)
    full, empty = (
        hr.fit(
            hr.load(source, declared),
            model,
            budget,
            ledger=new_ledger(tmp_path / name, budget),
            accept="dropped",
        )
        for name, source in (
            ("full", csv),
            ("empty", tmp_path / "empty.csv"),
        )
    )
    assert shape(empty) == shape(full)
    assert empty.users == full.users == (declared.users or ())
    assert empty.statement.private
    client = hr.Client(empty)
    assert np.isfinite(list(client.predict(OWN).values())).all()
    assert len(client.recommend(OWN, 4)) == 4


@pytest.mark.parametrize(
    ("model", "unit"),
    [
        *((model, "user") for model in MODELS),
        *(pytest.param(model, "record", marks=pytest.mark.full) for model in LISTING),
    ],
    ids=named,
)
def test_the_order_of_rows_and_of_users_changes_no_byte(table, domain, listing, tmp_path, model, unit):
    budget, declared = BUDGET.model_copy(update={"unit": unit}), listing if model in LISTING else domain
    hr.Ledger.create(tmp_path / "blank.db", budget)

    def released(rows):
        rows.write_csv(tmp_path / "ratings.csv")
        data = hr.load(tmp_path / "ratings.csv", declared)
        ledger = shutil.copy(tmp_path / "blank.db", tmp_path / "ledger.db")
        return hr.testing.fit(data, model, budget, ledger=ledger, entropy=hr.testing.Seeded(5)).to_bytes()

    *reordered, renamed = arranged(table)
    same = reordered if model in LISTING else [*reordered, renamed]
    assert {released(rows) for rows in same} == {released(table)}
    assert released(table.tail(-1)) != released(table), "one rating fewer would be noticed"
