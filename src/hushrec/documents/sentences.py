"""Every sentence about a guarantee, in the order in which a statement says them.

To change a sentence, change it here alone; where files hold it (``Statement.says``), make ``tests/vectors/`` anew.
The reader of a release is "you"; a person in the story is Alice. Whatever costs is rounded up before it stands
in a sentence, and whatever protects is rounded down.

A sentence that a file states by name (``Sentence``) stands in a class of its kind: ``Assumes.cap`` is
``assumes.cap`` in the file. Another name, or other values in its braces, is another version of the format, and
so are other words of ``CAVEATS`` and of ``Guarantee.loss``, since every client checks a headline.

Differential privacy compares two worlds: what readers conclude from the release, and what they would conclude
had the privacy unit been absent or other. It does not bound what readers learn about a person from facts that
hold for everybody, so every sentence of a promise makes the comparison.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from string import digits
from typing import NamedTuple

from hushrec.documents.document import Paragraph, Section, Table
from hushrec.documents.fact import Fact, Sentence
from hushrec.documents.measured import SYMBOLS, Local, Measured, Promised
from hushrec.documents.odds import FALSE_POSITIVES, Odds
from hushrec.text import WEAK, above, below, odds, one_in, percent

STATEMENT = "What this release promises"
STATEMENT_LABEL = "Statement of privacy"
BACK = "← Back"

# 1 · What no one may miss: why nothing is promised, or on what condition. First words, then a reason.

CAVEATS = {
    "unprotected": "NOT PRIVATE",
    "convergence": "CONDITIONAL ON CONVERGENCE",
    "groups": "GROUPS NOT COVERED",
    "author": "AUTHOR'S CLAIM",
}
"""The first words of a caveat, by its kind; the gravest kind first."""


def caveat(one: Fact) -> str:
    return f"{CAVEATS[one.kind]}: {one}"


class Unprotected(Sentence):
    """Why nothing is promised."""

    seeded = "the noise was drawn from a seed"
    not_kept = "the ledger was not kept"
    ledger = "this ledger holds a seeded release"
    exact = "no noise was added"
    unstated = "no statement was written"
    published = "this reproduces a paper, whose noise was drawn from a seed"


class Convergence(Sentence):
    """Why ε holds only for a converged Markov chain."""

    sample = "a posterior sample ({names}) keeps its ε only if the chain had converged; its diagnostics (R̂, effective sample size) were computed from the ratings and are covered by no ε"
    chain = "this ε holds only if the chain has converged, which no one can check"


class Groups(Sentence):
    """Why no ε covers the groups that replace items."""

    exact = "the groups of items were made from everybody's exact ratings, and nothing was charged for them; the ε of a slot holds only against those who learn nothing from the groups"
    release = "the groups of items were made from a release whose promise does not hold on its own; the ε of a slot holds only against those who learn nothing from the groups"
    ledger = "this ledger holds a release whose groups of items no ε covers"


class Author(Sentence):
    """Why ε depends on code outside hushrec."""

    foreign = "{names} is not part of hushrec; this ε holds only if its sensitivities are true and all that it publishes is made from what its grant released, for which its author alone vouches"
    ledger = "this ledger holds a release by code that is not part of hushrec; what the ledger counts for it is its author's claim, and with it the total"


CAVEAT_KINDS = Unprotected, Convergence, Groups, Author

# Notes below the caveats.

REFUTED = "This release promises nothing: by its diagnostics the chain had NOT CONVERGED, so its draw does not have the law from which the ε below follows."
GROUPS_NOT_COVERED = "The ε below holds only against readers who learn nothing from the groups; against anybody else nothing is promised. The groups can be seen in what was published, and no ε covers them. How many ratings a person gave, and their stars, are published as they are."
EXACT = "The exact statistics were used: do not publish this file."


class Beside(Sentence):
    """The release that groups of items were made from."""

    release = "a release of {model} (ε = {epsilon:g} at δ = {delta:g} per {unit}, {adjacency})"


def beside(release: Fact) -> str:
    return f"The groups of items were made from {release}, and can be inferred from this file. The figures below bound what this file tells beyond that release, which has its own ε."


# 2 · ε in one line: ``Guarantee.loss`` and ``Guarantee.together``.

NOTHING_MEASURED = "nothing was measured"
NOTHING = "Nothing is promised."
AS_CLAIMED = ", as its author counts"


def conditional_headline(caveat: Fact, epsilon: float, unit: str) -> str:
    return f"{CAVEATS[caveat.kind]}: ε = {above(epsilon)} per {unit}"


def loss_alone(epsilon: float, delta: float) -> str:
    return f"This release alone: ε = {above(epsilon)} at δ = {above(delta)}."


def loss_with_earlier(n: int, epsilon: float, delta: float, own: float) -> str:
    earlier = f"{n:,} earlier {'one' if n == 1 else 'ones'}"
    return f"This release, with the sums of {earlier} that it holds: ε = {above(epsilon)} at δ = {above(delta)}. Its own measurements cost ε = {above(own)} of it."


# 3 · The promise in plain words, and one story for the three figures by which ε is read.


class Pair(NamedTuple):
    """How a unit under an adjacency is spoken of.

    Attributes:
        about: what is protected, never more than that.
        other: the other world of the comparison.
        guessed, answer, opposite: what a reader of the story does not know, and the two answers.
        unprotected: what is not protected.
        known: what bounds less for readers who know that the unit is there; empty if it has no content.
    """

    about: str
    other: str
    guessed: str
    answer: str
    opposite: str
    unprotected: str
    known: str = ""


ADJACENCIES = (
    ("user", "add-remove"),
    ("user", "replace"),
    ("user", "replace-items"),
    ("record", "add-remove"),
    ("record", "replace"),
)
"""Every valid pair of unit and adjacency."""


def pair(unit: str, adjacency: str, one: str, many: str) -> Pair:
    """How a unit under an adjacency is spoken of, where people gave ``many`` of ``one``."""
    match unit, adjacency:
        case "user", "add-remove":
            return Pair(
                about="you",
                other="you had never taken part",
                guessed="whether Alice took part",
                answer="Alice took part",
                opposite="Alice did not",
                known="that you took part, the bound on what you gave",
                unprotected="what holds for many people alike, such as that those who like one title often like another",
            )
        case "user", "replace":
            return Pair(
                about=f"your {many}",
                other=f"you had given other {many}",
                guessed=f"which of two lists of {many} is Alice's",
                answer="the first list",
                opposite="it is the second",
                unprotected="that you took part",
            )
        case "user", "replace-items":
            return Pair(
                about=f"which items your {many} are of",
                other=f"your {many} were of other items",
                guessed=f"which of two lists of items Alice's {many} are of",
                answer="the first list",
                opposite="it is the second",
                unprotected=f"how many {many} you gave, how you rated them, and that you took part",
            )
        case "record", "add-remove":
            return Pair(
                about=f"any single {one} of yours",
                other=f"you had never given that {one}",
                guessed=f"whether Alice gave one certain {one}",
                answer="Alice gave it",
                opposite="Alice did not",
                known="that you gave it, the bound on its content",
                unprotected=f"all your {many} together, about which readers may learn far more",
            )
        case _:
            return Pair(
                about=f"the stars of any single {one} of yours",
                other=f"you had given that {one} other stars",
                guessed="which of two numbers of stars Alice gave one item",
                answer="the first number",
                opposite="it is the second",
                unprotected=f"which items you rated, and the stars of all your {many} together, about which readers may learn far more",
            )


_LARGEST = 1_000_000
"""The ε above which its digits say nothing."""
_MILLION, _BILLION = math.log(1e6), math.log(1e9)
"""The ε above which the digits of a factor tell nothing, and above which a factor does."""
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

    def loss(self) -> str:
        """ε and δ in one line."""
        figures = f"ε = {above(self.odds.epsilon)} at δ = {above(self.odds.delta)}"
        return f"{figures} per {self.unit}, {self.adjacency}"

    def together(self, spent: float | None) -> str:
        """ε of all releases together, in one line."""
        return f"All {self.files:,} releases that this ledger allows, together: {self.loss()}; ε = {above(spent)} of it is spent so far, this one included."

    def grade(self) -> str:
        """How much readers may learn, in one sentence: the largest ε of each grade is 0.5, 1.1, 3, 8 or any.

        The factors e^ε are at most 1.65, 3.01, 20.1 and 2,990. A large δ gets the last grade.
        """
        anyone, about = f"Anyone who reads {self._what}, whatever else they know,", self._pair.about
        epsilon, other = math.inf if self.weak else self.odds.epsilon, self._pair.other
        if epsilon <= 0.5:
            return f"{anyone} learns almost the same about {about} as if {other}."
        if epsilon <= 1.1:
            return f"{anyone} learns similar things about {about} as if {other}."
        much = "something" if epsilon <= 3.0 else "a lot" if epsilon <= WEAK else "almost everything"
        return f"{anyone} may learn {much} about {about} that they would not learn if {other}."

    def brief(self) -> str:
        """How much readers may learn, and which records are not protected."""
        return " ".join(filter(None, [self.grade(), self._left_out()]))

    def promise(self) -> str:
        """The promise in plain words and without exponents, and what it leaves out."""
        weak = ""
        if self.weak:
            flaw = f"δ = 1 in {one_in(self.odds.delta)}" if self.odds.delta >= _FLAW else ""
            weak = f"The bound {flaw or f'ε = {_plain(self.odds.epsilon)}'} is too weak to promise much: only what the noise does in practice protects {self._pair.about}."
        return " ".join(filter(None, [weak, self.grade(), self._known(), self._left_out()]))

    def covered(self) -> str | None:
        """Say which records are protected and which are not; None if all that a person gave are."""
        return None if self._whole else f"Protected: {self.protected()}. {self._left_out()}"

    def protected(self) -> str:
        if self._whole:
            return f"each person whose {self._many} were used: whether they took part, and everything that they gave"
        return self._pair.about

    def unprotected(self) -> str:
        return self._pair.unprotected

    def story(self) -> list[str]:
        """Tell one reader's chances against one person: the right guess, the best attack, the odds."""
        pair, right = self._pair, self.odds.right_guess
        guess = f"Someone who knows everything except {pair.guessed} reads {self._what} and guesses."
        if right >= _CERTAIN:
            guess += " As far as this bound tells, the guess may be right in practically all cases."
        else:
            guess += f" If both answers were equally likely, the guess is right in at most {percent(right)} % of cases; without reading, in 50 %."
        wrong = percent(FALSE_POSITIVES)
        attack = f"If they may say “{pair.answer}” in only {wrong} % of the cases where {pair.opposite}, they say it in at most {percent(self.odds.best_attack)} % of the cases where it is true; without reading, in {wrong} %."
        worst = "Both percentages are averages over the noise."
        if self.odds.epsilon > _BILLION:
            worst += " Of a single conclusion, however rare, this ε says nothing: it may be billions of times as probable as in the other case."
        else:
            but = f", plus 1 in {one_in(self.odds.delta)}" if self.odds.delta else ""
            worst += f" ε itself bounds every single conclusion, however rare: it is at most {times(self.odds.epsilon)} as probable as in the other case{but}."
        return [guess, attack, worst]

    def section(self, *, alone: bool = False, more: str | None = None) -> Section:
        """The story under its heading.

        Args:
            alone: whether the heading says that this is one file of several.
            more: what stands below it.
        """
        which = "this file alone" if alone else self._what
        title = "What that means for Alice" + (f" ({which})" if alone or self.files else "")
        lines = (*self.story(), self.deletion(), more)
        return Section(title, [Paragraph(line) for line in lines if line])

    def deletion(self) -> str:
        """Say what ε means for a person who asks to be deleted, and what it does not mean."""
        what, many = self._what, self._many
        figures = f"({above(self.odds.epsilon)}, {above(self.odds.delta)})-indistinguishable"
        if self.adjacency != "add-remove":
            means = f"ε compares {what} with what it would be had she given other {many}, and not with what it would be without her"
        elif self.unit == "user":
            means = f"to readers, {what} with her {many} and without them are {figures}"
        else:
            means = f"to readers, {what} with one of her {many} and without it are {figures}; for k of them, ε is k times as large, and δ grows by more"
        return f"If Alice asks to be deleted: {means}. Where her {many} are kept, they must still be erased."

    def any_noise(self, *, gaussian: bool) -> str:
        """Say why the figures of an ε are as high as they are where any noise may have been used.

        Args:
            gaussian: whether to say what Gaussian noise of this ε at δ would mean.
        """
        high = "These figures are this high because they hold for any noise: other releases may use any."
        if not (gaussian and self.odds.delta):
            return high
        noise = Odds.gaussian(self.odds.epsilon, self.odds.delta)
        return f"{high} If all of them use Gaussian noise and measure everyone, as this one does, a guess is right in at most {percent(noise.right_guess)} % of cases, and the best attack finds at most {percent(noise.best_attack)} %."

    def _known(self) -> str:
        """Say what bounds the content of a unit that is known to be there; empty if it has none."""
        known = self._pair.known
        if not known or (self.unit == "record" and self.interactions and not self.counts):
            return ""
        epsilon, delta = self.odds.two_steps
        if epsilon > _MILLION or delta >= _FLAW:
            return f"If readers know {known} says practically nothing."
        at = f", at δ = 1 in {one_in(delta)}" if delta else ""
        return (
            f"If readers know {known} is weaker: 2ε = {above(epsilon, 3)}, a factor of {odds(epsilon)}{at}."
        )

    def _left_out(self) -> str:
        return "" if self._whole else f"Not protected: {self.unprotected()}."

    @property
    def _whole(self) -> bool:
        """Whether the worlds differ in all that a person gave."""
        return (self.unit, self.adjacency) == ("user", "add-remove")

    @property
    def weak(self) -> bool:
        """Whether the bound promises so little that no sentence rests on it."""
        return self.odds.epsilon > WEAK or self.odds.delta >= _FLAW

    @property
    def _what(self) -> str:
        if self.files is None:
            return "this file"
        return "the one file" if self.files == 1 else f"all {self.files:,} files"

    @property
    def _many(self) -> str:
        return "interactions" if self.interactions else "ratings"

    @property
    def _pair(self) -> Pair:
        return pair(self.unit, self.adjacency, self._many.removesuffix("s"), self._many)


