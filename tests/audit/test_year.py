"""A year of releases under attack: what a continued release measures, states, takes over and refuses.

Every audit of ``hushrec.audit`` is of one fit. Here one person's or record's presence is hidden in all
releases of a year at once, and what each hands to the next is as public as the releases.

False alarms: as for ``test_canary``, a right year is accused with chance 5e-7 at most. The seeds are fixed.
"""

import contextlib
import functools
import math
from dataclasses import dataclass, field, replace

import pytest

import hushrec as hr
from hushrec.audit.canary import BATCHES, Trial, _ratios, epsilon_of
from hushrec.audit.recorder import Recorder, branch_of, ratio
from hushrec.audit.replay import Seen, _bytes_without_ledger, _capture_log, _capture_output, _trace_lines
from hushrec.audit.search import Gap, _change
from hushrec.audit.worlds import World, choices
from hushrec.privacy.grant import Grant
from hushrec.testing import Seeded, year

# Values that are led into a branch may be those of fewer people than before.
pytestmark = pytest.mark.filterwarnings("ignore:this release counts less than half")
USER, RECORD, STARS = ("user", "add-remove"), ("record", "add-remove"), ("record", "replace")
SHARES, UNEVEN = (0.5, 0.25, 0.25), (0.02, 0.02, 0.96)
PAIRS, RECORDS, COUNTS, BLURRED = (
    dict(zip(("item counts", "crowd size"), sizes, strict=True))
    for sizes in ((2.0**12, 1.0), (2.0**16, 2.0**14), (2.0**-30, 2.0**12), (128.0, 1.0))
)
"""What noisy values are multiplied by, to lead a fit into a branch: noise may release any values."""
FEW = {"covariance": {"pair_items": 3}, "rank": 2}
CASES = {
    "popularity, user": (hr.Popularity(), USER, ()),
    "popularity, record": (hr.Popularity(), RECORD, ()),
    "effects, user": (hr.GlobalEffects(), USER, ()),
    "effects, record": (hr.GlobalEffects(), RECORD, ()),
    "effects, stars": (hr.GlobalEffects(), STARS, ()),
    "laplace effects, record": (hr.GlobalEffects(noise="laplace"), RECORD, ()),
    "svd, user": (hr.CovarianceSVD(rank=2), USER, ()),
    "svd, record": (hr.CovarianceSVD(rank=2), RECORD, ()),
    "svd of a head, user": (hr.CovarianceSVD(**FEW), USER, ()),
    "svd of a head, record": (hr.CovarianceSVD(**FEW), RECORD, ()),
    "ease, user": (hr.PrivateEASE(rank=2), USER, (PAIRS,) * 3),
    "ease, record": (hr.PrivateEASE(rank=2), RECORD, (RECORDS,) * 3),
    "ease of a head, user": (hr.PrivateEASE(rank=2, pair_items=4), USER, (PAIRS,) * 3),
    "ease of a head, record": (hr.PrivateEASE(rank=2, pair_items=4), RECORD, (RECORDS,) * 3),
    "ease of counts": (hr.PrivateEASE(rank=2), USER, ()),
    "ease that loses and finds pairs": (hr.PrivateEASE(rank=2), USER, (PAIRS, COUNTS, PAIRS)),
    "ease that is voted down": (hr.PrivateEASE(rank=2), USER, ({**PAIRS, "votes": -8.0},) * 3),
    "ease of blurred counts": (hr.PrivateEASE(rank=2), USER, (BLURRED,) * 3),
}
BRANCHES = {
    "ease, user": ["pairs"] * 3,
    "ease, record": ["pairs"] * 3,
    "ease of a head, user": ["pairs"] * 3,
    "ease of a head, record": ["pairs"] * 3,
    "ease of counts": ["counts"] * 3,
    "ease that loses and finds pairs": ["pairs", "counts", "pairs"],
    "ease that is voted down": ["pairs"] * 3,
    "ease of blurred counts": ["pairs", "both", "both"],
}
PRESENT = {
    "always": (True, True, True),
    "in the first release alone": (True, False, False),
    "from the second on": (False, True, True),
}


def slow(*names):
    return [pytest.param(name, marks=pytest.mark.full) for name in names]


def shares_of(name):
    return UNEVEN if name == "ease of blurred counts" else SHARES


def total_of(protected, epsilon=4.0, delta=1e-6):
    unit, adjacency = protected
    return hr.Budget(epsilon=epsilon, delta=delta, unit=unit, adjacency=adjacency)


def worlds_of(model, sizes=(16, 16, 16)):
    """The world of each release; a catalogue may grow."""
    return [World.of(None, model.feedback, items=n) for n in sizes]


def within(people, world):
    """What people gave of the items that there are."""
    rows = {
        user: {i: step for i, step in row.items() if i < world.domain.n_items} for user, row in people.items()
    }
    return {user: row for user, row in rows.items() if row}


