"""Noise that is found by bisection: it spends the budget, no more, and the same on every machine."""

import dataclasses
import math
import time

import pytest

from hushrec.errors import BudgetError
from hushrec.privacy.accounting.accountant import divergences, price, spent_of
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import (
    Part,
    gaussian,
    gaussians,
    laplace,
    posterior_sample,
    responses,
    split_gaussian,
    split_laplace,
)
from hushrec.privacy.accounting.events import LARGEST, drawn_rate
from hushrec.privacy.accounting.plan import Measurement, Plan


def budget(epsilon: float = 1.0, delta: float = 1e-6) -> Budget:
    return Budget(epsilon=epsilon, delta=delta, unit="user", adjacency="add-remove")


def wanted(rounds: int = 20, rate: float = 0.05, first: float = 0.1) -> list[Part]:
    part = (1 - first) / rounds
    return [
        Part("items", 3.0, 2**-10, 8, first),
        *(Part(f"round {i}", 0.1 * (i + 1), 2**-14, 8, part, rate) for i in range(rounds)),
    ]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("rate", [0.001, 0.05, 0.5, 0.999, 1.0])
def test_they_spend_the_budget_and_no_more(epsilon: float, rate: float) -> None:
    events = gaussians(budget(epsilon), wanted(rate=rate))
    left = budget(epsilon).epsilon_units - spent_of(events).epsilon_units(1e-6)
    assert 0 <= left < 10_000  # of 1e12


def test_noise_goes_with_sensitivity_rate_and_share() -> None:
    items, *rounds = gaussians(budget(), wanted(rate=0.05))
    assert items.rate == 1.0
    assert {event.rate for event in rounds} == {drawn_rate(0.05)}
    ratios = [event.noise / event.sensitivity for event in rounds]
    assert max(ratios) / min(ratios) - 1 < 1e-14
    expected = (1 / math.sqrt(0.1)) / (0.05 / math.sqrt(0.9 / 20))
    assert items.noise / items.sensitivity / ratios[0] == pytest.approx(expected, rel=1e-12)


def test_where_everybody_takes_part_it_is_the_exact_split() -> None:
    found = gaussians(budget(), wanted(rate=1.0))
    rhos = split_gaussian(budget(), {target.name: target.part for target in wanted()})
    for event, target in zip(found, wanted(), strict=True):
        exact = gaussian(
            target.name, rho=rhos[target.name], sensitivity=target.sensitivity, step=target.step, size=8
        )
        assert event == pytest.approx(exact) or event.noise == pytest.approx(exact.noise, rel=1e-9)


def test_it_is_the_same_every_time() -> None:
    divergences.cache_clear()
    first = gaussians(budget(), wanted())
    divergences.cache_clear()
    assert gaussians(budget(), wanted()) == first


def test_a_smaller_sample_needs_less_noise() -> None:
    sigmas = [gaussians(budget(), wanted(rate=rate))[1].noise for rate in (0.01, 0.1, 0.5, 0.9)]
    assert sigmas == sorted(sigmas)


def test_a_hundred_rounds_are_planned_at_once() -> None:
    divergences.cache_clear()
    start = time.perf_counter()
    events = gaussians(budget(), wanted(rounds=100))
    split = [0.1] + [0.009] * 100
    measurements = tuple(map(Measurement, events, split))
    assert Plan("toy", {}, "d" * 64, 1000, budget(), measurements).epsilon <= 1.0
    assert time.perf_counter() - start < 3.0  # 0.2 s on one idle core


def test_an_epsilon_that_samples_cannot_show_is_refused() -> None:
    with pytest.raises(BudgetError, match="let everybody take part"):
        gaussians(budget(0.001), wanted())
    with pytest.raises(BudgetError, match="give a δ"):
        gaussians(budget(delta=0.0), wanted())
    with pytest.raises(BudgetError, match="split"):
        gaussians(budget(), [*wanted(first=0.5), Part("more", 1.0, 1.0, 1, 0.2)])


def test_a_grid_too_coarse_for_the_noise_is_refused_with_one_that_would_do() -> None:
    with pytest.raises(BudgetError, match="choose a step between"):
        gaussians(budget(), [Part("a", 1.0, 2.0**20, 1, 1.0, 0.5)])


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0, 7.7])
def test_a_posterior_sample_costs_its_part_and_no_more(epsilon: float) -> None:
    part = split_laplace(budget(epsilon), {"v": 0.7})["v"]
    event = posterior_sample("v", epsilon=part, sensitivity=12.5, step=2**-10, size=3)
    assert 0 <= part - spent_of([event]).epsilon_sum <= 1
    assert event.noise == pytest.approx(12.5 / (0.7 * epsilon))
    with pytest.raises(BudgetError, match="less than one unit"):
        posterior_sample("v", epsilon=0, sensitivity=1.0, step=1.0, size=1)


def test_laplace_noise_is_not_touched_by_samples() -> None:
    event = laplace("a", epsilon=split_laplace(budget(), {"a": 1.0})["a"], sensitivity=1.0, step=1.0, size=1)
    assert event.noise == 1.0


@pytest.mark.parametrize("symbols", [2, 6, 257])
@pytest.mark.parametrize("cells", [1, 30, 17_770])
@pytest.mark.parametrize("epsilon", [0.1, 3.0, 500.0])
@pytest.mark.parametrize("delta", [0.0, 1e-8])
def test_responses_spend_the_budget_and_no_more(
    symbols: int, cells: int, epsilon: float, delta: float
) -> None:
    event = responses("r", budget(epsilon, delta), symbols=symbols, cells=cells, size=17_770)
    assert (event.symbols, event.cells, event.size) == (symbols, cells, 17_770)
    spent = price(event)
    if event.exponent == LARGEST:
        return
    assert 0 <= budget(epsilon).epsilon_units - spent.epsilon_units(delta) < 1000  # of 1e12
    more = dataclasses.replace(event, exponent=event.exponent * (1 + 1e-7))
    assert price(more).epsilon_units(delta) > budget(epsilon).epsilon_units
    if delta == 0:
        assert float(event.loss) * cells == pytest.approx(epsilon, rel=1e-9)


def test_an_epsilon_too_little_for_so_many_cells_is_refused() -> None:
    with pytest.raises(BudgetError, match="let people answer fewer"):
        responses("r", budget(1e-9, 0.0), symbols=6, cells=10_000, size=10_000)
