"""Every model makes the same release, byte for byte, of ratings in memory and in block files."""

import numpy as np
import pytest

import hushrec as hr
from hushrec import registry
from support.everywhere import fits, made, world


def both(folder, sizes, ratings_per_block):
    """By kind of feedback, the same ratings or likes in memory and in blocks; every rating is a like."""
    made = {"ratings": world(*sizes), "interactions": world(*sizes, likes=1)}
    return {
        kind: (memory, hr.Blocks.write(memory, folder / kind, ratings_per_block=ratings_per_block))
        for kind, memory in made.items()
    }


def of_kind(name, sources):
    """What a model learns from, in memory and in blocks."""
    return sources[registry.class_of(name).feedback]


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """In memory, and in 19 or so blocks."""
    return both(tmp_path_factory.mktemp("blocks"), (300, 40, 4000), 200)


@pytest.mark.parametrize(("name", "pair"), [*fits()])
def test_a_release_does_not_depend_on_where_the_ratings_are(name, pair, sources):
    memory, files = of_kind(name, sources)
    assert files.n_blocks > 10
    assert made(name, pair, memory) == made(name, pair, files)


@pytest.mark.parametrize(
    "name", ["GlobalEffects", "PrivateALS", "PosteriorMF", "InputPerturbationMF", "Popularity", "PrivateEASE"]
)
def test_one_rating_less_in_a_block_is_noticed(name, sources, tmp_path):
    memory, _ = of_kind(name, sources)
    mask = np.ones(len(memory.items), dtype=np.bool_)
    mask[-1] = False
    files = hr.Blocks.write(memory.select(mask), tmp_path / "b", ratings_per_block=200)
    pair = min(registry.class_of(name).supports)
    assert made(name, pair, memory) != made(name, pair, files)


@pytest.mark.full
@pytest.mark.parametrize(("name", "pair"), [*fits()])
def test_a_million_ratings_make_the_same_release(name, pair, million):
    memory, files = of_kind(name, million)
    assert made(name, pair, memory) == made(name, pair, files)


@pytest.fixture(scope="module")
def million(tmp_path_factory):
    """About a million in memory, and in blocks of 100,000."""
    made = both(tmp_path_factory.mktemp("million"), (12_000, 800, 1_400_000), 100_000)
    assert all(len(memory.items) > 1_000_000 for memory, _ in made.values())
    return made
