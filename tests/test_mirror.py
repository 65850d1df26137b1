"""Tests mirror the source one to one, and files stay few to a folder, short, and of one name each."""

from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE, TESTS = ROOT / "src" / "hushrec", ROOT / "tests"
APART = {
    "browser",
    "contracts",
    "crash",
    "elsewhere",
    "examples",
    "fuzz",
    "javascript",
    "mutants",
    "oracles",
    "postgres",
    "spark",
    "statistical",
    "support",
    "wheel",
}
"""Folders of tests of more than one module, and of what tests share."""
CROSSING = {
    "deploy",
    "docs",
    "end_to_end",
    "guides",
    "layers",
    "listed_end_to_end",
    "mirror",
    "pages",
    "readme",
}
"""Test files at the top of the tree that are of more than one module, without ``test_``."""
ALIASES = {Path("arrays")}
"""Modules with nothing in them that could fail."""
COMMANDS = Path("cli")
"""The folder whose files carry their command's name."""
ONE_EACH = {COMMANDS, Path("models")}
"""Folders with a file for each command, or for each model."""
MOST_MODULES, MOST_LINES = 14, 600


def modules(source):
    """Every module of a package, as a path below it without its ending."""
    return {
        path.relative_to(source).with_suffix("")
        for path in source.rglob("*.py")
        if path.name != "__init__.py"
    }


def untested(source, tests):
    """Modules without a test file of their name in the folder of theirs."""
    return {
        module
        for module in modules(source) - ALIASES
        if not (tests / module.parent / f"test_{module.name}.py").is_file()
    }


def homeless(source, tests):
    """Test files in mirrored folders that name no module: ``test_fit_checkpoint`` is of ``fit``."""
    named = modules(source)
    return {
        file
        for path in tests.rglob("test_*.py")
        if (file := path.relative_to(tests)).parts[0] not in APART
        and not (file.parent == Path() and file.stem.removeprefix("test_") in CROSSING)
        and not any(
            file.parent == module.parent and f"{file.stem}_".startswith(f"test_{module.name}_")
            for module in named
        )
    }


def named_twice(source):
    """File names that occur twice, those of commands left out."""
    names = Counter(module.name for module in modules(source) if module.parent != COMMANDS)
    return {name for name, times in names.items() if times > 1}


def crowded(source):
    """Folders of too many modules."""
    counts = Counter(module.parent for module in modules(source))
    return {folder for folder, times in counts.items() if times > MOST_MODULES and folder not in ONE_EACH}


def long(source):
    """Files of too many lines."""
    return {
        path.relative_to(source)
        for path in source.rglob("*.py")
        if len(path.read_text("utf-8").splitlines()) > MOST_LINES
    }


def test_every_module_has_its_test_file():
    found = untested(SOURCE, TESTS)
    assert not found, "\n".join(sorted(map(str, found)))


def test_every_test_file_names_a_module():
    found = homeless(SOURCE, TESTS)
    assert not found, "\n".join(sorted(map(str, found)))


def test_no_file_name_occurs_twice():
    assert not named_twice(SOURCE)


def test_no_folder_is_crowded():
    assert not crowded(SOURCE)


def test_no_file_is_long():
    assert not long(SOURCE)


# -- each of them sees what is planted --------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path):
    """A small tree without fault, and what adds a file to it."""

    def put(path, text=""):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    for path in ("__init__", "arrays", "errors", "models/__init__", "models/base", "cli/base", "cli/fit"):
        put(f"src/{path}.py", "pass\n" * MOST_LINES)
    for path in ("conftest", "test_docs", "test_errors", "models/test_base", "models/test_base_plans"):
        put(f"tests/{path}.py")
    for path in ("cli/test_base", "cli/test_fit", "cli/conftest", "contracts/test_leaks", "support/toys"):
        put(f"tests/{path}.py")
    return tmp_path / "src", tmp_path / "tests", put


def faults(source, tests):
    """What each check finds, those that find nothing left out."""
    found = {
        "untested": untested(source, tests),
        "homeless": homeless(source, tests),
        "named twice": named_twice(source),
        "crowded": crowded(source),
        "long": long(source),
    }
    return {check: [*map(str, what)] for check, what in found.items() if what}


def test_a_tree_without_fault_passes(tree):
    source, tests, put = tree
    assert faults(source, tests) == {}
    for number in range(MOST_MODULES - 1):
        put(f"src/models/m{number}.py")
        put(f"tests/models/test_m{number}.py")
    for number in range(MOST_MODULES):
        put(f"src/cli/c{number}.py")
        put(f"tests/cli/test_c{number}.py")
    assert faults(source, tests) == {}, "commands and models are as many as they are"


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ({"src/models/knn.py"}, {"untested": ["models/knn"]}),
        ({"src/models/knn.py", "tests/models/test_knn_speed.py"}, {"untested": ["models/knn"]}),
        ({"src/models/knn.py", "tests/contracts/test_knn.py"}, {"untested": ["models/knn"]}),
        (
            {"src/models/knn.py", "tests/test_knn.py"},
            {"untested": ["models/knn"], "homeless": ["test_knn.py"]},
        ),
        ({"src/knn/near.py"}, {"untested": ["knn/near"]}),
        ({"tests/models/test_knn.py"}, {"homeless": ["models/test_knn.py"]}),
        ({"tests/models/test_based.py"}, {"homeless": ["models/test_based.py"]}),
        ({"tests/models/test_docs.py"}, {"homeless": ["models/test_docs.py"]}),
        ({"tests/test_base.py"}, {"homeless": ["test_base.py"]}),
        ({"tests/knn/test_near.py"}, {"homeless": ["knn/test_near.py"]}),
        ({"src/models/errors.py", "tests/models/test_errors.py"}, {"named twice": ["errors"]}),
        (
            {
                f"{path}{n}.py"
                for n in range(MOST_MODULES + 1)
                for path in ("src/data/m", "tests/data/test_m")
            },
            {"crowded": ["data"]},
        ),
    ],
    ids=lambda value: ", ".join(sorted(value)[:2]),
)
def test_a_planted_fault_is_found(tree, planted, found):
    source, tests, put = tree
    for path in planted:
        put(path)
    assert faults(source, tests) == found


@pytest.mark.parametrize("path", ["models/base", "models/__init__", "cli/fit"])
def test_a_line_too_many_is_found(tree, path):
    source, tests, put = tree
    put(f"src/{path}.py", "pass\n" * (MOST_LINES + 1))
    assert faults(source, tests) == {"long": [f"{path}.py"]}
