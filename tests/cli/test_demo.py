import sys
from pathlib import Path

import hushrec as hr
from hushrec.experiments.demo import demonstration


def test_the_whole_demo_twice(tmp_path, monkeypatch, hushrec):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for _ in range(2):  # the second run clears what the first one left
        shown = hushrec("demo --quick").out
        written = {entry.name for entry in Path("demo").iterdir()}
        assert written == {
            demonstration.MARKER,
            demonstration.RELEASE,
            demonstration.LEDGER,
            demonstration.CURVE,
            demonstration.TABLE,
            demonstration.REPORT,
        }
    assert max(len(line) for line in shown.splitlines() if not line.startswith("Next:")) <= 80
    first = [line.split()[0] for line in shown.splitlines() if line]
    assert [word for word in first if word in ("1", "8", "∞", "item", "global")][:5] == [
        "1",
        "8",
        "∞",
        "item",
        "global",
    ]
    assert "NOT PRIVATE" in shown
    release = hr.Release.open("demo/release-eps1.safetensors")
    assert release.statement.private
    assert hr.Ledger.open("demo/ledger.db").remaining < 1e-6
    command = next(line for line in shown.splitlines() if line.startswith("Next: hushrec "))
    assert "score" in hushrec(command.removeprefix("Next: hushrec ")).out


def test_a_folder_with_other_things_is_refused(tmp_path, refused):
    (tmp_path / "thesis.txt").write_text("precious")
    assert "--out" in refused(f"demo --quick --out {tmp_path}")


def test_without_the_report_extra_the_rest_is_there(tmp_path, monkeypatch, hushrec):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = hushrec(f"demo --quick --out {tmp_path / 'demo'}")
    assert "pip install 'hushrec[report]'" in result.err
    assert not (tmp_path / "demo" / demonstration.REPORT).exists()
    assert (tmp_path / "demo" / demonstration.RELEASE).exists()
