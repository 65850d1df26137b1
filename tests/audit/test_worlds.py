"""Made-up worlds: neighbours differ in one unit, whatever the domain, and some of them are extreme."""

import pytest

import hushrec as hr
from hushrec.audit.worlds import CAP, ITEMS, World, choices
from hushrec.errors import ConfigError

KINDS = [("record", "add-remove"), ("record", "replace"), ("user", "add-remove"), ("user", "replace")]
DOMAINS = {
    "made up": None,
    "two items": hr.Domain(["a", "b"], scale=(0, 1, 1), max_users=50, max_per_user=1),
    "many items": hr.Domain(range(1000), scale=(0.5, 5, 0.5), max_users=10**6, max_per_user=500),
}
GIVEN = {
    "items": hr.Domain(range(1000), max_users=10**6, max_per_user=3),
    "counts": hr.Domain(range(10), counts=9, max_users=50),
    "likes": hr.Domain(range(10), scale=(1, 5, 1), likes=4, max_users=50),
}


def units(unit, pair):
    """What differs between two neighbours: users, or single ratings."""
    one, other = pair
    users = [user for user in {**one, **other} if one.get(user) != other.get(user)]
    if unit == "user":
        return users
    return [
        (user, item)
        for user in users
        for item in {**one.get(user, {}), **other.get(user, {})}
        if one.get(user, {}).get(item) != other.get(user, {}).get(item)
    ]


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=list(DOMAINS))
@pytest.mark.parametrize(("unit", "adjacency"), KINDS)
@pytest.mark.full
def test_neighbours_differ_in_one_unit(unit, adjacency, domain):
    world, rng = World.of(domain), choices(1)
    at_random = [world.at_random(unit, adjacency, rng) for _ in range(50)]
    for pair in [*world.pairs(unit, adjacency).values(), *at_random]:
        assert len(units(unit, pair)) <= 1
        one, other = map(world.ratings, pair)
        assert one.domain == other.domain == world.domain
        sizes = [sum(map(len, people.values())) for people in pair]
        assert [one.n_entries, other.n_entries] == sizes, "every rating is on the roster and in the domain"
        if adjacency == "replace" and unit == "record":
            assert sizes[0] == sizes[1]
    assert sum(len(units(unit, pair)) for pair in at_random) > 25


@pytest.mark.parametrize(("unit", "adjacency"), KINDS)
def test_steps_of_a_climb_stay_neighbours(unit, adjacency):
    world, rng = World.of(), choices(2)
    people = world.everybody
    for _ in range(100):
        people = world.change(people, "heavy", rng)
        assert people["heavy"]
        assert len(units(unit, (people, world.neighbour(people, "heavy", unit, adjacency, rng)))) <= 1


def test_there_are_users_above_the_cap_of_the_ends_of_the_scale_and_none():
    world = World.of()
    assert world.domain.n_items == ITEMS
    assert len(world.everybody["heavy"]) == 2 * CAP
    assert set(world.everybody["heavy"].values()) == {0, world.top}
    pairs = world.pairs("user", "add-remove")
    assert pairs["the only user"][1] == {}
    assert world.ratings({}).n_entries == 0


def test_a_domain_gives_its_scale_cap_and_first_items_with_their_features():
    genres = [f"genre {n % 7}" for n in range(1000)]
    world = World.of(DOMAINS["many items"].model_copy(update={"features": {"genres": tuple(genres)}}))
    assert world.domain.features == {"genres": tuple(genres[:ITEMS])}
    assert world.domain.items == DOMAINS["many items"].items[:ITEMS]
    assert world.domain.scale == DOMAINS["many items"].scale
    assert world.domain.max_per_user == 500
    assert world.ratings({"light": {0: world.top}}).numbers().tolist() == [5.0]


@pytest.mark.parametrize("domain", GIVEN.values(), ids=list(GIVEN))
@pytest.mark.parametrize(("unit", "adjacency"), [KINDS[0], KINDS[2]])
@pytest.mark.full
def test_neighbours_give_interactions_where_the_domain_says_so(unit, adjacency, domain):
    world, rng = World.of(domain, "ratings"), choices(1)
    assert world.domain.feedback == "interactions"
    assert world.top == (domain.counts or 1) - 1
    at_random = [world.at_random(unit, adjacency, rng) for _ in range(20)]
    for pair in [*world.pairs(unit, adjacency).values(), *at_random]:
        assert len(units(unit, pair)) <= 1
        for people, made in zip(pair, map(world.ratings, pair), strict=True):
            assert made.n_entries == sum(map(len, people.values()))
            counts = [steps + 1 for user in sorted(people) for _, steps in sorted(people[user].items())]
            assert made.numbers().tolist() == counts


def test_an_adjacency_of_released_data_is_refused():
    with pytest.raises(ConfigError, match="no model protects a user under replace-items"):
        World.of().pairs("user", "replace-items")
