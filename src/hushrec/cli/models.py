"""``hushrec models``: the models and methods to choose from, and the settings of each."""

import inspect
import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

import hushrec as hr
from hushrec.cli import console, options
from hushrec.models import METHODS, MODELS, class_of, command_name, page

_AT_A_GLANCE = ("predicts by", "releases", "lists users", "paper")


def models(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="One, as --model names it, or module:Class."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """List the models, or show one with its settings."""
    if name is None:
        groups = {title: [facts(one) for one in names] for title, names in _groups().items()}
        if as_json:
            console.print_json(groups)
        else:
            _print_all(groups)
        return
    model_facts = facts(name)
    if as_json:
        console.print_json(model_facts)
    else:
        _print_one(model_facts)


def facts(name: str) -> dict[str, Any]:
    """Return the facts about a model or method, as JSON values."""
    kind: Any = class_of(name)
    public_name = kind.__name__ if kind.__name__ in hr.HOMES else None
    glance = vars(kind).get("glance", {})  # of its own: that of another model is not true of it
    return {
        "name": command_name(kind.__name__) if public_name else name,
        "class": f"hushrec.{public_name}" if public_name else f"{kind.__module__}.{kind.__qualname__}",
        "description": (inspect.getdoc(kind) or "").replace("``", ""),
        "feedback": getattr(kind, "feedback", "ratings"),
        "supports": _supports(kind),
        **{fact.replace(" ", "_"): glance.get(fact, "").replace("`", "") for fact in _AT_A_GLANCE},
        "settings": [{**one._asdict(), "meaning": one.meaning.replace("``", "")} for one in kind.listed()],
        "page": f"docs/models/{page(public_name)}" if public_name else "",
    }


def _groups() -> dict[str, tuple[str, ...]]:
    """Names of models and methods, under what they are."""
    private: dict[str, list[str]] = {"ratings": [], "interactions": []}
    bare: list[str] = []
    for name in MODELS:
        kind: Any = class_of(name)
        (private[kind.feedback] if _supports(kind) else bare).append(name)
    return {
        "Private models of ratings": tuple(private["ratings"]),
        "Private models of clicks, purchases or likes": tuple(private["interactions"]),
        "Methods that release randomized data": METHODS,
        "Not private by themselves: baselines, and models for released data": tuple(bare),
    }


def _supports(kind: Any) -> list[list[str]]:
    return [list(pair) for pair in sorted(kind.supports, reverse=True)]


def _adjacencies(supports: list[list[str]]) -> dict[str, str]:
    by_unit = {
        unit: sorted(adjacency for of, adjacency in supports if of == unit) for unit in ("user", "record")
    }
    return {unit: "both" if len(pairs) == 2 else ", ".join(pairs) for unit, pairs in by_unit.items()}


def _print_all(groups: Mapping[str, list[dict[str, Any]]]) -> None:
    from hushrec.documents.document import Block, Paragraph, Section, Table

    heads = ["name", "unit user", "unit record", "predicts by, or releases"]
    blocks: list[Block] = []
    for title, listed in groups.items():
        rows = [
            (
                model["name"],
                *_adjacencies(model["supports"]).values(),
                model["predicts_by"] or model["releases"],
            )
            for model in listed
        ]
        blocks.append(Section(title, [Table(title, heads, rows, left=len(heads))]))
    told = "Under a unit: the adjacencies that are protected; both are add-remove and replace. "
    told += "hushrec models NAME shows one with its paper and its settings."
    console.show_blocks([*blocks, Paragraph(told)])


def _print_one(model: Mapping[str, Any]) -> None:
    from hushrec.documents.document import Block, Facts, Paragraph, Table

    pairs = "; ".join(f"unit {unit} under {adjacency}" for unit, adjacency in model["supports"])
    about = {
        "learns from": model["feedback"],
        "protects": pairs,
        **{fact: model[fact.replace(" ", "_")] for fact in _AT_A_GLANCE},
        "page": model["page"],
    }
    settings = []
    for setting in model["settings"]:
        default = json.dumps(setting["default"], ensure_ascii=False).strip('"').replace("null", "none")
        settings.append(
            (
                setting["setting"],
                setting["type"],
                "required" if setting["required"] else default,
                setting["meaning"] + (f" (only with {setting['only']})" if setting["only"] else ""),
            )
        )
    blocks: list[Block] = [
        Paragraph(f"{model['name']} ({model['class']})"),
        *(Paragraph(" ".join(text.split())) for text in model["description"].split("\n\n")),
        Facts([(fact, value) for fact, value in about.items() if value]),
        Table("Settings", ("setting", "type", "default", "meaning"), settings, left=4),
    ]
    console.show_blocks(blocks)
