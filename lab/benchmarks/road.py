"""How many modules a population's data and ε pass through during a fit, counted while it runs.

    [PYTHONPATH=OTHER/src] python -m lab bench road [--model GlobalEffects ...] [--list]

**Data**, through ``hr.fit(data, model, budget, ledger=...)``. A function *holds* data if an argument or a
local is people, a population or an engine, or an object of hushrec with one of them as an attribute. *Rooms*
are the modules of functions that hold data and of those that they call. Among functions that hold data,
*stays* are the longest runs of calls and returns in one module, and *climbs* the calls that reach a higher
layer (of pyproject.toml) than the call before.

**ε**, through ``hushrec fit``. *Names* are the pairs of a module and an argument, a local, or an attribute of
an object of hushrec in one, whose value is ε (as number, text or units) or a budget with this ε; *modules*
are those of the pairs, and *words* the different last parts of the names.

A first fit, of other data with another ε, imports, compiles and fills caches. Only Python's functions are
counted, no compiled kernels. ``--list`` prints what was counted.
"""

import os

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

import argparse
import random
import re
import sys
import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path
from types import FrameType

from typer.testing import CliRunner

import hushrec as hr
from hushrec.cli.app import app

SOURCE = Path(hr.__file__).parent
MODELS = "GlobalEffects", "CovarianceSVD"
PEOPLE = {"Feedback", "InBlocks", "Population", "Weighed", "Memory", "BlockFiles", "SparkRows"}
"""Classes of data and engines; a subclass counts as its base. ``held`` of ``--list`` shows what was met."""
EPSILON, OTHER = 1.2345678, 2.5
VALUES = {float: EPSILON, str: str(EPSILON), int: int(EPSILON * 1e12)}
"""What ε is as each type; an integer counts units of 1e-12."""
TERMS = {"delta": 1e-6, "unit": "user", "adjacency": "add-remove"}


@dataclass
class Call:
    """A call of a function of hushrec, with the one that called it."""

    module: str
    function: str
    caller: "Call | None"
    holds: bool = False


@dataclass
class Trace:
    """The calls in their order, what runs after each call and return, and what was met there."""

    calls: list[Call] = field(default_factory=list)
    running: list[Call] = field(default_factory=list)
    held: set[str] = field(default_factory=set)
    names: set[tuple[str, str]] = field(default_factory=set)


def fields(thing: object) -> list[tuple[str, object]]:
    """What an object of hushrec has as attributes, without running a property."""
    kind = type(thing)
    if not kind.__module__.startswith("hushrec.") or isinstance(thing, type):
        return []
    if isinstance(thing, tuple):
        return list(zip(kind._fields, thing, strict=True)) if hasattr(kind, "_fields") else []
    slots = {slot for base in kind.__mro__ for slot in base.__dict__.get("__slots__", ())}
    inside = [(slot, getattr(thing, slot)) for slot in slots - {"__dict__"} if hasattr(thing, slot)]
    return inside + list(getattr(thing, "__dict__", {}).items())


def people(thing: object) -> bool:
    bases = type(thing).__mro__
    return any(base.__name__ in PEOPLE and base.__module__.startswith("hushrec.") for base in bases)


def epsilon(thing: object) -> bool:
    if type(thing).__name__ == "Budget":
        return vars(thing).get("epsilon") == EPSILON
    return type(thing) in VALUES and VALUES[type(thing)] == thing


def note(trace: Trace, call: Call, frame: FrameType) -> None:
    """See what a function has in hand, when it begins and when it ends."""
    for name, value in frame.f_locals.items():
        inside = fields(value)
        if people(value) or any(people(one) for _, one in inside):
            call.holds = True
            trace.held.add(type(value).__name__)
        if epsilon(value):
            trace.names.add((call.module, name))
        else:
            named = {f"{type(value).__name__}.{key}" for key, one in inside if epsilon(one)}
            trace.names |= {(call.module, name) for name in named}


