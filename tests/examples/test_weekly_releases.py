"""The weekly releases share one total, and are published with signatures and a page, as the README says."""

import pytest

import hushrec as hr
from support.examples import blocks, copied, typed


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    return copied("weekly_releases", tmp_path_factory.mktemp("weekly"))


@pytest.fixture(scope="module")
def printed(example):
    (commands,) = blocks(example, "sh")
    return typed(commands, example)


@pytest.mark.full
def test_twelve_releases_share_one_total(example, printed):
    ledger = hr.Ledger.open(example / "ledger.db")
    assert (ledger.state().total.epsilon, ledger.state().releases_left) == (4.0, 9)


@pytest.mark.full
def test_all_three_are_signed_and_the_last_is_published(example, printed):
    public = (example / "owner.pub").read_text("utf-8").strip()
    for week in (1, 2, 3):
        client = hr.Client(example / f"week-{week}.safetensors", key=example / "owner.pub")
        assert client.release.signed_by == public
    assert (example / "site/release.safetensors").read_bytes() == (
        example / "week-3.safetensors"
    ).read_bytes()


@pytest.mark.full
def test_a_second_run_is_refused(example, printed):
    with pytest.raises(AssertionError, match="there is a ledger already"):
        typed("python weekly_releases.py", example)
