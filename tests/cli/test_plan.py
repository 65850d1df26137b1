import json
import re

import pytest

import hushrec as hr
from hushrec.text import above, below


def flat(text):
    return " ".join(text.split())


def test_plan_prints_what_the_library_plans(here, hushrec, budget):
    shown = hushrec(f"plan --domain domain.json {budget} --model covariance-svd --set rank=3").out
    allowed = hr.Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")
    plan = hr.plan(hr.Domain.open("domain.json"), hr.CovarianceSVD(rank=3), allowed)
    for measurement, listed in zip(plan.noisy, plan.measured(), strict=True):
        line = next(line for line in shown.splitlines() if line.startswith(measurement.name))
        assert f"σ = {below(measurement.noise, 4)}" in line
        assert above(measurement.sensitivity, 4) in line
        assert f"{listed.split:.3f}" in line
        assert re.search(r"μ = \d", line)
    assert f"A fit {plan.needs}." in flat(shown)
    assert "of memory besides the ratings" in plan.needs
    assert shown.startswith(f"CovarianceSVD: ε = {plan.epsilon:.6g} at δ = 1e-06 per user, add-remove\n")


def test_without_a_model_it_says_which_and_why(here, hushrec, refused, budget):
    shown = flat(hushrec(f"plan --domain domain.json {budget}").out)
    told = json.loads(hushrec(f"plan --domain domain.json {budget} --json").out)
    named = f"Model: {told['model']}, because {told['because']}. "
    assert named.startswith("Model: AdaptiveFactors, because its first sums say whether the crowd is large")
    alone = flat(hushrec(f"plan --domain domain.json {budget} --model adaptive-factors").out)
    assert shown.replace(named, "", 1) == alone
    weekly = "--max-releases 52 --epsilon 4 --delta 1e-6 --unit user --adjacency add-remove"
    assert "Model: AdaptiveFactors" in hushrec(f"plan --domain domain.json {weekly}").out
    assert "name it with --model" in refused(f"plan --domain domain.json {budget} --set rank=3")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--model covariance-svd --set rank", "for example --set rank=20"),
        ("--model covariance-svd --set rank=5 --set rank.x=5", "rank holds one value"),
        ("--model item-knn", "takes no budget"),
        ("--delta 1e-3", "choose one below 0.0005"),
    ],
)
def test_refusals_name_the_fix(here, refused, budget, options, message):
    assert message in refused(f"plan --domain domain.json {budget} {options}")


def test_shares_of_a_total_are_planned(here, hushrec):
    kind = "--delta 1e-6 --unit user --adjacency add-remove --model"
    line = f"plan --domain domain.json --max-releases 52 --epsilon 4 {kind}"
    shown = hushrec(f"{line} global-effects").out
    assert flat(shown).startswith(
        "All 52 releases together: ε = 4 at δ = 1e-06 per user, add-remove Anyone who reads all 52 files, "
    )
    told = [
        "What that means for Alice (all 52 files)",
        "a guess is right in at most 66.3 % of cases",
        "The first of them may cost ε = 2.717, and each later one ε = 0.325: it takes over the sums "
        "of those before, and improves on them. GlobalEffects: ε = 2.717 at δ = 1e-06 ",
        "What will be measured",
        "Create the ledger",
    ]
    assert [text for _, text in sorted((flat(shown).index(text), text) for text in told)] == told
    assert flat(shown).count("for Alice") == 1
    assert "--epsilon 4 --delta 1e-06 --unit user --adjacency add-remove --max-releases 52" in shown
    facts = json.loads(hushrec(f"{line} global-effects --json").out)
    assert (facts["releases"], facts["total_epsilon"], facts["budget_epsilon"]) == (52, 4, 2.717)
    assert facts["later_epsilon"] == 0.325
    shown = flat(hushrec(f"{line} adaptive-factors").out)
    assert "Each of them may cost ε = 0.4659. AdaptiveFactors: ε = 0.4659 at" in shown
    facts = json.loads(hushrec(f"{line} adaptive-factors --json").out)
    one = f"plan --domain domain.json --epsilon 0.4659 {kind} adaptive-factors"
    alone = json.loads(hushrec(f"{one} --json").out)
    assert {name: facts[name] for name in alone} == alone


MINE = """
import hushrec as hr

class Mine(hr.GlobalEffects):
    pass
"""


def test_a_model_of_ones_own_is_named_first(here, hushrec, budget, monkeypatch):
    (here / "plan_mine.py").write_text(MINE)
    monkeypatch.syspath_prepend(here)
    for releases in "", "--max-releases 52":
        shown = hushrec(f"plan --domain domain.json {budget} --model plan_mine:Mine {releases}").out
        assert shown.startswith("AUTHOR'S CLAIM: plan_mine.Mine is not part of hushrec")
        assert shown.count("not part of hushrec") == 1


KIND = "--delta 1e-6 --unit user --adjacency add-remove"
YEAR = f"plan --domain clicks.json --max-releases 52 --epsilon 8 {KIND}"
CROWD = {"max_users": 1_000, "expected_users": 700, "expected_records": 7_000}


def test_a_total_too_small_for_taste_is_said_before_the_charge(here, hushrec):
    hr.Domain(range(40), **CROWD).save("clicks.json")
    small = YEAR.replace("--epsilon 8", "--epsilon 0.1")
    shown = " ".join(hushrec(small).out.split())
    told = (
        "Every user gets the same list: this plan measures averages, and no one's taste. Remedies: public "
        "features of the items (hushrec domain --feature), a larger ε, or more people."
    )
    assert shown.index("The first of them may cost") < shown.index(told) < shown.index("Model: Popularity")
    assert json.loads(hushrec(f"{small} --json").out)["prospects"] == told
    hr.Domain(range(40), max_users=50_000, expected_users=40_000, expected_records=400_000).save(
        "clicks.json"
    )
    assert "same list" not in hushrec(YEAR).out


def test_a_ledger_of_several_releases_leads_to_the_plan_that_says_so(here, hushrec):
    hr.Domain(range(40), **CROWD).save("clicks.json")
    shown = hushrec(f"ledger create year.db --epsilon 0.1 --max-releases 52 {KIND}").out
    (line,) = (line for line in shown.splitlines() if "hushrec plan" in line)
    assert line.startswith("What each release may cost, and whether its lists hold taste: hushrec plan")
    typed = line.partition(": hushrec ")[2].replace("DOMAIN", "clicks.json")
    assert "Every user gets the same list" in hushrec(typed).out
    (here / "one").mkdir()
    of_one = f"ledger create one/ledger.db --epsilon 1 {KIND}"
    assert "hushrec plan" not in hushrec(of_one).out