def traced(work: Callable[[], object]) -> Trace:
    """What runs of hushrec on this thread; code of other packages between two calls is passed over."""
    trace, stack = Trace(), []

    def hook(frame: FrameType, event: str, _: object) -> None:
        file, code = frame.f_code.co_filename, frame.f_code
        if not file.startswith(f"{SOURCE}/") or code.co_name == "<module>":
            return
        if event == "call":
            module = ".".join(Path(file).relative_to(SOURCE).with_suffix("").parts)
            stack.append(Call(module, code.co_qualname, stack[-1] if stack else None))
            trace.calls.append(stack[-1])
            note(trace, stack[-1], frame)
        elif event == "return":
            note(trace, stack.pop(), frame)
        trace.running += stack[-1:] if event in ("call", "return") else []

    sys.setprofile(hook)
    try:
        work()
    finally:
        sys.setprofile(None)
    return trace


def layers() -> dict[str, int]:
    """The place of each top-level name in the layers, 0 for the highest."""
    settings = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    rows = next(one["layers"] for one in contracts if one["id"] == "layers")
    return {name: place for place, row in enumerate(rows) for name in re.findall(r"\w+", row)}


def counted(trace: Trace) -> dict[str, list[str]]:
    place, held = layers(), [call for call in trace.calls if call.holds]
    layer = {call.module: place[call.module.split(".")[0]] for call in held}
    climbs = [(old, new) for old, new in pairwise(held) if layer[new.module] < layer[old.module]]
    called = [call for call in trace.calls if call.caller and call.caller.holds]
    return {
        "rooms": sorted({call.module for call in held + called}),
        "stays": [module for module, _ in groupby(call.module for call in trace.running if call.holds)],
        "climbs": [f"{old.module} {old.function} → {new.module} {new.function}" for old, new in climbs],
    }


def written(folder: Path, seed: int) -> tuple[Path, Path]:
    """A file of made-up ratings by 400 users of 60 items, and the file of their domain."""
    rng, items = random.Random(seed), [f"item-{number}" for number in range(60)]
    rows = [f"u{user},{item},{rng.randint(1, 5)}" for user in range(400) for item in rng.sample(items, 15)]
    (folder / "ratings.csv").write_text("user_id,item_id,rating\n" + "\n".join(rows) + "\n")
    hr.Domain(items, scale=(1, 5, 1), max_users=1_000).save(folder / "domain.json")
    return folder / "ratings.csv", folder / "domain.json"


def fit(model: str, epsilon: float, seed: int) -> Trace:
    """The library's fit; only it is traced, not the loading."""
    with tempfile.TemporaryDirectory() as folder:
        ratings, declared = written(Path(folder), seed)
        domain, budget = hr.Domain.open(declared), hr.Budget(epsilon=epsilon, **TERMS)
        data, ledger = hr.load(ratings, domain), Path(folder) / "ledger.db"
        hr.Ledger.create(ledger, budget, domain=domain.digest)
        return traced(lambda: hr.fit(data, getattr(hr, model)(), budget, ledger=ledger))


def command(model: str, epsilon: float, seed: int) -> Trace:
    """The command line's fit, in this process."""
    with tempfile.TemporaryDirectory() as folder:
        ratings, domain = written(Path(folder), seed)
        named = {"domain": domain, "epsilon": epsilon, **TERMS, "ledger": Path(folder) / "ledger.db"}
        named |= {"out": Path(folder) / "made.safetensors", "model": hr.registry.command_name(model)}
        options = [text for name, value in named.items() for text in (f"--{name}", str(value))]
        words = ["fit", str(ratings), "--new-ledger", *options]
        return traced(lambda: CliRunner().invoke(app, words, catch_exceptions=False))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", nargs="+", default=MODELS)
    parser.add_argument("--list", action="store_true")
    asked = parser.parse_args()
    for model in asked.model:
        fit(model, OTHER, seed=1), command(model, OTHER, seed=1)
        data, names = fit(model, EPSILON, seed=2), sorted(command(model, EPSILON, seed=2).names)
        lists = counted(data) | {"names": [": ".join(pair) for pair in names]}
        lists["modules"] = sorted({module for module, _ in names})
        lists["words"] = sorted({name.split(".")[-1] for _, name in names})
        print(model, *(f"{len(found)} {name}" for name, found in lists.items()), sep=", ")
        for name, found in (lists | {"held": sorted(data.held)}).items() if asked.list else ():
            print(f"  {name}", *found, sep="\n    ")


if __name__ == "__main__":
    main()
