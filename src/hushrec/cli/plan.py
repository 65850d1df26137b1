"""``hushrec plan``: what a fit will measure and cost, before any rating is opened."""

from hushrec.cli import console, options


def plan(
    domain: options.DomainFile,
    epsilon: options.Epsilon,
    delta: options.Delta,
    unit: options.Unit,
    adjacency: options.Adjacency,
    model: options.ModelOption = "covariance-svd",
    analysis: options.Analysis = "corrected",
    noise: options.Noise = "gaussian",
    settings: options.Settings = None,
) -> None:
    """Show the noise and the price of a fit. Opens no ratings."""
    from hushrec.data.domain import Domain
    from hushrec.privacy import units
    from hushrec.privacy.accountant import price
    from hushrec.privacy.budget import Budget
    from hushrec.release.statement import Measured

    config = options.model(model, analysis, noise, settings)
    budget = Budget(epsilon=epsilon, delta=delta, unit=unit, adjacency=adjacency)
    planned = config.plan(Domain.open(domain), budget)
    listed = []
    for measurement in planned.measurements:
        event, loss = measurement.event, price(measurement.event)
        cost = units.shown(loss.rho or loss.pure)
        listed.append(
            Measured(
                event.name,
                event.mechanism,
                event.sensitivity,
                event.noise,
                event.size,
                measurement.share,
                cost,
            )
        )
    screen = console.out()
    screen.print(f"{planned.model}, {planned.analysis} analysis, within {budget}")
    screen.print()
    screen.print(console.measurements(tuple(listed)))
    screen.print()
    screen.print(f"Total: true ε = {planned.epsilon:.6g} at δ = {delta:g} per {unit}, {adjacency}")
    if planned.claimed_epsilon is not None:
        screen.print(
            f"The published analysis claims ε = {planned.claimed_epsilon:g}: not a valid guarantee. The "
            "ledger is charged the true cost."
        )
