"""Texts, figures and small matrices in JavaScript beside those in Python."""

import json
import math
import os
import subprocess
from pathlib import Path
from random import Random

import numpy as np
import pytest

from hushrec.text import above, escaped, one_line
from javascript import cases

pytestmark = pytest.mark.page
SIGNS = "aZ09 éßẞŒæØǿłĐðÞİıſΣςǅ\u0301\u0345\u0334\u0e31\u0915\u094d,.'’`´*&()[]-–/:\t\n\r\x0b\x1c\x85\x7f\x1b"
SIGNS += '\xa0\u2028\u200b\u200d\ufeff\u202e\ud800\ue000日本語한국어ａＡﬁ²½٣Ⅷ😀👩𝔘\U000e0041$_%+"\\'


def texts(random, count):
    """Texts of odd signs, and titles."""
    parts = [*SIGNS, *SIGNS, *"etaoin shrdlu"]
    for _ in range(count):
        yield "".join(random.choices(parts, k=random.choice([1, 2, 5, 12, 30])))
    yield from ["", "é" * 300, "x" * 511 + "é", "x" * 510 + "😀", "日" * 171, "\u0301" * 600, " x " * 300]
    yield from cases.TITLES


def numbers(random, count):
    """Floats of all sizes, many of few digits."""
    for _ in range(count):
        size = 10.0 ** random.randrange(-300, 309)
        number = (
            random.choice([random.random(), random.randrange(1, 1000), random.randrange(1, 10**15)]) * size
        )
        if math.isfinite(number):
            yield number
    yield from [0.0, 0.1, 1.0, 9.999999, 999999.5, 1e16, 1e15, 123456789012345680.0, 1e-4, 1e-5, 1e22]


def system(rng, n):
    """A system of equations, some eigenvalues of whose matrix are about 0."""
    factors = rng.normal(size=(n, max(n - 1, 1)))
    a, b = factors @ factors.T + 1e-3 * np.diag(np.arange(n)) + 1e-2 * np.eye(n), rng.normal(size=n)
    return {
        "a": a.ravel().tolist(),
        "b": b.tolist(),
        "x": np.linalg.solve(a, b).tolist(),
    }


def told(seed=0):
    """What Python says."""
    random, rng = Random(seed), np.random.default_rng(seed)
    odd, floats = [*texts(random, 3000)], [*numbers(random, 3000)]
    scored = [
        (rng.integers(0, 9, n).tolist(), int(k)) for n in (1, 7, 300, 600) for k in rng.integers(0, n + 1, 9)
    ]
    return {
        "above": [(figure, above(figure)) for figure in floats],
        "escaped": [(text, escaped(text)) for text in odd],
        "oneLine": [(text, one_line(text)) for text in odd],
        "printable": [(text, text.isprintable()) for text in odd],
        "largest": [((s, k), np.argsort(-np.array(s), kind="stable")[:k].tolist()) for s, k in scored],
        "systems": [system(rng, n) for n in (1, 2, 3, 8, 21, 60)],
    }


def test_they_are_the_same(tmp_path):
    (tmp_path / "texts.json").write_text(json.dumps(told()), encoding="utf-8")
    command = ["node", "--test", "--test-reporter=tap", str(Path(__file__).with_name("texts.test.js"))]
    environment = {**os.environ, "CASES": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-6000:]
