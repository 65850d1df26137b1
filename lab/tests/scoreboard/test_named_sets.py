import polars as pl
import pytest

from lab.scoreboard.named_sets import NamedSet, round_near

MOVIES = "1::Toy Story (1995)::Animation|Comedy\n2::Jumanji (1995)::Adventure\n4000::Late (2000)::Drama\n"


@pytest.fixture
def sets(tmp_path):
    rows = [(7, 2, 5.0), (7, 1, 3.0), (9, 2, 4.0), (11, 2, 0.0)]
    table = pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row")
    for name in ("ml-1m", "ciao"):
        table.write_parquet(tmp_path / f"{name}.parquet")
    (tmp_path / "ml-1m").mkdir()
    (tmp_path / "ml-1m" / "movies.dat").write_text(MOVIES, encoding="utf-8")
    return tmp_path


def test_the_catalogue_is_the_publishers_range_or_the_items_of_the_file(sets):
    assert NamedSet("ml-1m", sets).ratings().domain.n_items == 3952
    assert NamedSet("ciao", sets).ratings().domain.items == ("1", "2")


def test_a_crowd_is_declared_roughly_and_nobody_is_capped(sets):
    domain = NamedSet("ciao", sets).ratings().domain
    assert (domain.expected_users, domain.expected_records) == (2, 5)  # 3 people with 4 ratings
    assert (domain.max_per_user, domain.max_users, domain.users) == (2, 10_000, None)


def test_a_roster_lists_everybody_and_a_rating_off_the_scale_is_corrected(sets):
    ratings = NamedSet("ciao", sets).ratings(roster=True)
    assert ratings.domain.users == ("11", "7", "9")
    assert sorted(ratings.numbers()) == [1, 3, 4, 5]


def test_described_items_have_the_publishers_titles_and_genres(sets):
    domain = NamedSet("ml-1m", sets).ratings(described=True).domain
    assert domain.titles[:3] == ("Toy Story (1995)", "Jumanji (1995)", "")
    assert domain.features["genres"][:2] == ("Animation|Comedy", "Adventure")
    assert NamedSet("ml-1m", sets).ratings().domain.features is None


def test_numbers_that_are_about_known_are_the_nearest_of_1_2_5_by_ratio():
    numbers = (0, 1, 3, 4, 610, 6_040, 100_836, 1_000_209, 1_600_000)
    near = [round_near(number) for number in numbers]
    assert near == [1, 1, 2, 5, 500, 5_000, 100_000, 1_000_000, 2_000_000]
