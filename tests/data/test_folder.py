"""People in a folder are those in memory; what is damaged is refused by name; only their owner reads them."""

import functools
import gc
import hashlib
import itertools
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.folder import ENTRIES, TYPES
from hushrec.data.load import load
from hushrec.data.people import People
from hushrec.data.readers import duck
from hushrec.data.synthetic import netflix_like
from hushrec.errors import DataError

DOMAIN = Domain(["1", "2"], scale=(1, 5, 1), max_users=9)
RECORDS = {"user": ["x", "y"], "item": ["1", "2"], "rating": [1, 5], "timestamp": [7, 8], "epsilon": [1, 2]}
TABLE = pl.DataFrame(RECORDS)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Made-up ratings with everything that ratings may have, and the folder that holds them."""
    made, rng = netflix_like(200, 50, 3000, 1), np.random.default_rng(0)
    made = replace(
        made,
        timestamps=rng.integers(0, 1 << 40, 3000),
        personal_epsilon=rng.uniform(0, 3, 200),
        dropped=Dropped(records=3000),
    )
    folder = tmp_path_factory.mktemp("kept") / "people"
    load(made.table(), made.domain, where=folder)
    return made, folder


@pytest.fixture
def ratings(kept):
    return kept[0]


@pytest.fixture
def people(kept, tmp_path):
    """Them, in a copy of the folder, in many blocks."""
    shutil.copytree(kept[1], tmp_path / "people")
    return replace(People.open(tmp_path / "people", kept[0].domain), _per_block=300)


def rows(blocks):
    return [row for block in blocks for row in pl.from_arrow(block.table()).rows()]


def require_same(found, memory):
    assert rows(found.blocks()) == rows([memory]) == rows([found.gathered()])
    assert found.users.equals(memory.users)
    assert found.digest() == memory.digest() == found.gathered().digest()
    assert found.dropped == memory.dropped == found.gathered().dropped
    assert (found.n_users, found.n_entries, found.facts) == (memory.n_users, memory.n_entries, memory.facts)


# -- the same people --------------------------------------------------------------------------------------


def test_without_people_the_manifest_names_the_arrays_of_the_columns(tmp_path):
    """So that nobody has fewer columns than somebody."""
    bad = TABLE.with_columns(item=pl.lit("z"))
    for number, source in enumerate((TABLE, TABLE[:0], bad, bad.drop("timestamp", "epsilon"))):
        found = load(source, DOMAIN, where=tmp_path / str(number))
        require_same(found, load(source, DOMAIN))
        assert (found.n_users > 0, found.n_blocks > 0) == (number == 0,) * 2
        absent = {"timestamps", "personal_epsilon"} if number == 3 else {*()}
        assert {path.stem for path in found.folder.glob("*.bin")} == {*TYPES} - absent
        manifest = json.loads((found.folder / "manifest.json").read_text())
        assert set(manifest["arrays"]) == {*TYPES} - absent
    assert {path.name for path in tmp_path.iterdir()} == {*"0123"}


# -- blocks -----------------------------------------------------------------------------------------------


def test_blocks_hold_whole_people_and_as_many_as_fit(ratings, people):
    require_same(people, ratings)
    blocks = list(people.blocks())
    assert people.n_blocks == len(blocks) > 8
    assert all(block.domain is ratings.domain for block in blocks)
    assert all(block.n_entries <= 300 for block in blocks)
    for block, following in itertools.pairwise(blocks):
        assert block.n_entries + following.counts[0] > 300
    alone = list(replace(people, _per_block=1).blocks())
    assert [block.n_users for block in alone] == [1] * 200
    assert rows(alone) == rows([ratings])
    odd = np.arange(3000) % 2 == 1  # parts of them are in memory
    assert people.select(odd).digest() == ratings.select(odd).digest()
    assert people.slice(3, 9).digest() == ratings.slice(3, 9).digest()


def test_arrays_stay_on_the_disk_unless_they_are_gathered(people):
    for names, found, mapped in (
        (["items", "values", "timestamps", "personal_epsilon"], next(people.blocks()), True),
        (["items", "values", "timestamps"], people.gathered(), False),
    ):
        for name in names:
            base = getattr(found, name)
            while not isinstance(base, np.memmap) and base.base is not None:
                base = base.base
            assert isinstance(base, np.memmap) is mapped


def test_a_cap_is_that_of_the_people_in_memory(ratings, people):
    for caps in ([9], [9, 5], [5, 9]):
        found = functools.reduce(People.capped, caps, people)
        assert rows(found.blocks()) == rows([ratings.capped(min(caps))])
        assert found.gathered().digest() == ratings.capped(min(caps)).digest()
    assert len({people.digest(), people.capped(9).digest(), people.capped(5).digest()}) == 3
    cuts = people.capped(5).cuts(50), ratings.capped(5).cuts(50)
    assert [cut.digest() for cut in cuts[0]] == [cut.digest() for cut in cuts[1]]
    with pytest.raises(DataError, match="1 or more"):
        people.capped(0)


# -- files ------------------------------------------------------------------------------------------------


def test_every_array_is_written_with_its_type_and_hash_for_the_owner_alone(ratings, people):
    manifest = json.loads((people.folder / "manifest.json").read_text())
    assert set(manifest["arrays"]) == set(TYPES)
    for name, stored in manifest["arrays"].items():
        path = people.folder / f"{name}.bin"
        assert stored["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert stored["length"] == len(np.fromfile(path, TYPES[name]))
    for path in [people.folder, *people.folder.iterdir()]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    other = Domain(ratings.domain.items, scale=(1, 5, 1), max_users=201)
    with pytest.raises(DataError, match="was loaded for another domain"):
        People.open(people.folder, other)


def test_a_disk_without_room_is_told(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hushrec.data.folder.Folder.add", full)
    with pytest.raises(DataError, match="p cannot be written: No space left on device; choose another"):
        load(TABLE, DOMAIN, where=tmp_path / "p")
    assert list(tmp_path.iterdir()) == []


# -- damage -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TYPES)
def test_a_damaged_file_is_refused_by_name(people, name):
    path = people.folder / f"{name}.bin"
    content = path.read_bytes()
    for damage in (0, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:damage] + bytes([content[damage] ^ 1]) + content[damage + 1 :])
        for check in (people.verify, people.digest):
            with pytest.raises(DataError, match=f"{name}.bin is not what was written; load the records"):
                check()
    path.write_bytes(content + b"\0")
    with pytest.raises(DataError, match=f"{name}.bin is not what was written"):
        people.verify()
    for keep in (0, 5, len(content) - 1):
        path.write_bytes(content[:keep])
        with pytest.raises(DataError, match=f"{name}.bin is missing, damaged or cut short"):
            People.open(people.folder, people.domain)
    path.unlink()
    with pytest.raises(DataError, match=f"{name}.bin is missing"):
        People.open(people.folder, people.domain)
    reads = (lambda: list(people.blocks()), people.gathered) if name in ENTRIES else ()
    for read in reads:  # of a file that goes while it is read
        with pytest.raises(DataError, match=f"{name}.bin is missing"):
            read()
    with pytest.raises(DataError, match=f"{name}.bin is not what was written"):
        people.verify()


def crafted(people, change=None, **arrays):
    """Change the manifest, and put other arrays in the place of files, with their right hashes."""
    path = people.folder / "manifest.json"
    manifest = json.loads(path.read_text())
    for name, array in arrays.items():
        data = np.asarray(array).astype(TYPES[name]).tobytes()
        (people.folder / f"{name}.bin").write_bytes(data)
        manifest["arrays"][name] = {"length": len(array), "sha256": hashlib.sha256(data).hexdigest()}
    if change is not None:
        change(manifest)
    path.write_text(json.dumps(manifest))


@pytest.fixture
def three(tmp_path):
    """Three people with interactions: of x items 0 and 1, of y item 2, of z item 0."""
    columns = {"user": [*"xxyz"], "item": [0, 1, 2, 0], "timestamp": 7, "epsilon": [1, 1, 2, 3]}
    return load(pl.DataFrame(columns), Domain(range(3), max_users=9), where=tmp_path / "three")


@pytest.mark.parametrize(
    "arrays",
    [
        *({"items": wrong} for wrong in ([0, 1, 3, 0], [0, -1, 2, 0], [1, 0, 2, 0], [0, 1, 2])),
        *({"indptr": wrong} for wrong in ([0, 2, 3], [1, 2, 3, 4], [0, 2, 2, 4], [0, 5, 3, 4], [])),
        {"indptr": [0, 2**63 - 1, -2, 4]},  # differences that overflow
        {"indptr": [], "user_ends": []},
        *({"users": [*wrong]} for wrong in (b"aab", b"bac", b"a\xff\x80", b"ab")),
        *({"user_ends": wrong} for wrong in ([0, 1, 2], [1, 2, 3, 3], [0, 2, 1, 3], [0, 2**63 - 1, -2, 3])),
        {"values": [1, 1, 1, 1]},
        {"timestamps": [7, 7, 7]},
        *({"personal_epsilon": wrong} for wrong in ([1, 2], [1, -1, 2], [1, np.nan, 2])),
    ],
    ids=str,
)
def test_crafted_arrays_never_reach_a_kernel(three, arrays):
    crafted(three, **arrays)
    for read in (lambda people: list(people.blocks()), People.gathered):
        with pytest.raises(DataError, match="three holds no people, or is damaged; load the records again"):
            read(People.open(three.folder, three.domain))


@pytest.mark.parametrize(
    ("kind", "values"),
    [({"scale": (1, 5, 0.5)}, [9]), *(({"counts": 3}, values) for values in ([0], [4], None))],
)
def test_values_that_the_domain_does_not_have_are_refused(tmp_path, kind, values):
    found = load(TABLE[:1].with_columns(count=1), Domain(["1"], max_users=9, **kind), where=tmp_path / "p")
    if values is None:
        crafted(found, lambda m: m["arrays"].pop("values"))
    else:
        crafted(found, values=values)
    with pytest.raises(DataError, match="holds no people, or is damaged"):
        list(People.open(found.folder, found.domain).blocks())


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.clear(),
        lambda m: m.update(format="hushrec people 4"),
        lambda m: m.update(format=["hushrec people 5"]),
        lambda m: m.pop("domain"),
        lambda m: m.update(arrays=7),
        *(lambda m, name=name: m["arrays"].pop(name) for name in ("users", "user_ends", "indptr", "items")),
        lambda m: m["arrays"].update({"../../x": {"length": 0, "sha256": "0"}}),
        lambda m: m["arrays"].update(items=7),
        lambda m: m["arrays"]["items"].pop("sha256"),
        *(
            lambda m, length=length: m["arrays"]["items"].update(length=length)
            for length in ("many", None, -1, 3, 5, 2**70, float("inf"), float("nan"))
        ),
        lambda m: m["dropped"].pop("records"),
        lambda m: m["dropped"].update(records=float("inf")),
    ],
)
def test_a_crafted_manifest_is_refused(three, change):
    crafted(three, change)
    with pytest.raises(DataError, match=r"three(/items.bin)? .*; load the records again"):
        People.open(three.folder, three.domain)


@pytest.mark.parametrize("text", [None, "", "{", "[]", "7", "\0", '{"arrays": []}', "[" * 100_000])
def test_a_folder_that_is_none_is_refused(ratings, tmp_path, text):
    if text is not None:
        (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(DataError, match="holds no people, or is damaged"):
        People.open(tmp_path, ratings.domain)


# -- temporary folders ------------------------------------------------------------------------------------


def test_a_temporary_folder_is_private_and_ends_with_its_use(tmp_path, monkeypatch):
    duck.connect().close()  # whose own place of temporary files stays until the program ends
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with load(TABLE.lazy(), DOMAIN, where="disk") as people:
        (folder,) = tmp_path.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        require_same(people, load(TABLE, DOMAIN))
    assert list(tmp_path.iterdir()) == []
    capped = load(TABLE, DOMAIN, where="disk").capped(1)  # which keeps the files of the others
    gc.collect()
    assert capped.gathered().n_users
    del capped
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def ran(program, *arguments, **variables):
    """What became of a program of its own, since DuckDB's limits hold for a process."""
    command, env = [sys.executable, "-c", program, *arguments], os.environ | variables
    return subprocess.run(command, env=env, capture_output=True, text=True)


