"""Grants, keys, ledgers and sums stay where they are, also inside a function that is sent away."""

import copy
import functools
import pickle
from operator import methodcaller

import pytest

from hushrec.errors import GrantError
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import OperatingSystem, Seeded
from hushrec.privacy.sums_on_disk import SumsFolder

DUPLICATES = (copy.copy, copy.deepcopy, pickle.dumps, methodcaller("__reduce_ex__", 2))


@pytest.fixture
def confined(make_plan, tmp_path):
    """One of each."""
    plan, ledger = make_plan(), Ledger.create(tmp_path / "ledger.db", make_plan().budget)
    with SumsFolder(tmp_path / "ledger.db.sums", ledger.id).new() as sums:
        grant = Ledger.ephemeral(plan.budget).charge(plan, entropy=Seeded(1))
        yield [grant, ledger, sums, OperatingSystem(), Seeded(1)]


def test_none_is_copied_or_pickled(confined):
    for one in confined:
        for duplicate in DUPLICATES:
            with pytest.raises(GrantError, match=f"{type(one).__name__} cannot be copied, nor sent"):
                duplicate(one)


@pytest.mark.spark
def test_no_function_carries_one_along(confined, make_plan):
    """As Spark packs functions: what they close over goes with them, also deep inside."""
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")
    run = confined[0]
    planted = [lambda block, one=one: (block, one) for one in confined]
    planted += [lambda block: (block, run), functools.partial(run.noise, None)]
    for function in planted:
        with pytest.raises(GrantError, match="cannot be copied, nor sent"):
            cloudpickle.dumps(function)
    assert cloudpickle.dumps(lambda block, terms=run.terms: (block, terms))
