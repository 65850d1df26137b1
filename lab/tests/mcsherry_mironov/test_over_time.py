import numpy as np
import pytest

from lab.mcsherry_mironov import over_time
from lab.reproduction import Trial

DAY = 86_400


@pytest.fixture
def bench(tmp_path):
    """Ratings of 60 people, one more of them every day, two a day each, in the form of MovieLens 100K."""
    rng = np.random.default_rng(0)
    rows = []
    for user in range(1, 61):
        items = rng.permutation(40)[:30] + 1
        for place, item in enumerate(items):
            stars = int(np.clip(np.round(3 + 2 * np.sin(user * item) / 2), 1, 5))
            rows.append((user, int(item), stars, 880_000_000 + (user + place // 2) * DAY))
    (tmp_path / "ml-100k").mkdir()
    text = "\n".join("\t".join(map(str, row)) for row in rows)
    (tmp_path / "ml-100k" / "u.data").write_text(text)
    return over_time.work(tmp_path).bench()


def measured(bench, **settings):
    (row,) = bench.measure(
        Trial("x", {"day": 30, "seed": 0, "model": "published", "theta": None, **settings})
    )
    return row


def test_only_what_had_arrived_by_the_day_is_used(bench):
    early, late = measured(bench), measured(bench, day=60)
    assert (early["users"], late["users"]) == (30, 60)
    assert 0 < early["ratings"] < late["ratings"] <= 1800
    assert early["rmse"] > 0


@pytest.mark.full
def test_noise_costs_and_the_corrected_model_has_the_true_epsilon_of_theta(bench):
    exact = measured(bench)
    noisy = measured(bench, theta=0.15)
    assert noisy["rmse"] > exact["rmse"] + 0.1
    assert noisy == measured(bench, theta=0.15)  # seeded
    corrected = measured(bench, theta=0.15, model="corrected")
    assert corrected["true_epsilon"] == noisy["true_epsilon"] < over_time.claimed(0.15)


def test_the_probe_is_of_the_nine_latest(bench):
    bench.open()
    ratings = bench.ratings
    train, test = over_time.probe(ratings, 0)
    assert train.n_entries + test.n_entries == ratings.n_entries
    assert 60 < test.n_entries < 60 * 9  # a third of 540: 180 ± 11
