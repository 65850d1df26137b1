"""Frozen settings whose errors list the valid names, and that refuse a setting without effect."""

import re
from collections.abc import Iterator, Mapping, Reversible, Set
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, NamedTuple, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator
from pydantic_core import PydanticUndefined

from hushrec.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Only:
    """The mark of a setting that has an effect only if another setting, or a public fact, has certain values.

    ``learning_rate: Annotated[float, only(solver="sgd")] = 0.02``; the facts are ``unit`` and ``adjacency``
    of the budget.

    Attributes:
        where: name of the other setting or fact → the values under which the marked one has an effect.
    """

    where: Mapping[str, tuple[object, ...]]


def only(**where: object) -> Only:
    """Mark a setting; a tuple lists several values, and ``a__b`` is the setting b of a."""
    values = {name: value if isinstance(value, tuple) else (value,) for name, value in where.items()}
    return Only({name.replace("__", "."): allowed for name, allowed in values.items()})


class Setting(NamedTuple):
    """A setting's entry in help and documentation.

    Attributes:
        setting: its path, ``covariance.clip``.
        type: its type, as written in the source.
        required: whether it has no default.
        default: a JSON value; None also if it is required, or chosen from public facts.
        meaning: its docstring.
        only: the values of other settings under which it has an effect; "" if always.
    """

    setting: str
    type: str
    required: bool
    default: Any
    meaning: str
    only: str


class Frozen(BaseModel):
    """Base class of nested settings: immutable, without unknown names; each has a docstring below it."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _as_given(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuse what pydantic would convert: text or truth values to numbers, and sets to an order."""
        if is_unordered(value):
            raise ValueError("a set has another order in each process; give a list, such as sorted(...)")
        kinds = _kinds(cls.model_fields[info.field_name or ""].annotation)
        odd = (cell for cell in _cells(value) if isinstance(cell, str | bool) and type(cell) not in kinds)
        if {int, float} & kinds and next(odd, None) is not None:
            raise ValueError("give a number, not text or a truth value")
        return value

    @classmethod
    def listed(cls, outer: str = "") -> Iterator[Setting]:
        """List every setting, nested ones by their path."""
        for name, field in cls.model_fields.items():
            default = field.get_default(call_default_factory=True)
            if isinstance(default, Frozen):
                yield from default.listed(f"{outer}{name}.")
                continue
            marks = (mark.where.items() for mark in field.metadata if isinstance(mark, Only))
            yield Setting(
                f"{outer}{name}",
                _type(field.annotation),
                field.is_required(),
                None if default is PydanticUndefined else _plain(default),
                " ".join((field.description or "").split()),
                " and ".join(f"{other} {' or '.join(map(str, v))}" for mark in marks for other, v in mark),
            )

    def idle(self, **facts: object) -> Iterator[tuple[str, str]]:
        """List settings without effect, including nested ones, each with the reason.

        Args:
            facts: ``unit`` and ``adjacency``; a condition on a fact that is not given counts as met.
        """
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            reasons = [self._unmet(mark, facts) for mark in field.metadata if isinstance(mark, Only)]
            if reason := " and ".join(filter(None, reasons)):
                yield name, reason
            elif isinstance(value, Frozen):
                yield from ((f"{name}.{inner}", reason) for inner, reason in value.idle(**facts))

    def is_set(self, path: str) -> bool:
        """Check whether a setting, by its path from here, was passed and not left at its default."""
        name, _, rest = path.partition(".")
        return name in self.model_fields_set and (not rest or getattr(self, name).is_set(rest))

    def _unmet(self, mark: Only, facts: Mapping[str, object]) -> str:
        unmet = []
        for name, allowed in mark.where.items():
            is_setting = name.partition(".")[0] in type(self).model_fields
            if not is_setting and name not in facts:
                continue
            value = attrgetter(name)(self) if is_setting else facts[name]
            if value not in allowed:
                unmet.append(f"{name} {value!r}" if isinstance(value, str) else f"{name} = {value}")
        return " and ".join(unmet)


class Settings(Frozen):
    """Base class of the settings of a model or a release method."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    def __init__(self, **settings: object) -> None:
        try:
            super().__init__(**settings)
        except ValidationError as error:
            parts = (
                f"{'.'.join(map(str, e['loc']))}: {e['msg'].removeprefix('Value error, ')}"
                for e in error.errors()
            )
            valid = ", ".join(type(self).model_fields)
            raise ConfigError(
                f"invalid settings for {type(self).__name__}: {'; '.join(parts)}; valid settings are {valid}"
            ) from None
        self.require_effect()

    def require_effect(self, **facts: object) -> None:
        """Refuse settings that were given but have no effect.

        Args:
            facts: ``unit`` and ``adjacency``, if known.
        """
        for path, reason in self.idle(**facts):
            if self.is_set(path):
                raise ConfigError(
                    f"{type(self).__name__}: {path} has no effect with {reason}; leave it out, or change that"
                )

    def settings(self) -> dict[str, Any]:
        """Return all settings that affect the release, as JSON values."""
        values = self.model_dump(mode="json")
        for path, _ in self.idle():
            *outer, last = path.split(".")
            place = values
            for name in outer:
                place = place[name]
            place.pop(last, None)
        return values


def is_unordered(values: object) -> bool:
    """Return True for a set, whose order is another in each process.

    Views of a mapping have its order. An iterator over a set looks like any other.
    """
    return isinstance(values, Set) and not isinstance(values, Reversible)


def _kinds(annotation: Any) -> set[Any]:
    """Return the types of the cells that an annotation allows: of a mapping those of its values."""
    if get_origin(annotation) is Literal:
        return {*map(type, get_args(annotation))}
    inner = get_args(annotation)[1 if get_origin(annotation) in (Mapping, dict) else 0 :]
    return set().union(*map(_kinds, inner)) if inner else {annotation}


def _cells(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _cells(inner)
    else:
        yield value


def _type(annotation: Any) -> str:
    """Write a type without modules; of a choice its values."""
    plain = getattr(annotation, "__name__", "") if isinstance(annotation, type) else ""
    if not plain or get_args(annotation):
        plain = re.sub(r"\b(?:\w+\.)+(?=\w)", "", str(annotation))
    choice = re.fullmatch(r"Literal\[(.*)\]", plain)
    return choice[1].replace("'", "") if choice else plain


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value
