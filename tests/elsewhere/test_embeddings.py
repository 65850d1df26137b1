"""The page of item vectors: its code runs, and prints what it shows; PyTorch's in ``make test-elsewhere``."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "embeddings.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


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
def test_a_users_vector_gives_the_list_of_the_client(ran):
    _, printed = ran
    assert len(set(printed.splitlines()[3:5])) == 1


def test_the_file_holds_what_the_release_holds(ran):
    names, _ = ran
    assert tuple(names["items"]) == names["release"].items
    assert np.array_equal(names["vectors"], names["release"].tensors["item_factors"])
    assert names["table"].index.to_list() == names["items"]


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
