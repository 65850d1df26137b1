import polars as pl
import pytest

from hushrec.data.domain import Domain
from hushrec.data.readers.catalogue import GENRES, headings, read_catalogue, read_ids, titles_column
from hushrec.errors import DomainError


def of(path, column=None):
    return Domain.from_catalogue(path, scale=(1, 5, 1), max_users=10, column=column).items


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("movies.csv", b'movieId,title,genres\n1,"Good, Bad",x\n007,Bond,y\n'),
        ("items.tsv", "item_id\ttitle\n1\té\n007\tb\n".encode()),
        ("movies.dat", b"1::Mis\xe9rables, Les::Drama\n007::Bond::Action\n"),
        ("u.item", b"1|Caf\xe9|01-Jan-1995||http://x|0\n007|Bond||||1\n"),
        ("movie_titles.txt", b"1,2003,Mis\xe9rables, Les\n007,2004,B\n"),
        ("movie_titles.csv", b"1,2003,Dinosaur Planet\r\n007,NULL,B\r\n"),
        ("ids.txt", b"\xef\xbb\xbf1\r\n007\r\n\r\n"),
    ],
)
def test_ids_of_published_lists(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert of(tmp_path / name) == ("1", "007")


def test_parquet_and_a_named_column(tmp_path):
    pl.DataFrame({"title": ["x", "y"], "id": [1, 2]}).write_parquet(tmp_path / "items.parquet")
    assert of(tmp_path / "items.parquet", column="id") == ("1", "2")
    assert of(tmp_path / "items.parquet") == ("x", "y")


@pytest.mark.parametrize(
    ("name", "content", "column", "message"),
    [
        ("none.csv", None, None, r"none\.csv cannot be read .*: there is no such file"),
        ("items.csv", b"id;t\n1;caf\xe9\n", None, "not UTF-8, but probably Latin-1; .*iconv -f latin1"),
        ("items.csv", "id,t\n1,x\n".encode("utf-16"), None, "probably UTF-16; .*iconv -f utf-16"),
        ("items.txt", b"caf\xe9\n", None, "probably Latin-1"),
        ("items.csv", b"id;t\n1;x, y, z\n", None, "divided by semicolons; give separator=';'"),
        ("items.csv", b"id::t\n1::x\n", None, 'divided by "::"; write it with commas, as .csv'),
        ("items.csv", b"id\tt\n1\tx\n", None, "divided by tabs"),
        ("items.tsv", b"id,t\n1,x\n", None, "divided by commas"),
        ("items.xlsx", b"", None, "unknown kind"),
        ("items.csv", b"a,b\n1,2\n", "c", "cannot be read"),
        ("items.csv", b"a,b\n1,2\n,3\n", None, "empty cells"),
        ("movies.dat", b"1::x\n", "id", "no header"),
        ("items.txt", b"\xff\xfe\n", None, "cannot be read"),
        ("items.parquet", b"PAR1", None, "cannot be read"),
        ("items.csv", b"a\n1\n1\n", None, "records 1 and 2 are the same"),
        ("items.csv", b"a\n", None, "empty"),
    ],
)
def test_what_cannot_be_read_is_explained(tmp_path, name, content, column, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DomainError, match=message):
        of(tmp_path / name, column)


def test_a_separator_is_one_character_and_goes_for_both_files(tmp_path):
    (tmp_path / "items.csv").write_text("id;genres\n1;x|y\n007;\n")
    (tmp_path / "users.csv").write_text("since;who\n2020;b\n2021;a\n")
    domain = Domain.from_catalogue(
        tmp_path / "items.csv",
        max_users=2,
        users=tmp_path / "users.csv",
        user_column="who",
        separator=";",
    )
    assert (domain.items, domain.users) == (("1", "007"), ("a", "b"))
    assert domain.features == {"genres": ("x|y", "")}
    assert headings(tmp_path / "items.csv", ";") == ["id", "genres"]
    with pytest.raises(DomainError, match="one character"):
        read_ids(tmp_path / "items.csv", separator="::")


def test_ids_as_floats_are_refused(tmp_path):
    pl.DataFrame({"id": [1.0, 2.0]}).write_parquet(tmp_path / "items.parquet")
    with pytest.raises(DomainError, match="Float64"):
        of(tmp_path / "items.parquet")


@pytest.mark.parametrize(
    ("name", "content", "column"),
    [
        ("users.dat", b"2::F::1::10::48067\n1::M::56::16::70072\n", None),
        ("u.user", b"2|24|M|technician|85711\n1|53|F|other|94043\n", None),
        ("accounts.txt", b"2\n1\n", None),
        ("accounts.csv", b"since,account\n2020,2\n2021,1\n", "account"),
    ],
)
def test_people_of_published_lists(tmp_path, name, content, column):
    (tmp_path / "items.txt").write_text("x\n")
    (tmp_path / name).write_bytes(content)
    domain = Domain.from_catalogue(
        tmp_path / "items.txt", scale=(1, 5, 1), max_users=2, users=tmp_path / name, user_column=column
    )
    assert (domain.items, domain.users) == (("x",), ("1", "2"))


def test_a_column_of_people_without_a_list_is_explained(tmp_path):
    (tmp_path / "items.txt").write_text("x\n")
    with pytest.raises(DomainError, match="users=, which is missing"):
        Domain.from_catalogue(tmp_path / "items.txt", scale=(1, 5, 1), max_users=2, user_column="id")


def test_a_catalogue_that_was_taken_from_ratings_is_not_read_out(tmp_path):
    (tmp_path / "ids.csv").write_text('id,title\n1,x\nSECRET,"y\n"SECRET",z,SECRET\n')
    pl.DataFrame({"id": pl.Series(["SECRET"], dtype=pl.Enum(["SECRET"]))}).write_parquet(
        tmp_path / "ids.parquet"
    )
    for name in ("ids.csv", "ids.parquet"):
        with pytest.raises(DomainError) as caught:
            read_ids(tmp_path / name)
        assert "SECRET" not in str(caught.value)
        assert caught.value.__context__ is None


FLAGS = "|".join("1" if genre in ("Comedy", "War") else "0" for genre in GENRES)


@pytest.mark.parametrize(
    ("name", "content", "features"),
    [
        (
            "movies.csv",
            'movieId,title,genres\n1,"Good, Bad",x|y\n2,Café,\n'.encode(),
            {"genres": ["x|y", ""]},
        ),
        ("items.tsv", "id\tYear\tName\n1\t1999\tGood, Bad\n2\t\tCafé\n".encode(), {"Year": ["1999", ""]}),
        ("movies.dat", b"1::Good, Bad::x|y\n2::Caf\xe9::\n", {"genres": ["x|y", ""]}),
        (
            "u.item",
            f"1|Good, Bad|01-Jan-1995||http://x|{FLAGS}\n2|Café||||{'0|' * 18}0\n".encode("latin-1"),
            {"genres": ["Comedy|War", ""]},
        ),
        ("movie_titles.txt", b"1,2003,Good, Bad\r\n2,NULL,Caf\xe9\r\n", {"year": ["2003", ""]}),
    ],
)
def test_titles_and_features_of_published_lists(tmp_path, name, content, features):
    (tmp_path / name).write_bytes(content)
    assert read_catalogue(tmp_path / name) == (["1", "2"], ["Good, Bad", "Café"], features)
    domain = Domain.from_catalogue(tmp_path / name, scale=(1, 5, 1), max_users=10)
    assert domain.titles == ("Good, Bad", "Café")
    assert domain.features == {key: tuple(values) for key, values in features.items()}


def test_columns_may_be_named_and_lists_without_titles_have_none(tmp_path):
    path = tmp_path / "items.parquet"
    pl.DataFrame({"id": [1, 2], "title": ["a", "b"], "plot": ["p", None], "rank": [0.5, 2]}).write_parquet(
        path
    )
    found = read_catalogue(path, titles="plot", features=["rank"])
    assert found == (["1", "2"], ["p", ""], {"rank": ["0.5", "2.0"]})
    assert read_catalogue(path).titles == ["a", "b"]
    assert read_catalogue(path, "title").titles is None
    (tmp_path / "ids.txt").write_text("7\n8\n")
    (tmp_path / "odd.dat").write_text("1\n2::b\n")
    assert read_catalogue(tmp_path / "ids.txt") == (["7", "8"], None, {})
    assert read_catalogue(tmp_path / "odd.dat") == (["1", "2"], None, {})
    for more in ({"titles": "no"}, {"features": ["no"]}):
        with pytest.raises(DomainError, match="has no column 'no'"):
            read_catalogue(path, **more)
        with pytest.raises(DomainError, match="no header"):
            read_catalogue(tmp_path / "ids.txt", **more)
    pl.DataFrame({"id": [1], "title": [[1, 2]]}).write_parquet(path)
    with pytest.raises(DomainError, match="are text"):
        read_catalogue(path)


@pytest.mark.parametrize(
    ("name", "content", "column"),
    [
        ("clicks.csv", b"Kunde,Film,Sterne\nSECRET,A,5\nSECRET,B,3\n", None),
        ("ratings.csv", b"userId,movieId,rating\nSECRET,A,5\nSECRET2,B,3\n", None),
        ("ratings.csv", b"userId,movieId,rating\nSECRET,A,5\nSECRET2,B,3\n", "movieId"),
        ("ratings.csv", b"movieId,customer_no\nA,SECRET\nB,SECRET2\n", None),
        ("users.csv", b"user,name\nSECRET,x\nSECRET2,y\n", None),
        ("other.csv", b"who,what\nSECRET,A\nSECRET,B\n", None),
        ("ratings.dat", b"SECRET::A::5::1\nSECRET::B::3::4\n", None),
        ("ids.txt", b"SECRET\nSECRET\n", None),
    ],
)
def test_ratings_are_no_catalogue_and_none_of_their_ids_is_shown(tmp_path, name, content, column):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DomainError, match=r"is not a catalogue: .*Never take it from ratings") as error:
        of(tmp_path / name, column)
    assert "SECRET" not in str(error.value)


@pytest.mark.parametrize(
    "head", ["id,title,user_score,rating", "id,title,users,genres", "id,title,account,x"]
)
def test_a_catalogue_may_have_columns_about_users(tmp_path, head):
    (tmp_path / "games.csv").write_text(f"{head}\n1,A,5,PG\n2,B,3,PG\n")
    assert of(tmp_path / "games.csv") == ("1", "2")


def test_the_column_of_titles_is_recognised_in_any_case():
    assert titles_column(["id", "Name", "TITLE"]) == "TITLE"
    assert titles_column(["title", "name"]) == "name"  # the first column is the ids
    assert titles_column(["title", "id"], "id") == "title"
    assert titles_column(["id", "Titel"]) is None
