"""All measurements of a series together: no life of a person exceeds the bound, wrong bounds are exceeded."""

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.privacy.accounting.ages import BITS, age_weights, joint_norm
from hushrec.sums.series import WEIGHT_BITS, Arrivals, Dated, DatedCounts, DatedSums
from support.series import DOMAIN, given

CAP = 4.5
RELEASES = 6
BUDGET = hr.Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")


def sums_of(releases=RELEASES, max_per_user=CAP, reg=20):
    effects = hr.GlobalEffects(effects={"contribution_cap": max_per_user, "reg": reg})
    return DatedSums(DOMAIN, releases, max_per_user, effects.effects.sums(DOMAIN, BUDGET, "l2"))


def measured(sums, life, joined=Arrivals.joined):
    """What one person moves each measurement by, over all releases, by name, in its units."""
    queries, moved = [*sums.queries()], []
    memory = Arrivals()
    for part, items in enumerate(life):
        memory, dated = joined(memory, given({1: items} if items else {}), part, sums.contribution_cap)
        moved.append(sums.measure(dated))
    return {
        query.name: query.step * np.concatenate([values[place] for values in moved]).astype(float)
        for place, query in enumerate(queries)
    }


def ratios(sums, life, joined=Arrivals.joined):
    """The distances that one person moves all releases together by, over the declared ones."""
    found = measured(sums, life, joined)
    return {q.name: float(np.linalg.norm(found[q.name])) / q.sensitivity for q in sums.queries()}


def lives():
    """What a person may do in six releases: random, and what wrong bounds break on."""
    rng = np.random.default_rng(17)
    for _ in range(60):
        own, life = {}, []
        for _ in range(RELEASES):
            for item in rng.integers(0, 40, rng.integers(0, 12)):
                own[int(item)] = int(rng.choice([1, 5, 3]))  # new, or another value
            for item in [*own]:
                if rng.random() < 0.2:
                    del own[item]
            life.append([*own.items()] if rng.random() > 0.15 else [])
        yield life
    extreme = [(item, 1 + 4 * (item % 2)) for item in range(40)]
    few = extreme[:4]
    yield [few] * RELEASES  # in full, from the first on
    yield [extreme] * RELEASES
    yield [[extreme[part]] for part in range(RELEASES)]  # one at a time, each deleted at once
    yield [few if part % 2 == 0 else [] for part in range(RELEASES)]  # gone and back
    yield [extreme[4 * part : 4 * part + 4] for part in range(RELEASES)]  # always others
    yield [few + extreme[4 : 4 + 7 * part] for part in range(RELEASES)]  # more and more
    yield [[(item, 5 if part % 2 else 1) for item, _ in few] for part in range(RELEASES)]  # edited


@pytest.mark.full
def test_no_life_moves_all_releases_by_more_than_is_declared():
    sums, most = sums_of(), {}
    for life in lives():
        for name, ratio in ratios(sums, life).items():
            most[name] = max(most.get(name, 0), ratio)
    assert max(most.values()) <= 1
    slopes = most.pop("slopes")
    assert slopes > 0.7, "at most 1 - 1/(c + reg) of it"
    assert min(most.values()) > 0.8, most


@pytest.mark.parametrize("releases", [1, 3, 52])
def test_the_bound_is_that_of_the_weights(releases):
    """People with extreme ratings from the first release on, without a mean that takes from them."""
    sums = sums_of(
        releases, max_per_user=5.0, reg=10**6
    )  # of which four records use up four, and one is kept
    found = ratios(sums, [[(0, 1), (1, 5), (2, 1), (3, 5)]] * releases)
    used = math.sqrt(4 / 5)
    assert found["item counts"] == pytest.approx(used, abs=1e-6)
    assert found["item sums"] == pytest.approx(used, abs=1e-3)
    assert found["global count"] == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("stars", [1, 5])
def test_the_level_of_the_lowest_and_highest_ratings_reaches_its_bound_and_not_beyond(stars):
    """In many releases: weights by age have ever more bits, and what is cut off them is cut toward zero."""
    found = ratios(sums_of(52), [[(0, stars)]] * 52)
    assert 1 - 1e-3 < found["global sum"] <= 1
    assert max(found.values()) <= 1


