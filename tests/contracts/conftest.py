"""Record and replay: watches a fit, and runs a neighbour's on the same public values; and who they are."""

import dataclasses
import logging
import math
import secrets
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hushrec
import hushrec as hr
from hushrec.privacy.accounting.events import Spherical
from hushrec.privacy.grant import Grant
from hushrec.statistics.query import Query

PARTS = ("curator", "estimation", "local", "models", "release", "solvers")
PUBLIC_PARTS = tuple(str(Path(hushrec.__file__).parent / part) for part in PARTS)


class Leak(AssertionError):
    """Something public depends on something private."""


@dataclasses.dataclass(eq=False)
class Observed:
    """All that an outsider might see of a fit, and what was measured."""

    artefact: bytes = b""
    output: tuple[str, str] = ("", "")
    logged: list[str] = dataclasses.field(default_factory=list)
    lines: list[tuple[str, int]] = dataclasses.field(default_factory=list)
    measured: list[tuple] = dataclasses.field(default_factory=list)
    exact: list[tuple] = dataclasses.field(default_factory=list)


class Auditor:
    """Runs fits and watches them."""

    Leak = Leak

    def __init__(self, monkeypatch, capfd):
        self._patch, self._capfd = monkeypatch, capfd
        monkeypatch.setattr(secrets, "token_hex", lambda size: "5e" * size)  # the id of a ledger in memory
        self._seen, self._tape, self._plans = Observed(), None, {}
        release, of_matrix, of_rows = Grant.release, Grant.release_matrix, Grant.release_rows
        publish = Query.release

        def watched(name, values, noisy):
            event, place = noisy.event, len(self._seen.measured)
            if self._tape is not None:
                if place >= len(self._tape) or self._tape[place][0] != name:
                    raise Leak(f"measurement {place}, {name}, was not made by the neighbour")
                noisy = self._tape[place][-1]
            self._seen.measured.append((name, values, event, copied(noisy)))
            return copied(noisy)

        # Each with all its checks, in the replay too.
        def watched_release(grant, bounded):
            return watched(bounded.name, bounded.values.copy(), release(grant, bounded))

        def watched_matrix(grant, bounded, *, threshold, limit):
            noisy = of_matrix(grant, bounded, threshold=threshold, limit=limit)
            self._seen.exact.append((bounded.name, bounded.shape, threshold, limit))
            return watched(bounded.name, cells(bounded), noisy)

        def watched_rows(grant, name, values, scales):
            kept = values.copy(), scales.copy()
            return watched(name, kept, of_rows(grant, name, values, scales))

        def watched_publish(query, grant, values):
            if query.is_exact:
                self._seen.exact.append((query.name, values.tobytes()))
            return publish(query, grant, values)

        monkeypatch.setattr(Grant, "release", watched_release)
        monkeypatch.setattr(Grant, "release_matrix", watched_matrix)
        monkeypatch.setattr(Grant, "release_rows", watched_rows)
        monkeypatch.setattr(Query, "release", watched_publish)

    def run(self, ratings, model, budget, tape=None):
        """Fit once; ``tape`` holds the measurements to replay."""
        self._plan_once(model, ratings.domain, budget)
        self._seen, self._tape = Observed(), tape
        seen = self._seen
        handler = logging.Handler(0)
        handler.emit = lambda record: seen.logged.append(record.getMessage())
        root = logging.getLogger()
        level, before = root.level, sys.gettrace()
        root.addHandler(handler)
        root.setLevel(0)
        self._capfd.readouterr()

        def local(frame, kind, argument):
            if kind == "line":
                seen.lines.append((frame.f_code.co_filename, frame.f_lineno))
            return local

        def traced(frame, kind, argument):
            return local if frame.f_code.co_filename.startswith(PUBLIC_PARTS) else None

        sys.settrace(traced)
        try:
            release = hr.fit(ratings, model, budget, entropy=hr.testing.Seeded(11))
        finally:
            sys.settrace(before)
            root.setLevel(level)
            root.removeHandler(handler)
        seen.output = self._capfd.readouterr()
        seen.artefact = release.to_bytes()
        return seen

    def _plan_once(self, model, domain, budget):
        """A plan sees no data, so all fits of one audit may have the same."""
        kind, plans = type(model), self._plans
        if kind not in plans:
            plan = plans[kind] = kind.plan

            def remembered(model, domain, budget):
                key = repr(model), domain.digest, repr(budget)
                if key not in plans:
                    plans[key] = plan(model, domain, budget)
                return plans[key]

            self._patch.setattr(kind, "plan", remembered)
        model.plan(domain, budget)

    def compare(self, model, budget, one, other):
        """Record on one, replay on the other.

        Raises:
            Leak: They can be told apart by more than the noise hides.
        """
        first = self.run(one, model, budget)
        try:
            second = self.run(other, model, budget, first.measured)
        except Leak:
            raise
        except Exception as error:
            raise Leak(f"only the neighbour fails: {error!r}") from error
        for what in ("artefact", "output", "logged", "lines", "exact"):
            if getattr(first, what) != getattr(second, what):
                raise Leak(f"the neighbour has another {what}")
        if len(first.measured) != len(second.measured):
            raise Leak("the neighbour makes fewer measurements")
        for (name, here, event, _), (_, there, booked, _) in zip(
            first.measured, second.measured, strict=True
        ):
            if event != booked:
                raise Leak(f"{name}: the neighbour is charged another price")
            if not within(here, there, event):
                raise Leak(f"{name}: the neighbour lies further away than what was booked")
        return first


