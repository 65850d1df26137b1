"""Audits of a model's fits on made-up ratings: by search, by replay and by a canary."""

import itertools
from collections.abc import Callable, Sequence

from hushrec.audit import draws
from hushrec.audit.canary import MISTAKEN, RUNS, Heard, listen
from hushrec.audit.findings import LARGEST, Audit, Finding
from hushrec.audit.recorder import UNCHANGED, Factors, Leak
from hushrec.audit.replay import compare, record
from hushrec.audit.search import RANDOM, ROUNDS, Found, leads, most, search, widen
from hushrec.audit.worlds import Pair, World, choices
from hushrec.curator.fit import plan
from hushrec.data.domain import Domain
from hushrec.models.base import Model
from hushrec.models.liu_wang_smola.posterior_sample_mf import PosteriorSampleMF
from hushrec.privacy.accounting.budget import Budget

REPLAYED = 4
"""Random pairs that are replayed, in addition to the extreme ones; chosen by hand."""


def audit(
    model: Model,
    budget: Budget,
    *,
    domain: Domain | None = None,
    runs: int = RUNS,
    seed: int = 0,
    progress: Callable[[int, int], object] = lambda step, total: None,
) -> Audit:
    """Attack a model's fits on made-up ratings, and compare the findings with the claims.

    Three parts: a search for neighbours whose sums lie further apart than booked, a replay of neighbours on
    the same noise, and a canary in n releases. Each looks into every branch of the plan. Of a posterior
    sample there is the canary alone, in one whole fit. An audit can refute a claim, never prove it.

    Args:
        model: the model with its settings.
        domain: gives scale, cap and first items of the made-up ratings; by default made up too.
        runs: number of releases of either world for the canary.
        seed: of the made-up ratings and of the noise.
        progress: called with the number of steps done and their total.

    Privacy: public; no private rating is read.
    """
    world, wide = World.of(domain, model.feedback), World.wide(domain, model.feedback)
    broad = World.broad(domain, model.feedback)
    kind = budget.unit, budget.adjacency
    planned, extreme = plan(world.domain, model, budget), len(world.pairs(*kind))
    number, led = itertools.count(1), [(world, "", UNCHANGED)]

    def total() -> int:
        """Count the pairs: of each branch the extreme ones twice or more, the random ones and the climb."""
        widened = sum(where is world for where, *_ in led)
        return len(led) * (2 * extreme + RANDOM + ROUNDS + REPLAYED) + widened * extreme + 1

    def step() -> None:
        progress(next(number), total())

    first = record(world.ratings(world.everybody), model, budget)  # loads what only a first fit loads
    results, findings = list[Found](), [_sample_finding(name) for name in first.samples]
    if first.measured:
        try:
            led = leads(model, budget, world, wide, broad)
            for where, branch, factors in led:
                lead = branch, factors
                result = search(
                    model, budget, where, random=RANDOM, rounds=ROUNDS, seed=seed, lead=lead, progress=step
                )
                results.append(result)
                # Of a branch that only the broad world has, the broad world is wide already.
                if where is world:
                    widen(results[-1], model, budget, wide, step, factors)
            findings.append(_search_finding(results))
        except Leak as leak:
            findings.append(_refutation("search", leak))
    # No noise hides a sample: neighbours differ in it, so replaying them would say nothing.
    if not first.samples:
        findings.append(_replay_finding(model, budget, led, seed, step))
    heard = [
        listen(plan(where.domain, model, budget), result.gaps, runs=runs, seed=seed)
        for (where, _, _), result in zip(led, results, strict=False)
        # Where no sum differs there is nothing to hear.
        if any(gap.change.size for gap in result.gaps)
    ]
    if heard:
        findings.append(_canary_finding(heard))
    if isinstance(model, PosteriorSampleMF):
        tries = max(40, min(runs, draws.CANARIES))
        proven = draws.listen_to_draws(model, budget, canaries=tries, seed=seed)
        findings.append(Finding("canary", tries, min(proven, LARGEST), mistaken=2 * MISTAKEN))
    progress(total(), total())
    claim = {"model": type(model).__name__, "settings": model.settings(), **budget.model_dump()}
    return Audit(f"{planned.model}, {budget}", planned.epsilon, tuple(findings), claim)


def replayed_pairs(world: World, budget: Budget, seed: int = 0) -> list[Pair]:
    """List the neighbours to replay: all extreme pairs, and a few random ones.

    Privacy: public, made up.
    """
    kind, rng = (budget.unit, budget.adjacency), choices(seed)
    return [*world.pairs(*kind).values(), *(world.at_random(*kind, rng) for _ in range(REPLAYED))]


def _search_finding(results: Sequence[Found]) -> Finding:
    ratios = most(results)
    largest, least = max(ratios.values()), min(ratios.values())
    pairs = sum(result.pairs for result in results)
    return Finding("search", pairs, min(largest, LARGEST), noticed=max(100 * (1 - least), 0.1))


def _replay_finding(
    model: Model,
    budget: Budget,
    led: Sequence[tuple[World, str, Factors]],
    seed: int,
    step: Callable[[], None],
) -> Finding:
    tries = 0
    try:
        for world, _, factors in led:
            for one, other in replayed_pairs(world, budget, seed):
                compare(model, budget, world.ratings(one), world.ratings(other), factors)
                tries += 1
                step()
    except Leak as leak:
        return _refutation("replay", leak)
    return Finding("replay", tries)


def _canary_finding(heard: Sequence[Heard]) -> Finding:
    """Report the canary of the branch that proved most, and the least power of any."""
    epsilon, shortfalls = max(one.epsilon for one in heard), [one.noticed for one in heard]
    noticed = None if None in shortfalls else 100 * max(filter(None, shortfalls))
    runs, mistaken = sum(one.runs for one in heard), 2 * MISTAKEN * len(heard)
    return Finding("canary", runs, min(epsilon, LARGEST), mistaken=mistaken, noticed=noticed)


def _refutation(kind: str, leak: Leak) -> Finding:
    return Finding(kind, differs=str(leak))


def _sample_finding(sample: str) -> Finding:
    """Report a posterior sample: no noise hides it, so no search and no replay judges it."""
    return Finding("sample", differs=sample)
