"""``hushrec demo``: what it shows is what it wrote."""

import json
import re
from pathlib import Path

import pytest

import hushrec as hr
from hushrec.cli import demo


def test_the_whole_demo(tmp_path, monkeypatch, hushrec, refused):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    shown = hushrec("demo --quick").out
    written = {"release-eps1.safetensors", "ledger.db", "ledger.db.sums", "page"}
    assert {entry.name for entry in Path("demo").iterdir()} == written
    lines = shown.splitlines()
    typed = "The full statement: ", "The page, ", "The list of user A: "
    assert max(len(line) for line in lines if not line.startswith(typed)) <= 80
    assert [line.split()[0] for line in lines if line[:1] in ("1", "8", "∞")][:3] == ["1", "8", "∞"]
    assert "NOT PRIVATE" in shown
    release = hr.Release.open("demo/release-eps1.safetensors")
    assert (release.model, release.statement.private, release.statement.unit) == ("PrivateEASE", True, "user")
    assert release.statement.epsilon == pytest.approx(1)
    assert hr.Ledger.open("demo/ledger.db").state().remaining < 1e-6
    (command,) = (line for line in lines if line.startswith("The list of user A: hushrec "))
    listed = hushrec(command.removeprefix("The list of user A: hushrec ")).out
    told = " ".join(shown.split())
    assert release.taste in told
    assert release.statement.sentence in told
    assert "http.server -d demo/page 8000" in shown
    facts = json.loads(Path("demo/page/contents.json").read_text("utf-8"))
    copied = Path("demo/page", facts["release"]).read_bytes()
    assert copied == Path("demo/release-eps1.safetensors").read_bytes()
    (header,) = (place for place, line in enumerate(lines) if line.startswith("rank"))
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines[header + 2 : header + 12]]
    own = [re.split(r"\s{2,}", line.strip())[1] for line in listed.splitlines()[2:]]
    assert own == [row[2] for row in rows] != [row[1] for row in rows]
    assert "demo cannot be written: File exists; remove it, or choose another folder with --out" in refused(
        "demo --quick"
    )


@pytest.mark.parametrize("size", [demo.FULL, demo.QUICK])
def test_clicks_are_many_enough_for_pairs_of_items_and_what_two_users_like_is_among_them(size):
    """Otherwise PrivateEASE would list by popularity, and the columns of the table would be the same."""
    domain = size.make_clicks().domain
    for epsilon in size.epsilons:
        names = [query.name for query in hr.PrivateEASE().queries(domain, demo._budget(epsilon))]
        assert "item pairs" in names
    assert {title for taste in size.tastes for title in taste} <= {*domain.items}
