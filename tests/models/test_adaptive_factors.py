"""Effects, a covariance, choices or gradients: which is measured, what it costs, and how it predicts."""

import pytest

import hushrec as hr
from hushrec.estimation.shrinkage import combine
from hushrec.models.adaptive_factors import CHOICES, COVARIANCE, EFFECTS, GRADIENTS
from hushrec.models.visibility import CHOICES_SHOWN, MARGINAL_GRADIENTS, SHOWN

CASES = [
    ("user", 1.0, EFFECTS),
    ("user", 3.25, CHOICES),
    ("user", 8.0, GRADIENTS),
    ("record", 0.5, EFFECTS),
    ("record", 4.0, COVARIANCE),
]
MEASURED = {
    EFFECTS: ["item sums again", "item counts again"],
    COVARIANCE: ["item sums with covariance", "covariance", "co-rating weights"],
    CHOICES: ["item sums with choices", "item counts with choices", "item pairs with choices"],
    GRADIENTS: [
        *("item sums with gradients", "item counts with gradients", "item pairs with gradients"),
        *(f"items, epoch {t}" for t in range(1, 33)),
    ],
}
LEAST = {CHOICES: CHOICES_SHOWN, GRADIENTS: MARGINAL_GRADIENTS, COVARIANCE: SHOWN["record"]}


def fitted(ratings, budget, seed=0, **settings):
    return hr.testing.fit(ratings, hr.AdaptiveFactors(**settings), budget, entropy=hr.testing.Seeded(seed))


def of_a_crowd(ratings, max_users, **hints):
    """The same ratings, with another bound on users and other hints."""
    domain = hr.Domain(ratings.domain.items, scale=(1, 5, 1), max_users=max_users, **hints)
    return hr.People(domain, ratings.users, ratings.indptr, ratings.items, ratings.values)


@pytest.mark.parametrize(("unit", "epsilon", "branch"), CASES)
def test_the_first_sums_decide_and_count_beside_the_second(world, budget, monkeypatch, unit, epsilon, branch):
    averaged = []

    def watched(one, other):
        averaged.append((one.name, other.name))
        both = combine(one, other)
        assert both.sigma < min(one.sigma, other.sigma)
        return both

    monkeypatch.setattr("hushrec.models.adaptive_factors.combine", watched)
    release = fitted(world[0], budget(epsilon, unit))
    (decision,) = release.statement.decisions
    assert decision.name == f"branch.{branch}"
    enough = LEAST.get(branch, CHOICES_SHOWN if unit == "user" else SHOWN["record"])
    assert decision.values["least"] == enough
    assert (decision.values["signal"] >= enough) == (branch != EFFECTS)
    names = [one.name for one in release.statement.measurements]
    assert names[-len(MEASURED[branch]) :] == MEASURED[branch]
    others = {name for other, listed in MEASURED.items() if other != branch for name in listed}
    assert not others & set(names)
    again = [name for name in MEASURED[branch] if name.startswith(("item sums", "item counts"))]
    assert averaged == [(" ".join(name.split()[:2]), name) for name in again]


@pytest.mark.parametrize(("unit", "epsilon", "branch"), CASES)
def test_no_choice_hangs_on_a_hint(world, budget, unit, epsilon, branch):
    """Two thousand users or fifty thousand, ten ratings each or a hundred: the same branch is taken."""
    asked, train = budget(epsilon, unit), world[0]
    hints = {"expected_users": 300, "expected_records": 3_000}
    for domain in ({"max_users": 2_000}, {"max_users": 50_000}, {"max_users": 2_000, **hints}):
        (decision,) = fitted(of_a_crowd(train, **domain), asked).statement.decisions
        assert decision.name == f"branch.{branch}"


def split(planned):
    """The part of every measurement of every branch."""
    return {line["name"]: line["split"] for line in planned.facts["measurements"]}


@pytest.mark.parametrize("unit", ["user", "record"])
def test_every_branch_costs_the_budget_and_the_first_sums_a_fifth(world, budget, unit):
    planned = hr.plan(world[0].domain, hr.AdaptiveFactors(), budget(2.0, unit))
    assert planned.epsilon == pytest.approx(2.0, rel=1e-6)
    assert [*planned.branches] == [*MEASURED][: 4 if unit == "user" else 2]
    parts = split(planned)
    first = sum(parts[event.name] for event in planned.noisy if not event.branch)
    assert 0.19 < first < 0.24
    for names in planned.branches.values():
        assert first + sum(parts[name] for name in names) == pytest.approx(1, abs=1e-5)


def test_without_noise_everything_shows_and_it_is_the_covariance(rmse):
    assert rmse(hr.AdaptiveFactors()) == pytest.approx(rmse(hr.CovarianceSVD()), rel=1e-6)
