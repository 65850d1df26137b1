"""Least squares from right-hand sides under noise: what is particular to it."""

import pytest

import hushrec as hr


def test_one_rating_moves_a_right_hand_side_by_at_most_clip(listed, budget):
    planned = hr.plan(listed[0].domain, hr.PrivateALS(rank=3, epochs=3), budget())
    moved = [m.sensitivity for m in planned.measurements if ", epoch " in m.name]
    assert moved == pytest.approx([0.9] * 6, rel=1e-3)
