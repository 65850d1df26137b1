"""The documentation is whole: links lead somewhere, names are explained."""

import ast
import re
from pathlib import Path

import pytest

import hushrec
from hushrec.models import page as page_of

ROOT = Path(__file__).resolve().parents[1]
SOURCE, DOCS, LAB, EXAMPLES = ROOT / "src" / "hushrec", ROOT / "docs", ROOT / "lab", ROOT / "examples"
PAGES = sorted([*ROOT.glob("*.md"), *(page for part in (DOCS, LAB, EXAMPLES) for page in part.rglob("*.md"))])
BASES = {"Model", "PrivateModel", "AlternatingModel", "CovarianceModel", "Method", "Noiseless"}

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def slug(heading):
    """The anchor that a forge and MyST give a heading."""
    words = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower())
    return words.strip().replace(" ", "-")


def anchors(text):
    return {slug(heading) for heading in re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)}


def dead_links(text, page):
    """Links of a page's text that lead to no file, or to no heading of it."""
    for link in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        there = (
            anchors(text if file == page else file.read_text("utf-8"))
            if file.suffix == ".md" and file.exists()
            else ()
        )
        if not file.exists() or (anchor and anchor not in there):
            yield link


def snake(name):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def models():
    for path in sorted((SOURCE / "models").rglob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            parents = {getattr(base, "id", "") for base in getattr(node, "bases", ())}
            if BASES & parents and node.name not in BASES:
                yield node.name, path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    dead = list(dead_links(page.read_text("utf-8"), page))
    assert not dead


@pytest.mark.parametrize(("name", "path"), list(models()))
def test_a_model_is_file_class_and_page_or_part_of_one(name, path):
    assert path.stem == snake(name)
    page, _, part = page_of(name).partition("#")
    text = (DOCS / "models" / page).read_text("utf-8")
    assert f"\n## {name}\n\n" in text if part else text.startswith(f"# {name}\n")
    assert name in hushrec.__all__


def test_every_page_of_a_model_has_a_model():
    pages = {page.stem for page in (DOCS / "models").glob("*.md")} - {"index"}
    assert pages == {page_of(name).partition(".")[0] for name, _ in models()}


@pytest.mark.parametrize("name", hushrec.__all__)
def test_every_public_name_is_in_the_reference(name):
    assert re.search(rf":: hushrec\.{name}\b", (DOCS / "reference.md").read_text("utf-8"))


CODE = re.compile(r"`([\w./-]+\.pyi?)`")


def lost(text):
    """Files that a page names and that are not there, below the root, the package or one of its folders."""
    homes = ROOT / "tests", LAB, EXAMPLES
    known = [*SOURCE.rglob("*.py*"), *(path for home in homes for path in home.rglob("*.py"))]
    ends = tuple(f"/{path.relative_to(ROOT)}" for path in known)
    return [
        name
        for name in CODE.findall(text)
        if "your_model" not in name and not any(end.endswith(f"/{name}") for end in ends)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_names_are_there(page):
    assert not lost(page.read_text("utf-8"))


def test_the_table_of_contents_holds_what_the_index_links():
    text = (DOCS / "index.md").read_text("utf-8")
    listed = {
        line for block in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL) for line in block.split()
    }
    linked = {
        link.removesuffix(".md")
        for link in LINK.findall(FENCE.sub("", text))
        if re.fullmatch(r"[\w-]+\.md", link)
    }
    assert {"promise", "for-lawyers", "publish", "postgres", "recommend"} <= linked
    assert linked <= listed
