"""Hostile files against the readers: each is read or refused, in little time and memory, and nothing leaks.

    python tests/fuzz/fuzz.py ratings|releases|clients SECONDS [SEED] [--plant FAULT] [--until TEXT]

A worker makes files, each from the seed and its number alone, and reads them; this process watches it. It is
a fault if anything but an error of hushrec's own is raised, if the process dies, takes over 10 seconds or too
much memory for one file, writes to standard error, or shows a cell or a character that acts on a terminal.
DuckDB may end the process over a damaged Parquet file (docs/known-limits.md): that is counted.
"""

import argparse
import itertools
import json
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path
from random import Random

SECONDS, ADDRESSES = 10, 64 << 30
PARQUET = (".parquet",)


def watch(reader, seconds, seed, plant, most, until):
    """Run workers until the time is up, or a fault says ``until``; what they did and what was wrong."""
    stop, number = time.monotonic() + seconds, 0
    done = {
        "reader": reader,
        "seed": seed,
        "inputs": 0,
        "valid": 0,
        "refused": 0,
        "aborted": 0,
        "peak_mb": 0.0,
        "slowest_s": 0.0,
    }
    faults = []

    def goes_on():
        sought = until and any(until in fault["fault"] + fault["said"] for fault in faults)
        return time.monotonic() < stop and len(faults) < most and not sought

    with tempfile.TemporaryDirectory() as folder, open(Path(folder) / "stderr", "w+b") as noise:
        while goes_on():
            command = [
                sys.executable,
                __file__,
                reader,
                "0",
                str(seed),
                "--worker",
                str(number),
                "--folder",
                folder,
            ]
            command += ["--plant", plant] if plant else []
            worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=noise)
            started = False
            while goes_on():
                wait = SECONDS if started else 120
                line = (
                    worker.stdout.readline() if select.select([worker.stdout], [], [], wait)[0] else b"hangs"
                )
                if not line or line == b"hangs":
                    worker.kill()
                    code = worker.wait()
                    what = "takes too long" if line else f"died: {code}"
                    if code == -signal.SIGABRT and file_name(reader, seed, number).endswith(PARQUET):
                        done["aborted"] += 1
                    else:
                        faults.append({"number": number, "fault": what, "said": tail(noise)})
                    number += 1
                    break
                if line == b"ready\n":
                    started = True
                    continue
                told = json.loads(line)
                number = told["number"] + 1
                done["inputs"] += 1
                done["valid"] += told["outcome"] == "valid"
                done["refused"] += told["outcome"] == "refused"
                done["peak_mb"] = max(done["peak_mb"], told["peak_mb"])
                done["slowest_s"] = max(done["slowest_s"], told["seconds"])
                said, outcome = tail(noise), told["outcome"]
                if said and outcome in ("valid", "refused"):
                    outcome = "writes to standard error"
                if outcome not in ("valid", "refused"):
                    faults.append(
                        {"number": told["number"], "fault": outcome, "said": told.get("said") or said}
                    )
                    noise.truncate(0)
                    noise.seek(0)
            worker.kill()
            worker.wait()
            worker.stdout.close()
    return done | {"faults": faults}


def file_name(reader, seed, number):
    """The name of a file, which a worker that died cannot tell."""
    return __import__(reader).made(Random(f"{seed} {number}"))[0]


def tail(noise):
    noise.seek(0)
    return noise.read()[-600:].decode(errors="replace")


def work(reader, seed, number, folder, plant):
    """Make and read one file after another, and tell of each."""
    sys.path.insert(0, str(Path(__file__).parent))
    import mutations
    import plants

    from hushrec.errors import HushrecError

    module = __import__(reader)
    if plant:
        plants.PLANTS[plant]()
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    print("ready", flush=True)
    for current in itertools.count(number):
        random = Random(f"{seed} {current}")
        name, *contents = module.made(random)
        path = folder / name
        path.write_bytes(contents[0])
        beside = folder / (name + ".statement.json")
        beside.unlink(missing_ok=True)
        for content in contents[1:]:
            beside.write_bytes(content)
        size = sum(map(len, contents))
        del contents
        before = memory(reset=True)
        start = time.perf_counter()
        said = ""
        try:
            said, outcome = module.used(path, random), "valid"
        except HushrecError as error:
            said, outcome = str(error), "refused"
            if error.__cause__ is not None or (
                error.__context__ is not None and not error.__suppress_context__
            ):
                outcome = "chained to what may hold cells"
            if "\n" in said:
                outcome = "an error of several lines"
        except BaseException as error:
            said, outcome = traceback.format_exc()[-900:], f"raised {type(error).__name__}"
        seconds, peak = time.perf_counter() - start, memory() - before
        if outcome in ("valid", "refused"):
            if mutations.SECRET in said:
                outcome = "shows a cell"
            elif any(
                not (sign.isprintable() or sign in "\n\u200c\u200d" or (sign.isspace() and sign > "\x9f"))
                for sign in said
            ):
                outcome = "shows a character that acts"
            elif peak > 8 * size + (64 << 20):
                outcome = f"takes {peak >> 20} MiB for {size >> 10} KiB"
        told = {"number": current, "outcome": outcome, "seconds": seconds, "peak_mb": round(peak / 1e6, 1)}
        if outcome not in ("valid", "refused"):
            told["said"] = f"{name}: {said}"
        print(json.dumps(told), flush=True)


def memory(*, reset=False):
    """Bytes held at most since the last reset."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reader", choices=["ratings", "releases", "clients"])
    parser.add_argument("seconds", type=float)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--plant", default="")
    parser.add_argument("--most", type=int, default=20, help="faults after which it stops")
    parser.add_argument("--until", default="", help="what a fault says after which it stops")
    parser.add_argument("--worker", type=int)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.worker is not None:
        with suppress(BrokenPipeError):
            work(given.reader, given.seed, given.worker, given.folder, given.plant)
    else:
        found = watch(given.reader, given.seconds, given.seed, given.plant, given.most, given.until)
        print(json.dumps(found, indent=1))
        sys.exit(bool(found["faults"]))
