"""Plant faults in a copy of the source, one at a time, and see whether the tests that should notice do.

    python tests/mutants/run.py [--faults FILE] [--root FOLDER] [--only WORD]

Every fault names the text that it replaces, which must stand exactly once in its file, and the fast tests
that must fail, by function. All of them are run on a copy without a fault first: where one fails there,
nothing is known. The exit status is 0 where every fault was caught, 1 where one survived, 2 where the list or
the tests cannot be used.
"""

import argparse
import itertools
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CAUGHT, SURVIVED, UNUSABLE = "caught", "survived", "unusable"
_VERDICTS = {0: SURVIVED, 1: CAUGHT}  # of pytest's exit status; any other is no verdict
PATIENCE = 300.0  # seconds that a fault's tests may take
_FAST = "not full and not page and not postgres and not spark"
_WORKERS = 2


def place(file: str) -> str:
    """Where a fault's file lies in the tree: in the package, or in the laboratory beside it."""
    return file if file.startswith("lab/") else f"src/hushrec/{file}"


class Unusable(Exception):
    """The list, or the tests that it names, can tell nothing."""


@dataclass(frozen=True)
class Fault:
    """One line that is wrong, and who must notice."""

    area: str
    name: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Result:
    """What became of a fault."""

    fault: Fault
    verdict: str
    seconds: float
    said: str


def listed(path: Path, root: Path) -> list[Fault]:
    """The faults of a file, every one of them checked against the source and the tests there are."""
    try:
        areas = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:  # a name that is there twice, too
        raise Unusable(f"{path}: {error}") from error
    faults = [
        Fault(area, name, file, before, after, tuple(tests))
        for area, of_area in areas.items()
        for name, (file, before, after, *tests) in of_area.items()
    ]
    wrong = []
    for fault in faults:
        source = root / place(fault.file)
        times = source.read_text(encoding="utf-8").count(fault.before) if source.exists() else 0
        if times != 1:
            wrong.append(f"{fault.name}: its text stands {times} times in {fault.file}, and not once")
        if fault.before == fault.after or not fault.tests:
            wrong.append(f"{fault.name}: it changes nothing, or names no test")
        wrong += [f"{fault.name}: {test} is not there" for test in fault.tests if not _stands(root, test)]
    if wrong or not faults:
        raise Unusable("\n".join(wrong) or "no fault is listed")
    return faults


def _stands(root: Path, test: str) -> bool:
    """Whether a test is there: ``file::function``, or all tests of a file."""
    file, _, function = test.partition("::")
    source = root / file
    return source.is_file() and (not function or f"def {function}(" in source.read_text(encoding="utf-8"))


