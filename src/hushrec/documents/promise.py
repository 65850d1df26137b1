"""The meaning of ε and δ for a person: the promise in plain words, and one story for the figures of ε.

Differential privacy compares two worlds: what readers conclude from the release, and what they would
conclude had the privacy unit been absent or other. It does not bound what readers learn about a person from
facts that hold for everybody, so every sentence makes the comparison.
"""

import math
from dataclasses import dataclass

from hushrec.documents.document import Paragraph, Section
from hushrec.documents.odds import FALSE_POSITIVES, Odds
from hushrec.documents.words import Said, Words, texts
from hushrec.figures import WEAK, Number, above, odds, one_in, percent

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

__all__ = ["ADJACENCIES", "Guarantee", "times"]


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

    def loss(self, words: Words, name: str = "headline", **more: object) -> Said:
        """ε and δ in one line."""
        figures = {"epsilon": above(self.odds.epsilon), "delta": above(self.odds.delta)}
        unit, adjacency = words(f"unit.{self.unit}"), words(f"adjacency.{self.adjacency}")
        return words(f"loss.{name}", **figures, unit=unit, adjacency=adjacency, **more)

    def grade(self, words: Words) -> Said:
        """How much readers may learn, in one sentence."""
        epsilon = math.inf if self.weak else self.odds.epsilon
        name = next((name for most, name in _GRADES if epsilon <= most), _LAST)
        about, other = self._of("about", words), self._of("other", words)
        return words(f"grade.{name}", what=self._read(words), about=about, other=other)

    def brief(self, words: Words) -> Said:
        """How much readers may learn, and which records are not protected."""
        return words.join([self.grade(words), self._left_out(words)])

    def promise(self, words: Words) -> Said:
        """The promise in plain words and without exponents, and what it leaves out."""
        epsilon, delta = self.odds.epsilon, self.odds.delta
        parts = [self.grade(words)]
        if self.weak:
            flawed = delta >= _FLAW
            bound = (
                words("promise.chance", chance=one_in(delta)) if flawed else f"ε = {_plain(epsilon, words)}"
            )
            parts.insert(0, words("promise.weak", bound=bound, about=self._of("about", words)))
        return words.join([*parts, self._known(words), self._left_out(words)])

    def covered(self, words: Words) -> Said | None:
        """Say which records are protected and which are not; None if all that a person gave are."""
        if self._whole:
            return None
        return words.join([words("promise.protected", about=self.protected(words)), self._left_out(words)])

    def protected(self, words: Words) -> Said:
        return self._of("protected", words)

    def unprotected(self, words: Words) -> Said:
        return self._of("unprotected", words)

    def story(self, words: Words) -> list[Said]:
        """Tell one reader's chances against one person: the right guess, the best attack, the odds."""
        read, guessed = self._read(words), self._of("guessed", words)
        attack = {"wrong": percent(FALSE_POSITIVES), "found": percent(self.odds.best_attack)}
        answers = {part: self._of(part, words) for part in ("answer", "opposite")}
        chance = self.odds.delta
        factor = times(self.odds.epsilon, words)
        worst = words("story.odds", times=factor)
        if chance:
            worst = words("story.odds_but", chance=one_in(chance), times=factor)
        if self.odds.epsilon > _BILLION:
            worst = words("story.nothing")
        return [
            words("story.sure", guessed=guessed, what=read)
            if self.odds.right_guess >= _CERTAIN
            else words("story.guess", guessed=guessed, what=read, right=percent(self.odds.right_guess)),
            words("story.attack", **attack, **answers),
            worst,
        ]

    def section(self, words: Words, *, alone: bool = False, more: Said | None = None) -> Section:
        """The story under its heading.

        Args:
            alone: whether the heading says that this is one file of several.
            more: what stands below it.
        """
        title = words("story.title")
        if alone or self.files:
            title = words("story.title_of", what=words("what.alone") if alone else self._read(words))
        lines = (*self.story(words), self.deletion(words), more)
        return Section(title, [Paragraph(line) for line in lines if line])

    def deletion(self, words: Words) -> Said:
        """Say what ε means for a person who asks to be deleted, and what it does not mean."""
        name = f"deletion.{self.unit}" if self.adjacency == "add-remove" else "deletion.exchanged"
        many = words("given.interactions.many" if self.interactions else "given.ratings.many")
        figures = {"epsilon": above(self.odds.epsilon), "delta": above(self.odds.delta)}
        return words(name, what=self._read(words), many=many, **figures)

    def any_noise(self, words: Words, *, gaussian: bool) -> Said:
        """Say why the figures of an ε are as high as they are where any noise may have been used.

        Args:
            gaussian: whether to say what Gaussian noise of this ε at δ would mean.
        """
        parts = [words("story.any_noise")]
        if gaussian and self.odds.delta:
            noise = Odds.gaussian(self.odds.epsilon, self.odds.delta)
            figures = {"right": percent(noise.right_guess), "found": percent(noise.best_attack)}
            parts.append(words("story.gaussian", **figures))
        return words.join(parts)

    def _known(self, words: Words) -> Said:
        """Say what bounds the content of a unit that is known to be there; empty if it has none."""
        phrase = self._of("known", words)
        if not phrase or (self.unit == "record" and self.interactions and not self.counts):
            return Said("")
        epsilon, delta = self.odds.two_steps
        if epsilon > _MILLION or delta >= _FLAW:
            return words("promise.known_nothing", known=phrase)
        figures = {"known": phrase, "epsilon": above(epsilon, 3), "factor": odds(epsilon)}
        if not delta:
            return words("promise.known_pure", **figures)
        return words("promise.known", **figures, chance=one_in(delta))

    def _left_out(self, words: Words) -> Said:
        if self._whole:
            return Said("")
        return words("promise.unprotected_part", unprotected=self.unprotected(words))

    def _read(self, words: Words) -> Said:
        return words("what.file") if self.files is None else words("what.all", n=self.files)

    @property
    def _whole(self) -> bool:
        """Whether the worlds differ in all that a person gave."""
        return (self.unit, self.adjacency) == ("user", "add-remove")

    def _of(self, part: str, words: Words) -> Said:
        """How the pair of unit and adjacency is spoken of; empty if it has no such part."""
        name = f"pair.{self.unit}.{self.adjacency}.{part}"
        if name not in texts("en"):
            return Said("")
        feedback = "interactions" if self.interactions else "ratings"
        return words(name, one=words(f"given.{feedback}.one"), many=words(f"given.{feedback}.many"))


def times(epsilon: float, words: Words) -> Said:
    """Say the factor e^ε, rounded up: ``2.72 times``, ``2,990 times``, ``a billion times``."""
    if epsilon <= _MILLION:
        return words("times.factor", factor=odds(epsilon))
    return words("times.billion" if epsilon <= _BILLION else "times.more")


def _plain(epsilon: float, words: Words) -> str:
    """An ε above 1, rounded up to one decimal, without an exponent."""
    if epsilon > _LARGEST:
        return words("promise.too_large", n=_LARGEST)
    figure = f"{math.ceil(10 * epsilon) / 10:,.1f}".removesuffix(".0")
    return words("promise.figure", figure=Number(figure))
