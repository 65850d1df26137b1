"""The benchmarks are listed, and run with their own options."""

import sys
from types import SimpleNamespace

from lab.commands import bench


def test_all_are_listed_with_what_they_measure(lab, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shown = lab("bench").out
    for path in (path for folder in bench.FOLDERS for path in folder.glob("*.py")):
        assert (f"\n{path.stem} " in shown) == ("__main__" in path.read_text("utf-8")), path


def test_one_gets_its_own_options_and_the_laboratory(lab, refused, monkeypatch):
    seen = []

    def run(command, env):
        seen.append((command, env["PYTHONPATH"].split(":")[0]))
        return SimpleNamespace(returncode=3)

    monkeypatch.setattr(bench.subprocess, "run", run)
    lab("bench ratios --rounds 3 --help", code=3)
    speed = bench.FOLDERS[1]
    assert seen == [
        ([sys.executable, str(speed / "ratios.py"), "--rounds", "3", "--help"], str(speed.parents[1]))
    ]
    assert "there is no benchmark 'nosuch'; there are als, bench" in refused("bench nosuch")
