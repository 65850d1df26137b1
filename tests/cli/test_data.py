import json
from urllib.error import URLError

import polars as pl
import pytest

from hushrec.cli import sources
from hushrec.data.domain import Domain
from hushrec.data.download import SETS
from hushrec.data.load import load
from hushrec.data.packed.blocks import Blocks


@pytest.fixture
def offline(monkeypatch):
    def unreachable(url, timeout):
        raise URLError("Network is unreachable")

    monkeypatch.setattr("hushrec.data.download.urlopen", unreachable)


def test_list_names_every_set(hushrec):
    shown = hushrec("data list").out
    assert all(name in shown for name in SETS)


def test_the_list_is_one_object(hushrec):
    facts = json.loads(hushrec("data list --json").out)
    assert [*facts] == [*SETS]
    for name, known in SETS.items():
        assert facts[name] == {
            "scale": list(known.scale),
            "max_users": known.max_users,
            "urls": list(known.urls),
        }


def test_offline_is_an_error_with_its_fix(here, hushrec, offline):
    error = hushrec("data get ml-1m --to sets", code=2).err
    assert "Network is unreachable" in error
    assert "hushrec data get ml-1m --from ml-1m.zip" in error


def test_what_is_not_the_published_archive_is_refused(here, refused):
    assert "not the published archive" in refused("data get ml-1m --from train.csv --to sets")
    assert "data set 'nosuch' is unknown" in refused("data get nosuch --to sets")


def test_a_set_that_is_there_needs_no_network(here, hushrec, offline):
    (here / "sets" / "ml-1m").mkdir(parents=True)
    shown = hushrec("data get ml-1m --to sets").out
    assert "Next: hushrec domain --items sets/ml-1m/movies.dat --scale 1 5 1 --max-users 10000" in shown


def test_pack_makes_a_folder_that_fit_reads(here, hushrec, refused):
    table = pl.read_csv("train.csv").rename({"user_id": "who"})
    table.with_columns(pl.lit("0.5").alias("wish")).write_csv("odd.csv")
    names = "--column user_id=who --column epsilon=wish"
    result = hushrec(f"data pack odd.csv --domain domain.json --to packed {names}")
    assert "Next: hushrec fit packed --domain domain.json" in result.out
    assert "Confidential" in result.err
    domain = Domain.open("domain.json")
    packed = sources.packed_or_loaded(here / "packed", domain, None, None, None, ".")
    assert isinstance(packed, Blocks)
    assert packed.asks
    everybody = sum(block.n_ratings for block in packed.blocks())
    assert everybody == load("train.csv", domain).n_ratings
    assert "exists" in refused("data pack train.csv --domain domain.json --to packed")
    budget = "--epsilon 1 --delta 1e-6 --unit user --adjacency add-remove --ledger l.db --new-ledger"
    line = f"fit packed --domain domain.json {budget} -o r.safetensors"
    assert "leave out --column" in refused(f"{line} --column user_id=who")
    assert not (here / "l.db").exists()


def test_interactions_are_packed_and_refused_by_models_of_ratings(here, hushrec, refused, budget):
    pl.read_csv("train.csv").drop("rating").write_csv("clicks.csv")
    hushrec("domain --items catalogue.csv --interactions --max-users 200 -o clicks.json")
    hushrec("data pack clicks.csv --domain clicks.json --to packed")
    packed = Blocks.open("packed", Domain.open("clicks.json"))
    assert sum(block.n_interactions for block in packed.blocks()) == pl.read_csv("clicks.csv").height
    for source in ("packed", "clicks.csv"):
        line = f"fit {source} --domain clicks.json {budget} --model global-effects --ledger l.db"
        assert "declares interactions" in refused(f"{line} --new-ledger -o r.safetensors")
        assert not (here / "l.db").exists()
    assert "no column for rating" in refused("data pack clicks.csv --domain domain.json --to other")


def test_evaluate_measures_no_interactions(release, hushrec, refused):
    hushrec("domain --items catalogue.csv --interactions --max-users 200 -o clicks.json")
    line = "evaluate films.safetensors --train train.csv --test test.csv --domain clicks.json"
    assert "this release works on ratings, and this domain declares interactions" in refused(line)
