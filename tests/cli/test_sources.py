"""Where a command's ratings come from: paths as ever, or one query of one database."""

import sqlite3
from pathlib import Path

import polars as pl
import pytest

import hushrec as hr
from hushrec.cli import sources
from hushrec.errors import DataError
from support import databases
from support.commands import fit

QUERY = "SELECT user_id, item_id, rating FROM ratings"
PASSWORD = "hunter2"


@pytest.fixture
def shop(here):
    """A file of SQLite with the training part, beside the files."""
    table = pl.read_csv("train.csv", infer_schema=False)
    rows = [(*row, None) for row in table.select("user_id", "item_id", "rating").rows()]
    return databases.sqlite(Path("shop.db"), rows)


def test_paths_are_paths_and_a_query_makes_a_database(tmp_path):
    assert sources.named(["a.csv", "b/*.csv"], None) == [Path("a.csv"), Path("b/*.csv")]
    assert sources.named(["shop.db"], "SELECT 1") == [hr.Database("shop.db", "SELECT 1")]
    file = tmp_path / "ratings.sql"
    file.write_text("SELECT 'naïve'", encoding="utf-8")
    assert sources.named(["shop.db"], f"@{file}")[0].query == "SELECT 'naïve'"


@pytest.mark.parametrize(
    ("given", "query", "message"),
    [
        ([f"postgresql://ann:{PASSWORD}@host/db"], None, "say what to read there, --query"),
        (["a.csv", f"postgresql://ann:{PASSWORD}@host/db"], None, "say what to read there, --query"),
        (["a.db", f"postgresql://ann:{PASSWORD}@host/db"], "SELECT 1", "name it alone"),
        (["a.db"], "@nowhere.sql", "nowhere.sql cannot be read: No such file"),
    ],
)
def test_what_is_not_one_database_is_refused_without_its_password(given, query, message):
    with pytest.raises(DataError, match=message) as caught:
        sources.named(given, query)
    assert PASSWORD not in str(caught.value)


def test_a_fit_of_a_query_is_the_fit_of_the_file(shop):
    domain = hr.Domain.open("domain.json")
    allowed = hr.Budget(epsilon=1, delta=1e-6, unit="user", adjacency="add-remove")
    with sources.Given(query=QUERY).load(["shop.db"], domain) as packed:
        assert isinstance(packed, hr.Blocks), "nobody knows beforehand how many rows come"
        for name, private in (("query", packed), ("file", hr.load("train.csv", domain))):
            made = hr.testing.fit(private, hr.CovarianceSVD(rank=3), allowed, entropy=hr.testing.Seeded(3))
            made.save(f"{name}.safetensors")
    assert Path("query.safetensors").read_bytes() == Path("file.safetensors").read_bytes()


@pytest.mark.full
def test_every_command_reads_a_query(shop, hushrec, budget):
    Path("ratings.sql").write_text(QUERY + ";\n")
    given = f"shop.db --query '{QUERY}'"
    assert "A fit goes on with these records" in hushrec(f"check {given} --domain domain.json").out
    shown = hushrec(
        fit(budget, source="shop.db", more="--model covariance-svd --set rank=3 --query @ratings.sql")
    )
    assert "shop.db: 1,800 records" in shown.err
    assert "records" in hushrec(f"pack {given} --domain domain.json --to packed").err
    known = "evaluate films.safetensors --domain domain.json --test test.csv --train"
    queried = hushrec(f"{known} shop.db --train-query '{QUERY}'")
    assert queried.out == hushrec(f"{known} train.csv").out
    lists = f"lists films.safetensors {given} --domain domain.json -o lists.csv"
    assert "Wrote lists.csv" in hushrec(lists).out
    cost = "--unit user --adjacency replace --epsilon 4 --delta 0 --ledger data.db --new-ledger"
    made = hushrec(f"randomize {given} --domain domain.json --method randomized-response {cost} -o data.csv")
    assert "Wrote data.csv" in made.out


def test_a_query_that_fails_charges_nothing(shop, hushrec, refused, budget):
    hushrec(f"ledger create ledger.db {budget}")
    before = hr.Ledger.open("ledger.db").head
    for query in ("SELECT * FROM nowhere", "DELETE FROM ratings"):
        assert "must be one SELECT" in refused(fit(budget, source="shop.db", more=f"--query '{query}'"))
    assert "is a ledger of hushrec" in refused(fit(budget, source="ledger.db", more=f"--query '{QUERY}'"))
    assert hr.Ledger.open("ledger.db").head == before
    with sqlite3.connect(shop) as database:
        assert database.execute("SELECT count(*) FROM ratings").fetchone() == (1800,)
    database.close()


def test_options_of_files_do_not_go_with_a_query(shop, refused):
    line = f"check shop.db --query '{QUERY}' --domain domain.json"
    assert "go with a file" in refused(f"{line} --format csv")
    assert "give names in columns=" in refused(f"{line} --column user_id=0")
