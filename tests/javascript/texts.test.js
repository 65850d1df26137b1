// Texts and figures beside Python's: CASES=FOLDER node --test; the folder holds texts.json of test_texts.py.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { escaped, oneLine, printable } from "../../src/hushrec/javascript/escapes.js";
import { above } from "../../src/hushrec/javascript/figures.js";
import { dumps, parse, repr } from "../../src/hushrec/javascript/untrusted_json.js";
import { largest } from "../../src/hushrec/javascript/lists.js";
import { Spectrum, solve } from "../../src/hushrec/javascript/matrices.js";
import { Titles } from "../../src/hushrec/javascript/titles.js";

const told = JSON.parse(readFileSync(join(process.env.CASES ?? "", "texts.json"), "utf8"));

const ways = {
  above: ([figure, digits]) => above(figure, digits),
  repr,
  dumps: (text) => dumps(parse(text)),
  escaped,
  oneLine,
  printable,
  keys: (title) => new Titles([title], []).index().keys[0],
  year: (title) => new Titles([title], []).index().years[0],
  largest: ([scores, n]) => [...largest(Float64Array.from(scores), n)],
};

for (const [name, ask] of Object.entries(ways)) {
  test(`${name} is that of Python`, () => {
    assert.ok(told[name].length > 20);
    for (const [given, expected] of told[name]) assert.deepEqual(ask(given), expected, JSON.stringify(given));
  });
}

test("systems are solved, and eigenvalues counted, as NumPy does", () => {
  for (const { a, b, x, spectrum } of told.systems) {
    const n = b.length;
    const found = solve(Float64Array.from(a), Float64Array.from(b), n);
    x.forEach((value, at) => assert.ok(Math.abs(found[at] - value) < 1e-9 * (1 + Math.abs(value))));
    const counted = new Spectrum(Float64Array.from(a), n);
    assert.ok(Math.abs(counted.largest() - spectrum[n - 1]) < 1e-12 * (1 + Math.abs(spectrum[n - 1])));
    for (let at = 0; at < n; at += 1) {
      const between = at ? (spectrum[at] + spectrum[at - 1]) / 2 : spectrum[0] - 1;
      assert.equal(counted.atLeast(between), n - at);
    }
  }
});

test("what is no plain JSON is refused", () => {
  const refused = ['{"a":1,"a":2}', "[NaN]", "[Infinity]", "[1e999]", `[${"9".repeat(5000)}]`, "[1,]", "", "[01]", "1 2"];
  refused.push('["\\ud800', '["\u0001"]', "[.5]", "[+1]", "\ufeff[]", `${"[".repeat(901)}${"]".repeat(901)}`, "{1:2}");
  refused.push(`[${"[],".repeat(400000)}0]`, "nul", '{"a" 1}', "[1 2]", '"\\x"', "[1.]", "--1", '{"__proto__":1,"__proto__":2}');
  for (const text of refused) assert.throws(() => parse(text), SyntaxError, text.slice(0, 40));
  assert.deepEqual([...parse('{"__proto__":{"polluted":1}}').keys()], ["__proto__"]);
  assert.equal({}.polluted, undefined);
});
