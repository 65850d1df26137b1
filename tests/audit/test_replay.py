"""Watching a fit: everything that leaves the process is seen, and it goes on as before."""

import logging
import os
import sys

import pytest

import hushrec as hr
from hushrec.audit.recorder import Leak
from hushrec.audit.replay import PUBLIC_CODE, compare, record, watch
from hushrec.audit.worlds import World

WORLD = World.of()
BUDGET = hr.Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")
PAIR = WORLD.pairs("user", "add-remove")["a usual user"]
MODEL = hr.GlobalEffects()


@pytest.fixture
def beside(monkeypatch):
    """Adds something to what ``GlobalEffects`` does with its ratings."""

    def add(act):
        release = hr.GlobalEffects.fit

        def also(model, ratings, *rest):
            act(ratings)
            return release(model, ratings, *rest)

        monkeypatch.setattr(hr.GlobalEffects, "fit", also)

    return add


def seen_of(people):
    return watch(WORLD.ratings(people), MODEL, BUDGET)


def test_a_fit_is_seen_as_a_whole():
    record(WORLD.ratings(WORLD.everybody), MODEL, BUDGET)
    seen = seen_of(WORLD.everybody)
    again = seen_of(WORLD.everybody)
    assert seen.release == again.release, "the random id of a ledger is left out"
    assert seen.lines == again.lines
    assert any("global_effects" in file for file, _ in seen.lines)
    assert all(file.startswith(PUBLIC_CODE) for file, _ in seen.lines)
    assert [made.name for made in seen.measured] == [
        event.name for event in hr.plan(WORLD.domain, MODEL, BUDGET).noisy
    ]


@pytest.mark.parametrize("stream", [1, 2])
def test_text_is_seen_from_python_and_from_below(stream, beside):
    def act(ratings):
        print("from Python", file=(sys.stdout, sys.stderr)[stream - 1])
        os.write(stream, b"from below\n")

    beside(act)
    output = seen_of(WORLD.everybody).output
    assert b"from Python" in output[stream - 1]
    assert b"from below" in output[stream - 1]
    assert output[2 - stream] == b""


def test_messages_of_loggers_are_seen_at_all_levels(beside):
    beside(lambda ratings: logging.getLogger("any").debug("a message"))
    assert "a message" in seen_of(WORLD.everybody).logged


def test_afterwards_all_is_as_before(beside, capfd):
    before = sys.gettrace(), logging.getLogger().level, logging.getLogger().handlers[:], sys.stdout
    seen_of(WORLD.everybody)

    def act(ratings):
        raise ValueError("planted")

    beside(act)
    with pytest.raises(ValueError, match="planted"):
        seen_of(WORLD.everybody)
    assert before == (sys.gettrace(), logging.getLogger().level, logging.getLogger().handlers, sys.stdout)
    print("still here")
    os.write(1, b"and here\n")
    assert capfd.readouterr().out == "still here\nand here\n"


def test_neighbours_that_agree_pass_and_others_do_not(beside):
    pair = [WORLD.ratings(people) for people in PAIR]
    record(pair[0], MODEL, BUDGET)
    assert compare(MODEL, BUDGET, *pair).measured
    beside(lambda ratings: print(ratings.n_users))
    with pytest.raises(Leak, match="another output"):
        compare(MODEL, BUDGET, *pair)


def test_a_fit_that_fails_for_one_only_is_a_leak(beside):
    def act(ratings):
        assert ratings.n_users == len(PAIR[0])

    beside(act)
    with pytest.raises(Leak, match="only the neighbour fails: AssertionError"):
        compare(MODEL, BUDGET, *(WORLD.ratings(people) for people in PAIR))


def test_a_tape_of_another_fit_is_replayed():
    tape = record(WORLD.ratings({}), MODEL, BUDGET).measured
    replayed = record(WORLD.ratings(WORLD.everybody), MODEL, BUDGET, tape).measured
    for here, there in zip(tape, replayed, strict=True):
        assert here.value.values.tolist() == there.value.values.tolist()
        assert here.sums.tolist() != there.sums.tolist()
