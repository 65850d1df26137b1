"""The weekly releases share one total, and are published with signatures and a page, as the README says."""

import re

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


def without_titles(text):
    """The lines of the program, with a mark for each title, which noise chooses."""
    return re.sub(r"The \w+ \w+", "TITLE", text).splitlines()


@pytest.mark.full
def test_it_prints_what_the_readme_shows(example, printed):
    (shown,) = blocks(example, "text")
    lines = without_titles(shown)
    assert lines[1] == "Week 1: TITLE, TITLE, TITLE"
    assert [line for line in without_titles(printed) if line in lines] == lines


@pytest.mark.full
def test_twelve_releases_share_one_total(example, printed):
    ledger = hr.Ledger.open(example / "ledger.db")
    assert (ledger.total.epsilon, ledger.releases_left) == (4.0, 9)


@pytest.mark.full
def test_all_three_are_signed_and_the_last_is_published(example, printed):
    public = (example / "owner.pub").read_text("utf-8").strip()
    for week in (1, 2, 3):
        client = hr.Client(example / f"week-{week}.safetensors", key=example / "owner.pub")
        assert client.release.signed_by == public
    assert (example / "site/release.safetensors").read_bytes() == (
        example / "week-3.safetensors"
    ).read_bytes()


def test_the_user_who_is_deleted_has_clicks(example):
    program = (example / "weekly_releases.py").read_text("utf-8")
    (deleted,) = re.findall(r'"(u\d{5})"', program)
    assert deleted in hr.synthetic.interactions(users=6_000, items=240, interactions=90_000, seed=7).users


@pytest.mark.full
def test_a_second_run_is_refused(example, printed):
    with pytest.raises(AssertionError, match="there is a ledger already"):
        typed("python weekly_releases.py", example)
