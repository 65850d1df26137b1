"""What pages state of the papers, and of what their noise costs, is what the code computes."""

import math
import re
from pathlib import Path

import pytest

import hushrec as hr
from hushrec.data.domain import Domain
from hushrec.privacy.accounting.budget import Budget
from hushrec.text import one_in, percent
from lab.du_leighton_patel.reproduction import BASELINE
from lab.du_leighton_patel.reproduction import PAPER as LOSSES
from lab.du_leighton_patel.reproduction import printed as increase
from lab.experiments import datasets
from lab.friedman_berkovsky_kaafar.figures import CROSSED
from lab.friedman_berkovsky_kaafar.reproduction import PAPER as CROSSINGS
from lab.pages import choosing
from lab.published import (
    DuResponse,
    FriedmanALS,
    FriedmanBoundedSGD,
    FriedmanEffects,
    FriedmanInputMF,
    FriedmanKNN,
    FriedmanUnboundedSGD,
    McSherryKNN,
    McSherrySVD,
    cost,
)

ROOT = Path(__file__).resolve().parents[2]


def text(page):
    return (ROOT / page).read_text("utf-8")


def row(page, *start):
    """The cells of the table row whose first cells are these."""
    for line in text(page).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and tuple(cells[: len(start)]) == start:
            return cells[len(start) :]
    raise AssertionError(f"{page} has no row {start}")


def domain(items, users=None):
    return Domain(items=range(items), scale=(1, 5, 1), max_per_user=500, max_users=10_000, users=users)


LISTED = domain(100, users=range(50))


def test_errata_of_private_matrix_factorisation():
    """The figures themselves are found in test_sensitivity_errata_fbk.py."""
    errata = " ".join(text("lab/friedman_berkovsky_kaafar/README.md").split())
    published = FriedmanALS()
    paid = Budget(epsilon=1.0, delta=0.0, unit="record", adjacency="replace")
    people = published.printed(LISTED, paid)["users, epoch 1"]
    worth = people.loss / people.noise / published.budget_split(LISTED, paid)["users, epoch 1"]
    assert f"**{worth:.2f} times** its charge" in errata
    assert f"worth {cost(published, LISTED, paid).true:.4f} times the claim" in errata
    assert f"**{7 * math.log(2):.2f}**" in errata
    assert f"B/(2√λ) = **{1 / (2 * math.sqrt(published.reg)):.2f}**" in errata
    assert "**4.3 times** what is charged" in errata
    assert "**8.6 times**" in errata


def test_what_the_noise_of_mcsherry_and_mironov_costs():
    """The figures themselves are found in test_sensitivity_errata.py; Δ is that of the whole matrix."""
    errata = page = " ".join(text("lab/mcsherry_mironov/README.md").split())
    thousand, paid = domain(1_000), Budget(epsilon=1.0, delta=1e-6, unit="record", adjacency="add-remove")
    bounds = [
        next(
            q for q in McSherrySVD(noise=noise).queries(thousand, paid) if q.name == "covariance"
        ).sensitivity
        for noise in ("gaussian", "laplace")
    ]
    assert "for the whole matrix **{:.2f}** and **{:.1f}**".format(*bounds) in errata
    assert f"at most {cost(McSherrySVD(), thousand, paid).true:.2f} at a claimed 1" in page
    assert McSherryKNN().n_neighbours == McSherryKNN().rank == 20
    assert "20 factors, and 20 neighbours" in page


def test_errata_of_the_papers_own_tables():
    """What follows from other figures of the same paper, or from the size of a public data set."""
    errata = " ".join(text("lab/friedman_berkovsky_kaafar/README.md").split())
    users, movies, ratings = 480_189, 17_770, 100_480_507
    assert f"37.9 · 480,189/17,770 is {37.9 * users / movies:,.0f} ratings per movie" in errata
    assert f"it is **{ratings / users:.0f}** ratings per user" in errata
    assert f"a density of **{ratings / users / movies:.2%}**;".replace("%", " %") in errata
    assert int(ratings / movies) == 5_654
    assert 0.0021 * movies == pytest.approx(37.9, abs=1)  # the two wrong figures agree with each other
    users, listed, ratings = 71_567, 10_681, 10_000_054
    assert f"{ratings / listed:.0f} ratings each, not {ratings / 65_133:.1f}" in errata
    assert f"a density of **{ratings / users / listed:.2%}**, not 0.21".replace("%", " %") in errata
    assert f"209 against {ratings / users:.1f}" in errata
    users, listed, rated, ratings = 6_040, 3_952, 3_706, 1_000_209
    assert int(ratings / listed) == 253
    assert f"{ratings / users / listed:.2%}" == "4.19%"  # printed, and so by the largest number of a movie
    found = (
        f"{ratings / rated:.1f} times each, not 253, and with a density of **{ratings / users / rated:.2%}**"
    )
    assert found.replace("%", " %") in errata
    assert datasets.SETS["ml-1m"].frame["items"] == (1, listed)
    assert (CROSSINGS["ml-1m", "replace"]["GE"], CROSSED) == ((0.2, None), 0.18)
    assert "at ε = 0.18. By Table 4 it is 0.2;" in errata
    crossed = [CROSSINGS["ml-1m", adjacency]["ISGD"] for adjacency in ("add-remove", "replace")]
    assert crossed == [(2, 5.3), (0.9, 2.7)]
    assert (
        "is 2 and 5.3 by Table 5, and its 2.7 and 0.9 for the bounded form are 0.9 and 2.7 by Table 4"
        in errata
    )


