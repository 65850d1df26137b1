"""What lists are expected to be worth, in whatever size the crowd is made up."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.errors import BudgetUnsupported, ConfigError
from hushrec.evaluation import worth as module
from hushrec.models.visibility import whole_users

ITEMS = 120


def clicks(users=3_000, each=12, items=ITEMS, **other):
    crowd = {"max_users": 2 * users, "expected_users": users, "expected_records": users * each}
    return hr.Domain(range(items), **{**crowd, **other})


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(module, "SEEDS", 1)
    monkeypatch.setattr(module, "TRIED", 300)


@pytest.fixture
def total(budget):
    return budget(4.0, unit="user")


def test_all_releases_half_and_about_a_quarter_are_measured(quick, total):
    domain, told = clicks(users=800), []

    class Told:
        def stage(self, name, number):
            told.append((name, number))

        def advance(self, name):
            told.append(name)

        def done(self, name):
            pass

    rows = hr.worth(domain, hr.PrivateEASE(), total, 52, progress=Told())
    assert [row.releases for row in rows] == [52, 26, 12]
    assert [row.epsilon for row in rows] == [
        hr.split_budget(domain, hr.PrivateEASE(), total, row.releases).epsilon for row in rows
    ]
    assert {(row.model, row.users, row.seeds) for row in rows} == {("PrivateEASE", 800, 1)}
    assert rows == hr.worth(domain, hr.PrivateEASE(), total, 52)
    stage = "trying lists on made-up people"
    assert (stage, 3) in told
    assert told.count(stage) == 3
    assert [[*map(int, module._numbers(n))] for n in (1, 2, 3, 4, 12)] == [
        [1],
        [2, 1],
        [3, 1],
        [4, 2, 1],
        [12, 6, 3],
    ]


def test_without_a_model_each_share_has_its_own(quick, total):
    """52 shares are too little for taste, so that lists are the popular items; one of two is enough.

    The first sums decide that, of the same model.
    """
    domain = clicks(users=1_200)
    few, many = (hr.worth(domain, None, total, releases)[0] for releases in (52, 2))
    assert (few.model, few.dimensions) == ("PrivateEASE", 0)
    assert few.recall == pytest.approx(few.popularity, abs=0.01)
    assert many.model == "PrivateEASE"
    assert many.dimensions > 0
    assert many.recall > many.popularity


def test_lists_are_tried_on_people_whom_the_fit_does_not_see(quick):
    people, known, sought = module._people(module._crowd(clicks()), 0)
    assert people.n_users == 3_000
    assert 0 < sought.n_users <= 300
    assert not set(people.users) & set(known.users)
    assert (known.users == sought.users).all()


@pytest.mark.parametrize("unit", ["user", "record"])
def test_a_smaller_crowd_has_the_signal_of_the_declared_one(unit, budget, monkeypatch):
    asked, domain = budget(0.5, unit=unit), clicks(users=4_000, items=400)
    monkeypatch.setattr(module, "MOST_USERS", 1_000)
    monkeypatch.setattr(module, "MOST_ITEMS", 100)
    crowd = module._crowd(domain)
    assert (crowd.users, crowd.domain.n_items, crowd.domain.max_users) == (1_000, 100, 2_000)
    less = module._less_noise(asked, crowd.ratio)
    assert crowd.ratio == 2  # four times as few people, and a root of four times as few items
    assert whole_users(crowd.domain, less, 1_000) == pytest.approx(whole_users(domain, asked, 4_000))
    noises = [
        np.array([event.noise for event in hr.plan(crowd.domain, hr.PrivateEASE(), one).events])
        for one in (asked, less)
    ]
    assert noises[0] / noises[1] == pytest.approx(np.full(len(noises[0]), 2.0), rel=1e-3)


def gains(domain, asked, seeds):
    """What lists find beyond popularity, and their dimensions, a row for every crowd."""
    crowd = module._crowd(domain)
    one = module._Schedule(1, hr.PrivateEASE(), asked)
    found = (module._trial(one, crowd.ratio, *module._people(crowd, seed), seed) for seed in range(seeds))
    return np.array([(trial.recall - trial.popularity, trial.dimensions) for trial in found])


@pytest.mark.full
def test_half_the_people_with_half_the_noise_find_as_much(budget, monkeypatch):
    """Means of six crowds each, four standard errors apart in two of a thousand draws of the twelve crowds.

    With noise that is not halved, gains are some five standard errors lower, and two dimensions fewer.
    """
    asked, domain = budget(0.3, unit="user"), clicks(users=8_000)
    whole = gains(domain, asked, 6)
    monkeypatch.setattr(module, "MOST_USERS", 4_000)
    half = gains(domain, asked, 6)
    gained, dimensions = half.mean(axis=0) - whole.mean(axis=0)
    error = np.sqrt((whole[:, 0].var(ddof=1) + half[:, 0].var(ddof=1)) / 6)
    assert abs(gained) < 4 * error < 0.06
    assert abs(dimensions) < 1
    assert whole[:, 1].min() > 3


@pytest.mark.parametrize(
    ("domain", "told"),
    [
        (clicks(expected_records=None), "declare expected_users and expected_records"),
        (clicks(expected_users=None), "declare expected_users and expected_records"),
        (clicks(each=1), "fewer than two items each"),
        (clicks(scale=(1, 5, 1)), "declare likes"),
    ],
)
def test_what_cannot_be_measured_is_refused(domain, told, total):
    assert told in module.unknown(domain)
    with pytest.raises(ConfigError, match=told):
        hr.worth(domain, None, total, 4)


def test_a_budget_that_no_model_supports_is_refused(budget):
    with pytest.raises(BudgetUnsupported):
        hr.worth(clicks(), hr.PrivateEASE(), budget(4.0, unit="user", adjacency="replace"), 4)


def test_a_row_is_text_and_json(quick, total):
    row = module.Worth(12, 1.023, "PrivateEASE", 0.2354, 0.17, 15.0, 6_000, 3)
    heads, (cells,) = module.table([row])
    assert len(heads) == len(cells)
    assert cells == ("PrivateEASE", "12", "ε = 1.023", "23.5 %", "17.0 %", "15")
    assert row.to_json()["recall"] == 0.2354
