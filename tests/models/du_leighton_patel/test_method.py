"""What any method's plan says, whatever it does to rows."""

import pytest

import hushrec as hr
from hushrec.documents.sentences import Groups
from hushrec.models.du_leighton_patel.method import CELLS
from hushrec.models.du_leighton_patel.randomized_response import RandomizedResponse
from hushrec.privacy.accounting.measurement import Responses
from hushrec.sums.footprint import Footprint

DOMAIN = hr.Domain(range(8), scale=(1, 5, 1), max_users=50)
BUDGET = hr.Budget(epsilon=4.0, delta=0.0, unit="user", adjacency="replace")


class Toy(RandomizedResponse):
    """As randomized response, but for how much room it takes."""

    def footprint(self, plan, domain):
        return Footprint(memory=3e6, each_rating=20)


@pytest.fixture
def event():
    (booked,) = RandomizedResponse().plan(DOMAIN, BUDGET).noisy
    return booked


def test_a_plan_is_of_one_event_and_names_the_method_and_its_needs(event):
    planned = Toy(sample=4).planned(DOMAIN, BUDGET, event)
    assert (planned.model, planned.settings["sample"]) == ("Toy", 4)
    assert (planned.domain_digest, planned.max_users, planned.budget) == (DOMAIN.digest, 50, BUDGET)
    assert planned.measurements == (event,)
    assert isinstance(event, Responses)
    assert event.name == CELLS
    assert "needs about 3 MB of memory" in planned.needs


def test_what_an_event_does_not_cover_stands_in_the_plan(event):
    groups = Groups.exact()
    planned = Toy().planned(DOMAIN, BUDGET, event, uncovered=groups)
    assert planned.uncovered == groups
    assert planned.caveats == (groups,)
    assert Toy().planned(DOMAIN, BUDGET, event).uncovered is None
