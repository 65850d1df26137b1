"""Journeys of an owner and of users: signing, checking, a key that is rotated, stolen or lost."""

import json
import shutil
from dataclasses import replace

import pytest

from hushrec.documents.words import Clause
from hushrec.errors import ReleaseError
from hushrec.release.artefact import Release
from hushrec.release.client import Client

FILMS = "films.safetensors"


@pytest.fixture
def signed(release, here, hushrec):
    """A release, its signature, and keys of which the owner's signed it."""
    for name in ("owner", "later", "thief"):
        hushrec(f"keys new -o {name}.key")
    hushrec(f"keys sign {FILMS} --key owner.key")
    return here


def flat(text):
    return " ".join(text.split())


def test_a_signed_release_is_checked_by_the_owners_key(signed, hushrec):
    key = json.loads(hushrec("keys show owner.pub --json").out)["keys"][0]["key_id"]
    shown = hushrec(f"show {FILMS} --key owner.pub").out
    assert "checked against a key of yours" in shown
    assert "not checked" not in shown
    told = json.loads(hushrec(f"show {FILMS} --key owner.pub --json").out)["signature"]
    assert (told["state"], told["key_id"]) == ("verified", key)
    assert "not checked against a key of yours" in hushrec(f"show {FILMS}").out
    assert json.loads((signed / "owner.pub.seen.json").read_text())["version"] == told["version"]
    listed = hushrec(f"recommend {FILMS} --rating i00001=5 --key owner.pub --json").out
    assert json.loads(listed)["items"]


def test_an_unsigned_release_says_so_and_a_pinned_key_refuses_it(release, signed, hushrec, refused):
    (signed / f"{FILMS}.dsse.json").unlink()
    assert "\nsignature      unsigned\n" in hushrec(f"show {FILMS}").out
    for command in (f"show {FILMS}", f"recommend {FILMS} --rating i00001=5"):
        assert "is unsigned, and you gave a key" in refused(f"{command} --key owner.pub")


def test_an_altered_file_and_another_owner_are_refused(signed, hushrec, refused):
    assert "signed by another key" in refused(f"show {FILMS} --key thief.pub")
    data = (signed / FILMS).read_bytes()
    (signed / FILMS).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert "it was altered" in refused(f"show {FILMS} --key owner.pub")
    assert not (signed / "owner.pub.seen.json").exists()


def test_an_older_release_is_refused_by_default_and_kept_apart_on_request(signed, hushrec, refused):
    hushrec(f"keys sign {FILMS} --key owner.key --version 9")
    hushrec(f"show {FILMS} --key owner.pub")
    (signed / f"{FILMS}.dsse.json").unlink()
    hushrec(f"keys sign {FILMS} --key owner.key --version 8")
    assert "a rollback" in refused(f"show {FILMS} --key owner.pub")
    assert "number 8" in hushrec(f"show {FILMS} --key owner.pub --seen other.json").out
    assert "give the owner's key as well" in refused(f"show {FILMS} --seen other.json")


def test_a_good_signature_is_not_replaced_by_one_that_users_refuse(signed, hushrec, refused):
    hushrec("keys rotate owner.pub later.pub --key owner.key --from-version 76")
    hushrec(f"keys sign {FILMS} --key later.key --version 76")
    good = (signed / f"{FILMS}.dsse.json").read_bytes()
    told = flat(refused(f"keys sign {FILMS} --key owner.key --version 77"))
    key = json.loads(hushrec("keys show later.pub --json").out)["keys"][0]["key_id"]
    assert "replaced from number 76 on" in told
    assert key[:4] in told.partition("sign with the present key")[2]
    assert "give --version 76 or a larger one" in flat(
        refused(f"keys sign {FILMS} --key later.key --version 75")
    )
    assert (signed / f"{FILMS}.dsse.json").read_bytes() == good
    hushrec(f"keys sign {FILMS} --key later.key --version 76")
    assert (signed / f"{FILMS}.dsse.json").read_bytes() == good
    hushrec(f"show {FILMS} --key owner.pub")


