"""Models of factors, of a crowd too small for its noise to show any: they measure averages alone."""

import numpy as np
import pytest

import hushrec as hr

HOME = hr.GlobalEffects()
GAUSSIAN, LAPLACE = (
    hr.GlobalEffects(user_biases="released", noise=noise) for noise in ("gaussian", "laplace")
)
"""How a budget is split if half of it goes to factors all the same."""
CASES = {  # model, what it becomes, unit, δ, epochs, of which sides or cells
    "PrivateSGD": (hr.PrivateSGD, GAUSSIAN, "record", 1e-6, 12, ("users", "items")),
    "PrivateALS": (hr.PrivateALS, GAUSSIAN, "record", 1e-6, 5, ("users", "items")),
    "UserLevelSGD": (hr.UserLevelSGD, HOME, "user", 1e-6, 12, ("items",)),
    "PosteriorMF": (hr.PosteriorMF, HOME, "user", 1e-6, 32, ("items",)),
    "InputPerturbationMF": (hr.InputPerturbationMF, LAPLACE, "record", 0.0, 6, ()),
}


def expecting(people, users, ratings):
    """The same people, with these hints of the crowd, on a roster of their own."""
    roster = people.domain.users or tuple(people.users.to_pylist())
    hints = {"expected_users": users, "expected_records": ratings, "users": roster}
    domain = people.domain.model_copy(update=hints)
    return hr.People(domain, people.users, people.indptr, people.items, people.values)


@pytest.mark.parametrize("name", CASES)
def test_a_crowd_too_small_to_show_factors_gets_averages_alone(listed, budget, name):
    """The release of averages with the same noise; a larger crowd or a setting brings the factors back."""
    model, averages, unit, delta, epochs, sides = CASES[name]
    few, many = expecting(listed[0], 300, 9_000), expecting(listed[0], 10**6, 10**8).domain
    allowed = budget(0.5, unit, delta=delta)
    alone, hidden = (
        hr.testing.fit(few, one, allowed, entropy=hr.testing.Seeded(1)) for one in (averages, model())
    )
    noise = [[(m.name, m.noise) for m in release.statement.measurements] for release in (alone, hidden)]
    assert noise[0] == noise[1]
    for tensor, values in alone.tensors.items():
        near = 1e-3 if model.personal_epsilon else 0  # weights of people have a coarser grid
        np.testing.assert_allclose(hidden.tensors[tensor], values, rtol=near, atol=near)
    assert model().footprint(few.domain, allowed) == averages.footprint(few.domain, allowed)
    assert model().footprint(many, allowed) != averages.footprint(many, allowed)
    for one, domain, number in ((model(), many, epochs), (model(epochs=3), few.domain, 3)):
        more = [m.name for m in hr.plan(domain, one, allowed).measurements][
            len(alone.statement.measurements) :
        ]
        assert more == ([f"{side}, epoch {t + 1}" for t in range(number) for side in sides] or ["cells"])
