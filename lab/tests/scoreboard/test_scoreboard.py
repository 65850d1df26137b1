"""The scoreboard: what peers add as noise is what they are charged for, and rows are made once."""

import dataclasses
import math
import sys

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_matrix, vstack

import hushrec as hr
from hushrec.privacy.accounting.accountant import gaussian_epsilon, gaussian_mu
from hushrec.testing import Seeded
from lab.tests.test_benchmarks import script

board = script("scoreboard")
noisy = sys.modules["top_n.noisy"]
lists, ratings = sys.modules["top_n.entries"], sys.modules["top_n.rating_entries"]


@pytest.fixture
def likes():
    rng = np.random.default_rng(0)
    return csr_matrix((rng.random((60, 25)) < 0.2).astype(np.float32))


@pytest.mark.parametrize("items", [1, 3, 25])
def test_a_person_moves_the_gradient_by_one_at_most(likes, items):
    """Planted: without the scaling, a person with all items moves it by 3.4."""
    method = noisy.DPSGD(4, 1, 0.1, 0.5, 1.0)
    vectors = np.random.default_rng(1).normal(0, 0.1, (25, 4)).astype(np.float32)
    one = csr_matrix((np.ones(items, np.float32), (np.zeros(items, int), np.arange(items))), (1, 25))
    more = vstack([likes, one]).tocsr()
    moved = method._gradients(more, vectors) - method._gradients(likes, vectors)
    assert np.linalg.norm(moved) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_descent_costs_what_it_was_given(epsilon):
    method = lists.DP_SGD[epsilon]
    sigma = lists.least_noise(method, epsilon, 1e-6)
    assert gaussian_epsilon(math.sqrt(method.rounds) / sigma, 1e-6) == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize("items", [1, 3, 25])
def test_a_person_moves_what_mbi_is_given_by_one(likes, items):
    """Planted: people who all weigh 1 move it by 27 if they like everything."""
    one = csr_matrix((np.ones(items, np.float32), (np.zeros(items, int), np.arange(items))), (1, 25))
    before, after = (noisy.weighted_sums(rows) for rows in (likes, vstack([likes, one]).tocsr()))
    moved = [np.linalg.norm(more - less) for more, less in zip(after, before, strict=True)]
    scales = math.sqrt(noisy.TOTAL), math.sqrt(noisy.COUNTS), 1.0
    assert np.linalg.norm(np.multiply(moved, scales)) == pytest.approx(1, abs=1e-6)
    assert not np.tril(after[2]).any()


def rated(people, seed):
    rng = np.random.default_rng(seed)
    return csr_matrix(rng.integers(1, 6, (people, 20)) * (rng.random((people, 20)) < 0.4))


@pytest.mark.parametrize("seed", range(5))
def test_a_person_moves_sums_of_ratings_by_their_bounds_at_most(seed):
    """Σ w u uᵀ by Γ², Σ w y u by Γ Y, and the counts by 1: what ``RatingsALS`` divides its noise by."""
    method = noisy.RatingsALS(clip=0.4, largest=1.2)
    rows = rated(1, seed)
    centred = method._centred(rows, (1, 5))
    weights = method._weights(rows, np.random.default_rng(seed).random(20) ** 3)
    person = np.random.default_rng(seed + 1).normal(size=(1, 3))
    person *= 0.4 / np.linalg.norm(person)
    gram, right = noisy.moments(weights.T.tocsr(), person, centred.T.tocsr())
    assert np.linalg.norm(gram) == pytest.approx(0.4**2)
    assert np.linalg.norm(right) <= 0.4 * 1.2 * (1 + 1e-9)
    assert np.linalg.norm((rows.toarray() != 0) / math.sqrt(rows.nnz)) == pytest.approx(1)


