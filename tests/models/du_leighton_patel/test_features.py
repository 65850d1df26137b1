"""Features of items, read from the lists that publishers make."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from hushrec.data.domain import Domain
from hushrec.errors import DomainError
from hushrec.models.du_leighton_patel.features import ItemFeatures, read

DOMAIN = Domain(["1", "007", "3", "4"], scale=(1, 5, 1), max_users=10)


def written(tmp_path, name, content):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return tmp_path / name


def dense(found):
    return found.matrix.toarray().tolist()


DAT = b"007::Mis\xe9rables::Action|Drama\n9::Other::War\n1::Bond::Action\n1::B::War\n\n3::No::\n"
CSV = """movieId,title,genres
007,"x, y|z",Action|Drama
9,Other,War
1,Bond,Action
1,Twice,War
3,None,(no genres listed)
"""
TSV = "id\ttitle\tgenre\n007\tx\tAction| Drama \n9\tO\tWar\n1\tBond\tAction\n1\tB\tWar\n3\tNo\t\n"


@pytest.mark.parametrize(
    ("name", "content", "prefix"),
    [("movies.dat", DAT, ""), ("movies.csv", CSV, "genres="), ("items.tsv", TSV, "genre=")],
)
def test_genres_of_published_lists(tmp_path, name, content, prefix):
    found = read(written(tmp_path, name, content), DOMAIN)
    assert found.names == (f"{prefix}Action", f"{prefix}Drama", f"{prefix}War")
    # Of items that are there, in the order of the domain; of two lines of an item the first; 3 has none.
    assert dense(found) == [[1, 0, 0], [1, 1, 0], [0, 0, 0], [0, 0, 0]]


def test_flags_of_a_list_of_items(tmp_path):
    flags = ["|".join("1" if k in own else "0" for k in range(19)) for own in ({1, 8}, {18}, set())]
    lines = b"".join(
        b"%s|Caf\xe9|01-Jan-1995||http://x|%s\n" % (item, own.encode())
        for item, own in zip((b"007", b"4", b"1"), flags, strict=True)
    )
    found = read(written(tmp_path, "u.item", lines), DOMAIN)
    assert found.names == ("Action", "Drama", "Western")
    assert dense(found) == [[0, 0, 0], [1, 1, 0], [0, 0, 0], [0, 0, 1]]


def test_tables_with_a_header(tmp_path):
    columns = {
        "year": [1994.0, None, 2001.0],
        "title": ["a", "b", "c"],
        "item": ["1", "3", "007"],
        "rating": [18, 0, 16],
        "tags": ["x|y", None, "y"],
    }
    pq.write_table(pa.table(columns), tmp_path / "items.parquet")
    found = read(tmp_path / "items.parquet", DOMAIN, column="item")
    assert found.names == ("year", "rating", "tags=x", "tags=y")
    assert dense(found) == [[1994, 18, 1, 1], [2001, 16, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
    chosen = read(tmp_path / "items.parquet", DOMAIN, column="item", features=["tags", "year"])
    assert chosen.names == ("tags=x", "tags=y", "year")


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("none.csv", None, {}, "none.csv"),
        ("ids.txt", "1\n2\n", {}, "does not hold features"),
        ("u.user", "1|24|M|x|y\n", {}, "does not hold features"),
        ("u.item", "1|Bond\n", {}, "does not hold features"),
        ("movies.dat", "1::x\n", {}, "does not hold features"),
        ("movies.dat", "1::x::Drama\n", {"features": ["year"]}, "no header"),
        ("movies.csv", "id,title\n1,x\n", {}, "except ids and titles"),
        ("movies.csv", "id,title\n1,x\n", {"features": ["genre"]}, "no column 'genre'"),
        ("movies.csv", "id,year\n1,inf\n", {}, "finite"),
        ("movies.csv", "id,year\n1,nan\n", {}, "finite"),
    ],
)
def test_what_cannot_be_read_is_explained(tmp_path, name, content, options, message):
    if content is not None:
        written(tmp_path, name, content)
    with pytest.raises(DomainError, match=message):
        read(tmp_path / name, DOMAIN, **options)


def test_features_are_numbers_with_names():
    for matrix, names in ((np.ones((2, 3)), ("a", "b")), (np.full((2, 1), np.nan), ("a",))):
        with pytest.raises(DomainError, match="finite numbers"):
            ItemFeatures(matrix, names)
    found = ItemFeatures([[1, 0], [0, 2.5]], ("a", "b"))
    assert (found.matrix.dtype, found.matrix.nnz) == (np.float64, 2)
    assert repr(found) == "ItemFeatures(2 items, 2 features)"


def test_digests_tell_features_apart():
    matrices = [[1.0, 0], [0, 2]], [[1.0, 0], [0, 3]], [[0, 1.0], [0, 2]], [[1.0, 0], [0, 2], [0, 0]]
    given = [ItemFeatures(matrix, ("a", "b")) for matrix in matrices]
    given.append(ItemFeatures(matrices[0], ("a", "c")))
    assert len({each.digest for each in given}) == len(given)
    assert given[0].digest == ItemFeatures(given[0].matrix, ("a", "b")).digest
    stored = sparse.coo_array(([1.0, 0.0, 1.5, 0.5], ([0, 0, 1, 1], [0, 1, 1, 1])))
    assert given[0].digest == ItemFeatures(stored, ("a", "b")).digest


def test_a_set_of_names_is_refused(tmp_path):
    path = written(tmp_path, "items.csv", "item,tags,year\n1,a,1999\n")
    with pytest.raises(DomainError, match=r"another order in each process; give features as a list"):
        read(path, DOMAIN, features={"tags", "year"})
    with pytest.raises(DomainError, match=r"another order in each process; give them as a tuple"):
        ItemFeatures(np.eye(2), {"tags", "year"})
