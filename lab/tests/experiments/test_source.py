import itertools

import numpy as np
import pytest
from pydantic import ValidationError

from hushrec.errors import ConfigError
from lab.experiments.source import Data, Frame, Place, Split

MADE = {"users": 2000, "items": 20, "ratings": 8000, "seed": 3}
FRAME = {"items": (3, 12), "scale": (1, 5, 1), "max_users": 20}


def asked_by_user(**changed):
    data = Data(generated=MADE | changed, personal_epsilon={"0.5": 0.2, "2": 0.3, "8": 0.5})
    ratings = data.load()
    return dict(zip(ratings.users.to_pylist(), ratings.personal_epsilon.tolist(), strict=True))


def test_people_ask_in_proportion_and_by_their_ids():
    """The share of a class among 2,000 people misses by 0.08 less than once in 10^10 (Hoeffding)."""
    found = asked_by_user()
    values = np.array(list(found.values()))
    shares = {epsilon: float((values == epsilon).mean()) for epsilon in (0.5, 2.0, 8.0)}
    assert shares == pytest.approx({0.5: 0.2, 2.0: 0.3, 8.0: 0.5}, abs=0.08)
    other = asked_by_user(users=1000, ratings=5000, seed=4)  # other ratings of people with the same ids
    assert len(other) == 1000
    assert other.items() <= found.items()


def test_shares_add_to_one():
    Data(generated=MADE, personal_epsilon={str(n): 0.1 for n in range(1, 11)})  # up to rounding
    for share in (0.4, 0.6):
        with pytest.raises(ValidationError, match="the fractions of people add to 1"):
            Data(generated=MADE, personal_epsilon={"1": 0.5, "2": share})


def test_ratings_are_read_or_generated_and_only_files_have_a_domain(tmp_path):
    both = {"ratings": "films.csv", "generated": MADE}
    for given in ({}, {"domain": FRAME}, {**both, "domain": FRAME}, both):
        with pytest.raises(ValidationError, match="one of name, ratings and generated"):
            Data(**given)
    for given in ({"ratings": "films.csv"}, {"generated": MADE, "domain": FRAME}):
        with pytest.raises(ValidationError, match="ratings need a domain"):
            Data(**given)
    beside = Data.model_validate({"ratings": "films.csv", "domain": "films.json"}, context=Place(tmp_path))
    assert (beside.ratings, beside.domain) == (tmp_path / "films.csv", tmp_path / "films.json")


def test_a_named_set_brings_its_frame_and_is_looked_for_when_it_is_read(tmp_path):
    data = Data.model_validate({"name": "ml-1m"}, context=Place(tmp_path, tmp_path / "sets"))
    domain = data.domain_of()
    assert (domain.n_items, tuple(domain.scale), domain.max_users) == (3952, (1, 5, 1), 10_000)
    with pytest.raises(ConfigError, match=r"the data set ml-1m is not in .*sets; run python -m lab data get"):
        data.digest()
    (tmp_path / "sets" / "ml-1m").mkdir(parents=True)
    (tmp_path / "sets" / "ml-1m" / "ratings.dat").write_text("7::3952::4::978300760\n8::1::5::978300761\n")
    assert data.load().table()["item_id"].to_pylist() == ["3952", "1"]
    same = Data(ratings=tmp_path / "sets" / "ml-1m" / "ratings.dat", domain=FRAME)
    assert data.digest() == same.digest()


def test_a_table_adds_to_what_is_known_of_a_named_set():
    data = Data(name="ml-100k", domain={"users": (1, 943), "max_per_user": 7})
    assert data.domain == Frame(
        items=(1, 1682), scale=(1, 5, 1), max_users=1000, max_per_user=7, users=(1, 943)
    )
    with pytest.raises(ValidationError, match="there is no data set 'ml-2m'; there are ml-100k, ml-1m"):
        Data(name="ml-2m")
    with pytest.raises(ValidationError, match="one of name, ratings and generated"):
        Data(name="ml-1m", generated=MADE)


def test_a_domain_of_integer_ranges_includes_both_ends():
    domain = Frame(**FRAME, max_per_user=7, users=(8, 11)).domain()
    assert domain.items == tuple(str(n) for n in range(3, 13))
    assert set(domain.users) == {"8", "9", "10", "11"}
    assert (tuple(domain.scale), domain.max_users, domain.max_per_user) == ((1, 5, 1), 20, 7)
    assert Frame(**FRAME).domain().users is None


def test_a_digest_tells_contents_and_asked_shares_apart(tmp_path):
    def digest(name, personal_epsilon=()):
        return Data(ratings=tmp_path / name, domain=FRAME, personal_epsilon=personal_epsilon).digest()

    for name, text in {"a.csv": "1,3,5\n", "copy.csv": "1,3,5\n", "b.csv": "1,3,4\n"}.items():
        (tmp_path / name).write_text(text)
    assert digest("a.csv") == digest("copy.csv")
    assert (
        len({digest("a.csv"), digest("b.csv"), digest("a.csv", {"1": 1.0}), digest("a.csv", {"2": 1.0})}) == 4
    )
    with pytest.raises(ConfigError, match=r"data\.ratings: .*none\.csv cannot be read"):
        digest("none.csv")


def test_the_digest_of_made_up_ratings_stays():
    """Runs that are stored are known by it."""
    known = "bcd267a8ed6a9a2d987963cc502c7ea7d416ed0a14ec790c2c0c1bce2bdc651f"
    assert Data(generated=MADE).digest() == known


def test_numbers_and_seeds_of_splits():
    assert Split(kind="kfold", folds=4).numbers == (0, 1, 2, 3)
    assert Split(kind="holdout", splits=3).numbers == (0, 1, 2)
    some = Split(kind="kfold", folds=4, only=(3, 1))
    assert (some.numbers, some.count) == ((3, 1), 4)
    for kind, wrong in (("kfold", 10), ("kfold", -1), ("holdout", 5), ("people", 5)):
        with pytest.raises(ValidationError, match="only: the splits are numbered 0 to"):
            Split(kind=kind, only=(wrong,))
    folds, parts = Split(kind="kfold", folds=255), Split(kind="holdout", splits=255)
    assert Split(kind="people").entropy(3, 1) == parts.entropy(3, 1)
    assert [Split(kind=kind).fraction for kind in ("holdout", "people")] == [0.1, 0.2]
    draws = list(itertools.product(range(255), (0, 1, 999)))  # a grid has at most 1,000 seeds
    for split in (folds, parts):
        assert len({split.entropy(*draw) for draw in draws}) == len(draws)
    assert [folds.entropy(2, 1), parts.entropy(2, 0), parts.entropy(2, 1)] == [2001, 2, 1_000_002]
