"""A pass of Langevin dynamics against NumPy; that its law is right is shown in tests/statistical."""

import numpy as np
import pytest
from numpy.random import default_rng

from hushrec.kernels.solvers.langevin import langevin, reference_langevin
from hushrec.kernels.solvers.langevin_pass import LangevinPass
from hushrec.kernels.solvers.sgd import reference_descend
from hushrec.kernels.solvers.visits import BATCH, LARGEST_RANK, padded

KEY = bytes(range(32))
N_USERS, N_ITEMS, VISITS = 40, 30, 35
RANKS = [1, 15, 16, 17, 40, 64, 70, 300, 2048]
COMPILED = [
    rank if rank in (1, 17) else pytest.param(rank, marks=pytest.mark.full) for rank in RANKS
]  # each takes a second or two to compile
FACTORS = "user_factors", "item_factors", "user_effects", "item_effects"


def random_case(rank, *, effects, n_users=N_USERS, n_items=N_ITEMS, visits=VISITS):
    """Some users rate nothing or one item, or are not visited; every fourth weighs nothing."""
    rng = default_rng([rank, effects])
    mask = rng.random((n_users, n_items)) < rng.random((n_users, 1))
    mask[:, :2] = mask[3:5] = False
    mask[4, 7] = True
    scales = rng.random(n_users, np.float32)
    scales[::4] = 0
    return {
        "indptr": np.concatenate([[0], np.cumsum(mask.sum(axis=1))]).astype(np.int64),
        "items": np.nonzero(mask)[1].astype(np.int32),
        "values": 2 * rng.standard_normal(mask.sum()).astype(np.float32),
        "order": rng.permutation(n_users)[:visits].astype(np.int32),
        "user_factors": rng.standard_normal((n_users, rank), np.float32) / np.float32(rank**0.5),
        "item_factors": rng.standard_normal((n_items, rank), np.float32) / np.float32(rank**0.5),
        "user_effects": rng.standard_normal(n_users, np.float32) if effects else None,
        "item_effects": rng.standard_normal(n_items, np.float32) if effects else None,
        "user_scales": scales,
        "user_precision": rng.random(rank, np.float32) + np.float32(0.5),
        "item_precision": rng.random(rank, np.float32) + np.float32(0.5),
        "effect_precision": (0.7, 1.3),
        "rate": 0.03,
        "temperature": 0.5,
        "low": -2.0,
        "high": 1.5,
    }


def after(work, case, *, passes=1, number=0, noise_intervals=5, key=KEY, **changes):
    """What factors and effects become; the case itself stays as it is."""
    case = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in case.items()}
    case |= changes
    for n in range(number, number + passes):
        work(
            **case, epoch=LangevinPass(key, n, len(case["order"]), len(case["item_factors"]), noise_intervals)
        )
    return [case[name] for name in FACTORS if case[name] is not None]


def differ(left, right):
    return max(float(np.abs(a - b).max()) for a, b in zip(left, right, strict=True))


def same(left, right):
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize("effects", [False, True])
@pytest.mark.parametrize("rank", COMPILED)
def test_equals_numpy(rank, effects):
    case = random_case(rank, effects=effects)
    got = after(langevin, case)
    assert differ(got, after(reference_langevin, case)) < 1e-5
    backward = after(langevin, case, number=7)
    assert differ(backward, after(reference_langevin, case, number=7)) < 1e-5


def test_every_other_pass_reads_ratings_backward():
    case = random_case(16, effects=True) | {"temperature": 0.0}
    first = after(langevin, case)
    assert same(first, after(langevin, case, number=2))
    assert differ(first, after(langevin, case, number=1)) > 1e-4


@pytest.mark.parametrize(
    "planted",
    [
        {"rate": 0.0301},
        {"temperature": 0.501},
        {"low": -2.2},
        {"high": 1.6},
        {"effect_precision": (0.71, 1.3)},
        {"effect_precision": (0.7, 1.31)},
        {"user_precision": np.full(16, 0.5, np.float32)},
        {"item_precision": np.full(16, 0.5, np.float32)},
        {"user_scales": np.full(N_USERS, 0.5, np.float32)},
        {"order": np.arange(VISITS, dtype=np.int32)},
        {"noise_intervals": 4},
        {"number": 2},
        {"key": bytes(32)},
        {"first_user": 1},
    ],
    ids=lambda planted: next(iter(planted)),
)
def test_everything_counts(planted):
    case = random_case(16, effects=True)
    got = after(langevin, case)
    assert differ(got, after(reference_langevin, case, **planted)) > 1e-5
    assert differ(after(langevin, case, **planted), after(reference_langevin, case, **planted)) < 1e-5


