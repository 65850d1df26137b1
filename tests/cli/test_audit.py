"""``hushrec audit``: prints what the library finds, and exits with 1 if a claim does not hold."""

import json
import re

import pytest

import hushrec as hr
from support.planted import FAULTS

BUDGET = "--epsilon 4 --delta 1e-6 --unit user --adjacency add-remove --runs 10000"
FAULT = next(fault for fault in FAULTS if fault.name == "constant")


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")


@pytest.mark.full
def test_a_right_model_is_printed_as_a_table(hushrec):
    done = hushrec(f"audit global-effects {BUDGET}")
    assert "GlobalEffects, ε = 4 at δ = 1e-06 per user, add-remove: claimed ε = 4" in done.out
    assert re.search(r"search, \d+ pairs +1 Δ +≤ 1 Δ +holds +exact +Δ 0.1 % too small", done.out)
    assert re.search(r"replay, \d+ pairs +equal +equal +holds", done.out)
    assert re.search(
        r"canary, 10,000 runs +ε ≥ \S+ +ε ≤ 4 +holds +1 − 5e-07 +noise \d+ % too small", done.out
    )
    assert "does not hold" not in done.out


@pytest.mark.full
def test_a_claim_that_does_not_hold_exits_with_1(hushrec):
    with FAULT.planted():
        done = hushrec(f"audit global-effects {BUDGET}", code=1)
    assert re.search(r"replay +the neighbour has another release +equal +EXCEEDED", done.out)
    assert "do not release anything with this configuration" in done.out


@pytest.mark.full
def test_settings_and_domain_reach_the_audit(hushrec, tmp_path):
    hr.Domain(range(9), scale=(0, 1, 1), max_users=50).save(tmp_path / "domain.json")
    within = f"--domain {tmp_path / 'domain.json'} --unit record --adjacency replace"
    shown = hushrec(
        f"audit global-effects --epsilon 2 --delta 0 --set noise=laplace --runs 1000 {within}"
    ).out
    assert "GlobalEffects, ε = 2 at δ = 0 per record, replace" in shown
    refused = hushrec(f"audit private-als --epsilon 2 --delta 1e-6 {within} --set rank=10", code=2)
    assert "rank = 10 is more than the 9 items" in refused.err


@pytest.mark.full
def test_findings_are_one_object_and_the_exit_code_stays(hushrec):
    facts = json.loads(hushrec(f"audit global-effects {BUDGET} --json").out)
    assert (facts["model"], facts["settings"]) == ("GlobalEffects", hr.GlobalEffects().settings())
    assert (facts["holds"], len(facts["findings"])) == (True, 3)
    with FAULT.planted():
        assert json.loads(hushrec(f"audit global-effects {BUDGET} --json", code=1).out)["holds"] is False
