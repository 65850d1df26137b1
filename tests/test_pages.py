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
AFTER = ("new-items", "deletion")
"""Pages that go on with the ledger of the first one."""


def blocks(page, language):
    text = (DOCS / f"{page}.md").read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def lines(page):
    """Every command of a page, in order, with what is after its #."""
    for block in blocks(page, "sh"):
        for line in block.replace("\\\n", "").splitlines():
            command, _, remark = line.partition("  # ")
            yield command, remark.strip()


def run(page, part=slice(None)):
    """Type the commands of a page, or some of them; returns all that they printed."""
    printed = []
    for command, remark in [*lines(page)][part]:
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
    assert "more than an equal share of what the ledger has left for 49 releases" in flat
    assert "Wrote week-01-again.safetensors: release 0; nothing was charged" in flat
    assert Path("week-01-again.safetensors").read_bytes() == Path("week-01.safetensors").read_bytes()
    (year,) = blocks("weekly", "python")
    exec(compile(year, "weekly.md", "exec"), {})
    share, inside, left = capsys.readouterr().out.splitlines()
    assert (share, left) == ("ε = 2.717 at δ = 1e-06 per user, add-remove", "100")
    assert "'releases': [0, 2], 'left_out': [1]" in inside


@pytest.mark.parametrize("page", AFTER)
@pytest.mark.full
def test_what_comes_after_goes_on_with_its_ledger(begun, page):
    flat = " ".join("".join(run(page)).split())
    ledger = hr.Ledger.open("ledger.db")
    domains = {Path(name).stem: hr.Domain.open(name).digest for name in map(str, begun.glob("domain*.json"))}
    assert len(ledger.state().charges) == 2
    assert ledger.state().releases_left == 50
    for shown in blocks(page, "text"):
        assert " ".join(shown.split()) in flat
    named = {release.stem: hr.Client(release) for release in begun.glob("*.safetensors")}
    assert {"new-items": "june", "deletion": "next"}[page] in named
    if page == "new-items":
        assert "δ = 1e-06 is too large for up to 100,000 users" in flat
    if page == "deletion":
        assert "Wrote first-again.safetensors: release 0; nothing was charged" in flat
        assert "user7," not in Path("clicks-next.csv").read_text("utf-8")
        first, again = (Path(f"{name}.safetensors").read_bytes() for name in ("week-01", "first-again"))
        assert first == again
    else:
        assert len(set(domains.values())) == len(domains) > 1


def test_a_review_runs_as_its_page_says(begun):
    jsonschema = pytest.importorskip("jsonschema")
    printed = run("review")
    (block,) = (block for block in blocks("cli", "python") if "history.json" in block)
    exec(compile(block, "cli.md", "exec"), {})
    assert "controller Films Ltd" in " ".join(printed[-1].split())
    (block,) = blocks("review", "python")
    exec(compile(block, "review.md", "exec"), {})
    shown = Path("shown.json")
    shown.write_text(shown.read_text("utf-8").replace('"unit": "user"', '"unit": "users"'), "utf-8")
    with pytest.raises(jsonschema.ValidationError):
        exec(compile(block, "review.md", "exec"), {})


def test_signing_goes_as_its_page_says(begun, capsys):
    *_, checked = run("signing")
    (code,) = blocks("signing", "python")
    exec(compile(code, "signing.md", "exec"), {})
    public = Path("owner.pub").read_text("utf-8")
    assert capsys.readouterr().out == public
    assert f"checked, by the key {public.strip()}" in " ".join(checked.split())


@pytest.mark.full
def test_releases_are_published_as_their_page_says(begun, monkeypatch):
    monkeypatch.setenv("HUSHREC_KEY_PASSPHRASE", "six random words are much better")
    printed, sites = [], []
    for command, remark in lines("operating"):
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
