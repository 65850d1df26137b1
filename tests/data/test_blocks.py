"""Ratings in blocks are the ratings; what is damaged is refused by name; nobody else may read them."""

import itertools
import json
import shutil
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from hushrec.data.blocks import Blocks
from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.load import load
from hushrec.data.synthetic import netflix_like
from hushrec.errors import DataError


@pytest.fixture(scope="module")
def ratings():
    """Made-up ratings with everything that ratings may have."""
    made = netflix_like(200, 50, 3000, 1)
    rng = np.random.default_rng(0)
    return replace(
        made,
        timestamps=rng.integers(0, 1 << 40, 3000),
        personal_epsilon=rng.uniform(0, 3, 200),
        dropped=Dropped(1, 2, 3, 4, 5, 6, 7, 3028),
    )


@pytest.fixture
def blocks(ratings, tmp_path):
    return Blocks.write(ratings, tmp_path / "packed", ratings_per_block=300)


def rows(blocks):
    return pl.concat([block.to_polars() for block in blocks])


def test_blocks_are_the_ratings_in_their_order(ratings, blocks):
    assert blocks.n_blocks > 8
    assert blocks.n_users == 200
    found = list(blocks.blocks())
    assert rows(found).equals(ratings.to_polars())
    assert all(block.n_ratings <= 300 or block.n_users == 1 for block in found)
    assert all(block.domain is ratings.domain for block in found)
    assert blocks.dropped == ratings.dropped


def test_a_block_is_as_full_as_whole_people_allow(ratings, blocks):
    found = list(blocks.blocks())
    for block, following in itertools.pairwise(found):
        assert block.n_ratings + following.counts[0] > 300


def test_a_person_with_more_than_a_block_is_whole(ratings, tmp_path):
    few = ratings.slice(0, 20)
    found = list(Blocks.write(few, tmp_path / "p", ratings_per_block=1).blocks())
    assert [block.n_users for block in found] == [1] * 20
    assert rows(found).equals(few.to_polars())


def test_arrays_stay_on_the_disk(blocks):
    block = next(blocks.blocks())
    for name in ("items", "steps", "timestamps", "personal_epsilon"):
        base = getattr(block, name)
        while not isinstance(base, np.memmap) and base.base is not None:
            base = base.base
        assert isinstance(base, np.memmap)


def test_they_open_again_and_only_with_their_domain(ratings, blocks):
    again = Blocks.open(blocks.folder, ratings.domain)
    assert rows(again.blocks()).equals(ratings.to_polars())
    assert again.digest() == blocks.digest()
    other = Domain(ratings.domain.items, scale=(1, 5, 1), max_users=201)
    with pytest.raises(DataError, match="another domain"):
        Blocks.open(blocks.folder, other)


def test_what_has_no_timestamps_and_no_epsilons_keeps_none(ratings, tmp_path):
    plain = replace(ratings, timestamps=None, personal_epsilon=None)
    blocks = Blocks.write(plain, tmp_path / "p")
    assert not blocks.has_personal_epsilon
    (block,) = blocks.blocks()
    assert block.timestamps is None
    assert block.personal_epsilon is None
    assert block.digest() == plain.digest()


def test_several_ratings_of_disjoint_people(ratings, tmp_path):
    parts = [ratings.slice(100, 200), ratings.slice(0, 0), ratings.slice(0, 100)]
    blocks = Blocks.write(iter(parts), tmp_path / "p", ratings_per_block=10_000)
    assert [block.n_users for block in blocks.blocks()] == [100, 100]
    assert rows(blocks.blocks()).sort("user_id", "item_id").equals(ratings.to_polars())
    assert blocks.dropped == Dropped(3, 6, 9, 12, 15, 18, 21, 9084)


def test_ratings_that_do_not_go_together_are_refused(ratings, tmp_path):
    plain = replace(ratings, personal_epsilon=None)
    other = netflix_like(5, 50, 60, 2)
    for parts, problem in (
        ([ratings.slice(0, 101), ratings.slice(100, 200)], "in two"),
        ([ratings.slice(0, 100), plain.slice(100, 200)], "others have not"),
        ([ratings, other], "several domains"),
        ([], "at least one"),
    ):
        with pytest.raises(DataError, match=problem):
            Blocks.write(parts, tmp_path / "p")
    with pytest.raises(DataError, match="1 or more"):
        Blocks.write(ratings, tmp_path / "p", ratings_per_block=0)
    assert list(tmp_path.iterdir()) == []


