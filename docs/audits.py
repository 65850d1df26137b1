"""Audits all models and planted faults, and writes the tables of ``docs/audit.md``: ``make audits``."""

import re
import sys
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


def kept():
    """What was found of every model, unit and adjacency."""
    for case in CASES:
        for epsilon in EPSILONS:
            found = audit(case.config(), case.budget(epsilon))
            for finding in found.findings:
                yield [case.model, case.unit, case.adjacency, f"{epsilon:g}", *finding.cells()]
            print(found, end="\n\n", flush=True)


def refuted():
    """What was found of every planted fault."""
    for fault in FAULTS:
        with fault.planted():
            found = audit(fault.config, fault.budget)
        said = [f"{finding.part}: {finding.found}" for finding in found.findings if finding.holds is False]
        yield [fault.name, type(fault.config).__name__, *fault.protected, "; ".join(said) or "**not found**"]
        print(*said or ["not found"], fault, sep=" · ", flush=True)


if __name__ == "__main__":
    heads = "part", "found", "claimed", "verdict", "confidence", "would notice"
    tables = (
        markdown(["model", "unit", "adjacency", "ε", *heads], kept()),
        markdown(["planted fault", "model", "unit", "adjacency", "refuted by"], refuted()),
    )
    text = "<!-- audits -->\n" + "\n\n".join(tables) + "\n<!-- end of audits -->"
    page = PAGE.read_text("utf-8")
    PAGE.write_text(
        re.sub(r"<!-- audits -->.*<!-- end of audits -->", lambda _: text, page, flags=re.S), "utf-8"
    )
