"""What a person gets on his own device, whatever he puts in."""

import math
import unicodedata

import numpy as np
import pytest

from hushrec.errors import ReleaseError
from hushrec.release.client import Client, Recommendation
from hushrec.release.fold_in import predictor

A, B, C, D = (f"item {i} é" for i in range(4))


@pytest.fixture
def client(release, kind):
    return Client(release(kind))


@pytest.fixture
def planted(release):
    """Item effects as given; nobody has tastes, a person's level hardly moves, and better items are chosen
    more often, but for what is named."""

    def make(effects, popularity=None, **changes):
        n = len(effects)
        tensors = {
            "item_effects": np.array(effects, np.float32),
            "item_noise": np.ones(n, np.float32),
            "item_popularity": np.array(np.exp(effects) if popularity is None else popularity, np.float32),
            "item_factors": np.zeros((n, 0), np.float32),
        }
        items = tuple("abcdefgh"[:n])
        constants = {"user_mean": 0.0, "user_variance": 1e-9}
        return Client(release(items=items, tensors=tensors, constants=constants, **changes))

    return make


# -- predict ----------------------------------------------------------------------------------------------


def test_by_default_the_whole_catalogue_is_predicted_in_its_order(client):
    found = client.predict({A: 5, C: 1})
    assert list(found) == [A, B, C, D]
    assert all(isinstance(score, float) and 1 <= score <= 5 for score in found.values())


def test_asked_items_come_in_the_order_asked(client):
    whole = client.predict({A: 5, C: 1})
    found = client.predict({A: 5, C: 1}, items=(name for name in (D, A, D)))
    assert list(found) == [D, A]
    assert found == pytest.approx({D: whole[D], A: whole[A]}, abs=1e-12)
    assert client.predict({A: 5}, items=[]) == {}


def test_an_id_is_the_same_however_its_accents_are_encoded(client):
    decomposed = unicodedata.normalize("NFD", A)
    assert decomposed != A
    assert client.predict({decomposed: 5}) == client.predict({A: 5})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float32("nan")])
def test_own_ratings_that_are_not_finite_are_left_out(client, value):
    assert client.predict({A: 5, B: value}) == client.predict({A: 5})
    assert client.predict({B: value}) == client.predict({})
    assert B in [row.item_id for row in client.recommend({B: value})]


@pytest.mark.parametrize(("given", "taken"), [(9, 5), (-3, 1), (1e300, 5), (0, 1)])
def test_own_ratings_out_of_the_scale_are_clamped(client, given, taken):
    assert client.predict({A: given, B: 2}) == client.predict({A: taken, B: 2})


@pytest.mark.parametrize("number", [7, 7.0, np.int64(7), None, b"7"])
def test_an_id_that_is_no_text_is_refused(release, number):
    """As a number "007" and "7" are one, and as a text another item."""
    client = Client(release(items=("7", "8", "007", "9")))
    assert client.predict({"7": 5}) != client.predict({"007": 5})
    asks = [
        lambda: client.predict({number: 5}),
        lambda: client.predict({}, items=[number]),
        lambda: client.recommend({"8": 5, number: 5}),
        lambda: client.recommend({}, exclude=[number]),
        lambda: client.recommend({}, allowed=[number]),
        lambda: client.reasons({"8": 5}, number),
        lambda: client.similar(number),
        lambda: client.title(number),
    ]
    for ask in asks:
        with pytest.raises(ReleaseError, match=rf"of type {type(number).__name__}: give str\(id\)"):
            ask()


@pytest.mark.parametrize("given", [{"never heard of": 5}, {"never heard of": 5, "": 1}])
def test_own_items_of_which_none_is_known_are_refused(client, given):
    """Zeros lost on the way would give everybody the popular list, and nobody would notice."""
    for ask in (client.predict, client.recommend, lambda own: client.reasons(own, A)):
        with pytest.raises(
            ReleaseError, match=r"nothing of what was given .* leading zeros, or give nothing"
        ):
            ask(given)
    assert client.recommend({}) == client.recommend({B: math.nan}), "known, though without a number"


def test_what_was_ignored_is_told(client):
    own = {A: 5, "never heard of": 1, B: math.nan, "": 2}
    for found in (client.predict(own), client.recommend(own), client.reasons(own, C)):
        assert found.ignored == ("never heard of", B, "")
    assert client.recommend({A: 5}).ignored == client.predict({}).ignored == ()


def test_of_clicks_each_ignored_id_is_told_once(ranker):
    client = Client(ranker(["01", "02", "03"], counts=3))
    assert client.recommend(["01", "1", "02", "1"]).ignored == ("1",)
    assert client.recommend({"01": 0, "02": 2, "2": 1}).ignored == ("01", "2")
    with pytest.raises(ReleaseError, match="nothing of what was given"):
        client.recommend(["1", "2"])
    assert len(client.recommend([])) == 3


def test_an_unknown_target_is_refused_by_name(client):
    with pytest.raises(ReleaseError, match=r"'never heard of' is not in this release's catalogue of 4 items"):
        client.predict({A: 5}, items=[B, "never heard of"])


def test_predictions_stay_on_the_scale(planted):
    client = planted([-2.0, 0.999, 3.0, 5.001, 70.0])
    found = list(client.predict({}).values())
    assert found == pytest.approx([1, 1, 3, 5, 5], abs=1e-6)
    assert min(found) == 1
    assert max(found) == 5


# -- recommend --------------------------------------------------------------------------------------------


def test_the_best_that_one_has_not_rated_ranked_from_one(planted):
    client = planted([2.0, 4.0, 3.0, 4.5, 1.5])
    found = client.recommend({"d": 4, "unheard of": 5}, n=3)
    assert [(row.item_id, row.rank) for row in found] == [("b", 1), ("c", 2), ("a", 3)]
    assert [row.rating for row in found] == pytest.approx([4, 3, 2], abs=1e-4)
    assert all(type(row) is Recommendation and type(row.score) is type(row.rating) is float for row in found)


