"""The accountant for mechanisms of your own: against exact arithmetic, and what its page prints."""

import doctest
import math
import re
import shlex
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

import hushrec as hr
from hushrec.accounting import (
    Loss,
    gaussian,
    gaussian_noise,
    laplace,
    pure,
    randomized_response,
    zcdp_epsilon,
)
from hushrec.cli.app import app
from hushrec.errors import BudgetError
from hushrec.privacy.accounting.renyi import ORDERS

PAGE = (Path(__file__).parents[1] / "docs" / "accounting.md").read_text("utf-8")
PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211707"
)
UNIT = 1e-12
"""In which each loss is rounded up."""


def normal(x):
    """Φ by its power series, which has no cancellation."""
    term = total = abs(x)
    for k in range(1, 2000):
        term *= x * x / (2 * k + 1)
        total += term
    half = (-x * x / 2).exp() / (2 * PI).sqrt() * total
    return Decimal("0.5") + (half if x > 0 else -half)


def exact_delta(square, epsilon):
    """δ of Gaussian noise with μ² = ``square`` (Balle & Wang 2018, Theorem 8), to some 60 digits."""
    with localcontext(prec=90):
        mu, e = (Decimal(square.numerator) / Decimal(square.denominator)).sqrt(), Decimal(epsilon)
        return normal(mu / 2 - e / mu) - e.exp() * normal(-mu / 2 - e / mu)


def zcdp(rho, delta):
    """inf over α of αρ + ln((α − 1)/α) − (ln δ + ln α)/(α − 1)."""

    def bound(less):
        return (less + 1) * rho + (less / (less + 1)).ln() - (delta.ln() + (less + 1).ln()) / less

    low, high = (-delta.ln() / rho).sqrt() / 30, (-delta.ln() / rho).sqrt() * 3
    for _ in range(90):
        third = (high - low) / 3
        low, high = (low, high - third) if bound(low + third) < bound(high - third) else (low + third, high)
    return bound((low + high) / 2)


GAUSSIAN = [
    (Fraction(1, 20), 1),
    (Fraction(1, 20), 100),
    (0.05, 100),
    (1.0, 1),
    (2.5, 3),
    (Fraction(1, 3), 7),
]


@pytest.mark.parametrize(("ratio", "times"), GAUSSIAN)
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_epsilon_of_gaussian_noise_is_exact_and_never_below(ratio, times, delta):
    square = (ratio if isinstance(ratio, Fraction) else Fraction(repr(ratio))) ** 2 * times
    epsilon = gaussian(ratio, times).epsilon(delta)
    assert exact_delta(square, epsilon) <= Decimal(delta)
    assert exact_delta(square, epsilon * (1 - 1e-8) - 1e-9) > Decimal(delta) or epsilon == 0


@pytest.mark.parametrize(("ratio", "times"), GAUSSIAN)
def test_delta_at_epsilon_is_exact_and_never_below(ratio, times):
    square = (ratio if isinstance(ratio, Fraction) else Fraction(repr(ratio))) ** 2 * times
    loss = gaussian(ratio, times)
    for epsilon in (0.1, 1.0, 3.0):
        exact = exact_delta(square, epsilon)
        if exact > 1e-60:
            assert exact <= Decimal(loss.delta(epsilon)) <= exact * (1 + Decimal("1e-7"))
            assert loss.epsilon(loss.delta(epsilon)) <= epsilon


def test_a_float_is_the_decimal_that_it_is_written_as():
    assert gaussian(0.05, 100) == gaussian(Fraction(1, 20), 100) == 100 * gaussian(0.05)
    assert (gaussian(0.05, 100).mu, gaussian(0.05, 100).rho) == (0.5, 0.125)
    assert laplace(0.1, 3).epsilon(0) == 0.3


@pytest.mark.parametrize(("ratio", "times"), GAUSSIAN)
def test_rho_and_mu_are_never_below(ratio, times):
    square = (ratio if isinstance(ratio, Fraction) else Fraction(repr(ratio))) ** 2 * times
    loss = gaussian(ratio, times)
    assert square / 2 <= Fraction(repr(loss.rho)) <= square / 2 + Fraction(UNIT) * times
    assert square <= Fraction(repr(loss.mu)) ** 2 <= square * (1 + Fraction(1e-9))


@pytest.mark.parametrize(("ratio", "times"), [(0.1, 1), (0.1, 100), (0.02, 500), (1.0, 3)])
def test_laplace_noise_costs_the_smaller_of_two_bounds(ratio, times):
    with localcontext(prec=50):
        e = Decimal(repr(ratio))
        rho = times * (e + (-e).exp() - 1)
        bound = min(times * e, zcdp(rho, Decimal("1e-6")))
        found = Decimal(repr(laplace(ratio, times).epsilon(1e-6)))
        assert bound <= found <= bound * (1 + Decimal("1e-7"))
        assert rho <= Decimal(repr(laplace(ratio, times).rho)) <= rho + 2 * times * Decimal(UNIT)
    assert laplace(ratio, times).epsilon(0) == pytest.approx(ratio * times, abs=1e-11)


