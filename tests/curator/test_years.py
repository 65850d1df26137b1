"""A year on a ledger: which sums a release takes over, what it states, and what its curator may leave out.

Statistical bounds are six standard errors or more wide: a false alarm has a chance below 1e-6, and the seeds
are fixed.
"""

import functools

import numpy as np
import pytest

import hushrec as hr
from hushrec.curator.stopped_fits import stopped_fits, sums_of
from hushrec.errors import ChargeUnpublished, ConfigError, LedgerWarning, SumsError
from hushrec.models.mcsherry_mironov.covariance_knn import CovarianceKNN
from hushrec.privacy.accounting.accountant import largest_cost
from hushrec.privacy.grant import WithoutNoise
from support.stopped import stopped

MODEL = hr.Popularity()


def budget(epsilon, unit="user", adjacency="add-remove", delta=1e-6):
    return hr.Budget(epsilon=epsilon, delta=delta, unit=unit, adjacency=adjacency)


def given(people=60, items=12, seed=0):
    rng = np.random.default_rng(seed)
    domain = hr.Domain([f"item {k:02d}" for k in range(items)], max_users=1000, max_per_user=20)
    rows = [np.sort(rng.choice(items, 4, replace=False)).astype(np.int32) for _ in range(people)]
    users = [f"u{seed}-{number:04d}" for number in range(people)]
    return hr.People(domain, users, np.arange(people + 1) * 4, np.concatenate(rows))


@pytest.fixture
def ledger(tmp_path):
    return hr.Ledger.create(tmp_path / "ledger.db", budget(4.0), max_releases=8)


@pytest.fixture
def call(ledger):
    def fit(seed=0, model=MODEL, budget="auto", **options):
        data = options.pop("data", None) or given(seed=seed)
        return hr.fit(data, model, budget, ledger=ledger, **options)

    return fit


def charges(ledger):
    return [(one.release_index, one.state) for one in ledger.state().charges]


def held(release):
    """What a statement says of the year: whose sums are inside, and whose are left out."""
    return list(release.statement.earlier), release.statement.year.get("left_out", [])


def files(ledger, sums=None):
    return sorted(sums_of(ledger, sums).path.glob("*.carried"))


# -- what is stated ---------------------------------------------------------------------------------------


def test_the_first_takes_half_and_all_of_them_fit_the_total(call, ledger):
    shares = []
    for index in range(8):
        release = call(index)
        shares.append(ledger.state().charges[-1].cost / ledger.state().allowed)
    np.testing.assert_allclose(shares, [0.5, *[0.5 / 7] * 7], rtol=0.02)
    assert held(release) == ([*range(7)], [])
    assert release.statement.epsilon <= 4.0


@pytest.mark.parametrize("model", [hr.Popularity(), hr.PrivateEASE(), hr.GlobalEffects()])
def test_a_release_of_a_part_of_the_records_is_told_by_the_noisy_sums(call, model):
    """One week's file in place of all so far: a warning, and the release is made."""
    if model.feedback == "ratings":
        ratings = hr.synthetic.netflix_like(2000, 20, 12_000, 0)
        parts = ratings, ratings.slice(0, 200)
    else:
        parts = given(2000), given(200)
    call(data=parts[0], model=model)
    call(data=parts[0], model=model)  # warnings are errors
    with pytest.warns(LedgerWarning, match="less than half of what those before it counted"):
        release = call(data=parts[1], model=model)
    assert held(release)[0] == [0, 1]


def test_an_explicit_budget_continues_the_year_too(call, ledger):
    first = call(budget=budget(1.0))
    second = call(1, budget=budget(0.5))
    assert (held(first), held(second)) == (([], []), ([0], []))
    assert second.statement.year["own_epsilon"] == pytest.approx(0.5, rel=1e-6)
    years = [charge.year for charge in ledger.state().charges]
    assert years[0].whole == years[1].whole
    assert largest_cost(years[0].whole) == pytest.approx(8 * largest_cost(budget(1.0)), rel=1e-6)
    assert largest_cost(years[0].whole) < ledger.state().allowed


def test_a_ledger_for_one_release_has_no_year(tmp_path):
    """Its plan is that of before there were years, to the key that a stopped fit goes on by."""
    ledger = hr.Ledger.create(tmp_path / "ledger.db", budget(1.0))
    release = hr.fit(given(), MODEL, "auto", ledger=ledger)
    (charge,) = ledger.state().charges
    assert (charge.year, charge.carried, files(ledger)) == (None, "", [])
    assert charge.key == hr.plan(given().domain, MODEL, budget(1.0)).key(ledger.id)
    assert "year" not in release.statement.to_json()


