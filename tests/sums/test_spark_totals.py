"""Sums in Spark are those in memory, refused if a block is lost or repeated; errors hold nothing private."""

import dataclasses
import pickle
import sys

import numpy as np
import pytest

from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.data.spark import people as on_spark
from hushrec.data.spark.people import CHUNK
from hushrec.data.synthetic import netflix_like
from hushrec.errors import DataError
from hushrec.kernels.csr import cuts
from hushrec.privacy.noise.entropy import Seeded
from support.spark import sent

pytestmark = pytest.mark.spark
N_ITEMS = 30
WIDE = 2 * CHUNK + 17
"""Entries of a sum of three rows."""


@pytest.fixture(scope="module")
def ratings():
    made = netflix_like(90, N_ITEMS, 900, seed=3)
    names = [f"secret-{number:03d}" for number in range(made.n_users)]
    domain = Domain(made.domain.items, scale=(1, 5, 1), max_per_user=N_ITEMS, max_users=90)
    return People(domain, names, made.indptr, made.items, made.values)


@pytest.fixture(scope="module")
def source(spark, ratings):
    """In some ten blocks."""
    with sent(spark, ratings, 9) as there:
        assert there.n_blocks > 7
        yield there


@pytest.fixture(autouse=True)
def _by_value():
    """What this file defines is sent as it is, since workers cannot import it."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def add(block, by_item, wide, people):
    """Sums of two shapes, one of them wide, large, and zero in its middle row."""
    by_item[0] += np.bincount(block.items, block.values, N_ITEMS).astype(np.int64)
    by_item[1] += np.bincount(block.items, minlength=N_ITEMS)
    wide[[0, -1]] += 123_456_789 * int(block.values.sum())
    people += block.n_users


SHAPES = ((2, N_ITEMS), WIDE, 1)


def same(here, there):
    return all(np.array_equal(a, b) and a.shape == b.shape for a, b in zip(here, there, strict=True))


def test_sums_are_those_in_memory(source, ratings):
    assert same(ratings.total(add, *SHAPES), source.total(add, *SHAPES))
    assert same(ratings.capped(4).total(add, *SHAPES), source.capped(4).total(add, *SHAPES))


def test_nobody_at_all_adds_nothing(spark, ratings):
    nobody = ratings.select(np.zeros(ratings.n_entries, dtype=bool))
    with sent(spark, nobody) as none:
        assert none.n_blocks == 0
        assert not any(array.any() for array in none.total(add, *SHAPES))
        none.require_ready()


@pytest.mark.parametrize(
    "planted",
    [
        lambda frame: frame.union(frame.where("block = 2")),
        lambda frame: frame.where("block != 2"),
        lambda frame: frame.where("block != 2").union(frame.where("block = 3")),
    ],
    ids=["twice", "lost", "one lost and another twice"],
)
def test_a_block_that_is_not_added_exactly_once_is_noticed(source, planted):
    broken = dataclasses.replace(source, frame=planted(source.frame))
    for action in (lambda: broken.total(add, *SHAPES), lambda: broken.require_ready()):
        with pytest.raises(DataError, match="every block of people exactly once"):
            action()


def test_no_function_takes_a_key_along(source, capfd):
    key = Seeded(1)
    for carrying in (lambda block, *sums: (block, key), [key].append):
        with pytest.raises(pickle.PicklingError, match="Seeded cannot be copied, nor sent"):
            source.total(carrying, *SHAPES)
    capfd.readouterr()  # where Spark prints the trace


def failing(block, *sums):
    raise ValueError(f"{block.users[0]} gave {block.values[0]}")


def test_an_error_on_an_executor_tells_its_kind_and_nothing_private(source, capfd):
    with pytest.raises(DataError, match=r"ValueError in hushrec\.\S+, line \d+; more is withheld") as caught:
        source.total(failing, *SHAPES)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "secret" not in f"{caught.value}{capfd.readouterr()}"


def test_an_error_in_our_own_code_tells_its_place(source):
    with pytest.raises(DataError, match=r"TypeError in hushrec\.kernels\.csr, line \d+; more"):
        source.total(lambda block, *sums: cuts(block, 1), *SHAPES)


def test_an_executor_of_another_version_is_noticed_before_a_charge(source, monkeypatch):
    monkeypatch.setattr(on_spark, "version", lambda: "0.0.0")
    with pytest.raises(DataError, match="another version of hushrec"):
        source.require_ready()
