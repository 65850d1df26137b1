"""What a file is, in one line."""

import pytest

from hushrec.pages.cards.subject import Subject
from support.releases import ranker, release


@pytest.mark.parametrize(
    ("made", "about"),
    [
        (release(), "Planted, 4 items, scale 1 to 5 by 0.5"),
        (release("factors and people"), "Planted, 4 items, 5 people listed, scale 1 to 5 by 0.5"),
        (ranker(), "Planted, 4 items, interactions"),
        (ranker(counts=9), "Planted, 4 items, interactions counted up to 9"),
        (
            ranker(scale=(1.0, 5.0, 1.0), likes=4.0),
            "Planted, 4 items, likes: ratings of at least 4 on the scale 1 to 5 by 1",
        ),
    ],
)
def test_a_release_is_one_line(made, about):
    assert Subject.of(made).about == about


def test_a_data_set_is_called_one():
    made = Subject(
        "data set", "RandomizedResponse", {}, 4, "scale 1 to 5 by 1", "9 people", release().statement
    )
    assert made.about == "data set by RandomizedResponse, 9 people, 4 items, scale 1 to 5 by 1"
