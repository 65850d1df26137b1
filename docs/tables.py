"""Writes the tables of models into the README and the documentation: ``make tables``.

They follow from the names in ``hushrec``, and from what each class says of itself: what it supports,
and what it is at a glance.
"""

import re
import sys
from functools import cache
from pathlib import Path

import hushrec
from hushrec import models
from hushrec.data import synthetic
from hushrec.data.domain import Domain
from hushrec.data.people import PER_BLOCK
from hushrec.privacy.accounting.budget import Budget
from hushrec.sums.footprint import in_bytes

ROOT = Path(__file__).resolve().parents[1]
STUB = ROOT / "src" / "hushrec" / "__init__.pyi"
TARGETS = (
    ROOT / "README.md",
    *(ROOT / "docs" / f"{page}.md" for page in ("models/index", "large")),
)
SIZED, N_ITEMS, RECORDS_OF_EACH = ("GlobalEffects", "CovarianceSVD", "PrivateEASE"), 10_000, 100
"""Models, catalogue and records per user of the table of memory."""
UNITS = (("record", "replace"), ("record", "add-remove"), ("user", "add-remove"), ("user", "replace"))
_TABLE = re.compile(r"(<!-- table: ([\w ]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def glance(name):
    """What a model or method is at a glance, fact by fact."""
    return models.class_of(name).glance


def rows(names, *facts):
    """A row for each name: the name with its link, then these facts of its page."""
    return [[f"[{name}]({models.page(name)})", *(glance(name)[f] for f in facts)] for name in names]


def groups():
    """Models and methods by what they learn from and protect, with links as in the README."""
    found = {}
    for name in (*models.MODELS, *models.METHODS):
        made = models.class_of(name)
        if name in models.METHODS:
            learns, protects = "ratings, and publishes randomized ones", made.glance["protects"]
        else:
            learns = "clicks, purchases, likes" if made.feedback == "interactions" else "ratings"
            units = sorted({unit for unit, _ in made.supports}, reverse=True)
            protects = " or ".join(f"`{unit}`" for unit in units) or "nothing: not private"
        link = f"[{name}](docs/models/{models.page(name)})"
        found.setdefault((learns, protects), []).append(link)
    return [[*key, ", ".join(links)] for key, links in sorted(found.items())]


def protection():
    """Which units and adjacencies each private model supports, its noise, and whether it lists users."""
    for name in models.MODELS:
        supported = models.class_of(name).supports
        if supported:
            yes = ["yes" if pair in supported else "no" for pair in UNITS]
            first, *rest = rows([name], "noise", "lists users")[0]
            yield [first, *yes, *rest]


def memory():
    """The memory of a fit, in memory and in a folder: what the plan estimates, and the rows themselves."""
    for n in (1_000_000, 10_000_000, 20_000_000, 100_000_000):
        cells = [f"{n:,}"]
        for name in SIZED:
            model, users = models.class_of(name)(), n // RECORDS_OF_EACH
            kind = {"scale": (1, 5, 1)} if model.feedback == "ratings" else {}
            crowd = {"max_users": users, "expected_users": users, "expected_records": n}
            domain = Domain(range(N_ITEMS), **kind, **crowd)
            footprint = model.footprint(
                domain, Budget(epsilon=1, delta=1e-9, unit="user", adjacency="add-remove")
            )
            for held in (n, n if footprint.gathered else min(n, PER_BLOCK)):
                rows = held * (each_record(model.feedback) + each_user(model.feedback) / RECORDS_OF_EACH)
                cells.append(in_bytes(rows + footprint.bytes_held(held, users)))
        yield cells


@cache
def made_up(feedback):
    """A few rows, to see what one takes."""
    make = synthetic.netflix_like if feedback == "ratings" else synthetic.interactions
    return make(1000, N_ITEMS, 10_000, seed=0)


def each_record(feedback):
    """Bytes of one record in memory, without a timestamp."""
    rows = made_up(feedback)
    return sum(column.itemsize for column in (rows.items, rows.values) if column is not None)


def each_user(feedback):
    """Bytes of one user's id and place in memory."""
    rows = made_up(feedback)
    return rows.indptr.itemsize + rows.users.nbytes / rows.n_users


def markdown(head, body):
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *body]
    return "".join(
        "| " + " | ".join(line) + " |\n" if line[0] != "---" else "|---" * len(line) + "|\n" for line in lines
    )


def tables():
    """Every table by its name."""
    pages = dict.fromkeys(models.page(name).partition(".")[0] for name in (*models.MODELS, *models.METHODS))
    units = [f"`{unit}`, {adjacency}" for unit, adjacency in UNITS]
    return {
        "models": markdown(["learns from", "protects", "models"], [*groups()]),
        "pages": "\n".join(["```{toctree}", ":maxdepth: 1", "", *pages, "```\n"]),
        "predictions": markdown(
            ["model", "measures", "predicts by", "paper"],
            rows(models.MODELS, "measures", "predicts by", "paper"),
        ),
        "protection": markdown(["model", *units, "noise", "lists users"], [*protection()]),
        "methods": markdown(
            ["method", "releases", "protects", "mechanism", "paper"],
            rows(models.METHODS, "releases", "protects", "mechanism", "paper"),
        ),
        "memory": markdown(
            ["records", *(f"{name}, {where}" for name in SIZED for where in ("in memory", "in a folder"))],
            memory(),
        ),
    }


def written(text):
    """A page's text with its tables as they should be."""
    made = tables()
    return _TABLE.sub(lambda found: found[1] + made[found[2]] + found[3], text)


def stub():
    """``__init__.pyi``: every public name and its module, for type checkers."""
    places = {name: f".{home}" for name, home in hushrec.HOMES.items()}
    for name, home in hushrec.MODULES.items():
        places[name] = "." + home.removesuffix(name).rstrip(".")
    lines = sorted(f"from {place} import {name} as {name}" for name, place in places.items())
    return (
        '"""Every public name and its module, for type checkers: written by ``make tables``."""\n\n'
        + "\n".join(
            [*lines, "", "__version__: str", "__all__: list[str]"]
            + [f"{table}: dict[str, str]" for table in ("MODELS", "METHODS", "HOMES", "MODULES")]
        )
    )


if __name__ == "__main__":
    STUB.write_text(stub() + "\n", "utf-8")
    for target in TARGETS:
        before = target.read_text("utf-8")
        after = written(before)
        if after != before:
            target.write_text(after, "utf-8")
            print(target.relative_to(ROOT), "written")
    sys.exit(0)
