"""The linkage attack: find a person's published row from some ratings that are known of them.

Narayanan & Shmatikov 2008, "Robust De-anonymization of Large Sparse Datasets". The attacker has the published
rows without names and a few facts about the target, some of them wrong. The attacker scores every row, and
names the best one if it stands out. The auditor knows the truth, and reports how often that is right.

Two attackers have the same facts about the same people. *Scoreboard-RH* is the paper's. The *informed* one
also knows how the rows were randomized, and sums log-likelihood ratios. Both turn a known fact (an item and
its step) into a score for a row, given the row's symbol for that item. No attack proves that there is no
better one.

Privacy: private. What an attack finds is measured on private ratings; nothing is charged.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.random import default_rng
from scipy.special import expit, logit

from hushrec.arrays import Bytes, Floats, Ints, Ints32
from hushrec.curator.randomize import Reported, report_rows
from hushrec.data.people import People
from hushrec.errors import BudgetUnsupported, ConfigError, DataError
from hushrec.kernels.compiled import compiled
from hushrec.kernels.csr import frozen
from hushrec.kernels.transpose import transpose
from hushrec.models.du_leighton_patel.distance_based import DistanceBased
from hushrec.models.du_leighton_patel.method import Method
from hushrec.models.du_leighton_patel.released_data import ReleasedData
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Seeded
from lab.published import PublishedMethod, randomize

_RHO = 1.5 / 4
"""ρ0 of Narayanan & Shmatikov 2008, §5: 1.5 stars, as a share of the scale 1 to 5."""
_DOUBT = 1e-9
"""The informed attacker's doubt in their own model: one unlikely cell must not rule out a row."""
_KINDS = 64
"""Number of length groups of rows that the informed attacker distinguishes."""
_REACH = np.linspace(-30, 30, 601)
"""Row activities that the informed attacker considers."""

Tables = Callable[[Ints32, Bytes], Floats]
"""Maps known items and steps, shape (targets, known), to the tables of ``standings``."""


def scoreboard(released: People) -> tuple[Bytes, Tables]:
    """Scoreboard-RH without dates (Narayanan & Shmatikov 2008, §5): wt(i) exp(−|ρ_i − ρ′_i|/ρ0), else 0.

    Args:
        released: the published rows.

    Returns:
        Kind of each row, the same for all, shape (released.n_users,); tables of the score of each fact.
    """
    scale = released.domain.scale
    support = np.bincount(released.items, minlength=released.domain.n_items)
    weights: Floats = 1 / np.log(np.maximum(support, 2))
    grid = np.arange(scale.n_values)
    apart = scale.step * np.abs(grid[:, None] - grid) / (_RHO * max(scale.span, scale.step))
    similar = np.concatenate([np.zeros((scale.n_values, 1)), np.exp(-apart)], axis=1)

    def tables(items: Ints32, steps: Bytes) -> Floats:
        worth: Floats = weights[items][..., None] * similar[steps]
        return worth[:, :, None]

    return np.zeros(released.n_users, np.uint8), tables


def informed(released: People, channel: Floats, wrong: float) -> tuple[Bytes, Tables]:
    """Log-likelihood ratios that a row is the target's, ln(((1 − β) law[a, y] + β law[0, y])/π_ir(y)).

    Somebody else's row follows a Rasch model: π_ir(y) = σ(ℓ_i + α_r) times the share of y among the item's
    published ratings, and π_ir(0) = 1 − σ(ℓ_i + α_r). ℓ_i is the logit of the share of rows that hold the
    item. α_r makes Σ_i σ(ℓ_i + α_r) the row's length; without it, long rows would fit everybody. Rows of
    similar length are one kind and share the α of their mean length. One extra row, with half a rating of
    each item, spread evenly over the scale, keeps all shares above 0.

    Args:
        released: the published rows, which give the shares π.
        channel: P(y | a), shape (n_values + 1, n_values + 1).
        wrong: β, share of wrong facts, whose items the target has not rated.

    Returns:
        Kind of each row, shape (released.n_users,); tables of the score of each fact.
    """
    n_values, n_items, counts = len(channel) - 1, released.domain.n_items, released.counts
    codes = released.items.astype(np.int64) * n_values + _steps(released)
    cells = np.bincount(codes, minlength=n_items * n_values).reshape(n_items, n_values)
    support = cells.sum(axis=1, keepdims=True)
    stars = (cells + 1 / n_values) / (support + 1)
    edges = np.unique(np.quantile(counts, np.linspace(0, 1, _KINDS + 1)[1:-1], method="lower"))
    kinds = np.searchsorted(edges, counts).astype(np.uint8)
    sizes = np.bincount(kinds, minlength=len(edges) + 1)
    lengths = np.bincount(kinds, counts, len(sizes)) / np.maximum(sizes, 1)
    fame = logit((support[:, 0] + 0.5) / (released.n_users + 1))
    activity = np.interp(lengths, [expit(fame + reach).sum() for reach in _REACH], _REACH)

    facts = (1 - wrong) * channel[1:] + wrong * channel[0]

    def tables(items: Ints32, steps: Bytes) -> Floats:
        holds = fame[items][..., None] + activity
        background = np.empty((*holds.shape, n_values + 1))
        background[..., 0] = expit(-holds)
        background[..., 1:] = expit(holds)[..., None] * stars[items][:, :, None]
        odds: Floats = np.log((1 - _DOUBT) * facts[steps][:, :, None] / background + _DOUBT)
        return odds

    return kinds, tables


