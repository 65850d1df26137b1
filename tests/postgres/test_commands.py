"""The command line with the URL of a ledger, from the first release to a larger total."""

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import hushrec as hr
from hushrec.cli.app import app
from hushrec.errors import LedgerStale
from hushrec.release.artefact import Release
from support.ledgers import as_user
from support.postgres import PASSWORD

pytestmark = pytest.mark.postgres
RUNNER = CliRunner()


def run(*arguments: object, code: int = 0) -> str:
    done = RUNNER.invoke(app, [*map(str, arguments)])
    said = done.output + (str(done.exception) if done.exception else "")
    assert PASSWORD not in said
    assert done.exit_code == code, said
    return said


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the sums of a ledger in a database are kept."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def url(postgres) -> str:
    return str(postgres.url(postgres.database()))


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    table = pl.from_arrow(hr.synthetic.netflix_like(60, 12, 400, 7).table())
    assert isinstance(table, pl.DataFrame)
    table.write_csv(tmp_path / "ratings.csv")
    return tmp_path / "ratings.csv"


@pytest.fixture
def domain(csv: Path, tmp_path: Path) -> Path:
    out = tmp_path / "domain.json"
    items = tmp_path / "items.csv"
    items.write_text(
        "item_id\n" + "\n".join(sorted(pl.read_csv(csv, infer_schema=False)["item_id"].unique()))
    )
    run("domain", "--items", items, "--scale", 1, 5, 1, "--max-users", 100, "--max-per-user", 12, "-o", out)
    return out


def test_releases_are_charged_and_a_restored_database_is_refused(
    postgres, url: str, csv: Path, domain: Path, tmp_path: Path
) -> None:
    paid = ("--epsilon", 0.5, "--delta", 1e-4, "--unit", "user", "--adjacency", "add-remove")
    total = ("--epsilon", 4, *paid[2:])
    releases = tmp_path / "releases"
    releases.mkdir()
    said = run("ledger", "create", url, *total, "--max-releases", 3)
    name = url.rpartition("/")[2]
    assert f"Ledger {name}:" in said
    spender = as_user(url, "pat", "hushrec_spender")
    fit = ("fit", csv, "--domain", domain, "--model", "global-effects", *paid, "--ledger")
    first = releases / "first.safetensors"
    run(*fit, spender, "-o", first)
    assert Release.open(first).statement.ledger["file"] == name
    assert "127.0.0.1" not in first.read_bytes()[:20_000].decode("utf-8", "replace")
    assert json.loads(run("ledger", "export", url))["records"]
    copy = postgres.database()
    postgres.psql(f"DROP DATABASE {copy}")
    postgres.psql(f"CREATE DATABASE {copy} TEMPLATE {name}")
    run(*fit, spender, "-o", releases / "second.safetensors")
    hr.Ledger.open(url, releases)
    restored = str(postgres.url(copy, query=f"ledger={name}"))
    run("ledger", "show", restored)
    with pytest.raises(LedgerStale, match="a backup was restored"):
        hr.Ledger.open(restored, releases)
    # The folder of -o is looked at before the ratings are read, and nothing is charged.
    assert "a backup was restored" in run(*fit, restored, "-o", releases / "third.safetensors", code=2)


def test_one_raiser_proposes_and_another_confirms(url: str) -> None:
    run("ledger", "create", url, "--epsilon", 1, "--delta", 1e-6, "--unit", "user", "--adjacency", "replace")
    ann, bob = (as_user(url, name, "hushrec_raiser") for name in ("ann", "bob"))
    said = run("ledger", "extend", ann, "--epsilon", 3)
    assert "Proposed by ann: ε = 3 and 1 releases" in " ".join(said.split())
    assert json.loads(run("ledger", "show", url, "--json"))["proposed"]["proposed_by"] == "ann"
    assert "cannot confirm it" in run("ledger", "extend", "--confirm", ann, "--epsilon", 3, code=2)
    assert "confirm exactly that" in run("ledger", "extend", "--confirm", bob, "--epsilon", 4, code=2)
    run("ledger", "extend", "--confirm", bob, "--epsilon", 3)
    facts = json.loads(run("ledger", "show", url, "--json"))
    assert facts["epsilon"] == 3.0
    assert "proposed" not in facts


def test_a_url_is_never_repeated(url: str) -> None:
    for given in (
        url,
        url + "?ledger=x",
        url.replace("postgresql://", "postgresql:/"),
        url + "/x@y",
        url + "?x=1",
        url.replace("postgresql://", "postgresql+psycopg://"),
        f"host=127.0.0.1 password={PASSWORD} dbname=films",
    ):
        for command in ("show", "export"):
            run("ledger", command, given, code=2)