# -- planted faults: each bound is needed ------------------------------------------------------------------


def most_of(joined=Arrivals.joined, sums=None):
    sums = sums or sums_of()
    return max(max(ratios(sums, life, joined).values()) for life in lives())


@pytest.mark.full
def test_a_bound_on_one_release_alone_is_exceeded():
    class Alone(DatedSums):
        def _joint(self, bound):
            return super()._joint(bound) / joint_norm(self.releases)

    whole = sums_of()
    assert most_of(sums=Alone(whole.domain, whole.releases, whole.contribution_cap, whole.of)) > 1.2


def forgetful(memory, rows, part, cap):
    """People who are gone are forgotten, so they count anew when they come back."""
    memory, dated = memory.joined(rows, part, cap)
    present = set(rows.users)
    return Arrivals(memory.table.filter(memory.table["user_id"].is_in([*present]))), dated


def unaware(memory, rows, part, cap):
    """Nothing is remembered: every record is as if it came now, as with dates that move when it is edited."""
    return memory, Arrivals().joined(rows, part, cap)[1]


def by_count(memory, rows, part, cap):
    """A weight √(K/c) by the number of records of now, which later records or deletions change."""
    memory, dated = memory.joined(rows, part, cap)
    own = np.minimum(1.0, np.sqrt(cap / rows.counts))
    weights = (np.repeat(own, rows.counts) * (1 << WEIGHT_BITS)).astype(np.int64)
    return memory, dated._replace(weights=weights)


def generous(memory, rows, part, cap):
    """New records share all of K each time, and not what earlier ones left of it."""
    spent = pl.when(pl.col("item_id").is_null()).then(0).otherwise(pl.col("weight")).alias("weight")
    return Arrivals(memory.table.with_columns(spent)).joined(rows, part, cap)


@pytest.mark.parametrize("fault", [forgetful, unaware, by_count, generous])
@pytest.mark.full
def test_a_memory_with_a_fault_is_exceeded(fault):
    assert most_of(fault) > 1.05


def test_a_rating_that_is_gone_is_not_read():
    """Deletions take effect at the next release: it is measured from what is there."""
    sums = sums_of()
    stays = measured(sums, [[(0, 5), (1, 1)], [(0, 5)], [(0, 5)]])
    counts = stays["item counts"].reshape(3, -1)
    assert counts[:, 0].tolist() == pytest.approx([1, 0.5, 0.375], abs=1e-6)
    assert counts[:, 1].tolist() == [1, 0, 0]


def test_sums_weigh_each_rating_by_its_age():
    sums = sums_of(reg=10**6)  # so that nothing is subtracted
    found = measured(sums, [[(0, 5)], [(0, 5), (1, 1)], [(0, 5), (1, 1)]])
    clip = sums.of.clip
    np.testing.assert_allclose(found["item sums"].reshape(3, -1)[:, 0], [clip, clip / 2, clip * 3 / 8], 1e-3)
    np.testing.assert_allclose(found["item sums"].reshape(3, -1)[1:, 1], [-clip, -clip / 2], 1e-3)
    level = [2, (2 - 2) / 2 * 0.5, 0]  # the mean of five and one star is the middle
    np.testing.assert_allclose(found["global sum"], level, atol=1e-3)
    ages = age_weights(3) * 2.0**-BITS
    np.testing.assert_allclose(found["global count"], ages, atol=2e-5)


def test_counts_alone_are_those_of_the_sums():
    sums = sums_of()
    counts = DatedCounts(DOMAIN, RELEASES, CAP)
    _, dated = Arrivals().joined(given({1: [0, (3, 5)], 2: range(20)}), 0, CAP)
    assert isinstance(dated, Dated)
    np.testing.assert_array_equal(counts.measure(dated)[0], sums.measure(dated)[-1])
    assert [*counts.queries()] == [[*sums.queries()][-1]]


def test_nobody_moves_nothing():
    sums = sums_of()
    _, dated = Arrivals().joined(given({}), 0, CAP)
    assert all(values.sum() == 0 for values in sums.measure(dated))
    assert replace(sums, releases=1) != sums
