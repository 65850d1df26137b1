"""Gradient descent block by block: what is learned, and read ahead."""

import threading

import numpy as np
import pytest

import hushrec as hr
from hushrec.data.synthetic import netflix_like
from hushrec.errors import DataError
from hushrec.models.factorization.descent import Factored, epoch_values, gradient_descent, survey
from support.packed import packed

NAMES = ("people", "items", "person_effects", "item_effects")


@pytest.fixture(scope="module")
def ratings():
    return netflix_like(150, 80, 2500, 1)


@pytest.fixture
def blocks(ratings, tmp_path):
    return packed(ratings, tmp_path / "packed", 400)


def learned(source, rank=70, epochs=3, **more):
    settings = {
        "rates": epoch_values(0.03, 0.9, epochs),
        "regs": [0.05] * epochs,
        "power": 0.5,
        "effects": True,
    }
    return gradient_descent(source, rank, **{**settings, **more})


def same(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in NAMES)


# -- what is learned --------------------------------------------------------------------------------------


def test_a_roster_puts_everybody_in_his_row(ratings, tmp_path):
    """In many blocks too, with people without ratings, who stay where they start."""
    users = [*ratings.users.to_pylist()[::-1], "u00007b", "z"]
    domain = hr.Domain(ratings.domain.items, scale=(1, 5, 1), max_users=200, users=users)
    listed = hr.People(domain, ratings.users, ratings.indptr, ratings.items, ratings.values)
    blocks = packed(listed, tmp_path / "blocks", 300)
    (_, source), (_, whole) = survey(blocks, 1.0), survey(listed, 1.0)
    assert same(learned(whole), learned(source))
    everybody = np.arange(domain.n_users)
    assert [everybody[people].tolist() for people, _ in source.batches()] == [
        block.places().tolist() for block in blocks.blocks()
    ]
    found, start = learned(source), Factored.start(152, 80, 70, effects=True)
    apart = [domain.users.index(user) for user in ("u00007b", "z")]
    np.testing.assert_array_equal(found.people[apart], start.people[apart])
    changed = (found.people != start.people).any(axis=1)
    assert changed.sum() == 150
    assert (found.person_effects != 0).sum() == 150


# -- reading ahead ----------------------------------------------------------------------------------------


def test_what_goes_wrong_in_reading_is_told(blocks):
    _, source = survey(blocks, 1.0)
    before = set(threading.enumerate())
    (blocks.folder / "items.bin").unlink()
    with pytest.raises(DataError, match=r"packed/items.bin is missing, damaged"):
        learned(source)
    assert set(threading.enumerate()) <= before


# -- the model --------------------------------------------------------------------------------------------


def test_nobody_is_listed_of_blocks_without_a_roster(world, rmse, tmp_path):
    train, test = world
    config = hr.MatrixFactorization(rank=4, solver="sgd", reg=0.05)
    release = hr.baseline(packed(train, tmp_path / "p", 5000), config)
    assert (release.kind, release.users) == ("factors", ())
    assert not any(name.startswith("user") for name in release.tensors)
    found = hr.evaluate(release, train=train, test=test)["rmse"]
    assert found == pytest.approx(rmse(config), abs=0.01)
