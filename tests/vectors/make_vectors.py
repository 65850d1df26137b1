"""Test vectors of the release's format: a small release of each kind, and what a client answers from it.

    python tests/vectors/make_vectors.py

It writes ``NAME.safetensors`` and ``NAME.json`` for each kind beside this script, the same whenever it runs.
``docs/format.md`` says what the fields mean.
"""

import json
import sys
from pathlib import Path

import numpy as np

from hushrec.documents.sentences import Assumes, Unprotected
from hushrec.release.artefact import Release
from hushrec.release.client import Client
from hushrec.release.statement import Measured, Statement

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support import signed
from support.releases import valued

HERE = Path(__file__).resolve().parent
FILMS = ("Alien", "Amélie", "Brazil", "Das Boot", "Heat", "Le Samouraï", "007", "Playtime", "Ran", "夜と霧")
N = len(FILMS)
LISTED = 4
LEDGER = {
    "id": "9f" * 16,
    "file": "films.db",
    "seq": 3,
    "head": "ab" * 32,
    "release_index": 0,
    "max_releases": 1,
}
SEVERAL = {
    **LEDGER,
    **{"release_index": 2, "max_releases": 52, "total_epsilon": 4.0, "total_delta": 1e-6},
    "spent_epsilon": 1.25,
}


def statement(**changes):
    """A statement that promises something, but for what is named."""
    facts = {
        "caveats": (),
        "unit": "user",
        "adjacency": "add-remove",
        "epsilon": 1.2345678,
        "delta": 1e-6,
        "measurements": (Measured("item sums", "gaussian", 2.0, 8.0, N, 1.0, 0.25),),
        "assumes": (Assumes.rows(),),
        "ledger": LEDGER,
        "hushrec": "0.1.0",
    }
    return Statement(**(facts | changes))


def release(kind, tensors, **facts):
    """A release of made-up numbers."""
    return Release(
        model="Vectors",
        settings={},
        kind=kind,
        items=FILMS,
        tensors={name: np.asarray(values).astype(np.float32) for name, values in tensors.items()},
        **facts,
    )


def factors():
    """Of ratings, with slopes: ``item_factors`` of rank 3 are the largest part of a prediction."""
    rng = np.random.default_rng(1)
    return release(
        "factors",
        {
            "item_effects": rng.uniform(2, 4, N),
            "item_noise": rng.uniform(0.5, 1.5, N),
            "item_popularity": rng.uniform(1, 20, N),
            "item_factors": rng.uniform(-1, 1, (N, 3)),
        },
        scale=(0.5, 5.0, 0.5),
        constants={
            **{"user_mean": 0.125, "user_variance": 0.16},
            **{"effect_slope": 0.4, "popularity_slope": 0.2, "slope_odds": 0.25},
        },
        titles=tuple(f"{film} ({1960 + at})" for at, film in enumerate(FILMS)),
        statement=statement(),
    )


def linear_items():
    """Of likes, with values of features, which no score needs."""
    return Release(
        model="Vectors",
        settings={},
        items=FILMS,
        scale=(1.0, 5.0, 1.0),
        likes=4.0,
        statement=statement(ledger=SEVERAL),
        **valued(2, N, rank=3),
    )


def item_scores():
    """Of clicks without numbers, with many equal scores, from a seed: it promises nothing."""
    return release(
        "item scores",
        {"item_scores": np.random.default_rng(3).integers(0, 4, N)},
        scale=None,
        constants={},
        statement=statement(caveats=(Unprotected.seeded(),)),
    )


RELEASES = {"factors": factors, "linear_items": linear_items, "item_scores": item_scores}
RATED = (
    {},
    {"Heat": 5.0},
    {"Ran": 1.0, "Alien": 5.0, "Unheard": 3.0, "Das Boot": 3.5, "007": 9.0},
    {film: 1.0 + at % 5 for at, film in enumerate(FILMS[::-1][:7])},
)
"""What people give to the first two releases."""
LIKED = (
    ["Heat", "Ran", "Unheard", "007", "Heat"],
    {"Ran": 3.0, "Heat": 4.0, "007": 5.0, "Alien": 2.9, "Brazil": 4.0},
)
"""What they give to the second in addition: in order, the latest last, and with times."""
TIMES = {"Ran": "2026-05-03", "Heat": "2026-05-01", "007": "2026-05-01", "Unheard": "2026-05-02"}
CLICKED = ([], ["Heat"], ["Ran", "Unheard", "007", "Ran"])
"""What they give to the last."""


def answers(client):
    """What the client answers to each of its cases."""
    likes = LIKED if client.release.likes is not None else ()
    for own in (*(RATED if client.release.scale else CLICKED), *likes):
        times = TIMES if own is LIKED[1] else None
        listed = client.recommend(own, n=LISTED, times=times)
        case = {"own": own, **({} if times is None else {"times": times}), "ignored": listed.ignored}
        case["list"] = [{"item": row.item_id, "score": row.score, "rating": row.rating} for row in listed]
        if client.release.feedback == "ratings":
            case["ratings"] = dict(client.predict(own))
        yield case


def made(name):
    """Bytes of a release, and what stands beside it."""
    data = RELEASES[name]().to_bytes()
    client = Client(Release.from_bytes(data))
    beside = {
        "headline": client.release.statement.headline,
        "key": signed.KEY,
        "signature": signed.signature(data).strip(),
        "cases": [*answers(client)],
    }
    return data, beside


def main():
    """Write all vectors."""
    for name in RELEASES:
        data, beside = made(name)
        (HERE / f"{name}.safetensors").write_bytes(data)
        text = json.dumps(beside, indent=1, ensure_ascii=False)
        (HERE / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
