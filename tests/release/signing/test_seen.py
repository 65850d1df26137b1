"""What a device has seen: an older release, another ledger and another owner are refused."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushrec.errors import ReleaseError
from hushrec.release.signing.seen import Seen

A, B, C = ("a" * 64, "b" * 64, "c" * 64)
SEEN = Seen((A, B), "ledger", 5)


@given(st.integers(0, 2**53 - 1), st.integers(0, 2**53 - 1))
def test_only_a_smaller_number_is_a_rollback(before, version):
    seen = Seen((A,), None, before)
    if version >= before:
        assert seen.after((A,), None, version) == Seen((A,), None, version)
        return
    with pytest.raises(ReleaseError, match="rollback"):
        seen.after((A,), None, version)


@pytest.mark.parametrize("ledger", [None, "", "other"])
def test_another_ledger_is_refused(ledger):
    with pytest.raises(ReleaseError, match="may not be added up"):
        SEEN.after((A, B), ledger, 6)


@pytest.mark.parametrize("chain", [(), (A,), (B,), (B, A), (A, C), (C, A, B)])
def test_another_key_file_is_refused(chain):
    with pytest.raises(ReleaseError, match="begins with another key"):
        SEEN.after(chain, "ledger", 6)


def test_a_key_file_with_one_more_rotation_is_not():
    assert SEEN.after((A, B, C), "ledger", 5) == Seen((A, B, C), "ledger", 5)


@pytest.mark.parametrize("ledger", [None, "ledger"])
def test_the_file_says_what_was_seen(tmp_path, ledger):
    path = tmp_path / "owner.pub.seen.json"
    assert Seen.open(path) is None
    seen = Seen((A, B), ledger, 5)
    seen.save(path)
    assert Seen.open(path) == seen
    assert [*tmp_path.iterdir()] == [path], "nothing is left over"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"chain": [], "ledger": null, "version": 1}',
        '{"chain": ["a"], "ledger": null, "version": 1}',
        f'{{"chain": "{A}", "ledger": null, "version": 1}}',
        f'{{"chain": ["{A}"], "ledger": 1, "version": 1}}',
        f'{{"chain": ["{A}"], "ledger": null, "version": -1}}',
        f'{{"chain": ["{A}"], "ledger": null, "version": true}}',
        f'{{"chain": ["{A}"], "ledger": null}}',
        f'{{"chain": ["{A}"], "ledger": null, "version": 9, "version": 1}}',
        f'{{"chain": ["{A}"], "ledger": null, "version": 1, "more": 1}}',
        "[" * 60_000,
    ],
)
def test_a_damaged_file_is_refused_and_not_begun_again(tmp_path, text):
    path = tmp_path / "seen.json"
    path.write_text(text)
    with pytest.raises(ReleaseError, match="an older release is accepted once"):
        Seen.open(path)
    assert path.read_text() == text


def test_a_file_that_cannot_be_read_or_written_is_named(tmp_path):
    with pytest.raises(ReleaseError, match="cannot be read"):
        Seen.open(tmp_path)
    with pytest.raises(ReleaseError, match="name another file"):
        SEEN.save(tmp_path / "gone" / "seen.json")


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "seen.json"
    SEEN.save(path)

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ReleaseError, match="No space left"):
        Seen((A,), None, 9).save(path)
    assert Seen.open(path) == SEEN
