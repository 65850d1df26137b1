"""Synthetic ratings and interactions, for demonstrations, tests and measurements.

Both have the shape of the Netflix Prize data. Activity and popularity are long-tailed: the number of items
per user is lognormal, and users draw distinct items in proportion to lognormal weights. A rating is a planted
low-rank model plus noise, rounded to 1, …, 5:

    r = μ + b_u + b_i + ⟨p_u, q_i⟩ + noise.

Interactions have planted tastes instead, which decide what a user draws.

At 480,189 users, 17,770 items and 100 M ratings, users have about 209 ratings on average, 96 in the median
and 17,000 at most; the most rated item has over 200,000, and some items have none.
"""

import math
from typing import Any

import numpy as np
from numpy.random import default_rng  # noqa: TID251  (synthetic data, no release noise)

from hushrec.arrays import Bytes, Floats, Floats32, Ints, Ints32
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.errors import DataError
from hushrec.kernels.compiled import compiled
from hushrec.text import is_number, whole

# Chosen by hand, so that counts, means and spread resemble the Netflix Prize's: tests/data/test_synthetic.py.
_ACTIVITY = 1.25  # standard deviation of the logarithm of a user's number of ratings
_POPULARITY = 2.6  # the same for an item's weight, before both ends are pulled in by:
_OBSCURE, _FAMOUS = -1.8, 1500.0  # the lowest fame, in standard deviations, and the weight that is halved
_TASTE = 2.0  # standard deviation of the logarithm of how much more a user is drawn to an item than others
_MEAN, _USER_BIAS, _ITEM_BIAS, _INTERACTION, _NOISE = 3.4, 0.45, 0.45, 0.43, 0.85

_WORDS = """
Amber Borrowed Bright Broken Crooked Distant Early Empty Folded Frozen Gentle Golden Hollow Idle Last Little
Lost Low Narrow Northern Paper Patient Plain Quiet Restless Salt Second Secret Silver Slow Stolen Sudden Tall
Tender Unsent Velvet Wandering Winter Wooden Yellow

Afternoon Anchor Bridge Cartographer Choir Circus Compass Cousin Daughter Engine Garden Harbour Horizon House
Island Kitchen Lantern Letter Lighthouse Meadow Mirror Neighbour Orchard Parade Passenger Piano Postcard
Railway River Sailor Season Shadow Signal Sister Staircase Stranger Summer Tailor Violin Window

Adventure Comedy Crime Drama Family Fantasy Mystery Romance Thriller Western
"""
_STRIDE = 641  # coprime to the 1,600 pairs of words: each is taken once, and neighbours share no word


def netflix_like(
    users: int, items: int, ratings: int, seed: int, rank: int = 20, titles: bool = False
) -> People:
    """Make synthetic ratings of exactly the requested size, the same for the same arguments.

    Args:
        users: number of users; each rates at least one item.
        ratings: number of ratings, from ``users`` to ``users · items``.
        seed: seed of everything random.
        rank: rank of the planted interaction.
        titles: give items made-up titles as ids, and years and genres as features.

    Returns:
        ratings on the scale 1 to 5 with their domain; its bound on users is the next of 1, 2, 5, 10, …

    Privacy: public: these are no one's ratings.
    """
    _require_possible(users, items, ratings, "ratings")
    seed = whole(seed, "seed", 0, DataError)
    rng = default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(_counts(rng.standard_normal(users), items, ratings))])
    fame = rng.standard_normal(items)
    weights = np.exp(_POPULARITY * np.maximum(fame, _OBSCURE))
    weights /= 1 + weights / _FAMOUS
    # Famous items are also rated slightly higher.
    item_bias = _MEAN + _ITEM_BIAS * (0.3 * fame + math.sqrt(1 - 0.3**2) * rng.standard_normal(items))
    sizes = 0.9 ** np.arange(rank)  # a decaying spectrum, so that each further factor matters less
    # ⟨p_u, q_i⟩ has variance Σ sizes⁴; scale it to _INTERACTION².
    sizes *= math.sqrt(_INTERACTION / math.sqrt(float((sizes**4).sum())))
    rated_items, steps = _rated(
        np.uint64(seed),
        indptr,
        weights,
        *_alias_table(weights),
        (_USER_BIAS * rng.standard_normal(users)).astype(np.float32),
        item_bias.astype(np.float32),
        (sizes * rng.standard_normal((users, rank))).astype(np.float32),
        (sizes * rng.standard_normal((items, rank))).astype(np.float32),
    )
    domain = _domain(users, items, titles, scale=(1, 5, 1))
    return People(domain, _ids("u", users), indptr, rated_items, steps)


