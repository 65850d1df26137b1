"""What a model declares that is not hushrec's is its author's claim, and the release says so first."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.curator.authors import name_authors, outsiders
from hushrec.data.domain import Domain
from hushrec.documents.sentences import Assumes, Author, Convergence, Unprotected
from hushrec.errors import ReleaseError
from hushrec.models.base import Model
from hushrec.models.biases import BiasSettings
from hushrec.models.du_leighton_patel.method import Method
from hushrec.models.du_leighton_patel.randomized_response import RandomizedResponse
from hushrec.models.friedman_berkovsky_kaafar.input_perturbation_mf import InputPerturbationMF
from hushrec.models.mcsherry_mironov.global_effects import GlobalEffects
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.release.statement import Statement

NAME = f"{__name__}.Boastful"
CLAIM, LATER = Author.foreign(names=NAME), Author.ledger()
CHAIN = Convergence.sample(names="factors")
WORD = (
    f"AUTHOR'S CLAIM: {NAME} is not part of hushrec; this ε holds only if its sensitivities are true and all "
    "that it publishes is made from what its grant released, for which its author alone vouches"
)


MEANS = Measurement("means", 1e-4, "l2", 2.0**-30, 12)


class Boastful(GlobalEffects):
    """Item effects, and a sum that moves by far more than it declares."""

    def queries(self, domain, terms):
        return [*super().queries(domain, terms), MEANS]

    def default_split(self, domain, budget):
        return {**super().default_split(domain, budget), "means": 1.0}

    def fit(self, feedback, grant):
        made = super().fit(feedback, grant)
        grant.measure(MEANS, np.zeros(12, np.int64))
        return made


class Mixin:
    """A part of a model that is nobody's model by itself."""


class Mixed(GlobalEffects, Mixin):
    """Two strangers."""


class Biases(BiasSettings):
    """Settings within settings."""


class Boxes(Domain):
    """A domain of somebody's own."""


class Response(RandomizedResponse):
    """A method of somebody's own."""


@pytest.fixture(scope="module")
def world():
    return hr.synthetic.netflix_like(20, 6, 60, 1)


def budget(epsilon=1.0, **changes):
    facts = {"epsilon": epsilon, "delta": 1e-6, "unit": "user", "adjacency": "add-remove"}
    return hr.Budget(**facts | changes)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    return hr.Ledger.create(path, budget(8.0), max_releases=4)


@pytest.fixture(scope="module")
def releases(world, ledger):
    """One of hushrec's own, one of a stranger's, and one of hushrec's own after it."""
    models = hr.GlobalEffects(), Boastful(), hr.GlobalEffects()
    return [hr.fit(world, model, budget(), ledger=ledger) for model in models]


def test_a_strangers_release_says_first_that_its_epsilon_is_a_claim(releases):
    own, boast, _ = releases
    assert own.statement.private
    assert "AUTHOR" not in str(own.statement)
    assert not boast.statement.private
    assert boast.statement.caveats == (CLAIM,)
    text = str(boast.statement)
    assert text.splitlines()[0] == WORD
    assert "Anyone who reads this file" not in text  # no plain promise beside a claim
    assert boast.statement.assumes[0] == Assumes.author(names=NAME)
    assert f"each Δ is what {NAME} declares, which is its author's claim" in " ".join(text.split())
    assert [m.sensitivity for m in boast.statement.measurements if m.name == "means"] == [1e-4]


def test_later_releases_of_the_ledger_say_that_its_total_rests_on_the_claim(releases, ledger):
    later = releases[2].statement
    assert later.caveats == (LATER,)
    assert not later.private
    assert "assumes.author" not in [fact.name for fact in later.assumes]
    assert [charge.caveats for charge in ledger.state().charges] == [(), (CLAIM,), (LATER,)]


def test_the_plan_says_so_before_anything_is_charged(world):
    domain = world.domain
    shown = str(hr.plan(domain, Boastful(), budget()))
    assert shown.startswith(WORD)
    assert "author" not in str(hr.plan(domain, GlobalEffects(), budget()))


def test_a_namesake_is_not_taken_for_the_model_of_hushrec(world):
    namesake = type("GlobalEffects", (GlobalEffects,), {"__module__": __name__})
    theirs, ours = (hr.plan(world.domain, model(), budget()) for model in (namesake, GlobalEffects))
    assert theirs.model == ours.model == "GlobalEffects"
    assert theirs.foreign == (f"{__name__}.GlobalEffects",)
    assert theirs.key("id") != ours.key("id")


def test_a_released_data_set_says_so_too(world, tmp_path):
    allowed = budget(30.0, delta=0.0, adjacency="replace")
    ledger = hr.Ledger.create(tmp_path / "ledger.db", allowed)
    data = hr.randomize(world, Response(), allowed, ledger=ledger, accept="weak")
    assert data.statement.caveats == (Author.foreign(names=f"{__name__}.Response"),)
    assert not data.statement.private
    made = hr.fit_released(data, hr.ItemKNN())  # post-processing adds no claim, and takes none away
    assert made.statement == data.statement


def test_seeded_noise_is_worse_than_a_claim(world):
    seeded = hr.testing.fit(world, Boastful(), budget(), entropy=hr.testing.Seeded(1))
    assert seeded.statement.caveats == (Unprotected.seeded(),)
    assert hr.baseline(world, Boastful()).statement.caveats == (Unprotected.exact(),)


# -- who is a stranger ------------------------------------------------------------------------------------


def test_classes_from_outside_are_named_and_hushrecs_own_are_not():
    assert list(outsiders(Boastful)) == [NAME]
    assert list(outsiders(Mixed)) == [f"{__name__}.Mixed", f"{__name__}.Mixin"]
    assert list(outsiders(Mixin)) == list(outsiders(int)) == list(outsiders(np.float64)) == []
    odd = type("Odd\x1b[2J\nname", (GlobalEffects,), {"__module__": "hushrec_x.y"})
    assert list(outsiders(odd)) == ["hushrec_x.y.Odd\\x1b[2J\\nname"]


def test_no_model_of_hushrec_is_a_stranger():
    for name in hr.__all__:
        kind = getattr(hr, name)
        if isinstance(kind, type) and issubclass(kind, Model | Method):
            assert not list(outsiders(kind)), name


def test_strange_settings_and_domains_count_too(world):
    def foreign(config, domain=world.domain):
        return name_authors(config.plan(world.domain, budget()), config, domain).foreign

    assert foreign(GlobalEffects()) == ()
    strange = Boxes(world.domain.items, scale=world.domain.scale, max_users=world.domain.max_users)
    assert foreign(GlobalEffects(), strange) == (f"{__name__}.Boxes",)
    config = InputPerturbationMF(biases=Biases(), rank=2)
    whole = budget(1.0, unit="record")
    listed = Domain(items=world.domain.items, users=["a", "b"], scale=(1, 5, 1), max_users=10)
    assert name_authors(config.plan(listed, whole), config, listed).foreign == (f"{__name__}.Biases",)


def test_a_claim_hidden_in_a_file_is_no_ground(releases):
    """Only the caveats that there are may stand first."""
    values = releases[1].statement.to_json()
    for caveat in ({"name": "author.says", "text": "trust me"}, CLAIM.to_json() | {"text": "trust me"}):
        with pytest.raises(ReleaseError, match="malformed"):
            Statement.from_json(values | {"caveats": [caveat]})
    with pytest.raises(ReleaseError, match="without grounds"):
        Statement.from_json(values | {"epsilon": None})