def test_no_ratings_are_no_blocks(ratings, tmp_path):
    blocks = Blocks.write(ratings.slice(0, 0), tmp_path / "p")
    assert (list(blocks.blocks()), blocks.n_users) == ([], 0)
    blocks.verify()


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("asks", [True, False])
def test_what_columns_there_are_does_not_tell_whether_there_is_anybody(ratings, tmp_path, asks, timed):
    kept = {} if timed else {"timestamps": None}
    kept |= {} if asks else {"personal_epsilon": None}
    whole = replace(ratings, **kept)
    for name, some in (("all", whole), ("none", whole.slice(0, 0))):
        blocks = Blocks.write(some, tmp_path / name)
        assert blocks.has_personal_epsilon is asks
        assert Blocks.open(blocks.folder, ratings.domain).has_personal_epsilon is asks
        manifest = json.loads((blocks.folder / "manifest.json").read_text())
        assert manifest["optional"] == ["personal_epsilon"] * asks + ["timestamps"] * timed
    plain = Blocks.write(
        replace(ratings, timestamps=None, personal_epsilon=None).slice(0, 0), tmp_path / "plain"
    )
    assert (blocks.digest() == plain.digest()) is not (asks or timed)


def test_nobody_goes_together_with_people_only_where_they_have_the_same_columns(ratings, tmp_path):
    nobody = replace(ratings.slice(0, 0), personal_epsilon=None)
    for parts in ([nobody, ratings], [ratings, nobody]):
        with pytest.raises(DataError, match="others have not"):
            Blocks.write(parts, tmp_path / "p")


def test_a_folder_that_exists_is_left_alone(ratings, tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "mine").write_text("mine")
    with pytest.raises(DataError, match="choose another folder"):
        Blocks.write(ratings, tmp_path / "p")
    with pytest.raises(DataError, match="No such file"):
        Blocks.write(ratings, tmp_path / "nosuch" / "p")
    assert [file.name for file in tmp_path.rglob("*")] == ["p", "mine"]


def test_a_failure_leaves_nothing(ratings, tmp_path):
    def failing():
        yield ratings.slice(0, 100)
        raise KeyError("stop")

    with pytest.raises(KeyError):
        Blocks.write(failing(), tmp_path / "p", ratings_per_block=100)
    assert list(tmp_path.iterdir()) == []


def test_nobody_else_may_read_them(blocks):
    for path in [blocks.folder, *blocks.folder.rglob("*")]:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)


def test_a_cap_is_that_of_the_ratings(ratings, blocks):
    capped = blocks.capped(9)
    assert rows(capped.blocks()).equals(ratings.capped(9).to_polars())
    assert rows(capped.capped(5).blocks()).equals(ratings.capped(5).to_polars())
    assert rows(blocks.capped(5).capped(9).blocks()).equals(ratings.capped(5).to_polars())
    assert len({blocks.digest(), capped.digest(), blocks.capped(5).digest()}) == 3
    with pytest.raises(DataError, match="1 or more"):
        blocks.capped(0)


def test_no_count_is_shown(ratings, blocks):
    assert str(blocks) == f"Blocks({blocks.folder.name!r}, {ratings.domain!r}, private)"


def test_a_roster_is_kept_to(tmp_path):
    roster = Domain(["a", "b"], scale=(1, 5, 1), max_users=9, users=["x", "y", "z"])
    table = pl.DataFrame({"user": ["x", "z", "z"], "item": ["a", "a", "b"], "rating": [1, 2, 3]})
    ratings = load(table, roster)
    blocks = Blocks.write(ratings, tmp_path / "p", ratings_per_block=1)
    assert [block.roster_indptr().tolist() for block in blocks.blocks()] == [[0, 1, 1, 1], [0, 0, 0, 2]]


FILES = ["users", "indptr", "items", "steps", "timestamps", "personal_epsilon"]


@pytest.mark.parametrize("name", FILES)
def test_one_changed_byte_is_found(blocks, name):
    path = blocks.folder / "000001" / f"{name}.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    for check in (blocks.verify, blocks.digest):
        with pytest.raises(DataError, match=f"000001/{name}.npy is not what was written"):
            check()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("keep", [0, 5, 100, 130])
def test_a_file_that_is_cut_short_is_refused_by_name(blocks, name, keep):
    path = blocks.folder / "000001" / f"{name}.npy"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(DataError, match=f"000001/{name}.npy is missing, damaged or cut short"):
        list(blocks.blocks())


