"""Public lists of items or accounts: their ids, titles and features, and what must not be taken for one."""

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushrec.data.domain import Domain
from hushrec.data.readers.catalogue import GENRES, read_list
from hushrec.errors import DomainError


def of(path, column=None, **options):
    return Domain.from_catalogue(path, scale=(1, 5, 1), max_users=10, column=column, **options).items


def refused(path, *args):
    """The message of the refusal, on which nothing private hangs: the list may be ratings by mistake."""
    with pytest.raises(DomainError) as caught:
        of(path, *args)
    hanging = repr(caught.value) + repr(vars(caught.value)) + repr(caught.value.__cause__)
    assert "SECRET" not in hanging + repr(caught.value.__context__)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("movies.csv", b'movieId,title,genres\n1,"Good, Bad",x\n007,Bond,y\n'),
        ("items.tsv", "item_id\ttitle\n1\té\n007\tb\n".encode()),
        ("movies.dat", b"1::Mis\xe9rables, Les::Drama\n007::Bond::Action\n"),
        ("u.item", b"1|Caf\xe9|01-Jan-1995||http://x|0\n007|Bond||||1\n"),
        ("ids.txt", b"\xef\xbb\xbf1\r\n007\r\n\r\n"),
        ("ids.csv", b"\xef\xbb\xbfid\r\n1\r\n\r\n007\r\n\r\n"),
        ("ids.csv", b"id,title\r1,x\r007,y\r"),
        ("ids.csv", b"id,title\r\n1,x\n007,y\r\n"),
        ("ids.csv", b"sep=;\r\nid;title\r\n1;x, y\r\n007;y\r\n"),
        ("ids.csv", b'\n# made by "us"\nid,title\n"1",x\n"007","y\nz"'),
        ("ids.csv", b'id,title\n1,"Weird Al" Yankovic\n007,6" nails\n'),
        ("ids.tsv", b'id\ttitle\n1\t"Weird Al" Yankovic\n007\t"Heroes"\n'),
        ("r[0].csv", b"id,title\n1,x\n007,y\n"),
    ],
)
def test_ids_of_lists(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert of(tmp_path / name) == ("1", "007")


@pytest.mark.parametrize(
    ("content", "column"),
    [
        (b"1,2003,Dinosaur Planet\r\n007,NULL,B\r\n", "0"),  # Netflix's movie_titles.csv
        (b"1\n007\n", "0"),
        (b"1\n\n007", "0"),
        (b"x,1\ny,007\n", "1"),
        (b"sep=;\n1;x\n007;y, z\n", "0"),
        (b'1,"Weird Al" Yankovic\n007,b\n', "0"),
    ],
)
def test_a_position_says_that_there_is_no_header(tmp_path, content, column):
    (tmp_path / "items.csv").write_bytes(content)
    assert of(tmp_path / "items.csv", column) == ("1", "007")


def test_tables_of_parquet(tmp_path):
    path = tmp_path / "items.parquet"
    for table in (
        pa.table({"title": ["x", "y"], "id": [1, 7]}),
        pa.table({"title": ["x", "y"], "id": pa.array(["1", "7"]).dictionary_encode()}),
        pa.table([pa.array(["x", "y"]), pa.array(["1", "7"]), pa.array(["a", "b"])], names=["t", "id", "id"]),
        pa.table({"title": ["x", "y"], "id": pa.array(["1", "7"], pa.string_view())}),
    ):
        pq.write_table(table, path)
        assert of(path, "id") == ("1", "7")
        assert of(path) == ("x", "y")
    pl.DataFrame({"0": ["1", "7"]}).write_parquet(path)
    assert of(path, "0") == ("1", "7")
    for cells, message in (
        ([1.0], "column 'id' is double"),
        ([True], "is bool"),
        (["a", None], "empty cells"),
    ):
        pq.write_table(pa.table({"id": cells}), path)
        assert message in refused(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.csv", None, "none.csv cannot be read as a list of ids: there is no such file"),
        ("none.txt", None, "none.txt cannot be read as a list of ids: No such file"),
        ("i.csv", b"id,t\n1,SECRET\xe9\n", "not UTF-8, but probably Latin-1; convert it: iconv -f latin1"),
        ("i.csv", b"SECRET\xe9,t\n1,x\n", "probably Latin-1"),
        ("i.csv", "id,t\n1,SECRET\n".encode("utf-16"), "probably UTF-16; convert it: iconv -f utf-16"),
        ("i.txt", b"SECRET\xe9\n", "probably Latin-1"),
        ("i.txt", b"\xff\xfe\n", "cannot be read"),
        ("i.csv", b"id;t\n1;x, y, z\n", "divided by semicolons; give separator="),
        ("i.csv", b"id::t\n1::x\n", 'divided by "::" and has no header'),
        ("i.csv", b"id\tt\n1\tx\n", "divided by tabs"),
        ("i.tsv", b"id,t\n1,x\n", "divided by commas"),
        ("i.xlsx", b"", "unknown kind"),
        ("i.csv", b"a,b\n1,2\n,3\n", "empty cells"),
        ("i.parquet", b"PAR1", "cannot be read"),
        ("i.csv", b"", "not a table with a header"),
        (
            "i.csv",
            b"1,2003,Dinosaur Planet\n2,2004,B\n",
            "looks like data, not like a header; if there is none",
        ),
        ("i.csv", b"a\n1\n1\n", "records 1 and 2 are the same"),
        ("i.csv", b"a\n", "empty"),
        ("i.csv", b"id,t\n1,x\n2,Good, SECRET\n", "ids: row 3: 3 field(s) where the first line has 2"),
        ("i.csv", b"id,t\n1,x\n2,Good, SECRET", "row 3: 3 field(s)"),
        ("i.csv", b"id,t\n1,x\nSECRET", "row 3: 1 field(s)"),
        ("i.csv", b'id,t\n1,x\nSECRET,"y\n"SECRET",z,SECRET\n', "row 4: 3 field(s)"),
        ("i.csv", b'id,t\n"1","x" y\n"2",z\n', "some quotes enclose a cell, and others do not"),
        ("i.csv", b"id,t\n" + b"SECRET" * 200_000 + b",x\n", "row 2: over 1048576 bytes"),
    ],
)
def test_what_cannot_be_read_is_explained(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert message in refused(tmp_path / name)


def test_a_column_that_is_not_there_is_named(tmp_path):
    (tmp_path / "i.csv").write_bytes(b"a,b\n1,2\n")
    (tmp_path / "movies.dat").write_bytes(b"1::x\n")
    assert "has no column 'c'" in refused(tmp_path / "i.csv", "c")
    assert "it has no column '7'" in refused(tmp_path / "i.csv", "7")
    assert "no header" in refused(tmp_path / "movies.dat", "a")


def test_a_separator_is_one_character_and_goes_for_both_files(tmp_path):
    items, users = tmp_path / "items.csv", tmp_path / "users.csv"
    items.write_text("id;genres\n1;x|y\n007;\n")
    users.write_text("since;who\n2020;b\n2021;a\n")
    domain = Domain.from_catalogue(items, max_users=2, users=users, user_column="who", separator=";")
    assert (domain.items, domain.users) == (("1", "007"), ("a", "b"))
    assert domain.features == {"genres": ("x|y", "")}
    with pytest.raises(DomainError, match="one character"):
        read_list(items, separator="::")


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
    with pytest.raises(DomainError, match="users=, which is missing"):
        Domain.from_catalogue(tmp_path / "items.txt", scale=(1, 5, 1), max_users=2, user_column="id")


FLAGS = "|".join("1" if genre in ("Comedy", "War") else "0" for genre in GENRES)
U_ITEM = f"1|Good, Bad|01-Jan-1995||http://x|{FLAGS}\n2|Café||||{'0|' * 18}0\n"
MOVIES = 'movieId,title,genres\n1,"Good, Bad",x|y\n2,Café,\n'


@pytest.mark.parametrize(
    ("name", "content", "features"),
    [
        ("movies.csv", MOVIES.encode(), {"genres": ["x|y", ""]}),
        ("items.tsv", "id\tYear\tName\n1\t1999\tGood, Bad\n2\t\tCafé\n".encode(), {"Year": ["1999", ""]}),
        ("movies.dat", b"1::Good, Bad::x|y\n2::Caf\xe9::\n", {"genres": ["x|y", ""]}),
        ("u.item", U_ITEM.encode("latin-1"), {"genres": ["Comedy|War", ""]}),
    ],
)
def test_titles_and_features_of_published_lists(tmp_path, name, content, features):
    (tmp_path / name).write_bytes(content)
    domain = Domain.from_catalogue(tmp_path / name, scale=(1, 5, 1), max_users=10)
    assert (domain.items, domain.titles) == (("1", "2"), ("Good, Bad", "Café"))
    assert domain.features == {key: tuple(values) for key, values in features.items()}


def test_columns_may_be_named_and_lists_without_titles_have_none(tmp_path):
    path = tmp_path / "items.parquet"
    pl.DataFrame({"id": [1, 2], "title": ["a", "b"], "plot": ["p", None], "rank": [0.5, 2]}).write_parquet(
        path
    )
    found = read_list(path)
    assert (found.ids, found.titles("plot")) == (["1", "2"], ["p", ""])
    assert found.features(["rank"]) == {"rank": ["0.5", "2.0"]}
    assert found.titles() == ["a", "b"]
    assert read_list(path, "title").titles() is None
    (tmp_path / "ids.txt").write_text("7\n8\n")
    (tmp_path / "odd.dat").write_text("1\n2::b\n")
    for name, ids in (("ids.txt", ["7", "8"]), ("odd.dat", ["1", "2"])):
        listed = read_list(tmp_path / name)
        assert (listed.ids, listed.titles(), listed.features()) == (ids, None, {})
    with pytest.raises(DomainError, match="has no column 'no'"):
        found.titles("no")
    with pytest.raises(DomainError, match="no header"):
        listed.features(["no"])
    pl.DataFrame({"id": [1], "title": [[1, 2]]}).write_parquet(path)
    with pytest.raises(DomainError, match="are text"):
        read_list(path).titles()


@pytest.mark.parametrize(
    ("name", "content", "column"),
    [
        ("clicks.csv", b"Kunde,Film,Sterne\nSECRET,A,5\nSECRET,B,3\n", None),
        ("ratings.csv", b"userId,movieId,rating\nSECRET,A,5\nSECRET2,B,3\n", None),
        ("ratings.csv", b"userId,movieId,rating\nSECRET,A,5\nSECRET2,B,3\n", "movieId"),
        ("ratings.csv", b"movieId,customer_no\nA,SECRET\nB,SECRET2\n", None),
        ("ratings.csv", b"SECRET,A,5\nSECRET,B,3\n", "0"),
        ("users.csv", b"user,name\nSECRET,x\nSECRET2,y\n", None),
        ("other.csv", b"who,what\nSECRET,A\nSECRET,B\n", None),
        ("ratings.dat", b"SECRET::A::5::1\nSECRET::B::3::4\n", None),
        ("ids.txt", b"SECRET\nSECRET\n", None),
    ],
)
def test_ratings_are_no_catalogue_and_none_of_their_ids_is_shown(tmp_path, name, content, column):
    (tmp_path / name).write_bytes(content)
    said = refused(tmp_path / name, column)
    assert "is not a catalogue: " in said
    assert "Never take it from ratings" in said


def test_a_catalogue_may_have_columns_about_users(tmp_path):
    for head in ("id,title,user_score,rating", "id,title,users,genres", "id,title,account,x"):
        (tmp_path / "games.csv").write_text(f"{head}\n1,A,5,PG\n2,B,3,PG\n")
        assert of(tmp_path / "games.csv") == ("1", "2")


@pytest.mark.parametrize(
    ("header", "column", "titles"),
    [
        ("id,Name,TITLE", None, "TITLE"),
        ("title,name", None, "name"),  # the first column is the ids
        ("title,id", "id", "title"),
        ("id,Titel", None, None),
    ],
)
def test_the_column_of_titles_is_recognised_in_any_case(tmp_path, header, column, titles):
    (tmp_path / "i.csv").write_text(f"{header}\n{header}\n")
    assert read_list(tmp_path / "i.csv", column).titles_column() == titles
