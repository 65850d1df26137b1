"""``hushrec --version``, and with ``--verbose`` the check of an installation."""

import json

from numba.core.caching import NullCache

import hushrec as package
from hushrec.errors import SamplerError
from hushrec.kernels.keyed_choice import hashes


def test_a_healthy_installation(hushrec):
    shown = hushrec("--version --verbose").out
    for fact in (
        f"hushrec         {package.__version__}",
        "passed its self-test",
        "WAL",
        "extra postgres",
        "compiled loops",
        " free",
    ):
        assert fact in shown


def test_a_sampler_that_fails_is_told_and_exits_with_1(hushrec, monkeypatch):
    def broken():
        raise SamplerError("the noise is not what it should be")

    monkeypatch.setattr("hushrec.privacy.grant.sampler", broken)
    assert "FAILED: the noise is not what it should be" in hushrec("--version --verbose", code=1).out


def test_an_old_sqlite_is_told_and_exits_with_1(hushrec, monkeypatch):
    monkeypatch.setattr("sqlite3.sqlite_version_info", (3, 31, 0))
    assert "FAILED" in hushrec("--version --verbose", code=1).out


def test_a_machine_without_temporary_files_can_make_releases(hushrec, monkeypatch):
    def nowhere():
        raise FileNotFoundError

    monkeypatch.setattr("tempfile.TemporaryDirectory", nowhere)
    assert "log not tried" in hushrec("--version --verbose").out


def test_a_missing_extra_is_told_with_the_command_that_adds_it(hushrec, monkeypatch):
    monkeypatch.setattr("hushrec.cli.version._EXTRAS", {"postgres": ("no_such_module",)})
    assert "missing no_such_module: pip install 'hushrec[postgres]'" in hushrec("--version --verbose").out


def test_where_compiled_loops_are_kept_is_told(hushrec, monkeypatch):
    told = json.loads(hushrec("--version --verbose --json").out)["compiled loops"]
    assert told == f"kept in {hashes.stats.cache_path}"
    monkeypatch.setattr(hashes, "_cache", NullCache())
    assert "set NUMBA_CACHE_DIR" in json.loads(hushrec("--version --verbose --json").out)["compiled loops"]


def test_the_facts_of_an_installation_are_one_object(hushrec):
    facts = json.loads(hushrec("--version --verbose --json").out)
    assert facts["noise sampler"].startswith("passed")
    assert {"hushrec", "parts", "SQLite", "memory"} <= set(facts)
    assert all(f"{part} " in facts["parts"] for part in ("numpy", "cryptography"))


def test_the_check_is_asked_for_with_the_version(hushrec, refused):
    assert "--verbose goes with --version" in refused("--verbose")
    assert "--json with both" in refused("--version --json")
    assert "--verbose goes with --version" in refused("--verbose models")
    assert hushrec("--version models").out == f"hushrec {package.__version__}\n"
