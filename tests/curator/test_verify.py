"""An exported history is verified by its hashes, and a ledger by its releases."""

import json
import shutil

import pytest

import hushrec as hr
from hushrec.curator.verify import Recorded, verify, verify_ledger
from hushrec.errors import ConfigError, LedgerError, LedgerStale


@pytest.fixture
def kept(tmp_path, budget):
    """A ledger with a release in its folder, and its exported history."""
    ledger = hr.Ledger.create(tmp_path / "ledger.db", budget(4.0), 2)
    shutil.copy(ledger.path, tmp_path / "backup")
    ratings = hr.synthetic.netflix_like(20, 6, 60, 1)
    hr.fit(ratings, hr.GlobalEffects(), budget(1.0), ledger=ledger).save(tmp_path / "one.safetensors")
    (tmp_path / "history.json").write_text(json.dumps(ledger.export()))
    return ledger


def test_a_history_says_which_release_it_records(kept, tmp_path):
    history = tmp_path / "history.json"
    records = kept.head.seq + 1
    assert verify(history) == Recorded(kept.id, records)
    assert verify(history, tmp_path / "one.safetensors") == Recorded(kept.id, records, 0, 2)
    told = json.loads(history.read_text())
    told["records"][1]["record"] = told["records"][1]["record"].replace("1", "2", 1)
    history.write_text(json.dumps(told))
    with pytest.raises(LedgerError, match="record 1 was altered"):
        verify(history)


def test_a_ledger_from_a_backup_does_not_know_its_release(kept, tmp_path):
    ledger, heads = verify_ledger(str(kept.path), [tmp_path])
    assert (ledger.id, len(heads)) == (kept.id, 1)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="no release of this ledger is in"):
        verify_ledger(str(kept.path), [tmp_path / "empty"])
    shutil.copy(tmp_path / "backup", kept.path)
    with pytest.raises(LedgerStale):
        verify_ledger(str(kept.path), [tmp_path])