def discrete_laplace_rho(epsilon, orders=(1.0001, 1.5, 2.0, 4.0)):
    """The largest D_α/α, over some α, of discrete Laplace noise of scale 1/ε on a sum that moves by 1."""
    chances = [math.exp(-epsilon * abs(k)) * math.tanh(epsilon / 2) for k in range(-400, 401)]
    return max(
        math.log(sum(p * (p / q) ** (a - 1) for p, q in zip(chances[1:], chances, strict=False)))
        / (a - 1)
        / a
        for a in orders
    )


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_discrete_laplace_noise_costs_more_than_continuous_noise_and_no_more_than_pure(epsilon):
    assert laplace(epsilon).rho < discrete_laplace_rho(epsilon) <= pure(epsilon).rho
    assert pure(epsilon).rho == pytest.approx(epsilon**2 / 2, abs=1e-12)
    assert pure(epsilon, 5).epsilon(0) == 5 * epsilon


@pytest.mark.parametrize("symbols", [2, 5, 257])
@pytest.mark.parametrize("untrue", [0.01, 0.25, 0.4, Fraction(1, 3)])
def test_randomized_response(untrue, symbols):
    loss = randomized_response(untrue, symbols)
    exact = Fraction(repr(untrue)) if isinstance(untrue, float) else untrue
    with localcontext(prec=50):
        p = Decimal(exact.numerator) / Decimal(exact.denominator)
        epsilon = ((symbols - 1) * (1 - p) / p).ln()
        assert epsilon <= Decimal(repr(loss.epsilon(0))) <= epsilon + 3 * Decimal(UNIT)
    true, other = 1 - float(untrue), float(untrue) / (symbols - 1)

    def divergence(a):
        rest = (symbols - 2) * other
        return math.log(true**a * other ** (1 - a) + other**a * true ** (1 - a) + rest) / (a - 1)

    best = max(divergence(1 + k / 50) / (1 + k / 50) for k in range(1, 1000))
    assert best <= loss.rho <= best * 1.03
    assert 10 * loss == randomized_response(untrue, symbols, 10)


def by_renyi(ratio, rate, times, delta):
    """ε at δ by the divergences of samples at all orders up to 64 (Mironov, Talwar & Zhang 2019, §3.3)."""
    with localcontext(prec=60):
        q, growth, d = Decimal(repr(rate)), Decimal(repr(ratio)) ** 2 / 2, Decimal(delta)
        found = []
        for order in range(2, 65):
            a = Decimal(order)
            moment = sum(
                math.comb(order, k) * (1 - q) ** (order - k) * q**k * (k * (k - 1) * growth).exp()
                for k in range(order + 1)
            )
            found.append(times * moment.ln() / (a - 1) + ((a - 1) / a).ln() - (d.ln() + a.ln()) / (a - 1))
        return min(found)


@pytest.mark.parametrize(("ratio", "rate", "times"), [(1.0, 0.01, 1000), (0.5, 0.1, 100), (1.4, 0.001, 1)])
def test_samples_cost_what_their_divergences_say(ratio, rate, times):
    loss, exact = gaussian(ratio, times, rate), by_renyi(ratio, rate, times, 1e-6)
    assert exact <= Decimal(repr(loss.epsilon(1e-6))) <= exact * (1 + Decimal("1e-6"))
    assert loss.epsilon(1e-6) < gaussian(ratio, times).epsilon(1e-6)
    assert (loss.rho, loss.mu, loss.epsilon(0)) == (None, None, math.inf)
    assert loss.delta(loss.epsilon(1e-6)) == pytest.approx(1e-6, rel=1e-9)
    assert max(ORDERS) == 1024  # as the docstring says


def test_the_rate_of_a_sample_is_rounded_up():
    small = 1.5 * 2**-32
    assert gaussian(1, 1000, small) == gaussian(1, 1000, 2**-31)
    assert gaussian(1, sample=1) == gaussian(1) == gaussian(1, sample=1 - 2**-40)


@pytest.mark.parametrize(("epsilon", "times"), [(0.1, 1), (1.0, 1), (1.0, 100), (8.0, 12)])
def test_noise_for_epsilon_is_enough_and_hardly_more(epsilon, times):
    noise = gaussian_noise(epsilon, 1e-6, times)
    assert exact_delta(times / Fraction(noise) ** 2, epsilon) <= Decimal("1e-6")
    assert exact_delta(times / Fraction(noise * (1 - 1e-8)) ** 2, epsilon) > Decimal("1e-6")
    sampled = gaussian_noise(epsilon, 1e-6, times, 0.1)
    assert gaussian(1 / Fraction(sampled), times, 0.1).epsilon(1e-6) <= epsilon
    assert gaussian(1.00001 / sampled, times, 0.1).epsilon(1e-6) > epsilon
    assert sampled < noise


