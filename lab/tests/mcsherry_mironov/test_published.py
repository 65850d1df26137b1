"""McSherry & Mironov 2009 as printed: their effects by hand, their bounds, and what their claim is worth."""

import math

import numpy as np
import pytest

import hushrec as hr
from hushrec.errors import BudgetUnsupported, ConfigError
from hushrec.privacy.accounting.accountant import spent_of
from lab.published import McSherryEffects, McSherryKNN, McSherrySVD, cost

UNITS = [("record", "add-remove"), ("record", "replace"), ("user", "add-remove")]
KINDS = [McSherryEffects, McSherryKNN, McSherrySVD]


def small(kind, **settings):
    return kind(
        **({"rank": 4} if "rank" in kind.model_fields and "covariance" not in settings else {}), **settings
    )


@pytest.mark.parametrize("item_reg", [0.0, 7.0, 15.0])
def test_without_noise_an_item_leans_on_the_global_mean(world, item_reg):
    """(Σ r + β G)/(n + β) (§4.2); the bias on the device takes what is left on average."""
    train, _ = world
    values, n = train.numbers(), np.bincount(train.items, minlength=150)
    by_hand = (np.bincount(train.items, values, minlength=150) + item_reg * values.mean()) / np.maximum(
        n + item_reg, 1
    )
    release = hr.baseline(train, McSherryEffects(item_reg=item_reg))
    rated = n > 0
    np.testing.assert_allclose(release.tensors["item_effects"][rated], by_hand[rated], atol=1e-3)
    predicted = by_hand[train.items] + release.constants["user_mean"]
    assert predicted.mean() == pytest.approx(values.mean(), abs=1e-3)
    assert release.tensors["item_factors"].shape == (150, 0)


@pytest.mark.parametrize(("unit", "adjacency"), UNITS)
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_what_it_costs_is_what_all_noise_costs_with_true_sensitivities(world, budget, unit, adjacency, noise):
    """Each query has the sensitivity that hushrec derives, and what is drawn is priced by it."""
    domain = world[0].domain
    config, allowed = McSherrySVD(rank=4, noise=noise), budget(2.0, unit, adjacency)
    noises = config.printed(domain, allowed)
    queries = {query.name: query for query in config.queries(domain, allowed) if not query.is_exact}
    assert {name: event.sensitivity for name, event in noises.items()} == {
        name: query.sensitivity for name, query in queries.items()
    }
    worth = cost(config, domain, allowed)
    assert worth.claimed == 2.0
    assert worth.true == spent_of(noises.values()).planned_epsilon(allowed.delta)


@pytest.mark.parametrize("kind", KINDS)
def test_the_global_mean_gets_a_fiftieth_and_the_covariance_most(world, budget, kind):
    split = small(kind).budget_split(world[0].domain, budget())
    assert split["global sum"] == split["global count"] == pytest.approx(0.01)
    items = split["item sums"] + split["item counts"]
    assert items == pytest.approx(0.98 if kind is McSherryEffects else 0.19)
    if kind is not McSherryEffects:
        assert split["covariance"] == split["co-rating weights"] == pytest.approx(0.395)


def test_noise_is_drawn_for_the_printed_bounds(budget):
    """Theorems 5 and 6: (1 + 2√2) B² and √2 in L2, 2Bα + 3B² and 3 in L1, with α = 4 stars and B = 1."""
    domain = hr.Domain(range(1000), scale=(1, 5, 1), max_users=10_000)
    printed = {
        "gaussian": {"covariance": 1 + 2 * math.sqrt(2), "co-rating weights": math.sqrt(2)},
        "laplace": {"covariance": 2 * 4 + 3, "co-rating weights": 3},
    }
    for noise, bounds in printed.items():
        allowed = budget(2.0, delta=1e-6 if noise == "gaussian" else 0.0)
        found = McSherrySVD(noise=noise).printed(domain, allowed)
        epsilon = 0.395 * 2.0
        width = (
            math.sqrt(2 * math.log(2 * len(found) / 1e-6)) / epsilon if noise == "gaussian" else 1 / epsilon
        )
        for name, bound in bounds.items():
            assert found[name].noise == pytest.approx(bound * width, rel=1e-3)
        assert found["item sums"].noise == pytest.approx(4 * width * 0.395 / 0.095, rel=1e-3)
        # Of the whole matrix, whose residuals are not clamped before they are centred: see the errata.
        true = {"gaussian": 2.29, "laplace": 19.32}[noise]
        assert found["covariance"].sensitivity == pytest.approx(true, abs=0.005)


def test_for_a_user_the_covariance_is_printed_as_b_squared(world, budget):
    found = McSherrySVD().printed(world[0].domain, budget(2.0, "user"))
    width = math.sqrt(2 * math.log(2 * 6 / 1e-6)) / (0.395 * 2.0)
    assert found["covariance"].noise == pytest.approx(width, rel=1e-3)
    assert found["co-rating weights"].noise == pytest.approx(width, rel=1e-3)


def test_under_replace_nothing_but_values_is_noisy(world, budget):
    names = [*McSherrySVD().printed(world[0].domain, budget(adjacency="replace"))]
    assert names == ["global sum", "item sums", "covariance"]


def test_what_is_not_in_the_paper_is_refused(world, budget):
    with pytest.raises(BudgetUnsupported, match="McSherrySVD protects record under add-remove, record under"):
        McSherrySVD().printed(world[0].domain, budget(unit="user", adjacency="replace"))
    for wrong in ({"cleaning": "weighted"}, {"offset": 5}, {"contribution_cap": 30}, {"clip": 0.3}):
        with pytest.raises(ConfigError, match="McSherrySVD"):
            McSherrySVD(covariance=wrong)
    with pytest.raises(ConfigError, match=r"covariance\.shrinkage has no effect with cleaning 'none'"):
        McSherryKNN(covariance={"cleaning": "none", "shrinkage": (1.0, 2.0)})
    large = hr.Domain(range(10_001), scale=(1, 5, 1), max_users=10)
    with pytest.raises(ConfigError, match="set a cleaning"):
        McSherryKNN(covariance={"cleaning": "none"}).printed(large, budget())
    assert McSherryKNN().printed(large, budget())