def interactions(
    users: int, items: int, interactions: int, seed: int, rank: int = 8, titles: bool = False
) -> People:
    """Make synthetic interactions of exactly the requested size, the same for the same arguments.

    User u draws distinct items in proportion to exp(log w_i + ⟨p_u, q_i⟩), with the long-tailed w and the
    activity of ``netflix_like`` and Gaussian p and q. Time grows with ``users · items``.

    Args:
        users: number of users; each gives at least one item.
        interactions: number of interactions, from ``users`` to ``users · items``.
        seed: seed of everything random.
        rank: number of factors of a user's taste.
        titles: give items made-up titles as ids, and years and genres as features.

    Returns:
        interactions with their domain; its bound on users is the next of 1, 2, 5, 10, …

    Privacy: public: these are no one's interactions.
    """
    _require_possible(users, items, interactions, "interactions")
    seed = whole(seed, "seed", 0, DataError)
    rng = default_rng(seed)
    counts = _counts(rng.standard_normal(users), items, interactions)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    log_weights = _POPULARITY * np.maximum(rng.standard_normal(items), _OBSCURE)
    log_weights -= np.log1p(np.exp(log_weights) / _FAMOUS)
    tastes, factors = rng.standard_normal((users, rank)), rng.standard_normal((items, rank))
    factors *= _TASTE / math.sqrt(max(rank, 1))
    drawn = np.empty(interactions, dtype=np.int32)
    for user, count in enumerate(counts):
        # The largest of log weights with Gumbel noise are draws without replacement.
        keys = log_weights + factors @ tastes[user] + rng.gumbel(size=items)
        drawn[indptr[user] : indptr[user + 1]] = np.sort(np.argpartition(-keys, count - 1)[:count])
    domain = _domain(users, items, titles)
    return People(domain, _ids("u", users), indptr, drawn)


def made_up_titles(items: int) -> dict[str, list[str]]:
    """Make up a title, a year and two genres for each item; no two titles are equal.

    Returns:
        Columns ``title``, ``year`` and ``genres``; the first rows are the same for any number of items.

    Privacy: public: all of it is made up.
    """
    first, second, kinds = (group.split() for group in _WORDS.split("\n\n"))
    parts, pairs = divmod(np.arange(items), len(first) * len(second))
    word_pairs = [
        divmod(pair, len(second)) for pair in (pairs * _STRIDE % (len(first) * len(second))).tolist()
    ]
    numbers = [f" {part + 1}" if part else "" for part in parts.tolist()]
    genres = [{kinds[one % len(kinds)], kinds[other % len(kinds)]} for one, other in word_pairs]
    return {
        "title": [
            f"{first[one]} {second[other]}{n}" for (one, other), n in zip(word_pairs, numbers, strict=True)
        ],
        "year": [str(1950 + place * 37 % 70) for place in range(items)],
        "genres": ["|".join(sorted(both)) for both in genres],
    }


def _domain(users: int, items: int, titles: bool, scale: tuple[float, float, float] | None = None) -> Domain:
    columns = made_up_titles(items) if titles else {"title": _ids("i", items)}
    ids = columns.pop("title")
    return Domain(ids, scale=scale, max_users=round_up(users), features=columns or None)


def _require_possible(users: int, items: int, size: int, what: str) -> None:
    numbers = all(is_number(number) and not number % 1 for number in (users, items, size))
    if not numbers:
        raise DataError("users, items and what they give are whole numbers")
    if not users <= size <= users * items or users < 1:
        most = users * items
        raise DataError(f"{users} users and {items} items have {users} to {most} {what}, not {size}")


def round_up(users: int) -> int:
    """Return the next of 1, 2, 5, 10, …

    Privacy: public, as a number that is declared.
    """
    bound: int = next(n * 10**k for k in range(19) for n in (1, 2, 5) if n * 10**k >= users)
    return bound


def _ids(letter: str, count: int) -> list[str]:
    width = max(5, len(str(count - 1)))
    return [f"{letter}{number:0{width}}" for number in range(count)]


