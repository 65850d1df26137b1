"""The client as a package of npm: packed, installed, typed, bundled into a page, and looked at."""

import json
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from hushrec.release.client import Client

pytestmark = pytest.mark.page
ROOT = Path(__file__).parents[2]
LISTS = """\
import { Client, type Recommendation } from "hushrec";

const file = await fetch("films.safetensors");
const client = await Client.open(await file.arrayBuffer());
const own = new Map([[client.release.items[0], 5]]);
const found: Recommendation[] = client.recommend(own, { n: 5 });
for (const { itemId } of found) {
  const row = document.createElement("li");
  row.textContent = client.title(itemId);
  document.querySelector("ol")?.append(row);
}
"""
INDEX = """\
<!doctype html>
<meta charset="utf-8"><title>Lists</title>
<ol></ol>
<script type="module" src="b.js"></script>
"""
STRICT = ("--strict", "--noEmit", "--target", "es2022", "--module", "node16", "--moduleResolution", "node16")


def run(*command, cwd):
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder into which the packed file is installed."""
    folder = tmp_path_factory.mktemp("npm")
    packed = run("make", "npm", f"DIST={folder / 'dist'}", cwd=ROOT)
    assert packed.returncode == 0, packed.stderr
    (package,) = (folder / "dist").glob("hushrec-*.tgz")
    site = folder / "site"
    site.mkdir()
    (site / "package.json").write_text('{ "type": "module" }', "utf-8")
    (site / "index.html").write_text(INDEX, "utf-8")
    installed = run("npm", "install", "--offline", "--no-audit", "--no-fund", str(package), cwd=site)
    assert installed.returncode == 0, installed.stderr
    return site


def checked(site, page):
    (site / "lists.ts").write_text(page, "utf-8")
    return run("tsc", *STRICT, "lists.ts", cwd=site)


def test_a_page_of_ten_lines_compiles_bundles_and_shows_a_list(page, host, films, site):
    made = films()
    made.save(site / "films.safetensors")
    done = checked(site, LISTS)
    assert done.returncode == 0, done.stdout
    bundle = run("esbuild", "lists.ts", "--bundle", "--format=esm", "--outfile=b.js", cwd=site)
    assert bundle.returncode == 0, bundle.stderr
    page.goto(host(site).url)
    page.locator("li").nth(4).wait_for()
    client = Client(made)
    expected = [client.title(row.item_id) for row in client.recommend({made.items[0]: 5}, 5)]
    assert page.locator("li").all_inner_texts() == expected


def test_the_package_holds_the_client_its_types_and_its_license(site):
    package = site / "node_modules" / "hushrec"
    names = {path.name for path in package.iterdir()}
    modules = {path.name for path in (ROOT / "src" / "hushrec" / "javascript").glob("*.js")}
    assert names == {"package.json", "LICENSE"} | modules | {f"{Path(name).stem}.d.ts" for name in modules}
    facts = json.loads((package / "package.json").read_text("utf-8"))
    assert facts["version"] == version("hushrec")
    assert "private" not in facts
