"""The meaning of ε and δ for a person: the promise in plain words, and one story for the figures of ε.

Differential privacy compares two worlds: what readers conclude from the release, and what they would
conclude had the privacy unit been absent or other. It does not bound what readers learn about a person from
facts that hold for everybody, so every sentence makes the comparison.
"""

import math
from dataclasses import dataclass

from hushrec.documents import words
from hushrec.documents.document import Paragraph, Section
from hushrec.documents.measured import FALSE_POSITIVES, Odds
from hushrec.documents.words import texts
from hushrec.text import WEAK, above, odds, one_in, percent

ADJACENCIES = (
    ("user", "add-remove"),
    ("user", "replace"),
    ("user", "replace-items"),
    ("record", "add-remove"),
    ("record", "replace"),
)
"""Every valid pair of unit and adjacency."""
_GRADES = ((0.5, "almost_the_same"), (1.1, "similar"), (3.0, "something"), (WEAK, "a_lot"))
"""The largest ε of a grade, and its sentence. The factors e^ε are at most 1.65, 3.01, 20.1 and 2,990."""
_LAST = "almost_everything"
_LARGEST = 1_000_000
"""The ε above which its digits say nothing."""
_MILLION = math.log(1e6)
"""The ε above which the digits of a factor tell nothing."""
_BILLION = math.log(1e9)
"""The ε above which a factor tells nothing."""
_FLAW = 0.01
"""The δ from which nothing better than the last grade is said, whatever ε is."""
_CERTAIN = 0.999
"""How often a guess is right from which a bound tells nothing."""


