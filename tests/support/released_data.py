"""Released data sets made by hand, and whether two are the same."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.documents.sentences import Assumes
from hushrec.models.du_leighton_patel import released_data
from hushrec.models.du_leighton_patel.released_data import ReleasedData
from hushrec.release.statement import Local, Measured, Statement

ITEMS = ("Alien", "Am\u00e9lie, the", 'Say "Anything"', "007", " blank ", "two\nlines", "NA")
SCALE = (0.5, 5.0, 0.5)
SETTINGS = {"symbols": 11, "exponent": 0.097, "personal_epsilon": None, "cells": len(ITEMS)}
FORMS = ("parquet", "csv")


def statement(epsilon=2.0, **changes):
    local = Local("cell", epsilon / 40, epsilon / 4000, None, 40, 0.8)
    line = Measured("cells", "randomized response", 40.0, 0.8, 60, 1.0, epsilon)
    facts = {"local": local, "measurements": (line,), "assumes": (Assumes.rows(),)}
    made = Statement((), "user", "replace", epsilon, 0.0, **(facts | {}))
    return replace(made, **changes)


def data(n_people=120, seed=0, density=0.6, **changes):
    """Random rows of numbered people, the first and the last of whom have none."""
    rng = np.random.default_rng(seed)
    mask = rng.random((n_people, len(ITEMS))) < density
    mask[[0, -1]] &= n_people < 3
    counts = mask.sum(axis=1)
    users = released_data.anonymous_ids(n_people).filter(pa.array(counts > 0))
    frame = Domain(ITEMS, scale=SCALE, max_users=max(n_people, 1), max_per_user=len(ITEMS))
    items = np.nonzero(mask)[1].astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum(counts[counts > 0])])
    steps = rng.integers(0, 10, items.size).astype(np.uint8)
    facts = {
        "method": "RandomizedResponse",
        "settings": SETTINGS,
        "ratings": People(frame, users, indptr, items, steps),
        "n_people": n_people,
        "statement": statement(),
    }
    return ReleasedData(**(facts | changes))


def same(one, other):
    def parts(made):
        rows = made.ratings
        return (
            made.method, made.settings, made.n_people, made.statement, rows.domain, rows.users.to_pylist(),
            rows.indptr.tolist(), rows.items.tolist(), rows.values.tolist(),
        )  # fmt: skip

    return parts(one) == parts(other)
