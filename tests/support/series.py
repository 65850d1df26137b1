"""What people have given up to a release of a series."""

import polars as pl

import hushrec as hr

DOMAIN = hr.Domain([f"i{n}" for n in range(40)], scale=(1, 5, 1), max_users=100, max_per_user=500)
_COLUMNS = {"user_id": pl.String, "item_id": pl.String, "rating": pl.Int64}


def given(people, domain=DOMAIN):
    """Ratings by user number, each user's as item numbers, of three stars, or as (item, stars)."""
    rows = [
        (f"u{user}", f"i{item}", stars)
        for user, items in people.items()
        for item, stars in (one if isinstance(one, tuple) else (one, 3) for one in items)
    ]
    return hr.load(pl.DataFrame(rows, schema=_COLUMNS, orient="row"), domain)