@dataclass(frozen=True, slots=True)
class Guarantee:
    """An ε at δ of a unit under an adjacency, and what may be said of it.

    Attributes:
        unit, adjacency: one of ``ADJACENCIES``.
        odds: ε, δ and what follows from them.
        interactions: whether people gave interactions in place of ratings.
        files: how many files are read together; None for one alone.
        counts: whether an interaction has a count, which is its content.
    """

    unit: str
    adjacency: str
    odds: Odds
    interactions: bool = False
    files: int | None = None
    counts: bool = False

    @property
    def weak(self) -> bool:
        """Whether the bound promises so little that no sentence rests on it."""
        return self.odds.epsilon > WEAK or self.odds.delta >= _FLAW

    def loss(self, name: str = "headline", **more: object) -> str:
        """ε and δ in one line."""
        figures = {"epsilon": above(self.odds.epsilon), "delta": above(self.odds.delta)}
        unit, adjacency = words.say(f"unit.{self.unit}"), words.say(f"adjacency.{self.adjacency}")
        return words.say(f"loss.{name}", **figures, unit=unit, adjacency=adjacency, **more)

    def grade(self) -> str:
        """How much readers may learn, in one sentence."""
        epsilon = math.inf if self.weak else self.odds.epsilon
        name = next((name for most, name in _GRADES if epsilon <= most), _LAST)
        about, other = self._of("about"), self._of("other")
        return words.say(f"grade.{name}", what=self._read(), about=about, other=other)

    def brief(self) -> str:
        """How much readers may learn, and which records are not protected."""
        return words.join([self.grade(), self._left_out()])

    def promise(self) -> str:
        """The promise in plain words and without exponents, and what it leaves out."""
        epsilon, delta = self.odds.epsilon, self.odds.delta
        parts = [self.grade()]
        if self.weak:
            flawed = delta >= _FLAW
            bound = words.say("promise.chance", chance=one_in(delta)) if flawed else f"ε = {_plain(epsilon)}"
            parts.insert(0, words.say("promise.weak", bound=bound, about=self._of("about")))
        return words.join([*parts, self._known(), self._left_out()])

    def covered(self) -> str | None:
        """Say which records are protected and which are not; None if all that a person gave are."""
        if self._whole:
            return None
        return words.join([words.say("promise.protected", about=self.protected()), self._left_out()])

    def protected(self) -> str:
        return self._of("protected")

    def unprotected(self) -> str:
        return self._of("unprotected")

    def story(self) -> list[str]:
        """Tell one reader's chances against one person: the right guess, the best attack, the odds."""
        read, guessed = self._read(), self._of("guessed")
        attack = {"wrong": percent(FALSE_POSITIVES), "found": percent(self.odds.best_attack)}
        answers = {part: self._of(part) for part in ("answer", "opposite")}
        chance = self.odds.delta
        factor = times(self.odds.epsilon)
        worst = words.say("story.odds", times=factor)
        if chance:
            worst = words.say("story.odds_but", chance=one_in(chance), times=factor)
        if self.odds.epsilon > _BILLION:
            worst = words.say("story.nothing")
        return [
            words.say("story.sure", guessed=guessed, what=read)
            if self.odds.right_guess >= _CERTAIN
            else words.say("story.guess", guessed=guessed, what=read, right=percent(self.odds.right_guess)),
            words.say("story.attack", **attack, **answers),
            worst,
        ]

    def section(self, *, alone: bool = False, more: str | None = None) -> Section:
        """The story under its heading.

        Args:
            alone: whether the heading says that this is one file of several.
            more: what stands below it.
        """
        title = words.say("story.title")
        if alone or self.files:
            title = words.say("story.title_of", what=words.say("what.alone") if alone else self._read())
        lines = (*self.story(), self.deletion(), more)
        return Section(title, [Paragraph(line) for line in lines if line])

    def deletion(self) -> str:
        """Say what ε means for a person who asks to be deleted, and what it does not mean."""
        name = f"deletion.{self.unit}" if self.adjacency == "add-remove" else "deletion.exchanged"
        many = words.say("given.interactions.many" if self.interactions else "given.ratings.many")
        figures = {"epsilon": above(self.odds.epsilon), "delta": above(self.odds.delta)}
        return words.say(name, what=self._read(), many=many, **figures)

    def any_noise(self, *, gaussian: bool) -> str:
        """Say why the figures of an ε are as high as they are where any noise may have been used.

        Args:
            gaussian: whether to say what Gaussian noise of this ε at δ would mean.
        """
        parts = [words.say("story.any_noise")]
        if gaussian and self.odds.delta:
            noise = Odds.gaussian(self.odds.epsilon, self.odds.delta)
            figures = {"right": percent(noise.right_guess), "found": percent(noise.best_attack)}
            parts.append(words.say("story.gaussian", **figures))
        return words.join(parts)

    def _known(self) -> str:
        """Say what bounds the content of a unit that is known to be there; empty if it has none."""
        phrase = self._of("known")
        if not phrase or (self.unit == "record" and self.interactions and not self.counts):
            return ""
        epsilon, delta = self.odds.two_steps
        if epsilon > _MILLION or delta >= _FLAW:
            return words.say("promise.known_nothing", known=phrase)
        figures = {"known": phrase, "epsilon": above(epsilon, 3), "factor": odds(epsilon)}
        if not delta:
            return words.say("promise.known_pure", **figures)
        return words.say("promise.known", **figures, chance=one_in(delta))

    def _left_out(self) -> str:
        if self._whole:
            return ""
        return words.say("promise.unprotected_part", unprotected=self.unprotected())

    def _read(self) -> str:
        return words.say("what.file") if self.files is None else words.say("what.all", n=self.files)

    @property
    def _whole(self) -> bool:
        """Whether the worlds differ in all that a person gave."""
        return (self.unit, self.adjacency) == ("user", "add-remove")

    def _of(self, part: str) -> str:
        """How the pair of unit and adjacency is spoken of; empty if it has no such part."""
        name = f"pair.{self.unit}.{self.adjacency}.{part}"
        if name not in texts():
            return ""
        feedback = "interactions" if self.interactions else "ratings"
        return words.say(
            name, one=words.say(f"given.{feedback}.one"), many=words.say(f"given.{feedback}.many")
        )


def times(epsilon: float) -> str:
    """Say the factor e^ε, rounded up: ``2.72 times``, ``2,990 times``, ``a billion times``."""
    if epsilon <= _MILLION:
        return words.say("times.factor", factor=odds(epsilon))
    return words.say("times.billion" if epsilon <= _BILLION else "times.more")


def _plain(epsilon: float) -> str:
    """An ε above 1, rounded up to one decimal, without an exponent."""
    if epsilon > _LARGEST:
        return words.say("promise.too_large", n=_LARGEST)
    figure = f"{math.ceil(10 * epsilon) / 10:,.1f}".removesuffix(".0")
    return words.say("promise.figure", figure=figure)
