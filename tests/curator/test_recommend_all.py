"""Lists for every user of a table: those of the client, written for the curator alone."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import hushrec as hr
from hushrec.curator.recommend_all import recommend_all, write_lists
from hushrec.data.synthetic import interactions, netflix_like
from hushrec.errors import DataError
from hushrec.release import top_n
from release.predictors.test_linear_items import linear
from support.releases import ranker

ITEMS = 60


@pytest.fixture(scope="module")
def rated():
    return netflix_like(80, ITEMS, 1500, 0)


@pytest.fixture(scope="module")
def release(rated):
    return hr.baseline(rated, hr.CovarianceSVD(rank=3))


def by_user(tables):
    table, lists = pa.concat_tables(tables), {}
    assert table.column_names == ["user_id", "item_id", "score", "rank"]
    for user, *row in zip(*table.to_pydict().values(), strict=True):
        lists.setdefault(user, []).append(tuple(row))
    return lists


def own(people):
    given = {}
    for user, item, *rating in zip(*people.table().to_pydict().values(), strict=True):
        given.setdefault(user, {})[item] = rating[0] if rating else item
    return given


def read(path):
    return parquet.read_table(path) if path.suffix == ".parquet" else csv.read_csv(path)


def alone(release, given, n, allowed=None):
    """What the client recommends, with no more than ``allowed``."""
    listed = hr.Client(release).recommend(given, len(release.items))
    kept = [(item, score) for item, score, *_ in listed if allowed is None or item in allowed]
    return [(item, score, rank) for rank, (item, score) in enumerate(kept[:n], start=1)]


def test_everybody_gets_the_list_of_the_client(release, rated):
    found = by_user(recommend_all(release, rated, 7))
    assert [*found] == rated.users.to_pylist()
    for user, given in own(rated).items():
        assert found[user] == alone(release, given, 7)


def test_interactions_and_counts():
    plain = interactions(50, 30, 400, 0)
    counts = np.random.default_rng(0).integers(1, 4, 400).astype(np.uint8)
    domain = hr.Domain(plain.domain.items, max_users=100, counts=9)
    counted = hr.People(domain, plain.users, plain.indptr, plain.items, counts)
    for given in (plain, counted):
        release = hr.baseline(given, hr.Popularity())
        found = by_user(recommend_all(release, given, 7))
        for user, items in own(given).items():
            assert found[user] == alone(release, [*items], 7)


@pytest.mark.parametrize("likes", [{}, {"scale": (1.0, 5.0, 1.0), "likes": 4.0}])
def test_times_and_stars_of_the_middle_weigh_as_on_the_device(likes):
    release = linear(**likes)
    times, stars = {"i1": 9, "i3": 7, "i5": 8}, {"i1": 5, "i3": 4, "i5": 3}
    table = {"user_id": list("aaa"), "item_id": [*times], "timestamp": [*times.values()]}
    scale = {"scale": likes["scale"]} if likes else {}
    rated = pa.table({**table, "rating": [*stars.values()]} if likes else table)
    people = hr.load(rated, hr.Domain(release.items, max_users=10, **scale))
    expected = hr.Client(release).recommend(stars if likes else {*stars}, 9, times=times)
    assert by_user(recommend_all(release, people, 9))["a"] == [row[:3] for row in expected]


def test_block_files_give_the_same_lists(release, rated, tmp_path, monkeypatch):
    blocks = replace(hr.load(rated.table(), rated.domain, where=tmp_path / "blocks"), _per_block=200)
    assert blocks.n_blocks > 3
    expected = by_user(recommend_all(release, rated, 5))
    monkeypatch.setattr(top_n, "_SCORES", 3 * ITEMS)
    found = [*recommend_all(release, blocks, 5)]
    assert len(found) > 20
    assert by_user(found) == expected


@pytest.mark.parametrize("cores", [1, 2, 5])
def test_cores_change_neither_lists_nor_order(release, rated, monkeypatch, cores):
    expected = by_user(recommend_all(release, rated, 5))
    monkeypatch.setattr(top_n, "_SCORES", 3 * ITEMS)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(cores), raising=False)
    found = by_user(recommend_all(release, rated, 5))
    assert [*found] == rated.users.to_pylist()
    assert found == expected


def test_whoever_stops_reading_stops_the_ranking(release, rated, monkeypatch):
    """A few blocks are ranked ahead of the reader, and no more."""
    monkeypatch.setattr(top_n, "_SCORES", ITEMS)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(2), raising=False)
    ranked, of = [], top_n.Ranking.of
    monkeypatch.setattr(top_n.Ranking, "of", lambda *given: ranked.append(1) or of(*given))
    tables = recommend_all(release, rated, 5)
    next(tables)
    tables.close()
    assert 1 <= len(ranked) <= 5


def test_only_what_is_allowed_is_listed(release, rated):
    allowed = ["i00003", "i00017", "i00040", "not in the catalogue"]
    found = by_user(recommend_all(release, rated, 2, allowed=allowed))
    for user, given in own(rated).items():
        assert found.get(user, []) == alone(release, given, 2, allowed)
    assert not by_user([*recommend_all(release, rated, 2, allowed=[])])
    with pytest.raises(DataError, match="give the ids as a list"):
        next(recommend_all(release, rated, allowed="i00003"))


@pytest.fixture
def likes():
    """A release of likes, the ratings of three users, and the same as likes."""
    items = [f"i{k}" for k in range(8)]
    release = ranker(items=items, scale=(1.0, 5.0, 1.0), likes=4.0)
    table = pa.table(
        {
            "user_id": list("aaabbc"),
            "item_id": ["i0", "i1", "i5", "i0", "i2", "i1"],
            "rating": [5, 2, 4, 1, 3, 5],
        }
    )
    rated = hr.load(table, hr.Domain(items, scale=(1, 5, 1), max_users=10))
    liked = hr.load(table, hr.Domain(items, scale=(1, 5, 1), likes=4, max_users=10))
    return release, rated, liked


def test_what_is_not_liked_is_not_listed_either(likes):
    release, rated, liked = likes
    found = by_user(recommend_all(release, rated, 3))
    assert [*found] == ["a", "b", "c"]
    for user, given in own(rated).items():
        assert found[user] == alone(release, given, 3)
    assert [item for item, _, _ in found["a"]] == ["i2", "i3", "i4"]
    unknown = by_user(recommend_all(release, liked, 3))
    assert [*unknown] == ["a", "c"]
    assert [item for item, _, _ in unknown["a"]] == ["i1", "i2", "i3"], "likes do not tell what was disliked"


def test_a_release_of_another_kind_of_feedback(release, rated, likes):
    given = interactions(20, ITEMS, 100, 0)
    popular = hr.baseline(given, hr.Popularity())
    with pytest.raises(DataError, match="different catalogues, scales or kinds"):
        next(recommend_all(release, given))
    with pytest.raises(DataError, match="different catalogues, scales or kinds"):
        next(recommend_all(popular, rated))
    with pytest.raises(DataError, match="different catalogues, scales or kinds"):
        next(recommend_all(replace(likes[0], likes=3.0), likes[2]))
    with pytest.raises(DataError, match="different catalogues, scales or kinds"):
        next(recommend_all(replace(popular, counts=9), given))


@pytest.mark.parametrize("name", ["lists.parquet", "lists.csv"])
def test_the_file_holds_the_tables_for_its_owner_alone(release, rated, tmp_path, name):
    path = tmp_path / name
    write_lists(recommend_all(release, rated, 4), path)
    assert by_user([read(path)]) == by_user(recommend_all(release, rated, 4))
    assert path.stat().st_mode & 0o777 == 0o600
    assert [*tmp_path.iterdir()] == [path]


def test_a_file_that_cannot_be_written(release, rated, tmp_path):
    lists = recommend_all(release, rated)
    with pytest.raises(DataError, match="one of these formats"):
        write_lists(lists, tmp_path / "lists.json")
    with pytest.raises(DataError, match="cannot be written: No such file"):
        write_lists(lists, tmp_path / "nowhere" / "lists.csv")
    (tmp_path / "lists.csv").write_text("mine")
    with pytest.raises(DataError, match="exists; choose another file"):
        write_lists(lists, tmp_path / "lists.csv")
    assert (tmp_path / "lists.csv").read_text() == "mine"


PEAK = """
import resource, sys
from dataclasses import replace
import hushrec as hr
from hushrec.curator.recommend_all import recommend_all, write_lists
release, domain = hr.Release.open("release.safetensors"), hr.Domain.open("domain.json")
people = replace(hr.People.open(sys.argv[1], domain), _per_block=1 << 16)
write_lists(recommend_all(release, people, 100), sys.argv[1] + ".parquet")
sys.stdout.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10))
"""


@pytest.mark.full
def test_memory_does_not_grow_with_the_users(tmp_path, monkeypatch):
    """Eight times as many users have 400 MB more of lists in a table, and none of it in memory."""
    monkeypatch.chdir(tmp_path)
    people = netflix_like(40_000, 1000, 800_000, 0)
    people.domain.save("domain.json")
    hr.baseline(people, hr.GlobalEffects()).save("release.safetensors")
    peaks = []
    for n_users in (5_000, 40_000):
        some = people.slice(0, min(n_users, people.n_users))
        hr.load(some.table(), some.domain, where=Path(f"{n_users}"))
        command = [sys.executable, "-c", PEAK, f"{n_users}"]
        found = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append(int(found.stdout))
        assert parquet.read_metadata(f"{n_users}.parquet").num_rows > 99 * n_users
    assert peaks[1] - peaks[0] < 100
