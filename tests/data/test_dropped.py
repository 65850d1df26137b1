"""What cleaning dropped or changed, counted for the curator alone."""

from dataclasses import fields

import pytest

from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped, fraction

RATED = Domain(["a"], scale=(1, 5, 1), max_users=9)
KINDS = {
    "rated": RATED,
    "likes": Domain(["a"], scale=(1, 5, 1), likes=4, max_users=9),
    "given": Domain(["a"], max_users=9),
    "counted": Domain(["a"], counts=9, max_users=9),
}


def test_it_adds_up_and_says_that_it_is_confidential():
    dropped = Dropped(1, 2, 3, records=5) + Dropped(rating=44, rounded=1, records=45)
    assert dropped == Dropped(1, 2, 47, rounded=1, records=50)
    assert "confidential, not for publication" in str(dropped)
    assert {"47", "50"} <= set(str(dropped).replace(",", " ").split())
    assert repr(dropped) == "Dropped(confidential)"


ALWAYS = "user_id", "item_id", "rating", "other_type", "personal_epsilon", "clamped", "rounded", "timestamp"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reason", ALWAYS)
def test_more_than_a_tenth_of_any_reason_is_too_many(kind, reason):
    allowed = kind == "counted" and reason == "clamped"  # a count above the largest is what counts= declares
    for count in (10, 11):
        dropped = Dropped(**{reason: count}, records=100)
        assert dropped.too_many(KINDS[kind]) == (count > 10 and not allowed)
    half = Dropped(**{reason: 5}, records=100)
    assert (half + Dropped(item_id=5)).too_many(KINDS[kind]) is False
    assert (half + Dropped(item_id=6)).too_many(KINDS[kind]) is not allowed


@pytest.mark.parametrize("kind", KINDS)
def test_repeats_are_too_many_of_ratings_alone(kind):
    """Real files of ratings have at most about 0.5 % of them; with a wrong column of users, over 90 %."""
    assert Dropped(duplicate=11, records=100).too_many(KINDS[kind]) == (kind in ("rated", "likes"))
    assert not Dropped(duplicate=10, records=100).too_many(KINDS[kind])
    assert not Dropped().too_many(KINDS[kind])  # an empty file, or rows that come from no source


@pytest.mark.parametrize("domain", KINDS.values(), ids=KINDS)
def test_only_reasons_that_occurred_are_told_each_in_words_of_its_own(domain):
    names = [field.name for field in fields(Dropped) if field.name != "records"]
    every = Dropped(**{name: place for place, name in enumerate(names, 1)}, records=100).losses(domain)
    assert {(loss.reason, loss.count) for loss in every} == {*zip(names, range(1, 11), strict=True)}
    assert len({loss.text for loss in every}) == len(names)
    assert [loss.reason for loss in Dropped(item_id=3).losses(domain)] == ["item_id"]
    assert not Dropped(records=100).losses(domain)
    listed = Domain(["a"], max_users=9, users=["x"])
    assert "not on the roster" in Dropped(user_id=1).losses(listed)[0].text
    assert "roster" not in Dropped(user_id=1).losses(domain)[0].text


def test_a_share_is_in_words():
    assert fraction(85_727, 100_000) == "85.7 %"
    assert fraction(1, 100_000) == "less than 0.1 %"
    assert fraction(0, 5) == fraction(1, 0) == "0.0 %"
