from shlex import split

import pytest
from typer.testing import CliRunner

from lab.__main__ import app


class Result:
    def __init__(self, result):
        self.code, self.out, self.err = result.exit_code, result.stdout, result.stderr


def lab(line, code=0):
    """Run a command; check its exit code, and that nobody sees a traceback."""
    result = CliRunner().invoke(app, split(line))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return Result(result)


def refused(line):
    """Run a command that must be refused: nothing on standard output, and the last line of the other."""
    result = lab(line, code=2)
    assert result.out == ""
    return result.err.rstrip().splitlines()[-1]


@pytest.fixture(scope="session", name="lab")
def _lab():
    return lab


@pytest.fixture(scope="session", name="refused")
def _refused():
    return refused
