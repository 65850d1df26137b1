"""``hushrec account``: the accountant alone, for mechanisms of your own."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from hushrec.cli import console, options
from hushrec.errors import ConfigError

if TYPE_CHECKING:
    from hushrec.accounting import Loss
    from hushrec.documents.document import Document

Figures = list[str] | None


class Part(NamedTuple):
    """One mechanism that was given: its name, its figure, how a table shows it, and its cost."""

    mechanism: str
    figure: Fraction
    shown: str
    loss: "Loss"


def _mechanism(metavar: str, what: str) -> Any:
    return typer.Option(metavar=metavar, help=f"{what}; may be repeated.")


def account(
    gaussian: Annotated[Figures, _mechanism("Δ/σ", "Gaussian noise, Δ in the L2 norm: 0.05 or 1/20")] = None,
    laplace: Annotated[Figures, _mechanism("Δ/b", "Continuous Laplace noise, Δ in the L1 norm")] = None,
    pure: Annotated[
        Figures, _mechanism("ε", "Any mechanism with a pure ε, such as discrete Laplace noise")
    ] = None,
    randomized_response: Annotated[
        Figures, _mechanism("P", "Randomized response, untrue with probability P")
    ] = None,
    symbols: Annotated[int, typer.Option(help="How many answers a randomized response has.")] = 2,
    sample: Annotated[
        str, typer.Option(metavar="Q", help="Probability that each person takes part in Gaussian noise.")
    ] = "1",
    times: Annotated[int, typer.Option(min=1, help="How often all of it is measured.")] = 1,
    epsilon: Annotated[float | None, typer.Option(help="ε: print δ, or without mechanisms σ/Δ.")] = None,
    delta: Annotated[float | None, typer.Option(help="δ: print ε.")] = None,
    json: options.Json = False,
) -> None:
    """Account for noise of your own: ε at δ, δ at ε, or σ.

    With mechanisms, --delta gives their ε, and --epsilon their δ. Without any, both give σ/Δ of Gaussian
    noise. Reads no data and charges no ledger.
    """
    from hushrec import accounting

    rate = number(sample)
    kinds: dict[str, tuple[Figures, str, Callable[[Fraction], Loss]]] = {
        "gaussian": (
            gaussian,
            "Δ/σ = {}" + f", q = {sample}" * (rate < 1),
            lambda ratio: accounting.gaussian(ratio, times, rate),
        ),
        "laplace": (laplace, "Δ/b = {}", lambda ratio: accounting.laplace(ratio, times)),
        "pure": (pure, "ε = {}", lambda epsilon: accounting.pure(epsilon, times)),
        "randomized response": (
            randomized_response,
            f"p = {{}} of {symbols} answers",
            lambda untrue: accounting.randomized_response(untrue, symbols, times),
        ),
    }
    parts = [
        Part(kind, number(text), shown.format(text), loss(number(text)))
        for kind, (texts, shown, loss) in kinds.items()
        for text in texts or ()
    ]
    total, noise = sum((part.loss for part in parts), accounting.Loss()), None
    if parts and epsilon is None and delta is not None:
        epsilon = total.epsilon(delta)
    elif parts and delta is None and epsilon is not None:
        delta = total.delta(epsilon)
    elif not parts and epsilon is not None and delta is not None:
        noise = accounting.gaussian_noise(epsilon, delta, times, rate)
        total = accounting.gaussian(1 / Fraction(noise), times, rate)
    else:
        raise ConfigError(
            "give mechanisms with either --delta or --epsilon, as in --gaussian 1/20 --delta 1e-6; or both "
            "without mechanisms, for σ"
        )
    facts = {
        "epsilon": _finite(epsilon),
        "delta": delta,
        "rho": total.rho,
        "mu": total.mu,
        "noise": noise,
        "times": times,
        "sample": float(rate),
        "mechanisms": [
            {
                "mechanism": part.mechanism,
                "parameter": float(part.figure),
                "epsilon": _finite(part.loss.epsilon(delta)),
            }
            for part in parts
        ],
    }
    console.show(document(facts, parts), json=json)


def document(facts: dict[str, Any], parts: list[Part]) -> "Document":
    """Say what was found, with the ε of each mechanism alone."""
    from hushrec.documents.document import Block, Document, Facts, Paragraph, Table
    from hushrec.figures import above

    cost = f"ε = {above(facts['epsilon'])} at δ = {above(facts['delta'])}"
    if facts["noise"]:
        each = f", measured {facts['times']:,} times" * (facts["times"] > 1)
        cost = f"σ = {above(facts['noise'])} Δ{each}: {cost}"
    blocks: list[Block] = [Paragraph(cost, "strong")]
    if parts:
        rows = [
            (f"{part.mechanism}, {part.shown}", f"{facts['times']:,}", above(line["epsilon"]))
            for part, line in zip(parts, facts["mechanisms"], strict=True)
        ]
        blocks.append(Table("Mechanisms", ("mechanism", "times", "ε alone"), rows))
    parameters = {"ρ of zCDP": facts["rho"], "μ of Gaussian DP": facts["mu"]}
    if shown := [(name, above(value)) for name, value in parameters.items() if value is not None]:
        blocks.append(Facts(shown))
    return Document("account", "Account", blocks, facts=facts)


def _finite(epsilon: float) -> float | None:
    return None if math.isinf(epsilon) else epsilon


def number(text: str) -> Fraction:
    """Read a number or a fraction, such as 0.05 or 1/20."""
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ConfigError(f"{text!r} is not a number; write it as 0.05 or 1/20") from None