@pytest.mark.parametrize("name", FILES)
def test_arrays_of_another_length_or_type_are_refused(blocks, name):
    path = blocks.folder / "000001" / f"{name}.npy"
    whole = np.load(path)
    for wrong in (whole[:-1], whole.reshape(-1, 1), whole.astype(np.float32)):
        np.save(path, wrong)
        with pytest.raises(DataError, match=r"000001.* damaged or cut short"):
            list(blocks.blocks())
    np.savez(path.with_suffix(""), whole)
    path.with_suffix(".npz").rename(path)
    with pytest.raises(DataError, match=f"000001/{name}.npy is missing, damaged or cut short"):
        list(blocks.blocks())


def test_an_item_outside_the_catalogue_never_reaches_a_kernel(blocks):
    path = blocks.folder / "000002" / "items.npy"
    items = np.load(path)
    for value in (-1, 50):
        items[-1] = value
        np.save(path, items)
        with pytest.raises(DataError, match="000002 is missing, damaged"):
            list(blocks.blocks())


def test_a_missing_block_is_refused(blocks):
    shutil.rmtree(blocks.folder / "000000")
    with pytest.raises(DataError, match=r"000000/users.npy is missing"):
        list(blocks.blocks())
    with pytest.raises(DataError, match=r"000000/users.npy is not"):
        blocks.verify()


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.clear(),
        lambda m: m.update(format="hushrec blocks 3"),
        lambda m: m.update(format="hushrec blocks 5"),
        lambda m: m.update(blocks=7),
        lambda m: m["blocks"][1].pop("users"),
        lambda m: m["blocks"][1].update(ratings="many"),
        lambda m: m["blocks"][1]["sha256"].pop("items"),
        lambda m: m["blocks"][1]["sha256"].pop("personal_epsilon"),
        lambda m: [block["sha256"].pop("personal_epsilon") for block in m["blocks"]],
        lambda m: m.pop("optional"),
        lambda m: m.update(optional=7),
        lambda m: m.update(optional=["personal_epsilon", "timestamps", "items"]),
        lambda m: m.update(optional=["users"], blocks=[]),
        lambda m: m["blocks"][1]["sha256"].update({"../../x": "0"}),
        lambda m: m["dropped"].pop("personal_epsilon"),
        lambda m: m["dropped"].pop("records"),
    ],
)
def test_a_manifest_that_is_none_is_refused(ratings, blocks, change):
    path = blocks.folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))
    with pytest.raises(DataError, match=r"manifest.json .*pack the ratings again"):
        Blocks.open(blocks.folder, ratings.domain)


def test_a_folder_that_is_none_is_refused(ratings, tmp_path):
    for text in (None, "", "{", "[]", "7"):
        if text is not None:
            (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(DataError, match="describes no blocks"):
            Blocks.open(tmp_path, ratings.domain)


def test_interactions_have_counts_or_no_values(tmp_path):
    items = Domain(range(30), max_users=99), Domain(range(30), counts=9, max_users=99)
    table = pl.DataFrame({"user_id": np.arange(200) % 20, "item_id": np.arange(200) * 7 % 30})
    for number, domain in enumerate(items):
        whole = load(table, domain)
        written = Blocks.write(whole, tmp_path / str(number), ratings_per_block=40)
        again = Blocks.open(tmp_path / str(number), domain)
        assert rows(again.blocks()).equals(whole.to_polars())
        assert {block.KIND for block in again.blocks()} == {"interactions"}
        names = {path.stem for path in (tmp_path / str(number) / "000000").iterdir()}
        assert names == {"users", "indptr", "items"} | ({"occurrences"} if number else set())
        assert written.digest() == again.digest()
    with pytest.raises(DataError, match="packed for another domain"):
        Blocks.open(tmp_path / "0", items[1])


def test_a_manifest_without_the_counts_is_refused(tmp_path):
    domain = Domain(range(3), counts=9, max_users=99)
    Blocks.write(load(pl.DataFrame({"user_id": ["x"], "item_id": ["1"]}), domain), tmp_path / "packed")
    path = tmp_path / "packed" / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["blocks"][0]["sha256"]["occurrences"]
    path.write_text(json.dumps(manifest))
    with pytest.raises(DataError, match="describes no blocks or is damaged"):
        Blocks.open(tmp_path / "packed", domain)
