import subprocess
import sys
import time

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import hushrec as package
from hushrec.cli import app as module
from hushrec.cli.app import COMMANDS, app

HEAVY = ("numpy", "scipy", "numba", "pyarrow", "duckdb", "pydantic", "matplotlib", "rich", "safetensors")


def test_help_lists_the_commands_in_order(hushrec):
    shown = hushrec("--help").out
    listed = [line.split()[0] for line in shown[shown.index("Commands:") :].splitlines()[1:] if line.strip()]
    assert listed == [*COMMANDS]
    assert "..." not in shown[shown.index("Commands:") :]  # every summary fits


def test_no_arguments_show_the_help(hushrec):
    assert "hushrec demo" in hushrec("", code=2).err


def test_version(hushrec):
    assert hushrec("--version").out == f"hushrec {package.__version__}\n"


def loaded_after(code):
    script = f"import sys\n{code}\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


def test_help_imports_nothing_heavy():
    run = (
        "sys.argv = ['hushrec', '--help']\nfrom hushrec.cli import main\ntry: main()\nexcept SystemExit: pass"
    )
    assert loaded_after(run) == []
    assert loaded_after(f"import numpy\n{run}") == ["numpy"]  # it would be noticed


def test_a_person_who_asks_for_recommendations_needs_little(release):
    run = "sys.argv = 'hushrec recommend films.safetensors'.split()\nfrom hushrec.cli import main\n"
    found = loaded_after(run + "try: main()\nexcept SystemExit: pass")
    assert not {"pyarrow", "duckdb", "numba", "scipy", "matplotlib"} & set(found)


def test_help_is_there_at_once():
    """0.1 s on an idle machine; ten times that would be an import that does not belong there."""

    def seconds():
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", "from hushrec.cli import main; main()", "--help"], capture_output=True
        )
        return time.perf_counter() - start

    assert min(seconds() for _ in range(3)) < 1.0


def test_an_error_raised_on_purpose_is_one_line(here, refused):
    reason = "hushrec: missing.safetensors cannot be read: No such file or directory"
    assert refused("show missing.safetensors") == f"{reason}; name the release file itself"


def test_an_unexpected_error_keeps_its_traceback(monkeypatch):
    def broken(path, **_):
        raise RuntimeError("a bug")

    monkeypatch.setattr("hushrec.release.artefact.Release.open", broken)
    result = CliRunner().invoke(app, ["show", "x"])
    assert isinstance(result.exception, RuntimeError)
    assert result.exit_code == 1


def test_local_variables_are_not_shown_in_tracebacks():
    assert not app.pretty_exceptions_enable


def test_wrong_usage(hushrec, refused):
    assert "No such command" in refused("nosuch")
    assert "Missing option" in hushrec("plan --epsilon 1", 2).err
    assert module.REFUSED == 2


def test_a_refusal_for_want_of_delta_says_which_is_usual(here, refused):
    kind = "--epsilon 1 --unit user --adjacency add-remove"
    for line in (
        f"plan --domain domain.json {kind}",
        f"fit train.csv --domain domain.json {kind} --ledger ledger.db -o x.safetensors",
    ):
        said = refused(line)
        assert "give --delta as well. δ = 1e-06 is usual for up to 200 users: below 1/(10 · users)" in said
    assert "usual for up to 99,999 users" in refused(f"ledger create ledger.db {kind}")
    assert "(noise=laplace, posterior-sample-mf, randomize) use δ = 0" in said


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_first_what_it_does(hushrec, command):
    """As the list of commands does, which imports none; an option that nothing explains is an error."""
    found = get_command(app).get_command(None, command)
    for below in getattr(found, "commands", {}).values():
        assert all(one.help for one in below.params)
    assert all(one.help for one in found.params)
    assert " ".join(hushrec(f"{command} --help").out.split()).count(COMMANDS[command]) == 1


def test_the_first_screen_tells_the_road(hushrec):
    told = " ".join(hushrec("--help").out.partition("Options:")[0].split())
    places = [told.index(verb) for verb in ("domain ", "check ", "plan ", "fit ", "recommend ")]
    assert places == sorted(places)


def test_the_package_is_a_program():
    done = subprocess.run([sys.executable, "-m", "hushrec", "--version"], capture_output=True, text=True)
    assert done.stdout == f"hushrec {package.__version__}\n"
