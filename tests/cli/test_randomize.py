"""``hushrec randomize`` and ``show`` of data sets, with real ledgers."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

import hushrec as hr
from hushrec.errors import LedgerError
from hushrec.models.du_leighton_patel.released_data import ReleasedData

BUDGET = "--epsilon 30 --delta 0 --unit user --adjacency replace"
NEAR = "--set keep_probability=0.9 --set group_probability=0.9 --set threshold=0.5 --set distance=cosine"


def command(method="randomized-response", source="train.csv", out="released.parquet", more=BUDGET):
    """The command; the first release of a ledger starts it."""
    ledger = "ledger.db" if Path("ledger.db").exists() else "ledger.db --new-ledger"
    files = f"{source} --domain domain.json --ledger {ledger} -o {out}"
    return f"randomize {files} --method {method} --accept weak {more}"


@pytest.fixture
def features(here):
    """Public genres of the films."""
    catalogue = pl.read_csv("catalogue.csv", infer_schema=False).rename({"label": "title"})
    genres = [("Drama", "Comedy|Drama", "War")[place % 3] for place in range(len(catalogue))]
    catalogue.with_columns(genres=pl.Series(genres)).write_csv("features.csv")
    return "features.csv"


def test_a_data_set_its_statement_and_what_is_left(here, hushrec):
    result = hushrec(command(more=f"{BUDGET} --set sample=10"))
    data = ReleasedData.open("released.parquet")
    assert data.statement.private
    assert data.n_people == 120
    assert data.settings["answered"] == data.settings["sample"] == 10
    assert data.statement.epsilon == pytest.approx(30)
    assert data.statement.local.epsilon == pytest.approx(3)
    shown = " ".join(result.out.split())
    assert "Left in the ledger: ε = 0, for 0 more releases. " in shown
    assert "Next: hushrec fit released.parquet" in shown
    assert "Confidential" in result.err
    assert "secret" not in result.out + result.err + Path("released.parquet.statement.json").read_text()
    whole = " ".join(hushrec("show released.parquet").out.split())
    assert "one cell 3 " in whole
    assert "one user, 10 cells 30 " in whole
    facts = json.loads(Path("released.parquet.statement.json").read_text())
    assert facts["statement"]["ledger"]["file"] == "ledger.db"
    assert hr.Ledger.open("ledger.db").state().remaining < 1e-6


def test_a_plan_shows_the_groups_of_a_table(here, hushrec, refused, features):
    line = f"randomize --domain domain.json --method distance-based {NEAR} --set groups={features} --plan"
    assert "30 groups of 9 to" in hushrec(line).out
    Path("strange.csv").write_text("id,genres\nnobody,Drama\n")
    assert "none of the catalogue's items" in refused(line.replace(features, "strange.csv"))


def test_groups_of_a_release_and_groups_of_the_ratings(here, hushrec, release):
    (here / "own").mkdir()  # of another adjacency, so in a ledger of its own
    hushrec(
        f"randomize train.csv --domain domain.json --method distance-based {NEAR} "
        f"--set groups={release} --ledger own/two.db --new-ledger --accept weak -o covered.parquet"
    )
    assert ReleasedData.open("covered.parquet").statement.private
    hushrec("ledger extend own/two.db --epsilon 5000 --max-releases 2")
    shown = hushrec(
        f"randomize train.csv --domain domain.json --method distance-based {NEAR} "
        "--set groups=ratings --ledger own/two.db --accept weak -o open.parquet"
    ).out
    assert shown.startswith("Wrote open.parquet, with its statement next to it.\nGROUPS NOT COVERED: ")
    assert "holds only against readers who learn nothing from the groups" in " ".join(shown.split())
    assert not ReleasedData.open("open.parquet").statement.private


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"--method randomized-response {BUDGET}", ["one cell 1 ", "RandomizedResponse: ε"]),
        (f"--method distance-based {NEAR} --set groups=features.csv", ["one slot", "item substitution"]),
        (f"--method distance-based {NEAR} --set groups=ratings", ["one slot", "GROUPS NOT COVERED"]),
    ],
)
def test_a_plan_opens_no_ratings(here, hushrec, features, line, expected):
    for source in ("", "missing.csv"):
        shown = " ".join(hushrec(f"randomize {source} --domain domain.json {line} --plan").out.split())
        assert all(text in shown for text in expected), shown
    assert not Path("ledger.db").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (command(more=""), "needs a budget: Budget("),
        (command(more="--epsilon 1 --delta 0"), "give --unit and --adjacency as well"),
        (command("distance-based", more=NEAR), "groups"),
        (command("distance-based", more=f"{NEAR} --set groups=no.safetensors"), "cannot be read"),
        (command("distance-based", more=f"{NEAR} --set groups=no.csv"), "no.csv"),
        (command(out="released.txt"), "released.txt.parquet or released.txt.csv"),
        (
            f"randomize train.csv --domain domain.json --method randomized-response {BUDGET}",
            "give --plan instead",
        ),
    ],
)
def test_refusals_charge_nothing(here, refused, line, message):
    assert message in refused(line)
    assert not Path("ledger.db").exists()


def test_large_data_that_could_not_be_written_are_lost_and_it_is_said(here, hushrec, refused, monkeypatch):
    hushrec(f"ledger create ledger.db {BUDGET}")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hushrec.models.du_leighton_patel.released_data.LARGEST_STORED", 10)
    with monkeypatch.context() as patch:
        patch.setattr("hushrec.models.du_leighton_patel.released_data.write", full)
        assert "too large for the ledger to keep, so it is lost" in refused(command())
    assert "its charge is spent, and the same call makes another" in hushrec(command(), 2).err
    assert "hushrec ledger extend" in refused(command())


def test_the_same_number_of_people_gives_the_same_public_output(here, hushrec):
    """Somebody's ratings replaced by another's change no letter but random ids and hashes."""
    table = pl.read_csv("train.csv", infer_schema=False)
    person, other = table["user_id"].unique().sort()[:2].to_list()
    own = table.filter(pl.col("user_id") != person)
    copied = table.filter(pl.col("user_id") == other).with_columns(user_id=pl.lit(person))
    pl.concat([own, copied]).write_csv("replaced.csv")

    def public(source, folder):
        Path(folder).mkdir()
        line = command(source=source, out=f"{folder}/r.parquet").replace("ledger.db", f"{folder}/ledger.db")
        assert "--new-ledger" in line
        return re.sub(r"\s+", " ", re.sub(r"[0-9a-f]{32,}", "…", hushrec(line).out)).replace(folder, "…")

    assert public("train.csv", "first") == public("replaced.csv", "second")


def test_a_data_set_is_fitted_free_of_charge(here, hushrec, refused):
    hushrec(command())
    result = hushrec("fit released.parquet --model item-knn -o model.safetensors")
    assert "Next: hushrec recommend model.safetensors" in result.out
    assert hr.Release.open("model.safetensors").statement == ReleasedData.open("released.parquet").statement
    assert "take no options but" in refused(
        f"fit released.parquet --model item-knn -o m.safetensors {BUDGET}"
    )
    assert "Wrote chosen.safetensors" in hushrec("fit released.parquet -o chosen.safetensors").out
    assert "hushrec fit" in refused("recommend released.parquet")
    Path("cut.parquet").write_bytes(Path("released.parquet").read_bytes()[:-9])
    assert "or is damaged: try hushrec show" in refused("fit cut.parquet -o m.safetensors")


class Response(hr.RandomizedResponse):
    """A method of somebody's own."""


def test_a_strangers_method_is_named_before_the_charge(here, hushrec, monkeypatch):
    monkeypatch.setattr("hushrec.models.class_of", lambda name, among: Response)
    said = f"AUTHOR'S CLAIM: {__name__}.Response is not part of hushrec"
    plan = f"randomize --domain domain.json --method randomized-response {BUDGET} --plan"
    assert hushrec(plan).out.startswith(said)

    def failing(*args, **more):
        raise LedgerError("the charge was reached")

    with monkeypatch.context() as patch:
        patch.setattr(hr.Ledger, "charge", failing)
        stopped = hushrec(command(), code=2).err
    assert stopped.index(said) < stopped.index("the charge was reached")
    result = hushrec(command().replace(" --new-ledger", ""))
    assert said in result.err
    assert said in " ".join(result.out.split())
    assert not ReleasedData.open("released.parquet").statement.private
