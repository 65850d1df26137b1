"""Columns from declared texts: labels, tenths of numbers, words of titles."""

import numpy as np

from hushrec.data.declared import item_design
from hushrec.data.declared.item_design import described
from hushrec.documents.words import Clause


def test_labels_are_columns_and_items_without_any_are_the_average():
    genres = ["Drama|War", "Drama", "War", "", "Drama| War", "Unique"]
    prior = described([], {"genres": genres})
    has = np.array([[1, 1], [1, 0], [0, 1], [1, 1], [0, 0]])
    expected = np.zeros((6, 2))
    expected[[0, 1, 2, 4, 5]] = has - has.mean(axis=0)
    np.testing.assert_allclose(prior.design, expected)
    assert prior.groups.tolist() == [0, 0]
    assert prior.clauses == (Clause("assumes.catalogue_says", {"names": "genres"}),)


def test_numbers_are_cut_into_tenths():
    years = [str(1900 + i) for i in range(99)] + [""]
    design = described([], {"year": years}).design
    assert design.shape == (100, 10)
    assert not design[99].any()
    assert set((design > 0).sum(axis=0).tolist()) <= {9, 10, 11}
    assert (np.diff(np.argmax(design[:99], axis=1)) >= 0).all(), "in the order of the years"


def test_titles_give_words_and_their_year():
    titles = ["Alien (1979)", "Alien Resurrection (1997)", "Brazil (1985)", ""]
    prior = described(titles, {})
    assert prior.groups.max() == 1
    words = prior.design[:, prior.groups == 1]
    assert words[0] @ words[1] > words[0] @ words[2], "they share a word"
    assert not prior.design[3].any()
    dated = described(titles, {"Year": ["1979", "1997", "1985", ""]})
    assert dated.clauses[0].values == {"names": "Year, words of the title"}


def test_a_large_catalogue_is_described_in_fewer_columns(monkeypatch):
    monkeypatch.setattr(item_design, "_ENTRIES", 40)
    titles = [f"word{i} other{i}" for i in range(10)]
    assert described(titles, {}).design.size <= 40


def test_nothing_declared_is_nothing_known():
    assert described([], {}).digest == ""
    assert described(["", "", ""], {}).digest == ""
