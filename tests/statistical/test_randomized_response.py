"""How much does an answer tell? Likelihood ratios of real answers, against what is claimed of a cell.

Twenty-five people hold every symbol in as many cells, and answer through a grant. For any two symbols and any
answer the ratio of the two chances of it is at most e^ε. Each chance is replaced by Clopper–Pearson limits
that it passes with chance 1e-9. A release has 72 of them, so what is found of one is above the truth with
chance 7e-8 at most. The seeds are fixed.
"""

import itertools

import numpy as np
import pytest
from scipy import stats

from hushrec.arrays import Ints
from hushrec.models.du_leighton_patel import response
from hushrec.models.du_leighton_patel.method import randomize_rows
from hushrec.models.du_leighton_patel.response import ResponseRandomizer
from hushrec.models.du_leighton_patel.rows import Rows
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import _exponent, responses
from hushrec.privacy.accounting.measurement import Responses
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Seeded

MISTAKEN = 1e-9
SYMBOLS, PEOPLE, EACH = 6, 25, 50_000
WIDTH = SYMBOLS * EACH
EVERY = 10 * WIDTH  # more ε than any of these releases costs


def table(event: Responses, seed: int = 0) -> Ints:
    """How often each symbol is answered by each: the last one is nothing."""
    budget = Budget(epsilon=EVERY, delta=0.0, unit="user", adjacency="replace")
    plan = Plan("toy", {}, "d" * 64, 1000, budget, (event,))
    marked = WIDTH - EACH
    rows = Rows(
        event.name,
        WIDTH,
        np.arange(PEOPLE + 1) * marked,
        np.tile(np.arange(marked, dtype=np.int32), PEOPLE),
        np.tile(np.repeat(np.arange(SYMBOLS - 1, dtype=np.uint8), EACH), PEOPLE),
    )
    grant = Ledger.ephemeral(budget).charge(plan, entropy=Seeded(seed))
    _, columns, marks = randomize_rows(grant, rows, ResponseRandomizer(event.symbols, event.exponent))
    pairs = columns // EACH * SYMBOLS + marks
    counts = np.bincount(pairs, minlength=SYMBOLS**2).reshape(SYMBOLS, SYMBOLS)
    counts[:, -1] = PEOPLE * EACH - counts.sum(axis=1)
    return counts


def found(counts: Ints) -> float:
    """Lower bound on the largest ln of a ratio of chances."""
    total = PEOPLE * EACH
    least = stats.beta.ppf(MISTAKEN, counts, total - counts + 1)
    most = stats.beta.ppf(1 - MISTAKEN, counts + 1, total - counts)
    pairs = itertools.permutations(range(SYMBOLS), 2)
    return max(float(np.log(least[a] / most[b]).max()) for a, b in pairs)


def corrected(epsilon: float) -> Responses:
    """Of so much a cell, as a budget buys it."""
    budget = Budget(epsilon=epsilon * WIDTH, delta=0.0, unit="user", adjacency="replace")
    return responses("answers", budget, symbols=SYMBOLS, cells=WIDTH, size=WIDTH)


@pytest.mark.parametrize(("claimed", "power"), [(1e-3, 0.0), (0.5, 0.95), (2.0, 0.95)])
@pytest.mark.full
def test_corrected_answers_tell_what_they_claim_and_no_more(claimed: float, power: float) -> None:
    event = corrected(claimed)
    assert claimed * (1 - 1e-9) < float(event.loss) <= claimed * (1 + 1e-9)
    proven = found(table(event))
    print(f"proven ε = {proven:.4f} of {claimed}")
    assert power * claimed <= max(proven, 0.0) <= float(event.loss)


@pytest.mark.parametrize("claimed", [0.5, 2.0])
def test_answers_that_are_true_too_often_are_found(claimed: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of a cell's ε more than was booked: too few answers turned."""
    right = response.untrue
    truer = _exponent(1.1 * claimed, SYMBOLS) / _exponent(claimed, SYMBOLS)
    monkeypatch.setattr(response, "untrue", lambda far, *place: right(far * type(far)(truer), *place))
    assert found(table(corrected(claimed))) > claimed
