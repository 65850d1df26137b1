"""Many requests at once against a running service, each answer compared with what it must be.

    python tests/support/load.py [--requests 10000] [--connections 200] [--items 17770]

starts ``hushrec serve`` in a process of its own, on a release of factors of rank 20, and prints what it
measured.
"""

import argparse
import asyncio
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections import Counter
from pathlib import Path
from time import perf_counter, sleep


async def _ask(reader, writer, path):
    """Status, and SHA-256 of the body, of one GET on a connection that stays open."""
    writer.write(f"GET {path} HTTP/1.1\r\nHost: test\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    size = int(re.search(rb"content-length: (\d+)", head)[1])
    body = await reader.readexactly(size)
    return int(head.split(None, 2)[1]), hashlib.sha256(body).hexdigest(), size


async def hammer(port, mix, requests, connections):
    """Send the requests, over so many connections at a time.

    Args:
        port: of the service on this machine.
        mix: path → SHA-256 of its answer; paths are asked for in turn.
        requests: number in all.
        connections: number of connections, each of which asks one thing after another.

    Returns:
        Seconds of each request in order of size, what went wrong with how often, bytes, and seconds in all.
    """
    paths, seconds, wrong, received = list(mix), [], Counter(), 0
    places = iter(range(requests))

    async def client():
        nonlocal received
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for place in places:
            path = paths[place % len(paths)]
            begun = perf_counter()
            try:
                status, digest, size = await asyncio.wait_for(_ask(reader, writer, path), 60)
            except (OSError, EOFError, TimeoutError) as error:
                wrong[type(error).__name__] += 1
                return
            seconds.append(perf_counter() - begun)
            received += size
            if (status, digest) != (200, mix[path]):
                wrong[f"{path}: {status}"] += 1
        writer.close()

    begun = perf_counter()
    await asyncio.gather(*(client() for _ in range(connections)))
    return sorted(seconds), wrong, received, perf_counter() - begun


def mix_of(url):
    """What devices and people ask for, each with the SHA-256 of the right answer, as it is now."""

    def digest(path):
        with urllib.request.urlopen(url + path, timeout=30) as answer:
            return hashlib.sha256(answer.read()).hexdigest()

    with urllib.request.urlopen(url + "/releases/latest", timeout=30) as answer:
        latest = json.load(answer)
    paths = ["/releases/latest", latest["url"], latest["statement"], latest["statement_page"], "/"]
    return {path: digest(path) for path in paths}


def _main():
    import psutil

    from support.releases import release

    parser = argparse.ArgumentParser()
    for name, value in {"requests": 10_000, "connections": 200, "items": 17_770}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = release(n=asked.items, rank=20).save(Path(folder) / "films.safetensors")
        command = [sys.executable, "-c", "from hushrec.cli import main; main()", "serve", folder]
        serving = subprocess.Popen(
            [*command, "--port", "0", "--rate", "0"], stderr=subprocess.PIPE, text=True, env=dict(os.environ)
        )
        try:
            url = re.search(r"http://[^ ]+\d", serving.stderr.readline())[0]
            sleep(1)
            watched = psutil.Process(serving.pid)
            idle = watched.memory_info().rss
            mix = mix_of(url)
            seconds, wrong, received, total = asyncio.run(
                hammer(int(url.rpartition(":")[2]), mix, asked.requests, asked.connections)
            )
            rss = watched.memory_info().rss
        finally:
            serving.terminate()
            serving.wait(30)
    print(
        f"release {path.name}: {asked.items:,} items; mix: {', '.join(p.split('/')[1] or '/' for p in mix)}"
    )
    print(
        f"{len(seconds):,} of {asked.requests:,} answered at {asked.connections} connections; "
        f"wrong: {dict(wrong)}"
    )
    print(f"{len(seconds) / total:,.0f} requests/s, {received / total / 1e6:,.0f} MB/s, {total:.1f} s")
    for part in (0.5, 0.99, 1):
        print(f"p{part * 100:g}: {seconds[max(int(part * len(seconds)) - 1, 0)] * 1e3:,.0f} ms")
    print(f"memory of the service (RSS): {idle / 1e6:,.0f} MB idle, {rss / 1e6:,.0f} MB after")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    _main()
