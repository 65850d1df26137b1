"""The page of one's own is installed, bundled, opened in Chromium, and makes lists there."""

import re
import subprocess

import pytest

import hushrec as hr
from support.chromium import LAUNCH
from support.examples import blocks, copied, environment, typed

pytestmark = pytest.mark.page


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    return {**browser_type_launch_args, **LAUNCH}


@pytest.fixture(scope="session")
def device():
    """The plugin's: no phone is imitated. The other tests have a fixture of the same name."""
    return None


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """The example, built by its README's commands from the release that another example makes."""
    folder = tmp_path_factory.mktemp("own")
    weekly, own = copied("weekly_releases", folder), copied("own_page", folder)
    typed(blocks(weekly, "sh")[0], weekly)
    build, _ = blocks(own, "sh")[0].split("python -m http.server")
    typed(f"export npm_config_prefer_offline=true\n{build}", own)
    return own


@pytest.fixture(scope="module")
def address(example):
    """The address of the README's server, at a free port."""
    _, options = blocks(example, "sh")[0].split("python -m http.server")
    command = f"exec python -u -m http.server {options.replace('8124', '0')}"
    with subprocess.Popen(
        command,
        shell=True,
        cwd=example,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        (port,) = re.findall(r" port (\d+) ", server.stdout.readline())
        yield f"http://localhost:{port}/"
        server.terminate()


@pytest.fixture
def opened(page, address):
    """The page after its first list; its errors fail the test."""
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(address)
    page.locator("#list > li").first.wait_for()
    yield page
    assert not said


def shown(page):
    return page.locator("#list > li").all_inner_texts()


def titles(client, own):
    return [client.title(row.item_id) for row in client.recommend(own, 10)]


def test_likes_make_the_list_that_python_makes_and_are_not_sent(opened, example):
    client = hr.Client(example / "site" / "films.safetensors")
    assert shown(opened) == titles(client, [])
    assert opened.inner_text("h2") == "Everybody's list"
    sent = []
    opened.on("request", lambda request: sent.append(request.url))
    opened.fill("#search", "garden")
    chosen = opened.locator("#choices > button")
    own = [client.find(chosen.nth(at).inner_text())[0] for at in (1, 3)]
    chosen.nth(1).click()
    chosen.nth(3).click()
    assert shown(opened) == titles(client, own)
    assert opened.inner_text("h2") == "Your list"
    chosen.nth(1).click()
    assert shown(opened) == titles(client, own[1:])
    assert not sent


def test_the_promise_is_that_of_all_releases_together(opened):
    assert opened.inner_text("#promise").startswith(
        "All 12 releases that this ledger allows, together: ε = 4 "
    )