def response_channel(n_values: int, exponent: float, *, asked: float = 1.0) -> Floats:
    """What k-ary randomized response does to a cell, k = n_values + 1 including "not rated".

    Args:
        n_values: number of values on the scale.
        exponent: −ln of the probability that a cell is not answered truly; ∞ for unchanged rows.
        asked: share of a row's cells that are answered; the others come out as "not rated".

    Returns:
        P(y | a), shape (n_values + 1, n_values + 1): asked · (1 − e^−exponent) if y is a, else asked ·
        e^−exponent/n_values; plus 1 − asked for "not rated".
    """
    if not (n_values >= 1 and exponent >= 0 and 0 <= asked <= 1):
        raise ConfigError("randomized response needs n_values ≥ 1, exponent ≥ 0, and asked from 0 to 1")
    flipped = math.exp(-exponent)
    channel = np.full((n_values + 1, n_values + 1), asked * flipped / n_values)
    np.fill_diagonal(channel, asked * (1 - flipped))
    channel[:, 0] += 1 - asked
    return channel


def substitution_channel(released: People, keep_probability: float) -> Floats:
    """What item substitution does to a cell (Du, Leighton & Patel 2019, §III.C).

    A replaced rating leaves its cell empty, unless another rating of the same person lands there: with
    probability λ = (1 − p*) m̄/n, for m̄ ratings per row and n items, and with stars as in the published
    data. Where a replaced item goes is not used: an attacker who follows it to similar items may find more.

    Args:
        released: the published rows.
        keep_probability: p*, the probability that an item is kept.

    Returns:
        P(y | a), shape (n_values + 1, n_values + 1).
    """
    if not 0 <= keep_probability <= 1:
        raise ConfigError("keep_probability must be from 0 to 1")
    n_values, gone = released.domain.scale.n_values, 1 - keep_probability
    lands = gone * released.n_entries / max(released.n_users, 1) / released.domain.n_items
    stars = (np.bincount(_steps(released), minlength=n_values) + 1 / n_values) / (released.n_entries + 1)
    channel = np.tile(np.concatenate([[1 - lands], lands * stars]), (n_values + 1, 1))
    channel[1:] *= gone
    channel[np.arange(1, n_values + 1), np.arange(1, n_values + 1)] += keep_probability
    return channel


WARNING = "NOT PRIVATE, not for publication: measured on private ratings, which no guarantee covers."

ECCENTRICITY = 1.5
"""φ of Narayanan & Shmatikov 2008, §5."""
_AT_ONCE = 1 << 22
"""Size of the tables of all targets that are attacked at once."""


@dataclass(frozen=True, slots=True)
class Attack:
    """The success of one attacker.

    Attributes:
        name: name of the attacker.
        first: share of the targets whose own row scores highest; 1/t if t rows share that score.
        named: share of the targets whose own row the attacker names, because it stands out far enough.
        misnamed: share of the targets for whom the attacker names somebody else's row.
    """

    name: str
    first: float
    named: float
    misnamed: float