def test_who_signs_what_promises_nothing_is_told(signed, hushrec):
    made = Release.open(FILMS)
    bare = replace(made, statement=replace(made.statement, caveats=(Clause("unprotected.seeded"),)))
    bare.save("toy.safetensors")
    told = hushrec("keys sign toy.safetensors --key owner.key")
    assert "What you signed, the statement included, says: Nothing is promised. NOT PRIVATE" in told.err
    assert hushrec(f"keys sign {FILMS} --key owner.key").err == ""


def test_a_data_set_is_not_signed(signed, refused):
    assert "only releases of models" in refused("keys sign rows.parquet --key owner.key")
    assert "leave out --key" in refused("show rows.parquet --key owner.pub")


# -- keys come to an end ----------------------------------------------------------------------------------


@pytest.mark.full
def test_a_rotated_key_reaches_users_through_the_key_file(signed, hushrec, refused):
    shutil.copy("owner.pub", "mine.pub")  # a user pins the key
    hushrec(f"show {FILMS} --key mine.pub")
    hushrec("keys rotate owner.pub later.pub --key owner.key --from-version 20")
    hushrec(f"keys sign {FILMS} --key later.key --version 20")
    assert "fetch their key file again" in flat(refused(f"show {FILMS} --key mine.pub"))
    shutil.copy("owner.pub", "mine.pub")  # … and fetches it again
    assert "as number 20, checked" in flat(hushrec(f"show {FILMS} --key mine.pub").out)
    shutil.copy("owner.key", "copy.key")  # somebody still has the old key
    hushrec(f"keys sign {FILMS} --key copy.key --version 21")
    assert "may be forged with the old key" in flat(refused(f"show {FILMS} --key mine.pub"))
    shutil.copy("later.pub", "mine.pub")  # a key file that begins elsewhere
    hushrec(f"keys sign {FILMS} --key later.key --version 22")
    assert "begins with another key" in flat(refused(f"show {FILMS} --key mine.pub"))


def test_a_thief_cannot_rotate_without_the_key(signed, refused):
    assert "not signed by the key" in flat(
        refused("keys rotate owner.pub thief.pub --key thief.key --from-version 0")
    )


def test_a_rotation_cannot_be_taken_back(signed, hushrec, refused):
    shutil.copy("owner.pub", "before.pub")
    hushrec("keys rotate owner.pub later.pub --key owner.key --from-version 20")
    hushrec(f"keys sign {FILMS} --key later.key --version 20")
    hushrec(f"show {FILMS} --key owner.pub")
    shutil.copy("before.pub", "owner.pub")  # an old copy of the key file, and the stolen old key
    hushrec(f"keys sign {FILMS} --key owner.key --version 21")
    assert "lacks one of its rotations" in flat(refused(f"show {FILMS} --key owner.pub"))


def test_after_a_key_is_lost_people_pin_the_next_one_by_hand(signed, hushrec, refused):
    shutil.copy("owner.pub", "mine.pub")
    hushrec(f"show {FILMS} --key mine.pub")
    (signed / "owner.key").unlink()
    hushrec(f"keys sign {FILMS} --key later.key --version 30")
    assert "signed by another key" in flat(refused(f"show {FILMS} --key mine.pub"))
    shutil.copy("later.pub", "mine.pub")
    assert "delete what was seen" in flat(refused(f"show {FILMS} --key mine.pub"))
    (signed / "mine.pub.seen.json").unlink()
    assert "as number 30, checked" in flat(hushrec(f"show {FILMS} --key mine.pub").out)


def test_the_library_and_the_command_line_keep_the_same_file(signed, hushrec):
    hushrec(f"keys sign {FILMS} --key owner.key --version 40")
    hushrec(f"show {FILMS} --key owner.pub")
    (signed / f"{FILMS}.dsse.json").unlink()
    hushrec(f"keys sign {FILMS} --key owner.key --version 39")
    with pytest.raises(ReleaseError, match="rollback"):
        Client(FILMS, key="owner.pub", seen="owner.pub.seen.json")
