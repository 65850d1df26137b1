"""Writes the tables of models into the README and the documentation: ``make tables``.

They follow from the registry, from what each class supports, from the table *at a glance* on each page, and
from the code of the algorithms.
"""

import ast
import inspect
import json
import re
import sys
from pathlib import Path
from textwrap import dedent

from hushrec import registry

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "models"
TARGETS = (
    ROOT / "README.md",
    *(PAGES / f"{page}.md" for page in ("index", "algorithms")),
    *(ROOT / "docs" / f"{page}.md" for page in ("reference", "tour")),
)
GLANCES = ROOT / "src" / "hushrec" / "cli" / "glances.json"
"""What ``hushrec models`` shows of the pages, which are not installed with the package."""
OTHERS = ("algorithms", "errata")
"""Pages of the folder that are not of one model or method."""
UNITS = (("rating", "replace"), ("rating", "add-remove"), ("user", "add-remove"), ("user", "replace"))
_GLANCE = re.compile(r"^\| at a glance \| \|\n\|---\|---\|\n((?:\|.*\|\n)+)", re.MULTILINE)
_TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def glance(name):
    """What a page says at a glance, fact by fact."""
    page = PAGES / f"{registry.file_name(name)}.md"
    found = _GLANCE.search(page.read_text("utf-8"))
    if found is None:
        raise SystemExit(f"{page.relative_to(ROOT)} has no table that begins | at a glance | |")
    return dict(re.match(r"\| (.*?) \| (.*) \|$", line).groups() for line in found[1].splitlines())


def glances():
    """The table *at a glance* of every page, as JSON."""
    both = (*registry.MODELS, *registry.METHODS)
    return json.dumps({name: glance(name) for name in both}, indent=1, ensure_ascii=False) + "\n"


def rows(names, *facts):
    """A row for each name: the name with its link, then these facts of its page."""
    return [[f"[{name}]({registry.file_name(name)}.md)", *(glance(name)[f] for f in facts)] for name in names]


def protection():
    """Which units and adjacencies each private model supports, its noise, and whether it lists users."""
    for name in registry.MODELS:
        supported = registry.class_of(name).supports
        if supported:
            yes = ["yes" if pair in supported else "no" for pair in UNITS]
            first, *rest = rows([name], "noise", "lists users")[0]
            yield [first, *yes, *rest]


def release_of(name):
    """The source of a model's ``release``, and of what it leaves to the model's own ``_finished``."""
    made = registry.class_of(name)
    methods = [made.release, *([made._finished] if hasattr(made, "_finished") else [])]
    return "\n".join(dedent(inspect.getsource(method)) for method in methods)


def algorithms(names):
    """Every model's equation, the first part of its docstring, and the code of its release."""
    for name in names:
        made = registry.class_of(name)
        said = inspect.getdoc(made).split("\n\nArgs:")[0].split("\n\nPrivacy:")[0]
        file = Path(inspect.getsourcefile(made)).relative_to(ROOT / "src" / "hushrec")
        yield f"### {name}\n\n`{file}`\n\n```text\n{said}\n```\n\n```python\n{release_of(name)}```\n"


def rooms():
    """Every package with its rule, the docstring of its ``__init__``, from the top of the layers down."""
    source = ROOT / "src" / "hushrec"
    layers = re.search(r"^layers = \[\n(.*?)^\]", (ROOT / "pyproject.toml").read_text("utf-8"), re.S | re.M)[
        1
    ]
    for room in re.findall(r"\w+", layers):
        for folder in sorted(path.parent for path in (source / room).rglob("__init__.py")):
            rule = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8")))
            yield [
                f"`{folder.relative_to(source)}/`",
                " ".join(rule.split("\n\n")[0].split()).replace("``", "`"),
            ]


def markdown(head, body):
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *body]
    return "".join(
        "| " + " | ".join(line) + " |\n" if line[0] != "---" else "|---" * len(line) + "|\n" for line in lines
    )


def classes(names):
    """The reference of classes."""
    return "```{eval-rst}\n" + "".join(f".. autoclass:: hushrec.{n}\n" for n in names) + "```\n"


def tables():
    """Every table by its name."""
    both = (*registry.MODELS, *registry.METHODS)
    units = [f"`{unit}`, {adjacency}" for unit, adjacency in UNITS]
    in_readme = rows(both, "paper")
    for row in in_readme:
        row[0] = row[0].replace("(", "(docs/models/")
        row.insert(
            1, next(filter(None, map(glance(row[0][1:].split("]")[0]).get, ("predicts by", "releases"))))
        )
    return {
        "models": markdown(["model or method", "predicts by, or releases", "paper"], in_readme),
        "pages": "\n".join(
            ["```{toctree}", ":maxdepth: 1", "", *map(registry.file_name, both), *OTHERS, "```\n"]
        ),
        "predictions": markdown(
            ["model", "measures", "predicts by"], rows(registry.MODELS, "measures", "predicts by")
        ),
        "protection": markdown(["model", *units, "noise", "lists users"], [*protection()]),
        "methods": markdown(
            ["method", "releases", "protects", "mechanism"],
            rows(registry.METHODS, "releases", "protects", "mechanism"),
        ),
        "algorithms": "\n".join(algorithms(registry.MODELS)),
        "rooms": markdown(["package", "rule"], [*rooms()]),
        "classes": classes(registry.MODELS),
    }


def written(text):
    """A page's text with its tables as they should be."""
    made = tables()
    return _TABLE.sub(lambda found: found[1] + made[found[2]] + found[3], text)


if __name__ == "__main__":
    for target in (*TARGETS, GLANCES):
        before = target.read_text("utf-8")
        after = glances() if target == GLANCES else written(before)
        if after != before:
            target.write_text(after, "utf-8")
            print(target.relative_to(ROOT), "written")
    sys.exit(0)
