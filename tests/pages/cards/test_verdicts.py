"""The verdict on a part of an audit: by its figures and the release's own ε, never by what the file says."""

import pytest

from hushrec.audit.findings import Finding
from hushrec.audit.fits import _listened, _refuted, _replayed, _unaudited
from hushrec.pages.cards.verdicts import EXCEEDED, verdict
from support.hostile import HOSTILE, harmless

CANARY = {
    "part": "canary, 1,000 runs",
    "found": "ε ≥ 0.8",
    "claimed": "ε ≤ 1.25",
    "holds": True,
    "confidence": "1 − 5e-07",
    "notices": "noise 30 % too small",
}
SEARCH = CANARY | {"part": "search, 12 pairs", "found": "1 Δ", "claimed": "≤ 1 Δ", "confidence": "exact"}
REPLAY = SEARCH | {
    "part": "replay, 9 pairs",
    "found": "equal",
    "claimed": "equal",
    "notices": "any difference",
}
SAMPLE = CANARY | {"part": "factors", "found": "–", "claimed": "–", "holds": None, "notices": "nothing"}


@pytest.mark.parametrize("finding", [CANARY, SEARCH, REPLAY])
def test_a_part_within_the_claim_holds(finding):
    assert verdict(finding, 1.25) == (*list(finding.values())[:3], "holds", *list(finding.values())[4:])


@pytest.mark.parametrize(
    ("finding", "change"),
    [
        (CANARY, {"found": "ε ≥ 1.26"}),
        (CANARY, {"found": "ε ≥ 9.9", "claimed": "ε ≤ 10"}),
        (CANARY, {"found": "ε ≥ ∞", "claimed": "ε ≤ ∞"}),
        (CANARY, {"holds": False}),
        (SEARCH, {"found": "1.01 Δ", "claimed": "≤ 2 Δ"}),
        (SEARCH, {"part": "search", "found": "equal"}),
        (REPLAY, {"found": "a table differs"}),
    ],
)
def test_what_exceeds_the_release_is_told_whatever_the_file_says(finding, change):
    row = verdict(finding | change, 1.25)
    assert row[3] == EXCEEDED
    assert row[2] == finding["claimed"] or row[2] == "equal"


@pytest.mark.parametrize(
    "change",
    [
        {"part": "whole release, certified by the regulator"},
        {"found": "x"},
        {"found": "ε ≥ nan"},
        {"found": "ε ≥ 0.8 (certified)"},
        {"holds": 0},
        {"holds": "yes"},
        {"found": None},
        {"claimed": 1},
        {"confidence": "100 %"},
        {"notices": "every fault"},
    ],
)
def test_what_no_audit_writes_is_refused(change):
    with pytest.raises((ValueError, TypeError)):
        verdict(CANARY | change, 1.25)


def test_a_name_of_the_files_own_stands_in_quotes_on_a_short_line():
    row = verdict(SAMPLE | {"part": HOSTILE + "x" * 10_000}, 1.25)
    assert row[1:4] == ("–", "–", "not audited")
    assert row[0].startswith("“")
    assert harmless(row[0], lines=False)
    assert len(row[0]) <= 82
    assert len(verdict(REPLAY | {"found": "y" * 10_000}, 1.25)[1]) <= 82


def test_what_an_audit_writes_is_understood():
    class Heard:
        epsilon, noticed, runs = 0.8123456, 0.3, 1000

    made = [
        _listened(Heard(), 1.25),
        _unaudited("factors"),
        _refuted("search", ValueError("a table differs")),
    ]
    made.append(_replayed(None, None, None, (), lambda: None))
    assert all(isinstance(finding, Finding) for finding in made)
    rows = [verdict(vars_of(finding), 1.25) for finding in made]
    assert [row[3] for row in rows] == ["holds", "not audited", EXCEEDED, "holds"]


def vars_of(finding):
    return {name: getattr(finding, name) for name in CANARY}
