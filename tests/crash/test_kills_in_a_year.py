"""kill -9 in the second release of a year: the same call goes on, and the third takes over the right sums.

Nothing that was handed over by a release that was never made is ever taken over, and no measurement of any
release has a second value.
"""

import random

import pytest

from support.played import played

POINTS = (
    "before-charge",
    "inside-charge",
    "after-charge",
    "after-mark",
    "after-draw",
    "after-draft",
    "inside-record",
    "after-record",
    "after-keep",
    "inside-finish",
    "after-finish",
)
"""The failpoints of a release whose ledger is there; test_kills.py compares all with the source."""
HANDED = (
    "before-hand-over",
    "inside-hand-over",
    "after-hand-over",
    "before-finish",
    "before-remove",
    "inside-remove",
)
FIXED = "before-fixed", "after-fixed"
MEASURED = {"effects": 5, "covariance": 7}
"""How many measurements each verb makes."""


def at(verb, point, passes=1, **more):
    return {"play": "continued", "verb": verb, "point": point, "passes": passes, **more}


SOON = {
    point: at("effects", point)
    for point in ("after-charge", "after-mark", "inside-record", "after-record", *POINTS[-2:], *HANDED)
} | {point: at("covariance", point) for point in FIXED}
DEEP = {
    f"{verb}, {point} {passes}": at(verb, point, passes)
    for verb, count in MEASURED.items()
    for point in POINTS
    for passes in (range(1, count + 1) if point in ("after-draw", "after-draft", "after-record") else (1,))
} | {f"{verb}, {point}": at(verb, point) for verb in MEASURED for point in HANDED}
FAULTS = {
    fault: at("effects", "after-record", 3, fault=fault)
    for fault in ("nothing comes back", "nothing is recorded", "nothing is settled")
}
ANEW = {
    f"{point}, given up": {"play": "continued_anew", "verb": "effects", "point": point}
    for point in ("inside-hand-over", "after-hand-over", "before-finish")
}


def whole(charge, inside):
    """A release is made under its charge, each value once, of its own sums and those of the ones inside."""
    return (
        charge["state"] == "made"
        and charge["measured"] > 0
        and charge["second values"] == []
        and charge["inside"] == inside
        and charge["spent"] == 0
        and charge["written"]
        and len(charge["crowds"]) == len(inside) + 1
        and charge["crowds"][:-1] == charge["crowds before"]
    )


def whole_year(found):
    """Three releases under three charges, each of which takes over the one before."""
    charges = found["charges"]
    return (
        len(charges) == 3
        and all(whole(charge, [*range(turn)]) for turn, charge in enumerate(charges))
        and found["handed"]
        and found["left"] == []
    )


def whole_years(found):
    for name, one in found.items():
        assert one["statuses"] == [0, -9, 0, 0], (name, one["said"])
        assert whole_year(one), (name, one)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    return played(tmp_path_factory.mktemp("year"), SOON | FAULTS | ANEW)


@pytest.mark.parametrize("name", SOON)
def test_a_kill_in_the_second_release_costs_nothing_and_the_third_takes_it_over(outcomes, name):
    found = outcomes[name]
    assert found["statuses"] == [0, -9, 0, 0], found["said"]
    assert whole_year(found), found


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(outcomes, fault):
    assert outcomes[fault]["statuses"][:2] == [0, -9]
    assert not whole_year(outcomes[fault])


@pytest.mark.parametrize("name", ANEW)
def test_what_was_handed_over_by_a_release_that_was_given_up_is_taken_over_by_none(outcomes, name):
    found = outcomes[name]
    assert found["statuses"] == [0, -9, 0, 0, 0], found["said"]
    first, given_up, second, third = found["charges"]
    assert (given_up["state"], given_up["second values"]) == ("forfeited", [])
    assert whole(first, [])
    assert whole(second, [0])
    assert whole(third, [0, 1])
    assert found["handed"], "what it would have handed over is gone"
    assert found["left"] == []


def hounded(rounds, verb):
    moments = random.Random(11)
    return {
        f"{verb}, round {number}": {
            "play": "continued_while_hounded",
            "verb": verb,
            "delays": [moments.uniform(0.0, 0.5) for _ in range(6)],
        }
        for number in range(rounds)
    }


def sound(found):
    """However many releases were made in the end."""
    return (
        found["left"] == []
        and found["handed"]
        and all(whole(charge, [*range(turn)]) for turn, charge in enumerate(found["charges"]))
    )


@pytest.mark.full
def test_kills_at_any_moment_of_a_year(tmp_path):
    found = played(tmp_path, hounded(3, "effects"))
    assert all(map(sound, found.values())), found


@pytest.mark.full
@pytest.mark.parametrize("verb", MEASURED)
def test_thirty_years_of_kills_at_any_moment(tmp_path, verb):
    found = played(tmp_path, hounded(30, verb))
    assert all(map(sound, found.values())), found
    killed = sum(one["statuses"].count(-9) for one in found.values())
    made = sum(len(one["charges"]) for one in found.values())
    print(f"{verb}: {killed} kills in {len(found)} years of {made} releases")
    assert killed >= 20


@pytest.mark.full
def test_kills_at_every_point_of_the_second_release(tmp_path):
    found = played(tmp_path, DEEP)
    whole_years(found)
    print(len(found), "points")
    assert len(found) > 40


def placed(postgres, plays):
    return {name: {**play, "place": postgres.url(postgres.database())} for name, play in plays.items()}


@pytest.mark.postgres
def test_a_kill_costs_nothing_where_the_ledger_is_in_a_database(postgres, tmp_path):
    points = (
        "after-record",
        "inside-finish",
        "after-finish",
        "inside-hand-over",
        "before-finish",
        "after-fixed",
    )
    whole_years(played(tmp_path, placed(postgres, {point: SOON[point] for point in points})))


@pytest.mark.full
@pytest.mark.postgres
def test_kills_at_every_point_where_the_ledger_is_in_a_database(postgres, tmp_path):
    every = {f"effects, {point}": at("effects", point) for point in POINTS} | SOON
    whole_years(played(tmp_path, placed(postgres, every)))


@pytest.mark.full
@pytest.mark.postgres
def test_ten_years_of_kills_where_the_ledger_is_in_a_database(postgres, tmp_path):
    found = played(tmp_path, placed(postgres, hounded(10, "covariance")))
    assert all(map(sound, found.values())), found
