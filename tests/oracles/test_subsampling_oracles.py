"""Samples of people against Google's dp-accounting: Rényi accountant and privacy loss distributions."""

import functools

import pytest

from hushrec.privacy.accounting.accountant import ORDERS, Spent, price, spent_of
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import Part, gaussians
from hushrec.privacy.accounting.events import Event, Gaussian, Laplace, drawn_rate

pytestmark = pytest.mark.filterwarnings("ignore")

DELTA = 1e-6
CASES = [  # z, q, rounds
    (1.0, 0.01, 1000),
    (0.7, 0.001, 100),
    (2.0, 0.1, 100),
    (6.0, 0.5, 50),
    (1.5, 0.05, 20),
    (20.0, 0.9, 100),
    (0.6, 0.2, 3),
]


def rounds(z: float, rate: float, count: int) -> Spent:
    return price(Gaussian("a", 1.0, z, z, 1, drawn_rate(rate))) * count


@functools.cache
def renyi(z: float, rate: float, count: int, delta: float = DELTA) -> float:
    google = pytest.importorskip("dp_accounting")
    rdp = pytest.importorskip("dp_accounting.rdp.rdp_privacy_accountant")
    accountant = rdp.RdpAccountant(list(ORDERS), google.NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(google.PoissonSampledDpEvent(drawn_rate(rate), google.GaussianDpEvent(z)), count)
    return float(accountant.get_epsilon(delta))


@functools.cache
def exact(z: float, rate: float, count: int, *, optimistic: bool) -> float:
    """ε by privacy loss distributions, from above or from below."""
    google = pytest.importorskip("dp_accounting")
    mechanism = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    assert google
    loss = mechanism.from_gaussian_mechanism(
        z,
        sampling_prob=drawn_rate(rate),
        value_discretization_interval=1e-3,
        pessimistic_estimate=not optimistic,
    )
    return float(loss.self_compose(count).get_epsilon_for_delta(DELTA))


@pytest.mark.parametrize(("z", "rate", "count"), CASES)
def test_it_is_googles_renyi_accountant(z: float, rate: float, count: int) -> None:
    ours = rounds(z, rate, count).epsilon(DELTA)
    assert renyi(z, rate, count) * (1 - 1e-10) <= ours <= renyi(z, rate, count) * (1 + 1e-8) + 1e-9


@pytest.mark.parametrize(("z", "rate", "count"), CASES)
def test_it_is_never_below_googles_privacy_loss_distributions(z: float, rate: float, count: int) -> None:
    ours, below = rounds(z, rate, count).epsilon(DELTA), exact(z, rate, count, optimistic=True)
    above = exact(z, rate, count, optimistic=False)
    print(f"z = {z:g}, q = {rate:g}, {count} rounds: ours {ours:.4f}, exact {below:.4f} to {above:.4f}")
    assert below <= above <= ours
    # What divergences give away: a tenth to a fifth, and far more for little noise on rare samples.
    assert ours < (3.5 if z < 1 and rate < 0.01 else 1.25) * above


FAULTS = {
    "the rate is halved": lambda z, rate, count: rounds(z, rate / 2, count),
    "the noise is doubled": lambda z, rate, count: rounds(2 * z, rate, count),
    "a tenth of the rounds is forgotten": lambda z, rate, count: rounds(z, rate, max(1, count * 9 // 10) - 1),
    "the rate multiplies ρ": lambda z, rate, count: Spent(
        rho=round(price(Gaussian("a", 1.0, z, z, 1)).rho * count * rate**2 / 2)
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_oracles_find_a_planted_fault(fault: str) -> None:
    wrong = [FAULTS[fault](*case).epsilon(DELTA) for case in CASES]
    assert any(w < renyi(*case) * (1 - 1e-10) for w, case in zip(wrong, CASES, strict=True))
    assert any(w < exact(*case, optimistic=True) for w, case in zip(wrong, CASES, strict=True))


def test_a_plan_of_samples_sums_and_laplace_noise_is_a_bound_on_googles() -> None:
    google = pytest.importorskip("dp_accounting")
    pld = pytest.importorskip("dp_accounting.pld.pld_privacy_accountant")
    budget = Budget(epsilon=2.0, delta=DELTA, unit="user", adjacency="add-remove")
    wanted = [Part("items", 2.0, 2**-10, 9, 0.2)]
    wanted += [Part(f"round {i}", 1.0, 2**-10, 9, 0.04, 0.1) for i in range(20)]
    events: list[Event] = [*gaussians(budget, wanted), Laplace("count", 1.0, 4.0, 1.0, 1)]
    accountant = pld.PLDAccountant(
        google.NeighboringRelation.ADD_OR_REMOVE_ONE, value_discretization_interval=1e-3
    )
    for event in events:
        ratio = event.noise / event.sensitivity
        kind = google.LaplaceDpEvent if isinstance(event, Laplace) else google.GaussianDpEvent
        noise = kind(ratio)
        if event.rate < 1:
            noise = google.PoissonSampledDpEvent(event.rate, noise)
        accountant.compose(noise)
    ours, theirs = spent_of(events).epsilon(DELTA), float(accountant.get_epsilon(DELTA))
    print(f"mixed: ours {ours:.4f}, Google's {theirs:.4f}")
    assert theirs <= ours < 1.25 * theirs
