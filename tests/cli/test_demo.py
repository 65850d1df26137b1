import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import hushrec as hr
from hushrec.cli import demo


def test_the_whole_demo_twice(tmp_path, monkeypatch, hushrec):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for _ in range(2):  # the second run clears what the first one left
        shown = hushrec("demo --quick").out
        assert {entry.name for entry in Path("demo").iterdir()} == {demo.MARKER, demo.SUMS, *demo.WRITTEN}
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
    assert (
        Path("demo/page", facts["release"]).read_bytes() == Path("demo/release-eps1.safetensors").read_bytes()
    )
    (header,) = (place for place, line in enumerate(lines) if line.startswith("rank"))
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines[header + 2 : header + 12]]
    own = [re.split(r"\s{2,}", line.strip())[1] for line in listed.splitlines()[2:]]
    assert own == [row[2] for row in rows] != [row[1] for row in rows]


def test_the_next_command_names_the_program_by_its_path_if_the_shell_does_not_find_it(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["my venv/bin/hushrec", "demo"])
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert shlex.split(demo._program()) == ["my venv/bin/hushrec"]


@pytest.mark.parametrize("mine", ["thesis.txt", "mine.safetensors", demo.LEDGER])
def test_a_folder_with_other_things_is_refused(tmp_path, refused, mine):
    (tmp_path / mine).write_text("precious")
    assert "--out" in refused(f"demo --quick --out {tmp_path}")
    assert (tmp_path / mine).read_text() == "precious"


@pytest.mark.parametrize("mine", ["mine.safetensors", "page-of-mine.txt", "page/thesis.txt"])
def test_nor_is_anything_else_in_it_deleted_then(tmp_path, refused, mine):
    demo._prepare(tmp_path)
    for name in (demo.LEDGER, mine):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("precious")
    assert "move it" in refused(f"demo --quick --out {tmp_path}")
    assert (tmp_path / demo.LEDGER).exists()
    assert (tmp_path / mine).exists()


def test_its_own_folder_is_cleared(tmp_path):
    folder = tmp_path / "deep" / "demo"
    demo._prepare(folder)
    for name in (demo.LEDGER, f"{demo.LEDGER}-wal", demo.RELEASE, f"{demo.RELEASE}.part"):
        (folder / name).write_text("old")
    demo._prepare(folder)
    assert [entry.name for entry in folder.iterdir()] == [demo.MARKER]


def test_an_unusable_folder_is_an_error_with_its_fix(tmp_path, refused):
    (tmp_path / "file").write_text("")
    assert "--out" in refused(f"demo --out {tmp_path / 'file'}")


@pytest.mark.parametrize("size", [demo.FULL, demo.QUICK])
def test_clicks_are_many_enough_for_pairs_of_items(size):
    """Otherwise PrivateEASE would list by popularity, and the columns of the table would be the same."""
    domain = size.make_clicks().domain
    for epsilon in size.epsilons:
        names = [query.name for query in hr.PrivateEASE().queries(domain, demo._budget(epsilon))]
        assert "item pairs" in names


def test_each_user_has_items_that_go_together_and_not_with_the_other_users():
    """40 items, of which 0 to 2 go together in one half of the users, and 5 to 7 in the other half."""
    rng, rows = np.random.default_rng(0), []
    for user in range(400):
        likely = np.full(40, 0.02)
        likely[:10] = 0.5
        likely[[0, 1, 2]] = 0.95 if user % 2 else 0.1
        likely[[5, 6, 7]] = 0.1 if user % 2 else 0.85
        rows.append(np.flatnonzero(rng.random(40) < likely))
    domain = hr.Domain([f"i{item:02}" for item in range(40)], max_users=500)
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    users = [f"u{user:03}" for user in range(400)]
    first, second = demo.two_tastes(hr.People(domain, users, indptr, np.concatenate(rows).astype(np.int32)))
    assert sorted(first) == ["i00", "i01", "i02"]
    assert sorted(second) == ["i05", "i06", "i07"]
