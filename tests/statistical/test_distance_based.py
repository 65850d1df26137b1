"""Substituted profiles have the law that is priced, and a slot loses what is said.

The draws are held against the matrix of the law, written down from its definition, and against the exact law
of whole profiles of two slots. Every check gives a p-value and alarms below 1e-9; there are under 100 of
them, so right draws raise an alarm for fewer than one choice in 1e7 of the keys. The keys are fixed. Each
check is also made on planted faults, and must raise its alarm there.

The loss is then measured as an attacker would: from how often an item comes out where one or another went in,
with Clopper-Pearson limits that fail with chance 2.5e-7 each.
"""

import hashlib
import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from hushrec.models.du_leighton_patel import kernels
from hushrec.models.du_leighton_patel.rows import Rows
from hushrec.models.du_leighton_patel.substitution import SubstitutionRandomizer

ALARM, MISTAKEN = 1e-9, 2.5e-7
KEEP, GROUP = 0.5, 0.6
GROUPS = ((1, 2), (0,), (), (0, 1, 2, 4, 5), (3,), (1, 2))
M, DRAWS = len(GROUPS), 150_000


def randomizer(keep=KEEP, group=GROUP, groups=GROUPS):
    of = SubstitutionRandomizer(keep, group, np.zeros(M + 1, np.int64), np.empty(0, np.int32))
    # Not by the constructor, which refuses the faulty groups that are planted below.
    object.__setattr__(of, "indptr", np.cumsum([0, *map(len, groups)]).astype(np.int64))
    object.__setattr__(of, "members", np.array([j for own in groups for j in own], np.int32))
    return of


def matrix():
    chances = KEEP * np.eye(M) + (1 - KEEP) * (1 - GROUP) / M
    for i, own in enumerate(GROUPS):
        for j in own or range(M):
            chances[i, j] += (1 - KEEP) * GROUP / len(own or range(M))
    return chances


def drawn(of, profile, number, seed):
    """What becomes of so many people with this profile, of (item, mark), each."""
    items, marks = (np.tile(part, number) for part in zip(*profile, strict=True))
    indptr = np.arange(number + 1) * len(profile)
    rows = Rows("cells", M, indptr, items.astype(np.int32), marks.astype(np.uint8))
    key = hashlib.sha256(f"distance based {seed}".encode()).digest()
    return of.draw(rows, key)


# -- one slot ---------------------------------------------------------------------------------------------


def frequencies(of, seed=0):
    """How often each item comes out, by the one that went in."""
    return np.array(
        [np.bincount(drawn(of, [(i, 3)], DRAWS, f"{seed} {i}")[1], minlength=M) for i in range(M)]
    )


def fits(found):
    """p-value of Pearson's χ² of all items that went in together."""
    expected = matrix() * DRAWS
    return float(stats.chi2.sf(((found - expected) ** 2 / expected).sum(), M * (M - 1)))


def test_the_matrix_is_one_of_chances():
    np.testing.assert_allclose(matrix().sum(axis=1), 1)
    assert randomizer().per_slot == pytest.approx(np.log(matrix().max(axis=0) / matrix().min(axis=0)).max())


def test_slots_come_out_by_their_law():
    assert fits(frequencies(randomizer())) > ALARM


