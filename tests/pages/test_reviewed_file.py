"""What a file is, in one line."""

import math

import pytest

from hushrec.documents.words import LANGUAGES, Clause, Words, english
from hushrec.pages.reviewed_file import ReviewedFile, on_scale
from support.releases import ranker, release, statement
from support.statements import KINDS


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
    assert ReviewedFile.of(made).about(english) == about


def test_a_data_set_is_called_one():
    made = ReviewedFile(
        "data_set",
        "RandomizedResponse",
        {},
        4,
        on_scale((1.0, 5.0, 1.0)),
        Clause("card.about.rows", {"people": 9000, "cells": 27}),
        release().statement,
    )
    about = "data set by RandomizedResponse, 9,000 people, 27 cells, 4 items, scale 1 to 5 by 1"
    assert made.about(english) == about


def test_a_file_promises_something_on_a_condition_and_nothing_without_a_finite_epsilon():
    for changes, promises in (({}, True), (KINDS["conditional"], True), (KINDS["seeded"], False)):
        assert ReviewedFile.of(release(statement=statement(**changes))).promises == promises
    assert not ReviewedFile.of(release(statement=statement(epsilon=math.inf))).promises


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_language_has_the_line(lang):
    words = Words(lang)
    assert ReviewedFile.of(release()).about(words)
    assert not words.fell_back
