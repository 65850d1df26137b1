"""Releases and released data sets beside a ledger remember it; what is no release is skipped with a word."""

import json
import os
import signal
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from hushrec.errors import LedgerError, LedgerMissing, LedgerStale, LedgerWarning
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.ledger import anchors
from hushrec.privacy.ledger.ledger import Ledger
from support.ledgers import write_facts

MakePlan = Callable[..., Plan]
TOTAL = Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")


def test_a_backup_of_a_moment_inside_the_fit_is_noticed_by_its_release(
    path: Path, make_plan: MakePlan
) -> None:
    ledger = Ledger.create(path, TOTAL)
    grant = ledger.charge(make_plan())
    backup = path.read_bytes()
    ledger.finish(grant, b"")
    write_facts(path.parent, "ratings", grant.ledger)
    path.write_bytes(backup)
    with pytest.raises(LedgerStale, match=r"does not know that ratings\.parquet.* was made"):
        Ledger.open(path)


def test_a_folder_of_releases_that_is_not_there_is_refused(path: Path) -> None:
    Ledger.create(path, TOTAL)
    with pytest.raises(LedgerError, match="gone: there are no releases here; correct the path"):
        Ledger.open(path, releases=path.parent / "gone")


def test_strange_claims_close_the_ledger_that_they_name(path: Path) -> None:
    ledger = Ledger.create(path, TOTAL)
    for kept in ({}, [], None):  # made without a ledger
        write_facts(path.parent, "seeded", kept)
        assert anchors.among(path.parent) == []
    write_facts(path.parent, "elsewhere", {"id": "f" * 32, "file": "other.db", "seq": 5, "head": "00"})
    for about in ({"id": [], "file": 7}, {"id": 1.0, "file": None}, {"id": {}, "file": {"ledger": "db"}}):
        write_facts(path.parent, "odd", {"seq": "x", "head": 0, "domain": [{}]} | about)
        assert Ledger.open(path).id == ledger.id
    right = ledger.state().head.hash
    claims = [{"seq": 0, "head": head} for head in ("00", None, 7, {})]
    claims += [{"seq": seq, "head": right} for seq in ("0", 1.5, 0.0, False, None, -1, [0], 10**400)]
    for head in claims:
        write_facts(path.parent, "strange", {"id": ledger.id, "file": "x"} | head)
        with pytest.raises(LedgerStale, match="strange"):
            Ledger.open(path)


# -- files that are no releases ---------------------------------------------------------------------------


def framed(text: bytes, length: int | None = None) -> bytes:
    return struct.pack("<Q", len(text) if length is None else length) + text


def header(text: object) -> bytes:
    return framed(json.dumps({"__metadata__": {"hushrec": text}}).encode())


