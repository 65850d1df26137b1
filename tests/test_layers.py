"""The layer contracts hold, and each of them catches a violation that is planted in a copy of the tree."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]

PLANTS = {
    "a sibling": ("privacy/accounting/budget.py", "from hushrec.data import domain", "layers"),
    "the client's sibling": (
        "release/client.py",
        "from hushrec.privacy.accounting import fixed_point",
        "layers",
    ),
    "upward": ("statistics/integer_grid.py", "from hushrec.models import base", "layers"),
    "upward, for types alone": (
        "kernels/sums/gram.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from hushrec.data.ratings import Ratings",
        "layers",
    ),
    "the command line from below": ("models/base.py", "import hushrec.cli", "layers"),
    "the tests' tools from below": ("privacy/ledger/ledger.py", "from hushrec import testing", "layers"),
    "errors that know of arrays' users": ("errors.py", "from hushrec.kernels.sums import gram", "layers"),
    "a new top-level package": ("utils/__init__.py", "", "layers"),
    "a new top-level module": ("helpers.py", "", "layers"),
    "everything, through the front door": ("privacy/accounting/plan.py", "import hushrec", "front"),
    "noise drawn by a model": (
        "models/phases/item_effects.py",
        "from hushrec.privacy.noise import sampler",
        "noise",
    ),
    "noise drawn inside a function": (
        "privacy/ledger/ledger.py",
        "def charge():\n    from hushrec.privacy.noise.sampler import rounded_gaussian",
        "noise",
    ),
    "the sampler passed by": ("statistics/item_sums.py", "from hushrec.kernels.noise import chacha", "draws"),
    "its loops passed by": ("data/split.py", "from hushrec.kernels.noise.quantiles import add", "draws"),
    "release imports kernels": ("release/fold_in.py", "from hushrec.kernels.sums import gram", "client"),
    "release imports numba": ("release/fold_in.py", "import numba", "client"),
    "release imports pydantic": ("release/statement.py", "import pydantic", "client"),
    "a page that reads ratings": ("pages/__init__.py", "from hushrec.data.ratings import Ratings", "pages"),
    "kernels that draw": ("kernels/sums/segments.py", "import random", "kernels"),
    "kernels that ask the system": ("kernels/sums/segments.py", "import secrets", "kernels"),
    "kernels with tables": ("kernels/sums/gram.py", "import polars", "kernels"),
    "kernels with scipy": ("kernels/sums/gram.py", "from scipy import sparse", "kernels"),
    "a model that knows another": (
        "models/covariance_knn.py",
        "from hushrec.models.covariance_svd import CovarianceSVD",
        "models",
    ),
    "a phase that knows a model": (
        "models/phases/biases.py",
        "from hushrec.models import global_effects",
        "models",
    ),
    "the laboratory from the product": (
        "models/private_als.py",
        "from lab.published.friedman_berkovsky_kaafar import FriedmanALS",
        "lab",
    ),
    "the laboratory inside a command": (
        "cli/demo.py",
        "def draw():\n    from lab.experiments import plots",
        "lab",
    ),
    "the laboratory, upward": (
        "lab/experiments/plots.py",
        "from lab.reproductions import render",
        "laboratory",
    ),
    "a published form that charges": (
        "lab/published/paper.py",
        "def fit():\n    from hushrec.curator.fit import fit",
        "published",
    ),
    "a published form that knows a model": (
        "lab/published/friedman_berkovsky_kaafar.py",
        "from hushrec.models.private_als import PrivateALS",
        "published",
    ),
    "a published form that knows another model than its own": (
        "lab/published/liu_wang_smola.py",
        "from hushrec.models.posterior_mf import PosteriorMF",
        "published",
    ),
    "a published form that knows another method": (
        "lab/published/liu_wang_smola.py",
        "from hushrec.local.distance_based import DistanceBased",
        "published",
    ),
    "an estimate from ratings": (
        "estimation/covariance/low_rank.py",
        "from hushrec.data.ratings import Ratings",
        "estimation",
    ),
    "an estimate from private sums": (
        "estimation/shrinkage.py",
        "def refit():\n    from hushrec.statistics import person_sums",
        "estimation",
    ),
    "an estimate that measures": (
        "estimation/factor_steps.py",
        "from hushrec.privacy.run import ExactRun",
        "estimation",
    ),
    "a reader that knows the domain": (
        "data/readers/delimited.py",
        "from hushrec.data.domain import Domain",
        "readers",
    ),
    "accounting that draws": (
        "privacy/accounting/accountant.py",
        "from hushrec.privacy.noise import entropy",
        "accounting",
    ),
    "accounting that opens the ledger": (
        "privacy/accounting/plan.py",
        "def spent():\n    from hushrec.privacy.ledger.stores import sqlite",
        "accounting",
    ),
    "a cycle": (
        "privacy/accounting/fixed_point.py",
        "from hushrec.privacy.accounting import budget",
        "cycles",
    ),
}

BANNED = {
    "import numpy as np\nrng = np.random.default_rng(0)\n": "TID251",
    "from numpy.random import default_rng\n": "TID251",
    "import random\n": "TID251",
    "import pickle\n": "TID251",
    "from pickle import loads\n": "TID251",
    "import numba\nloop = numba.njit(cache=True)\n": "TID251",
    "import matplotlib.pyplot\n": "TID253",
    "from matplotlib.figure import Figure\n": "TID253",
    "import pyspark\n": "TID253",
}
DRAWING = {
    "audit/worlds.py",
    "data/split.py",
    "data/synthetic.py",
    "solvers/initial.py",
    "release/synthesis/choices.py",
    "release/synthesis/rated_people.py",
    "release/synthesis/simulated_moments.py",
    "release/synthesis/synthetic_people.py",
    "solvers/mcmc/chain.py",
}
"""The files of the package that may use NumPy's generators: on no certified release's noise."""


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pristine")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "hushrec", folder / "hushrec", ignore=ignored)
    shutil.copytree(
        ROOT / "lab", folder / "lab", ignore=shutil.ignore_patterns("__pycache__", "tests", "results")
    )
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.fixture(scope="module")
def before(pristine):
    return broken(pristine)


def broken(folder):
    """Ids of the contracts that the tree in a folder breaks, and what the linter says."""
    command = [BIN / "lint-imports", "--no-logo", "--no-cache"]
    done = subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(folder), "COLUMNS": "200"}, capture_output=True, text=True
    )
    found = {contract["id"] for contract in CONTRACTS if f"{contract['name']} BROKEN" in done.stdout}
    assert (done.returncode == 0) == (not found), done.stdout + done.stderr
    return found, done.stdout


def test_the_tree_keeps_its_contracts(before):
    found, report = before
    assert not found, report


def drawn(text):
    """The layers of the diagram in a page, each as a set of packages."""
    (diagram,) = re.findall(r"\*\*Layers\.\*\*.*?```text\n(.*?)```", text, re.DOTALL)
    return [{*re.findall(r"\w+", line)} for line in diagram.splitlines()]


def test_the_diagram_shows_all_layers_and_what_is_in_them():
    (layers,) = (contract["layers"] for contract in CONTRACTS if contract["id"] == "layers")
    page = (ROOT / "docs" / "conventions.md").read_text("utf-8")
    kept = [{*re.findall(r"\w+", layer)} for layer in layers]
    assert drawn(page) == kept
    assert drawn(page.replace(" · item_prior", "")) != kept


@pytest.mark.parametrize("plant", PLANTS)
@pytest.mark.full
def test_a_planted_violation_is_caught(plant, pristine, before, tmp_path):
    where, text, contract = PLANTS[plant]
    if contract in before[0]:
        pytest.skip("broken without the plant: test_the_tree_keeps_its_contracts says how")
    folder = shutil.copytree(pristine, tmp_path / "copy")
    file = folder / where if where.startswith("lab/") else folder / "hushrec" / where
    file.parent.mkdir(exist_ok=True)
    with file.open("a", encoding="utf-8") as source:
        source.write(f"\n{text}\n")
    found, report = broken(folder)
    assert contract in found, report


def test_every_contract_has_a_plant():
    assert {contract for _, _, contract in PLANTS.values()} == {contract["id"] for contract in CONTRACTS}


def codes(text, file):
    """Codes of what ruff has against a text, were it that file of the package."""
    command = [
        BIN / "ruff",
        "check",
        "--output-format=concise",
        "--stdin-filename",
        f"src/hushrec/{file}",
        "-",
    ]
    done = subprocess.run(command, cwd=ROOT, input=text, capture_output=True, text=True)
    return {line.split()[1] for line in done.stdout.splitlines() if line.startswith("src/")}


@pytest.mark.parametrize("text", BANNED)
def test_a_banned_import_is_caught(text):
    assert BANNED[text] in codes(f'"""A module."""\n\n{text}', "models/planted.py")


@pytest.mark.parametrize(("branches", "found"), [(14, set()), (15, {"C901"})])
@pytest.mark.parametrize("file", ["models/planted.py", "cli/planted.py"])
def test_a_function_does_not_take_more_than_15_ways(file, branches, found):
    lines = [f"    if number == {n}:\n        return {n + 7}" for n in range(branches)]
    text = '"""A module."""\n\n\ndef way(number):\n    """Count."""\n' + "\n".join(lines) + "\n"
    assert codes(text, file) == found


def test_heavy_imports_are_fine_where_they_are_needed():
    late = (
        '"""A module."""\n\n\ndef plot():\n    """Draw."""\n    import matplotlib\n\n    return matplotlib\n'
    )
    assert not codes(late, "pages/plots.py")


def test_the_bans_are_lifted_in_the_known_files_alone():
    lifted = {
        str(path.relative_to(ROOT / "src" / "hushrec"))
        for path in (ROOT / "src").rglob("*.py")
        if "TID25" in path.read_text("utf-8") or "ruff: noqa" in path.read_text("utf-8")
    }
    assert lifted == {*DRAWING, "kernels/compiled.py"}
