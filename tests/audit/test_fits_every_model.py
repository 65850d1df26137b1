"""Every model holds what it claims, for every unit and adjacency that it supports.

Each at one ε, in turn; ``make audits`` tries all of them.
"""

from itertools import cycle

import pytest

from hushrec.audit.fits import audit
from support.audited import CASES, EPSILONS


@pytest.mark.full
@pytest.mark.parametrize(("case", "epsilon"), [*zip(CASES, cycle(EPSILONS), strict=False)], ids=str)
def test_it_holds_what_it_claims(case, epsilon):
    found = audit(case.config(), case.budget(epsilon), runs=100_000)
    print(f"\n{found}")
    assert found.holds, str(found)
    sampled = any(finding.kind == "sample" for finding in found.findings)  # no noise that could fall short
    for finding in found.findings:
        assert sampled or finding.kind == "replay" or finding.noticed is not None, str(found)


def test_every_model_that_protects_anything_is_a_case():
    from hushrec import models

    named = {case.model for case in CASES}
    assert named == {name for name in models.MODELS if models.class_of(name).supports}
