"""``hushrec fit`` with a real ledger. What leaves on standard output is public, in the strict sense."""

import gc
import re
import tempfile
from pathlib import Path

import polars as pl
import pytest

import hushrec as hr
from hushrec.cli import charges
from support.commands import fit
from support.stopped import stopped

HEADING = "Confidential, for the curator only"


def test_a_release_its_statement_and_what_is_left(here, hushrec, budget):
    shown = hushrec(fit(budget)).out
    release = hr.Release.open("films.safetensors")
    assert release.statement.private
    assert release.settings["rank"] == 3
    assert "\nε = 1 at δ = 1e-06 per user, add-remove\n" in shown
    assert "Left in the ledger: ε = 0, for 0 more releases.\n" in shown
    assert "Next: hushrec recommend films.safetensors" in shown
    assert hr.Ledger.open("ledger.db").state().remaining < 1e-6


def test_without_memory_no_ledger_is_started(here, hushrec, budget, monkeypatch):
    monkeypatch.setattr("hushrec.curator.admit.machine", lambda: (1, 1))
    Path("elsewhere").mkdir()
    command = fit(budget, ledger="elsewhere/new.db", out="other.safetensors")
    assert "Nothing was charged" in hushrec(command, code=2).err
    assert list(Path("elsewhere").iterdir()) == []


def test_nothing_is_charged_for_what_could_not_be_written(release, refused, budget):
    before = hr.Ledger.open("ledger.db").state().head
    assert "exists; choose another file" in refused(fit(budget))
    assert "is not a writable folder" in refused(fit(budget, out="no/films.safetensors"))
    for name in ("films.csv", "films"):
        assert f"name it {name}.safetensors" in refused(fit(budget, out=name))
    assert hr.Ledger.open("ledger.db").state().head == before


def test_a_release_that_was_charged_is_not_lost_with_the_disk(here, hushrec, refused, budget, monkeypatch):
    def full(self, path):
        raise OSError(28, "No space left on device")

    hushrec(f"ledger create ledger.db {budget}")
    with monkeypatch.context() as patch:
        patch.setattr("hushrec.release.artefact.Release.save", full)
        assert "run the same command with another file, without --new-ledger" in refused(fit(budget))
    said = hushrec(fit(budget)).out
    assert "Wrote" in said
    assert "its stored bytes were returned" in said


def test_a_stopped_fit_goes_on_from_the_sums_where_they_are(here, hushrec, refused, budget):
    elsewhere = fit(budget, more="--model global-effects --sums own")
    with stopped():
        result = hushrec(elsewhere, 130)
    assert "The charge stays open: the same call goes on, at no further cost" in result.err
    assert Path("own").stat().st_mode & 0o777 == 0o700
    again = elsewhere.replace(" --new-ledger", "")
    assert "release 0 (GlobalEffects, ε = 1" in refused(again.replace("global-effects", "covariance-svd"))
    table = pl.read_csv("train.csv", infer_schema=False)
    table.head(1000).write_csv("fewer.csv")
    assert "--accept changed" in refused(again.replace("train.csv", "fewer.csv"))
    assert charges.RESUMED in " ".join(hushrec(again).out.split())
    assert [path.suffix for path in Path("own").iterdir()] == [".mark"]
    assert {charge.state for charge in hr.Ledger.open("ledger.db").state().charges} == {"made"}


def test_what_was_dropped_is_told_under_the_confidential_heading_alone(here, hushrec, budget):
    table = pl.read_csv("train.csv", infer_schema=False)
    bad = table.head(17).with_columns(item_id=pl.lit("unknown-film"))
    pl.concat([table, bad]).write_csv("bad.csv")
    result = hushrec(fit(budget, source="bad.csv"))
    before, _, after = result.err.partition(HEADING)
    assert before == ""
    assert "17 (0.9 %) dropped: the item is not in the catalogue" in after
    for text in (result.out, after):
        assert "secret-" not in text
        assert "unknown-film" not in text
    assert HEADING not in result.out


