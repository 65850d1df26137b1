"""Writes what docs/reading-epsilon.md computes and draws: ``python -m lab.pages.reading_epsilon``."""

import re
from functools import cache
from pathlib import Path
from statistics import NormalDist

from hushrec.documents.measured import Measured
from hushrec.documents.odds import Odds
from hushrec.documents.promise import Guarantee, times
from hushrec.documents.words import english
from hushrec.figures import one_in, percent
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import Spent
from lab.experiments.plots import canvas, svg

DOCS = Path(__file__).parents[2] / "docs"
DELTA = 1e-6
STORY = 4
"""The ε of the story that is told in full."""
EPSILONS = (0.1, 0.2, 0.5, 1, 2, 3, 4, 6, 8, 10, 15, 20)


@cache
def gaussian(epsilon):
    """What Gaussian noise means that costs all of ε at DELTA."""
    low, high = 0, 400 * fixed_point.PER_ONE
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if Spent(rho=middle).epsilon(DELTA) <= epsilon else (low, middle)
    rho = low / fixed_point.PER_ONE
    return Odds.of(epsilon, DELTA, [Measured("all", "gaussian", 1.0, 1.0, 1, 1.0, rho)])


def as_strong(epsilon):
    """How often Gaussian noise lets a conclusion be as strong as e^ε: P(N(μ²/2, μ²) > ε)."""
    mu = gaussian(epsilon).mu
    return NormalDist().cdf(mu / 2 - epsilon / mu)


def story():
    """What a statement says of Alice."""
    guarantee = Guarantee("user", "add-remove", gaussian(STORY))
    return "\n".join(f"> {number}. {line}" for number, line in enumerate(guarantee.story(english), 1))


def table():
    """The rows of the page."""
    yield (
        "| ε | right guess: Gaussian noise | any noise | best attack: Gaussian noise | any noise "
        "| single conclusion: any noise | Gaussian noise is that strong in |"
    )
    yield "|" + "---|" * 7
    for epsilon in EPSILONS:
        both = gaussian(epsilon), Odds.of(epsilon, DELTA)
        shares = [odds.right_guess for odds in both] + [odds.best_attack for odds in both]
        cells = [f"{percent(share)}\u00a0%" for share in shares]
        cells += [times(epsilon, english), f"1 of {one_in(as_strong(epsilon))}"]
        yield f"| {epsilon:g} | {' | '.join(cells)} |"


def picture():
    """How often a guess is right, and what the best attack finds, against ε, as SVG."""
    grid = [0.1 * 1.08**k for k in range(70)]
    with canvas(3.6, width=7.2, panels=(1, 2)) as (drawing, panels):
        asked = (("right_guess", 50, "a guess is right, %"), ("best_attack", 1, "best attack finds, %"))
        for axes, (name, blind, label) in zip(panels, asked, strict=True):
            axes.set_xscale("log")
            for noise, of, colour in (
                ("any noise with this ε", lambda e: Odds.of(e, DELTA), "#D55E00"),
                ("Gaussian noise", gaussian, "#0072B2"),
            ):
                axes.plot(grid, [100 * getattr(of(e), name) for e in grid], color=colour, label=noise)
            axes.axhline(blind, color="#444444", linestyle="--", linewidth=1, label="without reading")
            axes.set_xlim(0.1, 20)
            axes.set_ylim(0, 101)
            axes.set_xticks([0.1, 0.5, 1, 2, 4, 8, 20], ["0.1", "0.5", "1", "2", "4", "8", "20"])
            axes.minorticks_off()
            axes.set_xlabel("ε at δ = 1e-6")
            axes.set_ylabel(label)
        panels[1].legend(frameon=False, loc="upper left")
        return svg(drawing, "How often a guess is right, and what the best attack finds, against ε")


def filled(text, mark, inside):
    """The page with new lines between two marks."""
    marked = rf"(<!-- {mark} -->\n).*?(<!-- end of {mark} -->)"
    return re.sub(marked, lambda found: f"{found[1]}{inside}\n{found[2]}", text, flags=re.DOTALL)


if __name__ == "__main__":
    page = DOCS / "reading-epsilon.md"
    text = filled(page.read_text("utf-8"), "story", story())
    page.write_text(filled(text, "table", "\n".join(table())), "utf-8")
    (DOCS / "reading-epsilon.svg").write_text(picture(), "utf-8")