def _counts(normals: Floats, items: int, ratings: int) -> Ints:
    """Return ratings per user, m (1 − exp(−c exp(σ z)/m)), from 1 to m, with c such that they add up."""
    weights = np.exp(_ACTIVITY * normals)

    def smooth(log_scale: float) -> Floats:
        fractions: Floats = -np.expm1(-math.exp(log_scale) * weights / items)
        return np.clip(items * fractions, 1, items)

    low, high = -50.0, 50.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if smooth(middle).sum() < ratings else (low, middle)
    exact = smooth(low)
    counts = np.floor(exact).astype(np.int64)
    missing = ratings - int(counts.sum())
    rising = np.argsort(np.where(counts < items, counts - exact, 1), kind="stable")
    counts[rising[:missing]] += 1
    return counts


def _alias_table(weights: Floats) -> tuple[Floats, Ints32]:
    """Build Vose's alias table: slot i yields item i with probability ``stay[i]``, otherwise ``other[i]``."""
    stay = weights * (len(weights) / weights.sum())
    other = np.arange(len(weights), dtype=np.int32)
    _fill_alias(stay, other)
    return stay, other


@compiled()
def _fill_alias(stay: Floats, other: Ints32) -> None:
    small = [i for i in range(len(stay)) if stay[i] < 1.0]
    large = [i for i in range(len(stay)) if stay[i] >= 1.0]
    while len(small) > 0 and len(large) > 0:
        low, high = small.pop(), large[-1]
        other[low] = high
        stay[high] -= 1.0 - stay[low]
        if stay[high] < 1.0:
            small.append(large.pop())
    for i in small:
        stay[i] = 1.0
    for i in large:
        stay[i] = 1.0


@compiled()
def _next(state: Any) -> Any:
    """Draw 64 bits by SplitMix64, whose constants these are."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    x = state[0]
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled()
def _uniform(state: Any) -> Any:
    """Draw a number in (0, 1], by the upper 53 bits of a word."""
    return ((_next(state) >> np.uint64(11)) + np.uint64(1)) * 2.0**-53


@compiled()
def _rated(
    seed: np.uint64,
    indptr: Ints,
    weights: Floats,
    stay: Floats,
    other: Ints32,
    user_bias: Floats32,
    item_bias: Floats32,
    user_factors: Floats32,
    item_factors: Floats32,
) -> tuple[Ints32, Bytes]:
    """Draw items and steps of every user in turn; a user's depend only on the seed and the user's index."""
    n_items = len(weights)
    items = np.empty(indptr[-1], dtype=np.int32)
    steps = np.empty(indptr[-1], dtype=np.uint8)
    taken = np.zeros(n_items, dtype=np.bool_)
    keys = np.empty(n_items)
    state = np.empty(1, dtype=np.uint64)
    for user in range(len(indptr) - 1):
        state[0] = seed
        state[0] = _next(state) + np.uint64(user)
        state[0] = _next(state)
        mine = items[indptr[user] : indptr[user + 1]]
        if 8 * len(mine) > n_items:
            # Most draws would repeat an item, so use exponential races: the first arrivals win, which has
            # the same distribution as draws without replacement.
            for item in range(n_items):
                keys[item] = -math.log(_uniform(state)) / weights[item]
            last = np.partition(keys, len(mine) - 1)[len(mine) - 1]
            mine[:] = np.flatnonzero(keys <= last)[: len(mine)]
        else:
            n_drawn = 0
            while n_drawn < len(mine):
                word = _next(state)
                slot = ((word >> np.uint64(32)) * np.uint64(n_items)) >> np.uint64(32)
                here = np.float64(word & np.uint64(0xFFFFFFFF)) * 2.0**-32 < stay[slot]
                drawn = np.int32(slot) if here else other[slot]
                if not taken[drawn]:
                    taken[drawn] = True
                    mine[n_drawn] = drawn
                    n_drawn += 1
            for place in range(len(mine)):
                taken[mine[place]] = False
        mine.sort()
        for place in range(len(mine)):
            item = mine[place]
            value = item_bias[item] + user_bias[user]
            for k in range(user_factors.shape[1]):
                value += user_factors[user, k] * item_factors[item, k]
            # Box and Muller: two uniform numbers make a Gaussian one.
            noise = math.sqrt(-2.0 * math.log(_uniform(state))) * math.cos(2.0 * math.pi * _uniform(state))
            step = math.floor(value + _NOISE * noise - 0.5)  # nearest of 1, …, 5, less 1
            steps[indptr[user] + place] = min(max(step, 0), 4)
    return items, steps