class Worker:
    """A copy of the source in which one fault at a time is planted, and the tests run against it."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root, self._folder, self._times = root, folder, itertools.count(1)
        self._copy = folder / "src"
        shutil.copytree(root / "src", self._copy, ignore=shutil.ignore_patterns("__pycache__"))
        self._lab = (root / "lab").is_dir()
        if self._lab:
            left_out = shutil.ignore_patterns("__pycache__", "tests")
            shutil.copytree(root / "lab", folder / "lab", ignore=left_out)
        found = self._python("-c", "import hushrec; print(hushrec.__file__)")
        if Path(found.stdout.strip()) != self._copy / "hushrec/__init__.py":
            raise Unusable(f"the copy is not what Python imports: {found.stdout}{found.stderr}")

    def sound(self, tests: Iterable[str]) -> None:
        """Run tests where there is no fault: they must pass."""
        verdict, said = self._tested(tests, patience=None)
        if verdict != SURVIVED:
            raise Unusable(f"these tests do not pass without a fault:\n{said}")

    def planted(self, fault: Fault, patience: float) -> Result:
        """Plant a fault, run its tests, and take it out again."""
        path, began = self._folder / place(fault.file), time.monotonic()
        right, stamp = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(right.replace(fault.before, fault.after), encoding="utf-8")
        # Compiled code is recognised by the second and the size of its source: let no two be alike.
        later = stamp.st_mtime + 10 * next(self._times)
        os.utime(path, (later, later))
        try:
            verdict, said = self._tested(fault.tests, compiled="numba" not in right, patience=patience)
        finally:
            path.write_text(right, encoding="utf-8")
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        return Result(fault, verdict, time.monotonic() - began, said)

    def _tested(
        self, tests: Iterable[str], *, patience: float | None, compiled: bool = True
    ) -> tuple[str, str]:
        """A verdict and what pytest printed.

        Without ``compiled`` every kernel is compiled anew: those that call a changed one hold a copy of it.
        """
        with tempfile.TemporaryDirectory(dir=self._folder) as fresh:
            cache = self._folder / "compiled" if compiled else Path(fresh) / "compiled"
            # The laboratory is a plugin, to be there before a test's folder brings the tree's own.
            options = ["-x", "-q", "-m", _FAST, "--tb=line", f"--basetemp={fresh}/tests"]
            options += ["-p", "no:cacheprovider", *(("-p", "lab") if self._lab else ())]
            done = self._python("-m", "pytest", *options, *tests, cache=cache, patience=patience)
        if done.returncode == -signal.SIGKILL:
            return CAUGHT, "it did not end"
        return _VERDICTS.get(done.returncode, UNUSABLE), done.stdout + done.stderr

    def _python(
        self, *arguments: str, cache: Path | None = None, patience: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        places = {
            "PYTHONPATH": f"{self._copy}{os.pathsep}{self._folder}",
            "PYTHONSAFEPATH": "1",  # not the laboratory of the current folder
            "PYTHONDONTWRITEBYTECODE": "",  # many processes read the same files
            "NUMBA_CACHE_DIR": str(cache or self._folder / "compiled"),
            "HYPOTHESIS_STORAGE_DIRECTORY": str(self._folder / "hypothesis"),
        }
        command = [sys.executable, *arguments]
        process = subprocess.Popen(
            command,
            cwd=self._root,
            env={**os.environ, **one, **places},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
        return subprocess.CompletedProcess(command, process.returncode, out, err)


def tried(faults: list[Fault], root: Path, patience: float = PATIENCE) -> Iterator[Result]:
    """Every fault's result, as it comes: two at a time, each half of the tests on a sound copy first.

    Args:
        patience: seconds; a test that takes longer under a fault has noticed it.
    """
    tests = sorted({test for fault in faults for test in fault.tests})
    waiting: queue.SimpleQueue[Fault] = queue.SimpleQueue()
    for fault in sorted(faults, key=lambda fault: fault.tests):
        waiting.put(fault)
    results: queue.SimpleQueue[Result | None] = queue.SimpleQueue()
    stopped = threading.Event()

    def work(number: int, folder: Path) -> None:
        try:
            worker = Worker(root, folder)
            if share := tests[number::_WORKERS]:
                worker.sound(share)
            while not stopped.is_set():
                results.put(worker.planted(waiting.get_nowait(), patience))
        except queue.Empty:
            return
        except BaseException:
            stopped.set()
            raise
        finally:
            results.put(None)

    with tempfile.TemporaryDirectory(prefix="mutants") as where, ThreadPoolExecutor(_WORKERS) as pool:
        folders = [Path(where).resolve() / str(number) for number in range(_WORKERS)]
        for folder in folders:
            folder.mkdir()
        works = [pool.submit(work, *numbered) for numbered in enumerate(folders)]
        try:
            for _ in works:
                yield from iter(results.get, None)
        finally:
            stopped.set()
        for done in works:
            done.result()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--faults", type=Path, default=Path(__file__).with_name("faults.toml"))
    parser.add_argument("--root", type=Path, default=ROOT, help="a tree with src/ and tests/, maybe lab/")
    parser.add_argument("--only", default="", help="only faults with this word in their name or area")
    asked, began, results = parser.parse_args(), time.monotonic(), []
    try:
        faults = [f for f in listed(asked.faults, asked.root.resolve()) if asked.only in f"{f.area} {f.name}"]
        for result in tried(faults, asked.root.resolve()):
            results.append(result)
            print(f"{result.verdict:8} {result.seconds:4.0f} s  {result.fault.name}", flush=True)
            if result.verdict == UNUSABLE:
                raise Unusable(f"{result.fault.name}: its tests could not be run:\n{result.said}")
    except Unusable as problem:
        print(problem, file=sys.stderr)
        return 2
    caught = sum(result.verdict == CAUGHT for result in results)
    for result in results:
        if result.verdict != CAUGHT:
            print(f"{result.verdict.upper()}: {result.fault.area}: {result.fault.name}")
    print(f"{caught} of {len(results)} faults caught, in {time.monotonic() - began:.0f} s")
    return 0 if caught == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
