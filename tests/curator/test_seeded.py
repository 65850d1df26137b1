"""Seeded experiments: repeatable, without a promise, and of noise that claims none."""

import pytest

import hushrec as hr
from hushrec.curator import seeded
from hushrec.documents.sentences import Unprotected
from hushrec.errors import ConfigError, DataError
from hushrec.privacy.noise.entropy import OperatingSystem
from support.packed import packed
from support.stopped import stopped

ROWS = hr.Budget(epsilon=4.0, delta=0.0, unit="user", adjacency="replace")


@pytest.fixture(scope="module")
def small():
    return hr.synthetic.netflix_like(20, 6, 60, 1)


def test_the_same_seed_gives_the_same_bytes_and_promises_nothing(small, budget):
    def made(seed):
        return seeded.fit(small, hr.GlobalEffects(), budget(1.0), entropy=hr.testing.Seeded(seed))

    one, other = made(0), made(0)
    assert [release.tensors["item_effects"].tobytes() for release in (one, other)] == [
        one.tensors["item_effects"].tobytes()
    ] * 2
    assert made(1).tensors["item_effects"].tobytes() != one.tensors["item_effects"].tobytes()
    assert one.statement.caveats == (Unprotected.seeded(),)


def test_data_are_seeded_too(small):
    data = [
        seeded.randomize(small, hr.RandomizedResponse(), ROWS, entropy=hr.testing.Seeded(0)) for _ in range(2)
    ]
    assert data[0].table.equals(data[1].table)
    assert not data[0].statement.private


def test_noise_that_claims_to_be_private_is_refused(small, budget):
    with pytest.raises(ConfigError, match="pass entropy=Seeded"):
        seeded.fit(small, hr.GlobalEffects(), budget(1.0), entropy=OperatingSystem())
    with pytest.raises(ConfigError, match="call the verb of hushrec itself"):
        seeded.randomize(small, hr.RandomizedResponse(), ROWS, entropy=OperatingSystem())


def test_a_damaged_block_is_refused_before_an_experiment_is_charged(small, budget, tmp_path):
    """Here no digest is computed, which would find it."""
    people = packed(small, tmp_path / "blocks")
    ledger = hr.Ledger.create(tmp_path / "ledger.db", budget(1.0))
    (file,) = tmp_path.rglob("items.bin")
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(DataError, match=r"items\.bin is not what was written"):
        seeded.fit(people, hr.GlobalEffects(), budget(1.0), ledger=ledger, entropy=hr.testing.Seeded(1))
    assert not ledger.state().charges


def test_nothing_is_kept_and_no_stopped_fit_stands_in_the_way(small, budget, tmp_path, monkeypatch):
    """Also on a ledger that is kept, where a private fit of the same plan waits."""
    monkeypatch.chdir(tmp_path)
    ledger = hr.Ledger.create(tmp_path / "ledger.db", budget(9.0), max_releases=3)

    def call():
        return hr.fit(small, hr.GlobalEffects(), budget(1.0), ledger=ledger)

    with stopped():
        call()
    before = sorted(tmp_path.rglob("*"))
    for _ in range(2):
        seeded.fit(small, hr.GlobalEffects(), budget(1.0), ledger=ledger, entropy=hr.testing.Seeded(0))
    seeded.fit(small, hr.GlobalEffects(), budget(1.0), entropy=hr.testing.Seeded(0))
    assert sorted(tmp_path.rglob("*")) == before
    assert call().statement.ledger["release_index"] == 0
