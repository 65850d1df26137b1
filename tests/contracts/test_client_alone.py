"""The client needs NumPy and safetensors alone; ``import hushrec`` needs nothing."""

import subprocess
import sys

import numpy as np
import pytest

from hushrec.release.artefact import Release
from hushrec.release.statement import placeholder_statement

FENCE = """
import sys

class Fence:
    def find_spec(self, name, path=None, target=None):
        package, _, rest = name.partition(".")
        light = {"", "arrays", "errors", "files", "text", "documents"}
        ours = rest.split(".")[0] in light | {"release"}
        if package in sys.stdlib_module_names or package in {"numpy", "safetensors"}:
            return None
        if package == "hushrec" and ours:
            return None
        raise ImportError(f"{name} is out of the client's reach")

sys.meta_path.insert(0, Fence())
"""
CLIENT = """
import hushrec as hr

client = hr.Client(sys.argv[1])
print(client.predict({"Alien": 5, "Heat": 2}, items=["Tron"]), client.recommend({"Alien": 5}, n=2))
print(client.similar("Alien", 2), client.recommend({"Alien": 5}, n=2, exclude=["Heat"], diversity=0.5))
if client.release.kind != "people's rows":
    print(client.reasons({"Alien": 5, "Heat": 2}, "Tron"))
for user in client.release.users:
    print("listed:", client.predict(user=user), client.recommend(user=user, n=2))
print(client.release.statement)
"""
REACHES = {
    "another package": "import pyarrow",
    "another part of ours": "import hushrec.kernels",
    "the curator's part, by its public name": "import hushrec as hr; hr.Ledger",
}


def run(code, *arguments):
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)


def releases():
    n, rng = 4, np.random.default_rng(0)
    common = {"item_effects": np.full(n, 3.0), "item_noise": np.ones(n), "item_popularity": np.ones(n)}
    constants = {"user_mean": 0.0, "user_variance": 0.1, "bias_noise": 1.0, "neighbours": 2.0}
    tensors = {
        "factors": {"item_factors": rng.normal(size=(n, 2))},
        "neighbours": {
            "item_factors": rng.normal(size=(n, 2)),
            "similarity_factors": rng.normal(size=(n, 3)),
        },
        "dense neighbours": {"covariance": np.ones(10), "similarity": np.arange(10.0)},
        "factors and people": {
            "item_factors": rng.normal(size=(n, 2)),
            "user_effects": np.array([0.5, -0.5]),
            "user_factors": rng.normal(size=(2, 2)),
        },
    }
    arrays = {
        kind: {name: array.astype(np.float32) for name, array in {**common, **own}.items()}
        for kind, own in tensors.items()
    }
    arrays["item neighbours"] = {
        "item_means": np.full(n, 3, np.float32),
        "item_popularity": np.ones(n, np.float32),
        "similarity": np.full(10, 0.5, np.float32),
    }
    arrays["people's rows"] = {
        "row_starts": np.array([0, 2, 3]),
        "row_items": np.array([0, 2, 1], np.int32),
        "row_steps": np.array([4, 0, 2], np.uint8),
    }
    constants["distance"] = 1.0
    for kind, own in arrays.items():
        yield Release(
            model="Any",
            settings={},
            kind=kind,
            items=("Alien", "Heat", "Tron", "Brazil"),
            scale=(1.0, 5.0, 1.0),
            constants=constants,
            tensors=own,
            statement=placeholder_statement(),
            users=("ada", "bob") if kind == "factors and people" else (),
        )


@pytest.mark.parametrize("release", list(releases()), ids=lambda release: release.kind)
def test_a_client_predicts_with_numpy_and_safetensors_alone(release, tmp_path):
    path = release.save(tmp_path / "films.safetensors")
    done = run(FENCE + CLIENT, str(path))
    assert done.returncode == 0, done.stderr
    assert "Recommendation(item_id=" in done.stdout
    assert "NOT PRIVATE" in done.stdout
    assert done.stdout.count("listed:") == len(release.users)


@pytest.mark.parametrize("reach", REACHES)
def test_the_fence_stops_all_else(reach):
    done = run(FENCE + REACHES[reach])
    assert "out of the client's reach" in done.stderr


def test_importing_hushrec_loads_nothing_heavy():
    code = "import sys, hushrec; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = set(run(code).stdout.split())
    assert "hushrec" in loaded
    heavy = {"numpy", "scipy", "numba", "pyarrow", "duckdb", "pydantic", "matplotlib", "rich", "typer"}
    assert not loaded & heavy