@dataclass(frozen=True, slots=True)
class Linkage:
    """How well people are found again in published rows.

    Attributes:
        targets: number of people attacked.
        known: number of facts known of each.
        wrong: how many of the facts are wrong.
        rows: number of published rows.
        attacks: Scoreboard-RH, and the informed attacker if there is one.
    """

    targets: int
    known: int
    wrong: int
    rows: int
    attacks: tuple[Attack, ...]

    @property
    def worst(self) -> Attack:
        """The attack that ranks the most people's own rows first."""
        return max(self.attacks, key=lambda attack: attack.first)

    @property
    def first(self) -> float:
        """``first`` of the worst attack."""
        return self.worst.first

    @property
    def named(self) -> float:
        """``named`` of the worst attack."""
        return self.worst.named

    @property
    def misnamed(self) -> float:
        """``misnamed`` of the worst attack."""
        return self.worst.misnamed

    @property
    def first_by_chance(self) -> float:
        """``first`` of an attacker who picks a row at random."""
        return 1 / self.rows

    def __str__(self) -> str:
        lines = [["attacker", "first", "named", "misnamed"]]
        for attack in self.attacks:
            shares = attack.first, attack.named, attack.misnamed
            lines.append([attack.name, *(f"{100 * share:.2f} %" for share in shares)])
        lines.append(["by chance", f"{100 * self.first_by_chance:.2g} %", "", ""])
        table = [f"{name:<13}  {a:>8}  {b:>8}  {c:>8}".rstrip() for name, a, b, c in lines]
        facts = f"{self.known} ratings known of each, {self.wrong} of them wrong"
        people = f"{self.targets:,} people among {self.rows:,} published rows; {facts}"
        return "\n".join([WARNING, "", people, "", *table])


