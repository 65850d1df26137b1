"""The table of ``docs/accounting.md``: the public accountant next to dp-accounting and autodp."""

from pathlib import Path

import pytest

from hushrec.accounting import Loss, gaussian, laplace, pure, randomized_response

pytestmark = pytest.mark.filterwarnings("ignore")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "accounting.md"
DELTA, INTERVAL = 1e-6, 1e-4
OURS: dict[str, Loss] = {
    "100 × Gaussian, Δ/σ = 1/20": gaussian(1 / 20, 100),
    "1,000 × Gaussian, Δ/σ = 1, q = 0.01": gaussian(1, 1000, 0.01),
    "100 × Laplace, Δ/b = 1/10": laplace(1 / 10, 100),
    "100 × discrete Laplace, Δ/b = 1/10": pure(1 / 10, 100),
    "100 × randomized response, p = 0.45": randomized_response(0.45, times=100),
}


def rows() -> dict[str, list[str]]:
    """The cells of the table on the page by their first."""
    text = PAGE.read_text("utf-8").partition("<!-- accountants -->\n")[2].partition("<!-- end")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]
    return {first: rest for first, *rest in cells}


def by_distributions(name: str) -> float:
    """ε by Google's privacy loss distributions, from above."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    how = {"value_discretization_interval": INTERVAL}
    loss = {
        "100 × Gaussian, Δ/σ = 1/20": lambda: pld.from_gaussian_mechanism(20, **how),
        "1,000 × Gaussian, Δ/σ = 1, q = 0.01": lambda: pld.from_gaussian_mechanism(
            1, sampling_prob=0.01, **how
        ),
        "100 × Laplace, Δ/b = 1/10": lambda: pld.from_laplace_mechanism(10, **how),
        "100 × discrete Laplace, Δ/b = 1/10": lambda: pld.from_discrete_laplace_mechanism(0.1, **how),
        "100 × randomized response, p = 0.45": lambda: pld.from_randomized_response(0.9, 2, **how),
    }[name]()
    times = int(name.partition(" ")[0].replace(",", ""))
    return float(loss.self_compose(times).get_epsilon_for_delta(DELTA))


def by_renyi(name: str) -> float | None:
    """ε by Google's Rényi accountant at its own orders."""
    google = pytest.importorskip("dp_accounting")
    rdp = pytest.importorskip("dp_accounting.rdp.rdp_privacy_accountant")
    event = {
        "100 × Gaussian, Δ/σ = 1/20": google.GaussianDpEvent(20),
        "1,000 × Gaussian, Δ/σ = 1, q = 0.01": google.PoissonSampledDpEvent(0.01, google.GaussianDpEvent(1)),
        "100 × Laplace, Δ/b = 1/10": google.LaplaceDpEvent(10),
    }.get(name)
    times = int(name.partition(" ")[0].replace(",", ""))
    return event and float(rdp.RdpAccountant().compose(event, times).get_epsilon(DELTA))


def by_autodp(name: str) -> float | None:
    """ε by autodp's composition of Rényi divergences."""
    zoo = pytest.importorskip("autodp.mechanism_zoo")
    from autodp.transformer_zoo import Composition

    mechanism = {
        "100 × Gaussian, Δ/σ = 1/20": lambda: zoo.GaussianMechanism(20.0),
        "100 × Laplace, Δ/b = 1/10": lambda: zoo.LaplaceMechanism(10.0),
    }.get(name)
    times = int(name.partition(" ")[0].replace(",", ""))
    return mechanism and float(Composition()([mechanism()], [times]).get_approxDP(DELTA))


def test_the_page_has_every_row() -> None:
    assert rows().keys() == OURS.keys()


@pytest.mark.parametrize("name", OURS)
def test_the_page_states_what_each_library_computes(name: str) -> None:
    found = [OURS[name].epsilon(DELTA), by_distributions(name), by_renyi(name), by_autodp(name)]
    assert rows()[name] == [f"{epsilon:.4f}" if epsilon else "–" for epsilon in found]


@pytest.mark.parametrize("name", OURS)
def test_it_is_never_below_the_loss_distributions_and_at_most_15_percent_above(name: str) -> None:
    ours, theirs = OURS[name].epsilon(DELTA), by_distributions(name)
    pessimistic = INTERVAL * 0.1 if "Gaussian, Δ/σ = 1/20" in name else 0
    assert theirs - pessimistic <= ours < 1.15 * theirs


@pytest.mark.parametrize("ignored", ["times", "q"])
def test_a_figure_that_is_ignored_would_be_seen(ignored: str) -> None:
    wrong = gaussian(1, 1, 0.01) if ignored == "times" else gaussian(1, 1000)
    theirs = by_distributions("1,000 × Gaussian, Δ/σ = 1, q = 0.01")
    assert not theirs <= wrong.epsilon(DELTA) < 1.2 * theirs
