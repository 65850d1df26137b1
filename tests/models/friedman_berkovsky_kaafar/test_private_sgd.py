"""Gradients at released factors: what is particular to them."""

import pytest

import hushrec as hr
from hushrec.errors import BudgetUnsupported


def test_one_rating_moves_a_gradient_by_at_most_clip_times_radius(listed, budget):
    planned = hr.plan(listed[0].domain, hr.PrivateSGD(rank=3, epochs=5), budget())
    moved = [m.sensitivity for m in planned.measurements if ", epoch " in m.name]
    assert moved == pytest.approx([0.8 * 0.42] * 10, rel=1e-3)


def test_unit_user_is_another_algorithm(listed, budget):
    with pytest.raises(BudgetUnsupported, match="PrivateSGD protects record under add-remove, record under"):
        hr.plan(listed[0].domain, hr.PrivateSGD(), budget(unit="user"))
