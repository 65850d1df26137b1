"""``hushrec models``: the models and methods to choose from, and the settings of each."""

import inspect
import json
from typing import Annotated, Any

import hushrec as hr
from hushrec.cli import console, options
from hushrec.documents.document import Block, Facts, Paragraph, Section, Table
from hushrec.models import METHODS, MODELS, class_of, command_name, page

GLANCE = ("predicts by", "releases", "lists users", "paper")
"""Facts of a model's ``glance`` that are shown."""


@options.of()
def models(
    name: Annotated[str | None, "One, as --model names it, or module:Class."] = None,
) -> None:
    """List the models, or show one with its settings."""
    console.show_blocks(_overview() if name is None else description(name))


def _overview() -> list[Block]:
    """All models and methods, under what they are."""
    groups: dict[str, list[str]] = {
        "Private models of ratings": [],
        "Private models of clicks, purchases or likes": [],
        "Methods that release randomized data": [*METHODS],
        "Not private by themselves: baselines, and models for released data": [],
    }
    ratings, interactions, _, bare = groups.values()
    for name in MODELS:
        kind: Any = class_of(name)
        group = (ratings if kind.feedback == "ratings" else interactions) if kind.supports else bare
        group.append(name)
    heads = ["name", "unit user", "unit record", "predicts by, or releases"]
    blocks: list[Block] = []
    for title, names in groups.items():
        rows = [_row(class_of(name)) for name in names]
        blocks.append(Section(title, [Table(title, heads, rows, left=len(heads))]))
    told = "Under a unit: the adjacencies that are protected; both are add-remove and replace. "
    return [*blocks, Paragraph(f"{told}hushrec models NAME shows one with its paper and its settings.")]


def _row(kind: Any) -> tuple[str, ...]:
    protected = []
    for unit in ("user", "record"):
        adjacencies = sorted(adjacency for of, adjacency in kind.supports if of == unit)
        protected.append("both" if len(adjacencies) == 2 else ", ".join(adjacencies))
    does = kind.glance.get("predicts by") or kind.glance.get("releases", "")
    return command_name(kind.__name__), *protected, does.replace("`", "")


def description(name: str) -> list[Block]:
    """One model or method, with its settings."""
    kind: Any = class_of(name)
    public = kind.__name__ if kind.__name__ in hr.HOMES else None
    called = f"hushrec.{public}" if public else f"{kind.__module__}.{kind.__qualname__}"
    glance = vars(kind).get("glance", {})  # of its own: that of another model is not true of it
    pairs = sorted(kind.supports, reverse=True)
    about = {
        "learns from": getattr(kind, "feedback", "ratings"),
        "protects": "; ".join(f"unit {unit} under {adjacency}" for unit, adjacency in pairs),
        **{fact: glance.get(fact, "").replace("`", "") for fact in GLANCE},
        "page": f"docs/models/{page(public)}" if public else "",
    }
    settings = [
        (
            one.setting,
            one.type,
            "required" if one.required else _default(one.default),
            one.meaning.replace("``", "") + (f" (only with {one.only})" if one.only else ""),
        )
        for one in kind.listed()
    ]
    texts = (inspect.getdoc(kind) or "").replace("``", "").split("\n\n")
    return [
        Paragraph(f"{command_name(public) if public else name} ({called})"),
        *(Paragraph(" ".join(text.split())) for text in texts),
        Facts([(fact, value) for fact, value in about.items() if value]),
        Table("Settings", ("setting", "type", "default", "meaning"), settings, left=4),
    ]


def _default(value: object) -> str:
    return json.dumps(value, ensure_ascii=False).strip('"').replace("null", "none")
