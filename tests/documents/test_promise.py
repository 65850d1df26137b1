"""The promise and Alice's story: no word is better than its figure, and none is too low."""

import itertools
import re
from decimal import Decimal, localcontext
from statistics import NormalDist

import pytest

from hushrec.documents.measured import Measured
from hushrec.documents.odds import Odds
from hushrec.documents.sentences import ADJACENCIES, Guarantee

EDGES = (0.5, 1.1, 3.0, 8.0)
"""The largest ε of each grade but the last; the documentation lists the same."""
EPSILONS = (
    *(0.05, 0.1, 0.25, 0.5, 0.500001, 0.75, 1.0, 1.1, 1.100001, 1.5, 2.0, 2.5, 3.0, 3.000001, 4.0, 5.0, 6.5),
    *(8.0, 8.000001, 8.3, 10.0, 13.5, 13.8, 13.82, 15.0, 20.7, 20.73, 30.0, 40.0),
)
DELTAS = (0.0, 1e-12, 1e-6, 0.02)
MUS = (None, 0.1, 0.7, 3.0)
KINDS = tuple((*pair, interactions) for pair in ADJACENCIES for interactions in (False, True))
GRADES = (
    "learns almost the same about",
    "learns similar things about",
    "may learn something about",
    "may learn a lot about",
    "may learn almost everything about",
)
SAYS = {
    "weak": "too weak to promise much",
    "bound": r"The bound (?:ε = (?P<epsilon>[\d,.]+)|δ = 1 in (?P<chance>[\d,]+)) is too weak",
    "known": "If readers know that you ",
    "steps": r"weaker: 2ε = (?P<epsilon>[\d.]+), a factor of (?P<factor>[\d.,]+)"
    r"(?:, at δ = 1 in (?P<chance>[\d,]+))?\.",
    "void": "says practically nothing",
    "sure": "may be right in practically all cases",
    "right": r"right in at most ([\d.,]+) % of cases; without reading, in 50 %\.$",
    "attack": r"only (?P<wrong>[\d.]+) % .* at most (?P<found>[\d.]+) % .* (?P<blind>[\d.]+) %\.$",
    "factor": r"at most ([\d.,]+) times as probable",
    "billion": "at most a billion times as probable",
    "nothing": "this ε says nothing: it may be billions of times as probable",
    "chance": r", plus 1 in ([\d,]+)\.$",
}
PI = Decimal("3.1415926535897932384626433832795028841971693993751058209749445923078164")
of_every_kind = pytest.mark.parametrize(("unit", "adjacency", "interactions"), KINDS)


def guarantee(unit, adjacency, interactions, epsilon, delta, mu=None):
    noise = [] if mu is None else [Measured("sums", "gaussian", 1.0, 1 / mu, 4, 1.0, mu)]
    return Guarantee(unit, adjacency, Odds.of(epsilon, delta, noise), interactions)


def read(figure):
    """A printed figure."""
    return Decimal(figure.replace(",", ""))


def truth(epsilon, delta, mu):
    """Right guess, best attack at 1 % and e^ε, from their definitions and with forty digits."""
    with localcontext(prec=40):
        factor, at, wrong = Decimal(repr(epsilon)).exp(), Decimal(repr(delta)), Decimal("0.01")
        right = (factor + at) / (factor + 1)
        found = min(Decimal(1), factor * wrong + at, 1 - (1 - at - wrong) / factor)
        if mu is not None:
            normal = NormalDist()
            right = min(right, Decimal(normal.cdf(mu / 2)))
            found = min(found, Decimal(normal.cdf(mu + normal.inv_cdf(0.01))))
        return right, max(found, wrong), factor


def assert_just_above(shown, true, *, digits=3):
    """A printed figure is never below the true one, and above it by less than its last digit."""
    last = Decimal(1).scaleb(true.adjusted() - digits + 1)
    assert true * (1 - Decimal("1e-11")) <= shown < true * (1 + Decimal("1e-11")) + last


# -- figures -----------------------------------------------------------------------------------------------


@of_every_kind
def test_the_figures_of_the_story_are_the_true_ones_rounded_up(unit, adjacency, interactions):
    for epsilon, delta, mu in itertools.product(EPSILONS, DELTAS, MUS):
        guess, attack, odds = guarantee(unit, adjacency, interactions, epsilon, delta, mu).story()
        right, found, factor = truth(epsilon, delta, mu)
        assert (SAYS["sure"] in guess) == (right >= Decimal("0.999"))
        if SAYS["sure"] not in guess:
            shown = read(re.search(SAYS["right"], guess)[1])
            assert_just_above(shown, 100 * right)
            assert 50 <= shown <= 100
        figures = re.search(SAYS["attack"], attack)
        assert read(figures["wrong"]) == read(figures["blind"]) == 1
        assert_just_above(read(figures["found"]), 100 * found)
        assert 1 <= read(figures["found"]) <= 100
        if shown := re.search(SAYS["factor"], odds):
            assert_just_above(read(shown[1]), factor)
        assert (shown is None) == (factor > 1_000_000)
        assert (SAYS["billion"] in odds) == (1_000_000 < factor <= 1_000_000_000)
        assert (SAYS["nothing"] in odds) == (factor > 1_000_000_000)
        chance = re.search(SAYS["chance"], odds)
        assert (chance is not None) == (delta > 0 and factor <= 1_000_000_000)
        if chance:
            assert Decimal(repr(delta)) <= 1 / read(chance[1]) <= Decimal(repr(delta)) * Decimal("1.01")