def times(epsilon: float) -> str:
    """Say the factor e^ε, rounded up: ``2.72 times``, ``2,990 times``, ``a billion times``."""
    if epsilon <= _MILLION:
        return f"{odds(epsilon)} times"
    return "a billion times" if epsilon <= _BILLION else "more than a billion times"


def _plain(epsilon: float) -> str:
    """An ε above 1, rounded up to one decimal, without an exponent."""
    if epsilon > _LARGEST:
        return f"more than {_LARGEST:,}"
    return f"{math.ceil(10 * epsilon) / 10:,.1f}".removesuffix(".0")


def no_promise(caveats: Sequence[Fact], *, on_condition: bool) -> str:
    """Say why there is no promise, or on what condition it holds."""
    if not caveats:
        return NOTHING
    first = "The promise holds only on a condition." if on_condition else NOTHING
    return f"{first} {'. '.join(map(caveat, caveats))}."


# 4 · What one answer reveals, where people's own rows were randomized.


def answers_section(local: Local, epsilon: float) -> Section:
    """Say how much one answer reveals, and all answers of one user together, whose ε is ``epsilon``."""
    title, what, chance = "What one answer reveals", local.what, below(local.changed)
    heads = ["", "exact ε", "expected loss" if what == "cell" else "expected loss, at most"]
    one = [f"one {what}", above(local.epsilon), above(local.expected)]
    every = [f"one user, {local.count:,} {what}{'s' * (local.count != 1)}", above(epsilon)]
    every.append(above(local.expected_together))
    if local.claimed is not None:
        heads.append("as D2P counts, (ε, λ)")
        one, every = [*one, above(local.claimed)], [*every, ""]
    changed = f"An answered cell differs from the truth with probability {chance}."
    if what == "slot":
        changed = (
            f"A slot's item is drawn at random with probability {chance}; the draw may return the same item."
        )
    return Section(title, [Table(title, heads, [one, every]), Paragraph(changed)])


