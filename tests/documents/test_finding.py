"""The cells of a part of an audit: by its figures and the claim alone."""

import pytest

from hushrec.documents.finding import Finding

CANARY = Finding("canary", 1000, 0.8, mistaken=5e-7, noticed=30.0)
SEARCH = Finding("search", 12, 1.0, noticed=0.1)
REPLAY = Finding("replay", 9)
SAMPLE = Finding("sample", differs="factors")


@pytest.mark.parametrize(
    ("finding", "row"),
    [
        (CANARY, ("canary, 1,000 runs", "ε ≥ 0.8", "ε ≤ 1.25", "holds", "1 − 5e-07", "noise 30 % too small")),
        (SEARCH, ("search, 12 pairs", "1 Δ", "≤ 1 Δ", "holds", "exact", "Δ 0.1 % too small")),
        (REPLAY, ("replay, 9 pairs", "equal", "equal", "holds", "exact", "any difference")),
        (SAMPLE, ("factors", "–", "–", "not audited", "none", "nothing")),
    ],
)
def test_a_part_within_the_claim_holds(finding, row):
    assert finding.cells(1.25) == row


@pytest.mark.parametrize(
    "finding",
    [
        Finding("canary", 1000, 1.26, mistaken=5e-7, noticed=30.0),
        Finding("search", 12, 1.01, noticed=0.1),
        Finding("search", 12, differs="a table differs"),
        Finding("replay", 9, differs="a table differs"),
    ],
)
def test_what_exceeds_the_claim_is_told(finding):
    assert finding.cells(1.25)[3] == "EXCEEDED"
