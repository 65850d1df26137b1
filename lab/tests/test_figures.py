"""What pages state of the papers, and of what their noise costs, is what the code computes."""

import math
from pathlib import Path

import pytest

from hushrec.data.domain import Domain
from hushrec.documents.promise import times
from hushrec.documents.words import english
from hushrec.figures import one_in, percent
from hushrec.privacy.accounting.budget import Budget
from lab.pages import reading_epsilon, which_epsilon
from lab.published import (
    DuResponse,
    FriedmanALS,
    FriedmanBoundedSGD,
    FriedmanInputMF,
    FriedmanUnboundedSGD,
    cost,
)
from lab.reproductions.du import BASELINE
from lab.reproductions.du import PAPER as LOSSES
from lab.reproductions.du import printed as increase
from lab.reproductions.friedman import PAPER as CROSSINGS

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
    errata = " ".join(text("docs/models/errata.md").split())
    published = FriedmanALS()
    paid = Budget(epsilon=1.0, delta=0.0, unit="record", adjacency="replace")
    people = published.printed(LISTED, paid)["users, epoch 1"]
    worth = people.loss / people.noise / published.split(LISTED, paid)["users, epoch 1"]
    assert f"**{worth:.2f} times** its charge" in errata
    assert f"worth {cost(published, LISTED, paid).true:.4f} times the claim" in errata
    assert f"**{7 * math.log(2):.2f}**" in errata
    assert f"B/(2√λ) = **{1 / (2 * math.sqrt(published.reg)):.2f}**" in errata
    assert "**4.3 times** what is charged" in errata
    assert "**8.6 times**" in errata


def test_errata_of_the_papers_own_tables():
    """What follows from other figures of the same paper, or from the size of a public data set."""
    errata = " ".join(text("docs/models/errata.md").split())
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
    crossed = [CROSSINGS["ml-1m", adjacency]["ISGD"] for adjacency in ("add-remove", "replace")]
    assert crossed == [(2, 5.3), (0.9, 2.7)]
    assert (
        "is 2 and 5.3 by Table 5, and its 2.7 and 0.9 for the bounded form are 0.9 and 2.7 by Table 4"
        in errata
    )


def test_the_increase_that_does_not_follow_from_its_losses():
    errata, shown = text("docs/models/errata.md"), text("lab/results/du.md")
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
    page = " ".join(text("lab/docs/published.md").split())
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
        assert (own["item_strength"], own["user_strength"]) == (10, 100)


def test_what_published_answers_cost():
    published = DuResponse()
    paid = Budget(epsilon=1e-9, delta=0.0, unit="user", adjacency="replace")
    loss = cost(published, domain(1_000), paid).true
    start = "true ε of a person, m = 1,000 cells, five stars, ε = 0 claimed"
    assert f"**{loss:,.0f}**" in row("docs/models/randomized_response.md", start)
    assert f"**{loss / 1000:.3f}**, also at ε_k = 0" in text("docs/models/errata.md")
    assert f"**{loss:.0f}** more than is claimed" in text("docs/models/errata.md")


# -- how to read ε ----------------------------------------------------------------------------------------


def test_the_page_on_epsilon_tells_the_story_and_the_figures_of_statements():
    page = text("docs/reading-epsilon.md")
    assert f"<!-- story -->\n{reading_epsilon.story()}\n<!-- end" in page
    assert "\n".join(reading_epsilon.table()) in page
    told = " ".join(page.split())
    assert f"that strong in one of some {one_in(reading_epsilon.as_strong(4))} releases" in told
    assert (
        f"a guess is right in at most {percent(reading_epsilon.gaussian(4).right_guess)} % of cases" in told
    )


def test_a_conclusion_as_strong_as_epsilon_is_as_rare_as_delta_allows():
    """δ = P(loss > ε) − e^ε P(loss > ε in the other world), which the rarity alone therefore exceeds."""
    for epsilon in reading_epsilon.EPSILONS:
        mu = reading_epsilon.gaussian(epsilon).mu
        other = math.erfc((mu / 2 + epsilon / mu) / math.sqrt(2)) / 2
        delta = reading_epsilon.as_strong(epsilon) - math.exp(epsilon) * other
        assert delta == pytest.approx(reading_epsilon.DELTA, rel=1e-3)


@pytest.mark.parametrize("epsilon", which_epsilon.EPSILONS)
def test_pages_that_help_to_choose_state_the_same_figures(epsilon):
    odds = reading_epsilon.gaussian(epsilon)
    guess, attack = (f"{percent(share)}\u00a0%" for share in (odds.right_guess, odds.best_attack))
    factor = times(epsilon, english)
    assert row("docs/which-epsilon.md", f"{epsilon:g}")[:3] == [guess, attack, factor]
    assert row("docs/choosing.md", f"{epsilon:g}")[:2] == [guess.replace("\u00a0", " "), factor]
