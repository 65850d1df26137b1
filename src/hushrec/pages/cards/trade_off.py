"""What the best attack on a release finds: as a table, and as a drawing of its trade-off curve."""

from hushrec.figures import above
from hushrec.pages.cards.document import Block, Grid, Picture
from hushrec.release.odds import best_attack
from hushrec.release.statement import Statement

__all__ = ["trade_off"]

SHOWN = (0.001, 0.01, 0.05)
"""The shares of false positives in the table."""
_STEPS = 100
_SIDE, _LEFT, _TOP = 200, 46, 10
_BOTTOM, _RIGHT = _TOP + _SIDE, _LEFT + _SIDE


def trade_off(statement: Statement) -> tuple[Block, ...]:
    """The best attack at several shares of false positives.

    Args:
        statement: one that promises something without a condition.
    """
    rows = [
        (f"{100 * wrong:g} %", f"{100 * wrong:g} %", f"{above(100 * _found(statement, wrong), 3)} %")
        for wrong in SHOWN
    ]
    heads = "false positives", "a blind guess finds", "the best attack finds at most"
    return Picture(_drawn(statement), _told(statement)), Grid("The best attack", heads, tuple(rows))


def _found(statement: Statement, wrong: float) -> float:
    return best_attack(statement.epsilon, statement.delta, statement.reading.mu, wrong)


def _told(statement: Statement) -> str:
    most = above(100 * _found(statement, SHOWN[1]), 3)
    return (
        "Trade-off curve: the share that the best attack finds of those it looks for, against its share of "
        f"false positives; at 1 %, at most {most} %. The dashed line is a blind guess."
    )


def _drawn(statement: Statement) -> str:
    """The curve, with numbers alone in it: no text of a release."""
    shares = [(step / _STEPS) ** 2 for step in range(1, _STEPS)]  # closer where the curve is steep
    places = [_place(0, min(1.0, _found(statement, 1e-9)))]
    places += [_place(wrong, _found(statement, wrong)) for wrong in shares]
    line = " L".join([*places, _place(1, 1)])
    ticks = "".join(
        f'<text class="tick" x="{_LEFT - 6}" y="{_BOTTOM - _SIDE * share / 100 + 4:g}" text-anchor="end">'
        f"{share}</text>"
        f'<text class="tick" x="{_LEFT + _SIDE * share / 100:g}" y="{_BOTTOM + 16}" text-anchor="middle">'
        f"{share}</text>"
        for share in (0, 50, 100)
    )
    return (
        f'<svg viewBox="0 0 {_RIGHT + 16} {_BOTTOM + 36}" role="img" '
        'aria-label="Trade-off curve of the best attack; the figures are in the table">'
        f'<path class="frame" d="M{_LEFT} {_TOP} V{_BOTTOM} H{_RIGHT}"/>'
        f'<path class="blind" d="M{_place(0, 0)} L{_place(1, 1)}"/>'
        f'<path class="curve" d="M{line}"/>{ticks}'
        f'<text class="tick" x="{_LEFT + _SIDE / 2:g}" y="{_BOTTOM + 32}" text-anchor="middle">'
        "false positives, %</text>"
        f'<text class="tick" transform="rotate(-90 12 {_TOP + _SIDE / 2:g})" x="12" '
        f'y="{_TOP + _SIDE / 2:g}" text-anchor="middle">found, %</text></svg>'
    )


def _place(wrong: float, found: float) -> str:
    return f"{_LEFT + _SIDE * wrong:.1f} {_BOTTOM - _SIDE * found:.1f}"
