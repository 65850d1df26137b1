"""What the accountant rounds up, where floating point could fall below the truth: against fifty digits."""

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import largest_pure, largest_rho, price, zcdp_epsilon
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import gaussian, laplace, split_gaussian, split_laplace
from hushrec.privacy.accounting.events import Laplace


def budget(delta: float = 1e-6) -> Budget:
    return Budget(epsilon=1.0, delta=delta, unit="user", adjacency="add-remove")


def test_the_zcdp_loss_of_laplace_noise_is_never_below_the_true_one() -> None:
    with localcontext(prec=50):
        for k in range(1, 1500):
            epsilon = Fraction(7 * k, 9)
            event = Laplace("a", float(7 * k), 9.0, 1.0, 1)
            exact = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
            assert price(event).pure_rho >= (exact + (-exact).exp() - 1) * fixed_point.PER_ONE


def best_bound(rho: Decimal, delta: Decimal) -> Decimal:
    """inf over α of αρ + ln((α − 1)/α) − (ln δ + ln α)/(α − 1), to some twenty digits."""

    def bound(less: Decimal) -> Decimal:  # α − 1
        order = less + 1
        return order * rho + (less / order).ln() - (delta.ln() + order.ln()) / less

    low, high = (-delta.ln() / rho).sqrt() / 30, (-delta.ln() / rho).sqrt() * 3
    for _ in range(90):
        third = (high - low) / 3
        if bound(low + third) < bound(high - third):
            high -= third
        else:
            low += third
    return bound((low + high) / 2)


def test_the_zcdp_bound_is_never_below_the_true_one() -> None:
    with localcontext(prec=50):
        for rho in (1e-6, 3e-4, 0.01, 0.1, 0.3, 1.0, 3.0, 17.0, 300.0, 4e4):
            for delta in (1e-9, 1e-6, 1e-3):
                assert Decimal(zcdp_epsilon(rho, delta)) >= best_bound(Decimal(rho), Decimal(delta))


SHARES = [{"a": 0.5, "b": 0.5 + 4e-10}, dict.fromkeys("abc", 1 / 3), dict.fromkeys("abcdefg", 1 / 7)]


@pytest.mark.parametrize("split", SHARES, ids=["a hair above the whole", "thirds", "sevenths"])
def test_shares_come_to_no_more_than_the_whole(split: dict[str, float]) -> None:
    rhos = split_gaussian(budget(), split)
    assert sum(rhos.values()) <= largest_rho(budget()) < sum(rhos.values()) + 2 * len(split)
    epsilon_sum = split_laplace(budget(0.0), split)
    assert sum(epsilon_sum.values()) <= largest_pure(budget(0.0)) < sum(epsilon_sum.values()) + 2 * len(split)


def test_a_measurement_costs_no_more_than_its_share() -> None:
    """Floats round σ to either side of what the share buys, so among so many some would cost more."""
    for k in range(1, 300):
        units_of, delta = 10**9 * k + 7 * k, 0.1 * k
        event = gaussian("a", rho=units_of, sensitivity=delta, step=2**-8, size=1)
        assert 0 <= units_of - price(event).rho <= 1
        other = laplace("a", epsilon=units_of, sensitivity=delta, step=2**-8, size=1)
        assert 0 <= units_of - price(other).epsilon_sum <= 1
