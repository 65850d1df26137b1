"""``hushrec account``: every figure of a mechanism reaches the accountant, and what is printed."""

import json
from fractions import Fraction

import pytest

from hushrec import accounting
from hushrec.figures import above


def test_epsilon_at_delta(hushrec):
    assert hushrec("account --gaussian 1/20 --times 100 --delta 1e-6").out == (
        "ε = 2.25409 at δ = 1e-06\n"
        "\n"
        "mechanism             times  ε alone\n"
        "────────────────────────────────────\n"
        "gaussian, Δ/σ = 1/20    100  2.25409\n"
        "\n"
        "ρ of zCDP         0.125\n"
        "μ of Gaussian DP  0.5\n"
    )


def test_mechanisms_together(hushrec):
    line = "account --gaussian 1/20 --gaussian 0.1 --laplace 1/10 --pure 0.2 --randomized-response 1/4"
    shown = hushrec(f"{line} --symbols 3 --times 4 --delta 1e-6").out.splitlines()
    parts = [
        accounting.gaussian(0.05, 4),
        accounting.gaussian(0.1, 4),
        accounting.laplace(0.1, 4),
        accounting.pure(0.2, 4),
        accounting.randomized_response(0.25, 3, 4),
    ]
    total = sum(parts, accounting.Loss())
    assert shown[0] == f"ε = {above(total.epsilon(1e-6))} at δ = 1e-06"
    rows = [line.rsplit(None, 2) for line in shown[4:9]]
    assert [row[0] for row in rows] == [
        "gaussian, Δ/σ = 1/20",
        "gaussian, Δ/σ = 0.1",
        "laplace, Δ/b = 1/10",
        "pure, ε = 0.2",
        "randomized response, p = 1/4 of 3 answers",
    ]
    assert [float(row[2]) for row in rows] == pytest.approx([p.epsilon(1e-6) for p in parts], abs=1e-4)
    assert shown[-1].startswith("ρ of zCDP")


def test_a_sample(hushrec):
    shown = hushrec("account --gaussian 1 --sample 0.01 --times 1000 --delta 1e-6").out
    assert "ε = 2.4367 at δ = 1e-06" in shown
    assert "gaussian, Δ/σ = 1, q = 0.01  1,000" in shown
    assert "zCDP" not in shown


def test_noise_for_epsilon(hushrec):
    shown = hushrec("account --epsilon 1 --delta 1e-6 --times 100").out
    assert shown.startswith("σ = 42.2468 Δ, measured 100 times: ε = 1 at δ = 1e-06\n")
    assert "mechanism" not in shown
    assert hushrec("account --epsilon 1 --delta 1e-6").out.startswith("σ = 4.22468 Δ: ε = 1 at")
    sampled = json.loads(hushrec("account --epsilon 1 --delta 1e-6 --times 9 --sample 1/8 --json").out)
    assert sampled["noise"] == accounting.gaussian_noise(1, 1e-6, 9, Fraction(1, 8))
    assert (sampled["rho"], sampled["mu"], sampled["mechanisms"]) == (None, None, [])


def test_delta_at_epsilon_as_json(hushrec):
    told = json.loads(hushrec("account --gaussian 1/20 --times 100 --epsilon 2 --json").out)
    assert told == {
        "kind": "account",
        "version": told["version"],
        "epsilon": 2.0,
        "delta": accounting.gaussian(0.05, 100).delta(2.0),
        "rho": 0.125,
        "mu": 0.5,
        "noise": None,
        "times": 100,
        "sample": 1.0,
        "mechanisms": [{"mechanism": "gaussian", "parameter": 0.05, "epsilon": 2.0}],
    }


def test_an_infinite_epsilon(hushrec):
    assert hushrec("account --gaussian 1 --delta 0").out.startswith("ε = ∞ at δ = 0\n")
    told = json.loads(hushrec("account --gaussian 1 --delta 0 --json").out)
    assert told["epsilon"] is told["mechanisms"][0]["epsilon"] is None


@pytest.mark.parametrize(
    "line",
    ["--gaussian 1", "--gaussian 1 --epsilon 1 --delta 1e-6", "--epsilon 1", "--delta 1e-6", ""],
)
def test_what_is_asked_must_be_clear(refused, line):
    assert "give mechanisms with either --delta or --epsilon" in refused(f"account {line}")


@pytest.mark.parametrize("line", ["--gaussian x", "--laplace 1/0", "--gaussian 1 --sample nan"])
def test_a_figure_must_be_a_number(refused, line):
    assert "is not a number; write it as 0.05 or 1/20" in refused(f"account {line} --delta 1e-6")
