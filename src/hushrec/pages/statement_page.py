"""A release's whole statement of privacy as a page, for its readers and for who answers for privacy."""

from dataclasses import replace
from html import escape

from hushrec.documents import html, words
from hushrec.documents.document import Figure, Points, Section
from hushrec.documents.measured import FALSE_POSITIVES, Odds, best_attack
from hushrec.release.statement import Statement
from hushrec.text import percent

_QUESTIONS = (
    *("suits", "unit", "assumed", "only", "tuned"),
    *("audit", "groups", "access", "promised", "deleted"),
)


_STEPS = 100  # points of the drawn curve, chosen by hand
_SIDE, _LEFT, _TOP = 200, 46, 10  # pixels, chosen by hand
_BOTTOM, _RIGHT = _TOP + _SIDE, _LEFT + _SIDE


def trade_off(odds: Odds) -> list[Figure]:
    """Draw the best attack at every fraction of false positives.

    Args:
        odds: of a release, or of several together, that promise something without a condition.
    """
    at = 100 * FALSE_POSITIVES
    return [Figure(_drawn(odds), words.say("trade_off.curve", wrong=at, found=percent(odds.best_attack)))]


def _found(odds: Odds, wrong: float) -> float:
    return best_attack(odds.epsilon, odds.delta, odds.mu, wrong)


def _drawn(odds: Odds) -> str:
    """Draw the curve, with numbers and hushrec's own words alone: no text of a release."""
    fractions = [(step / _STEPS) ** 2 for step in range(1, _STEPS)]  # closer where the curve is steep
    places = [_place(0, min(1.0, _found(odds, 1e-9)))]
    places += [_place(wrong, _found(odds, wrong)) for wrong in fractions]
    line = " L".join([*places, _place(1, 1)])
    ticks = "".join(
        f'<text class="tick" x="{_LEFT - 6}" y="{_BOTTOM - _SIDE * fraction / 100 + 4:g}" text-anchor="end">'
        f"{fraction}</text>"
        f'<text class="tick" x="{_LEFT + _SIDE * fraction / 100:g}" y="{_BOTTOM + 16}" text-anchor="middle">'
        f"{fraction}</text>"
        for fraction in (0, 50, 100)
    )
    drawing, across, up = (escape(words.say(f"trade_off.{name}")) for name in ("drawing", "across", "up"))
    return (
        f'<svg viewBox="0 0 {_RIGHT + 16} {_BOTTOM + 36}" role="img" aria-label="{drawing}">'
        f'<path class="frame" d="M{_LEFT} {_TOP} V{_BOTTOM} H{_RIGHT}"/>'
        f'<path class="blind" d="M{_place(0, 0)} L{_place(1, 1)}"/>'
        f'<path class="curve" d="M{line}"/>{ticks}'
        f'<text class="tick" x="{_LEFT + _SIDE / 2:g}" y="{_BOTTOM + 32}" text-anchor="middle">'
        f'{across}</text><text class="tick" transform="rotate(-90 12 {_TOP + _SIDE / 2:g})" x="12" '
        f'y="{_TOP + _SIDE / 2:g}" text-anchor="middle">{up}</text></svg>'
    )


def _place(wrong: float, power: float) -> str:
    return f"{_LEFT + _SIDE * wrong:.1f} {_BOTTOM - _SIDE * power:.1f}"


def statement_html(
    statement: Statement,
    about: str,
    *,
    stylesheet: str = "",
    home: str = "",
    icon: str = "",
) -> str:
    """Write the statement as a page of HTML, in the words of ``hushrec show``, and a checklist.

    It has no script and no style of its own, so it is shown under ``style-src 'self'`` with no script at all.

    Args:
        about: what the file is, in one line.
        stylesheet: name of ``documents.html.CSS`` as it is served, relative to the page; by default the rules
            stand in the page itself.
        home: name of a page to go back to, if there is one.
        icon: name of a picture in SVG as it is served, if there is one.

    Returns:
        HTML, the same for the same statement.
    """
    questions = Points([words.say(f"checklist.{name}") for name in _QUESTIONS], open=True)
    document = statement.document(trade_off)
    blocks = [*document.blocks, Section(words.say("checklist.title"), [questions])]
    document = replace(document, about=about, blocks=blocks)
    return html.page(document, stylesheet=stylesheet, home=home, icon=icon, back=words.say("statement.back"))