def linkage(
    released: People,
    truth: People,
    rows: Ints,
    *,
    channel: Floats | None = None,
    targets: int = 1000,
    known: int = 8,
    wrong: int = 2,
    seed: int = 0,
) -> Linkage:
    """Attack published rows, knowing some ratings of each target but no dates.

    Narayanan & Shmatikov 2008, Scoreboard-RH, §4, with the score of §5 without dates: over the known items i
    that row r′ holds,

        Score(aux, r′) = Σ_i wt(i) exp(−|ρ_i − ρ′_i|/ρ0),    wt(i) = 1/ln |supp(i)|,

    with ρ0 = 1.5 stars (scaled to other scales), and |supp(i)| published ratings, but at least 2. The best
    row is named if (max − max₂)/σ of all scores is ``ECCENTRICITY`` or more.

    The informed attacker scores by log-likelihood ratio: for a known rating with symbol a and the symbol y of
    row r′ at that item, with the share β = wrong/known of wrong facts,

        Σ_i ln(((1 − β) law[a, y] + β law[0, y])/π_ir′(y)),

    where π_ir′(y) is how often somebody else's row would hold y, given the published popularity of the item
    and length of the row. This attacker names the best row if it is the target's with probability above one
    half, under a uniform prior over rows.

    A right fact is a rating as the person gave it. A wrong fact is an item drawn uniformly from those that
    the person has not rated, with a rating drawn uniformly from the scale. Time is proportional to targets ×
    (rows + published ratings of the known items). Memory is 9 bytes per published rating, or 17 with the
    informed attacker, about 20 per row, and 50 MB.

    Args:
        released: the published rows, under any names.
        truth: the private ratings as people gave them, before any cap.
        rows: row in ``released`` of each user of ``truth``, −1 if it came out empty and is absent; int,
            shape (truth.n_users,). Users without a row count as not found.
        channel: P(y | a), what happens to a cell with symbol a (0 for "not rated", s + 1 for step s); shape
            (n_values + 1, n_values + 1). None leaves out the informed attacker.
        targets: how many people to attack, drawn uniformly from those with ``known`` or more ratings; all of
            them if there are fewer.
        known: how many facts are known of each.
        wrong: how many of the facts are wrong.
        seed: seed of targets and facts, which depend otherwise only on ``truth``, ``known`` and ``wrong``.

    Returns:
        The success of both attackers.
    """
    if not (targets >= 1 and 0 <= wrong < known):
        raise ConfigError("set targets to at least 1, and wrong from 0 to less than known")
    k = released.domain.scale.n_values + 1
    people, items, steps = _facts(truth, targets, known, wrong, seed)
    attackers = {"Scoreboard-RH": scoreboard(released)}
    if channel is not None:
        attackers["informed"] = informed(released, channel, wrong / known)
    starts, holders, order = transpose(released.indptr, released.items, released.domain.n_items)
    published, own = _steps(released)[order], rows[people]
    attacks = []
    for name, (kinds, tables) in attackers.items():
        block = max(1, _AT_ONCE // (known * (int(kinds.max()) + 1) * k))
        parts = []
        for at in range(0, len(people), block):
            some = slice(at, at + block)
            facts = items[some], tables(items[some], steps[some]), own[some]
            parts.append(standings(starts, holders, published, kinds, *facts))
        best, ties, standing, chance, behind = (np.concatenate(part) for part in zip(*parts, strict=True))
        names = chance > 1 / 2 if name == "informed" else standing >= ECCENTRICITY
        first = np.where(behind == 0, 1 / ties, 0.0).mean()
        right, other = (names & (best == own)).mean(), (names & (best != own)).mean()
        attacks.append(Attack(name, float(first), float(right), float(other)))
    return Linkage(len(people), known, wrong, released.n_users, tuple(attacks))


def _steps(ratings: People) -> Bytes:
    """Steps of all ratings above the bottom of their scale."""
    assert ratings.values is not None
    return ratings.values


def _facts(truth: People, targets: int, known: int, wrong: int, seed: int) -> tuple[Ints, Ints32, Bytes]:
    """The targets, and the items and steps known of each, with wrong facts last."""
    rng, n_items = default_rng(seed), truth.domain.n_items
    able = np.flatnonzero((truth.counts >= known) & (n_items - truth.counts >= wrong))
    if not len(able):
        raise DataError("nobody has as many ratings as the attacker must know; lower known")
    people = rng.permutation(able)[:targets]
    items = np.empty((len(people), known), np.int32)
    steps = rng.integers(truth.domain.scale.n_values, size=items.shape, dtype=np.uint8)
    for target, person in enumerate(people):
        start, stop = truth.indptr[person], truth.indptr[person + 1]
        right = start + rng.choice(stop - start, known - wrong, replace=False)
        strange = np.delete(np.arange(n_items, dtype=np.int32), truth.items[start:stop])
        items[target, : known - wrong] = truth.items[right]
        steps[target, : known - wrong] = _steps(truth)[right]
        items[target, known - wrong :] = rng.choice(strange, wrong, replace=False)
    return people, items, steps


# -- the score of every row ----------------------------------------------------------------------------------

_TASKS = 8  # per thread: popular items make some targets slower than others


def standings(
    indptr: Ints,
    rows: Ints32,
    steps: Bytes,
    kinds: Bytes,
    items: Ints32,
    tables: Floats,
    own: Ints,
    *,
    threads: int = 2,
) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """Score every published row against each target's known items, and summarise the scores.

    Narayanan & Shmatikov 2008, §4: with the symbol y_ri of item i in row r, 0 where it holds nothing and its
    step + 1 otherwise, and the row's kind c_r,

        S_r = Σ_k table_k[c_r, y_ri(k)],    eccentricity = (max S − max₂ S)/σ(S).

    If scores are log-likelihood ratios and all rows are equally likely a priori, the best row is the target's
    with probability 1/Σ_r e^(S_r − max S). Only rows that rate a known item are visited for it. Memory in
    addition to the arguments: 8 bytes per published row and thread.

    Args:
        indptr: where each item's published ratings start, then where the last ones end, shape (n_items + 1,).
        rows: published row of each rating, shape (n_ratings,).
        steps: steps of each rating, shape of ``rows``.
        kinds: kind of each published row, shape (n_rows,), n_rows ≥ 2.
        items: known items of each target, shape (targets, known).
        tables: what each known item adds to the score of a row, by kind and symbol, finite, shape
            (targets, known, kinds, symbols).
        own: row of each target, −1 if there is none, shape (targets,).
        threads: number of threads; the result does not depend on it.

    Returns:
        for each target: a row of the highest score; the number of rows with that score; the eccentricity, 0
        if there are several; the probability that the row is the target's; the score of the target's own row,
        −∞ if there is none, minus the highest score.
    """
    n_targets = len(items)
    best, ties = np.empty(n_targets, np.int64), np.empty(n_targets, np.int64)
    eccentricity, chance, behind = np.empty((3, n_targets))
    published = frozen(indptr, np.int64), frozen(rows, np.int32), frozen(steps, np.uint8)
    known = frozen(items, np.int32), frozen(tables, np.float64), frozen(own, np.int64)
    common = *published, frozen(kinds, np.uint8), *known, best, ties, eccentricity, chance, behind
    cuts = np.unique(np.linspace(0, n_targets, _TASKS * threads + 1).astype(np.int64)).tolist()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda task: _standings(*task, *common), pairwise(cuts)))
    return best, ties, eccentricity, chance, behind