@dataclass
class Followed:
    """A year as it was seen: of each release its tape, plan, bytes, and what it handed over."""

    tapes: list = field(default_factory=list)
    plans: list = field(default_factory=list)
    carried: list = field(default_factory=list)
    releases: list = field(default_factory=list)
    printed: list = field(default_factory=list)
    lines: list = field(default_factory=list)

    @property
    def seen(self):
        return (
            [_bytes_without_ledger(release) for release in self.releases],
            self.carried,
            self.printed,
            self.lines,
        )


def bytes_of(carried):
    arrays = {name: (str(a.dtype), a.shape, a.tobytes()) for name, a in carried.arrays.items()}
    return carried.items, arrays


def follow(worlds, crowds, model, total, *, tapes=(), factors=(), seed=11, traced=False, shares=SHARES):
    """Make a year's releases of these crowds; with tapes, on the noisy values of another year."""
    found, hand_over = Followed(), Grant.hand_over

    def watched(grant, carried):
        hand_over(grant, carried)
        found.plans.append(grant.plan)
        found.carried.append(bytes_of(grant.later))

    led = [*factors, *[{}] * 3][:3]
    recorders = [Recorder(tape, led[i]) for i, tape in enumerate(tapes or [None] * 3)]
    people = [world.ratings(within(crowd, world)) for world, crowd in zip(worlds, crowds, strict=True)]
    releases = year(people, model, total, shares, entropy=lambda i: Seeded(100 * seed + i, recorders[i]))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Grant, "hand_over", watched)
        for _ in SHARES:
            seen = Seen()
            with contextlib.ExitStack() as stack:
                for watching in (_capture_output, _capture_log, _trace_lines) if traced else ():
                    stack.enter_context(watching(seen))
                found.releases.append(next(releases))
            found.printed.append((seen.output, seen.logged))
            found.lines.append(seen.lines)
    found.tapes = [recorder.measured for recorder in recorders]
    assert len(found.carried) == len(SHARES)
    return found


def crowds_of(pair, present):
    """Two years that differ in one unit, where it is present."""
    here, there = pair
    return [here] * 3, [there if is_there else here for is_there in present]


def both(name, pair, present=PRESENT["always"], *, worlds=None, traced=False, seed=11):
    """A year on one side of a pair, and one on the other on the same noisy values."""
    model, protected, factors = CASES[name]
    worlds, total = worlds or worlds_of(model), total_of(protected)
    how = {"factors": factors, "traced": traced, "seed": seed, "shares": shares_of(name)}
    here, there = crowds_of(pair, present)
    first = follow(worlds, here, model, total, **how)
    return first, follow(worlds, there, model, total, tapes=first.tapes, **(how | {"factors": ()}))


def gaps_of(first, second):
    """Distances of two years, by release."""
    found = []
    for here, there in zip(first.tapes, second.tapes, strict=True):
        assert [one.name for one in here] == [one.name for one in there]
        found.append(
            [Gap(one, _change(one, two), ratio(one, two)) for one, two in zip(here, there, strict=True)]
        )
    return found


def pairs_of(name, n_random=0, seed=0):
    """Extreme pairs of neighbours, and random ones."""
    model, protected, _ = CASES[name]
    (world, *_), rng = worlds_of(model), choices(seed)
    return {
        **world.pairs(*protected),
        **{f"random {k}": world.at_random(*protected, rng) for k in range(n_random)},
    }


@functools.cache
def warm(name):
    """What is loaded, compiled or remembered once is not what is looked for."""
    model, protected, factors = CASES[name]
    world, *_ = worlds = worlds_of(model)
    more = {"factors": factors, "shares": shares_of(name)}
    made = follow(worlds, [world.everybody] * 3, model, total_of(protected), **more)
    assert [branch_of(tape) for tape in made.tapes] == BRANCHES.get(name, [""] * 3), name


# -- record and replay ------------------------------------------------------------------------------------


FAST = ("popularity, user", "effects, record", "svd of a head, user", "ease, user", "ease of blurred counts")
EACH = pytest.mark.parametrize("name", [*FAST, *slow(*(name for name in CASES if name not in FAST))])


