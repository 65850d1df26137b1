"""The recorder: what a fit measured, what a replay returns, and distances in exact arithmetic."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

from hushrec.audit.recorder import Leak, Measured, Recorder, branch_of, distance_of, ratio
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.noisy import Cells, Noisy, NoisyMatrix

GAUSSIAN = Measurement("sums", 5.0, "l2", 1.0, 2, noise=1.0)
LAPLACE = Measurement("sums", 7.0, "l1", 1.0, 2, noise=1.0)


def measured(*steps, event=GAUSSIAN, public=()):
    return Measured(event, np.array(steps), public, None)


def released(recorder, *steps, event=GAUSSIAN, values=(0.5, 1.5), public=()):
    noisy = Noisy(event.name, np.array(values), 1.0, event.step, event)
    return recorder.released(event, np.array(steps), noisy, *public)


def test_it_records_and_changes_nothing():
    recorder = Recorder()
    noisy = released(recorder, 3, 4, public=(2,))
    assert noisy.values.tolist() == [0.5, 1.5]
    (made,) = recorder.measured
    assert (made.name, made.sums.tolist(), made.public) == ("sums", [3, 4], (2,))
    noisy.values[:] = 0  # what a model does to its values is not on the tape
    assert made.value.values.tolist() == [0.5, 1.5]


def test_a_tape_is_replayed():
    first = Recorder()
    released(first, 3, 4)
    second = Recorder(first.measured)
    noisy = released(second, 30, 40, values=(9.0, 9.0))
    assert noisy.values.tolist() == [0.5, 1.5]
    assert second.measured[0].sums.tolist() == [30, 40]
    assert second.measured[0].value.values.tolist() == [0.5, 1.5]


def test_another_order_or_one_measurement_more_is_a_leak():
    first = Recorder()
    released(first, 3, 4)
    with pytest.raises(Leak, match="measurement 0, counts, was not made by the neighbour"):
        released(Recorder(first.measured), 3, 4, event=dataclasses.replace(GAUSSIAN, name="counts"))
    second = Recorder(first.measured)
    released(second, 3, 4)
    with pytest.raises(Leak, match="measurement 1"):
        released(second, 3, 4)


def test_all_cells_of_a_matrix_count():
    recorder, event = Recorder(), dataclasses.replace(LAPLACE, size=6)
    parts = (2, 3), np.array([0, 1, 2]), np.array([2, 0], np.int32), np.array([5, -1], np.int32)
    recorder.released(event, Cells(*parts, 3, 9), NoisyMatrix("sums", *parts, 1.0, 1.0, event), 3, 9)
    (made,) = recorder.measured
    assert made.sums.tolist() == [[0, 0, 5], [-1, 0, 0]]
    assert made.public == (3, 9)


def test_a_posterior_sample_is_noted_and_keeps_its_key():
    recorder = Recorder()
    event = Measurement("sample", 1.0, "loss", 1.0, 2, noise=1.0)
    assert recorder.released(event, None, b"key") == b"key"
    assert recorder.samples == ["sample"]


@pytest.mark.parametrize(
    ("event", "steps", "expected"),
    [
        (GAUSSIAN, (3, 4), 1.0),
        (GAUSSIAN, (3, 0), 0.6),
        (LAPLACE, (3, 4), 1.0),
        (LAPLACE, (-3, 0), 3 / 7),
        (dataclasses.replace(GAUSSIAN, step=0.5), (6, 8), 1.0),
    ],
)
def test_a_ratio_is_distance_over_sensitivity(event, steps, expected):
    assert ratio(measured(0, 0, event=event), measured(*steps, event=event)) == pytest.approx(expected)
    assert ratio(measured(1, 1, event=event), measured(1, 1, event=event)) == 0


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_float_cannot_hide_an_excess(norm):
    """One step in 2^60 above Δ: in floating point the ratio is 1."""
    huge = 2**60
    event = dataclasses.replace(LAPLACE if norm == "l1" else GAUSSIAN, sensitivity=float(huge))
    within, beyond = (measured(steps, event=event) for steps in (huge, huge + 1))
    zero = measured(0, event=event)
    assert ratio(zero, within) == 1
    assert float(Fraction(huge + 1, huge)) == 1
    assert ratio(zero, beyond) > 1


def test_what_neighbours_must_agree_on():
    one = measured(1, 2, public=(3,))
    with pytest.raises(Leak, match="another price"):
        ratio(one, measured(1, 2, event=LAPLACE, public=(3,)))
    with pytest.raises(Leak, match="other public settings"):
        ratio(one, measured(1, 2, public=(4,)))
    with pytest.raises(Leak, match="another shape"):
        ratio(one, measured(1, 2, 3, public=(3,)))


def test_distances_are_integers():
    one, other = np.array([2**62, 0]), np.array([0, 1])
    assert distance_of("l1", one, other) == 2**62 + 1
    assert distance_of("l2", one, other) == 2**124 + 1
    assert math.isqrt(distance_of("l2", one, other)) == 2**62


def test_factors_change_the_sizes_of_noisy_values_and_a_tape_keeps_them():
    first = Recorder(factors={"sums": 4.0})
    noisy = released(first, 3, 4, values=(-0.5, 1.5))
    assert noisy.values.tolist() == first.measured[0].value.values.tolist() == [4.0, 6.0]
    assert first.measured[0].sums.tolist() == [3, 4]
    second = Recorder(first.measured, {"sums": 4.0})
    assert released(second, 30, 40, values=(9.0, 9.0)).values.tolist() == [4.0, 6.0]
    other = released(Recorder(factors={"counts": 4.0}), 3, 4, values=(-0.5, 1.5))
    assert other.values.tolist() == [-0.5, 1.5]


def test_the_branch_of_a_fit_is_that_of_what_it_measured():
    in_branch = dataclasses.replace(GAUSSIAN, branch="pairs")
    assert branch_of([measured(1), measured(1, event=in_branch)]) == "pairs"
    assert branch_of([measured(1)]) == branch_of([]) == ""
