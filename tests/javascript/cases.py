"""Releases of every kind that pages show, from seeded numbers, and what the Python client answers.

    python tests/javascript/cases.py FOLDER

It writes ``NAME.safetensors`` and ``NAME.json`` for each case; ``checker.js`` asks the client in JavaScript
the same questions.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from hushrec.documents.sentences import Unprotected
from hushrec.errors import ReleaseError
from hushrec.release.artefact import Release
from hushrec.release.client import Client
from hushrec.release.kinds import VALUES

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.releases import opened, ranker, release, statement, valued

TITLES = (
    "Matrix, The (1999)",
    "The Matrix (2021)",
    "Amélie (Fabuleux destin d'Amélie Poulain, Le) (2001)",
    "Das Boot (1981)",
    "L'Avventura",
    "Straße, Die (1954–56)",
    "Œdipe & Co.",
    "",
    "ΟΔΥΣΣΕΥΣ",
    "Se7en (a.k.a. Seven) (1995)",
    "日本の夜と霧 (1960)",
    "  Two\tblanks ",
    "Łódź, Smørrebrød og Þættir",
)
N = len(TITLES)
SEEDED = Unprotected.seeded()
SEVERAL = {"max_releases": 52, "total_epsilon": 4.0, "total_delta": 1e-6, "spent_epsilon": 1.25}


def noise(shape, seed, least=-1.0, most=1.0):
    return np.random.default_rng(seed).uniform(least, most, shape).astype(np.float32)


def linear(seed, n=N, rank=5):
    return {
        "kind": "linear items",
        "tensors": {
            "item_factors": noise((n, rank), seed),
            "input_weights": noise(n, seed + 1, -0.1),
            "output_weights": noise(n, seed + 2),
            "intercept": noise(rank, seed + 4),
            "item_scores": noise(n, seed + 3),
        },
    }


def releases():
    """Every release, by the name of its case."""
    ids = tuple(f"item {i} é" for i in range(N))
    named = {"items": ids, "titles": TITLES, "features": {"genres": tuple(t[:3].strip() for t in TITLES)}}
    found = {}
    found["factors"] = release(n=N, seed=3, rank=4)
    few = {"user_mean": -0.2, "user_variance": 0.3}
    sloped = {**found["factors"].constants, "effect_slope": 0.4, "popularity_slope": 0.2, "slope_odds": 0.25}
    found["factors, slopes"] = replace(found["factors"], constants=sloped)
    found["factors, titles"] = release(n=N, seed=4, rank=3, constants=few, **named)
    found["item scores"] = ranker(ids, noise(N, 11), titles=TITLES)
    found["tied scores"] = ranker(ids, np.arange(N) % 3)
    found["clicks"] = ranker(ids, **linear(20), model="PrivateEASE", settings={"rank": 5}, titles=TITLES)
    found["counts"] = ranker(ids, **linear(30), counts=7)
    found["features"] = ranker(ids, **valued(50, N), titles=TITLES)
    found["likes"] = ranker(ids, **linear(40), scale=(0.5, 5.0, 0.5), likes=3.5)
    found["no factors"] = release(n=N, rank=0)
    features = {**found["factors"].constants, "known_factors": 1.0}
    found["some known features"] = release(n=N, rank=3, constants=features)
    found["only known features"] = release(n=N, rank=3, constants={**features, "known_factors": 3.0})
    found["known features"] = release(n=N, rank=3, settings={}, model="GlobalEffects")
    found["more factors than items"] = release(n=N, seed=8, rank=N + 3)
    found["wide scale"] = release(n=N, seed=9, rank=2, scale=(-10.0, 10.0, 0.25), items=ids)
    found["not private"] = release(n=N, statement=statement(caveats=(SEEDED,), epsilon=np.inf))
    found["one of several"] = release(n=N, statement=statement(ledger=SEVERAL))
    return found


def owns(made):
    """What people give to a release: lists of ids, or pairs of ids and numbers."""
    ids = made.items
    if made.scale is None and made.counts is None:
        return [
            {"ids": []},
            {"ids": [ids[2]]},
            {"ids": [ids[7], "unknown", "item 3 e\u0301", ids[0], ids[7]]},
            {"ids": ["unknown", "e\u0301", "unknown"]},
        ]
    lo, hi = made.scale[:2] if made.scale else (1, made.counts)
    found = [
        {"pairs": []},
        {"pairs": [[ids[1], hi]]},
        {"pairs": [[ids[5], lo], [ids[0], hi], ["unknown", lo], [ids[9], (lo + hi) / 2], [ids[2], hi - 0.5]]},
        {"pairs": [[ids[3], hi + 100], ["item 4 e\u0301", lo - 100], [ids[8], lo + 0.3], ["__proto__", 1]]},
        {"pairs": [[item, lo + (hi - lo) * (at % 5) / 4] for at, item in enumerate(ids[::-1])]},
        {"pairs": [[ids[4], -3], ["e\u0301", hi], [ids[2], 0.4], ["unknown", lo]]},
        {"pairs": [["unknown", hi], ["e\u0301", lo]]},
    ]
    if made.feedback == "interactions":
        found += [{"ids": [ids[4], ids[4], ids[6], "unknown"]}, {"ids": ["unknown"]}]
    return found


def given(own):
    """What stands for ``own`` in Python."""
    return own["ids"] if "ids" in own else dict(own["pairs"])


def answer(ask):
    """What a question gives, or the message with which it is refused."""
    try:
        return {"answer": ask()}
    except ReleaseError as error:
        return {"error": str(error)}


def pairs_of(predicted):
    """Items and their ratings."""
    return list(predicted.items())


def pairs_of_reasons(reasons):
    """Own items and their contributions."""
    return [(reason.item_id, reason.contribution) for reason in reasons]


def told(answer, rows=list):
    """An answer: what of the user's own was ignored, and the rows."""
    return {"ignored": answer.ignored, "rows": rows(answer)}