def test_one_rating_by_hand():
    """Without noise, and with so weak a prior that only the rating pulls."""
    p, q = np.array([[1.0, 2.0]], np.float32), np.array([[3.0, -1.0]], np.float32)
    b_u, b_i = np.array([0.5], np.float32), np.array([-0.25], np.float32)
    weak = np.full(2, 1e-9, np.float32)
    one = np.array([0, 1]), np.zeros(1, np.int32), np.array([4.0], np.float32), np.zeros(1, np.int32)
    law = np.array([0.5], np.float32), weak, weak, (1e-9, 1e-9), 0.5, 0.0

    def visit(low, high):
        changed = [a.copy() for a in (p, q, b_u, b_i)]
        langevin(*one, *changed, *law, low, high, LangevinPass(KEY, 0, 1, 1))
        return [a.ravel().tolist() for a in changed]

    # The prediction is 1.25, the error 2.75, and 2 h c is ½.
    moved = [[1 + 1.375 * 3, 2 - 1.375], [3 + 1.375, -1 + 2.75], [0.5 + 1.375], [-0.25 + 1.375]]
    assert visit(-np.inf, np.inf) == visit(1.25, 1.25) == moved
    assert visit(1.5, np.inf) == visit(-np.inf, 1.0) == [a.ravel().tolist() for a in (p, q, b_u, b_i)]


def test_without_noise_and_prior_it_is_gradient_descent():
    case = random_case(20, effects=True) | {"low": -np.inf, "high": np.inf, "temperature": 0.0}
    weak = np.full(20, 1e-12, np.float32)
    case |= {"user_precision": weak, "item_precision": weak, "effect_precision": (1e-12, 1e-12)}
    case["user_scales"] = np.full(N_USERS, 0.5, np.float32)
    descent = {name: case[name].copy() for name in FACTORS}
    rows = [case[name] for name in ("indptr", "items", "values", "order")]
    zero = np.zeros(N_USERS, np.float32), np.zeros(N_ITEMS, np.float32)
    reference_descend(*rows, **descent, user_reg=zero[0], item_reg=zero[1], rate=0.03, limit=np.inf)
    assert differ(after(langevin, case, noise_intervals=1), list(descent.values())) < 1e-5


def test_lazy_payments_decay_as_eager_ones():
    """Without noise the two are equal up to rounding; what their noise does is in tests/statistical."""
    case = random_case(16, effects=True) | {"temperature": 0.0}
    lazy = after(reference_langevin, case)
    assert differ(lazy, after(reference_langevin, case, eager=True)) < 1e-6
    noisy = case | {"temperature": 0.5}
    assert differ(after(reference_langevin, noisy), after(reference_langevin, noisy, eager=True)) > 0.01


def block_by_block(cuts, case, *, epoch, restart=False, numbered=True):
    """A pass over blocks of users in their order, each with arrays of its own."""
    for start, end in zip([0, *cuts], [*cuts, len(case["user_factors"])], strict=True):
        rows = slice(case["indptr"][start], case["indptr"][end])
        block = case | {
            "indptr": case["indptr"][start : end + 1] - case["indptr"][start],
            "items": case["items"][rows],
            "values": case["values"][rows],
            "order": np.arange(end - start, dtype=np.int32),
            "user_scales": case["user_scales"][start:end],
            "user_factors": case["user_factors"][start:end],
            "user_effects": case["user_effects"][start:end],
        }
        if restart:
            again = LangevinPass(epoch.key, epoch.number, epoch.visits, epoch.n_items, epoch.noise_intervals)
            again.visited, again.paid[:] = epoch.visited, epoch.paid
            epoch = again
        langevin(**block, epoch=epoch, first_user=start if numbered else 0)
    return [case[name] for name in FACTORS]


def test_block_by_block_is_the_whole_pass():
    users = 3 * BATCH + 9
    case = random_case(17, effects=True, n_users=users) | {"order": np.arange(users, dtype=np.int32)}
    whole = after(langevin, case, number=3)

    def blocks(cuts, **asked):
        fresh = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in case.items()}
        return block_by_block(cuts, fresh, epoch=LangevinPass(KEY, 3, users, N_ITEMS, 5), **asked)

    assert same(whole, blocks([BATCH, 3 * BATCH]))
    assert same(whole, blocks([BATCH, 3 * BATCH], restart=True))
    assert differ(whole, blocks([BATCH, 3 * BATCH], numbered=False)) > 0.01
    assert not same(whole, blocks([BATCH - 3]))  # as right, but other users take turns


def test_padded_items_are_changed_where_they_lie():
    case = random_case(17, effects=True)
    items = padded(N_ITEMS, 17)
    items[:] = case["item_factors"]
    epoch = LangevinPass(KEY, 0, VISITS, N_ITEMS, 5)
    fresh = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in case.items()}
    langevin(**(fresh | {"item_factors": items}), epoch=epoch)
    assert np.array_equal(items, after(langevin, case)[1])


def test_one_thread_repeats_bit_for_bit():
    case = random_case(20, effects=True)
    assert same(after(langevin, case, passes=3), after(langevin, case, passes=3))


