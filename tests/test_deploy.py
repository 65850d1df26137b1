"""Units of ``deploy/`` under the mounts that they ask for: read-only but for the folders that they name."""

import pytest

import hushrec as hr
from hushrec.privacy.ledger.ledger import Ledger
from support import units

needs_mounts = pytest.mark.skipif(not units.mounts(), reason=units.UNMOUNTABLE)


@pytest.fixture
def curator(tmp_path):
    """The curator's folder, with clicks, a domain and a ledger for three weeks."""
    folder = tmp_path / "curator"
    folder.mkdir()
    clicks = hr.synthetic.interactions(users=60, items=20, interactions=900, seed=1)
    clicks.domain.save(folder / "domain.json")
    clicks.to_polars().write_csv(folder / "clicks.csv")
    total = hr.Budget(epsilon=4.0, delta=1e-6, unit="user", adjacency="add-remove")
    Ledger.create(folder / "ledger.db", total, max_releases=3)
    return folder


@needs_mounts
@pytest.mark.full
@pytest.mark.parametrize(
    "kept", [True, False], ids=["as it is", "with nothing to write to but its own folder"]
)
def test_the_weekly_unit_makes_its_release_under_its_own_mounts(curator, tmp_path, kept):
    unit, cache = units.service("hushrec-week.service"), tmp_path / "cache"
    cache.mkdir()
    if not kept:
        del unit["CacheDirectory"], unit["Environment"], unit["PrivateTmp"]
    done = units.started(unit, curator, cache)
    assert done.returncode == 0, done.stderr
    assert len([*curator.glob("week-*.safetensors")]) == 1
    assert len([*Ledger.open(curator / "ledger.db").entries()]) == 1
    assert bool([*cache.rglob("*.nbc")]) == kept


@needs_mounts
def test_the_mounts_are_what_the_unit_asks_for(tmp_path):
    unit, cache = units.service("hushrec-week.service"), tmp_path / "cache"
    (tmp_path / "curator").mkdir()
    cache.mkdir()
    places = "/opt/hushrec /usr /root /home /srv /srv/curator /var/cache/hushrec /tmp"
    unit["ExecStart"] = [f"/bin/sh -c 'for p in {places}; do touch $p/x 2>&- && echo $p; done; true'"]
    done = units.started(unit, tmp_path / "curator", cache)
    assert (done.stdout.split(), done.stderr) == (["/srv/curator", "/var/cache/hushrec", "/tmp"], "")
    assert (cache / "x").exists()
