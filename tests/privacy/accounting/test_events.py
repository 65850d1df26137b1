import dataclasses
import functools
import math

import pytest

from hushrec.errors import BudgetError
from hushrec.privacy.accounting.events import EVERY_RATING, Event, Gaussian, Laplace

KINDS = pytest.mark.parametrize("kind", [Gaussian, Laplace])


@KINDS
def test_events_are_frozen_descriptions(kind: type[Event]) -> None:
    event = kind("sums", 2.0, 10.0, 0.5, 4)
    assert event.noise == 10.0
    assert event == kind("sums", 2.0, 10.0, 0.5, 4)
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.size = 5  # type: ignore[misc]


def test_each_kind_names_its_norm_and_deviation() -> None:
    assert (Gaussian.norm, Laplace.norm) == ("l2", "l1")
    assert Gaussian("a", 1.0, 3.0, 1.0, 1).deviation == 3.0
    sampled = Gaussian("a", 1.0, 3.0, 1.0, 1, 0.25)
    assert (sampled.norm, sampled.noise, sampled.deviation, sampled.rate) == ("l2", 3.0, 3.0, 0.25)
    assert Laplace("a", 1.0, 3.0, 1.0, 1).deviation == pytest.approx(math.sqrt(18))


@pytest.mark.parametrize("kind", [Gaussian, functools.partial(Gaussian, rate=0.5), Laplace])
@pytest.mark.parametrize(
    ("sensitivity", "noise", "step", "size"),
    [
        (1.0, 0.0, 1.0, 1),  # no noise is never free: it is no mechanism at all
        (1.0, -1.0, 1.0, 1),
        (1.0, math.inf, 1.0, 1),
        (1.0, math.nan, 1.0, 1),
        (0.0, 1.0, 1.0, 1),
        (math.nan, 1.0, 1.0, 1),
        (math.inf, 1.0, 1.0, 1),
        (1.0, 1.0, 0.0, 1),
        (1.0, 1.0, 1.0, -1),
        (1.0, 1.0, 11.0, 1),  # narrower than a tenth of the grid
        (1.0, 1.0, 1e-16, 1),  # wider than the sampler reaches
    ],
)
def test_events_without_sense_are_refused(
    kind: type[Event], sensitivity: float, noise: float, step: float, size: int
) -> None:
    with pytest.raises(BudgetError):
        kind("sums", sensitivity, noise, step, size)


def test_the_refusal_of_a_grid_names_one_that_would_do() -> None:
    with pytest.raises(BudgetError, match=r"between 8.88e-16 and 10$"):
        Gaussian("sums", 1.0, 1.0, 11.0, 1)


@KINDS
def test_a_size_may_be_left_to_the_number_of_ratings(kind: type[Event]) -> None:
    assert kind("sums", 2.0, 10.0, 0.5, EVERY_RATING).size == 0