def test_losses_add_in_any_order():
    parts = [gaussian(0.05, 3), laplace(0.1), pure(0.2), randomized_response(0.25), gaussian(1, 5, 0.01)]
    assert sum(parts, Loss()) == sum(reversed(parts), Loss())
    assert parts[0] + parts[0] == 2 * parts[0] == parts[0] * 2
    assert (parts[0] + parts[1]).epsilon(1e-6) <= parts[0].epsilon(1e-6) + 0.1
    assert (parts[0] + parts[1]).mu is None
    assert (Loss().epsilon(0), Loss().delta(0), Loss().rho, Loss().mu) == (0, 0, 0, 0)


def test_delta_of_a_mixture_is_the_least_that_its_epsilon_allows():
    loss = gaussian(0.05, 100) + laplace(0.1, 20)
    for epsilon in (1.0, 3.0):
        delta = loss.delta(epsilon)
        assert loss.epsilon(delta) <= epsilon < loss.epsilon(delta * (1 - 1e-9))
    assert laplace(0.1, 20).delta(2.0) == 0
    assert gaussian(4000).delta(0) == 1
    assert 0 < gaussian(1).delta(1e9) < 1e-300
    assert gaussian(10**6, 10**12).rho == pytest.approx(5e23)


def test_a_very_faint_measurement_looks_dearer_by_what_the_page_says():
    (stated,) = re.findall(r"at Δ/σ = 1e-6, μ is (\d+) % too large", PAGE)
    assert round(100 * (gaussian(1e-6).mu / 1e-6 - 1)) == int(stated)


def test_what_is_known_to_be_zcdp():
    assert zcdp_epsilon(0.125, 1e-6) == pytest.approx(float(zcdp(Decimal("0.125"), Decimal("1e-6"))))
    assert zcdp_epsilon(0.125, 1e-6) > gaussian(0.5).epsilon(1e-6)


def test_a_line_says_what_a_loss_is():
    assert repr(gaussian(0.05, 100)) == "Loss(rho=0.125, mu=0.5, pure_epsilon=inf)"
    assert repr(laplace(0.5)) == "Loss(rho=0.106530659713, mu=None, pure_epsilon=0.5)"
    assert repr(gaussian(1, sample=0.1)) == "Loss(with samples of people)"


REFUSED = {
    "a ratio of nothing": lambda: gaussian(0),
    "a ratio below zero": lambda: laplace(-1),
    "no number": lambda: pure(math.nan),
    "no noise": lambda: gaussian(math.inf),
    "never": lambda: gaussian(1, times=0),
    "half a time": lambda: laplace(1, times=0.5),
    "more than everybody": lambda: gaussian(1, sample=1.5),
    "nobody": lambda: gaussian(1, sample=0),
    "an answer that says nothing": lambda: randomized_response(0.5),
    "one answer": lambda: randomized_response(0.2, 1),
    "no epsilon": lambda: gaussian_noise(0, 1e-6),
    "no delta": lambda: gaussian_noise(1, 0),
    "an epsilon that no noise gives": lambda: gaussian_noise(1e-9, 1e-9, 10**7),
    "a ratio beyond all floats": lambda: gaussian(Fraction(10**400)),
    "more often than a float counts": lambda: gaussian(1, times=10**13),
    "a delta with too few digits": lambda: gaussian(1).epsilon(1e-310),
    "a delta for noise with too few digits": lambda: gaussian_noise(1, 1e-310),
    "a delta below zero": lambda: gaussian(1).epsilon(-1),
    "a delta above one": lambda: gaussian(1).epsilon(2),
    "an endless epsilon": lambda: gaussian(1).delta(math.inf),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_numbers_are_refused_with_two_clauses(case):
    with pytest.raises(BudgetError, match=r"[;,] "):
        REFUSED[case]()


def test_the_public_names_are_listed_on_the_pages():
    assert hr.accounting.__all__ == sorted(hr.accounting.__all__, key=lambda name: (name != "Loss", name))
    pages = PAGE + (Path(__file__).parents[1] / "docs" / "compatibility.md").read_text("utf-8")
    for name in hr.accounting.__all__:
        assert pages.count(f"`{name}`") + pages.count(f"`{name}(") >= 2, name


class Close(doctest.OutputChecker):
    """Figures of a page are those of Python but for the last digits, which depend on the machine."""

    def check_output(self, want, got, optionflags):
        numbers = re.compile(r"[\d.]+(?:e-\d+)?")
        same = numbers.sub("#", want) == numbers.sub("#", got)
        return same and [*map(float, numbers.findall(got))] == pytest.approx(
            [*map(float, numbers.findall(want))], rel=1e-9
        )


def test_the_page_prints_what_python_prints():
    found = doctest.DocTestParser().get_doctest("\n".join(blocks("python")), {}, "accounting.md", None, 0)
    assert len(found.examples) > 8
    said = []
    doctest.DocTestRunner(Close(), verbose=False).run(found, out=said.append)
    assert not said, "".join(said)


def test_the_page_prints_what_the_command_prints():
    lines = [part for block in blocks("text") for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    assert len(lines) >= 4
    for line in lines:
        command, _, printed = line.partition("\n")
        assert command.startswith("hushrec account ")
        done = CliRunner().invoke(app, shlex.split(command)[1:])
        assert done.output.strip() == printed.strip(), command


def blocks(kind):
    """The blocks of code of a kind on the page."""
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
