import json

import hushrec as package
from hushrec.errors import SamplerError


def test_a_healthy_installation(hushrec):
    shown = hushrec("doctor").out
    for fact in (
        f"hushrec          {package.__version__}",
        "passed its self-test",
        "WAL",
        "extra report",
        "extra postgres",
        "extra databases",
        "cache",
        "are free",
    ):
        assert fact in shown


def test_a_sampler_that_fails_is_told_and_exits_with_1(hushrec, monkeypatch):
    def broken():
        raise SamplerError("the noise is not what it should be")

    monkeypatch.setattr("hushrec.privacy.grant.sampler", broken)
    assert "FAILED: the noise is not what it should be" in hushrec("doctor", code=1).out


def test_an_old_sqlite_is_told_and_exits_with_1(hushrec, monkeypatch):
    monkeypatch.setattr("sqlite3.sqlite_version_info", (3, 31, 0))
    assert "FAILED" in hushrec("doctor", code=1).out


def test_a_missing_extra_is_told_with_the_command_that_adds_it(hushrec, monkeypatch):
    monkeypatch.setattr("hushrec.cli.doctor._EXTRAS", {"report": ("no_such_module",)})
    assert "missing no_such_module: pip install 'hushrec[report]'" in hushrec("doctor").out


def test_the_facts_of_an_installation_are_one_object(hushrec):
    facts = json.loads(hushrec("doctor --json").out)
    assert facts["noise sampler"].startswith("passed")
    assert {"hushrec", "parts", "SQLite", "memory"} <= set(facts)
    assert all(f"{part} " in facts["parts"] for part in ("numpy", "cryptography"))
