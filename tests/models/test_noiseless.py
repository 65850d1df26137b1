"""What models without noise share: whatever the budget, they refuse it and say what takes one."""

import pytest

import hushrec as hr
from hushrec.errors import BudgetUnsupported
from hushrec.models.base import Noiseless

KINDS = [
    kind
    for kind in (getattr(hr, name) for name in hr.__all__)
    if isinstance(kind, type) and issubclass(kind, Noiseless)
]
DOMAIN = hr.Domain(range(3), scale=(1, 5, 1), max_users=10)


def test_they_are_the_three_that_there_are():
    assert {kind.__name__ for kind in KINDS} == {"ItemKNN", "MatrixFactorization", "UserKNN"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("unit", "adjacency"), [("user", "add-remove"), ("record", "add-remove"), ("record", "replace")]
)
def test_any_budget_is_refused_with_the_way_out(budget, kind, unit, adjacency):
    allowed = budget(100.0, unit, adjacency)
    with pytest.raises(BudgetUnsupported) as caught:
        kind().plan(DOMAIN, allowed)
    assert str(caught.value) == f"{kind.__name__} adds no noise, so it takes no budget; {kind.instead}"
    assert not hasattr(kind(), "queries")
    assert (unit, adjacency) not in kind.supports
