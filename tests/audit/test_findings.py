"""The table of an audit, and its verdict."""

import pytest

from hushrec.audit.findings import Audit, Finding

FINDINGS = {
    True: Finding("search", 9, 0.9, noticed=10.0),
    False: Finding("search", 9, 1.1, noticed=10.0),
    None: Finding("sample", differs="search, 9 pairs"),
}


def audit_of(*verdicts):
    return Audit("GlobalEffects, ε = 1", 1.0, tuple(map(FINDINGS.get, verdicts)))


@pytest.mark.parametrize(
    ("verdicts", "holds"),
    [((True, True), True), ((True, False), False), ((True, None), True), ((None, False), False), ((), True)],
)
def test_one_refuted_claim_is_enough(verdicts, holds):
    assert audit_of(*verdicts).holds is holds


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