FAULTS = {
    "p and p* exchanged": randomizer(keep=GROUP, group=KEEP),
    "an item in its own group": randomizer(
        groups=[sorted({*own, i} if own else ()) for i, own in enumerate(GROUPS)]
    ),
    "kept, where the group is empty": randomizer(groups=[own or (i,) for i, own in enumerate(GROUPS)]),
    "kept five per cent too often": randomizer(keep=1.05 * KEEP),
    "kept two per cent too seldom": randomizer(keep=0.98 * KEEP),
    "one item missing in a group": randomizer(groups=[(1, 2), (0,), (), (0, 1, 2, 4), (3,), (1, 2)]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_law_raises_the_alarm(fault):
    assert fits(frequencies(FAULTS[fault])) < ALARM


def limits(count):
    """Clopper-Pearson: the chance is below the first, or above the second, with chance ``MISTAKEN`` each."""
    low = stats.beta.ppf(MISTAKEN, count, DRAWS - count + 1) if count else 0.0
    return low, stats.beta.ppf(1 - MISTAKEN, count + 1, DRAWS - count)


def measured(found):
    """ε of a slot that these frequencies prove, of the item and pair that tell most."""
    chances = matrix()
    j = int(np.log(chances.max(axis=0) / chances.min(axis=0)).argmax())
    i, other = chances[:, j].argmax(), chances[:, j].argmin()
    return math.log(limits(found[i, j])[0] / limits(found[other, j])[1])


@pytest.fixture(scope="module")
def proven():
    return measured(frequencies(randomizer(), 5))


def test_a_slot_loses_what_is_said_and_nearly_all_of_it(proven):
    assert 0.8 * randomizer().per_slot <= proven <= randomizer().per_slot


@pytest.mark.parametrize(
    "claimed",
    [
        randomizer().expected,
        math.log((KEEP + (1 - KEEP) / M) / ((1 - KEEP) / M)),  # groups forgotten
        randomizer(keep=0.8 * KEEP).per_slot,
    ],
)
def test_a_smaller_claim_is_disproved(proven, claimed):
    assert proven > claimed


# -- two slots --------------------------------------------------------------------------------------------


def outcomes(profile, listed):
    """Exact law of a profile of two slots; ``listed`` gives the chance of each slot to be listed of two."""
    chances, law_of = matrix(), Counter()
    (first, mark), (second, other) = profile
    for a, b in itertools.product(range(M), repeat=2):
        chance = chances[first, a] * chances[second, b]
        if a != b:
            law_of[tuple(sorted([(a, mark), (b, other)]))] += chance
            continue
        for own, part in zip((mark, other), listed, strict=True):
            law_of[((a, own),)] += chance * part
    return law_of


def loss(listed):
    """The largest loss among all profiles of two items, under a mark of 0 and one of 4."""
    pairs = list(itertools.combinations(range(M), 2))
    profiles = [((a, x), (b, y)) for a, b in pairs for x, y in ((0, 4), (4, 0))]
    distributions = [outcomes(profile, listed) for profile in profiles]
    return max(
        math.log(p / q[outcome]) if q[outcome] else math.inf
        for one, q in itertools.permutations(distributions, 2)
        for outcome, p in one.items()
        if p
    )


def test_two_slots_lose_twice_what_one_does_only_if_their_order_has_no_say():
    assert loss((0.5, 0.5)) <= 2 * randomizer().per_slot + 1e-9
    assert loss((0.5, 0.5)) > 1.2 * randomizer().per_slot
    assert loss((0.9, 0.1)) > loss((0.5, 0.5))
    assert loss((1.0, 0.0)) == math.inf  # the first of two slots is the smaller item's: its mark tells


def tally(of, profile, seed):
    indptr, items, marks = drawn(of, profile, DRAWS, seed)
    pairs = list(zip(items.tolist(), marks.tolist(), strict=True))
    return Counter(tuple(pairs[a:b]) for a, b in itertools.pairwise(indptr.tolist()))


def misfit(found, expected):
    """p-value of a sample of whole profiles."""
    assert set(found) <= set(expected)
    both = np.array([(found[outcome], chance * DRAWS) for outcome, chance in expected.items() if chance])
    return float(stats.chi2.sf(((both[:, 0] - both[:, 1]) ** 2 / both[:, 1]).sum(), len(both) - 1))


PROFILES = ([(0, 0), (3, 4)], [(0, 4), (3, 0)], [(2, 0), (5, 4)], [(1, 2), (4, 2)])


@pytest.mark.parametrize("profile", PROFILES)
def test_whole_profiles_come_out_by_their_law(profile):
    assert misfit(tally(randomizer(), profile, 7), outcomes(profile, (0.5, 0.5))) > ALARM


def met(of, profile, seed):
    """How often two slots landed on one item, and how often the first one's mark was listed."""
    indptr, _, marks = drawn(of, profile, DRAWS, seed)
    alone = marks[indptr[:-1][np.diff(indptr) == 1]]
    return int((alone == profile[0][1]).sum()), alone.size


def order_has_no_say(of, seed):
    return all(
        stats.binomtest(*met(of, profile, seed), 0.5).pvalue > ALARM
        for profile in PROFILES
        if profile[0][1] != profile[1][1]
    )


def test_of_slots_that_meet_any_is_as_likely_to_be_listed():
    assert order_has_no_say(randomizer(), 8)


@pytest.mark.parametrize("places", [slice(None), slice(None, None, -1)])
@pytest.mark.full
def test_an_order_that_decides_raises_the_alarm(places, monkeypatch):
    """Every slot's landing as it is, and of two that meet the first, or the last, in the row is listed."""
    right = kernels.substitute

    def ordered(first, last, indptr, columns, marks, *rest):
        *others, listed, kept, counts = rest
        apart = np.arange(columns.size + 1)  # every slot in a row of its own
        right(
            indptr[first],
            indptr[last],
            apart,
            columns,
            marks,
            *others,
            listed,
            kept,
            counts_of := apart.copy(),
        )
        assert counts_of[0] == 1
        size, landed = 0, listed.copy()
        for row in range(first, last):
            slots = np.arange(indptr[row], indptr[row + 1]) - indptr[first]
            winners = dict(zip(landed[slots][places], marks[indptr[first] + slots][places], strict=True))
            counts[row] = len(winners)
            for item in sorted(winners):
                listed[size], kept[size] = item, winners[item]
                size += 1
        return size

    monkeypatch.setattr(kernels, "substitute", ordered)
    monkeypatch.setattr(f"{__name__}.DRAWS", 3000)
    assert not order_has_no_say(randomizer(), 8)
    assert misfit(tally(randomizer(), PROFILES[0], 7), outcomes(PROFILES[0], (0.5, 0.5))) < ALARM
