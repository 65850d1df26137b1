"""``hushrec plan --releases`` of what people click: what lists are expected to be worth."""

import json

import pytest

import hushrec as hr
from hushrec.evaluation import worth as module

YEAR = "plan --domain clicks.json --releases 52 --total 8 --delta 1e-6 --unit user --adjacency add-remove"
CROWD = {"max_users": 1_000, "expected_users": 700, "expected_records": 7_000}


@pytest.fixture
def asked(monkeypatch):
    """What was to be measured; the figures are made up."""
    made = []

    def worth(domain, model, total, releases):
        made.append((domain, model, total, releases))
        return tuple(
            module.Worth(number, 4.0 / number, "PrivateEASE", 0.2 + 1 / number, 0.17, 7.0, 700, 3)
            for number in (52, 26, 12)
        )

    monkeypatch.setattr(module, "worth", worth)
    return made


def test_the_plan_of_several_releases_says_what_lists_are_worth(here, hushrec, asked):
    domain = hr.Domain(range(40), **CROWD)
    domain.save("clicks.json")
    shown = hushrec(YEAR).out
    told = json.loads(hushrec(f"{YEAR} --model private-ease --json").out)["worth"]
    total = hr.Budget(epsilon=8.0, delta=1e-6, unit="user", adjacency="add-remove")
    assert asked == [(domain, model, total, 52) for model in (None, hr.PrivateEASE())]
    rows = module.worth(*asked[0])
    assert told == [row.to_json() for row in rows]
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert all(" ".join(row) in lines for row in module.table(rows)[1])
    assert module.CAUTION in " ".join(lines)


def test_one_release_and_ratings_have_no_such_table(here, hushrec, budget):
    hr.Domain(range(40), **CROWD).save("clicks.json")
    assert "worth" not in json.loads(hushrec(f"plan --domain clicks.json {budget} --json").out)
    hr.Domain(range(40), scale=(1, 5, 1), **CROWD).save("clicks.json")
    assert json.loads(hushrec(f"{YEAR} --json").out)["worth"] == []
    assert "worth" not in hushrec(YEAR).out


def test_without_a_declared_crowd_the_plan_says_what_it_would_take(here, hushrec, asked):
    hr.Domain(range(40), max_users=1_000).save("clicks.json")
    shown = " ".join(hushrec(YEAR).out.split())
    assert "The accuracy of lists depends on the crowd: declare expected_users and expected_records" in shown
    assert json.loads(hushrec(f"{YEAR} --json").out)["worth"] == []
    assert not asked


def test_a_total_too_small_for_taste_is_said_before_the_charge(here, hushrec, asked):
    hr.Domain(range(40), **CROWD).save("clicks.json")
    small = YEAR.replace("--total 8", "--total 1")
    shown = " ".join(hushrec(small).out.split())
    told = (
        "Every user gets the same list: this plan measures averages, and no one's taste. Remedies: a larger "
        "ε, more people, or fewer releases, so that each gets more of the total."
    )
    assert shown.index("each of 52 releases may cost") < shown.index(told) < shown.index("Model: Popularity")
    assert json.loads(hushrec(f"{small} --json").out)["prospects"] == told
    hr.Domain(range(40), max_users=50_000, expected_users=40_000, expected_records=400_000).save(
        "clicks.json"
    )
    assert "same list" not in hushrec(YEAR).out


def test_a_ledger_of_several_releases_leads_to_the_plan_that_says_so(here, hushrec, asked):
    hr.Domain(range(40), **CROWD).save("clicks.json")
    kind = "--delta 1e-6 --unit user --adjacency add-remove --domain clicks.json"
    shown = hushrec(f"ledger create year.db --epsilon 1 --max-releases 52 {kind}").out
    (line,) = (line for line in shown.splitlines() if "hushrec plan" in line)
    assert line.startswith("What each release may cost, and whether its lists hold taste: hushrec plan")
    assert "Every user gets the same list" in hushrec(line.partition(": hushrec ")[2]).out
    assert "Every user gets the same list" in hushrec("plan --domain clicks.json --series year.db").out
    assert (
        "hushrec plan"
        not in hushrec(f"ledger create one.db --epsilon 1 {kind.partition(' --domain')[0]}").out
    )