def test_half_stars_cost_more_than_the_papers_width_of_the_scale():
    """MovieLens 10M: the noise of Δr = 4 on sums that move by 4.5, in the bounded form too."""
    errata = " ".join(text("lab/friedman_berkovsky_kaafar/README.md").split())
    lo, hi, _ = datasets.SETS["ml-10m"].frame["scale"]
    of_10m = Domain(items=range(100), scale=(lo, hi, 0.5), max_users=10_000, users=range(50))
    paid = Budget(epsilon=1.0, delta=0.0, unit="record", adjacency="replace")
    losses = []
    for form in (FriedmanEffects(), FriedmanInputMF()):
        queries = form.printed(of_10m, paid)
        split = form.budget_split(of_10m, paid)
        averages = [name for name in split if name in queries and name != "ratings"]
        assert {queries[name].sensitivity for name in averages} == {hi - lo}
        printed = {name: split[name] * queries[name].sensitivity / 4 for name in averages}
        losses.append(sum(printed.values()) + (split["ratings"] if "ratings" in queries else 0))
    assert losses == pytest.approx([1.125, 1.0375])
    assert f"so r_max − r_min is {hi - lo}" in errata
    assert f"**{losses[0]:.3f} times** its charge" in errata
    assert f"clamped to ±1, {losses[1]:.4f} times" in errata


def test_what_private_neighbours_cost():
    page = " ".join(text("lab/friedman_berkovsky_kaafar/README.md").split())
    for items, adjacency, said in (
        (100, "replace", "{:.2f} times the claim under replace"),
        (3_952, "replace", "{:.2f} times the claim under replace"),
        (3_952, "add-remove", "on MovieLens 1M {:.2f} times under add-remove"),
    ):
        paid = Budget(epsilon=1.0, delta=0.0, unit="record", adjacency=adjacency)
        listed = Domain(
            range(1, items + 1), scale=(1, 5, 1), max_users=10_000, max_per_user=items, users=["u"]
        )
        assert said.format(cost(FriedmanKNN(), listed, paid).true) in page
    found = FriedmanKNN().printed(listed, paid)
    both = (f"{found[name].sensitivity:.2f}" for name in ("covariance", "co-rating weights"))
    assert f"the two matrices are then priced by {' and '.join(both)} in place of 3 and 3" in page


def test_the_increase_that_does_not_follow_from_its_losses():
    errata, shown = text("lab/du_leighton_patel/README.md"), text("lab/du_leighton_patel/du.md")
    loss, printed = LOSSES[0.95]
    assert f"**{printed} %**" in errata
    assert f"{100 * (loss - BASELINE) / loss:.2f}" == printed  # over the loss with noise
    assert f"**{100 * (loss / BASELINE - 1):.2f} %**" in errata
    for p, (loss, printed) in LOSSES.items():
        true = f"{100 * (loss / BASELINE - 1):.3g}"
        assert (true == printed) == (p != 0.95)
        assert increase(p) == (printed if p != 0.95 else f"{true} (printed {printed})")
        assert increase(p) in shown


def test_published_defaults_are_what_the_page_says_that_the_paper_has():
    page = " ".join(
        (text("lab/friedman_berkovsky_kaafar/README.md") + text("lab/mcsherry_mironov/README.md")).split()
    )
    assert "rank 5, λ = 0.045, γ = 0.01, B = 1, α = 0.6, e_max = 2, p_max = 0.4, q_max = 0.5" in page
    assert "with 5 iterations, and 20 for FriedmanInputMF" in page
    star = {"clip": 1, "threshold": 0.6, "error_bound": 2}
    usual = {"rank": 5, "reg": 0.045, "learning_rate": 0.01, "user_norm": 0.4, "item_norm": 0.5, "epochs": 5}
    for kind in (FriedmanInputMF, FriedmanALS, FriedmanBoundedSGD, FriedmanUnboundedSGD):
        own = {name: field.default for name, field in kind.model_fields.items()}
        printed = usual | ({"epochs": None, "solver": "sgd"} if kind is FriedmanInputMF else {})
        assert {name: own[name] for name in printed if name in own} == {
            name: value for name, value in printed.items() if name in own
        }
        assert {name: 4 * own[name] for name in star if name in own} == {
            name: value for name, value in star.items() if name in own
        }
        assert (own["item_reg"], own["user_reg"]) == (10, 100)


