import csv
import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

import hushrec as hr
from hushrec.experiments.demo import demonstration


def test_the_whole_demo_twice(tmp_path, monkeypatch, hushrec):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for _ in range(2):  # the second run clears what the first one left
        shown = hushrec("demo --quick").out
        written = {entry.name for entry in Path("demo").iterdir()}
        assert written == {demonstration.MARKER, *demonstration.WRITTEN}
    lines = shown.splitlines()
    assert max(len(line) for line in lines if not line.startswith("Next:")) <= 80
    first = [line.split()[0] for line in lines if line]
    names = [word for word in first if word in ("1", "8", "∞", "item", "global")]
    assert names[:8] == ["1", "8", "∞", "1", "8", "∞", "item", "global"]
    assert "NOT PRIVATE" in shown
    with Path("demo/clicks.csv").open(encoding="utf-8") as file:
        written = list(csv.DictReader(file))
    for line, row in zip((line for line in lines if line[:1] in ("1", "8", "∞")), written, strict=False):
        names = ("recall@20", "popularity_recall@20", "ndcg@100", "ndcg@100_deviation", "popularity_ndcg@100")
        numbers = [float(cell) for cell in line.replace("±", "").split()[1:6]]
        assert numbers == pytest.approx([float(row[name]) for name in names], abs=0.00051)
    assert hr.Release.open("demo/release-eps1.safetensors").statement.private
    assert hr.Ledger.open("demo/ledger.db").remaining < 1e-6
    command = next(line for line in lines if line.startswith("Next: hushrec "))
    listed = hushrec(command.removeprefix("Next: hushrec ")).out
    assert "score" in listed
    taste = hr.Release.open("demo/release-eps1.safetensors").taste
    assert taste in " ".join(shown.split())
    assert taste in Path("demo/report.html").read_text("utf-8")
    assert "http.server -d demo/page 8000" in shown
    facts = json.loads(Path("demo/page/contents.json").read_text("utf-8"))
    assert (
        Path("demo/page", facts["release"]).read_bytes() == Path("demo/release-eps1.safetensors").read_bytes()
    )
    titles = json.loads(Path("demo/page", facts["titles"]).read_text("utf-8"))["titles"]
    with Path("demo/titles.csv").open(encoding="utf-8") as file:
        assert [row["title"] for row in csv.DictReader(file)] == titles
    (header,) = (place for place, line in enumerate(lines) if line.startswith("rank"))
    mine = [line.split()[2] for line in lines[header + 2 : header + 12]]
    assert re.findall(r"i\d{5}", listed) == mine  # the list of user A is the one that the command prints
    assert mine != [line.split()[1] for line in lines[header + 2 : header + 12]]


def test_the_next_command_names_the_program_by_its_path_if_the_shell_does_not_find_it(
    tmp_path, monkeypatch, hushrec
):
    monkeypatch.setattr(sys, "argv", ["my venv/bin/hushrec", "demo"])
    monkeypatch.setattr(shutil, "which", lambda name: None)
    shown = hushrec(f"demo --quick --out {tmp_path / 'demo'}").out
    command = next(line for line in shown.splitlines() if line.startswith("Next: "))
    assert shlex.split(command)[1:3] == ["my venv/bin/hushrec", "recommend"]


def test_a_folder_with_other_things_is_refused(tmp_path, refused):
    (tmp_path / "thesis.txt").write_text("precious")
    assert "--out" in refused(f"demo --quick --out {tmp_path}")
    (tmp_path / "thesis.txt").unlink()
    (tmp_path / demonstration.MARKER).touch()
    for mine in ("page-of-mine.txt", "page/thesis.txt"):
        (tmp_path / mine).parent.mkdir(exist_ok=True)
        (tmp_path / mine).write_text("precious")
        assert "move it" in refused(f"demo --quick --out {tmp_path}")
        (tmp_path / mine).unlink()


def test_without_the_report_extra_the_rest_is_there(tmp_path, monkeypatch, hushrec):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = hushrec(f"demo --quick --out {tmp_path / 'demo'}")
    assert "pip install 'hushrec[report]'" in result.err
    assert not (tmp_path / "demo" / demonstration.REPORT).exists()
    assert (tmp_path / "demo" / demonstration.RELEASE).exists()
