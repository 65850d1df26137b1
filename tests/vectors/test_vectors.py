"""The stored vectors of the format: the script still gives them, and every client answers as they say."""

import json
import subprocess
from pathlib import Path

import pytest

import hushrec as hr
from hushrec.errors import ReleaseError
from support import releases
from vectors import make_vectors

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PHP = ROOT / "examples" / "php_client" / "hushrec.php"
NAMES = sorted(make_vectors.RELEASES)


def stored(name):
    return json.loads((HERE / f"{name}.json").read_text("utf-8"))


def nearly(value):
    """The same value, in which numbers need only be the same to nine digits."""
    if isinstance(value, dict):
        return {name: nearly(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [nearly(one) for one in value]
    return pytest.approx(value, rel=1e-9, abs=1e-9) if isinstance(value, float) else value


@pytest.mark.parametrize("name", NAMES)
def test_the_script_gives_what_is_stored(name):
    data, beside = make_vectors.made(name)
    same = data == (HERE / f"{name}.safetensors").read_bytes()
    assert same, "other bytes; if on purpose, such as another sentence: python tests/vectors/make_vectors.py"
    assert stored(name) == nearly(beside)


def test_they_are_small():
    files = [file for ending in ("json", "safetensors") for file in HERE.glob(f"*.{ending}")]
    assert len(files) == 2 * len(NAMES)
    assert sum(file.stat().st_size for file in files) < 60_000


@pytest.mark.parametrize("name", NAMES)
def test_the_client_in_python_answers_as_stored(name):
    expected = stored(name)
    client = hr.Client(HERE / f"{name}.safetensors")
    assert client.release.statement.headline == expected["headline"]
    for case in expected["cases"]:
        listed = client.recommend(case["own"], n=make_vectors.LISTED, times=case.get("times"))
        rows = [{"item": row.item_id, "score": row.score, "rating": row.rating} for row in listed]
        assert rows == nearly(case["list"])
        assert list(listed.ignored) == case["ignored"]
        if "ratings" in case:
            assert client.predict(case["own"]) == nearly(case["ratings"])


def asked(file, own, times=None):
    """What the client in PHP prints of a release and what a person gave."""
    command = ["php", str(PHP), str(file), json.dumps(own), str(make_vectors.LISTED)]
    command += [json.dumps(times)] * (times is not None)
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.page
@pytest.mark.parametrize("name", NAMES)
def test_the_client_in_php_answers_as_stored(name):
    expected = stored(name)
    for case in expected["cases"]:
        done = asked(HERE / f"{name}.safetensors", case["own"], case.get("times"))
        assert done.returncode == 0, done.stderr
        told = {"headline": expected["headline"], "ignored": case["ignored"], "list": case["list"]}
        assert json.loads(done.stdout) == nearly(told)


@pytest.mark.page
def test_the_client_in_php_has_fewer_lines_than_its_readme_says():
    assert len(PHP.read_text("utf-8").splitlines()) < 200


def altered(data):
    return data[:-1] + bytes([data[-1] ^ 1])


def forged(**facts):
    """A change of facts under a digest that fits."""

    def change(data):
        told, tensors = releases.opened(data)
        return releases.closed(told | facts, tensors)

    return change


def headed(headline):
    def change(data):
        told, tensors = releases.opened(data)
        told["statement"]["said"]["headline"] = headline
        return releases.closed(told, tensors)

    return change


def bracketed(data):
    told, tensors = releases.opened(data)
    return releases.closed({**told, "settings": {"deep": [[] for _ in range(600_000)]}}, tensors)


REFUSED = {
    "altered": altered,
    "cut": lambda data: data[:-4],
    "empty": lambda data: b"",
    "no release": lambda data: b"PAR1" * 100,
    "an endless header": lambda data: (2**63).to_bytes(8, "little") + data[8:],
    "a smaller ε": headed("ε = 0.1 at δ = 1e-06 per user, add-remove"),
    "another format": forged(format=7),
    "an id twice": forged(items=["Heat"] * make_vectors.N),
    "an item less": forged(items=list(make_vectors.FILMS[1:])),
    "another kind": forged(kind="linear items"),
    "no constants": forged(constants={}),
    "a scale upside down": forged(scale=[5.0, 1.0, 0.5]),
    "brackets": bracketed,
}


@pytest.mark.page
@pytest.mark.parametrize("fault", REFUSED)
def test_the_client_in_php_refuses_what_others_do(tmp_path, fault):
    file = tmp_path / "films.safetensors"
    file.write_bytes(REFUSED[fault]((HERE / "factors.safetensors").read_bytes()))
    with pytest.raises(ReleaseError):
        hr.Client(file)
    done = asked(file, {"Heat": 5})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("refused: ")
    assert done.stderr.count("\n") == 1
