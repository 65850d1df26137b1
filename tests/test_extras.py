"""A bare install is the client; whatever else is asked of it names the extra that brings it."""

import re
import tomllib
from pathlib import Path

import pytest

import hushrec as hr
from hushrec.errors import CURATOR, ExtraMissing, require_curator
from support.bare import bare
from support.releases import KINDS_OF_FACTORS, release

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
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
CLIENT = """
import hushrec as hr

client = hr.Client(sys.argv[1])
first, second, third, *_ = client.release.items
own = {first: 5, second: 2}
print(client.predict(own, items=[third]), client.recommend(own, n=2))
print(client.similar(first, 2), client.recommend(own, n=2, exclude=[third], diversity=0.5))
if client.release.kind != "people's rows":
    print(client.reasons(own, third))
for user in client.release.users:
    print("listed:", client.predict(user=user), client.recommend(user=user, n=2))
print(client.release.statement)
"""
COMMAND = """
from hushrec.cli import main

sys.argv = ["hushrec", "fit", "ratings.csv"]
main()
"""
DOCUMENTS = """
from hushrec.documents import html, terminal
from hushrec.documents.document import to_json
from hushrec.documents.schema import statement_schema
from hushrec.release.statement import placeholder_statement

document = placeholder_statement().document()
assert "<style>" in html.page(document) and "<style>" in html.notebook(document)
assert terminal.text(document.blocks)
assert '"kind": "statement"' in to_json(document)
print(statement_schema())
"""
MESSAGE = "hushrec: the command line needs what makes releases: pip install 'hushrec[curator]'\n"


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


KINDS = {kind: lambda kind=kind: release(kind) for kind in KINDS_OF_FACTORS} | {
    "item neighbours": lambda: hr.baseline(hr.synthetic.netflix_like(30, 20, 300, 0), hr.ItemKNN()),
    "people's rows": lambda: hr.baseline(hr.synthetic.netflix_like(30, 20, 300, 0), hr.UserKNN()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_predicts_with_numpy_and_safetensors_alone(kind, tmp_path):
    made = KINDS[kind]()
    done = bare(CLIENT, str(made.save(tmp_path / "films.safetensors")))
    assert done.returncode == 0, done.stderr
    assert "Recommendation(item_id=" in done.stdout
    assert str(made.statement) in done.stdout
    assert done.stdout.count("listed:") == len(made.users)


def test_importing_hushrec_loads_nothing_heavy():
    loaded = set(
        bare("import hushrec; print(*{name.partition('.')[0] for name in sys.modules})").stdout.split()
    )
    assert "hushrec" in loaded
    assert "numpy" not in loaded


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