# -- whose sums are taken over ----------------------------------------------------------------------------


def test_changed_settings_begin_anew_with_a_warning(call, ledger):
    for seed in (0, 1):
        call(seed, model=hr.PrivateEASE(rank=2))
    with pytest.warns(LedgerWarning, match=r"first release of a year: the sums of release 0–1 are of other"):
        assert held(call(model=hr.PrivateEASE(rank=3))) == ([], [])
    assert held(call(2, model=hr.PrivateEASE(rank=2))) == ([0, 1], [])


def test_the_suggested_model_stays_the_same_through_a_year(tmp_path):
    """What all of the year may cost says whether taste can be learned, not what is left of it."""
    ledger = hr.Ledger.create(tmp_path / "ledger.db", budget(1.0), max_releases=6)
    made = hr.synthetic.interactions(200, 30, 3000, seed=1)
    domain = hr.Domain(made.domain.items, max_users=300, max_per_user=30)
    data = hr.People(domain, made.users, made.indptr, made.items)
    for index in range(6):
        release = hr.fit(data, None, "auto", ledger=ledger)
        assert (index, release.model, held(release)) == (index, "PrivateEASE", ([*range(index)], []))


# -- what the curator leaves out --------------------------------------------------------------------------


@pytest.mark.parametrize("unknown", [[5], [-1], [0, 7], [1]])
def test_without_what_was_not_made_is_refused(call, ledger, unknown):
    call()
    with stopped():
        call(1, budget=budget(0.5))
    ledger.forfeit(1)
    with pytest.raises(ConfigError, match="hands nothing over to this one, so nothing of it can be left out"):
        call(2, without=unknown)
    assert len(charges(ledger)) == 2


def test_a_model_without_a_year_has_nothing_to_leave_out(call, ledger):
    ratings = hr.synthetic.netflix_like(20, 6, 60, 1)
    with pytest.raises(ConfigError, match="takes over no sums here: leave out fresh"):
        call(data=ratings, model=hr.AdaptiveFactors(), fresh=True)
    assert charges(ledger) == []


# -- what is handed over ----------------------------------------------------------------------------------


def test_what_a_charge_that_was_given_up_handed_over_is_dropped(call, ledger):
    with stopped():
        call()
    (left,) = files(ledger)
    ledger.forfeit(0)
    call(1)
    (kept,) = files(ledger)
    assert kept != left
    assert kept.stat().st_mode & 0o077 == 0


def test_all_that_made_releases_handed_over_is_kept_so_that_any_can_be_left_out(call, ledger):
    for index in range(3):
        call(index)
    assert len(files(ledger)) == 3
    with stopped_fits(ledger, None):
        pass
    assert len(files(ledger)) == 3


def test_sums_that_are_kept_elsewhere_are_found_where_they_are_named(call, ledger, tmp_path):
    call(sums=tmp_path / "elsewhere")
    assert (len(files(ledger, tmp_path / "elsewhere")), files(ledger)) == (1, [])
    with pytest.raises(SumsError, match=r"name its folder with sums= \(--sums\)"):
        call(1)
    assert held(call(1, sums=tmp_path / "elsewhere")) == ([0], [])


# -- stopped fits -----------------------------------------------------------------------------------------


def test_a_stopped_fit_goes_on_in_the_year_of_its_charge(call, ledger):
    call()
    with stopped():
        call(1)
    for flags in ({"fresh": True}, {"without": [0]}):
        with pytest.raises(ChargeUnpublished, match="ledger forfeit"):
            call(1, **flags)
    assert held(call(1)) == ([0], [])
    assert charges(ledger) == [(0, "made"), (1, "made")]
    assert held(call(2)) == ([0, 1], [])


def test_a_stopped_fit_without_a_year_goes_on_after_its_owner_allowed_more_releases(tmp_path):
    ledger = hr.Ledger.create(tmp_path / "ledger.db", budget(1.0))
    with stopped():
        hr.fit(given(), MODEL, "auto", ledger=ledger)
    ledger.extend(budget(4.0), 5)
    hr.fit(given(), MODEL, "auto", ledger=ledger)
    assert charges(ledger) == [(0, "made")]


