"""The layer contracts hold, and each of them catches a violation that is planted in a copy of the tree."""

import ast
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
    "the client's sibling": (
        "release/client.py",
        "from hushrec.privacy.accounting import fixed_point",
        "layers",
    ),
    "noise drawn by a model": (
        "models/effects.py",
        "from hushrec.privacy.noise import sampler",
        "noise",
    ),
    "noise drawn inside a function": (
        "privacy/ledger/ledger.py",
        "def charge():\n    from hushrec.privacy.noise.sampler import rounded",
        "noise",
    ),
    "its loops passed by": ("data/split.py", "from hushrec.privacy.noise.kernels import add", "draws"),
    "loops of a threshold that draw": (
        "privacy/noise/threshold.py",
        "from hushrec.privacy.noise.kernels import keystream",
        "draws",
    ),
    "release imports kernels": ("release/fold_in.py", "from hushrec.sums.kernels import gram", "client"),
    "release imports numba": ("release/fold_in.py", "import numba", "client"),
    "release imports pydantic": ("release/statement.py", "import pydantic", "client"),
    "a page that reads ratings": ("pages/__init__.py", "from hushrec.data.people import People", "pages"),
    "a paper that knows another": (
        "models/mcsherry_mironov/covariance_knn.py",
        "from hushrec.models.lists.popularity import Popularity",
        "papers",
    ),
    "a shared part that knows a paper": (
        "models/biases.py",
        "from hushrec.models.mcsherry_mironov import global_effects",
        "shared",
    ),
    "sums that know a model": ("sums/item_sums.py", "from hushrec.models import biases", "layers"),
    "a paper's estimate from private sums": (
        "models/mcsherry_mironov/estimate.py",
        "def refit():\n    from hushrec.sums import item_sums",
        "estimation",
    ),
    "an estimate from ratings": (
        "estimation/low_rank.py",
        "from hushrec.data.people import People",
        "estimation",
    ),
    "an estimate from private sums": (
        "estimation/shrinkage.py",
        "def refit():\n    from hushrec.sums import residuals",
        "estimation",
    ),
    "an estimate that measures": (
        "estimation/factor_steps.py",
        "from hushrec.privacy.grant import WithoutNoise",
        "estimation",
    ),
    "accounting that draws": (
        "privacy/accounting/accountant.py",
        "from hushrec.privacy.noise import entropy",
        "accounting",
    ),
}

KERNELS = {
    "collections.abc",
    "concurrent.futures",
    "contextlib",
    "itertools",
    "llvmlite",
    "math",
    "numba",
    "numba.core",
    "numba.core.caching",
    "numpy",
    "numpy.lib.stride_tricks",
    "numpy.typing",
    "typing",
    "hushrec.arrays",
    "hushrec.progress",
}
"""What compiled loops may import beside each other: arrays in, arrays out, no files and no entropy."""

BANNED = {
    "import numpy as np\nrng = np.random.default_rng(0)\n": "TID251",
    "from numpy.random import default_rng\n": "TID251",
    "import random\n": "TID251",
    "import pickle\n": "TID251",
    "from pickle import loads\n": "TID251",
    "import numba\nloop = numba.njit(cache=True)\n": "TID251",
}
DRAWING = {
    "audit/worlds.py",
    "data/split.py",
    "data/synthetic.py",
    "estimation/factor_steps.py",
    "release/synthesis/moments.py",
    "release/synthesis/synthetic_people.py",
    "models/liu_wang_smola/chain.py",
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


def foreign(text):
    """What a file of kernels imports and may not."""
    imported = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or ".")
    return {name for name in imported if name not in KERNELS and "kernels" not in name.split(".")}


def test_kernels_are_only_arithmetic():
    source = ROOT / "src" / "hushrec"
    files = [path for path in source.rglob("*.py") if "kernels" in path.with_suffix("").parts]
    assert len(files) > 10
    found = {str(path.relative_to(source)): foreign(path.read_text("utf-8")) for path in files}
    assert not {name: names for name, names in found.items() if names}


@pytest.mark.parametrize(
    "text", ["import random", "def f():\n    from os import urandom", "import hushrec.data"]
)
def test_kernels_that_draw_or_read_are_caught(text):
    assert foreign(text)


def test_the_names_of_models_import_no_model():
    """Else a model that asks for a name would import itself."""
    text = (ROOT / "src" / "hushrec" / "models" / "__init__.py").read_text("utf-8")
    imported = {node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
    assert not {name for name in imported if name.startswith("hushrec.models")}


@pytest.mark.parametrize("text", BANNED)
def test_a_banned_import_is_caught(text):
    assert BANNED[text] in codes(f'"""A module."""\n\n{text}', "models/planted.py")


def test_the_bans_are_lifted_in_the_known_files_alone():
    lifted = {
        str(path.relative_to(ROOT / "src" / "hushrec"))
        for path in (ROOT / "src").rglob("*.py")
        if "TID25" in path.read_text("utf-8") or "ruff: noqa" in path.read_text("utf-8")
    }
    assert lifted == {*DRAWING, "kernels/compiled.py"}
