"""The rows of the bench table, and the page that is made of them."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def script(name, folder="benchmarks"):
    """A script of a folder that is no package; what lies beside it can be imported by it."""
    path = ROOT / folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        sys.modules[name] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


rows = script("rows")
ROW = {"kind": "covariance", "work": "one matrix", "size": "10 M ratings", "unit": "s", "ours": 2.0}


@pytest.mark.parametrize(
    ("changed", "ratio", "met"),
    [
        ({}, None, None),
        ({"mark": "≤ 2 s"}, None, True),
        ({"mark": "≤ 1.9 s"}, None, False),
        ({"peer": "scipy", "theirs": 20.0, "mark": "≥ 10 ×"}, 10, True),
        ({"peer": "scipy", "theirs": 19.0, "mark": "≥ 10 ×"}, 9.5, False),
        ({"peer": "scipy", "mark": "≥ 10 ×"}, None, None),
        ({"unit": "M draws/s", "mark": "≥ 2 M draws/s"}, None, True),
        ({"unit": "users/s", "ours": 1999, "mark": "≥ 2,000 users/s"}, None, False),
        ({"unit": "users/s", "peer": "implicit", "theirs": 4.0, "mark": "≥ 1 ×"}, 0.5, False),
    ],
)
def test_a_row_is_judged_by_its_mark(changed, ratio, met):
    row = rows.Row(**{**ROW, **changed})
    assert (row.ratio, row.met) == (ratio, met)


@pytest.mark.parametrize("mark", ["10 ×", "≥ ten ×", "≥ 10", "≤ 5 ms"])
def test_a_mark_that_nothing_can_judge_is_refused(mark):
    with pytest.raises(ValueError, match="mark"):
        rows.Row(**ROW, mark=mark)


def test_a_row_is_printed_and_handed_on(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(rows.FILE, str(tmp_path / "rows"))
    made = [rows.report(*ROW.values(), peer="scipy", theirs=theirs, mark="≥ 10 ×") for theirs in (20, 3)]
    assert rows.read(tmp_path / "rows") == made
    assert [json.loads(line)["theirs"] for line in (tmp_path / "rows").read_text().splitlines()] == [20, 3]
    first, second = capsys.readouterr().out.splitlines()
    assert " ".join(first.split()).endswith("2 s scipy: 20, 10 × ≥ 10 × met")
    assert second.endswith("NOT MET")