@compiled(nogil=True)
def _standings(
    begin: int,
    end: int,
    indptr: Ints,
    rows: Ints32,
    steps: Bytes,
    kinds: Bytes,
    items: Ints32,
    tables: Floats,
    own: Ints,
    best: Ints,
    ties: Ints,
    eccentricity: Floats,
    chance: Floats,
    behind: Floats,
) -> None:
    """What ``standings`` returns, for the targets ``begin`` to ``end``."""
    n_rows = len(kinds)
    scores, nothing = np.empty(n_rows), np.empty(tables.shape[2])
    for t in range(begin, end):
        for kind in range(len(nothing)):
            nothing[kind] = 0.0
            for k in range(items.shape[1]):
                nothing[kind] += tables[t, k, kind, 0]
        for r in range(n_rows):
            scores[r] = nothing[kinds[r]]
        for k in range(items.shape[1]):
            for p in range(indptr[items[t, k]], indptr[items[t, k] + 1]):
                table = tables[t, k, kinds[rows[p]]]
                scores[rows[p]] += table[np.int64(steps[p]) + 1] - table[0]
        top, second, where, shared, total = -np.inf, -np.inf, 0, 0, 0.0
        for r in range(n_rows):
            score = scores[r]
            total += score
            if score > top:
                top, second, where, shared = score, top, r, 1
            else:
                second = max(second, score)
                shared += score == top
        squares, likely = 0.0, 0.0
        for r in range(n_rows):
            likely += np.exp(scores[r] - top)
            squares += (scores[r] - total / n_rows) ** 2
        spread = np.sqrt(squares / n_rows)
        best[t], ties[t] = where, shared
        eccentricity[t] = (top - second) / spread if shared == 1 and spread > 0 else 0.0
        chance[t] = 1 / likely
        behind[t] = scores[own[t]] - top if own[t] >= 0 else -np.inf


# -- before a release ----------------------------------------------------------------------------------------


def simulate_attack(
    ratings: People,
    method: Method | None,
    budget: Budget | None = None,
    *,
    targets: int = 1000,
    known: int = 8,
    wrong: int = 2,
    seed: int = 0,
) -> Linkage:
    """How many people would be found in a data set released by this method.

    Nobody, not even the curator, can match the rows of a published data set to people. So this simulates the
    attack: it makes a seeded data set by the same law, attacks it with both attackers of ``linkage``, and
    discards it.

    Args:
        ratings: the private ratings.
        method: how they would be released; None for unchanged ratings.
        budget: as for ``hushrec.randomize``.
        targets, known, wrong: as for ``linkage``.
        seed: seed of the release, and of targets and facts.

    Returns:
        The shares of people who were found.
    """
    attack = {"targets": targets, "known": known, "wrong": wrong, "seed": seed}
    if method is None:
        everybody = np.arange(ratings.n_users)
        return linkage(ratings, ratings, everybody, channel=substitution_channel(ratings, _NEARLY), **attack)
    made = seeded(ratings, method, budget, Seeded(seed))
    rows, whose = made.data.ratings, made.rows
    if ratings.domain.users:  # the truth holds only users who rated
        listed = ratings.domain.user_positions
        whose = whose[[listed[user] for user in ratings.users.to_pylist()]]
    return linkage(rows, ratings, whose, channel=_channel(method, made.data), **attack)


_NEARLY = 0.999
"""Assumed probability that a known fact is in a raw row; at 1, one wrong fact would rule out the row."""


def seeded(ratings: People, method: Method, budget: Budget | None, keys: Seeded) -> Reported:
    """A data set by a method of hushrec or of a paper, with seeded randomness, and whose its rows are."""
    if isinstance(method, PublishedMethod):
        if budget is None:
            raise BudgetUnsupported(f"{type(method).__name__} needs a budget: give the ε that is claimed")
        return randomize(ratings, method, budget, keys)
    planned = method.plan(ratings.domain, budget)
    grant = Ledger.ephemeral(planned.budget).charge(planned, entropy=keys)
    return report_rows(ratings, method, planned, grant)


def _channel(method: Method, data: ReleasedData) -> Floats:
    rows, law = data.ratings, data.settings
    if isinstance(method, DistanceBased):
        return substitution_channel(rows, method.keep_probability)
    asked = (law["answered"] or rows.domain.n_items) / rows.domain.n_items
    return response_channel(rows.domain.scale.n_values, law["exponent"], asked=asked)
