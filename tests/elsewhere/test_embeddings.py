"""The page of item vectors: its code runs, and prints what it shows; PyTorch's in ``make test-elsewhere``."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

import hushrec as hr
from hushrec.release.contents.kinds import KINDS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "embeddings.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
SHOWN = re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def run(block, names):
    """What a block prints."""
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(block, "embeddings.md", "exec"), names)
    return printed.getvalue()


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The names that the page's blocks define, but for PyTorch, and all that they print."""
    names = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("embeddings"))
        printed = "".join(run(block, names) for block in BLOCKS if "import torch" not in block)
    return names, printed


@pytest.mark.full
def test_its_blocks_print_what_it_shows(ran):
    _, printed = ran
    rows = [line for line in PAGE.splitlines() if re.match(r"\| \d", line)]
    shown = "".join(SHOWN).splitlines()
    assert printed.splitlines()[: len(shown)] == shown
    found = [figures(line) for line in printed.splitlines()[len(shown) :]]
    assert [row[:2] for row in found] == [figures(row)[:2] for row in rows]
    assert np.abs(np.array(found) - [figures(row) for row in rows]).max() < 0.035  # with other BLAS threads


def figures(row):
    """The numbers of a row of the table."""
    return [float(cell) for cell in row.strip("| ").split("|")]


@pytest.mark.full
def test_a_users_vector_gives_the_list_of_the_client(ran):
    _, printed = ran
    assert len(set(printed.splitlines()[3:5])) == 1


def test_the_obscure_items_are_as_obscure_as_it_says(ran):
    names, _ = ran
    counts = np.bincount(names["clicks"].items, minlength=500)
    (said,) = re.findall(r"(\d+) and (\d+) users gave (i\d+) and\s(i\d+)", PAGE)
    assert [str(counts[names["items"].index(item)]) for item in said[2:]] == [*said[:2]]


def test_the_file_holds_what_the_release_holds(ran):
    names, _ = ran
    assert tuple(names["items"]) == names["release"].items
    assert np.array_equal(names["vectors"], names["release"].tensors["item_factors"])
    assert names["table"].index.to_list() == names["items"]


def test_kinds_have_the_vectors_that_it_says():
    users = {kind for kind, tensors in KINDS.items() if "user_factors" in tensors}
    items = {kind for kind, tensors in KINDS.items() if "item_factors" in tensors}
    assert users == {"factors and people"}
    assert items == {"factors", "factors and people", "neighbours", "linear items"}
    assert "similarity_factors" in KINDS["neighbours"]
    listed = {
        name for line in PAGE.splitlines() if line.startswith("| `") for name in re.findall("`(.*?)`", line)
    }
    made = {name for name in hr.__all__ if hasattr(getattr(hr, name), "glance")}
    assert made - listed <= {"MatrixFactorization", "RandomizedResponse", "DistanceBased"}


@pytest.mark.full
def test_pytorch_takes_them(ran):
    pytest.importorskip("torch")
    names, _ = ran
    (block,) = (block for block in BLOCKS if "import torch" in block)
    assert run(block, dict(names)) == "torch.Size([1, 17])\n"


@pytest.mark.full
def test_pytorch_reads_the_file(ran, tmp_path):
    pytest.importorskip("torch")
    names, _ = ran
    file = names["release"].save(tmp_path / "clicks.safetensors")
    with names["safe_open"](file, framework="pt") as opened:
        assert np.array_equal(opened.get_tensor("item_factors").numpy(), names["vectors"])
