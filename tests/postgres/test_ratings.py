"""Releases of ratings in PostgreSQL: those of the same file, or none at all and nothing charged."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

import hushrec as hr
from support.databases import QUERY, postgresql
from support.postgres import PASSWORD

pytestmark = pytest.mark.postgres
BUDGET = ("--epsilon", "1", "--delta", "1e-6", "--unit", "user", "--adjacency", "add-remove")


@pytest.fixture(scope="module")
def made():
    """Ratings of a small population, and their rows."""
    ratings = hr.synthetic.netflix_like(300, 40, 6000, 3)
    return ratings, [(*row, 5) for row in ratings.to_polars().select("user_id", "item_id", "rating").rows()]


def command(*line):
    """A command in a process of its own: what it may not show is looked for in all that it prints."""
    whole = [sys.executable, "-c", "from hushrec.cli import main; main()", *map(str, line)]
    return subprocess.Popen(whole, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_a_fit_of_a_query_is_the_fit_of_the_file(made, postgres, tmp_path):
    ratings, rows = made
    ratings.to_polars().write_csv(tmp_path / "ratings.csv")
    source = hr.Database(postgresql(postgres, rows), f"{QUERY} ORDER BY rating, item_id")
    budget = hr.Budget(epsilon=1, delta=1e-6, unit="user", adjacency="add-remove")
    with hr.load(source, ratings.domain, where="disk") as blocks:
        private = {
            "file": hr.load(tmp_path / "ratings.csv", ratings.domain),
            "query": hr.load(source, ratings.domain),
            "blocks": blocks,
        }
        for name, given in private.items():
            release = hr.testing.fit(given, hr.CovarianceSVD(rank=3), budget, entropy=hr.testing.Seeded(5))
            release.save(tmp_path / f"{name}.safetensors")
    saved = {(tmp_path / f"{name}.safetensors").read_bytes() for name in private}
    assert len(saved) == 1


@pytest.mark.parametrize("end", ["the backend", "the server"])
def test_a_fit_whose_connection_is_cut_charges_nothing(made, postgres, tmp_path, end):
    ratings, rows = made
    address = postgresql(postgres, rows)
    ratings.domain.save(tmp_path / "domain.json")
    budget = hr.Budget(epsilon=1, delta=1e-6, unit="user", adjacency="add-remove")
    ledger = hr.Ledger.create(tmp_path / "ledger.db", budget)
    before = ledger.head
    slow = f"SELECT r.*, pg_sleep(0.01)::text AS wait FROM ({QUERY}) AS r"
    run = command(
        "fit", address, "--query", slow, "--domain", tmp_path / "domain.json", *BUDGET,
        "--ledger", tmp_path / "ledger.db", "-o", tmp_path / "films.safetensors",
        "--model", "covariance-svd", "--set", "rank=3",
    )  # fmt: skip
    mine = f"FROM pg_stat_activity WHERE datname = '{address.rpartition('/')[2]}' AND query LIKE 'COPY%'"
    for _ in range(300):
        if postgres.psql(f"SELECT count(*) {mine}").strip() == "1":
            break
        time.sleep(0.1)
    if end == "the server":
        postgres.stop("immediate")
        postgres.start()
    else:
        postgres.psql(f"SELECT pg_terminate_backend(pid) {mine}")
    shown, _ = run.communicate(timeout=120)
    assert run.returncode == 2
    assert "the connection ended before the last row" in " ".join(shown.split())
    assert PASSWORD not in shown
    assert "Traceback" not in shown
    assert hr.Ledger.open(tmp_path / "ledger.db").head == before
    assert not (tmp_path / "films.safetensors").exists()


def test_a_command_shows_no_password(made, postgres, tmp_path):
    ratings, rows = made
    address = postgresql(postgres, rows)
    ratings.domain.save(tmp_path / "domain.json")
    run = command("check", address, "--query", QUERY, "--domain", tmp_path / "domain.json")
    shown, _ = run.communicate(timeout=120)
    assert run.returncode == 0
    assert f"records  {len(rows):,}" in shown
    assert PASSWORD not in shown
    assert sorted(Path(tmp_path).iterdir()) == [tmp_path / "domain.json"]
