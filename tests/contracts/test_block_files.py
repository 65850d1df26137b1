"""Every model makes the same release, byte for byte, of ratings in memory and in a folder."""

import pytest

from support.everywhere import class_of, fits, made, world
from support.packed import packed


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """By kind of feedback, the same ratings or likes in memory, and in 19 or so blocks.

    Every rating is a like.
    """
    folder = tmp_path_factory.mktemp("blocks")
    sizes = 300, 40, 4000
    kinds = {"ratings": world(*sizes), "interactions": world(*sizes, likes=1)}
    return {kind: (memory, packed(memory, folder / kind, 200)) for kind, memory in kinds.items()}


@pytest.mark.parametrize(("name", "pair"), [*fits()])
def test_a_release_does_not_depend_on_where_the_ratings_are(name, pair, sources):
    memory, files = sources[class_of(name).feedback]
    assert files.n_blocks > 10
    assert made(name, pair, memory) == made(name, pair, files)
