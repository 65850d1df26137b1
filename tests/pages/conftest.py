import pytest

from support.releases import _ranker, _release, _statement

__all__ = ["_ranker", "_release", "_statement"]

LEDGER = "9f" * 16


@pytest.fixture
def saved(release, statement):
    def save(folder, seq, ledger=LEDGER, **changes):
        facts = {**statement().ledger, "seq": seq, "id": ledger}
        made = release(n=6, seed=seq, statement=statement(ledger=facts, **changes))
        return made.save(folder / f"week-{seq:02}.safetensors")

    return save


@pytest.fixture
def public(saved, tmp_path):
    """Releases of three weeks."""
    folder = tmp_path / "public"
    folder.mkdir()
    for seq in (1, 2, 10):
        saved(folder, seq)
    return folder


@pytest.fixture
def out(tmp_path):
    return tmp_path / "site"
