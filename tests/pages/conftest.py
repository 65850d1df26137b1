import pytest

from support.releases import _ranker, _release, _statement

__all__ = ["_ranker", "_release", "_statement"]


@pytest.fixture
def saved(release, statement):
    def save(folder, seq):
        facts = {**statement().ledger, "seq": seq}
        made = release(n=6, seed=seq, statement=statement(ledger=facts))
        return made.save(folder / f"week-{seq:02}.safetensors")

    return save


@pytest.fixture
def week(saved, tmp_path):
    return saved(tmp_path, 1)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "site"
