from pathlib import Path

import pytest

from hushrec.cli.filters import Filters
from hushrec.errors import DataError, DomainError

ITEMS = ("7", "007", "8", "9")
TABLE = "id,title,genres,year,seen\n7,Seven,Crime|Drama,1995,1\n8,Eight,Drama,2002,0\n9,Nine,Comedy,1995,1\n"


def allowed_items(items, allowed, where, features, texts=None):
    return Filters(allowed=allowed, only=where, features=features).ids(items, texts or {})


@pytest.fixture
def table(tmp_path):
    """Of every item but 007; and of one that the release does not have."""
    path = tmp_path / "items.csv"
    path.write_text(TABLE + "10,Ten,Drama,1995,1\n")
    return path


@pytest.mark.parametrize(
    ("where", "left"),
    [
        (["genres=Drama"], {"7", "8"}),
        (["genres=Comedy"], {"9"}),
        (["year=1995"], {"7", "9"}),
        (["year=1995.0", "genres=Drama"], {"7"}),
        (["seen"], {"7", "9"}),
        (["year=1900"], set()),
    ],
)
def test_conditions_must_all_hold(table, where, left):
    assert allowed_items(ITEMS, None, where, table) == left


def test_a_list_of_ids_and_conditions_are_taken_together(table, tmp_path):
    listed = tmp_path / "mine.txt"
    listed.write_text("8\n007\nunheard of\n")
    assert allowed_items(ITEMS, listed, (), None) == {"8", "007", "unheard of"}
    assert allowed_items(ITEMS, listed, ["genres=Drama"], table) == {"8"}
    assert allowed_items(ITEMS, None, (), None) is None


def test_genres_of_movielens_have_no_column(tmp_path):
    path = tmp_path / "movies.dat"
    path.write_text("7::Seven (1995)::Crime|Drama\n9::Nine::Comedy\n")
    assert allowed_items(ITEMS, None, ["Drama"], path) == {"7"}


@pytest.mark.parametrize(
    "condition", ["Drama", "genre=Drama", "genres=Dramas", "year", "year=", "", "=", "genres"]
)
def test_an_unknown_feature_is_told_with_those_that_there_are(table, condition):
    if condition == "year":  # a number: not 0
        assert allowed_items(ITEMS, None, [condition], table) == {"7", "8", "9"}
        return
    with pytest.raises(
        DataError, match=r"no feature is called .*; there are 'genres=Comedy', 'genres=Crime'"
    ):
        allowed_items(ITEMS, None, [condition], table)


def test_features_and_conditions_go_together(table):
    for where, features in ((["genres=Drama"], None), ([], table)):
        with pytest.raises(DataError, match="--only and --features go together"):
            allowed_items(ITEMS, None, where, features)


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(DomainError, match="cannot be read as a list of ids"):
        allowed_items(ITEMS, Path("missing.csv"), (), None)
    with pytest.raises(DomainError, match="cannot be read as a list of ids"):
        allowed_items(ITEMS, None, ["genres=Drama"], tmp_path / "missing.csv")


def test_features_that_the_release_carries_need_no_file(table):
    texts = {"genres": ("Crime|Drama", "", "Drama", "Comedy"), "year": ("1995", "", "2002", "1995")}
    assert allowed_items(ITEMS, None, ["genres=Drama"], None, texts) == {"7", "8"}
    assert allowed_items(ITEMS, None, ["genres=Drama", "year=1995"], None, texts) == {"7"}
    assert allowed_items(ITEMS, None, ["seen"], table, texts) == {"7", "9"}  # a file comes first
    assert allowed_items(ITEMS, None, (), None, texts) is None
    with pytest.raises(DataError, match="no feature is called 'genres=War'"):
        allowed_items(ITEMS, None, ["genres=War"], None, texts)
