"""Plant faults that nobody thought of: cosmic-ray's, drawn at random from the rooms that make an ε true.

    python tests/mutants/at_random.py [--number N] [--seed S] [--below FOLDER ...]

For a release, by hand: ``faults.toml`` holds what a person would get wrong, this what a machine can. Each
mutation is planted in a copy, like the faults there, and the fast tests of its room and the contracts run
against it. What survives is printed as a difference, to be read: an equal program, a message, a matter of
speed, or a test that is missing. Kernels are left out, because each takes a minute to compile.
"""

import argparse
import difflib
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import run
from cosmic_ray import plugins
from cosmic_ray.mutating import mutate_code

_ROOMS = "privacy", "sums"
_PATIENCE = 1200.0  # seconds: the tests of a room take some five minutes
_BINARY = (
    "Add_Sub",
    "Sub_Add",
    "Mul_Div",
    "Div_Mul",
    "FloorDiv_Mul",
    "Mod_Mul",
    "RShift_LShift",
    "LShift_RShift",
)
_COMPARISONS = "Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is"
_OPERATORS = (
    *(f"ReplaceBinaryOperator_{pair}" for pair in _BINARY),
    *(f"ReplaceComparisonOperator_{pair}" for pair in _COMPARISONS),
    *(f"ReplaceUnaryOperator_Delete_{operator}" for operator in ("USub", "Not")),
    *("ReplaceAndWithOr", "ReplaceOrWithAnd", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue"),
    *("AddNot", "NumberReplacer", "ZeroIterationForLoop"),
)
"""The operators of cosmic-ray that people might mistake; `|` also stands in types, where it does nothing."""


def mutations(root: Path, below: list[str], number: int, draw: random.Random) -> Iterator[run.Fault]:
    """As many mutations as asked for, each at a place drawn evenly from all of one operator in one file."""
    package = root / "src/hushrec"
    files = sorted(path for room in below for path in (package / room).rglob("*.py"))
    sources = {path: path.read_text(encoding="utf-8") for path in files if "kernels" not in str(path)}
    operators = [plugins.get_operator(f"core/{name}") for name in _OPERATORS]
    seen = set[str]()
    while len(seen) < number:
        # A file is drawn by its length, so that every line is as likely.
        [path] = draw.choices([*sources], [len(source) for source in sources.values()])
        after = mutate_code(sources[path], draw.choice(operators)(), draw.randrange(40))
        if after is None or after in seen:
            continue
        seen.add(after)
        file = path.relative_to(package)
        tests = f"tests/{file.parts[0]}", "tests/contracts"
        yield run.Fault("at random", f"{len(seen)} {file}", file.as_posix(), sources[path], after, tests)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    parser.add_argument("--below", nargs="+", default=_ROOMS, help="folders of src/hushrec")
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    faults = [*mutations(run.ROOT, asked.below, asked.number, random.Random(asked.seed))]
    survived = 0
    for result in run.tried(faults, run.ROOT, _PATIENCE):
        print(f"{result.verdict:8} {result.seconds:4.0f} s  {result.fault.name}", flush=True)
        if result.verdict == run.SURVIVED:  # one that cannot be imported is noticed as well
            survived += 1
            lines = (text.splitlines() for text in (result.fault.before, result.fault.after))
            print("\n".join(difflib.unified_diff(*lines, n=2, lineterm="")), flush=True)
    print(f"{len(faults) - survived} of {len(faults)} mutations caught")
    return 0


if __name__ == "__main__":
    sys.exit(main())
