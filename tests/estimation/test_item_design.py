"""Columns from declared texts: labels, tenths of numbers, words of titles."""

import numpy as np

from hushrec.documents.sentences import Assumes
from hushrec.estimation import item_design
from hushrec.estimation.item_design import describe_items


def test_labels_are_columns_and_items_without_any_are_the_average():
    genres = ["Drama|War", "Drama", "War", "", "Drama| War", "Unique"]
    prior = describe_items([], {"genres": genres})
    has = np.array([[1, 1], [1, 0], [0, 1], [1, 1], [0, 0]])
    expected = np.zeros((6, 2))
    expected[[0, 1, 2, 4, 5]] = has - has.mean(axis=0)
    np.testing.assert_allclose(prior.design, expected)
    assert prior.groups.tolist() == [0, 0]
    assert prior.says == (Assumes.catalogue_says(names="genres"),)


def test_numbers_are_cut_into_tenths():
    years = [str(1900 + i) for i in range(99)] + [""]
    design = describe_items([], {"year": years}).design
    assert design.shape == (100, 10)
    assert not design[99].any()
    assert set((design > 0).sum(axis=0).tolist()) <= {9, 10, 11}
    assert (np.diff(np.argmax(design[:99], axis=1)) >= 0).all(), "in the order of the years"


def test_titles_give_words_and_their_year():
    titles = ["Alien (1979)", "Alien Resurrection (1997)", "Brazil (1985)", ""]
    prior = describe_items(titles, {})
    assert prior.groups.max() == 1
    words = prior.design[:, prior.groups == 1]
    assert words[0] @ words[1] > words[0] @ words[2], "they share a word"
    assert not prior.design[3].any()
    dated = describe_items(titles, {"Year": ["1979", "1997", "1985", ""]})
    assert dated.says[0].values == {"names": "Year, words of the title"}


def test_a_large_catalogue_is_described_in_fewer_columns(monkeypatch):
    monkeypatch.setattr(item_design, "_ENTRIES", 40)
    titles = [f"word{i} other{i}" for i in range(10)]
    assert describe_items(titles, {}).design.size <= 40


def test_the_sparse_table_has_every_value_of_some_items():
    brands = [f"brand {i // 2}" for i in range(4000)]
    prior = describe_items(
        [], {"brand": brands, "all alike": ["same"] * 4000, "genres": ["A|B", "B|A|C"] * 2000}
    )
    brand, genres = prior.features
    assert (brand.name, genres.name) == ("brand", "genres"), "nothing is learned where all items are alike"
    assert len(brand.labels) == 2000
    assert brand.labels[int(brand.table[[7]].indices[0])] == "brand 3"
    assert genres.labels == ("C",), "all items are A and B"
    lengths = [np.sqrt((group.table**2).sum(axis=1)) for group in prior.features]
    np.testing.assert_allclose(lengths[0], 1)
    np.testing.assert_allclose(lengths[1], [0, 1] * 2000)
    assert describe_items([], {"n": ["1"] * 10 + ["2"] * 20}).features[0].labels == ("1", "2")
