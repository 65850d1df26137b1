"""The how-to pages of a ledger over time: what they tell to type does what they say."""

import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import hushrec as hr
from hushrec.cli.app import app

DOCS = Path(__file__).resolve().parents[1] / "docs"
AFTER = ("load#New items and new users", "for-lawyers#A user asks to be deleted")
"""Parts of pages that go on with the ledger of the first one."""


def blocks(part, language):
    """The blocks of a page, PAGE, or of one of its parts, PAGE#HEADING."""
    page, _, heading = part.partition("#")
    text = (DOCS / f"{page}.md").read_text("utf-8")
    if heading:
        text = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def lines(part):
    """Every command of a part, in order, with what is after its #."""
    for block in blocks(part, "sh"):
        for line in block.replace("\\\n", "").splitlines():
            command, _, remark = line.partition("  # ")
            yield command, remark.strip()


def run(part):
    """Type the commands of a part; returns all that they printed."""
    printed = []
    for command, remark in lines(part):
        if not command.startswith("hushrec "):
            subprocess.run(command, shell=True, check=True)
            continue
        command, _, file = command.partition(" > ")
        done = CliRunner().invoke(app, shlex.split(command)[1:])
        if file:
            Path(file).write_text(done.stdout, "utf-8")
        assert done.exit_code == (2 if remark == "refused" else 0), f"{command}\n{done.output}"
        printed.append(done.output)
    return printed


def write_clicks(path, items, n_users, rng):
    rows = [
        f"user{user},{items[item]}"
        for user in range(n_users)
        for item in rng.choice(len(items), 6, replace=False)
    ]
    path.write_text("\n".join(["user_id,item_id", *rows]) + "\n", "utf-8")


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A folder with a catalogue, one that grew, and clicks, as the pages assume them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    rng, items = np.random.default_rng(0), [f"item{n}" for n in range(40)]
    (tmp_path / "items.txt").write_text("\n".join(items[:30]) + "\n", "utf-8")
    (tmp_path / "items-june.txt").write_text("\n".join(items) + "\n", "utf-8")
    for name in ("week-01", "week-02", "week-03", "clicks"):
        write_clicks(tmp_path / f"{name}.csv", items[:30], 80, rng)
    write_clicks(tmp_path / "june.csv", items, 80, rng)
    return tmp_path


@pytest.fixture
def begun(shop):
    """The same after the first commands of the page of weekly releases: a domain, a ledger, one release."""
    weekly = [command for command, _ in lines("weekly")]
    for command in (weekly[0], weekly[2], weekly[3]):
        done = CliRunner().invoke(app, shlex.split(command)[1:])
        assert done.exit_code == 0, done.output
    return shop


@pytest.mark.full
def test_a_year_begins_as_its_page_says(shop, capsys):
    printed = run("weekly")
    text = "".join(printed)
    flat = " ".join(text.split())
    for shown in blocks("weekly", "text"):
        for line in shown.splitlines():
            if not line.startswith(("─", "…")):
                assert " ".join(line.split()) in flat
    assert "more than an equal share of what the ledger has left for 50 releases" in flat
    assert "Wrote week-01-again.safetensors: release 0; nothing was charged" in flat
    assert Path("week-01-again.safetensors").read_bytes() == Path("week-01.safetensors").read_bytes()
    (year,) = blocks("weekly", "python")
    exec(compile(year, "weekly.md", "exec"), {})
    share, inside, left = capsys.readouterr().out.splitlines()
    assert (share, left) == ("ε = 2.717 at δ = 1e-06 per user, add-remove", "100")
    assert "'releases': [0, 2], 'left_out': [1]" in inside


@pytest.mark.parametrize("part", AFTER)
@pytest.mark.full
def test_what_comes_after_goes_on_with_its_ledger(begun, part):
    flat = " ".join("".join(run(part)).split())
    ledger = hr.Ledger.open("ledger.db")
    domains = {Path(name).stem: hr.Domain.open(name).digest for name in map(str, begun.glob("domain*.json"))}
    assert len(ledger.state().charges) == 2
    assert ledger.state().releases_left == 50
    named = {release.stem: hr.Client(release) for release in begun.glob("*.safetensors")}
    if part == AFTER[0]:
        assert "june" in named
        assert "δ = 1e-06 is too large for up to 100,000 users" in flat
        assert len(set(domains.values())) == len(domains) > 1
    else:
        assert "next" in named
        assert "user7," not in Path("clicks-next.csv").read_text("utf-8")


@pytest.mark.parametrize("separator", [",", ";", "|"])
def test_a_users_records_leave_a_file_with_any_separator(tmp_path, monkeypatch, separator):
    monkeypatch.chdir(tmp_path)
    records = ["user_id,item_id", "user7,item1", "user70,item1", "user1,user7-cup"]
    Path("clicks.csv").write_text("".join(f"{row}\n".replace(",", separator) for row in records), "utf-8")
    delete = next(command for command, _ in lines(AFTER[1]))
    subprocess.run(delete.replace("-F ','", f"-F '{separator}'"), shell=True, check=True)
    kept = Path("clicks-next.csv").read_text("utf-8").replace(separator, ",").splitlines()
    assert kept == [row for row in records if row != "user7,item1"]


def test_a_review_runs_as_its_page_says(begun):
    jsonschema = pytest.importorskip("jsonschema")
    printed = run("for-lawyers#Review a release before it is published")
    (block,) = blocks("for-lawyers#The exported history", "python")
    exec(compile(block, "for-lawyers.md", "exec"), {})
    assert "controller Films Ltd" in " ".join(printed[-1].split())
    (block,) = blocks("for-lawyers#Review a release before it is published", "python")
    exec(compile(block, "for-lawyers.md", "exec"), {})
    shown = Path("shown.json")
    shown.write_text(shown.read_text("utf-8").replace('"unit": "user"', '"unit": "users"'), "utf-8")
    with pytest.raises(jsonschema.ValidationError):
        exec(compile(block, "for-lawyers.md", "exec"), {})


def test_signing_goes_as_its_page_says(begun, capsys):
    *_, checked = run("publish#Sign")
    (code,) = blocks("publish#Sign", "python")
    exec(compile(code, "publish.md", "exec"), {})
    public = Path("owner.pub").read_text("utf-8")
    assert capsys.readouterr().out == public
    assert f"checked, by the key {public.strip()}" in " ".join(checked.split())


@pytest.mark.full
def test_releases_are_published_as_their_page_says(begun, monkeypatch):
    monkeypatch.setenv("HUSHREC_KEY_PASSPHRASE", "six random words are much better")
    printed, sites = [], []
    for command, remark in lines("publish"):
        if not command.startswith("hushrec"):
            subprocess.run(command, shell=True, check=True)
            continue
        done = CliRunner().invoke(app, shlex.split(command)[1:])
        assert done.exit_code == (2 if remark == "refused" else 0), f"{command}\n{done.output}"
        printed.append(done.output)
        if command.startswith("hushrec page"):
            sites.append(
                hr.Client("site/release.safetensors", key="owner.pub").release.statement.ledger["seq"]
            )
    assert sites[0] < sites[1]
    assert any("so that ledger existed: put it back" in output for output in printed)
    assert hr.Ledger.open("moved/ledger.db").state().releases_left == 49