# -- models of ratings ------------------------------------------------------------------------------------


@functools.cache
def rated(items=60):
    return hr.synthetic.netflix_like(1500, items, 30_000, seed=3)


def year(people, model, total, shares, seed=0):
    return list(
        hr.testing.year(
            people, model, total, shares, entropy=lambda index: hr.testing.Seeded(100 * seed + index)
        )
    )


def exact(data, model, total):
    """The release of the same sums without noise."""
    return model.fit(data.capped(data.domain.max_per_user), WithoutNoise(total))


def effects(release):
    return np.asarray(release.tensors["item_effects"], dtype=float)


def tastes(release):
    """What two items have in common, whichever way factors are turned."""
    if "covariance" in release.tensors:
        return np.asarray(release.tensors["covariance"], dtype=float)
    factors = np.asarray(release.tensors["item_factors"], dtype=float)
    return factors @ factors.T


def apart(one, other):
    return float(np.linalg.norm(one - other) / np.linalg.norm(other))


UNITS = [("user", "add-remove"), ("record", "add-remove"), ("record", "replace")]
FACTORS = {
    "svd": hr.CovarianceSVD(rank=3),
    "knn": CovarianceKNN(rank=3),
    "shrink": hr.CovarianceSVD(rank=3, covariance={"cleaning": "shrink"}),
    "none": CovarianceKNN(covariance={"cleaning": "none"}),
}


@pytest.mark.parametrize(("unit", "adjacency"), UNITS)
def test_item_effects_with_hardly_any_noise_stay(unit, adjacency):
    total = budget(1000.0, unit, adjacency)
    first, second = year([rated()] * 2, hr.GlobalEffects(), total, [0.5] * 2)
    assert np.abs(effects(second) - effects(first)).max() < 0.05
    assert np.abs(effects(second) - effects(exact(rated(), hr.GlobalEffects(), total))).max() < 0.05


@pytest.mark.parametrize(("unit", "adjacency"), UNITS)
def test_item_effects_of_four_releases_are_closer_than_a_share_alone(unit, adjacency):
    """Of 300 effects, the logarithm of a ratio of two variances has a standard error of .12."""
    total, errors = budget(0.5 if unit == "record" else 2.0, unit, adjacency), np.zeros(2)
    truth = effects(exact(rated(), hr.GlobalEffects(), total))
    for seed in range(5):
        releases = year([rated()] * 4, hr.GlobalEffects(), total, [0.25] * 4, seed)
        errors += [np.square(effects(releases[at]) - truth).sum() for at in (0, -1)]
    assert errors[1] < 0.6 * errors[0]


@pytest.mark.parametrize(("unit", "adjacency"), UNITS)
@pytest.mark.parametrize("name", FACTORS)
def test_tastes_with_hardly_any_noise_stay(name, unit, adjacency):
    total = budget(3000.0, unit, adjacency)
    first, second = year([rated()] * 2, FACTORS[name], total, [0.5] * 2)
    assert apart(tastes(second), tastes(first)) < 0.05


@pytest.mark.parametrize("name", ["svd", "none"])
def test_tastes_of_four_releases_are_closer_than_a_share_alone(name):
    """In each of three years."""
    total = budget(30.0, "record")
    truth = tastes(exact(rated(), FACTORS[name], total))
    for seed in range(3):
        releases = year([rated()] * 4, FACTORS[name], total, [0.25] * 4, seed)
        first, last = (apart(tastes(releases[at]), truth) for at in (0, -1))
        assert last < 0.8 * first


def test_a_catalogue_of_ratings_that_grows_and_is_reordered_is_matched_by_id():
    data, total = rated(), budget(1000.0, "record")
    domain = hr.Domain(["0-new", *data.domain.items], scale=(1, 5, 1), max_users=data.domain.max_users)
    more = hr.People(domain, data.users, data.indptr, data.items + np.int32(1), data.values)
    for model in (hr.GlobalEffects(), hr.CovarianceSVD(rank=3)):
        first, second = year([data, more], model, total, [0.5] * 2)
        assert second.items == ("0-new", *first.items)
        assert np.abs(effects(second)[1:] - effects(first)).max() < 0.05
        assert not isinstance(model, hr.CovarianceSVD) or apart(tastes(second)[1:, 1:], tastes(first)) < 0.1
