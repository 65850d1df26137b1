import dataclasses

import numpy as np
import pytest

from hushrec.errors import ConfigError
from hushrec.experiments.demo import demonstration


def test_its_own_folder_is_cleared(tmp_path):
    folder = tmp_path / "deep" / "demo"
    demonstration.prepare(folder)
    for name in (
        demonstration.LEDGER,
        f"{demonstration.LEDGER}-wal",
        demonstration.RELEASE,
        f"{demonstration.RELEASE}.part",
        demonstration.REPORT,
    ):
        (folder / name).write_text("old")
    demonstration.prepare(folder)
    assert [entry.name for entry in folder.iterdir()] == [demonstration.MARKER]


@pytest.mark.parametrize("mine", ["thesis.txt", "mine.safetensors", demonstration.LEDGER])
def test_what_it_did_not_write_is_never_deleted(tmp_path, mine):
    (tmp_path / mine).write_text("precious")
    with pytest.raises(ConfigError, match=rf"{mine}.*--out"):
        demonstration.prepare(tmp_path)
    assert (tmp_path / mine).read_text() == "precious"


def test_nor_is_anything_else_then(tmp_path):
    demonstration.prepare(tmp_path)
    (tmp_path / demonstration.LEDGER).write_text("old")
    (tmp_path / "mine.safetensors").write_text("precious")
    with pytest.raises(ConfigError, match=r"mine\.safetensors"):
        demonstration.prepare(tmp_path)
    assert (tmp_path / demonstration.LEDGER).exists()


def test_an_unusable_folder_is_an_error_with_its_fix(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="--out"):
        demonstration.prepare(tmp_path / "file")


def test_telling_items_have_the_longest_factors(ratings, tmp_path):
    release = demonstration.real_release(ratings, tmp_path)
    factors = np.zeros((40, 2), np.float32)
    factors[7], factors[3], factors[5] = (3, 4), (-6, 0), (1, 1)
    planted = dataclasses.replace(release, tensors={**release.tensors, "item_factors": factors})
    assert demonstration.telling_items(planted, 3) == [release.items[i] for i in (3, 7, 5)]
