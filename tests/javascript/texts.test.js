// Texts and figures beside Python's: CASES=FOLDER node --test; the folder holds texts.json of test_texts.py.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { escaped, oneLine, printable } from "../../src/hushrec/javascript/escapes.js";
import { solve } from "../../src/hushrec/javascript/factor_predictor.js";
import { above } from "../../src/hushrec/javascript/figures.js";
import { largest } from "../../src/hushrec/javascript/lists.js";

const told = JSON.parse(readFileSync(join(process.env.CASES ?? "", "texts.json"), "utf8"));

const ways = {
  above,
  escaped,
  oneLine,
  printable,
  largest: ([scores, n]) => [...largest(Float64Array.from(scores), n)],
};

for (const [name, ask] of Object.entries(ways)) {
  test(`${name} is that of Python`, () => {
    assert.ok(told[name].length > 20);
    for (const [given, expected] of told[name]) assert.deepEqual(ask(given), expected, JSON.stringify(given));
  });
}

test("systems are solved as NumPy does", () => {
  for (const { a, b, x } of told.systems) {
    const found = Float64Array.from(b);
    solve(Float64Array.from(a), found);
    x.forEach((value, at) => assert.ok(Math.abs(found[at] - value) < 1e-9 * (1 + Math.abs(value))));
  }
});
