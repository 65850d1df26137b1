"""A real Chromium that looks at pages, each served by a host of its own that logs every request."""

import http.server
import json
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

import hushrec
from hushrec.data.synthetic import made_up_titles
from hushrec.pages import recommender, site
from hushrec.pages.item_table import ItemTable
from support.chromium import LAUNCH
from support.releases import ranker, release, statement
from support.signed import public_key, signature

READY = "html[data-ready]"
N = 240


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    return {**browser_type_launch_args, **LAUNCH}


@pytest.fixture(scope="session")
def device():
    """The plugin's: no phone is imitated. The other tests have a fixture of the same name."""
    return None


class Host:
    """Serves a folder, which may be exchanged. ``asked`` are the paths of all requests, in order."""

    def __init__(self, folder):
        self.folder, self.asked = folder, []
        host = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *given):
                super().__init__(*given, directory=str(host.folder))

            def log_message(self, *_):
                pass

            def send_head(self):
                del self.headers["If-Modified-Since"]  # in whole seconds, and tests exchange files within one
                return super().send_head()

            def parse_request(self):
                parsed = super().parse_request()
                host.asked.append(getattr(self, "path", "?"))
                return parsed

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128  # of five, busy cores lose connections

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://localhost:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self):
        """The host is gone: nobody listens."""
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def host():
    """Serves folders until the test ends."""
    hosts = []

    def serve(folder):
        hosts.append(Host(folder))
        return hosts[-1]

    yield serve
    for one in hosts:
        one.stop()


def films(n=N, seed=0, version=3, **changes):
    """A release of ratings in which tastes show: two kinds of items, of different fame."""
    made = release(n=n, rank=4, seed=seed, scale=(1.0, 5.0, 1.0), **changes)
    rng = np.random.default_rng(seed)
    made.tensors["item_factors"][:] = rng.normal(size=(n, 4)) * [0.2, 0.4, 0.2, 0.1]
    made.tensors["item_factors"][::2, 0] += 0.7
    made.tensors["item_factors"][1::2, 0] -= 0.7
    made.tensors["item_popularity"][:] = np.exp(rng.normal(size=n))
    made.statement.ledger["seq"] = version
    return made


def likes(n=N):
    """A release of interactions in which tastes show."""
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(n, 4)).astype(np.float32)
    weights = rng.uniform(0.2, 1, size=n).astype(np.float32)
    return ranker(
        [f"i{k:05d}" for k in range(n)],
        kind="linear items",
        statement=statement(interactions=True),
        tensors={
            "item_factors": factors,
            "input_weights": weights,
            "output_weights": weights,
            "intercept": rng.normal(size=4).astype(np.float32),
            "item_scores": np.linspace(5, 0, n, dtype=np.float32),
        },
    )


def titles(items, **columns):
    """Made-up titles of a catalogue."""
    made = made_up_titles(len(items))
    return ItemTable(items, made["title"], made["year"], made["genres"], **columns)


@pytest.fixture
def written(tmp_path):
    """Writes the page of a release into a folder."""

    def write(made, name="films", titled=True, **given):
        made.save(tmp_path / f"{name}.safetensors")
        table = titles(made.items) if titled is True else titled
        site.write(tmp_path / f"{name}.safetensors", tmp_path / "page", titles=table or None, **given)
        return tmp_path / "page"

    return write


@pytest.fixture
def signed(tmp_path):
    """Writes the page of a signed release of some version, as its publisher does."""

    def write(version=3, signer=0, **given):
        made = films(seed=version, version=version)
        path = made.save(tmp_path / "films.safetensors")
        text = signature(path.read_bytes(), key=signer)
        path.with_name("films.safetensors.sig").write_text(text, "utf-8")
        given = {"key": public_key(signer), "titles": titles(made.items), **given}
        site.write(path, tmp_path / "page", **given)
        return tmp_path / "page"

    return write


@pytest.fixture
def relist():
    """Brings the page's own lists of digests up to date, as a forger would."""

    def write(folder):
        before = (folder / "contents.json").read_bytes()
        contents = json.loads(before)
        contents["files"] = {
            name: recommender._digest((folder / name).read_bytes()) for name in contents["files"]
        }
        after = json.dumps(contents).encode()
        (folder / "contents.json").write_bytes(after)
        worker = folder / "worker.js"
        digests = [recommender._digest(data) for data in (before, after)]
        worker.write_text(worker.read_text("utf-8").replace(*digests), "utf-8")

    return write


@pytest.fixture
def planted(monkeypatch, tmp_path):
    """Writes pages with a fault: a file of the page or of its client in which one text is another."""

    def plant(file, right, wrong):
        copy = tmp_path / "planted"
        for part in ("pages/assets", "javascript"):
            shutil.copytree(Path(hushrec.__file__).parent / part, copy / part, dirs_exist_ok=True)
        path = copy / file
        text = path.read_text("utf-8")
        assert text.count(right) == 1
        path.write_text(text.replace(right, wrong), encoding="utf-8")
        monkeypatch.setattr(recommender, "files", lambda _: copy)

    return plant


@pytest.fixture
def heard(page):
    """All that the console says, with errors of scripts and of the page's policy; none may be there."""
    said = []

    def hear(message):
        if message.location["url"].endswith("/favicon.ico"):  # a statement alone has no picture
            return
        said.append(f"{message.type}: {message.text}")

    page.on("console", hear)
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    return said


@pytest.fixture
def visit(page, host, written, heard):
    """Opens the page of a release, and gives its host."""

    def go(made=None, **given):
        served = host(written(made or films(), **given))
        page.goto(served.url)
        page.wait_for_selector(READY)
        return served

    yield go
    assert not heard


@pytest.fixture
def star(page):
    """Finds a title by the search, and stars it."""

    def choose(title, stars):
        page.fill("#search", title)
        row = page.locator("#found > li").filter(has=page.get_by_text(title, exact=True))
        row.get_by_role("radio", name="1 star" if stars == 1 else f"{stars} stars", exact=True).click()

    return choose


@pytest.fixture
def listed(page):
    """Ids on the list, best first."""
    return lambda: page.locator("#ranked > li").evaluate_all("rows => rows.map(row => row.dataset.item)")


@pytest.fixture(name="films")
def _films():
    return films


@pytest.fixture(name="likes")
def _likes():
    return likes


@pytest.fixture(name="titles")
def _titles():
    return titles
