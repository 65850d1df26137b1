"""Options that commands share: what they are taken for, and what is refused with an example."""

import pytest

import hushrec as hr
from hushrec import models
from hushrec.cli import options
from hushrec.errors import ConfigError, DataError, DomainError


def test_settings_go_as_deep_as_their_names_and_are_what_json_says():
    made = options.model(
        "covariance-svd",
        ["rank=7", "noise=laplace", "covariance.clip=0.125", "covariance.cleaning=none"],
    )
    assert isinstance(made, hr.CovarianceSVD)
    assert (made.rank, made.noise) == (7, "laplace")
    assert (made.covariance.clip, made.covariance.cleaning) == (0.125, "none")


def test_every_model_of_the_command_line_can_be_made():
    for name in map(models.command_name, models.MODELS):
        assert type(options.model(name, None)) is models.class_of(name)


def test_models_are_named_as_the_help_says():
    for name in ("nosuch", "randomized-response", "nowhere:Mine"):
        with pytest.raises(ConfigError, match="there is no mod"):
            options.model(name, None)


@pytest.mark.parametrize("setting", ["rank", "=7", "rank.deep=7", "covariance=1", "nosuch=1"])
def test_settings_that_are_none_are_refused(setting):
    with pytest.raises(ConfigError):
        options.model("covariance-svd", ["rank=7", setting])


def test_a_budget_is_named_whole_or_not_at_all():
    assert options.BudgetOptions().with_epsilon(None, "") is None
    terms = options.BudgetOptions(delta=1e-6, unit="user", adjacency="add-remove")
    assert terms.with_epsilon(1.0, "") == hr.Budget(
        epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove"
    )
    with pytest.raises(ConfigError, match="give --delta and --unit as well"):
        options.BudgetOptions(adjacency="replace").with_epsilon(1.0, "")
    pure = options.BudgetOptions(delta=0.0, unit="user", adjacency="replace").with_epsilon(0.5, "")
    assert pure.delta == 0, "a δ of 0 is named"


def test_columns_are_names_or_positions():
    given = ["user_id=0", "item_id=film", "rating=x=y"]
    assert options.named_columns(given) == {"user_id": 0, "item_id": "film", "rating": "x=y"}
    assert options.named_columns([]) is options.named_columns(None) is None
    with pytest.raises(DataError, match="for example --column user_id=customer"):
        options.named_columns(["user_id"])


def test_classes_have_one_epsilon_each():
    assert options.personal_epsilon(["strict=0.5", "generous=8"]) == {"strict": 0.5, "generous": 8.0}
    assert options.personal_epsilon(None) is None
    for given, told in (
        (["strict=0.5", "strict=1"], "more than once"),
        (["strict=low"], "must be a number"),
        (["strict"], "for example --personal-epsilon strict=0.5"),
    ):
        with pytest.raises(DomainError, match=told):
            options.personal_epsilon(given)


def test_a_method_takes_one_source_of_groups(tmp_path):
    domain = hr.Domain(range(3), scale=(1, 5, 1), max_users=10)
    file = tmp_path / "features.csv"
    made = options.MethodOptions(method="randomized-response", settings=["sample=2"]).build(domain)
    assert isinstance(made, hr.RandomizedResponse)
    for given in (
        {"method": "randomized-response", "features": file},
        {"method": "distance-based"},
        {"method": "distance-based", "settings": ["groups=ratings"], "features": file},
        {"method": "distance-based", "settings": ["groups=items"]},
    ):
        with pytest.raises(ConfigError):
            options.MethodOptions(**given).build(domain)


def test_the_first_source_stands_for_all():
    assert options.Given().described(["ratings/a.csv"]) == "a.csv"
    assert options.Given().described(["ratings/a.csv", "b/*.csv", "c"]) == "a.csv and 2 more"


def test_an_address_is_refused_without_its_password():
    with pytest.raises(DataError, match="an address with :// is not read") as caught:
        options.Given().load(["postgresql://ann:hunter2@host/db"], None)
    assert "hunter2" not in str(caught.value)
