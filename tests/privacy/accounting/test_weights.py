"""Personal ε: never more than a user asks for, and hardly less."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from hushrec.errors import BudgetError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting import weights as weights_module
from hushrec.privacy.accounting.accountant import gaussian_epsilon, spent_of
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import Part, gaussians
from hushrec.privacy.accounting.events import Event, Gaussian, Laplace, PosteriorSample
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.accounting.weights import GRID, Promise, classes, promised, weight, weights

DELTA = 1e-6
BUDGET = Budget(epsilon=4.0, delta=DELTA, unit="user", adjacency="add-remove")


def sampled(rounds: int = 10) -> tuple[Event, ...]:
    wanted = [Part(f"round {i}", 1.5, 2**-10, 4, 0.9 / rounds, 0.1) for i in range(rounds)]
    return tuple(gaussians(BUDGET, [Part("items", 2.0, 2**-10, 4, 0.1), *wanted]))


PLANS: dict[str, tuple[Event, ...]] = {
    "gaussian": (Gaussian("a", 2.0, 3.0, 2**-8, 4), Gaussian("b", 0.1, 0.3, 2**-8, 4)),
    "laplace": tuple(Laplace(f"{i}", 1.0, 10.0, 2**-8, 4) for i in range(30)),
    "mixed": (Gaussian("a", 2.0, 3.0, 2**-8, 4), Laplace("b", 1.0, 2.0, 2**-8, 4)),
    "posterior": (PosteriorSample("v", 3.0, 1.0, 2**-8, 4),),
    "sampled": sampled(),
}
EACH = pytest.mark.parametrize("events", PLANS.values(), ids=PLANS)
ASKED = (0.01, 0.1, 0.3, 0.5, 1.0, 1.7, 2.0, 2.9)


def brute(events: tuple[Event, ...], part: int) -> int:
    """ε in units where the noise is scaled by GRID/part, and not what a person adds by part/GRID."""

    def noisier(event: Event) -> Event:
        facts = event.name, event.sensitivity, event.noise * GRID / part, event.step * GRID / part, event.size
        return type(event)(*facts, *([event.rate] if event.rate < 1 else []))

    return spent_of(map(noisier, events)).epsilon_units(DELTA) if part else 0


@EACH
def test_it_is_the_largest_weight_that_keeps_what_is_asked(events: tuple[Event, ...]) -> None:
    for asked in ASKED:
        part = round(weight(events, DELTA, asked) * GRID)
        slack = 2 * len(events) * 100  # units: the two sides round differently
        assert brute(events, part) <= fixed_point.allowance(asked) + slack
        if part < GRID:
            assert brute(events, part + 1) >= fixed_point.allowance(asked) - slack


@EACH
def test_more_is_promised_to_nobody_and_weights_rise_with_what_is_asked(events: tuple[Event, ...]) -> None:
    found = [weight(events, DELTA, asked) for asked in ASKED]
    assert found == sorted(found)
    for asked, part in zip(ASKED, found, strict=True):
        assert promised(events, DELTA, part) <= asked
        assert (part * GRID).is_integer()
    grown = [promised(events, DELTA, part) for part in np.linspace(0, 1, 33)]
    assert all(less <= more for less, more in itertools.pairwise(grown))


@EACH
def test_the_ends(events: tuple[Event, ...]) -> None:
    whole = spent_of(events).epsilon(DELTA)
    assert weight(events, DELTA, 0.0) == weight(events, DELTA, 1e-13) == 0.0
    assert promised(events, DELTA, 0.0) == 0.0
    for enough in (whole, 2 * whole, 1e5):
        assert weight(events, DELTA, enough) == 1.0
    assert promised(events, DELTA, 1.0) == whole


def test_who_asks_for_nothing_has_no_weight_even_where_a_little_would_be_free() -> None:
    events = (Gaussian("a", 1.0, 1000.0, 2**-8, 1),)
    assert gaussian_epsilon(1e-3 / GRID, 1e-6) == 0.0  # the smallest weight costs no ε at this δ
    assert weight(events, DELTA, 0.0) == 0.0


def test_half_a_weight_halves_mu_and_epsilon() -> None:
    gaussian, laplace = Gaussian("a", 1.0, 2.0, 2**-8, 1), Laplace("b", 1.0, 2.0, 2**-8, 1)
    assert promised((gaussian,), DELTA, 0.5) == pytest.approx(gaussian_epsilon(0.25, DELTA), rel=1e-9)
    assert promised((laplace,), 0.0, 0.5) == 0.25
    assert weight((laplace,), 0.0, 0.25) == 0.5


def test_an_asked_epsilon_is_the_decimal_that_was_written() -> None:
    event = (Laplace("b", 0.3, 1.0, 2**-8, 1),)  # 0.3 is a little less in binary
    assert weight(event, 0.0, 0.3) == 1.0
    assert weight((Laplace("b", 3.0, 10.0, 2**-8, 1),), 0.0, 0.3) == 1.0
    (level,) = classes((Laplace("b", 3.0, 10.0, 2**-8, 1),), 0.0, {"all": 0.3})
    assert level == Promise("all", 0.3, 1.0, 0.3)


def test_what_a_person_adds_is_never_priced_below_their_part_of_it() -> None:
    event = Gaussian("a", 0.1, 3.0, 2**-8, 4)
    for part in range(1, GRID, 97):
        assert (
            Fraction(event.scaled(Fraction(part, GRID)).sensitivity)
            >= Fraction(event.sensitivity) * part / GRID
        )


@pytest.mark.parametrize("factor", [0.5, 0.99, 1.01, 2.0])
def test_the_comparison_finds_a_wrong_weight(factor: float) -> None:
    events = PLANS["gaussian"]
    part = round(weight(events, DELTA, 1.0) * GRID * factor)
    over = brute(events, part) > fixed_point.allowance(1.0) + 1000
    under = brute(events, part + 1) < fixed_point.allowance(1.0) - 1000
    assert over or under


def test_everybodys_weight_is_found_once_for_all_who_ask_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    events, asked = PLANS["sampled"], np.array([[0.5, 2.0, 0.0], [9.0, 0.5, 2.0]])
    calls: list[float] = []
    original = weights_module.weight

    def counted(events: tuple[Event, ...], delta: float, asked: float) -> float:
        calls.append(asked)
        return original(events, delta, asked)

    monkeypatch.setattr(weights_module, "weight", counted)
    found = weights(events, DELTA, asked)
    assert calls == [0.0, 0.5, 2.0, 9.0]
    assert found.shape == asked.shape
    assert found.tolist() == [[original(events, DELTA, e) for e in row] for row in asked.tolist()]


def test_a_weight_is_searched_for_once_for_all_blocks_and_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    events, asked = PLANS["gaussian"], np.array([0.123, 0.987])
    searches: list[int] = []
    original = weights_module._fits

    def counted(events: tuple[Event, ...], delta: float, part: int, allowed: int) -> bool:
        searches.append(part)
        return original(events, delta, part, allowed)

    monkeypatch.setattr(weights_module, "_fits", counted)
    first = weights(events, DELTA, asked)
    made = len(searches)
    assert made > 10
    for block in (asked, asked[:1], asked[::-1]):
        weights(events, DELTA, block)
    assert len(searches) == made
    assert weight(events, 1e-7, 0.123) < first[0]  # another δ, another plan: another search
    assert weight(events[:1], DELTA, 0.123) > first[0]


def plan(asked: dict[str, float], **changes: str) -> Plan:
    split = [0.1] + [0.09] * 10
    budget = BUDGET.model_copy(update=changes)
    measurements = tuple(map(Measurement, PLANS["sampled"][: 1 if changes else 11], split))
    return Plan("toy", {}, "d" * 64, 1000, budget, measurements, personal_epsilon=asked)


def test_a_plan_says_what_each_class_is_promised() -> None:
    text = str(plan({"strict": 0.5, "default": 2, "generous": 8, "absent": 0})).splitlines()
    assert text[-9:] == [
        "What each class asks for:",
        "class     asks for   is promised  weight",
        "────────────────────────────────────────",
        "strict     ε = 0.5  ε = 0.499999  0.2908",
        "default      ε = 2   ε = 1.99994  0.6986",
        "generous     ε = 8         ε = 4  1.0000",
        "absent       ε = 0         ε = 0  0.0000",
        "",
        "This is promised if the ratings have a column personal_epsilon with each user's ε.",
    ]
    assert "class" not in str(plan({}))


def test_people_choose_only_where_whole_people_come_and_go() -> None:
    for changes in ({"unit": "record"}, {"adjacency": "replace"}):
        with pytest.raises(BudgetError, match="personal ε needs unit"):
            plan({"strict": 0.5}, **changes)
        plan({}, **changes)
