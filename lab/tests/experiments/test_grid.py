import math

import pytest

from hushrec.errors import ConfigError
from lab.experiments.grid import Grid

PLAIN = """
[data]
generated = { users = 60, items = 20, ratings = 600, seed = 3 }
[split]
kind = "kfold"
folds = 3
[[run]]
name = "effects"
model = "GlobalEffects"
unit = ["record", "user"]
adjacency = "add-remove"
epsilon = [10, 1, inf]
delta = 1e-6
seeds = 2
[[run]]
name = "svd"
model = "CovarianceSVD"
settings = { rank = 3 }
epsilon = 2
delta = 1e-6
unit = "record"
adjacency = "replace"
[[run]]
name = "printed"
model = "McSherryEffects"
unit = "user"
adjacency = "add-remove"
epsilon = [10, inf]
delta = 1e-6
[[reference]]
name = "item average"
"""


@pytest.fixture
def grid(tmp_path):
    def grid(text=PLAIN):
        (tmp_path / "grid.toml").write_text(text)
        return Grid.open(tmp_path / "grid.toml")

    return grid


def test_every_combination_is_run_on_every_split(grid):
    cases = grid().cases()
    assert len(cases) == 3 * (1 + 2 * 2 * 2 + 1 + 1 + 2)
    assert [case.split for case in cases] == sorted(case.split for case in cases)
    first = [case.coordinates() for case in cases if case.split == 0]
    assert [c["model"] for c in first] == ["item average"] + ["GlobalEffects"] * 9 + ["CovarianceSVD"] + [
        "McSherryEffects"
    ] * 2
    noisy = {(c["unit"], c["analysis"], c["epsilon"], c["seed"]) for c in first[1:]}
    assert {("user", "corrected", 10.0, 1), ("user", "published", 10.0, 0)} <= noisy
    plain = [c for c in first[1:] if math.isinf(c["epsilon"])]  # once, whatever unit, adjacency and seeds
    assert [(c["unit"], c["adjacency"], c["analysis"], c["delta"], c["seed"]) for c in plain] == [
        (None, None, "corrected", None, 0),
        (None, None, "published", None, 0),
    ]


def test_splits_are_those_of_the_library(grid):
    from hushrec.data.split import holdout, kfold

    made = grid()
    ratings = made.data.load()
    train, test = list(kfold(ratings, 3, 0))[2]
    found = made.split.parts(ratings, 2)
    assert found.fold_in is found.train
    assert (found.train.digest(), found.test.digest()) == (train.digest(), test.digest())
    held = grid(PLAIN.replace('"kfold"\nfolds = 3', '"holdout"\nfraction = 0.2\nsplits = 2\nseed = 5'))
    train, test = holdout(ratings, 0.2, 6)
    found = held.split.parts(ratings, 1)
    assert (found.train.digest(), found.test.digest()) == (train.digest(), test.digest())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[split]", "[spilt]", "grid.toml: split: Field required"),
        ("epsilon = 2", "epsilon = 2\nepsilonn = 2", "run[2].epsilonn: Extra inputs"),
        ('unit = "record"', "", "run[2]: a budget has all of epsilon, delta, unit and adjacency"),
        ("epsilon = 2", "epsilon = nan", "run[2].epsilon[1]: Input should be greater than 0"),
        ('"GlobalEffects"', '"GlobalAffects"', "run[1].model: there is no model 'GlobalAffects'; there are"),
        ("rank = 3", "rnk = 3", "run[2]: invalid settings for CovarianceSVD: rnk"),
        ("delta = 1e-6\nseeds", "delta = 1\nseeds", "run[1]: delta must be at least 0 and below"),
        ('"item average"', '"item averages"', "reference[1].name: there is no reference 'item averages'"),
        ("folds = 3", "fraction = 0.2", "split: fraction does not go with kind = 'kfold'"),
        ("[split]", 'ratings = "x.csv"\n[split]', "data: give one of name, ratings and generated"),
        ("[split]", "[split", "cannot be read as a grid"),
    ],
)
def test_errors_name_the_key(grid, old, new, message):
    assert PLAIN.count(old) == 1
    with pytest.raises(ConfigError) as caught:
        grid(PLAIN.replace(old, new))
    assert message in str(caught.value)


ASKED = """
[data]
generated = { users = 3000, items = 20, ratings = 9000, seed = 3 }
personal_epsilon = { "0.5" = 0.5, "2" = 0.3, "8" = 0.2 }
[split]
kind = "kfold"
folds = 3
[[run]]
name = "everybody his own"
model = "PosteriorMF"
settings = { rank = 2, epochs = 2 }
unit = "user"
adjacency = "add-remove"
epsilon = 8
delta = 1e-6
"""


def test_people_ask_for_an_epsilon_by_their_ids(grid):
    """Of 3,000 people the share of a class is within 0.06 of what is asked but once in 10^9 (Hoeffding)."""
    data = grid(ASKED).data
    ratings = data.load()
    shares = {epsilon: float((ratings.personal_epsilon == epsilon).mean()) for epsilon in (0.5, 2.0, 8.0)}
    assert shares == pytest.approx({0.5: 0.5, 2.0: 0.3, 8.0: 0.2}, abs=0.06)
    assert data.digest() != grid(ASKED.replace("0.3", "0.1").replace("0.2", "0.4")).data.digest()


CLICKS = """
[data]
generated = { users = 200, items = 30, interactions = 2500, seed = 3 }
[split]
kind = "people"
people = 40
splits = 2
[[run]]
name = "popularity, noisy"
model = "Popularity"
unit = "user"
adjacency = "add-remove"
epsilon = [1, inf]
delta = 1e-6
[[reference]]
name = "popularity"
"""


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        (
            CLICKS,
            '"Popularity"',
            '"GlobalEffects"',
            "GlobalEffects works on ratings, and these data",
        ),
        (CLICKS, 'name = "popularity"\n', 'name = "item average"\n', "the reference here is popularity"),
        (PLAIN, '"item average"', '"popularity"', "popularity is a ranking; list metrics of rankings"),
        (PLAIN, "[split]", '[measure]\nmetrics = ["recall@10"]\n[split]', "of ratings need likes"),
        (CLICKS, "[split]", "[measure]\nlikes = 4\n[split]", "leave out likes under [measure]"),
    ],
)
def test_what_does_not_fit_what_people_give_is_refused(grid, text, old, new, message):
    assert text.count(old) == 1
    with pytest.raises(ConfigError) as caught:
        grid(text.replace(old, new)).cases()
    assert message in str(caught.value)