def own_items_alone(made):
    """The release without what features explain: its reasons are own items alone, as in JavaScript."""
    if not made.values:
        return made
    tensors = {name: array for name, array in made.tensors.items() if name not in VALUES}
    return replace(made, values=(), constants={}, tensors=tensors)


def asked(client):
    """Every question, with its answer."""
    ids = client.release.items
    explains = Client(own_items_alone(client.release))
    some = [ids[6], "item 3 e\u0301", ids[0]]
    several = [
        {"n": 5},
        {"n": 100, "exclude": [ids[0], "unknown"]},
        {"n": 3, "allowed": [ids[6], ids[1], "e\u0301", ids[4]]},
        {"n": 0},
        {"n": 5, "recency": False},
        {"n": 5, "times": {ids[0]: 7, ids[5]: 7, "item 3 e\u0301": 0, "unknown": 9, ids[2]: -2.5}},
        {"n": 5, "times": {ids[0]: 7, ids[5]: "2026-05-01"}},
    ]
    for own in owns(client.release):
        mine = given(own)
        yield {"ask": "predict", "own": own} | answer(lambda own=mine: told(client.predict(own), pairs_of))
        yield {"ask": "predict", "own": own, "items": some} | answer(
            lambda own=mine: told(client.predict(own, some), pairs_of)
        )
        for options in several:
            yield {"ask": "recommend", "own": own, "options": options} | answer(
                lambda own=mine, options=options: told(client.recommend(own, **options))
            )
        for item, order in ((ids[1], {}), (ids[6], {"times": {ids[2]: "2026-05-01"}}), ("unknown", {})):
            yield {"ask": "reasons", "own": own, "item": item, "n": 4, "options": order} | answer(
                lambda own=mine, item=item, order=order: told(
                    explains.reasons(own, item, 4, **order), pairs_of_reasons
                )
            )
    for item in (ids[1], ids[6], "unknown"):
        yield {"ask": "title", "item": item} | answer(lambda item=item: client.title(item))
    for wrong in ({"ids": [ids[0]]}, {"pairs": [[ids[0], 3]]}):
        yield {"ask": "recommend", "own": wrong} | answer(
            lambda wrong=wrong: told(client.recommend(given(wrong)))
        )


def facts(client):
    """What a release says of itself."""
    made = client.release
    stated = made.statement.to_json()
    return {
        "model": made.model,
        "kind": made.kind,
        "items": made.items,
        "titles": made.titles,
        "features": made.features,
        "scale": made.scale,
        "likes": made.likes,
        "counts": made.counts,
        "feedback": made.feedback,
        "constants": made.constants,
        "dimensions": made.dimensions,
        "personal": made.personal,
        "said": opened(made.to_bytes())[0]["said"],
        "statement": {name: stated[name] for name in ("caveats", "assumes", "ledger", "said")},
    }


def write(folder):
    """Write all cases; their names."""
    names = []
    for name, made in releases().items():
        data = made.to_bytes()
        client = Client(Release.from_bytes(data))
        file = name.replace(" ", "-").replace(",", "")
        case = {"name": name, "facts": facts(client), "questions": list(asked(client))}
        (folder / f"{file}.safetensors").write_bytes(data)
        (folder / f"{file}.json").write_text(json.dumps(case), encoding="utf-8")
        names.append(file)
    (folder / "index.json").write_text(json.dumps(names), encoding="utf-8")
    return names


if __name__ == "__main__":
    where = Path(sys.argv[1])
    where.mkdir(parents=True, exist_ok=True)
    print(len(write(where)), "cases in", where)
