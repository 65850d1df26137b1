// The client beside Python's, on the cases of a folder: CASES=FOLDER node --test

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { Client, ReleaseError } from "../../src/hushrec/javascript/client.js";
import { differences } from "./checker.js";

const folder = process.env.CASES ?? "";

for (const name of JSON.parse(readFileSync(join(folder, "index.json"), "utf8"))) {
  test(`the same answers as Python's client: ${name}`, async () => {
    const expected = JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8"));
    const bytes = readFileSync(join(folder, `${name}.safetensors`));
    assert.deepEqual(await differences(Client, bytes, expected), []);
  });
}

const file = readFileSync(join(folder, "index.json"), "utf8").includes('"factors"') ? "factors" : null;

if (file) {
  const bytes = new Uint8Array(readFileSync(join(folder, `${file}.safetensors`)));

  test("bytes may lie anywhere in memory", async () => {
    const expected = (await Client.open(bytes)).recommend({});
    for (const offset of [0, 1, 4, 7]) {
      const moved = new Uint8Array(bytes.length + offset + 3).subarray(offset, offset + bytes.length);
      moved.set(bytes);
      assert.deepEqual((await Client.open(moved)).recommend({}), expected);
    }
    assert.deepEqual((await Client.open(bytes.buffer)).recommend({}), expected);
  });

  test("a flipped bit is noticed wherever it is", async () => {
    for (let at = 0; at < bytes.length; at += 97) {
      const altered = bytes.slice();
      altered[at] ^= 1 << at % 8;
      await assert.rejects(Client.open(altered), ReleaseError, `byte ${at}`);
    }
  });

  test("a file that ends early is refused", async () => {
    for (const size of [0, 1, 7, 8, 9, 500, bytes.length - 1]) {
      await assert.rejects(Client.open(bytes.slice(0, size)), ReleaseError);
    }
  });

  test("own ratings are a Map or an object, and other things are refused", async () => {
    const client = await Client.open(bytes);
    const [a, b] = client.release.items;
    const expected = client.recommend(new Map([[a, 5], [b, 1]]));
    assert.deepEqual(client.recommend({ [a]: 5, [b]: 1 }), expected);
    assert.deepEqual(client.recommend(JSON.parse(`{"${a}": 5, "${b}": 1, "__proto__": 3}`)), expected);
    for (const wrong of [null, undefined, 5, "Alien", [a], { [a]: "5" }, { [a]: true }, new Set([a])]) {
      assert.throws(() => client.recommend(wrong), ReleaseError, String(wrong));
    }
    for (const wrong of ["a", 5, { a: 1 }]) assert.throws(() => client.recommend({}, { exclude: wrong }), ReleaseError);
    assert.deepEqual(client.predict({}, []), new Map());
  });

  test("an id that is no text is refused, since it has lost its leading zeros", async () => {
    const client = await Client.open(bytes);
    const [a] = client.release.items;
    const asks = [
      () => client.recommend(new Map([[a, 5], [7, 5]])),
      () => client.predict({}, [7]),
      () => client.recommend({}, { exclude: [7] }),
      () => client.reasons({ [a]: 5 }, 7),
      () => client.title(7),
      () => client.find(7),
    ];
    for (const ask of asks) assert.throws(ask, /of type number: give String\(id\)/);
  });

  test("what is no number in range is refused", async () => {
    const client = await Client.open(bytes);
    const [a, b] = client.release.items;
    const asks = [
      (/** @type {any} */ n) => client.recommend({ [a]: 5 }, { n }),
      (/** @type {any} */ n) => client.reasons({ [a]: 5 }, b, n),
    ];
    for (const wrong of [NaN, Infinity, -Infinity, -1, 2.5, "3", "", "many", null, true, false, [3], 3n, {}]) {
      for (const ask of asks) assert.throws(() => ask(wrong), /n must be a whole number, 0 or more/);
    }
    for (const wrong of ["5", true, null, [5], 5n]) {
      assert.throws(() => client.predict({ [a]: /** @type {any} */ (wrong) }), ReleaseError);
    }
    for (const ask of asks) assert.deepEqual([...ask(0)], []);
  });

  test("titles are found by their words, whatever the case, accents and punctuation", async () => {
    const { release } = await Client.open(bytes);
    const titles = ["Le Matrix", "Matrix", "Matrix Two", "Łódź, Smørrebrød", "Straße, Die (1954–56)", "ΟΔΥΣΣΕΥΣ", "!!!", release.items[0]];
    const client = new Client(Object.create(release, { titles: { value: titles } }));
    const found = (/** @type {string} */ text) => client.find(text).map((item) => release.items.indexOf(item));
    assert.deepEqual(found("MATRIX"), [1]);
    assert.deepEqual(found("matri"), [0, 1, 2]);
    assert.deepEqual(found("trix"), []);
    assert.deepEqual(found(" lodz smorre"), [3]);
    assert.deepEqual(found("STRASSE die"), [4]);
    assert.deepEqual(found("οδυς"), [5]);
    assert.deepEqual(found("!!!"), [6]);
    for (const text of ["?", " ", ""]) assert.deepEqual(found(text), []);
    assert.deepEqual(found(release.items[0]), [0, 7], "an id hides no title that is the same");
  });

  test("what was ignored is told beside the answer, and no part of it", async () => {
    const client = await Client.open(bytes);
    const own = { [client.release.items[0]]: 5, unheard: 1 };
    const found = client.recommend(own, { n: 2 });
    assert.deepEqual(found.ignored, ["unheard"]);
    assert.deepEqual(Object.keys(found), ["0", "1"]);
    assert.deepEqual(client.predict(own).ignored, ["unheard"]);
    assert.deepEqual(client.recommend({}).ignored, []);
    assert.ok(Object.isFrozen(found.ignored));
  });

  test("a release cannot be changed", async () => {
    const { release } = await Client.open(bytes);
    for (const part of [release, release.items, release.settings, release.constants, release.statement, release.tensors]) {
      assert.ok(Object.isFrozen(part));
    }
  });

  test("without SHA-256, it says where to open the page", async () => {
    const before = Object.getOwnPropertyDescriptor(globalThis, "crypto");
    Object.defineProperty(globalThis, "crypto", { value: {}, configurable: true });
    try {
      await assert.rejects(Client.open(bytes), /only on pages from HTTPS or localhost/);
    } finally {
      Object.defineProperty(globalThis, "crypto", before);
    }
  });
}
