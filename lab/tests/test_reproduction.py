import polars as pl
import pytest

import hushrec as hr
from hushrec.errors import ConfigError
from lab import reproduction
from lab.experiments import datasets
from lab.published import FriedmanEffects


def test_a_missing_table_is_named(tmp_path):
    pl.DataFrame({"found": [7]}).write_parquet(tmp_path / "squares.parquet")
    assert reproduction.read(tmp_path, "squares")["squares"]["found"].to_list() == [7]
    with pytest.raises(ConfigError, match=r"cubes\.parquet is not there; leave out --no-runs"):
        reproduction.read(tmp_path, "squares", "cubes")


def test_the_grids_of_the_package_take_their_data_from_the_folder_given(tmp_path):
    names = sorted(path.stem for path in reproduction.GRIDS.glob("*.toml"))
    found = reproduction.grids(*names)(tmp_path)
    assert list(found) == names
    assert {grid.data.folder for grid in found.values()} == {tmp_path}
    assert all(grid.data.name in datasets.NAMED and grid.data.ratings is None for grid in found.values())


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


def test_a_part_is_the_first_split_and_the_epsilons_that_are_asked_for(tmp_path):
    whole = reproduction.grids("ml-1m-posterior")(tmp_path)["ml-1m-posterior"]
    few = reproduction.part(whole, {2, 250})
    every = {(case.split, case.name, case.budget.epsilon if case.budget else None) for case in few.cases()}
    wanted = {("certified", 2.0), ("GE", 2.0)}
    wanted |= {("posterior sample", 250.0), ("item average", None), ("global effects", None)}
    assert every == {(0, *each) for each in wanted}
    keys = {case.key({}) for case in whole.cases()}
    assert {case.key({}) for case in few.cases()} < keys  # they are runs of the whole


@pytest.mark.parametrize("name", reproduction.MODULES)
def test_what_is_listed_is_there(name):
    made = reproduction.named(name)
    assert set(made.sets) <= set(datasets.NAMED)
    whole = made.works(None)
    for table, few in made.quick(None).items():
        assert set(few.columns()) == set(whole[table].columns())
        assert 0 < len(few.cases()) < len(whole[table].cases())


def test_an_unknown_name_is_refused_with_those_that_are_known():
    with pytest.raises(ConfigError, match="no reproduction 'fig-3'; there are mcsherry-mironov, friedman"):
        reproduction.named("fig-3")
