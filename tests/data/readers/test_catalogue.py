import polars as pl
import pytest

from hushrec.data.domain import Domain
from hushrec.data.readers.catalogue import read_ids
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
        ("none.csv", None, None, "none.csv"),
        ("items.xlsx", b"", None, "unknown kind"),
        ("items.csv", b"a,b\n1,2\n", "c", "cannot be read"),
        ("items.csv", b"a,b\n1,2\n,3\n", None, "empty cells"),
        ("movies.dat", b"1::x\n", "id", "no header"),
        ("items.txt", b"\xff\xfe\n", None, "cannot be read"),
        ("items.parquet", b"PAR1", None, "cannot be read"),
        ("items.csv", b"a\n1\n1\n", None, "more than once"),
        ("items.csv", b"a\n", None, "empty"),
    ],
)
def test_what_cannot_be_read_is_explained(tmp_path, name, content, column, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DomainError, match=message):
        of(tmp_path / name, column)


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
