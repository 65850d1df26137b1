"""Releases made by hand, forged and as they are: fixtures that several folders share."""

import json
from contextlib import suppress

import numpy as np
import pytest
import safetensors.numpy

from hushrec.documents.sentences import Assumes
from hushrec.errors import ReleaseError
from hushrec.release import artefact
from hushrec.release.artefact import Release
from hushrec.release.client import Client
from hushrec.release.statement import Measured, Statement

RANK, SIMILAR, PEOPLE = 2, 3, 5
KINDS_OF_FACTORS = ("factors", "factors and people", "neighbours", "dense neighbours")


def statement(**changes):
    """A private statement, but for what is named."""
    facts = {
        "caveats": (),
        "unit": "user",
        "adjacency": "add-remove",
        "epsilon": 1.25,
        "delta": 1e-6,
        "measurements": (
            Measured("item sums", "gaussian", 2.0, 8.0, 4, 0.75, 0.25),
            Measured("co-rating weights", "laplace", 3.0, 6.0, 10, 0.25, 0.5),
            Measured("item counts", "exact", 0.0, 0.0, 4, 0.0, 0.0),
        ),
        "assumes": (Assumes.rows(),),
        "ledger": {
            "id": "9f" * 16,
            "file": "ledger.db",
            "seq": 3,
            "head": "ab" * 32,
            "release_index": 0,
            "max_releases": 4,
        },
    }
    return Statement(**(facts | changes))


def pairs(n):
    return n * (n + 1) // 2


def release(kind="factors", n=4, seed=0, rank=RANK, **changes):
    """A release with random numbers in it, but for what is named."""
    rng = np.random.default_rng(seed)
    own = {
        "factors": {"item_factors": (n, rank)},
        "factors and people": {
            "item_factors": (n, rank),
            "user_effects": (PEOPLE,),
            "user_factors": (PEOPLE, rank),
        },
        "neighbours": {"item_factors": (n, rank), "similarity_factors": (n, SIMILAR)},
        "dense neighbours": {"covariance": (pairs(n),), "similarity": (pairs(n),)},
    }[kind]
    tensors = {"item_effects": rng.uniform(2, 4, n), "item_noise": rng.uniform(0.5, 1.5, n)}
    tensors |= {name: rng.normal(size=shape) / 2 for name, shape in own.items()}
    tensors["item_popularity"] = rng.uniform(1, 20, n)
    facts = {
        "model": "Planted",
        "settings": {"rank": rank, "covariance": {"clip": None}},
        "kind": kind,
        "items": tuple(f"item {i} é" for i in range(n)),
        "scale": (1.0, 5.0, 0.5),
        "constants": {"user_mean": 0.125, "user_variance": 0.16, "bias_noise": 0.8, "neighbours": 2.0},
        "tensors": {name: array.astype(np.float32) for name, array in tensors.items()},
        "statement": statement(),
        "users": tuple(f"person {u} é" for u in range(PEOPLE)) if "user_factors" in own else (),
    }
    return Release(**(facts | changes))


def ranker(items=("a", "b", "c", "d"), scores=None, **changes):
    """A release of interactions with a score for every item, falling in the catalogue's order by default."""
    falling = np.arange(len(items), 0, -1)
    facts = {
        "model": "Planted",
        "settings": {},
        "kind": "item scores",
        "items": tuple(items),
        "scale": None,
        "constants": {},
        "tensors": {"item_scores": np.array(falling if scores is None else scores, dtype=np.float32)},
        "statement": statement(),
    }
    return Release(**(facts | changes))


def linear_items(seed, n, rank=5):
    """Kind and tensors of a release of linear scores, from random numbers."""
    rng = np.random.default_rng(seed)
    tensors = {
        "item_factors": rng.uniform(-1, 1, (n, rank)),
        "input_weights": rng.uniform(0.1, 1, n),
        "output_weights": rng.uniform(-1, 1, n),
        "intercept": rng.uniform(-1, 1, rank),
        "item_scores": rng.uniform(0.5, 9, n),
    }
    return {"kind": "linear items", "tensors": {name: of.astype(np.float32) for name, of in tensors.items()}}


def valued(seed, n, rank=5):
    """The same with values of features: genres, of which items have up to two, and years in two tables."""
    rng = np.random.default_rng(seed)
    values = [("genres", "Comedy"), ("genres", "Drama"), ("genres", "War")]
    values += [("year", "1990–1999"), ("year", "1990–1999"), ("year", "2000"), ("year", "1990–1999")]
    rows = [sorted({at % 4, (at * at) % 3} - {3}) + [3 + at % 4] * (at % 3 > 0) for at in range(n)]
    made = linear_items(seed + 1, n, rank)
    tensors = {
        "value_factors": rng.uniform(-1, 1, (len(values), rank)),
        "value_counts": rng.uniform(-1, 1, len(values)),
        "value_direction": rng.uniform(-1, 1, rank),
        "value_weights": rng.uniform(0.1, 1, sum(map(len, rows))),
    }
    made["tensors"] |= {name: of.astype(np.float32) for name, of in tensors.items()}
    made["tensors"]["value_starts"] = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    made["tensors"]["value_columns"] = np.concatenate(rows).astype(np.int32)
    constants = {"count_intercept": 1.0, "half_count": 0.5, "own_variance": 2.0, "placed_items": 0.0}
    return {**made, "values": tuple(values), "constants": constants}


def opened(data):
    """The JSON facts and the tensors of a release's bytes."""
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return json.loads(header["__metadata__"]["hushrec"]), safetensors.numpy.load(data)


def closed(facts, tensors, *, sign=True):
    """A file of these facts and tensors. ``sign`` brings its digest up to date, as a forger would."""
    told = {name: value for name, value in facts.items() if name != "sha256"}
    if sign:
        return artefact._seal(json.dumps(told), tensors)
    stated = {"sha256": facts["sha256"]} if "sha256" in facts else {}
    return safetensors.numpy.save(tensors, {"hushrec": json.dumps(stated | told, separators=(",", ":"))})


def used(data):
    """Everything that a reader does with a release: if it opens, all of it works."""
    release = Release.from_bytes(data)
    client = Client(release)
    own = dict.fromkeys(release.items[:2], release.scale[1])
    assert np.isfinite(list(client.predict(own).values())).all()
    assert release.items == () or client.recommend({}, 1)
    for item in release.items[:1]:
        with suppress(ReleaseError):  # some releases do not tell which items are alike
            assert all(0 < row.score < np.inf for row in client.similar(item))
            assert client.recommend({}, 1, diversity=0.5)
        with suppress(ReleaseError):
            assert np.isfinite([row.contribution for row in client.reasons(own, item)]).all()
    for user in release.users:
        assert np.isfinite(list(client.predict(user=user).values())).all()
    assert repr(release)
    assert str(release.statement)
    return release.to_bytes()


@pytest.fixture(scope="session", name="used")
def _used():
    return used


@pytest.fixture(scope="session", name="statement")
def _statement():
    return statement


@pytest.fixture(scope="session", name="release")
def _release():
    return release


@pytest.fixture(scope="session", name="ranker")
def _ranker():
    return ranker


@pytest.fixture(scope="session", name="opened")
def _opened():
    return opened


@pytest.fixture(scope="session")
def forged():
    """Bytes after ``change(facts, tensors)``, with a digest that fits them."""

    def forge(data, change, *, sign=True):
        facts, tensors = opened(data)
        change(facts, tensors)
        return closed(facts, tensors, sign=sign)

    return forge


@pytest.fixture(params=KINDS_OF_FACTORS)
def kind(request):
    return request.param