def test_neighbouring_data_give_the_same_public_output(here, hushrec, budget):
    """Removing a person changes no letter but the ledger's random ids and hashes."""
    table = pl.read_csv("train.csv", infer_schema=False)
    table.filter(pl.col("user_id") != table["user_id"][0]).write_csv("fewer.csv")
    Path("one").mkdir()
    Path("two").mkdir()
    one = hushrec(fit(budget, ledger="one/ledger.db", out="one/f.safetensors")).out
    two = hushrec(fit(budget, source="fewer.csv", ledger="two/ledger.db", out="two/f.safetensors")).out

    def public(text):
        return re.sub(r"\s+", " ", re.sub(r"[0-9a-f]{32,}", "…", text)).replace("two/", "one/")

    assert public(one) == public(two)


def test_other_dialects(here, hushrec, budget):
    table = pl.read_csv("train.csv", infer_schema=False)
    renamed = table.rename({"user_id": "who", "item_id": "film", "rating": "stars"})
    renamed.with_columns(pl.col("stars").str.replace(".", ",", literal=True)).write_csv(
        "de.txt", separator=";"
    )
    columns = "--column user_id=who --column item_id=film --column rating=stars"
    options = f"{columns} --format csv --separator ; --decimal , --model covariance-svd --set rank=3".replace(
        ";", "';'"
    )
    result = hushrec(fit(budget, source="de.txt", more=options))
    assert "none dropped or changed" in " ".join(result.err.split())
    table.write_csv("bare.dat", separator="\t", include_header=False)
    more = "--format u.data --column user_id=0 --column item_id=1 --column rating=2"
    Path("other").mkdir()
    result = hushrec(fit(budget, source="bare.dat", ledger="other/b.db", out="bare.safetensors", more=more))
    assert "none dropped or changed" in " ".join(result.err.split())


@pytest.mark.parametrize(
    ("source", "more", "message"),
    [
        ("missing.csv", "", "missing.csv does not exist"),
        ("train.csv", "--column user_id", "--column user_id=customer"),
        ("train.csv", "--column user_id=nosuch", "no column for user_id"),
        ("train.csv", "--model nosuch", "nosuch"),
        ("domain.json", "", "give format="),
    ],
)
def test_refusals_charge_nothing(here, refused, budget, source, more, message):
    assert message in refused(fit(budget, source=source, more=more))
    assert not Path("ledger.db").exists()


