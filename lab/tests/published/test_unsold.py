"""What a paper prints may have no finite ε: only a seeded experiment makes it, and its statement says so."""

import json
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

import hushrec as hr
from hushrec.curator.accounts import start
from hushrec.errors import BudgetError, LedgerError
from hushrec.privacy.query import AnyQuery
from hushrec.release.artefact import Release
from hushrec.release.statement import Statement
from lab.published import McSherryEffects
from lab.published.spherical import SphericalRows

ROWS = SphericalRows("rows", math.inf, 60)


class Rows(McSherryEffects):
    """Item effects as usual, and beside them noise on rows that nothing is made from."""

    def queries(self, domain, terms) -> Sequence[AnyQuery]:
        return [*super().queries(domain, terms), ROWS]

    def default_split(self, domain, budget) -> Mapping[str, float]:
        return {**super().default_split(domain, budget), "rows": 0.5}

    def release(self, feedback, run) -> Release:
        noisy = run.measure(ROWS, (np.zeros((12, 5)), np.full(12, 2.0)))
        assert noisy.values.shape == (12, 5)
        return super().release(feedback, run)


@pytest.fixture(scope="module")
def small():
    return hr.synthetic.netflix_like(20, 6, 60, 1)


def test_a_seeded_fit_without_a_ledger_says_what_it_is(small, budget):
    config = Rows()
    release = hr.fit(small, config, budget(1.0), entropy=hr.testing.Seeded(1))
    statement = release.statement
    lines = str(statement).splitlines()
    assert lines[0] == "NOT PRIVATE: seeded"
    assert "the published analysis claims ε = 1," in lines[1]
    assert lines[1].endswith("No finite ε is known for this noise.")
    assert (statement.epsilon, statement.claimed_epsilon, statement.ledger) == (math.inf, 1.0, {})
    assert [m.cost for m in statement.measurements if m.name == "rows"] == [math.inf]
    assert Release.from_bytes(release.to_bytes()).statement == statement
    text = json.dumps(statement.to_json(), allow_nan=False)
    assert Statement.from_json(json.loads(text)) == statement
    again = hr.fit(small, config, budget(1.0), entropy=hr.testing.Seeded(1))
    assert again.to_bytes() == release.to_bytes()


def test_no_ledger_takes_it_and_nothing_unseeded_is_made(small, budget, tmp_path):
    config = Rows()
    hr.Ledger.create(tmp_path / "ledger.db", budget(1.0))
    for entropy in (None, hr.testing.Seeded(1)):
        with pytest.raises(BudgetError, match="choose another model, or make a seeded experiment"):
            hr.fit(small, config, budget(1.0), ledger=tmp_path / "ledger.db", entropy=entropy)
    assert hr.Ledger.open(tmp_path / "ledger.db").entries() == ()
    with pytest.raises(LedgerError, match="charged to a ledger"):
        hr.fit(small, config, budget(1.0))


@pytest.mark.parametrize("published", [Rows(), McSherryEffects(noise="laplace")])
def test_a_first_fit_that_is_refused_starts_no_ledger(small, budget, tmp_path, published):
    path = tmp_path / "ledger.db"
    with pytest.raises(BudgetError):  # raw sums move by 5 where the paper says 4
        start(path, published.plan(small.domain, budget(1.0)))
    assert not path.exists()
