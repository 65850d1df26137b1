"""``hushrec models`` tells what the classes say of themselves."""

import json
from pathlib import Path

import pytest

import hushrec as hr
from hushrec import models
from hushrec.cli.models import facts
from hushrec.errors import DomainError

ROOT = Path(__file__).resolve().parents[2]
MODELS = models.MODELS
EVERY = (*MODELS, *models.METHODS)


def test_every_one_is_listed_once_under_what_it_is(hushrec, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    listed = hushrec("models").out
    assert max(map(len, listed.splitlines())) <= 80
    names = [line.split()[0] for line in listed.splitlines() if line.strip()]
    assert [names.count(models.command_name(name)) for name in EVERY] == [1] * len(EVERY)
    places = {name: names.index(name) for name in ("covariance-svd", "private-ease", "item-knn")}
    assert sorted(places, key=places.get) == ["covariance-svd", "private-ease", "item-knn"]
    line = next(line for line in listed.splitlines() if line.startswith("private-als"))
    assert line.split()[:3] == ["private-als", "both", "user"]


def test_json_has_every_one(hushrec):
    groups = json.loads(hushrec("models --json").out)
    assert sorted(known["class"] for listed in groups.values() for known in listed) == sorted(
        f"hushrec.{name}" for name in EVERY
    )
    clicks = groups["Private models of clicks, purchases or likes"]
    assert [known["name"] for known in clicks] == ["popularity", "private-ease"]
    assert json.loads(hushrec("models private-ease --json").out) == clicks[1]


def test_one_is_shown_with_its_settings(hushrec, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    shown = hushrec("models covariance-svd").out
    for part in (
        "covariance-svd (hushrec.CovarianceSVD)",
        "unit user under add-remove",
        "McSherry & Mironov 2009",
        "docs/models/covariance_svd.md",
        "covariance.contribution_cap",
        "(only with unit user)",
    ):
        assert part in shown
    assert shown == hushrec("models CovarianceSVD").out


def test_an_unknown_name_is_refused(refused):
    assert "there is no model 'nothing'; there are adaptive-factors" in refused("models nothing")


def test_a_model_of_ones_own_is_shown_as_its_own(hushrec, tmp_path, monkeypatch):
    (tmp_path / "ours.py").write_text(
        "from hushrec.models.lists.popularity import Popularity\n\n\nclass Liked(Popularity):\n"
        '    """Counts of ours."""\n\n    extra: int = 3\n    """more."""\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    known = json.loads(hushrec("models ours:Liked --json").out)
    assert known["class"] == "ours.Liked"
    assert known["description"] == "Counts of ours."
    assert {setting["setting"]: setting["meaning"] for setting in known["settings"]}["extra"] == "more."
    assert (known["page"], known["paper"]) == ("", "")


@pytest.mark.parametrize("name", EVERY)
def test_every_setting_is_explained(name):
    """A setting that no docstring explains would have an empty line here."""
    made = models.class_of(name)
    known = facts(name)
    assert [setting["setting"] for setting in known["settings"] if not setting["meaning"]] == []
    assert {setting["setting"].partition(".")[0] for setting in known["settings"]} == set(made.model_fields)
    assert known["description"]
    assert known["paper"]
    assert (ROOT / known["page"].partition("#")[0]).is_file()


@pytest.mark.parametrize("name", [name for name in MODELS if facts(name)["lists_users"] == "yes"])
def test_who_lists_users_needs_a_roster(name):
    kind, domain = models.class_of(name), hr.Domain(range(9), scale=(1, 5, 1), max_users=50)
    unit, adjacency = min(kind.supports)
    budget = hr.Budget(epsilon=1.0, delta=1e-6, unit=unit, adjacency=adjacency)
    with pytest.raises(DomainError):
        hr.plan(domain, kind(), budget)
