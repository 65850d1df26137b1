"""The service answers a back end as its README says, and logs nothing of a request."""

import re
import subprocess
import sys

import httpx
import pytest

import hushrec as hr
from support.examples import blocks, copied, environment


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    made = hr.synthetic.interactions(users=500, items=60, interactions=5_000, seed=1)
    titles = {item: f"The film {item}" for item in made.domain.items}
    clicks = hr.load(made.table(), hr.Domain(titles, titles=titles, max_users=1_000))
    budget = hr.Budget(epsilon=4.0, delta=1e-6, unit="user", adjacency="add-remove")
    fitted = hr.testing.fit(clicks, hr.PrivateEASE(), budget, entropy=hr.testing.Seeded(0))
    return fitted.save(tmp_path_factory.mktemp("release") / "films.safetensors")


@pytest.fixture
def example(tmp_path):
    return copied("list_service", tmp_path)


@pytest.fixture
def service(example, release, tmp_path):
    """The service at a free port; its address."""
    command = [sys.executable, "list_service.py", release, "0"]
    with subprocess.Popen(
        command, cwd=example, env=environment(), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        address = next(found[0] for line in running.stderr if (found := re.search(r"http://127\S+", line)))
        yield address
        running.terminate()
        logged = running.stdout.read() + running.stderr.read()
        assert "i000" not in logged
        assert "/lists" not in logged


def test_it_lists_what_the_release_recommends(service, release, example):
    (body,) = re.findall(r"--json '(.*)'", blocks(example, "sh")[1])
    answer = httpx.post(f"{service}/lists", content=body, headers={"Content-Type": "application/json"})
    client = hr.Client(release)
    rows = client.recommend(["i00020", "i00050"], n=5)
    assert answer.json() == [{"id": row.item_id, "title": f"The film {row.item_id}"} for row in rows]
    shown = blocks(example, "text")[0]
    assert shown.count('{"id":"i') == len(rows)


def test_no_items_get_everybodys_list(service):
    answer = httpx.post(f"{service}/lists", json=[])
    assert len(answer.json()) == 5


def test_unknown_items_are_refused_in_words(service):
    answer = httpx.post(f"{service}/lists", json=["nowhere"])
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("nothing of what was given is in this release's catalogue")