def copied(noisy):
    arrays = {f.name: getattr(noisy, f.name) for f in dataclasses.fields(noisy)}
    return dataclasses.replace(
        noisy, **{name: a.copy() for name, a in arrays.items() if isinstance(a, np.ndarray)}
    )


def cells(matrix):
    """Every cell of a sparse matrix, those among them that are 0."""
    found = np.zeros(matrix.shape, dtype=np.int64)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    found[rows, matrix.columns] = matrix.values
    return found


def within(here, there, event):
    """Whether two sums lie within the booked sensitivity, in exact arithmetic.

    Rows under spherical noise have scales of their own, and are booked by what Σ ‖Δ_row‖/s_row may be: where
    a scale differs, its logarithm is lost too.
    """
    if isinstance(event, Spherical):
        (one, scales), (two, others) = here, there
        moved = (np.linalg.norm(one - two, axis=1) / np.minimum(scales, others)).sum()
        leaked = one.shape[1] * np.abs(np.log(scales / others)).sum()
        return event.sensitivity == math.inf or moved + leaked <= event.sensitivity / event.noise * (1 + 1e-5)
    steps = [abs(int(d)) for d in (here - there).ravel()]
    step, bound = Fraction(event.step), Fraction(event.sensitivity)
    if event.norm == "l1":
        return sum(steps) * step <= bound
    return sum(d * d for d in steps) * step**2 <= bound**2


@pytest.fixture
def auditor(monkeypatch, capfd):
    return Auditor(monkeypatch, capfd)


# -- people and their neighbours -------------------------------------------------------------------------

ITEMS = tuple("abcdefg")
CAP = 3
EVERYBODY = {
    "light": {"a": 5},
    "usual": {"a": 1, "b": 5, "d": 3},
    "other": {"b": 2, "c": 2},
    "heavy": {"a": 5, "b": 1, "c": 5, "d": 1, "e": 5, "f": 1},  # twice the cap
    "extreme": {"d": 5, "e": 5},
}
SILENT = [f"user {k}" for k in range(6)]  # on the roster; most of the time they have rated nothing
DOMAIN = hr.Domain(ITEMS, scale=(1, 5, 1), cap=CAP, max_users=20, users=[*EVERYBODY, *SILENT])
USER, RATING, STARS = ("user", "add-remove"), ("rating", "add-remove"), ("rating", "replace")
ALONE = {"heavy": EVERYBODY["heavy"]}
FIRST = {"light": {"a": 5}}


def without(people, user, item=None):
    rest = {name: dict(own) for name, own in people.items()}
    if item is None:
        del rest[user]
    else:
        del rest[user][item]
    return {name: own for name, own in rest.items() if own}


def rated(people, user, item, stars):
    return {**people, user: {**people.get(user, {}), item: stars}}


NEIGHBOURS = {
    RATING: {
        "a rating": (EVERYBODY, without(EVERYBODY, "usual", "b")),
        "a user's only rating": (EVERYBODY, without(EVERYBODY, "light", "a")),
        "one more of a heavy user": (rated(EVERYBODY, "heavy", "g", 5), EVERYBODY),
        "the only rating of an item": (EVERYBODY, without(EVERYBODY, "heavy", "f")),
        "one more of an only user": (rated(ALONE, "heavy", "g", 1), ALONE),
        "the only rating": (FIRST, {}),
    },
    STARS: {
        "a rating": (EVERYBODY, rated(EVERYBODY, "usual", "b", 1)),
        "a user's only rating": (EVERYBODY, rated(EVERYBODY, "light", "a", 1)),
        "a heavy user's": (EVERYBODY, rated(EVERYBODY, "heavy", "f", 5)),
        "an only user's": (ALONE, rated(ALONE, "heavy", "a", 1)),
        "the only rating": (FIRST, rated(FIRST, "light", "a", 1)),
    },
    USER: {
        "a light user": (EVERYBODY, without(EVERYBODY, "light")),
        "a usual user": (EVERYBODY, without(EVERYBODY, "usual")),
        "a user above the cap": (EVERYBODY, without(EVERYBODY, "heavy")),
        "an extreme user": (EVERYBODY, without(EVERYBODY, "extreme")),
        "the only user": (FIRST, {}),
        "the only user, above the cap": (ALONE, {}),
    },
}


def ratings(people):
    rows = [(user, item, stars) for user, own in people.items() for item, stars in own.items()]
    schema = {"user_id": pl.String, "item_id": pl.String, "rating": pl.Float64}
    return hr.load(pl.DataFrame(rows, schema=schema, orient="row"), DOMAIN)


class World:
    """The people of this folder, and what may happen to them."""

    everybody, domain, neighbours = EVERYBODY, DOMAIN, NEIGHBOURS
    without, rated, ratings = staticmethod(without), staticmethod(rated), staticmethod(ratings)


@pytest.fixture(scope="session")
def world():
    return World
