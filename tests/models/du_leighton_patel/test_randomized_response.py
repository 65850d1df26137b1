"""What randomized response costs: a cell, a person, and a sample."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.documents.sentences import Groups
from hushrec.models.du_leighton_patel.method import CELLS
from hushrec.models.du_leighton_patel.randomized_response import RandomizedResponse
from hushrec.privacy.accounting.measurement import Responses
from hushrec.sums.footprint import Footprint
from hushrec.testing import Seeded


def budget(epsilon=20.0, delta=0.0, **others):
    return hr.Budget(**{"epsilon": epsilon, "delta": delta, "unit": "user", "adjacency": "replace", **others})


def test_the_cap_gives_a_cell_what_rows_cannot_differ_in(ratings):
    few = hr.Domain(ratings.domain.items, scale=(1, 5, 1), max_users=200, max_per_user=3)
    local = hr.RandomizedResponse().local(hr.RandomizedResponse().plan(few, budget()), few)
    assert (local.count, local.epsilon) == (6, pytest.approx(20 / 6))


def test_a_sample_is_charged_all_its_cells_and_not_those_expected_to_differ(ratings):
    plan = hr.RandomizedResponse(sample=4).plan(ratings.domain, budget())
    assert plan.noisy[0].sensitivity == plan.noisy[0].size == 4
    assert plan.epsilon == 20
    data = hr.testing.randomize(ratings, hr.RandomizedResponse(sample=4), budget(), entropy=Seeded(1))
    assert np.diff(data.ratings.indptr).max() <= 4


def test_at_a_delta_a_cell_may_have_more(ratings):
    wide = hr.Domain(range(1000), scale=(1, 5, 1), max_users=1000)
    pure = hr.RandomizedResponse().plan(wide, budget(50.0)).noisy[0]
    loose = hr.RandomizedResponse().plan(wide, budget(50.0, 1e-6))
    assert loose.noisy[0].loss > 4 * pure.loss
    assert loose.epsilon <= 50


# -- what any method's plan says, whatever it does to rows ------------------------------------------------


DOMAIN = hr.Domain(range(8), scale=(1, 5, 1), max_users=50)
SMALL = hr.Budget(epsilon=4.0, delta=0.0, unit="user", adjacency="replace")


class Toy(RandomizedResponse):
    """As randomized response, but for how much room it takes."""

    def footprint(self, plan, domain):
        return Footprint(memory=3e6, each_rating=20)


@pytest.fixture
def event():
    (booked,) = RandomizedResponse().plan(DOMAIN, SMALL).noisy
    return booked


def test_a_plan_is_of_one_event_and_names_the_method_and_its_needs(event):
    planned = Toy(sample=4).planned(DOMAIN, SMALL, event)
    assert (planned.model, planned.settings["sample"]) == ("Toy", 4)
    assert (planned.domain_digest, planned.max_users, planned.budget) == (DOMAIN.digest, 50, SMALL)
    assert planned.measurements == (event,)
    assert isinstance(event, Responses)
    assert event.name == CELLS
    assert "needs about 3 MB of memory" in planned.needs


def test_what_an_event_does_not_cover_stands_in_the_plan(event):
    groups = Groups.exact()
    planned = Toy().planned(DOMAIN, SMALL, event, uncovered=groups)
    assert planned.uncovered == groups
    assert planned.caveats == (groups,)
    assert Toy().planned(DOMAIN, SMALL, event).uncovered is None