def test_what_published_answers_cost():
    published = DuResponse()
    paid = Budget(epsilon=1e-9, delta=0.0, unit="user", adjacency="replace")
    loss = cost(published, domain(1_000), paid).true
    start = "true ε of a person, m = 1,000 cells, five stars, ε = 0 claimed"
    assert f"**{loss:,.0f}**" in row("docs/models/randomized_response.md", start)
    assert f"**{loss / 1000:.3f}**, also at ε_k = 0" in text("lab/du_leighton_patel/README.md")
    assert f"**{loss:.0f}** more than is claimed" in text("lab/du_leighton_patel/README.md")


# -- what ε means, and what it costs ------------------------------------------------------------------------


def test_the_page_on_epsilon_tells_the_story_and_the_figures_of_statements():
    page = text("docs/choosing.md")
    assert f"<!-- story -->\n{choosing.story()}\n<!-- end" in page
    told = " ".join(page.split())
    assert f"that strong in one of some {one_in(choosing.as_strong(4))} releases" in told
    assert f"a guess is right in at most {percent(choosing.gaussian(4).right_guess)} % of cases" in told


@pytest.mark.parametrize("made", [choosing.meanings, choosing.costs, choosing.rules])
def test_tables_that_help_to_choose_are_made_of_the_stored_rows(made):
    table = "\n".join(made())
    assert f"<!-- {made.__name__} -->\n{table}\n<!-- end" in text("docs/choosing.md")


def test_what_popularity_reaches():
    reached = {f"{choosing.kept('Popularity', epsilon):.0f} %" for epsilon in choosing.COSTS}
    assert reached == {"51 %"}
    assert "The most popular items reach 51 % at every ε." in " ".join(text("docs/choosing.md").split())


def situations():
    """The rows of the first table of the page: people, unit, ε and model."""
    for line in text("docs/choosing.md").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6 and "add-remove" in line:
            yield pytest.param(*cells[1:], id=" ".join(cells[1:]))


@pytest.mark.parametrize(("give", "people", "protected", "epsilon", "model"), [*situations()])
def test_the_model_of_a_situation_is_the_suggested_one(give, people, protected, epsilon, model):
    n, (unit, adjacency) = int(people.replace(",", "")), re.findall("`([a-z-]+)`", protected)
    facts = {"max_users": 2 * n, "expected_users": n, "expected_records": 50 * n}
    declared = hr.Domain(range(2_000), scale=(1, 5, 1) if give == "ratings" else None, **facts)
    delta = 1e-6 if n < 50_000 else 1e-8
    budget = hr.Budget(epsilon=float(epsilon), delta=delta, unit=unit, adjacency=adjacency)
    assert f"`{type(hr.suggest_model(declared, budget)).__name__}`" == model


def test_what_delta_and_the_cap_cost():
    def noise(delta=1e-6, most=500):
        budget = hr.Budget(epsilon=1.0, delta=delta, unit="user", adjacency="add-remove")
        declared = hr.Domain(range(2_000), max_users=10_000, max_per_user=most)
        return hr.plan(declared, hr.PrivateEASE(), budget).measurements[0].noise

    page = " ".join(text("docs/choosing.md").split())
    assert (
        f"δ = 1e-9 in place of 1e-6 costs {noise(1e-9) / noise() - 1:.0%} more noise".replace("%", " %")
        in page
    )
    assert noise(most=50) == noise() == noise(most=2_000)
    method = hr.RandomizedResponse()
    paid = hr.Budget(epsilon=20.0, delta=0.0, unit="user", adjacency="replace")
    for most, each in ((5, "ε = 2 with"), (100, "and 0.1 with")):
        declared = hr.Domain(range(2_000), scale=(1, 5, 1), max_users=10_000, max_per_user=most)
        cell = method.local(method.plan(declared, paid), declared).epsilon
        assert f"{cell:g}" in each
        assert each in page


def test_a_conclusion_as_strong_as_epsilon_is_as_rare_as_delta_allows():
    """δ = P(loss > ε) − e^ε P(loss > ε in the other world), which the rarity alone therefore exceeds."""
    for epsilon in choosing.MEANINGS:
        mu = choosing.gaussian(epsilon).mu
        other = math.erfc((mu / 2 + epsilon / mu) / math.sqrt(2)) / 2
        delta = choosing.as_strong(epsilon) - math.exp(epsilon) * other
        assert delta == pytest.approx(choosing.DELTA, rel=1e-3)
