"""Audits all models and planted faults, and writes the tables of ``docs/audit.md``: ``make audits``."""

import re
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from hushrec.audit.fits import audit

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "audit.md"
sys.path.insert(0, str(ROOT / "tests"))
from support.audited import CASES, EPSILONS  # noqa: E402
from support.planted import FAULTS  # noqa: E402


def markdown(head, body):
    """A table."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def kept(number):
    """What was found of a model, unit, adjacency and ε: a line of the first table."""
    case, epsilon = RUNS[number]
    found = audit(case.config(), case.budget(epsilon))
    parts = {finding.kind: finding.cells(found.epsilon) for finding in found.findings}
    line = [case.model, case.unit, case.adjacency, f"{epsilon:g}"]
    for part in ("search", "replay", "canary"):
        cells = parts.get(part)
        line += [cells[1], cells[-1]] if cells else ["not audited", ""]
    line[6:8] = line[6:7]  # a replay notices any difference
    heard = any(finding.holds(found.epsilon) for finding in found.findings)
    return [*line, "**refuted**" if not found.holds else "holds" if heard else "not audited"]


def refuted(number):
    """What was found of a planted fault: a line of the second table."""
    fault = FAULTS[number]
    with fault.planted():
        found = audit(fault.config, fault.budget)
    against = [one for one in found.findings if one.holds(found.epsilon) is False]
    said = [": ".join(one.cells(found.epsilon)[:2]) for one in against]
    return [fault.name, type(fault.config).__name__, *fault.protected, "; ".join(said) or "**not found**"]


def listed(pool, made, n):
    """The lines of a table, printed as they are made."""
    for line in pool.map(made, range(n)):
        print(*line, sep=" · ", flush=True)
        yield line


RUNS = [(case, epsilon) for case in CASES for epsilon in EPSILONS]

if __name__ == "__main__":
    heads = "search", "would notice", "replay", "canary", "would notice", "verdict"
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        tables = (
            markdown(["model", "unit", "adjacency", "ε", *heads], listed(pool, kept, len(RUNS))),
            markdown(
                ["planted fault", "model", "unit", "adjacency", "refuted by"],
                listed(pool, refuted, len(FAULTS)),
            ),
        )
    text = "<!-- audits -->\n" + "\n\n".join(tables) + "\n<!-- end of audits -->"
    page = PAGE.read_text("utf-8")
    PAGE.write_text(
        re.sub(r"<!-- audits -->.*<!-- end of audits -->", lambda _: text, page, flags=re.S), "utf-8"
    )
