"""Every loader on the publishers' own files, where they are on this machine: counts as published."""

import polars as pl
import pytest

from hushrec.data.domain import Domain
from hushrec.data.load import load

STARS, HALF_STARS = (1, 5, 1), (0.5, 5, 0.5)


def domain(n_items, scale):
    return Domain(range(1, n_items + 1), scale=scale, max_users=1_000_000)


def rated_items(ratings):
    return len(set(ratings.items.tolist()))


@pytest.mark.parametrize(
    ("name", "n_items", "scale", "n_users", "n_rated", "n_ratings", "duplicates"),
    [
        ("ml-100k/u.data", 1_682, STARS, 943, 1_682, 100_000, 0),
        ("ml-100k.parquet", 1_682, STARS, 943, 1_682, 100_000, 0),
        ("ml-1m.parquet", 3_952, STARS, 6_040, 3_706, 1_000_209, 0),
        ("ml-1m-timestamped-part.parquet", 3_952, STARS, 6_037, 3_505, 240_657, 0),
        ("ml-1m/ratings.head.dat", 3_952, STARS, 331, None, 50_440, 0),
        ("ml-10m/ratings.head.dat", 65_133, HALF_STARS, None, None, 220, 0),
        ("ml-25m/ratings.head.csv", 209_171, HALF_STARS, 757, None, 100_000, 0),
        ("ml-latest-small/ratings.csv", 193_609, HALF_STARS, 610, 9_724, 100_836, 0),
        ("ml-latest-small.parquet", 193_609, HALF_STARS, 610, 9_724, 100_836, 0),
        ("anime-5k-users.parquet", 40_000, (1, 10, 1), 4_714, 7_157, 419_943, 0),
        ("filmtrust/ratings.txt", 2_071, (0.5, 4, 0.5), 1_508, 2_071, 35_497, 3),
        ("filmtrust.parquet", 2_071, (0.5, 4, 0.5), 1_508, 2_071, 35_497, 3),
        ("ciao.parquet", 200_000, STARS, 7_375, 105_114, 284_086, 1_436),
        ("netflix-sample/netflix-100k-rows.parquet", 17_770, STARS, 27_555, 1_701, 100_478, 0),
    ],
)
@pytest.mark.full
def test_counts_are_as_published(real, name, n_items, scale, n_users, n_rated, n_ratings, duplicates):
    ratings = load(real(name), domain(n_items, scale))
    assert ratings.n_entries == n_ratings - duplicates
    assert n_users is None or ratings.n_users == n_users
    assert n_rated is None or rated_items(ratings) == n_rated
    dropped = ratings.dropped
    assert (dropped.user_id, dropped.item_id, dropped.rating, dropped.duplicate) == (0, 0, 0, duplicates)
    assert dropped.rounded == 0
    assert dropped.clamped == (34 if name == "ciao.parquet" else 0)  # its zeros


def test_the_same_ratings_in_several_formats(real):
    small = domain(193_609, HALF_STARS)
    ratings = load(real("ml-latest-small/ratings.csv"), small)
    assert ratings.table().equals(load(real("ml-latest-small.parquet"), small).table())
    source = pl.read_csv(real("ml-latest-small/ratings.csv"))
    assert ratings.numbers().sum() == source["rating"].sum(), "half stars are exact"
    assert ratings.timestamps.sum() == source["timestamp"].sum()
    hundred = load(real("ml-100k/u.data"), domain(1_682, STARS))
    assert hundred.table().equals(load(real("ml-100k.parquet"), hundred.domain).table())
    short = load(real("ml-100k/u.data"), domain(1_000, STARS))
    assert short.n_entries + short.dropped.item_id == 100_000, "no record is lost"
