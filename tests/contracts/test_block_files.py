"""Every model makes the same release, byte for byte, of ratings in memory and in block files.

The block files have people in another order, but for the models that go through them one after another.
"""

import numpy as np
import pytest

import hushrec as hr
from support.everywhere import class_of, fits, made, world

IN_ORDER = {"PosteriorSampleMF"}
"""Models whose releases depend on the order of people."""


def both(folder, sizes, ratings_per_block):
    """By kind of feedback, the same ratings or likes in memory, and in blocks in this and another order.

    Every rating is a like.
    """
    made = {"ratings": world(*sizes), "interactions": world(*sizes, likes=1)}
    return {
        kind: (
            memory,
            *(
                hr.Blocks.write(parts, folder / f"{kind} {number}", ratings_per_block=ratings_per_block)
                for number, parts in enumerate((memory, mixed(memory)))
            ),
        )
        for kind, memory in made.items()
    }


def mixed(memory, n=3):
    """The same people in n parts: every n-th of them from the last one on, and so on."""
    return [memory.select(memory.user_index() % n == part) for part in reversed(range(n))]


def of_kind(name, sources):
    """What a model learns from, in memory and in blocks."""
    memory, in_order, in_another = sources[class_of(name).feedback]
    return memory, in_order if name in IN_ORDER else in_another


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """In memory, and in 19 or so blocks in either order."""
    return both(tmp_path_factory.mktemp("blocks"), (300, 40, 4000), 200)


@pytest.mark.parametrize(("name", "pair"), [*fits()])
def test_a_release_does_not_depend_on_where_the_ratings_are(name, pair, sources):
    memory, files = of_kind(name, sources)
    assert files.n_blocks > 10
    assert made(name, pair, memory) == made(name, pair, files)


@pytest.mark.parametrize("name", sorted(IN_ORDER))
def test_only_models_that_depend_on_the_order_are_spared_another_one(name, sources):
    memory, _, in_another = sources[class_of(name).feedback]
    pair = min(class_of(name).supports)
    assert made(name, pair, memory) != made(name, pair, in_another)


@pytest.mark.parametrize(
    "name", ["GlobalEffects", "PrivateALS", "PosteriorMF", "InputPerturbationMF", "Popularity", "PrivateEASE"]
)
def test_one_rating_less_in_a_block_is_noticed(name, sources, tmp_path):
    memory, _ = of_kind(name, sources)
    mask = np.ones(len(memory.items), dtype=np.bool_)
    mask[-1] = False
    files = hr.Blocks.write(memory.select(mask), tmp_path / "b", ratings_per_block=200)
    pair = min(class_of(name).supports)
    assert made(name, pair, memory) != made(name, pair, files)
