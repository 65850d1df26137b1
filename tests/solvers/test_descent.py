"""Gradient descent block by block: what is learned, read ahead, kept, and gone on from."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import hushrec as hr
from hushrec.data.packed.blocks import Blocks
from hushrec.data.synthetic import netflix_like
from hushrec.errors import ConfigError, DataError
from hushrec.privacy.checkpoint.checkpoint import Checkpoint
from hushrec.solvers import descent
from hushrec.solvers.descent import Factored, gradient_descent, scheduled, survey

NAMES = ("people", "items", "person_effects", "item_effects")


@pytest.fixture(scope="module")
def ratings():
    return netflix_like(150, 80, 2500, 1)


@pytest.fixture
def blocks(ratings, tmp_path):
    return Blocks.write(ratings, tmp_path / "packed", ratings_per_block=400)


def learned(source, rank=70, epochs=3, **more):
    settings = {"rates": scheduled(0.03, 0.9, epochs), "regs": [0.05] * epochs, "power": 0.5, "effects": True}
    return gradient_descent(source, rank, **{**settings, **more})


def same(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in NAMES)


# -- what is learned --------------------------------------------------------------------------------------


def test_blocks_teach_what_the_ratings_do(ratings, blocks):
    """Bit for bit where people do not take turns, which they do at small ranks, and not across blocks."""
    (global_mean, whole), (other, parts) = survey(ratings, 1.0), survey(blocks, 1.0)
    assert global_mean == other == ratings.values().mean()
    np.testing.assert_array_equal(whole.person_counts, parts.person_counts)
    np.testing.assert_array_equal(whole.item_counts, parts.item_counts)
    assert same(learned(whole), learned(parts))
    assert not same(learned(whole), learned(parts, regs=[0.05, 0.05, 0.06]))


def test_a_roster_puts_everybody_in_his_row(ratings, tmp_path):
    """Blocks of people in any order, and people without ratings, who stay where they start."""
    users = [*ratings.users.to_list()[::-1], "u00007b", "z"]
    domain = hr.Domain(ratings.domain.items, scale=(1, 5, 1), max_users=200, users=users)
    listed = hr.Ratings(domain, ratings.users, ratings.indptr, ratings.items, ratings.steps)
    odd, even = (listed.select(listed.user_index() % 2 == k) for k in (0, 1))
    _, source = survey(Blocks.write([odd, even], tmp_path / "a"), 1.0)
    _, plain = survey(Blocks.write(listed, tmp_path / "b", ratings_per_block=300), 1.0)
    _, whole = survey(listed, 1.0)
    assert same(learned(whole), learned(plain))
    assert [people.tolist() for people, _ in source.batches()] == [
        np.flatnonzero(np.isin(domain.users, part.users.to_list())).tolist() for part in (odd, even)
    ]
    found, start = learned(source), Factored.start(152, 80, 70, effects=True)
    apart = [domain.users.index(user) for user in ("u00007b", "z")]
    np.testing.assert_array_equal(found.people[apart], start.people[apart])
    changed = (found.people != start.people).any(axis=1)
    assert changed.sum() == 150
    assert (found.person_effects != 0).sum() == 150


@pytest.mark.parametrize("schedule", ["geometric", "inverse"])
def test_schedules(schedule):
    rates = scheduled(0.5, 0.8, 50, schedule)
    assert rates[0] == 0.5
    assert rates[1] == pytest.approx(0.4)
    assert rates == sorted(rates, reverse=True)
    exact = {"geometric": 0.5 * 0.8**49, "inverse": 0.5 / (1 + 0.25 * 49)}
    assert rates[-1] == pytest.approx(exact[schedule], rel=1e-12)
    assert set(scheduled(0.5, 1.0, 3, schedule)) == {0.5}


# -- reading ahead ----------------------------------------------------------------------------------------


def test_a_thread_reads_two_blocks_ahead_and_no_more(blocks, monkeypatch):
    _, source = survey(blocks, 1.0)
    read, lead, readers = [], [], set()
    learn = Factored.learn

    def batches():
        for batch in source.batches():
            read.append(batch)
            readers.add(threading.get_ident())
            yield batch

    def slow(found, batch, *rest):
        time.sleep(0.01)
        lead.append(len(read) - len(lead) - 1)
        learn(found, batch, *rest)

    monkeypatch.setattr(Factored, "learn", slow)
    watched = descent.DescentData(batches, source.person_counts, source.item_counts)
    assert same(learned(watched), learned(source))
    n = 3 * blocks.n_blocks
    assert (len(read), threading.get_ident() in readers) == (n, False)
    assert max(lead[:n]) == 2


def test_what_goes_wrong_in_reading_is_told(blocks):
    _, source = survey(blocks, 1.0)
    before = set(threading.enumerate())
    (blocks.folder / "000003" / "items.npy").write_bytes(b"")
    with pytest.raises(DataError, match=r"000003/items.npy is missing, damaged"):
        learned(source)
    assert set(threading.enumerate()) <= before


# -- snapshots --------------------------------------------------------------------------------------------


@pytest.fixture
def checkpoint(tmp_path):
    with Checkpoint(tmp_path / "kept") as made:
        made.bind({"fit": "of these"})
        yield made


class Killed(BaseException):
    pass


def stopped(source, checkpoint, monkeypatch, after, **more):
    """Learn until the turn ``after``, which is not finished."""
    learn, offer, done = Factored.learn, descent._Snapshots.offer, []

    def learning(found, *rest):
        learn(found, *rest)
        done.append(1)
        if len(done) == after:
            raise Killed

    def offered(snapshots, *state, **ends):
        offer(snapshots, *state, **ends)
        snapshots._finish()  # so that which ones there are does not depend on the disk

    with monkeypatch.context() as patch:
        patch.setattr(Factored, "learn", learning)
        patch.setattr(descent._Snapshots, "offer", offered)
        with pytest.raises(Killed):
            learned(source, checkpoint=checkpoint, **more)


def test_it_goes_on_from_any_turn_with_the_same_result(blocks, checkpoint, monkeypatch):
    _, source = survey(blocks, 1.0)
    whole, seen = learned(source), set()
    for after in range(2, 3 * blocks.n_blocks, 3):
        checkpoint.drop("descent")
        stopped(source, checkpoint, monkeypatch, after, seconds=0)
        state = checkpoint.load_state("descent")
        seen.add((state.facts["epoch"], state.facts["block"]))
        assert same(learned(source, checkpoint=checkpoint), whole)
    assert seen == {divmod(after - 1, blocks.n_blocks) for after in range(2, 3 * blocks.n_blocks, 3)}


def test_it_goes_on_after_being_stopped_again_and_again(blocks, checkpoint, monkeypatch):
    _, source = survey(blocks, 1.0)
    for _ in range(3):
        stopped(source, checkpoint, monkeypatch, 5, seconds=0)
    assert same(learned(source, checkpoint=checkpoint), learned(source))
    assert same(learned(source, checkpoint=checkpoint), learned(source))  # there is nothing left to do


def test_an_inconsistent_snapshot_would_be_noticed(blocks, checkpoint, monkeypatch):
    """Planted: people as they were before the epoch, beside items as they are now."""
    _, source = survey(blocks, 1.0)
    copies, start = Factored.copies, Factored.start(150, 80, 70, effects=True)

    def mixed(found):
        return {**copies(found), "people": start.people}

    monkeypatch.setattr(Factored, "copies", mixed)
    stopped(source, checkpoint, monkeypatch, 9, seconds=0)
    assert not same(learned(source, checkpoint=checkpoint), learned(source))


def test_snapshots_are_taken_at_ends_of_epochs_and_now_and_then(blocks, checkpoint, monkeypatch):
    _, source = survey(blocks, 1.0)
    keep, taken = checkpoint.save_state, []

    def keeping(name, arrays, facts):
        taken.append((facts["epoch"], facts["block"]))
        keep(name, arrays, facts)

    monkeypatch.setattr(checkpoint, "save_state", keeping)
    learned(source, checkpoint=checkpoint)
    assert taken == [(1, 0), (2, 0), (3, 0)]


def test_training_goes_on_while_a_snapshot_is_written(blocks, checkpoint, monkeypatch):
    _, source = survey(blocks, 1.0)
    learn, keep = Factored.learn, checkpoint.save_state
    going_on, writers = threading.Event(), set()

    def learning(found, *rest):
        learn(found, *rest)
        if writers:
            going_on.set()

    def keeping(*state):
        writers.add(threading.get_ident())
        assert going_on.wait(60) or state[2]["epoch"] == 3
        keep(*state)

    monkeypatch.setattr(Factored, "learn", learning)
    monkeypatch.setattr(checkpoint, "save_state", keeping)
    learned(source, checkpoint=checkpoint)
    assert going_on.is_set()
    assert threading.get_ident() not in writers


def test_a_snapshot_that_cannot_be_written_is_told(blocks, checkpoint, monkeypatch):
    _, source = survey(blocks, 1.0)

    def full(*_):
        raise OSError("no space")

    monkeypatch.setattr(checkpoint, "save_state", full)
    with pytest.raises(OSError, match="no space"):
        learned(source, checkpoint=checkpoint)


SCRIPT = """
import sys
from pathlib import Path
import hushrec as hr
from hushrec.data.packed.blocks import Blocks
from hushrec.solvers import descent
folder, rank, epochs = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
# A snapshot after every block, so that it is killed between two of an epoch.
descent.gradient_descent.__kwdefaults__["seconds"] = 0.0
blocks = Blocks.open(folder / "packed", hr.Domain.open(folder / "domain.json"))
model = hr.MatrixFactorization(solver="sgd", rank=rank, epochs=epochs, reg=0.05)
hr.fit(blocks, model, checkpoint=folder / "kept").save(folder / "release.safetensors")
"""


def killed_and_resumed(folder, ratings, rank, epochs, kills):
    """Releases of a run that was killed after so many snapshots each time, and of one that was not."""
    ratings.domain.save(folder / "domain.json")
    packed = Blocks.write(ratings, folder / "packed", ratings_per_block=ratings.n_ratings // 8)

    def start():
        return subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder), str(rank), str(epochs)])

    for snapshots in kills:
        process, times = start(), set()
        while len(times) <= snapshots and process.poll() is None:
            times |= {file.stat().st_mtime_ns for file in folder.glob("kept/*.safetensors")}
            time.sleep(0.0002)
        process.kill()
        assert process.wait() == -9, "it was too fast to be killed"
    assert start().wait() == 0
    assert not (folder / "kept").exists()
    whole = hr.MatrixFactorization(solver="sgd", rank=rank, epochs=epochs, reg=0.05)
    return (folder / "release.safetensors").read_bytes(), hr.fit(packed, whole).to_bytes()


def test_kill_9_and_resume(tmp_path):
    kept, whole = killed_and_resumed(tmp_path, netflix_like(2000, 300, 60_000, 2), 40, 25, (4,))
    assert kept == whole


@pytest.mark.full
def test_kill_9_in_the_middle_of_10_million(tmp_path):
    ratings = netflix_like(48_000, 17_770, 10_000_000, 1)
    kept, whole = killed_and_resumed(tmp_path, ratings, 64, 3, (5, 5))
    assert kept == whole


# -- the model --------------------------------------------------------------------------------------------


def test_nobody_is_listed_of_blocks_without_a_roster(world, rmse, tmp_path):
    train, test = world
    config = hr.MatrixFactorization(rank=4, solver="sgd", reg=0.05)
    release = hr.fit(Blocks.write(train, tmp_path / "p", ratings_per_block=5000), config)
    assert (release.kind, release.users) == ("factors", ())
    assert not any(name.startswith("user") for name in release.tensors)
    found = hr.evaluate(release, train=train, test=test)["rmse"]
    assert found == pytest.approx(rmse(config), abs=0.01)


def test_a_roster_is_listed_of_blocks_too(listed, tmp_path):
    train, _ = listed
    config = hr.MatrixFactorization(rank=70, solver="sgd", epochs=2, reg=0.05)
    found = hr.fit(Blocks.write(train, tmp_path / "p", ratings_per_block=5000), config)
    wanted = hr.fit(train, config)
    assert found.users == train.domain.users
    assert found.to_bytes() == wanted.to_bytes()


def test_without_a_roster_items_are_those_of_ratings_in_memory(ratings, tmp_path):
    config = hr.MatrixFactorization(rank=70, solver="sgd", epochs=2, reg=0.05)
    found, wanted = (hr.fit(r, config) for r in (Blocks.write(ratings, tmp_path / "p"), ratings))
    for name in ("item_effects", "item_noise", "item_factors"):
        np.testing.assert_allclose(found.tensors[name], wanted.tensors[name], rtol=1e-4, atol=1e-5)
    for name, value in found.constants.items():
        assert value == pytest.approx(wanted.constants[name])


def test_which_settings_go_together(blocks):
    with pytest.raises(ConfigError, match="more than the 80 items"):
        hr.fit(blocks, hr.MatrixFactorization(rank=81, solver="sgd"))
    with pytest.raises(ConfigError, match="a rank of at most 120"):
        hr.MatrixFactorization(rank=121)
    assert hr.MatrixFactorization(rank=2048, solver="sgd").rank == 2048
    with pytest.raises(ConfigError, match="rank"):
        hr.MatrixFactorization(rank=2049, solver="sgd")


def test_settings_bear_on_the_result(listed):
    train, test = listed

    def fitted(**settings):
        release = hr.fit(
            train, hr.MatrixFactorization(**{"rank": 4, "solver": "sgd", "reg": 0.05, **settings})
        )
        return release.to_bytes(), hr.evaluate(release, train=train, test=test)["rmse"]

    plain, rmse = fitted()
    for settings in ({"schedule": "inverse"}, {"reg_decay": 0.8}, {"threads": 2}, {"rank": 130}):
        other, error = fitted(**settings)
        assert other != plain, settings
        assert error == pytest.approx(rmse, abs=0.02), settings


def test_no_ratings_are_no_trouble(ratings, tmp_path):
    config = hr.MatrixFactorization(rank=3, solver="sgd", epochs=2)
    empty = hr.fit(Blocks.write(ratings.slice(0, 0), tmp_path / "p"), config)
    assert (empty.tensors["item_effects"] == 3).all()