def test_files_in_memory_and_on_disk_give_the_same_numbers(here, hushrec, budget, tmp_path, monkeypatch):
    """Without noise, the sums tell; a seeded fit cannot be asked for on the command line."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    table = pl.read_csv("train.csv", infer_schema=False)
    for part in range(3):
        table.gather_every(3, part).write_csv(f"part-{part}.csv")
    domain = hr.Domain.open("domain.json")
    parts = [Path("part-0.csv"), Path("part-[12].csv")]
    loaded = hr.load(parts, domain)
    with hr.load(parts, domain, where="disk") as packed:
        assert list(temporary.iterdir())
        found = packed.gathered()
        assert found.digest() == loaded.digest() == hr.load("train.csv", domain).digest()
    assert list(temporary.iterdir()) == []
    hushrec(
        fit(
            budget, source="part-0.csv part-[12].csv", more="--model covariance-svd --set rank=3 --where disk"
        )
    )
    gc.collect()
    assert list(temporary.iterdir()) == []


def test_a_folder_is_kept_and_takes_the_place_of_the_files(here, hushrec, refused, budget):
    domain = hr.Domain.open("domain.json")
    assert HEADING in hushrec(fit(budget, more="--where packed")).err
    with hr.load(here / "packed", domain) as kept:
        assert kept.folder == here / "packed"
        assert kept.gathered().digest() == hr.load("train.csv", domain).digest()
    assert "packed exists; load it in place" in refused(
        fit(budget, out="b.safetensors", more="--where packed")
    )
    message = refused(fit(budget, source="packed", out="b.safetensors", more="--column user_id=who"))
    assert "leave out columns=" in message


@pytest.mark.spark
def test_spark_reads_and_sums_them(here, hushrec, refused, budget, spark):
    """A model that needs more than sums is refused before its ledger exists."""
    shown = hushrec(fit(budget, more="--where spark"))
    assert hr.Release.open("films.safetensors").statement.private
    assert HEADING in shown.err
    assert "train.csv: " in shown.err
    told = refused(fit(budget, out="b.safetensors", more="--where spark --format csv"))
    assert "Spark does not take format=" in told
    told = refused(
        fit(budget, ledger="new.db", out="b.safetensors", more="--where spark --model private-als")
    )
    assert "PrivateALS" in told
    assert not Path("new.db").exists()


def test_a_prior_is_named_in_the_statement_and_a_wrong_one_refused_before_a_ledger_exists(
    here, hushrec, refused, budget
):
    domain = hr.Domain.open("domain.json")
    public = hr.baseline(hr.load(pl.read_csv("train.csv").head(200), domain), hr.GlobalEffects())
    public.save("public.safetensors")
    hushrec(fit(budget, more="--model global-effects --prior public.safetensors"))
    made = hr.Release.open("films.safetensors").statement
    assert "are declared public" in str(made)
    unused = fit(
        budget,
        ledger="none.db",
        out="other.safetensors",
        more="--model private-ease --prior films.safetensors",
    )
    assert refused(unused)
    assert not Path("none.db").exists()


# -- what is printed --------------------------------------------------------------------------------------

PEOPLE = "--delta 1e-6 --unit user --adjacency add-remove"
SEVERAL = f"ledger create ledger.db --epsilon 4 {PEOPLE} --max-releases 52"
RANDOM = (
    "randomize train.csv --domain domain.json --accept weak --ledger l.db --new-ledger -o d.csv "
    "--method randomized-response --epsilon 30 --delta 0 --unit user --adjacency replace"
)
KINDS = {
    "one": ([], fit(f"--epsilon 1 {PEOPLE}")),
    "of several": ([SEVERAL], "{fit} --epsilon auto --ledger ledger.db --model covariance-svd"),
    "weak": ([], fit(f"--epsilon 10 {PEOPLE}", more="--model covariance-svd --accept weak")),
    "on a condition": ([], fit(f"--epsilon 1 {PEOPLE}", more="--model posterior-sample-mf --set rank=2")),
    "of released data": (
        [RANDOM],
        "fit d.csv --model item-knn -o films.safetensors",
    ),
}


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.full] * (kind == "on a condition")) for kind in KINDS]
)
def test_at_most_fifteen_lines_are_printed_and_what_matters_first(here, hushrec, monkeypatch, kind):
    """What the lists are worth, then what all releases together may reveal, and then this one."""
    monkeypatch.setenv("COLUMNS", "80")
    before, line = KINDS[kind]
    for command in before:
        hushrec(command)
    own = "fit train.csv --domain domain.json -o films.safetensors"
    lines = hushrec(line.format(fit=own)).out.splitlines()
    assert len(lines) <= 15
    assert max(map(len, lines)) <= 80
    release = hr.Release.open("films.safetensors")
    told = " ".join(line for line in lines if not line.startswith("Started "))
    assert told.startswith(f"Wrote films.safetensors. {release.taste} ")
    said = release.statement
    places = [told.index(said.guarantee.loss("alone" if "of several" in kind else "headline"))]
    if "of several" in kind:
        places.insert(0, told.index("All 52 releases that this ledger allows, together: ε = 4 at"))
    assert places == sorted(places)
    assert "The whole statement: hushrec show films.safetensors Next: hushrec recommend films.saf" in told
    assert "σ = " not in told
    assert (said.caveats != ()) == ("CONDITIONAL ON CONVERGENCE" in told) == (kind == "on a condition")
