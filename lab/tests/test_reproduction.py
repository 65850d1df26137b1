import pytest

import hushrec as hr
from hushrec.errors import ConfigError
from lab import reproduction
from lab.experiments import datasets
from lab.published import FriedmanEffects


def test_half_stars_of_movielens_10m_change_a_rating_by_four_and_a_half(tmp_path):
    """The paper says that all its sets are on a scale of 1 to 5, where a rating changes by 4."""
    ten, one = (reproduction.grids(name)(tmp_path)[name] for name in ("ml-10m", "ml-1m"))
    changes = []
    for grid in (ten, one):
        domain = grid.data.domain_of()
        budget = hr.Budget(epsilon=1.0, delta=0.0, unit="record", adjacency="replace")
        changes.append(FriedmanEffects().printed(domain, budget)["item sums"].sensitivity)
    assert changes == [4.5, 4.0]
    assert len(ten.data.domain_of().users) == 71_567
    assert {run.settings["rank"] for run in ten.run if "rank" in run.settings} == {7}


@pytest.mark.parametrize("name", reproduction.MODULES)
def test_what_is_listed_is_there(name):
    made = reproduction.named(name)
    assert set(made.sets) <= set(datasets.SETS)
    assert made.works(None)


def test_an_unknown_name_is_refused_with_those_that_are_known():
    with pytest.raises(ConfigError, match="no reproduction 'fig-3'; there are mcsherry-mironov, friedman"):
        reproduction.named("fig-3")


def test_a_page_keeps_its_text_and_gets_its_parts(tmp_path):
    page = next(reproduction.GRIDS.parent.glob("*/liu.md")).read_text("utf-8")
    reproduction.page("liu", {"personal": "| a |\n", "cache": ""}, tmp_path)
    made = (tmp_path / "liu.md").read_text("utf-8")
    assert "<!-- table: personal -->\n| a |\n<!-- end of table -->" in made
    assert made.startswith(page[:2000])
    with pytest.raises(KeyError, match="table: absent"):
        reproduction.page("liu", {"absent": ""}, tmp_path)