@pytest.mark.parametrize("unit", ["user", "record"])
def test_two_steps_are_told_with_their_true_figures_rounded_up(unit):
    """Two data sets with a common neighbour: 2ε at (1 + e^ε) δ (group privacy)."""
    for epsilon, delta in itertools.product(EPSILONS, DELTAS):
        said = guarantee(unit, "add-remove", False, epsilon, delta).promise()
        assert SAYS["known"] in said
        with localcontext(prec=40):
            twice, at = 2 * Decimal(repr(epsilon)), Decimal(repr(delta))
            factor, together = twice.exp(), (1 + Decimal(repr(epsilon)).exp()) * at
        told = re.search(SAYS["steps"], said)
        assert (told is None) == (SAYS["void"] in said) == (factor > 1_000_000 or together >= Decimal("0.01"))
        if told is None:
            continue
        assert_just_above(read(told["epsilon"]), twice)
        assert_just_above(read(told["factor"]), factor)
        assert (told["chance"] is None) == (delta == 0)
        if delta:
            assert together <= 1 / read(told["chance"]) <= together * Decimal("1.011")


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 4.0, 8.0, 13.5, 30.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-3])
def test_figures_of_a_total_are_put_next_to_those_of_gaussian_noise(epsilon, delta):
    """At the μ whose δ(ε) is δ, from its definition and with forty digits."""
    made = guarantee("user", "add-remove", False, epsilon, delta)
    whole = made.any_noise(gaussian=True)
    assert whole.startswith(made.any_noise(gaussian=False))
    figures = re.search(r" ([\d.,]+) % .* ([\d.,]+) %\.$", whole)
    with localcontext(prec=80):
        low, high = Decimal(0), Decimal(60)
        for _ in range(100):
            mu = (low + high) / 2
            low, high = (low, mu) if lost(mu, epsilon) > Decimal(repr(delta)) else (mu, high)
        true = normal(high / 2), normal(high + Decimal(NormalDist().inv_cdf(0.01)))
    for shown, figure in zip(figures.groups(), true, strict=True):
        assert_just_above(read(shown), 100 * figure)


def lost(mu, epsilon):
    """The δ at ε of Gaussian noise (Dong, Roth & Su 2022, Corollary 2.13)."""
    ratio = Decimal(repr(epsilon)) / mu
    return normal(mu / 2 - ratio) - Decimal(repr(epsilon)).exp() * normal(-mu / 2 - ratio)


def normal(x):
    """Φ(x) by its power series, in the digits of the context."""
    if abs(x) > 15:
        return Decimal(int(x > 0))
    term = total = x
    for odd in itertools.count(3, 2):
        term *= x * x / odd
        total += term
        if abs(term) < Decimal("1e-70"):
            return Decimal("0.5") + total * (-x * x / 2).exp() / (2 * PI).sqrt()


@of_every_kind
def test_a_weak_bound_is_named_and_never_below_the_true_one(unit, adjacency, interactions):
    for epsilon, delta in itertools.product(EPSILONS, (*DELTAS, 0.01, 0.00999)):
        made = guarantee(unit, adjacency, interactions, epsilon, delta)
        said, weak = made.promise(), epsilon > 8 or delta >= 0.01
        assert (SAYS["weak"] in said) == weak == made.weak
        if weak:
            bound = re.search(SAYS["bound"], said)
            assert (bound["chance"] is None) == (delta < 0.01)
            if bound["chance"]:
                assert 1 / read(bound["chance"]) >= Decimal(repr(delta))
            else:
                assert Decimal(repr(epsilon)) <= read(bound["epsilon"]) <= Decimal(repr(epsilon + 0.11))
    far = guarantee(unit, adjacency, interactions, 1e300, 0.0).promise()
    assert "ε = more than 1,000,000" in far
    assert not re.search(r"\de[+-]?\d|\^|∞|inf|nan", far)


def test_the_loss_is_rounded_up_and_names_unit_and_adjacency():
    for unit, adjacency in ADJACENCIES:
        said = Guarantee(unit, adjacency, Odds.of(1.2345678, 1.23456789e-6)).loss()
        figures = ("1.23457", "1.23457e-06")
        assert [*re.findall(r"= ([\d.,e-]+\d)", said)] == [*figures]
        assert unit in said
        assert said.endswith(adjacency)


# -- words -------------------------------------------------------------------------------------------------


@of_every_kind
def test_no_word_sounds_better_than_its_figure(unit, adjacency, interactions):
    """The grade is that of ε, or the last for a large δ; it never falls while ε rises. Nobody is told that
    all about them is protected where less is."""
    whole = (unit, adjacency) == ("user", "add-remove")
    for delta in DELTAS:
        before = 0
        for epsilon in EPSILONS:
            made = guarantee(unit, adjacency, interactions, epsilon, delta)
            (place,) = [i for i, part in enumerate(GRADES) if part in made.promise()]
            honest = sum(epsilon > most for most in EDGES) if delta < 0.01 else len(EDGES)
            assert place == honest >= before
            assert GRADES[place] in made.grade()
            assert made.grade() in made.promise()
            assert (f"{GRADES[place]} you " in made.grade()) is whole
            before = place


@of_every_kind
def test_a_deletion_is_bounded_by_figures_that_are_not_too_low(unit, adjacency, interactions):
    """Only a unit that can be absent is compared with its absence; of one record, nothing is said of all."""
    for epsilon, delta in itertools.product(EPSILONS, DELTAS):
        said = Guarantee(unit, adjacency, Odds.of(epsilon, delta), interactions).deletion()
        found = re.search(r"\(([\d.,e-]+), ([\d.,e-]+)\)-", said)
        assert bool(found) is (adjacency == "add-remove")
        assert ("k" in re.findall(r"\w+", said)) is (unit == "record" and adjacency == "add-remove")
        if found:
            assert float(found[1]) >= epsilon
            assert float(found[2]) >= delta
