"""The runner of planted faults on a small tree of its own: it must notice what it is there to notice."""

import importlib.util
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).with_name("run.py")
FILES = {
    "src/hushrec/__init__.py": "",
    "src/hushrec/double.py": "def double(x):\n    return 2 * x  # twice\n",
    "src/hushrec/kernels.py": "import numba\n\n\n@numba.njit(cache=True)\ndef step(x):\n    return x + 1\n",
    "src/hushrec/caller.py": (
        "import numba\n\nfrom hushrec.kernels import step\n\n\n"
        "@numba.njit(cache=True)\ndef steps(x):\n    return step(step(x))\n"
    ),
    "tests/test_double.py": (
        "from hushrec.double import double\n\n\ndef test_double():\n    assert double(3) == 6\n"
    ),
    "tests/test_steps.py": (
        "from hushrec.caller import steps\n\n\ndef test_steps():\n    assert steps(1) == 3\n"
    ),
}

DOUBLE = "test_double.py::test_double"


def fault(file: str, before: str, after: str, test: str, name: str = "") -> str:
    return f'"{name or f"{before} to {after}"}" = ["{file}", "{before}", "{after}", "tests/{test}"]\n'


SURVIVOR = fault("double.py", "# twice", "# two times", DOUBLE, name="a remark")


@pytest.fixture(scope="module")
def runner():
    spec = importlib.util.spec_from_file_location("mutants_run", RUN)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def played(runner, tmp_path, monkeypatch, capfd):
    """Runs the runner on the small tree with these faults: exit status, and all that it printed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # the toy needs none of them
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")

    def play(*faults: str) -> tuple[int, str]:
        (tmp_path / "faults.toml").write_text("[toy]\n" + "".join(faults), encoding="utf-8")
        command = [str(RUN), "--root", str(tmp_path), "--faults", str(tmp_path / "faults.toml")]
        monkeypatch.setattr(sys, "argv", command)
        status = runner.main()
        for name, content in FILES.items():
            assert (tmp_path / name).read_text(encoding="utf-8") == content, "the tree itself stays as it was"
        return status, "".join(capfd.readouterr())

    return play


def test_every_listed_fault_can_be_planted(runner):
    assert len(runner.listed(RUN.with_name("faults.toml"), RUN.parents[2])) > 100


@pytest.mark.full
def test_faults_are_caught_one_by_one_in_compiled_code_too(played):
    """The last one is in a kernel that another file's kernel calls: compiled code does not know of it."""
    status, said = played(
        fault("double.py", "2 * x", "3 * x", DOUBLE),
        fault("double.py", "2 * x", "2 + x", DOUBLE),
        fault("kernels.py", "x + 1", "x + 2", "test_steps.py::test_steps"),
    )
    assert "3 of 3 faults caught" in said
    assert status == 0


@pytest.mark.full
def test_a_fault_that_survives_is_told(played):
    status, said = played(SURVIVOR, fault("double.py", "2 * x", "3 * x", DOUBLE))
    assert "1 of 2 faults caught" in said
    assert "SURVIVED" in said
    assert status == 1


@pytest.mark.parametrize(
    ("planted", "why"),
    [
        (fault("double.py", "4 * x", "3 * x", DOUBLE), "stands 0 times"),
        (fault("double.py", "e", "f", DOUBLE), "times in double.py, and not once"),
        (fault("double.py", "2 * x", "3 * x", "test_gone.py"), "tests/test_gone.py is not there"),
        (
            fault("double.py", "2 * x", "3 * x", "test_double.py::test_gone"),
            "test_double.py::test_gone is not there",
        ),
        (fault("double.py", "2 * x", "2 * x", DOUBLE), "it changes nothing"),
        (SURVIVOR + SURVIVOR, "Cannot overwrite a value"),
    ],
)
def test_what_can_tell_nothing_is_refused(played, planted, why):
    status, said = played(planted)
    assert why in said
    assert status == 2
