"""The number of users: nobody moves it by more than Δ, by whatever they give or take back."""

import polars as pl

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.sums.overall import USER_COUNT, user_count


def count(*rows):
    """The number of people who gave the items of each row."""
    pairs = [(f"u{user}", str(item)) for user, row in enumerate(rows) for item in row]
    schema = {"user_id": pl.String, "item_id": pl.String}
    domain = Domain(range(60), max_per_user=40, max_users=10)
    return user_count(load(pl.DataFrame(pairs, schema=schema, orient="row"), domain))


def test_a_person_and_an_only_rating_move_it_by_delta(search):
    beside = [range(5), range(3, 50)]
    assert count(*beside).item() == 2
    moved = [search.exceeds(USER_COUNT, count(*beside), count(*beside, range(n))) for n in (1, 40)]
    assert moved == [1, 1]
