"""``hushrec lists``: the curator's private lists, as the library makes them."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import hushrec as hr


def lists(table):
    return [
        *zip(
            *table.sort_by([("user_id", "ascending"), ("rank", "ascending")]).to_pydict().values(),
            strict=True,
        )
    ]


def expected(release, n, allowed=None, domain="domain.json"):
    known = hr.load("train.csv", hr.Domain.open(domain))
    return lists(pa.concat_tables(hr.recommend_all(hr.Release.open(release), known, n, allowed=allowed)))


@pytest.mark.parametrize("name", ["lists.parquet", "lists.csv"])
def test_everybody_gets_a_list(release, hushrec, name):
    done = hushrec(f"lists films.safetensors train.csv --domain domain.json -n 3 -o {name}")
    read = parquet.read_table(name) if name.endswith("parquet") else csv.read_csv(name)
    assert lists(read) == expected(release, 3)
    assert Path(name).stat().st_mode & 0o777 == 0o600
    assert done.out.startswith(f"Wrote {name}, for you alone")
    assert "never publish the file" in done.out
    assert "Confidential" in done.err
    users = len(csv.read_csv("train.csv")["user_id"].unique())
    assert "secret" not in done.out + done.err
    assert str(users) not in done.out + done.err.replace("domain.json", "")


def test_lists_of_block_files(release, hushrec):
    hr.load("train.csv", hr.Domain.open("domain.json"), where=Path("blocks"))
    hushrec("lists films.safetensors blocks --domain domain.json -n 3 -o lists.csv")
    assert lists(csv.read_csv("lists.csv")) == expected(release, 3)


def test_lists_of_what_is_allowed(release, hushrec):
    Path("stock.txt").write_text("i00001\ni00007\nsold out\n")
    command = "lists films.safetensors train.csv --domain domain.json --allowed stock.txt -o lists.csv"
    assert "catalogue: 1 ids of stock.txt" in hushrec(command).err
    found = lists(csv.read_csv("lists.csv"))
    assert found == expected(release, 10, ["i00001", "i00007"])
    assert {item for _, item, _, _ in found} <= {"i00001", "i00007"}


def test_lists_leave_out_what_was_not_liked(ranking, hushrec):
    hushrec("domain --items catalogue.csv --scale 1 5 1 --likes 4 --max-users 200 -o likes.json")
    hushrec("lists likes.safetensors train.csv --domain likes.json -n 30 -o lists.csv")
    read, seen = csv.read_csv("lists.csv"), csv.read_csv("train.csv")
    assert not len(read.join(seen, ["user_id", "item_id"], join_type="left semi"))
    assert set(read["user_id"].to_pylist()) == set(seen["user_id"].to_pylist())


@pytest.mark.spark
def test_lists_made_on_spark(release, hushrec, refused, spark):
    table = Path("train.csv").resolve()  # Spark was started in another folder
    command = f"lists films.safetensors {table} --domain domain.json -n 3 --where spark -o lists"
    assert "never publish the folder" in hushrec(command).out
    assert lists(parquet.read_table("lists")) == expected(release, 3)
    assert "lists exists; choose another folder with -o" in refused(command)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("t --domain domain.json -o l --where spark --separator ;", "Spark does not take separator="),
        ("train.csv --domain domain.json -o train.csv", "exists; choose another file"),
        ("train.csv --domain domain.json -o lists.json", "name it lists.json.parquet or lists.json.csv"),
        ("postgresql://host/db --domain domain.json -o lists.csv", "an address with :// is not read"),
    ],
)
def test_options_that_do_not_go_together(release, refused, options, message):
    assert message in refused(f"lists films.safetensors {options}")
    assert not Path("lists.csv").exists()


def test_a_person_s_own_ratings_are_no_option_of_it(release, hushrec):
    line = "lists films.safetensors train.csv --domain domain.json -o lists.csv"
    for own in ("--rating i00001=5", "--user secret-u00001", "--why"):
        assert "No such option" in hushrec(f"{line} {own}", code=2).err
    assert not Path("lists.csv").exists()
