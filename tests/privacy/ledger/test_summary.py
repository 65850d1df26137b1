"""What a prompt and a notebook show of a ledger."""

import hashlib
from pathlib import Path

import pytest

from hushrec.data.synthetic import netflix_like
from hushrec.errors import LedgerError
from hushrec.models.mcsherry_mironov.global_effects import GlobalEffects
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Seeded
from hushrec.text import left
from support.documents import piece
from support.hostile import HOSTILE, harmless
from support.ledgers import finish

TOTAL = Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")


def charged(ledger, epsilon=0.5):
    domain = netflix_like(20, 5, 60, 1).domain
    return ledger.charge(GlobalEffects().plan(domain, TOTAL.model_copy(update={"epsilon": epsilon})))


def test_a_line_says_what_is_left_and_how_many_releases_there_were(tmp_path):
    ledger = Ledger.create(tmp_path / "ours.db", TOTAL, 3)
    assert (
        repr(ledger)
        == "Ledger(ours.db: ε = 2 at δ = 1e-06 per user, add-remove; ε = 2 left, 0 of 3 releases)"
    )
    finish(ledger, charged(ledger))
    assert repr(ledger).endswith(f"; ε = {left(ledger.state().remaining)} left, 1 of 3 releases)")
    assert str(tmp_path) not in repr(ledger)
    assert repr(Ledger.ephemeral(TOTAL)).startswith("Ledger(in memory: ")


def test_the_page_lists_every_release(tmp_path):
    ledger = Ledger.create(tmp_path / "ours.db", TOTAL, 3)
    assert "<table" not in piece(ledger._repr_html_())
    assert "GlobalEffects" not in ledger._repr_html_()
    finish(ledger, charged(ledger))
    page = piece(ledger._repr_html_())
    assert page.count("GlobalEffects") == page.count("<table") == 1
    assert ">0.5<" in page


def test_a_hostile_file_name_does_nothing(tmp_path):
    name = "<script>" + HOSTILE.replace("/", "") + ".db"
    ledger = Ledger.create(Path(tmp_path) / name, TOTAL)
    assert harmless(repr(ledger), lines=False)
    assert "<script" not in piece(ledger._repr_html_())


def test_the_page_says_what_the_owner_declares_and_how_the_total_reads(tmp_path):
    ledger = Ledger.create(tmp_path / "ours.db", TOTAL)
    assert "population" not in ledger._repr_html_()
    ledger.declare(population="subscribers", controller="<b>Films", contact="us@films.example")
    page = piece(ledger._repr_html_())
    assert all(text in page for text in ("population", "subscribers", "controller", "us@films.example"))
    assert "<b>Films" not in page
    assert "Anyone who reads the one file, whatever else they know, may learn something about you" in page


# -- what is declared, and the exported history --------------------------------------------------------


@pytest.mark.parametrize("text", ["a\nb", "\x1b[2J", "x" * 201])
def test_what_could_spoil_a_statement_is_not_declared(tmp_path, text):
    with pytest.raises(LedgerError, match="at most 200 printable"):
        Ledger.create(tmp_path / "spoilt.db", TOTAL, population=text)
    assert not (tmp_path / "spoilt.db").exists()
    ledger = Ledger.create(tmp_path / "good.db", TOTAL, contact="us")
    with pytest.raises(LedgerError, match="at most 200 printable"):
        ledger.declare(contact=text)
    assert ledger.state().declared == {"contact": "us"}


def test_anybody_can_verify_an_exported_history_in_which_seeded_releases_have_no_day(tmp_path):
    """The check that the documentation gives, on the history and on a history that somebody changed."""
    ledger = Ledger.create(tmp_path / "own.db", TOTAL, 3)
    domain = netflix_like(20, 5, 60, 1).domain
    finish(ledger, ledger.charge(GlobalEffects().plan(domain, TOTAL), entropy=Seeded(1)))

    def head(records):
        last = bytes(32)
        for record in records:
            number, text = record["seq"].to_bytes(8, "big"), record["record"].encode()
            last = hashlib.sha256(last + number + text).digest()
            if last.hex() != record["hash"]:
                return ""
        return last.hex()

    told = ledger.export()
    assert not any('"date"' in record["record"] for record in told["records"])
    assert head(told["records"]) == told["last_head"] == ledger.state().head.hash
    told["records"][0]["record"] += " "
    assert head(told["records"]) == ""
