"""Room for a release is held before the charge, and is enough."""

import os
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import hushrec as hr
from hushrec import models
from hushrec.curator.disk_space import data_size, kept_size, release_size, require_writable, reserved
from hushrec.errors import ReleaseError
from hushrec.models.base import PrivateModel

MODELS = [name for name in models.MODELS if issubclass(models.class_of(name), PrivateModel)]

LISTING = ("InputPerturbationMF", "PrivateSGD", "PrivateALS")
"""Models that publish a row for every user on a roster."""


def world(kind):
    if kind.__name__ in LISTING:
        made = hr.synthetic.netflix_like(60, 40, 900, seed=1)
        domain = hr.Domain(made.domain.items, scale=(1, 5, 1), max_users=100, users=sorted(made.users))
        return hr.Ratings(domain, made.users, made.indptr, made.items, made.steps)
    if kind.feedback == "interactions":
        return hr.synthetic.interactions(users=60, items=40, interactions=900, seed=1)
    return hr.synthetic.netflix_like(60, 40, 900, seed=1)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.full
def test_what_is_held_is_enough_for_every_model(name, monkeypatch):
    from hushrec.curator import disk_space

    monkeypatch.setattr(disk_space, "_FRAME", 1 << 16)
    kind = models.class_of(name)
    data = world(kind)
    unit, adjacency = sorted(kind.supports)[-1]
    model, budget = kind(), hr.Budget(epsilon=4.0, delta=1e-6, unit=unit, adjacency=adjacency)
    release = hr.testing.fit(data, model, budget, entropy=hr.testing.Seeded(1))
    planned = hr.plan(data.domain, model, budget)
    assert len(release.to_bytes()) <= release_size(model, planned, data.domain)


@pytest.mark.full
def test_a_table_of_thousands_of_values_is_held_too(monkeypatch):
    """More values than items, so that most of the file is what is known of them."""
    from hushrec.curator import disk_space

    monkeypatch.setattr(disk_space, "_FRAME", 1 << 16)
    data = hr.synthetic.interactions(users=2000, items=60, interactions=60_000, seed=1)
    tags = ["|".join(f"{item * 37 % 60 // 2 * 2 + k * 100}" for k in range(100)) + "|x" for item in range(60)]
    domain = hr.Domain(data.domain.items, max_users=2000, features={"tags": tags})
    data = replace(data, domain=domain)
    model = hr.PrivateEASE(rank=59)
    budget = hr.Budget(epsilon=50.0, delta=1e-6, unit="user", adjacency="add-remove")
    release = hr.testing.fit(data, model, budget, entropy=hr.testing.Seeded(1))
    assert len(release.values) == 3000
    size = len(release.to_bytes())
    assert size > 20 * len(dict(release.tensors)["item_factors"].tobytes())
    assert size <= release_size(model, hr.plan(domain, model, budget), domain)


def test_room_is_given_back(tmp_path):
    with reserved(tmp_path, 1 << 20) as free:
        assert not [*tmp_path.iterdir()], "it has no name"
        free()
    with reserved(None, 1 << 60) as nothing, reserved(tmp_path / "new" / "file", 0) as none:
        nothing()
        none()


def test_a_checkpoint_takes_what_is_measured(small_plan):
    assert kept_size(small_plan) >= 8 * sum(event.size for event in small_plan.events)


@pytest.fixture
def small_plan():
    data = hr.synthetic.netflix_like(20, 6, 60, 1)
    budget = hr.Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")
    return hr.plan(data.domain, hr.GlobalEffects(), budget)


VERBS = {
    "fit": "hr.fit(data, hr.GlobalEffects(), budget, ledger=ledger)",
    "series": "hr.fit(data, hr.GlobalEffects(), series=folder / 'series', ledger=ledger)",
    "randomize": "hr.randomize(data, hr.RandomizedResponse(), rows, ledger=other)",
}


@pytest.mark.parametrize("verb", ["fit", "randomize", pytest.param("series", marks=pytest.mark.full)])
def test_a_disk_without_room_is_refused_before_the_charge(verb, tmp_path):
    """The largest file that the process may write stands in for the disk: the system refuses as it would."""
    script = f"""
import resource
from pathlib import Path
import hushrec as hr
data = hr.synthetic.netflix_like(20, 6, 60, 1)
budget = hr.Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")
rows = hr.Budget(epsilon=1.0, delta=0.0, unit="user", adjacency="replace")
folder = Path({str(tmp_path)!r})
ledger = hr.Ledger.create(folder / "l.db", budget, 2)
other = hr.Ledger.create(folder / "r.db", rows)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, 1 << 19))
try:
    {VERBS[verb]}
except hr.errors.ReleaseError as error:
    print(error, len(ledger.entries()) + len(other.entries()))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=Path.cwd())
    assert resource.RLIMIT_FSIZE is not None
    assert "has too little room" in done.stdout, done.stderr
    assert "Nothing was charged; make room" in done.stdout
    assert done.stdout.split()[-1] == "0"
    assert (" MB there" in done.stdout) is (verb != "randomize"), "the size of rows follows from the people"


METHODS = {
    "every cell": (hr.RandomizedResponse(), 1.0),
    "some cells": (hr.RandomizedResponse(sample=5), 40.0),
    "slots": (
        hr.DistanceBased(keep_probability=0.5, group_probability=0.5, threshold=2, groups="ratings"),
        None,
    ),
}


@pytest.mark.parametrize("name", METHODS)
def test_what_is_held_is_enough_for_every_method(name, tmp_path, monkeypatch):
    from hushrec.curator import disk_space

    monkeypatch.setattr(disk_space, "_FRAME", 1 << 13)
    data, (method, epsilon) = hr.synthetic.netflix_like(300, 40, 6000, seed=1), METHODS[name]
    budget = epsilon and hr.Budget(epsilon=epsilon, delta=0.0, unit="user", adjacency="replace")
    made = hr.testing.randomize(data, method, budget, entropy=hr.testing.Seeded(1))
    planned = method.plan(data.domain, budget)
    assert len(made.for_ledger()) <= data_size(planned, data) <= 2**13 + 8 * 300 * 40 + 2**13
    for suffix in (".csv", ".parquet"):
        file = made.save(tmp_path / f"data{suffix}")
        assert file.stat().st_size <= data_size(planned, data, suffix)


def test_a_refusal_names_the_folder_and_no_path(tmp_path, monkeypatch):
    import os

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(ReleaseError, match="No space left on device") as told, reserved(tmp_path, 1 << 20):
        pass
    assert str(tmp_path.parent) not in str(told.value)


def test_what_is_there_or_could_not_be_written_is_refused(tmp_path):
    require_writable(tmp_path / "new.csv", ".parquet", ".csv")
    for name in ("new.xlsx", "new", "new.csv.gz"):
        with pytest.raises(ReleaseError, match=rf"-o .*; name it {name}\.parquet or {name}\.csv"):
            require_writable(tmp_path / name, ".parquet", ".csv")
    (tmp_path / "old.csv").touch()
    for out in (tmp_path / "old.csv", tmp_path / "nosuch" / "new.csv", tmp_path / "old.csv" / "new.csv"):
        with pytest.raises(ReleaseError, match="choose another file with -o"):
            require_writable(out, ".csv")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_leave_is_refused(tmp_path):
    closed = Path(tmp_path / "closed")
    closed.mkdir(mode=0o500)
    with pytest.raises(ReleaseError, match="is not a writable folder"):
        require_writable(closed / "new.csv", ".csv")
