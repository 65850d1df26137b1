"""The verdict on a part of an audit: by its figures and the release's own ε, never by what the file says."""

import json
from dataclasses import asdict

import pytest

from hushrec.audit.fits import _listened, _refuted, _replayed, _unaudited
from hushrec.documents.finding import EXCEEDED, Finding, verdict
from support.hostile import HOSTILE, harmless


def told(finding, holds=True):
    """A finding as a file of JSON has it."""
    return json.loads(json.dumps(asdict(finding) | {"holds": holds}))


CANARY = told(Finding("canary", 1000, 0.8, mistaken=5e-7, noticed=30.0))
SEARCH = told(Finding("search", 12, 1.0, noticed=0.1))
REPLAY = told(Finding("replay", 9))
SAMPLE = told(Finding("sample", differs="factors"), None)
ROWS = (
    ("canary, 1,000 runs", "ε ≥ 0.8", "ε ≤ 1.25", "holds", "1 − 5e-07", "noise 30 % too small"),
    ("search, 12 pairs", "1 Δ", "≤ 1 Δ", "holds", "exact", "Δ 0.1 % too small"),
    ("replay, 9 pairs", "equal", "equal", "holds", "exact", "any difference"),
)


@pytest.mark.parametrize(("finding", "row"), [*zip((CANARY, SEARCH, REPLAY), ROWS, strict=True)])
def test_a_part_within_the_claim_holds(finding, row):
    assert verdict(finding, 1.25) == row


@pytest.mark.parametrize(
    ("finding", "change", "claimed"),
    [
        (CANARY, {"figure": 1.26}, "ε ≤ 1.25"),
        (CANARY, {"figure": 1e299}, "ε ≤ 1.25"),
        (CANARY, {"holds": False}, "ε ≤ 1.25"),
        (SEARCH, {"figure": 1.01}, "≤ 1 Δ"),
        (SEARCH, {"figure": None, "differs": "a table differs"}, "equal"),
        (REPLAY, {"differs": "a table differs"}, "equal"),
        (SAMPLE, {"holds": False}, "–"),
    ],
)
def test_what_exceeds_the_release_is_told_whatever_the_file_says(finding, change, claimed):
    row = verdict(finding | change, 1.25)
    assert row[2:4] == (claimed, EXCEEDED)


@pytest.mark.parametrize(
    ("finding", "change"),
    [
        (CANARY, {"kind": "certified by the regulator"}),
        (CANARY, {"kind": 3}),
        (CANARY, {"tries": "9, certified"}),
        (CANARY, {"tries": True}),
        (CANARY, {"figure": "0.8"}),
        (CANARY, {"figure": None}),
        (CANARY, {"figure": float("nan")}),
        (CANARY, {"figure": float("inf")}),
        (CANARY, {"figure": -1}),
        (CANARY, {"mistaken": None}),
        (CANARY, {"holds": 0}),
        (CANARY, {"holds": "yes"}),
        (CANARY, {"differs": None}),
        (SEARCH, {"figure": None}),
        (SEARCH, {"noticed": None}),
        (REPLAY, {"figure": 0.1}),
        (SAMPLE, {"figure": 0.1}),
    ],
)
def test_what_no_audit_writes_is_refused(finding, change):
    with pytest.raises((ValueError, TypeError)):
        verdict(finding | change, 1.25)


@pytest.mark.parametrize("name", list(CANARY))
def test_a_field_that_is_missing_is_refused(name):
    with pytest.raises(KeyError):
        verdict({key: value for key, value in CANARY.items() if key != name}, 1.25)


def test_a_name_of_the_files_own_stands_in_quotes_on_a_short_line():
    row = verdict(SAMPLE | {"differs": HOSTILE + "x" * 10_000}, 1.25)
    assert row[1:4] == ("–", "–", "not audited")
    assert row[0].startswith("“")
    assert harmless(row[0], lines=False)
    assert len(row[0]) <= 82
    assert len(verdict(REPLAY | {"differs": "y" * 10_000}, 1.25)[1]) <= 82


def test_what_an_audit_writes_is_understood():
    class Heard:
        epsilon, noticed, runs = 0.8123456, 0.3, 1000

    made = [_listened([Heard()]), _unaudited("factors"), _refuted("search", ValueError("a table differs"))]
    made.append(_replayed(None, None, (), 0, lambda: None))
    rows = [verdict(told(finding, finding.holds(1.25)), 1.25) for finding in made]
    assert [row[3] for row in rows] == ["holds", "not audited", EXCEEDED, "holds"]
    assert rows[0][1] == "ε ≥ 0.8123"
