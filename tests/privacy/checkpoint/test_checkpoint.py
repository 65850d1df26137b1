"""Checkpoints: the same charge, the same noise, for the same fit and for no other."""

import hashlib
import hmac
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from hushrec.errors import CheckpointError
from hushrec.privacy.checkpoint import checkpoint as module
from hushrec.privacy.checkpoint.checkpoint import Checkpoint
from support.checkpoints import FIT, bound


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


def with_key(folder: Path, key: bytes) -> Path:
    """A folder whose key is known beforehand."""
    folder.mkdir()
    (folder / "lock").touch()
    (folder / "key").write_bytes(key)
    return folder


def modes(folder: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()}


# -- keys -------------------------------------------------------------------------------------------------


def test_a_key_is_drawn_once_from_the_system_and_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.os, "urandom", lambda size: b"k" * size)
    with Checkpoint(folder):
        assert (folder / "key").read_bytes() == b"k" * 32
    monkeypatch.setattr(module.os, "urandom", None)
    with Checkpoint(folder):
        assert (folder / "key").read_bytes() == b"k" * 32


def test_a_key_is_the_stated_hmac(folder: Path) -> None:
    master = bytes(range(32))

    def mac(*parts: bytes) -> bytes:
        framed = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
        return hmac.digest(master, framed, "sha256")

    known = FIT | {"ledger": ""}
    marks = {name: mac(b"fact", name.encode(), value.encode()).hex() for name, value in known.items()}
    commitment = mac(b"commitment", json.dumps(marks, sort_keys=True).encode())
    with bound(with_key(folder, master)) as checkpoint:
        assert checkpoint.commitment == commitment.hex()
        assert checkpoint.key("sums") == mac(b"key", commitment, b"noise", b"sums")
        assert checkpoint.key("sums", "cells") == mac(b"key", commitment, b"cells", b"sums")


def test_keys_are_the_same_for_the_same_fit_and_for_no_other(tmp_path: Path) -> None:
    keys, master = [], os.urandom(32)
    for number, other in enumerate([{}, {}, {"ratings": "others"}, {"settings": "others"}]):
        with bound(with_key(tmp_path / str(number), master), **other) as checkpoint:
            keys.append((checkpoint.key("sums"), checkpoint.key("counts"), checkpoint.key("sums", "sample")))
    assert keys[0] == keys[1]
    assert len({key for fit in keys[1:] for key in fit}) == 9


def test_no_key_without_a_name_a_fit_or_the_folder(folder: Path) -> None:
    checkpoint = Checkpoint(folder)
    for use in (
        lambda: checkpoint.key("sums"),
        lambda: checkpoint.load_state("state"),
        lambda: checkpoint.commitment,
    ):
        with pytest.raises(CheckpointError, match="bind it"):
            use()
    checkpoint.bind(FIT)
    with pytest.raises(CheckpointError, match="needs a name"):
        checkpoint.key()
    checkpoint.close()
    with pytest.raises(CheckpointError, match="not open and bound"):
        checkpoint.key("sums")


# -- the fit that it is of --------------------------------------------------------------------------------


@pytest.mark.parametrize("changed", ["ratings", "settings"])
def test_another_fit_is_refused_by_name(folder: Path, changed: str) -> None:
    bound(folder).close()
    with pytest.raises(CheckpointError, match=f"other {changed}; fit with what it was started with"):
        bound(folder, **{changed: "others"})
    bound(folder).close()