DAMAGED = {
    "empty": b"",
    "short": framed(b"{", 50),
    "huge": framed(b"{}", 2**63),
    "long": framed(b"{}", 99_000_000),
    "text": framed(b"\xff\xfe"),
    "deep": framed(b"[" * 200_000),
    "list": framed(b"[1, 2]"),
    "number": framed(b"7"),
    "null": framed(b"null"),
    "metadata": framed(b'{"__metadata__": [1]}'),
    "inner": header("{"),
    "inner number": header(7),
    "inner list": header(["x"]),
    "partial": header(json.dumps({"statement": {"ledger": {"id": "x"}}})),
    "word": header(json.dumps({"statement": {"ledger": "x"}})),
    "digits": header('{"statement": {"ledger": ' + "9" * 5000 + "}}"),
}
OTHERS = {
    "of another kind": framed(b'{"tensor": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}'),
    "with other facts": framed(b'{"__metadata__": {"format": "pt"}}'),
    "facts of no statement": header("[1, 2]"),
    "no ledger": header(json.dumps({"statement": {"unit": "user"}})),
    "seeded": header(json.dumps({"statement": {"ledger": {}}})),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_skipped_with_a_word(path: Path, name: str) -> None:
    ledger = Ledger.create(path, TOTAL)
    (path.parent / "strange.safetensors").write_bytes(DAMAGED[name])
    with pytest.warns(LedgerWarning, match=r"strange\.safetensors .*damaged, or of another kind"):
        assert Ledger.open(path).id == ledger.id
    (path.parent / "strange.safetensors").unlink()
    (path.parent / "strange.statement.json").write_bytes(DAMAGED[name])  # a length is no JSON
    with pytest.warns(LedgerWarning, match=r"strange\.statement\.json"):
        assert anchors.among(path.parent) == []


@pytest.mark.parametrize("name", OTHERS)
def test_files_of_others_say_nothing(path: Path, name: str) -> None:
    (path.parent / "other.safetensors").write_bytes(OTHERS[name])
    (path.parent / "other.statement.json").write_bytes(b'[{"statement": 7}]')
    Ledger.create(path, TOTAL)


@pytest.mark.parametrize("ending", ["safetensors", "statement.json"])
def test_what_is_no_file_is_skipped_and_not_waited_for(path: Path, ending: str) -> None:
    ledger = Ledger.create(path, TOTAL)
    os.mkfifo(path.parent / f"pipe.{ending}")
    (path.parent / f"folder.{ending}").mkdir()
    (path.parent / f"device.{ending}").symlink_to("/dev/zero")
    (path.parent / f"terminal.{ending}").symlink_to("/dev/tty")
    (path.parent / f"gone.{ending}").symlink_to("nowhere")
    (path.parent / f"loop.{ending}").symlink_to(f"loop.{ending}")
    signal.alarm(20)  # a reader of a pipe waits for good
    try:
        with pytest.warns(LedgerWarning) as told:
            assert Ledger.open(path).id == ledger.id
    finally:
        signal.alarm(0)
    texts = {str(warning.message) for warning in told}
    assert {text.split(".")[0] for text in texts} == {"pipe", "folder", "device", "terminal", "gone", "loop"}
    assert sum("(it is not a regular file)" in text for text in texts) >= 3


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_named(path: Path) -> None:
    ledger = Ledger.create(path, TOTAL)
    (path.parent / "mine.safetensors").touch(mode=0o000)
    with pytest.warns(LedgerWarning, match=r"mine\.safetensors .*Permission denied"):
        assert Ledger.open(path).id == ledger.id


@pytest.mark.parametrize("ending", ["safetensors", "statement.json"])
def test_a_crafted_file_takes_little_memory(path: Path, ending: str) -> None:
    """45 MB of nothing but brackets, of which Python would make a gigabyte."""
    Ledger.create(path, TOTAL)
    text = b"[" + b"[],{}," * 7_500_000 + b"0]"
    (path.parent / f"bomb.{ending}").write_bytes(framed(text) if ending == "safetensors" else text)
    tracemalloc.start()
    try:
        with pytest.warns(LedgerWarning, match=r"bomb\..* has more parts than any release"):
            Ledger.open(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * len(text)


def test_a_header_of_many_people_is_read(path: Path, make_plan: MakePlan) -> None:
    grant = Ledger.create(path, TOTAL).charge(make_plan())
    facts = {"items": [str(n) for n in range(300_000)], "statement": {"ledger": grant.ledger}}
    (path.parent / "large.safetensors").write_bytes(header(json.dumps(facts)))
    assert [anchor.release for anchor in anchors.among(path.parent)] == ["large.safetensors"]


def test_more_than_any_release_has_is_not_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grant_like = {"id": "f" * 32, "file": "other.db", "seq": 5, "head": "00"}
    file = write_facts(path.parent, "facts", grant_like)
    (path.parent / "films.safetensors").write_bytes(
        header(json.dumps({"statement": {"ledger": grant_like}, "x": "y" * 200}))
    )
    monkeypatch.setattr(anchors, "_LARGEST_HEADER", file.stat().st_size)
    with pytest.warns(LedgerWarning, match=r"films\.safetensors .*header is larger"):
        assert [anchor.release for anchor in anchors.among(path.parent)] == [file.name]
    monkeypatch.setattr(anchors, "_LARGEST_HEADER", file.stat().st_size - 1)
    with pytest.warns(LedgerWarning) as told:
        assert anchors.among(path.parent) == []
    assert len(told) == 2


def test_names_are_printed_on_one_line(path: Path) -> None:
    Ledger.create(path, TOTAL)
    (path.parent / "\x1b[31m\nred.safetensors").touch()
    (path.parent / ("long" * 50 + ".safetensors")).touch()
    with pytest.warns(LedgerWarning) as told:
        anchors.among(path.parent)
    for warning in told:
        assert str(warning.message).isprintable()
        assert len(str(warning.message)) < 300
    claim = {"id": "f" * 32, "file": path.name, "seq": 5, "head": "00"}
    write_facts(path.parent, "\x1b[2J\n", claim)
    with pytest.warns(LedgerWarning), pytest.raises(LedgerMissing) as refused:
        Ledger.open(path)
    assert str(refused.value).isprintable()