# 5 · People who asked for their own ε.

PERSONAL = "What each class asks for"
PERSONAL_EACH = "Each person loses at most the ε that they asked for, at the same δ, and never more than the ε above, from this release; several releases add up. People who asked for 0 left no trace."


def promised_table(promised: Sequence[Promised], *, sure: bool = True) -> Table:
    """Each class's request and promise; if not ``sure``, what it would be promised."""
    heads = "class", "asks for", "is promised" if sure else "would be promised", "weight"
    rows = [
        (of.name, f"ε = {above(of.personal_epsilon)}", f"ε = {above(of.promised)}", f"{of.weight:.4f}")
        for of in promised
    ]
    return Table(PERSONAL, heads, rows)


# 6 · What was measured, with how much noise.

MEASURED = "What was measured"


def measured_table(measured: Sequence[Measured], *, folded: bool = False) -> Table:
    """All measurements; folded, equal epochs in a row split a line."""
    heads = "measurement", "mechanism", "Δ", "noise", "entries", "split", "cost"
    alike = groupby(
        map(_cells, measured), key=lambda row: (row[0].rstrip(digits), *row[1:]) if folded else row
    )
    rows = [row for _, equal in alike for row in (_folded([*equal]) if folded else equal)]
    return Table(MEASURED, heads, rows, left=2)


