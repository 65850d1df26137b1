"""What is written for a block: its arrays, whole people, and their hashes in the manifest."""

import hashlib
import json

import numpy as np
import polars as pl
import pytest

from hushrec.data.blocks import MANIFEST, TYPES, write_all
from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.errors import DataError

KINDS = {
    "ratings": ({"scale": (1, 5, 1)}, {"steps"}),
    "interactions": ({}, set()),
    "counts": ({"counts": 9}, {"occurrences"}),
}


def loaded(of, users, **more):
    table = pl.DataFrame({"user_id": users, "item_id": 0, "rating": 4}).with_columns(**more)
    return load(table, Domain(range(3), max_users=9, **KINDS[of][0]))


@pytest.mark.parametrize("of", KINDS)
def test_every_array_is_written_with_its_type_and_hash(of, tmp_path):
    whole = loaded(of, ["x", "y", "z"], timestamp=pl.lit(7))
    assert write_all([whole], tmp_path, 2) == whole.domain
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    assert [block["users"] for block in manifest["blocks"]] == [2, 1]
    assert manifest["optional"] == ["timestamps"]
    for number, block in enumerate(manifest["blocks"]):
        assert set(block["sha256"]) == {"users", "indptr", "items", "timestamps"} | KINDS[of][1]
        for name, sha256 in block["sha256"].items():
            path = tmp_path / f"{number:06d}" / f"{name}.npy"
            assert sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
            assert np.load(path).dtype == TYPES[name]
            assert path.stat().st_mode & 0o777 == 0o600


def test_parts_of_two_kinds_are_refused(tmp_path):
    with pytest.raises(DataError, match="several domains"):
        write_all([loaded("ratings", ["x"]), loaded("counts", ["y"])], tmp_path, 9)
