"""Du, Leighton & Patel 2019 as printed: right for two symbols, and ln(k − 1) a cell too much for k."""

import math

import pytest

import hushrec as hr
from hushrec.curator.accounts import start
from hushrec.errors import BudgetError, BudgetExceeded, BudgetUnsupported
from hushrec.privacy.ledger.ledger import Ledger


def budget(epsilon=20.0, delta=0.0, **others):
    return hr.Budget(**{"epsilon": epsilon, "delta": delta, "unit": "user", "adjacency": "replace", **others})


def of(items=1000, scale=(1, 5, 1), cap=200):
    return hr.Domain(range(items), scale=scale, max_users=1000, cap=cap)


@pytest.mark.parametrize("epsilon", [1e-9, 1.0, 40.0, 4000.0])
def test_a_cell_loses_a_logarithm_more_than_is_printed(epsilon):
    """Untrue with probability 1/(1 + e^ε_k), ε_k = ε/m; the loss is ε_k + ln(k − 1), of k = 6 symbols."""
    (event,) = hr.DuResponse().plan(of(), budget(epsilon)).events
    assert (event.symbols, event.cells, event.size) == (6, 400, 1000)
    assert event.noise == pytest.approx(1 / (1 + math.exp(epsilon / 1000)), rel=1e-14)
    assert abs(float(event.loss) - (epsilon / 1000 + math.log(5))) < 1e-9


def test_the_printed_chance_is_that_of_two_symbols():
    """−ln(1/(1 + e^ε_k)) whatever the number of symbols, where 1/(e^ε_k + k − 1) would keep the claim."""
    two, six = (
        hr.DuResponse().plan(of(scale=scale), budget(40.0)).events[0] for scale in ((0, 1, 1), (1, 5, 1))
    )
    assert two.exponent == six.exponent == pytest.approx(math.log1p(math.exp(0.04)))
    assert float(two.loss) == pytest.approx(0.04 + math.log(2))  # not rated, 0 and 1
    corrected = hr.RandomizedResponse().plan(of(cap=1000), budget(40.0)).events[0]
    assert float(corrected.loss) == pytest.approx(0.04)


def test_an_epsilon_that_turns_no_answer_is_refused():
    with pytest.raises(BudgetError, match="choose another ε"):
        hr.DuResponse().plan(of(), budget(3e6))


def test_it_is_charged_what_it_costs(ratings, tmp_path):
    published = hr.DuResponse()
    plan = published.plan(ratings.domain, budget(1.0))
    assert (plan.model, plan.analysis, plan.claimed_epsilon) == ("DuResponse", "published", 1)
    assert plan.epsilon == pytest.approx(1 + 20 * math.log(5))
    with pytest.raises(BudgetExceeded):
        start(tmp_path / "ledger.db", plan)
    assert not (tmp_path / "ledger.db").exists()
    ledger = Ledger.create(tmp_path / "ledger.db", budget(1.0))
    with pytest.raises(BudgetExceeded):
        hr.release_data(ratings, published, budget(1.0), ledger=ledger)
    ledger.extend(budget(40.0))
    said = hr.release_data(ratings, published, budget(1.0), ledger=ledger).statement
    assert said.local.claimed == pytest.approx(1 / 20)
    assert said.epsilon_per_cell == pytest.approx(1 / 20 + math.log(5))
    assert "Not a valid guarantee" in str(said)


def test_a_sample_is_claimed_by_the_cells_that_are_asked_for(ratings):
    (event,) = hr.DuResponse(sample=4).plan(ratings.domain, budget(2.0)).events
    assert (event.cells, event.size) == (4, 4)
    assert float(event.loss) == pytest.approx(0.5 + math.log(5))


def test_it_protects_whole_people_who_are_known_to_take_part(ratings):
    for wrong in ({"unit": "rating"}, {"adjacency": "add-remove"}):
        with pytest.raises(BudgetUnsupported, match="change the budget's unit or adjacency"):
            hr.DuResponse().plan(ratings.domain, budget(**wrong))
