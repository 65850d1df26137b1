"""A bare install is the client; whatever else is asked of it names the extra that brings it."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from hushrec.errors import CURATOR, ExtraMissing, require_curator

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
BARE = """
import sys

class Bare:
    def find_spec(self, name, path=None, target=None):
        package = name.partition(".")[0]
        if package not in {"hushrec", "numpy", "safetensors"} | sys.stdlib_module_names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Bare())
"""
NAMES = """
import hushrec as hr
from hushrec.errors import ExtraMissing

for name in hr.__all__:
    try:
        getattr(hr, name)
        print(name)
    except ExtraMissing as error:
        assert str(error) == f"hushrec.{name} needs what makes releases: pip install 'hushrec[curator]'"
"""
COMMAND = """
from hushrec.cli import main

sys.argv = ["hushrec", "fit", "ratings.csv"]
main()
"""
DOCUMENTS = """
from hushrec.documents import html, terminal
from hushrec.documents.document import statement_schema, to_json
from hushrec.release.statement import placeholder_statement

document = placeholder_statement().document()
assert "<style>" in html.page(document) and "<style>" in html.notebook(document)
assert terminal.text(document.blocks)
assert '"kind": "statement"' in to_json(document)
print(statement_schema())
"""
MESSAGE = "hushrec: the command line needs what makes releases: pip install 'hushrec[curator]'\n"


def bare(code):
    return subprocess.run([sys.executable, "-c", BARE + code], capture_output=True, text=True)


def distributions(requirements):
    return {re.match(r"[\w-]+", line)[0].replace("-", "_") for line in requirements}


def test_the_extra_is_what_the_project_declares():
    assert distributions(PROJECT["dependencies"]) == {"numpy", "safetensors"}
    assert distributions(PROJECT["optional-dependencies"]["curator"]) == CURATOR


def test_each_public_name_loads_or_names_the_extra():
    done = bare(NAMES)
    assert done.returncode == 0, done.stderr
    assert {"Client", "Release", "errors"} <= set(done.stdout.split())
    assert not {"fit", "Ledger", "Domain"} & set(done.stdout.split())


def test_the_client_writes_documents_in_every_way():
    done = bare(DOCUMENTS)
    assert done.returncode == 0, done.stderr
    assert "urn:hushrec:statement:3" in done.stdout


def test_a_command_names_the_extra_in_one_line():
    done = bare(COMMAND)
    assert (done.returncode, done.stderr) == (1, MESSAGE)


def test_a_part_of_a_package_counts_as_the_package():
    with pytest.raises(ExtraMissing, match="curator"):
        require_curator("hushrec.fit", ModuleNotFoundError("gone", name="scipy.stats"))
