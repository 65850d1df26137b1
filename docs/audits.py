"""Audits all models and planted faults, and writes the tables of both pages: ``make audits``."""

import re
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from hushrec.audit.fits import audit

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"audits": ROOT / "docs" / "audit.md", "planted": ROOT / "lab" / "attacks" / "planted.md"}
sys.path.insert(0, str(ROOT / "tests"))
from support.audited import CASES, EPSILONS  # noqa: E402
from support.planted import FAULTS  # noqa: E402


def markdown(head, body):
    """A table."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def least(noticed):
    """The smallest fault that would have been noticed, in percent; or that none would."""
    percent = re.search(r"([\d.]+) %", noticed)
    return percent[1] if percent else noticed


def kept(number):
    """What was found of a model, unit and adjacency at each ε: a line of the first table."""
    case, short, cells, verdicts = CASES[number], [], [], set()
    for epsilon in EPSILONS:
        found = audit(case.config(), case.budget(epsilon))
        parts = {finding.kind: finding.cells(found.epsilon) for finding in found.findings}
        short += [least(parts["search"][-1])] if "search" in parts else []
        canary = parts.get("canary")
        cells += [canary[1].removeprefix("ε ≥ "), least(canary[-1])] if canary else ["–", "–"]
        heard = any(finding.holds(found.epsilon) for finding in found.findings)
        verdicts.add("**refuted**" if not found.holds else "holds" if heard else "not audited")
    return [
        case.model,
        f"{case.unit}, {case.adjacency}",
        max(short, key=float, default="–"),
        *cells,
        " and ".join(sorted(verdicts)),
    ]


def refuted(number):
    """What was found of a planted fault: a line of the second table."""
    fault = FAULTS[number]
    with fault.planted():
        found = audit(fault.config, fault.budget)
    said = {
        one.kind: brief(one.cells(found.epsilon)[1])
        for one in found.findings
        if one.holds(found.epsilon) is False
    }
    if not said:
        said = {"search": "**not found**"}
    parts = [said.get(part, "") for part in ("search", "replay", "canary")]
    return [fault.name, type(fault.config).__name__, ", ".join(fault.protected), *parts]


def brief(found):
    """A finding in few words: what the neighbour has that the others do not."""
    if found.startswith("only the neighbour fails"):
        return "an error"
    for words in (
        "the neighbour has ",
        "ε ≥ ",
        ": the neighbour lies further away than what was booked",
        ", was not made by the neighbour",
    ):
        found = found.replace(words, "")
    return found


def listed(pool, made, n):
    """The lines of a table, printed as they are made."""
    for line in pool.map(made, range(n)):
        print(*line, sep=" · ", flush=True)
        yield line


if __name__ == "__main__":
    noticed = ["Δ, %", *(f"{head}, ε = {e:g}" for e in EPSILONS for head in ("canary", "noise, %"))]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        tables = {
            "audits": markdown(["model", "protects", *noticed, "verdict"], listed(pool, kept, len(CASES))),
            "planted": markdown(
                ["planted fault", "model", "protects", "search", "replay", "canary"],
                listed(pool, refuted, len(FAULTS)),
            ),
        }
    for name, page in PAGES.items():
        before, _, rest = page.read_text("utf-8").partition(f"<!-- {name} -->")
        after = rest.partition(f"<!-- end of {name} -->")[2]
        page.write_text(f"{before}<!-- {name} -->\n{tables[name]}\n<!-- end of {name} -->{after}", "utf-8")
