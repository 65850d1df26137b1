"""What one response loses, exactly and in the mean, and what many lose together."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from hushrec.arrays import Floats
from hushrec.errors import BudgetError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import Spent
from hushrec.privacy.accounting.calibration import _exponent
from hushrec.privacy.accounting.measurement import LARGEST, LEAST, Responses, cell_loss

SYMBOLS = (2, 3, 6, 11, 257)
EPSILONS = (1e-9, 1e-4, 0.03, 0.5, 2.0, 9.0, 250.0)
cases = pytest.mark.parametrize(
    ("symbols", "exponent"), [(k, _exponent(epsilon, k)) for k in SYMBOLS for epsilon in EPSILONS]
)


def decimal_law(symbols: int, exponent: float) -> tuple[Decimal, Decimal]:
    """Chances of the true answer and of each other one, to far more digits than any test needs."""
    changed = (-Decimal(exponent)).exp()
    return 1 - changed, changed / (symbols - 1)


def error_of(loss: Fraction, symbols: int, exponent: float) -> Decimal:
    with localcontext(prec=400):
        keep, other = decimal_law(symbols, exponent)
        return Decimal(loss.numerator) / Decimal(loss.denominator) - (keep / other).ln()


@cases
def test_the_loss_is_exact_and_never_below(symbols: int, exponent: float) -> None:
    loss = cell_loss(symbols, exponent)
    assert 0 <= error_of(loss, symbols, exponent) < Decimal("1e-39")
    assert error_of(loss - Fraction(1, 10**38), symbols, exponent) < 0


@pytest.mark.parametrize("exponent", [LEAST, LARGEST])
def test_it_is_at_the_ends_of_what_is_drawn(exponent: float) -> None:
    for symbols in SYMBOLS:
        if error_of(Fraction(0), symbols, exponent) < 0:
            assert 0 <= error_of(cell_loss(symbols, exponent), symbols, exponent) < Decimal("1e-39")


@pytest.mark.parametrize(
    ("symbols", "exponent"),
    [
        (6, 0.0),
        (6, -1.0),
        (6, -1e4),
        (6, 0.18),
        (2, 0.69),
        (6, 301.0),
        (6, math.inf),
        (6, math.nan),
        (6, 1e-10),
    ],
)
def test_what_tells_nothing_or_everything_is_refused(symbols: int, exponent: float) -> None:
    with pytest.raises(BudgetError, match="choose another ε"):
        Responses.of("r", symbols, exponent, 1, 1)


@pytest.mark.parametrize("symbols", [-1, 0, 1, 258])
def test_symbols_are_those_that_a_mark_can_tell(symbols: int) -> None:
    with pytest.raises(BudgetError, match="2 to 257 symbols"):
        cell_loss(symbols, 1.0)


@pytest.mark.parametrize(("cells", "size"), [(0, 3), (4, 3), (-1, 3), (0, 0)])
def test_some_answered_cells_may_differ(cells: int, size: int) -> None:
    with pytest.raises(BudgetError, match="answered cells of a row"):
        Responses.of("r", 6, 1.0, cells, size)


def test_what_they_say_of_themselves() -> None:
    answers = Responses.of("r", 6, _exponent(0.5, 6), 40, 100)
    keep, other = math.exp(0.5) / (math.exp(0.5) + 5), 1 / (math.exp(0.5) + 5)
    assert float(answers.loss) == pytest.approx(0.5, abs=1e-15)
    assert (answers.sensitivity, answers.noise, answers.deviation) == (
        40.0,
        answers.deviation,
        pytest.approx(5 * other),
    )
    assert answers.expected == pytest.approx((keep - other) * 0.5, rel=1e-14)


@cases
def test_the_mean_loss_is_the_divergence_of_the_answers(symbols: int, exponent: float) -> None:
    with localcontext(prec=100):
        keep, other = decimal_law(symbols, exponent)
        divergence = keep * (keep / other).ln() + other * (other / keep).ln()
    assert Responses.of("r", symbols, exponent, 1, 1).expected == pytest.approx(float(divergence), rel=1e-12)


# -- many cells -------------------------------------------------------------------------------------------


def together(symbols: int, exponent: float, cells: int) -> tuple[float, Floats]:
    """Distribution of the loss of so many cells in steps of ε: its lattice's ε, and probabilities."""
    answers = Responses.of("r", symbols, exponent, 1, 1)
    other = answers.noise / (symbols - 1)
    one, law = np.array([other, (symbols - 2) * other, 1 - answers.noise]), np.ones(1)
    for _ in range(cells):
        law = np.convolve(law, one)
    return float(answers.loss), law


def exact_delta(symbols: int, exponent: float, cells: int, epsilon: float) -> float:
    step, law = together(symbols, exponent, cells)
    losses = step * np.arange(-cells, cells + 1)
    return float(law @ np.maximum(0, -np.expm1(np.minimum(0, epsilon - losses))))


@pytest.mark.parametrize("symbols", [2, 3, 6, 11])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 2.0])
@pytest.mark.parametrize("cells", [1, 5, 40, 1000])
def test_composition_is_never_worse_than_its_price(symbols: int, epsilon: float, cells: int) -> None:
    answers = Responses.of("r", symbols, _exponent(epsilon, symbols), cells, cells)
    for delta in (1e-3, 1e-6, 1e-9):
        said = fixed_point.shown(answers.spent().epsilon_units(delta))
        assert exact_delta(symbols, answers.exponent, cells, said) <= delta


@pytest.mark.parametrize("symbols", [2, 6])
def test_six_tenths_of_the_price_are_found_too_little(symbols: int) -> None:
    answers = Responses.of("r", symbols, _exponent(0.1, symbols), 1000, 1000)
    less = Spent(answers.spent().mu_squared * 6 // 10).epsilon_at(1e-6)
    assert exact_delta(symbols, answers.exponent, 1000, less) > 1e-6


def test_many_symbols_cost_less_than_a_pure_epsilon_may() -> None:
    """μ²/ε² at small ε: 1/(4 φ(0)²) for two symbols, and less for more."""
    costs = [Responses.of("r", k, _exponent(1e-3, k), 1, 1).spent().mu_squared / 1e6 for k in (2, 3, 6, 11)]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] == pytest.approx(math.pi / 2, rel=1e-3)


def test_the_price_is_that_of_all_cells() -> None:
    one, many = (Responses.of("r", 6, _exponent(0.1, 6), cells, 1000) for cells in (1, 400))
    spent = many.spent()
    assert spent.epsilon == spent.epsilon_units(0.0) == fixed_point.cost(400 * many.loss)
    assert 0 <= 400 * one.spent().mu_squared - spent.mu_squared < 400
