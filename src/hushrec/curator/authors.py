"""Who vouches for what a plan declares: hushrec, or the author of other code.

Detection uses the module that a class says it was defined in. It guards against accidents only: code in the
same process can claim anything, and can change hushrec itself.
"""

from collections.abc import Iterator
from dataclasses import replace

from pydantic import BaseModel

from hushrec.data.domain import Domain
from hushrec.privacy.accounting.plan import Plan
from hushrec.settings import Settings


def name_authors(plan: Plan, model: Settings, domain: Domain) -> Plan:
    """The plan with the names of the classes outside hushrec that it depends on.

    Args:
        plan: what ``model`` would measure.
        model: settings of a model, or of a method that releases data.

    Returns:
        The plan, unchanged if it depends on hushrec only.
    """
    parts = (model, *_nested(model), domain, plan, *plan.measurements)
    names = tuple(dict.fromkeys(name for part in parts for name in outsiders(type(part))))
    return replace(plan, foreign=names) if names else plan


def outsiders(kind: type) -> Iterator[str]:
    """Names of the outside classes by which a hushrec class was extended, if any.

    Classes that hushrec's own classes inherit from other packages do not count; nor do classes that inherit
    nothing from hushrec.
    """
    ours = [parent for parent in kind.__mro__ if _of_hushrec(parent)]
    ancestors = {ancestor for parent in ours for ancestor in parent.__mro__}
    for parent in kind.__mro__ if ours else ():
        if parent not in ancestors:
            yield _printable(f"{parent.__module__}.{parent.__qualname__}")


def _nested(settings: BaseModel) -> Iterator[object]:
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        yield value
        if isinstance(value, BaseModel):
            yield from _nested(value)


def _of_hushrec(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "hushrec"


def _printable(name: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
