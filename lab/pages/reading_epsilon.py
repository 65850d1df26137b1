"""Writes the table and the picture of docs/reading-epsilon.md: ``python -m lab.pages.reading_epsilon``."""

import math
import re
from pathlib import Path

from hushrec.documents.measured import Measured
from hushrec.documents.odds import Odds
from hushrec.figures import above, times
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import Spent
from lab.experiments.plots import canvas, svg

DOCS = Path(__file__).parents[2] / "docs"
DELTA = 1e-6
EPSILONS = (0.1, 0.2, 0.5, 1, 2, 3, 4, 6, 8, 10, 15, 20)


def gaussian(epsilon):
    """Odds of Gaussian noise that costs all of ε at DELTA."""
    low, high = 0, 400 * fixed_point.PER_ONE
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if Spent(rho=middle).epsilon(DELTA) <= epsilon else (low, middle)
    rho = low / fixed_point.PER_ONE
    return Odds.of(epsilon, DELTA, [Measured("all", "gaussian", 1.0, 1.0, 1, 1.0, rho)])


def table():
    """The rows of the page."""
    yield (
        "| ε | odds change at most | a guess is right at most | μ of Gaussian noise | best attack on it "
        "| on any |"
    )
    yield "|---|---|---|---|---|---|"
    for epsilon in EPSILONS:
        noise, any_noise = gaussian(epsilon), Odds.of(epsilon, DELTA)
        sure = above(100 * min(1, (1 + DELTA * math.exp(-epsilon)) / (1 + math.exp(-epsilon))), 4)
        attacks = " | ".join(f"{above(100 * odds.best_attack, 3)}\u00a0%" for odds in (noise, any_noise))
        yield f"| {epsilon:g} | {times(epsilon)} | {sure}\u00a0% | {above(noise.mu, 3)} | {attacks} |"


def picture():
    """The best attack at 1 % false positives against ε, as SVG."""
    grid = [0.1 * 1.08**k for k in range(70)]
    with canvas(3.6, width=7.2) as (drawing, (axes,)):
        axes.set_xscale("log")
        for label, of, colour in (
            ("any noise with this ε", lambda e: Odds.of(e, DELTA), "#D55E00"),
            ("Gaussian noise", gaussian, "#0072B2"),
        ):
            axes.plot(grid, [100 * of(e).best_attack for e in grid], color=colour, label=label)
        axes.axhline(1, color="#444444", linestyle="--", linewidth=1, label="a blind guess")
        axes.set_xlim(0.1, 20)
        axes.set_ylim(0, 101)
        axes.set_xticks([0.1, 0.5, 1, 2, 4, 8, 20], ["0.1", "0.5", "1", "2", "4", "8", "20"])
        axes.set_xlabel("ε at δ = 1e-6")
        axes.set_ylabel("found, % (1 % false positives)")
        axes.legend(frameon=False)
        return svg(drawing, "The best attack at 1 % false positives against ε, on Gaussian and on any noise")


if __name__ == "__main__":
    page = DOCS / "reading-epsilon.md"
    text = page.read_text("utf-8")
    marked = r"(<!-- table -->\n).*?(<!-- end of table -->)"
    rows = "\n".join(table())
    page.write_text(re.sub(marked, lambda m: f"{m[1]}{rows}\n{m[2]}", text, flags=re.DOTALL), "utf-8")
    (DOCS / "reading-epsilon.svg").write_text(picture(), "utf-8")