def test_a_commitment_that_looks_at_nothing_would_let_other_ratings_go_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted fault: what the fit is of is not compared."""
    monkeypatch.setattr(Checkpoint, "_mac", lambda checkpoint, *parts: hashlib.sha256(b"any").digest())
    bound(folder).close()
    bound(folder, ratings="others").close()


def test_a_damaged_commitment_is_refused(folder: Path) -> None:
    with bound(folder) as checkpoint:
        checkpoint.save_state("state", {}, {})
    file = folder / "commitment"
    whole = file.read_bytes()
    for damage in (b"", b"[]", b"{", b"\xff", whole[:-1], whole + b" "):
        file.write_bytes(damage)
        with pytest.raises(CheckpointError):
            bound(folder)
    file.unlink()
    with pytest.raises(CheckpointError, match="damaged"):
        bound(folder)  # there are states of nobody knows what
    file.write_bytes(whole)
    bound(folder).close()


# -- states -----------------------------------------------------------------------------------------------

ARRAYS = {
    "floats": np.linspace(0, 1, 12).reshape(3, 4),
    "singles": np.ones((2, 0, 3), np.float32),
    "turned": np.arange(6).reshape(2, 3).T,
    "few": np.array([True, False]),
    "bytes": np.arange(5, dtype=np.uint8),
    "items": np.arange(5, dtype=np.int32),
}


def test_a_state_comes_back_as_it_was(folder: Path) -> None:
    facts = {"round": 3, "pace": 0.1, "phase": "burn-in"}
    with bound(folder) as checkpoint:
        assert checkpoint.load_state("chain, round 3/∞") is None
        checkpoint.save_state("chain, round 3/∞", ARRAYS, facts)
        checkpoint.save_state("empty", {}, {})
    with bound(folder) as checkpoint:
        state = checkpoint.load_state("chain, round 3/∞")
        assert state is not None
        assert (state.facts, set(state.arrays)) == (facts, set(ARRAYS))
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(state.arrays[name], array)
            assert state.arrays[name].dtype == array.dtype
        assert checkpoint.load_state("empty") == ({}, {})
        checkpoint.save_state("chain, round 3/∞", {}, {"round": 4})
        assert checkpoint.load_state("chain, round 3/∞") == ({}, {"round": 4})


def state_file(folder: Path) -> Path:
    (file,) = folder.glob("*.safetensors")
    return file


def test_a_damaged_state_is_refused(folder: Path) -> None:
    with bound(folder) as checkpoint:
        checkpoint.save_state("state", ARRAYS, {"round": 3})
        file = state_file(folder)
        whole = file.read_bytes()
        for length in range(0, len(whole), 7):
            file.write_bytes(whole[:length])
            with pytest.raises(CheckpointError, match="damaged"):
                checkpoint.load_state("state")
        for place in range(len(whole)):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            assert harmless(checkpoint), place
        file.write_bytes(whole)
        checkpoint.load_state("state")


def harmless(checkpoint: Checkpoint) -> bool:
    try:
        state = checkpoint.load_state("state")
    except CheckpointError:
        return True
    assert state is not None
    same = all(np.array_equal(state.arrays.get(name, None), array) for name, array in ARRAYS.items())
    return same and state.facts == {"round": 3}


def test_without_the_tag_damage_would_go_unseen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: states are not authenticated."""
    monkeypatch.setattr(Checkpoint, "_tag", lambda checkpoint, *parts: "")
    with bound(folder) as checkpoint:
        checkpoint.save_state("state", {"values": np.zeros(4)}, {})
        file = state_file(folder)
        file.write_bytes(file.read_bytes()[:-1] + b"\x40")
        state = checkpoint.load_state("state")
        assert state is not None
        assert state.arrays["values"].any()


def test_a_state_under_another_name_or_key_is_refused(tmp_path: Path) -> None:
    with bound(tmp_path / "one") as one, bound(tmp_path / "two") as two:
        one.save_state("state", {}, {})
        two.save_state("state", {}, {})
        shutil.copy(state_file(tmp_path / "two"), state_file(tmp_path / "one"))
        with pytest.raises(CheckpointError, match="damaged"):
            one.load_state("state")
        two.save_state("other", {}, {})
        first, second = sorted((tmp_path / "two").glob("*.safetensors"))
        shutil.copy(first, second)
        with pytest.raises(CheckpointError, match="damaged"):
            [two.load_state(name) for name in ("state", "other")]


# -- the folder -------------------------------------------------------------------------------------------


def test_states_are_their_owners_alone_whatever_writes_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not every version of safetensors makes files that only their owner reads."""
    save = module.safetensors.numpy.save_file

    def open_to_all(arrays: object, path: Path, about: object) -> None:
        save(arrays, path, about)
        path.chmod(0o644)

    monkeypatch.setattr(module.safetensors.numpy, "save_file", open_to_all)
    with bound(folder) as checkpoint:
        checkpoint.save_state("state", ARRAYS, {})
        assert modes(folder) == {0o600}


def test_forgetting_overwrites_the_key_and_leaves_nothing(folder: Path) -> None:
    with bound(folder) as checkpoint:
        checkpoint.save_state("state", ARRAYS, {})
        twin = folder.with_name("twin")
        os.link(folder / "key", twin)  # another name for the same bytes on disk
        assert any(twin.read_bytes())
        checkpoint.forget()
        assert not folder.exists()
        assert twin.read_bytes() == bytes(32)
        with pytest.raises(CheckpointError, match="not open and bound"):
            checkpoint.key("sums")
    with Checkpoint(folder):  # and the name is free again
        assert (folder / "key").read_bytes() != bytes(32)


def test_what_is_left_without_its_key_is_removed(folder: Path) -> None:
    """A kill while it was forgotten: the key goes first."""
    with bound(folder) as checkpoint:
        checkpoint.save_state("state", {}, {})
        before = checkpoint.key("sums")
    (folder / "key").unlink()
    with bound(folder, ratings="others") as checkpoint:
        assert checkpoint.load_state("state") is None
        assert checkpoint.key("sums") != before


def test_a_key_cut_short_is_refused(folder: Path) -> None:
    bound(folder).close()
    (folder / "key").write_bytes(b"short")
    with pytest.raises(CheckpointError, match="damaged"):
        Checkpoint(folder)
