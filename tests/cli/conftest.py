from dataclasses import replace
from pathlib import Path
from shlex import split

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from hushrec.cli.app import app
from hushrec.data.split import holdout
from hushrec.data.synthetic import netflix_like
from hushrec.release.artefact import Release
from support.releases import ranker

BUDGET = "--epsilon 1 --delta 1e-6 --unit user --adjacency add-remove"


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Ratings of a small population in two files, and the public catalogue."""
    folder = tmp_path_factory.mktemp("files")
    ratings = netflix_like(120, 30, 2000, 5)
    for name, part in zip(("train", "test"), holdout(ratings, 0.1, seed=0), strict=True):
        table = pl.from_arrow(part.table())
        table = table.with_columns(pl.concat_str(pl.lit("secret-"), "user_id").alias("user_id"))
        table.write_csv(folder / f"{name}.csv")
    lines = [f"{item},Title of {item}" for item in ratings.domain.items]
    (folder / "catalogue.csv").write_text("\n".join(["id,label", *lines]) + "\n")
    return folder


@pytest.fixture
def here(files, tmp_path, monkeypatch):
    """A working folder with the files and a domain."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for file in files.iterdir():
        (tmp_path / file.name).symlink_to(file)
    hushrec("domain --items catalogue.csv --scale 1 5 1 --max-users 200 -o domain.json")
    return tmp_path


class Result:
    def __init__(self, result):
        self.code, self.out, self.err = result.exit_code, result.stdout, result.stderr


def hushrec(line, code=0):
    """Run a command; check its exit code, and that nobody sees a traceback."""
    result = CliRunner().invoke(app, split(line))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    assert "cannot be printed" not in result.output
    return Result(result)


def refused(line):
    """Run a command that must be refused: nothing on standard output, and the last line of the other."""
    result = hushrec(line, code=2)
    assert result.out == ""
    return result.err.rstrip().splitlines()[-1]


@pytest.fixture(scope="session", name="hushrec")
def _hushrec():
    return hushrec


@pytest.fixture(scope="session", name="refused")
def _refused():
    return refused


@pytest.fixture(scope="session")
def budget():
    return BUDGET


@pytest.fixture
def release(here):
    """A release and its ledger, as fit makes them."""
    hushrec(
        f"fit train.csv --domain domain.json {BUDGET} --ledger ledger.db --new-ledger "
        "-o films.safetensors --model covariance-svd --set rank=3"
    )
    return Path("films.safetensors")


@pytest.fixture
def listing(release):
    """The same release, with made-up vectors of everybody in the training part."""
    users = tuple(pl.read_csv("train.csv")["user_id"].unique().sort().to_list())
    made, rng = Release.open(release), np.random.default_rng(0)
    tensors = {
        **made.tensors,
        "user_effects": rng.normal(size=len(users)).astype(np.float32),
        "user_factors": rng.normal(size=(len(users), 3)).astype(np.float32),
    }
    listing = replace(made, kind="factors and people", tensors=tensors, users=users)
    return listing.save(Path("people.safetensors"))


@pytest.fixture
def factors(release):
    """The same release with made-up item factors; its own may be nothing but noise."""
    made, rng = Release.open(release), np.random.default_rng(0)
    tensors = {**made.tensors, "item_factors": rng.normal(size=(len(made.items), 3)).astype(np.float32)}
    return replace(made, tensors=tensors).save(Path("factors.safetensors"))


@pytest.fixture
def ranking(here):
    """Releases of interactions by name: plain, counted, and likes."""
    items = tuple(pl.read_csv("catalogue.csv")["id"].to_list())
    kinds = {"plain": {}, "counted": {"counts": 9}, "likes": {"scale": (1.0, 5.0, 1.0), "likes": 4.0}}
    for name, kind in kinds.items():
        ranker(items=items, **kind).save(Path(f"{name}.safetensors"))
    return items
