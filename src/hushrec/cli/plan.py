"""``hushrec plan``: what a fit will measure and cost, before any rating is read."""

import math

from hushrec.cli import console, options


def plan(
    domain: options.DomainFile,
    epsilon: options.Epsilon,
    delta: options.Delta,
    unit: options.Unit,
    adjacency: options.Adjacency,
    model: options.ModelOption = "covariance-svd",
    noise: options.Noise = None,
    settings: options.Settings = None,
) -> None:
    """Show the noise and the cost of a fit. Reads no ratings."""
    from hushrec.curator.authors import signed
    from hushrec.curator.statements import measured
    from hushrec.data.domain import Domain
    from hushrec.figures import above
    from hushrec.models.private import PrivateModel
    from hushrec.privacy.accounting.budget import Budget

    config = options.model(model, noise, settings)
    budget = Budget(epsilon=epsilon, delta=delta, unit=unit, adjacency=adjacency)
    declared = Domain.open(domain)
    planned = signed(config.plan(declared, budget), config, declared)
    assert isinstance(config, PrivateModel)  # others have no plan
    screen = console.out()
    screen.print(f"{planned.model}, {planned.analysis} analysis, within {budget}")
    screen.print()
    screen.print(console.measurements(measured(config.queries(declared, budget), planned)))
    screen.print()
    screen.print(f"Total: true ε = {above(planned.epsilon)} at δ = {above(delta)} per {unit}, {adjacency}")
    screen.print(f"A fit {planned.needs}.", soft_wrap=True)
    if planned.only_seeded:
        screen.print(f"For seeded experiments only: {planned.only_seeded}.", soft_wrap=True)
    if planned.condition:
        screen.print(planned.condition, soft_wrap=True)
    if planned.foreign:
        screen.print(f"The author's claim: {planned.claim}.", soft_wrap=True)
    if planned.promises:
        screen.print()
        listed = console.table("class", "asks for", "is promised", left=1)
        for promise in planned.promises:
            listed.add_row(promise.name, f"ε = {above(promise.asked)}", f"ε = {above(promise.promised)}")
        screen.print(listed)
        screen.print(
            "This is promised if the ratings have a column epsilon with each user's ε.", soft_wrap=True
        )
    if planned.claimed_epsilon is not None:
        charged = "The ledger is charged the true cost."
        if math.isinf(planned.epsilon):
            charged = "No finite ε is known for its noise, so no ledger accepts it: seeded experiments only."
        claim = f"The published analysis claims ε = {above(planned.claimed_epsilon)}: not a valid guarantee."
        screen.print(f"{claim} {charged}", soft_wrap=True)
