"""``hushrec pack``: folders that fit reads, and what is refused of them."""

import polars as pl

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.packed.blocks import Blocks


def test_pack_makes_a_folder_that_fit_reads(here, hushrec, refused):
    table = pl.read_csv("train.csv").rename({"user_id": "who"})
    table.with_columns(pl.lit("0.5").alias("wish")).write_csv("odd.csv")
    names = "--column user_id=who --column personal_epsilon=wish"
    result = hushrec(f"pack odd.csv --domain domain.json --to packed {names}")
    assert "Next: hushrec fit packed --domain domain.json" in result.out
    assert "Confidential" in result.err
    domain = Domain.open("domain.json")
    packed = load(here / "packed", domain)
    assert isinstance(packed, Blocks)
    assert packed.has_personal_epsilon
    everybody = sum(block.n_ratings for block in packed.blocks())
    assert everybody == load("train.csv", domain).n_ratings
    assert "exists" in refused("pack train.csv --domain domain.json --to packed")
    budget = "--epsilon 1 --delta 1e-6 --unit user --adjacency add-remove --ledger l.db --new-ledger"
    line = f"fit packed --domain domain.json {budget} -o r.safetensors"
    assert "leave out columns=" in refused(f"{line} --column user_id=who")
    assert not (here / "l.db").exists()


def test_interactions_are_packed_and_refused_by_models_of_ratings(here, hushrec, refused, budget):
    pl.read_csv("train.csv").drop("rating").write_csv("clicks.csv")
    hushrec("domain --items catalogue.csv --interactions --max-users 200 -o clicks.json")
    hushrec("pack clicks.csv --domain clicks.json --to packed")
    packed = Blocks.open("packed", Domain.open("clicks.json"))
    assert sum(block.n_interactions for block in packed.blocks()) == pl.read_csv("clicks.csv").height
    for source in ("packed", "clicks.csv"):
        line = f"fit {source} --domain clicks.json {budget} --model global-effects --ledger l.db"
        assert "declares interactions" in refused(f"{line} --new-ledger -o r.safetensors")
        assert not (here / "l.db").exists()
    assert "no column for rating" in refused("pack clicks.csv --domain domain.json --to other")