def test_noise_does_not_depend_on_threads():
    """Without data no two threads meet, and any number of them gives the same bits."""
    case = random_case(20, effects=True, n_users=600, n_items=500, visits=500)
    case["user_scales"][:] = 0
    assert same(after(langevin, case, passes=3), after(langevin, case, passes=3, threads=3))


def test_threads_reach_the_same_fit():
    """Lost updates cost little: the loss after twenty passes is within 5 % of one thread's."""
    case = random_case(8, effects=True, n_users=400, n_items=200, visits=400)
    case |= {"temperature": 0.01, "rate": 0.005, "low": -np.inf, "high": np.inf}
    users = np.repeat(np.arange(400), np.diff(case["indptr"]))
    weights = case["user_scales"][users]

    def loss(passes, threads=1):
        p, q, b_u, b_i = after(langevin, case, passes=passes, threads=threads)
        predicted = np.einsum("rf,rf->r", p[users], q[case["items"]]) + b_u[users] + b_i[case["items"]]
        return float((weights * (case["values"] - predicted) ** 2).sum())

    assert loss(20, threads=3) == pytest.approx(loss(20), rel=0.05)
    assert loss(20) < 0.8 * loss(0)


def test_who_weighs_nothing_leaves_no_trace():
    case = random_case(16, effects=True)
    other = case["values"].copy()
    for user in np.flatnonzero(case["user_scales"] == 0):
        other[case["indptr"][user] : case["indptr"][user + 1]] += 1
    assert same(after(langevin, case), after(langevin, case, values=other))
    other[case["indptr"][case["order"][case["order"] % 4 > 0][0]]] += 1
    assert not same(after(langevin, case), after(langevin, case, values=other))


def test_who_is_not_visited_is_paid():
    """He follows his prior; his ratings are not looked at."""
    case = random_case(16, effects=True)
    left = np.setdiff1d(np.arange(N_USERS), case["order"])
    users, _, effects, _ = after(langevin, case)
    assert np.all(users[left] != case["user_factors"][left])
    assert np.all(effects[left] != case["user_effects"][left])
    nobody = after(langevin, case, order=np.zeros(0, np.int32))
    assert same([users[left], effects[left]], [nobody[0][left], nobody[2][left]])
    assert differ(nobody, after(reference_langevin, case, order=np.zeros(0, np.int32))) < 1e-5


def test_the_last_call_settles():
    case = random_case(4, effects=True)
    epoch = LangevinPass(KEY, 0, VISITS + 1, N_ITEMS, 5)
    langevin(**case, epoch=epoch)
    assert epoch.visited == VISITS
    assert set(epoch.paid[:2]) == {0}  # nobody rated these
    assert epoch.paid.max() < epoch.end
    langevin(**(case | {"order": case["order"][:1]}), epoch=epoch)
    assert set(epoch.paid) == {epoch.end}


@pytest.mark.parametrize(
    "spoil",
    [
        {"threads": 0},
        {"low": 2.0},
        {"low": np.nan},
        {"rate": -0.1},
        {"temperature": np.nan},
        {"effect_precision": (0.0, 1.0)},
        {"user_precision": np.zeros(4, np.float32)},
        {"user_precision": np.ones(5, np.float32)},
        {"item_precision": -np.ones(4, np.float32)},
        {"item_precision": np.ones(3, np.float32)},
        {"user_scales": -np.ones(N_USERS, np.float32)},
        {"user_scales": np.ones(N_USERS - 1, np.float32)},
        {"order": np.array([0, 0], np.int32)},
        {"order": np.array([N_USERS], np.int32)},
        {"order": np.array([-1], np.int32)},
        {"order": np.arange(VISITS + 1, dtype=np.int32)},
        {"indptr": np.array([0, 1])},
        {"values": np.zeros(3, np.float32)},
        {"user_effects": None},
        {"item_effects": np.zeros(N_ITEMS + 1, np.float32)},
        {"item_factors": np.zeros((N_ITEMS, 5), np.float32)},
        {"item_factors": np.zeros((N_ITEMS, 4))},
        {"item_factors": np.zeros((N_ITEMS - 1, 4), np.float32)},
        {"user_factors": np.zeros((N_USERS, 8), np.float32)[:, ::2]},
        {"user_factors": np.zeros((N_USERS, LARGEST_RANK + 1), np.float32)},
        {"epoch": LangevinPass(KEY, 0, VISITS, N_ITEMS + 1)},
        {"epoch": LangevinPass(KEY, 0, VISITS - 1, N_ITEMS)},
    ],
    ids=lambda spoil: next(iter(spoil)),
)
def test_refuses_what_does_not_fit(spoil):
    case = random_case(4, effects=True) | {"epoch": LangevinPass(KEY, 0, VISITS, N_ITEMS)}
    case["items"][0] = N_ITEMS - 1
    before = [case[name].copy() for name in FACTORS]
    with pytest.raises(ValueError, match=r"must|use|give"):
        langevin(**(case | spoil))
    assert same(before, [case[name] for name in FACTORS])