@pytest.mark.parametrize("present", ["from the second on", *slow("in the first release alone", "always")])
@EACH
def test_a_year_shows_nothing_of_one_but_in_sums_that_noise_hides(name, present):
    warm(name)
    pairs = pairs_of(name)
    pair = pairs[list(pairs)[len(present) % len(pairs)]]
    first, second = both(name, pair, PRESENT[present], traced=True)
    assert first.seen[:3] == second.seen[:3]
    assert first.lines == second.lines
    assert first.plans == second.plans
    assert all(gap.ratio <= 1 for gaps in gaps_of(first, second) for gap in gaps)
    for gaps, there in zip(gaps_of(first, second), PRESENT[present], strict=True):
        assert there or not any(gap.change.size for gap in gaps), "only who is there moves a sum"


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
def test_a_catalogue_that_grows_shows_no_more(name):
    worlds, pairs = worlds_of(CASES[name][0], (9, 12, 16)), pairs_of(name, 3)
    for pair in [*pairs.values()][-4:]:
        first, second = both(name, pair, worlds=worlds)
        assert first.seen == second.seen
        assert all(gap.ratio <= 1 for gaps in gaps_of(first, second) for gap in gaps)


@EACH
def test_the_plan_of_a_year_follows_from_public_facts(name):
    """Other people, other noise, other choices: the same plans, sensitivities and shapes."""
    model, protected, factors = CASES[name]
    worlds, total = worlds_of(model), total_of(protected)
    how = {"shares": shares_of(name)}
    one = follow(worlds, [worlds[0].everybody] * 3, model, total, factors=factors, **how)
    other = follow(worlds, [{"light": {0: 0}}, {}, {"new": {1: 0, 2: 0}}], model, total, seed=99, **how)
    assert one.plans == other.plans
    for planned, tape in zip(one.plans, one.tapes, strict=True):
        booked = [event for event in planned.noisy if event.branch in ("", branch_of(tape))]
        assert [made.event for made in tape] == booked[: len(tape)], "pairs that wait take no vote"
        listed = [replace(event, noise=0.0) for event in one.plans[0].measurements]
        assert [replace(event, noise=0.0) for event in planned.measurements] == listed


def searched(name, n_random):
    """The largest distance over the booked sensitivity, by release and measurement, and the worst year."""
    ratios, worst = [{}, {}, {}], (0.0, None, None)
    for k, pair in enumerate(pairs_of(name, n_random).values()):
        first, second = both(name, pair, seed=k)
        gaps = gaps_of(first, second)
        assert first.seen == second.seen
        for largest, one in zip(ratios, gaps, strict=True):
            for gap in one:
                largest[gap.measured.name] = max(gap.ratio, largest.get(gap.measured.name, 0.0))
        loss = sum(gap.loss for one in gaps for gap in one)
        worst = max(worst, (loss, first.plans, gaps), key=lambda found: found[0])
    return ratios, worst


# -- attacks on all sums of a year ------------------------------------------------------------------------


def heard(plans, gaps, runs):
    """ε that an attacker proves who sees the noisy sums of all releases of a year."""
    gaussian = all(gap.measured.event.mechanism == "gaussian" for one in gaps for gap in one)
    test = Trial(gaussian, plans[-1].budget.delta)
    for batch in range(BATCHES):
        ratios = 0.0
        for release, (planned, one) in enumerate(zip(plans, gaps, strict=True)):
            audible = [gap for gap in one if gap.change.size]
            alone = replace(planned, year=None)  # its noise is that of its own charge
            seed = (release * BATCHES + batch) << 32
            ratios = ratios + _ratios(alone, audible, runs // BATCHES, seed)
        test.hear(ratios)
    return test.prove()


@pytest.mark.parametrize("name", ["popularity, user", *slow("popularity, record", "effects, user")])
def test_the_stated_epsilon_covers_all_sums_of_the_year_and_hardly_more(name):
    _, (loss, plans, gaps) = searched(name, 0)
    stated, own = plans[-1].stated, plans[-1].epsilon
    truth = epsilon_of(math.sqrt(loss), plans[-1].budget.delta)
    assert 0.97 * stated < truth <= stated, "most of the claim is there to be found"
    proven, *shortfalls = heard(plans, gaps, 100_000)
    print(f"{name}: stated {stated:.4f}, own {own:.4f}, found {truth:.4f}, proven {proven:.4f}")
    assert 0.8 * stated < proven <= stated
    assert proven > 1.5 * own, "a statement of the last charge alone would be refuted"
    assert shortfalls[6] > stated, "so would a tenth less noise"


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
def test_no_year_is_dearer_than_stated(name):
    """Nor are neighbours further apart in any of its releases than that one booked."""
    ratios, (loss, plans, gaps) = searched(name, 12)
    assert all(max(largest.values()) <= 1 for largest in ratios)
    assert name != "popularity, user" or max(ratios[2].values()) > 0.9, "timid neighbours prove nothing"
    (proven, *_), stated = heard(plans, gaps, 100_000), plans[-1].stated
    gaussian = all(gap.measured.event.mechanism == "gaussian" for one in gaps for gap in one)
    found = epsilon_of(math.sqrt(loss), 1e-6) if gaussian else loss
    print(f"{name}: stated {stated:.4f}, own {plans[-1].epsilon:.4f}, found {found:.4f}, proven {proven:.4f}")
    assert proven <= stated
