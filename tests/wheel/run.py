"""Builds the wheel, installs it bare and with the extra ``curator``, and tries both, away from the sources.

Run as ``python tests/wheel/run.py``; it prints sizes and seconds, and exits with 1 if something is missing.
"""

import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PIP = ("-m", "pip", "--quiet", "--quiet", "--disable-pip-version-check")
CLIENT = """
import sys
import hushrec as hr
client = hr.Client(sys.argv[1])
print(client.release.statement.sentence)
found = client.recommend(list(client.release.items)[:3], n=5)
assert len(found) == 5, found
print("A list:", *(row.item_id for row in found))
assert "site-packages" in hr.__file__, hr.__file__
from hushrec.documents import html
from hushrec.documents.schema import statement_schema
assert "Alice" in html.page(client.release.document())
assert "properties" in statement_schema()
damaged = bytearray(open(sys.argv[1], "rb").read())
damaged[-1] ^= 1
open("damaged.safetensors", "wb").write(damaged)
for error, refused in {
    "ReleaseError": lambda: hr.Client("damaged.safetensors"), "ExtraMissing": lambda: hr.fit
}.items():
    try:
        refused()
    except hr.errors.HushrecError as message:
        assert type(message).__name__ == error, message
        print(message)
    else:
        sys.exit(f"no {error}")
"""
ADVICE = "pip install 'hushrec[curator]'"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        away = Path(folder)
        wheel = built(away / "dist")
        missing, foreign = differing(names(wheel), tracked())
        if missing or foreign:
            sys.exit(f"the wheel lacks {missing} and has {foreign}, which git does not know")
        print(f"wheel                    {wheel.stat().st_size / 1e3:8,.0f} kB, {len(names(wheel))} files")
        whole = installed(away / "whole", f"{wheel}[curator]")
        hushrec = str(whole.with_name("hushrec"))
        print(shown(hushrec, "--version", cwd=away).strip())
        print(shown(hushrec, "demo", "--quick", cwd=away).strip().splitlines()[-1])
        print(f"hushrec --help           {fastest(hushrec, '--help', cwd=away):8.2f} s")
        bare = installed(away / "bare", str(wheel))
        release = next(away.glob("**/release-eps1.safetensors"))
        print(shown(str(bare), "-c", CLIENT, str(release), cwd=away).strip())
        command = subprocess.run([bare.with_name("hushrec"), "fit"], capture_output=True, text=True, cwd=away)
        if command.returncode != 1 or not command.stderr.endswith(f"{ADVICE}\n"):
            sys.exit(f"a command of a bare install says {command.stderr}")
        print(command.stderr.strip())


def installed(folder: Path, requirement: str) -> Path:
    """The interpreter of a new environment with hushrec; prints what the install took."""
    python = environment(folder)
    start = time.perf_counter()
    run(python, *PIP, "install", requirement)
    seconds = time.perf_counter() - start
    own, others = sizes(python)
    print(f"install, {folder.name:<15} {seconds:8.0f} s")
    print(f"installed: hushrec       {own / 1e6:8.1f} MB")
    print(f"installed: dependencies  {others / 1e6:8.0f} MB")
    seconds, empty = (fastest(str(python), "-c", code, cwd=folder) for code in ("import hushrec", ""))
    print(f"import hushrec           {seconds:8.2f} s, {empty:.2f} of it Python")
    return python


def built(folder: Path) -> Path:
    """The wheel of the working tree."""
    run(Path(sys.executable), *PIP, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    return next(folder.glob("hushrec-*.whl"))


def names(wheel: Path) -> set[str]:
    """Files of the package in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def tracked() -> set[str]:
    """Files of the package that git knows."""
    listed = subprocess.run(
        ["git", "ls-files", "src/hushrec"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {name.removeprefix("src/") for name in listed.stdout.splitlines()}


def differing(packed: set[str], known: set[str]) -> tuple[list[str], list[str]]:
    """What a wheel lacks, and what it has too much."""
    return sorted(known - packed), sorted(packed - known)


def environment(folder: Path) -> Path:
    """The interpreter of an empty environment."""
    run(Path(sys.executable), "-m", "venv", str(folder))
    return folder / "bin" / "python"


def sizes(python: Path) -> tuple[int, int]:
    """Bytes of hushrec, and of all else that was installed but pip."""
    packages = next(python.parents[1].glob("lib/*/site-packages"))
    own = others = 0
    for file in packages.rglob("*"):
        if file.is_file():
            part = file.relative_to(packages).parts[0]
            own += file.stat().st_size * part.startswith("hushrec")
            others += file.stat().st_size * (not part.startswith(("hushrec", "pip")))
    return own, others


def fastest(*command: str, cwd: Path) -> float:
    """Seconds of the fastest of five starts."""
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        shown(*command, cwd=cwd)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def run(python: Path, *arguments: str, cwd: Path | None = None) -> None:
    shown(str(python), *arguments, cwd=cwd)


def shown(*command: str, cwd: Path | None = None) -> str:
    """What a command prints, in an environment that knows nothing of the sources."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, env=kept, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