KILLED = """
import os, signal
import numpy as np, pyarrow as pa
from hushrec.data import assemble
from hushrec.data.readers import duck
from hushrec.data.domain import Domain
from hushrec.data.load import load
duck.MEMORY = 20 << 20
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
assemble._count = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
users, rng = pa.array([f"SECRET{u:06d}" for u in range(100_000)]), np.random.default_rng(0)
table = pa.table({
    "user_id": users.take(pa.array(rng.integers(0, 100_000, 400_000))),
    "item_id": rng.integers(0, 1000, 400_000),
    "rating": rng.integers(1, 6, 400_000),
})
load(table, Domain(range(1000), scale=(1, 5, 1), max_users=100_000), where="disk")
"""
FAILS = """
from hushrec.data.readers.duck import Temporary
made = Temporary()
(made.folder / "people").write_bytes(b"private")
raise SystemExit(3)
"""


def test_a_killed_program_leaves_no_id_in_the_open_and_nothing_after_the_next_which_may_fail(tmp_path):
    """The load is killed as it writes the first rows, when the records do not fit in DuckDB's memory."""
    assert ran(KILLED, TMPDIR=str(tmp_path)).returncode == -signal.SIGKILL
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in tmp_path.iterdir()} == {0o700}
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in left if path.parent.name == "spill") > 1 << 20
    assert not [path for path in left if b"SECRET" in path.read_bytes()]
    done = ran(FAILS, TMPDIR=str(tmp_path))
    assert (done.returncode, "Warning" in done.stderr) == (3, False), "others' remains are no news"
    assert list(tmp_path.iterdir()) == []


