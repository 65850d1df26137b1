"""``hushrec models`` tells what the classes say of themselves."""

from pathlib import Path

import pytest

from hushrec import models
from hushrec.cli.models import description

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
    shown = hushrec("models ours:Liked").out
    assert shown.startswith("ours:Liked (ours.Liked)\nCounts of ours.\n")
    assert "more." in shown
    assert "paper" not in shown
    assert "docs/models" not in shown


@pytest.mark.parametrize("name", EVERY)
def test_every_setting_is_explained(name):
    """A setting that no docstring explains would have an empty line here."""
    *_, about, table = description(name)
    assert all(row[-1] for row in table.rows)
    assert {row[0].partition(".")[0] for row in table.rows} == set(models.class_of(name).model_fields)
    assert dict(about.rows)["paper"]
    assert (ROOT / dict(about.rows)["page"].partition("#")[0]).is_file()