def test_a_list_is_ordered_by_choice_and_shows_the_stars(planted):
    """A rarity that everybody loves is not what most choose next."""
    client = planted([5.0, 3.0, 4.0], popularity=[1, 200, 100])
    assert [(row.item_id, row.rating) for row in client.recommend({})] == [("b", 3), ("c", 4), ("a", 5)]
    assert [row.score for row in client.recommend({})] == pytest.approx(np.log([200, 100, 1]), abs=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 100])
def test_recommendations_are_the_likeliest_choices(client, n):
    own = {B: 5, "never heard of": 1}
    found = client.recommend(own, n)
    scores = client.predict(own, items=[A, C, D])
    assert [row.rank for row in found] == list(range(1, min(n, 3) + 1))
    assert B not in {row.item_id for row in found}
    assert {row.item_id: row.rating for row in found} == pytest.approx(
        {row.item_id: scores[row.item_id] for row in found}, abs=1e-9
    )
    choices = predictor(client.release).rank(np.array([1]), np.array([5.0]), np.array([0, 2, 3]))
    assert [row.score for row in found] == sorted(choices, reverse=True)[:n]


def test_ties_come_in_the_catalogue_s_order(planted):
    client = planted([3.0, 4.0, 3.0, 4.0, 3.0])
    assert [row.item_id for row in client.recommend({})] == ["b", "d", "a", "c", "e"]
    assert [row.item_id for row in client.recommend({"d": 4}, 3)] == ["b", "a", "c"]


def test_items_beyond_the_end_of_the_scale_keep_their_order(planted):
    """Who likes everything is shown first what he will like most, not what the catalogue lists first."""
    client = planted([5.5, 3.0, 7.0, 0.5, -2.0, 6.0])
    assert [row.item_id for row in client.recommend({})] == ["c", "f", "a", "b", "d", "e"]


def test_nothing_asked_nothing_given(client):
    assert client.recommend({A: 5}, n=0) == []
    for wrong in (-3, 2.5, math.nan, math.inf, "3", None, True):
        with pytest.raises(ReleaseError, match="n must be a whole number, 0 or more"):
            client.recommend({A: 5}, n=wrong)
    everything = {A: 5, B: 4, C: 3, D: 2}
    assert client.recommend(everything) == []
    assert len(client.predict(everything)) == 4


# -- people whom the release lists ------------------------------------------------------------------------

PERSON = "person 2 é"


@pytest.fixture
def listing(release):
    return Client(release("factors and people"))


def test_a_listed_person_is_predicted_by_his_released_vector(listing):
    t, constants = listing.release.tensors, listing.release.constants
    taste = t["item_factors"] @ t["user_factors"][2]
    wanted = np.clip(t["item_effects"] + constants["user_mean"] + t["user_effects"][2] + taste, 1, 5)
    found = listing.predict(user=PERSON)
    assert list(found) == [A, B, C, D]
    assert list(found.values()) == pytest.approx(wanted, abs=1e-5)
    assert listing.predict(None, [D, A], user=PERSON) == pytest.approx({D: found[D], A: found[A]})
    assert listing.predict(user=unicodedata.normalize("NFD", PERSON)) == found
    assert found != listing.predict(user="person 1 é")
    assert found != listing.predict({})


@pytest.mark.parametrize("ask", [Client.predict, Client.recommend])
def test_exactly_one_of_ratings_and_user_is_given(client, listing, ask):
    for one in (client, listing):
        with pytest.raises(ReleaseError, match=r"give own ratings, \{\} if there are none, or user="):
            ask(one)
    for own in ({}, {A: 5}):
        with pytest.raises(ReleaseError, match="not both"):
            ask(listing, own, user=PERSON)
    with pytest.raises(ReleaseError, match="'somebody' is not among the 5 people whom this release lists"):
        ask(listing, user="somebody")


def test_a_release_that_lists_nobody_says_so(release):
    with pytest.raises(ReleaseError, match="lists no people; give own ratings instead"):
        Client(release()).recommend(user=PERSON)


# -- speed ------------------------------------------------------------------------------------------------


def test_items_are_found_by_id_or_title(release):
    made = release(items=("1", "2", "alien", "é"), titles=("Alien (1979)", "Aliens (1986)", "", "Heat"))
    client = Client(made)
    assert client.find("alien") == ["alien", "1"]  # the id comes first
    assert client.find("ALIEN (1979)") == ["1"]
    assert client.find("e\u0301") == ["é"]
    assert client.find("alie") == ["1", "2", "alien"]
    assert client.find("Solaris") == []
    assert [client.title(item) for item in made.items] == ["Alien (1979)", "Aliens (1986)", "alien", "Heat"]
    assert Client(release()).title("item 1 é") == "item 1 é"
    with pytest.raises(ReleaseError, match="not in this release's catalogue"):
        client.title("3")


def test_an_id_that_is_the_title_of_another_item_means_both(release):
    titles = ("Quiz Show (1994)", "300 (2006)", "", "Se7en", "300", "3000 Miles")
    client = Client(release(n=6, items=("300", "7", "se7en", "Se7en", "x", "y"), titles=titles))
    assert client.find("300") == ["300", "7", "x"]
    assert client.find("300 (2006)") == ["7"]
    assert client.find("7") == ["7"]
    assert client.find("se7en") == ["se7en", "Se7en"]
    assert client.find("Se7en") == ["Se7en"]  # the other has no title, and its id is another text
    assert client.find("x") == ["x"]
    assert Client(release(n=2, items=("Heat", "heat"))).find("heat") == ["heat"]