def test_noise_of_ratings_factors_has_the_size_of_their_bounds():
    """A round of nobody's ratings is noise alone: Γ²/μ on half of a matrix, Γ Y/μ on a vector."""
    method = noisy.RatingsALS(rank=1, steps=1, clip=0.5, largest=2.0, penalty=1e-9, right=0.5, counts=0.5)
    empty = csr_matrix((1, 4000))
    gram, right = np.zeros((4000, 1, 1)), np.zeros((4000, 1))
    step = 0.1 * math.sqrt(0.5)
    none = empty.T.tocsr()
    items = method._items(none, none, np.zeros((1, 1)), step, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    gram += noisy.symmetric(rng, gram.shape, 0.25 / (step * math.sqrt(0.5)))
    right += rng.normal(0, 1.0 / (step * math.sqrt(0.5)), right.shape)
    assert gram.std() == pytest.approx(0.25 / 0.05, rel=0.06)
    assert right.std() == pytest.approx(1.0 / 0.05, rel=0.06)
    assert items == pytest.approx(right / (np.maximum(gram[:, 0], 0) + 1e-9))


@pytest.fixture
def table(tmp_path):
    """120 people and 110 items, of which some are popular."""
    rng = np.random.default_rng(3)
    people, items = np.nonzero(rng.random((120, 110)) < np.where(np.arange(110) < 15, 0.5, 0.1))
    stars = rng.integers(1, 6, len(items)).astype(float)
    frame = pl.DataFrame({"user": people, "item": items, "rating": stars})
    frame.write_parquet(tmp_path / "ratings.parquet")
    return tmp_path / "ratings.parquet"


def run(monkeypatch, table, *words):
    out = table.parent / "board.csv"
    common = ["--data", str(table), "--name", "made up", "--draws", "1", "--people", "20", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["scoreboard", *words, *common])
    board.main()
    return board.read(out)


def test_rows_are_made_once_and_name_their_command(monkeypatch, table, capsys):
    words = "lists", "--likes", "1", "--epsilon", "4", "--only", "PrivateEASE", "popularity, no noise"
    first = run(monkeypatch, table, *words)
    assert set(first["method"]) == {"PrivateEASE", "popularity, no noise"}
    assert set(first.filter(method="PrivateEASE")["unit"]) == {"user", "record"}
    assert first.filter(method="PrivateEASE")["epsilon"].is_close(4.0, abs_tol=1e-9).all()
    assert "--only PrivateEASE --draws 1 --unit user --epsilon 4" in first["command"].to_list()[3]
    assert first["command"].str.ends_with("--likes 1 --people 20").all()
    capsys.readouterr()
    again = run(monkeypatch, table, *words)
    assert again.equals(first)
    assert "PrivateEASE" not in capsys.readouterr().out


def test_what_is_known_beforehand_stands_behind_the_name_of_the_data(monkeypatch, table):
    films = table.with_name("films.csv")
    ids = sorted(pl.read_parquet(table)["item"].unique())
    pl.DataFrame({"item_id": ids, "title": [f"Film {item} ({1900 + item})" for item in ids]}).write_csv(films)
    words = "lists", "--likes", "1", "--epsilon", "20", "--unit", "user", "--only", "PrivateEASE"
    nothing = run(monkeypatch, table, *words)
    (table.parent / "board.csv").unlink()
    facts = "--items", str(films), "--titles-alone", "--others", str(table), str(films)
    found = run(monkeypatch, table, *words, *facts)
    said = "--items films.csv --titles-alone --others ratings.parquet films.csv"
    assert found["command"].str.contains(said, literal=True).all()
    stored = pl.concat([nothing, found.with_columns(data=pl.lit("made up; titles, clicks"))])
    head, _, *rows = board.known(stored, "made up").splitlines()
    assert head == "| known beforehand | 20 |"
    assert [row.split(" | ")[0] for row in rows] == ["| nothing", "| titles, clicks"]


def test_ones_own_model_is_priced_by_its_plan(monkeypatch, table):
    mine = "lab.tests.scoreboard.test_scoreboard:Mine"
    found = run(monkeypatch, table, "ratings", "--epsilon", "2", "--only", mine, "--model", mine)
    assert set(found["unit"]) == {"user", "record"}
    assert (found["epsilon"] - 2).abs().max() < 1e-6
    assert found["claimed"].is_null().all()


class Mine(hr.GlobalEffects):
    """A model that hushrec does not know."""


def test_a_published_form_states_its_claim_next_to_the_truth(monkeypatch, table):
    words = "ratings", "--epsilon", "4", "--unit", "record", "--only", "McSherrySVD, as printed"
    (row,) = run(monkeypatch, table, *words).iter_rows(named=True)
    assert row["claimed"] == 4
    assert row["epsilon"] != 4
    made = board.table(board.read(table.parent / "board.csv"), "ratings", "made up", "record")
    assert f"| McSherrySVD, as printed | 4 | {row['epsilon']:.3g} |" in made


def test_predictions_of_peers_are_in_the_order_of_the_test_part(table):
    """Planted: people of the two parts numbered apart, and the error of many good ratings is chance's."""
    import argparse

    rng = np.random.default_rng(5)
    means = rng.uniform(1, 5, 90)
    people, items = np.nonzero(rng.random((90, 60)) < 0.5)
    frame = pl.DataFrame({"user": people, "item": items, "rating": np.round(means[people])})
    split = ratings.held_out(frame, 0, argparse.Namespace(scale=[1, 5, 1]))
    made = ratings.dp_als(ratings.Held(split, "user", 20.0, 1e-6, 0))
    assert np.sqrt(np.mean((made.scores - split.test.numbers()) ** 2)) < 0.5


def test_a_delta_that_is_too_large_for_the_crowd_is_met_by_equal_noise():
    """hushrec refuses δ = 1e-5 for 100,000 people; the release's noise is that of (ε, δ) all the same."""
    asked = ratings.Held(None, "user", 1.0, 1e-5, 0)
    data = hr.synthetic.netflix_like(users=300, items=30, ratings=4000, seed=1)
    domain = hr.Domain(data.domain.items, scale=data.domain.scale, max_users=100_000, max_per_user=30)
    budget = lists.spent(asked, domain)
    assert budget.delta < 1e-6
    assert gaussian_mu(budget.epsilon, budget.delta) == pytest.approx(gaussian_mu(1.0, 1e-5), rel=1e-6)
    release = hr.testing.fit(
        dataclasses.replace(data, domain=domain), hr.GlobalEffects(), budget, entropy=Seeded(1)
    )
    assert lists.true(release, 1e-5) == pytest.approx(1.0, abs=1e-4)
    assert lists.true(release, budget.delta) == release.statement.epsilon > 1.1
