"""The owner's keys: made once, shown by their fingerprint, replaced by a signed rotation."""

import json
import os
import stat

import pytest

from hushrec.release.signing.key_file import KeyFile


def fingerprint(shown):
    (line,) = [line for line in shown.splitlines() if line.startswith("Fingerprint: ")]
    return line


@pytest.fixture
def owner(here, hushrec):
    hushrec("keys new -o owner.key")
    hushrec("keys new -o later.key")
    return here


def test_a_key_is_made_for_its_owner_alone(here, hushrec):
    shown = hushrec("keys new -o owner.key").out
    assert "not encrypted" in shown
    assert stat.S_IMODE(os.stat("owner.key").st_mode) == 0o600
    keys = KeyFile.from_text((here / "owner.pub").read_text())
    assert keys.pinned.id == fingerprint(shown).removeprefix("Fingerprint: ").replace(" ", "")
    for file in ("owner.key", "owner.pub"):
        assert fingerprint(hushrec(f"keys show {file}").out) == fingerprint(shown)


def test_a_key_is_never_replaced(owner, hushrec, refused):
    before = (owner / "owner.key").read_bytes(), (owner / "owner.pub").read_bytes()
    assert "a key is never replaced" in refused("keys new -o owner.key")
    (owner / "owner.key").unlink()
    assert "owner.pub exists" in refused("keys new -o owner.key")
    assert not (owner / "owner.key").exists()
    assert (owner / "owner.pub").read_bytes() == before[1]
    assert ".key" in refused("keys new -o owner.pem")


def test_a_passphrase_encrypts_the_key(here, hushrec, refused, monkeypatch):
    monkeypatch.setenv("HUSHREC_KEY_PASSPHRASE", "correct horse")
    made = hushrec("keys new -o owner.key").out
    assert "encrypted by your passphrase" in made
    assert "correct horse" not in made
    assert "ENCRYPTED" in (here / "owner.key").read_text()
    assert fingerprint(hushrec("keys show owner.key").out) == fingerprint(made)
    monkeypatch.setenv("HUSHREC_KEY_PASSPHRASE", "wrong")
    assert "passphrase is wrong" in refused("keys show owner.key")
    monkeypatch.delenv("HUSHREC_KEY_PASSPHRASE")
    assert "give its passphrase" in refused("keys show owner.key")


def test_a_private_key_is_not_shown_and_one_that_others_can_read_is_told(owner, hushrec):
    shown = hushrec("keys show owner.key")
    body = (owner / "owner.key").read_text().splitlines()[1]
    assert body not in shown.out + shown.err
    assert shown.err == ""
    (owner / "owner.key").chmod(0o644)
    assert "chmod 600 owner.key" in hushrec("keys show owner.key").err


def test_a_rotation_is_added_to_the_key_file(owner, hushrec, refused):
    first = fingerprint(hushrec("keys show owner.pub").out)
    hushrec("keys rotate owner.pub later.pub --key owner.key --from-version 7")
    shown = hushrec("keys show owner.pub").out
    assert fingerprint(shown) == first, "users pin the first key"
    later = fingerprint(hushrec("keys show later.pub").out).removeprefix("Fingerprint: ")
    assert f"From release number 7 on: {later}" in shown
    told = json.loads(hushrec("keys show owner.pub --json").out)
    assert [key["from_version"] for key in told["keys"]] == [0, 7]
    assert not told["private"]
    before = (owner / "owner.pub").read_text()
    for line in (
        "keys rotate owner.pub later.pub --key owner.key --from-version 9",
        "keys rotate owner.pub later.pub --key later.key --from-version 9",
        "keys rotate owner.pub owner.key --key later.key --from-version 9",
        "keys rotate owner.pub gone.pub --key later.key --from-version 9",
    ):
        refused(line)
        assert (owner / "owner.pub").read_text() == before


def test_what_is_not_a_key_is_refused(here, refused):
    (here / "other").write_text("hello")
    assert "not a public key" in refused("keys show other")
    assert "cannot be read" in refused("keys show gone")