def _cells(line: Measured) -> tuple[str, ...]:
    entries = f"{line.entries:,}" if line.entries else "each rating"
    if line.mechanism == "exact":
        return line.name, "exact", "0", "none needed", entries, "", ""
    width, kind = SYMBOLS[line.mechanism]
    noise, cost = f"{width} = {below(line.noise, 4)}", f"{kind} = {above(line.cost, 4)}"
    return line.name, line.mechanism, above(line.sensitivity, 4), noise, entries, f"{line.split:.3f}", cost


def _folded(equal: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    name, *others = equal[0]
    return equal if len(equal) == 1 else [(f"{name.rstrip(digits + ' ')} × {len(equal)}, each", *others)]


CHAIN = "The chain"


def mu_together(mu: float, *, earlier: bool) -> str:
    held = ", with the sums of earlier releases that are inside" if earlier else ""
    return f"Together{held}: μ ≤ {above(mu, 3)} (Gaussian differential privacy)."


_DECIDED = "The first sums decided what was measured next."


class Branch(Sentence):
    """Which branch of its plan a fit took, and why."""

    pairs = f"{_DECIDED} They show a signal of {{signal:g}}, and from {{least:g}} on pairs of items are worth their noise: pairs were measured."
    counts = f"{_DECIDED} They show a signal of {{signal:g}}, and only from {{least:g}} on pairs of items are worth their noise: the item counts were measured again, and every list is by popularity."
    few_items = f"{_DECIDED} They show too few items of each person for lists by own items (a signal of {{signal:g}}, of {{least:g}}): the item counts were measured again, and every list is by popularity."
    hidden = f"{_DECIDED} The noise hides too much of which items are popular (the 20th count is {{signal:g}} times its noise, of {{least:g}}): the item counts were measured again, and every list is by popularity."
    both = f"{_DECIDED} The noise blurs which items are popular (the 20th count is {{signal:g}} times its noise, of {{least:g}}): the item counts were measured again, and pairs of items with what was left."
    effects = f"{_DECIDED} They show a signal of {{signal:g}}, and only from {{least:g}} on more than item sums is worth its noise: these were measured again."
    covariance = f"{_DECIDED} They show a signal of {{signal:g}}, and from {{least:g}} on a covariance is worth its noise: it was measured."
    choices = f"{_DECIDED} They show a signal of {{signal:g}}, and from {{least:g}} on pairs of items that the same people rated are worth their noise: these were measured, and the item sums again."
    gradients = f"{_DECIDED} Gradients of item factors are expected to reveal {{signal:g}} of the variance of tastes, and are worth their noise from {{least:g}} on: they were measured, with pairs of items that the same people rated as a start."
    waits = "The sums of all releases of this year so far show a signal of {signal:g}, and only from {least:g} on lists by own items are worth their noise: every list is by popularity, until further releases say more. A vote was charged and not held."
    vote = "A vote of the people, with noise, found lists by popularity no worse than lists by own items: every list is by popularity."


# 7 · What the promise rests on.

ASSUMED = "Assumed"


class Assumes(Sentence):
    """What the promise rests on."""

    author = "each Δ is what {names} declares, which is its author's claim"
    catalogue = "the catalogue of {n_items:,} items and the bound of {max_users:,} users are public knowledge, not taken from the {given}"
    catalogue_scale = "the catalogue of {n_items:,} items, the scale {lo:g} to {hi:g} by {step:g} and the bound of {max_users:,} users are public knowledge, not taken from the {given}"
    catalogue_likes = "the catalogue of {n_items:,} items, the scale {lo:g} to {hi:g} by {step:g}, the likes from {likes:g} on and the bound of {max_users:,} users are public knowledge, not taken from the {given}"
    catalogue_counts = "the catalogue of {n_items:,} items, the largest count of {counts:,} and the bound of {max_users:,} users are public knowledge, not taken from the {given}"
    stars_alone = "who rated what is public; only the number of stars is protected"
    roster = "the list of {n_users:,} people who may take part is public: a list of accounts, not of those with {given}"
    everybody = (
        "everybody who is counted has {given} of at least one item of the catalogue; this is not protected"
    )
    cap = "one person is one user id; at most {max_per_user:,} of their {given} are used"
    converged = "the chain that a posterior sample was taken from had converged, which no one can check"
    floating = (
        "a posterior sample was drawn in floating point, unrounded; its ε does not cover what that tells"
    )
    personal_epsilon = "each person's ε was chosen without looking at {given}, and is itself never published"
    catalogue_says = "{names}: what the catalogue says about its items is public, and not from the ratings"
    prior_public = "the ratings of other people behind release {sha256} ({model}, {n_items:,} of the items) are declared public"
    prior_paid = "release {sha256} ({model}, {n_items:,} of the items) is public, and its ε = {epsilon:g} is paid for by the people in it"
    expected = "about {users:,} users and {events:,} {given} were expected from public knowledge"
    expected_users = "about {users:,} users were expected from public knowledge"
    expected_events = "about {events:,} {given} were expected from public knowledge"
    earlier = "the sums of earlier releases of this ledger ({releases}) are inside, and their ε is part of that of this release: who has left since is still counted in them"
    left_out = "the sums of releases {releases} of this ledger, which measured the same, are left out, for a reason that is in no {given}"
    settings = "the settings were chosen without looking at these {given}, or that look was charged"
    only = "nothing else made from these {given} is published without being charged to the same ledger"
    only_beside = "nothing else made from these {given} is published without being charged to the same ledger, except the release that the groups were made from"
    new = "what a person does with recommendations is new data and is not covered"
    rows = "every row is randomized independently, with randomness that no one else knows"
    near_ratings = "items nearer than {threshold:g} ({distance} distance of everybody's exact ratings) are in each other's groups"
    near_features = (
        "items nearer than {threshold:g} ({distance} distance of public features) are in each other's groups"
    )
    near_release = "items nearer than {threshold:g} ({distance} distance of the released covariance of {model}) are in each other's groups"
    features = "the features of items are public knowledge, not made from ratings"
    groups_of_ratings = "the release that the groups were made from protects single ratings; no ε here bounds what it tells about all of a person's ratings"
    groups_together = "if the release that the groups were made from is of the same people, it and this one cost a person ε = {epsilon:g} at δ = {delta:g} together, for which items their ratings are of"
    once = "each person's report was charged to a ledger of their own, on their device, and reported once"


# 8 · The ledger that was charged.

CHARGED = "The ledger"
LEDGER_RAISED = "The ledger's owner can allow more releases or a larger total; its history says so."


def charge(file: str | None, date: str | None, release_index: int, max_releases: int, seq: int) -> str:
    on = f" on {date}" if date else ""
    return f"Charged to {file or 'a ledger in memory'}{on}: release {release_index + 1:,} of at most {max_releases:,}, entry {seq:,}"


def ledger_spent(spent: str, total: str) -> str:
    return f"spent with this release: ε = {spent} of a total of {total}"


def missing_declarations(names: str) -> str:
    return f"Not declared: {names}. The ledger's owner can, for later releases: hushrec ledger extend"


# 9 · What a person answers before the file is published.

CHECKLIST = "Checklist for a data protection officer"
QUESTIONS = (
    "Does this ε, and the total of the ledger, suit these people and this use?",
    "Is one id one person, and does the unit protect enough of what one person gave?",
    "Is everything that is assumed public, and true whatever the data hold?",
    "Is there no other ledger of these people, and is nothing else published from their data?",
    "Were settings chosen without these data, or was the choice charged?",
    "Did someone read an audit of this model with these settings? It can refute a claim, and never prove one.",
    "Did someone look at how rare items and small groups are served? Noise hides them first.",
    "Is it known who can read the data, the ledger and the logs, and are these people few?",
    "Does someone know what no statement promises (the documentation: What is not promised)?",
    "Will someone answer a person who asks to be deleted? Publication cannot be undone.",
)

# 10 · Synthetic people from a release.


def synthetic_people(of: str, directions: int, mean: float, *, protected: bool) -> list[str]:
    """Say what the rows are, what they are good for and what not.

    Args:
        of: what they are made like: ``ratings``, ``interactions``, or ``popularity`` alone.
        directions: how many tell which items or ratings go together.
        mean: number of items of a person.
        protected: whether the release promises anything.
    """
    guarantee = "The people whose data went into the release are protected by its guarantee, which stands in the statement. Drawing any number of rows, or publishing them with the release, costs nothing more."
    tell = "one direction tells" if directions == 1 else f"{directions:,} directions tell"
    shared = {
        "popularity": "The rows share one thing with the real people: how popular items are. Items are drawn independently of each other.",
        "interactions": f"The rows share this with the real people: how popular items are, and which items go together as far as {tell}.",
        "ratings": f"The rows share this with the real people: how items are rated, and which ratings go together as far as {tell}. Which items a person rates depends on popularity alone, so the rows are not for lists.",
    }
    return [
        "These rows describe no one. They were drawn at random from the model of a release.",
        guarantee if protected else "The release promises nothing, so these rows promise nothing either.",
        "No row is a changed or noisy copy of a person's row. A row may equal that of a person by chance.",
        shared[of],
        f"The mean number of items is {round(mean, 1):g}. Its spread, and all else, is assumed.",
        "Use the rows to train and compare recommenders. Do not use them to study individuals, subgroups, single pairs of items, or how many people there are. Measure a model that was trained on them on real people.",
    ]
