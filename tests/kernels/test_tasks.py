"""Spans of rows with about equal work, and what threads return for them."""

import numpy as np
import pytest

from hushrec.kernels.compiled import in_threads, spans


@pytest.mark.parametrize("number", [1, 3, 16])
def test_spans_cover_all_rows_once_and_share_the_work(number):
    work = np.random.default_rng(0).integers(0, 20, 400)
    done = np.concatenate([[0], np.cumsum(work)])
    found = spans(done, number)
    assert len(found) == number
    assert [row for begin, end in found for row in range(begin, end)] == list(range(400))
    assert max(done[end] - done[begin] for begin, end in found) <= done[-1] / number + 20


def test_no_rows_have_empty_spans():
    assert spans(np.zeros(1, np.int64), 3) == [(0, 0)] * 3


@pytest.mark.parametrize("threads", [1, 3])
def test_results_come_in_the_order_of_the_tasks(threads):
    found = in_threads(lambda begin, end, by: by * (end - begin), [(0, 3), (3, 4)], 10, threads=threads)
    assert found == [30, 10]
