"""``hushrec --version``, and with ``--verbose`` the check of an installation."""

from numba.core.caching import NullCache

import hushrec as package
from hushrec.errors import SamplerError
from hushrec.kernels.keyed_choice import hashes


def test_an_installation_is_checked_and_where_compiled_loops_are_kept_is_told(hushrec, monkeypatch):
    shown = hushrec("--version --verbose").out
    for fact in (f"hushrec         {package.__version__}", "passed its self-test", "WAL", "numpy ", " free"):
        assert fact in shown
    assert f"kept in {hashes.stats.cache_path}" in " ".join(shown.split())
    monkeypatch.setattr(hashes, "_cache", NullCache())
    assert "set NUMBA_CACHE_DIR" in " ".join(hushrec("--version --verbose").out.split())


def test_what_fails_is_told_and_exits_with_1(hushrec, monkeypatch):
    def broken():
        raise SamplerError("the noise is not what it should be")

    with monkeypatch.context() as patch:
        patch.setattr("hushrec.privacy.grant.sampler", broken)
        assert "FAILED: the noise is not what it should be" in hushrec("--version --verbose", code=1).out
    monkeypatch.setattr("sqlite3.sqlite_version_info", (3, 31, 0))
    assert "FAILED" in hushrec("--version --verbose", code=1).out


def test_the_check_is_asked_for_with_the_version(hushrec, refused):
    assert "--verbose goes with --version" in refused("--verbose models")
    assert hushrec("--version models").out == f"hushrec {package.__version__}\n"
