"""The cells of a part of an audit: by its figures and the claim alone."""

import pytest

from hushrec.documents.document import Finding


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
