"""One name registers a model: names, commands and tables follow from it, or are checked against it."""

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest

import hushrec as hr
from hushrec import models
from hushrec.errors import ConfigError
from hushrec.models.base import Model
from hushrec.models.du_leighton_patel.method import Method

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "hushrec"
spec = importlib.util.spec_from_file_location("docs_tables", ROOT / "docs" / "tables.py")
tables = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tables)


def classes(room):
    """Names of the classes that stand in a file of their own name."""
    for path in (SOURCE / room).rglob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and models.file_name(node.name) == path.stem:
                yield node.name


@pytest.mark.parametrize("name", hr.HOMES)
def test_every_public_name_can_be_had(name):
    found = getattr(hr, name)
    assert getattr(found, "__name__", "").rpartition(".")[2] == name


BASES = {"AlternatingModel", "CovarianceModel", "Method"}
PARTS = {"Biases", "Chain", "Groups", "ReleasedData", "Rows", "Sample", "YearlyPairs"}


def test_every_model_and_method_is_registered():
    assert {*models.MODELS, *models.METHODS} == set(classes("models")) - BASES - PARTS
    assert all(issubclass(models.class_of(name), Model) for name in models.MODELS)
    assert all(issubclass(models.class_of(name), Method) for name in models.METHODS)


def test_the_command_line_offers_what_is_registered():
    assert models.command_name("CovarianceSVD") == "covariance-svd"
    assert models.class_of("covariance-svd") is hr.CovarianceSVD


OUTSIDE = """
import hushrec as hr
LIMIT = 3
class Longest(hr.Popularity):
    \"\"\"A model outside hushrec.\"\"\"
class Other: ...
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The current folder, for modules that are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path


def test_a_model_outside_is_found_in_the_current_folder(here):
    (here / "longest.py").write_text(OUTSIDE)
    (here / "arviz_stats.py").write_text("raise AssertionError('the folder hides an installed module')")
    found = models.class_of("longest:Longest", models.MODELS)
    assert issubclass(found, hr.Popularity)
    assert sys.path[-1] == str(here)  # behind what is installed
    assert Path(importlib.util.find_spec("arviz_stats").origin).parent.name == "arviz_stats"
    assert models.name_of(found) == "longest:Longest"
    assert models.class_of(models.name_of(found)) is found
    assert models.class_of("hushrec.models.lists.popularity:Popularity") is hr.Popularity
    assert models.name_of(hr.Popularity) == "Popularity"


def test_what_is_no_model_outside_is_refused_and_says_why(here):
    (here / "longest.py").write_text(OUTSIDE)
    (here / "broken.py").write_text("import nothing_of_this_name")
    for name, told in (
        ("nowhere.at.all:Longest", "there is no module 'nowhere.at.all'.* in the folder that holds it"),
        ("longest.more:Longest", "there is no module 'longest.more'"),
        ("longest:Shortest", "longest:Shortest does not exist; name a class of longest"),
        ("longest:Other", "longest:Other is not a model"),
        ("longest:LIMIT", "is not a model"),
        ("hushrec:RandomizedResponse", "is not a model"),
        ("longest.py:", "is not a module and a class"),
        ("../longest:Longest", "is not a module and a class"),
        ("nothing", "no model 'nothing'; there are adaptive-factors, .* mypackage.mine:MyModel"),
    ):
        with pytest.raises(ConfigError, match=told):
            models.class_of(name)
    with pytest.raises(ModuleNotFoundError, match="nothing_of_this_name"):  # its author wants to see it
        models.class_of("broken:Longest")
    with pytest.raises(ConfigError, match="no model 'randomized-response'"):
        models.class_of("randomized-response", models.MODELS)


def test_type_checkers_read_the_names_that_are_there():
    assert tables.STUB.read_text("utf-8") == tables.stub() + "\n", "run make tables"


@pytest.mark.parametrize("page", tables.TARGETS, ids=lambda page: page.name)
def test_tables_are_up_to_date(page):
    text = page.read_text("utf-8")
    assert text == tables.written(text), "run make tables"
    assert "<!-- table: " in text


CONTRACTS = ("test_record_replay", "test_scale_free", "test_digests")
PRIVATE = [name for name in models.MODELS if models.class_of(name).supports]
APART = {
    "test_record_replay": {"PosteriorSampleMF"},
    "test_scale_free": {name for name in PRIVATE if models.class_of(name).feedback == "interactions"},
}
"""A draw is made of the ratings themselves: there is no noisy value that a neighbour could be given. And
interactions have no scale."""


def unnamed(text):
    """Private models that a test does not name."""
    return [name for name in PRIVATE if not re.search(rf"\b{name}\b", text)]


@pytest.mark.parametrize("file", CONTRACTS)
def test_contracts_are_checked_for_every_private_model(file):
    found = unnamed((ROOT / "tests" / "contracts" / f"{file}.py").read_text("utf-8"))
    assert set(found) == APART.get(file, set())