PEAK = """
import sys
from pathlib import Path
from hushrec.data.readers import duck
from hushrec.data.domain import Domain
from hushrec.data.load import load
duck.MEMORY = 128 << 20
folder = Path(sys.argv[1])
domain = Domain.open(folder / "domain.json")
def peak():
    (line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    return int(line.split()[1]) >> 10
before = peak()
load(folder / "r.parquet", domain, where=folder / "people")
print(peak() - before)
"""


@pytest.mark.full
def test_memory_does_not_grow_with_the_records(tmp_path):
    """Ten million ratings would take 670 MB; DuckDB may use 128 MB, and uses some that it does not count."""
    made = netflix_like(20_000, 2_000, 10_000_000, 1)
    made.domain.save(tmp_path / "domain.json")
    pq.write_table(made.table(), tmp_path / "r.parquet")
    assert int(ran(PEAK, tmp_path).stdout) < 350
    assert People.open(tmp_path / "people", made.domain).digest() == made.digest()


SPILLS = """
import hushrec as hr, pyarrow as pa, sys
from hushrec.data.readers import duck
duck.MEMORY = 24 << 20
duck.connect().execute("SET max_temp_directory_size = '1MB'").fetchall()
n = 1_000_000
table = pa.table({'user_id': [f'u{k % 400_000}' for k in range(n)], 'item_id': ['1'] * n})
hr.load(table, hr.Domain(['1'], max_users=800_000), where=sys.argv[1])
"""


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_a_disk_without_room_for_what_spills_is_named(where):
    said = ran(SPILLS, where).stderr
    assert "hushrec.errors.DataError: this needs more memory, or more room for temporary files" in said
    assert "duckdb" not in said.rpartition("Traceback")[2]
