"""Options that go together: a command takes them as one value, and its command line as one option each."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar, get_type_hints

Returned = TypeVar("Returned")


@dataclass(frozen=True, kw_only=True)
class Group:
    """Base class of groups: a frozen dataclass, whose fields are annotated as Typer's parameters are."""


def grouped(command: Callable[..., Returned]) -> Callable[..., Returned]:
    """Offer each field of a command's groups as an option of its own.

    Typer reads a command's signature. It is shown one in which every parameter that is a ``Group`` is
    replaced by the group's fields; when the command runs, the groups are made of what was given.
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {
        name: kind for name, kind in hints.items() if isinstance(kind, type) and issubclass(kind, Group)
    }
    offered: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        kind = groups.get(parameter.name)
        inside = signature(kind, eval_str=True).parameters.values() if kind else [parameter]
        offered += [one.replace(kind=Parameter.KEYWORD_ONLY) for one in inside]

    @wraps(command)
    def gathered(**values: Any) -> Returned:
        instances = {name: kind(**_taken(values, kind)) for name, kind in groups.items()}
        return command(**values, **instances)

    shown: Any = gathered
    shown.__signature__ = Signature(offered)
    shown.__annotations__ = {one.name: one.annotation for one in offered}
    return gathered


def _taken(values: dict[str, Any], kind: type[Group]) -> dict[str, Any]:
    return {field.name: values.pop(field.name) for field in fields(kind)}
