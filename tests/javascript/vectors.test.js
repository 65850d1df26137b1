// The client on the stored vectors of the release's format: VECTORS=FOLDER node --test

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { Client } from "../../src/hushrec/javascript/client.js";

const folder = process.env.VECTORS ?? "";
const names = readdirSync(folder).filter((name) => name.endsWith(".json"));

/** The same value with numbers of nine digits. */
const rounded = (value) => JSON.parse(JSON.stringify(value), (_, one) => (typeof one === "number" ? one.toPrecision(9) : one));

for (const name of names) {
  test(`the answers of ${name}`, async () => {
    const { key, signature, headline, cases } = JSON.parse(readFileSync(join(folder, name), "utf8"));
    const bytes = readFileSync(join(folder, name.replace(".json", ".safetensors")));
    const client = await Client.open(bytes, { signature, key });
    assert.equal(client.release.statement.said.headline, headline);
    for (const { own, times, list, ratings, ignored } of cases) {
      const listed = client.recommend(own, { n: list.length, times });
      const rows = listed.map(({ itemId, score, rating }) => ({ item: itemId, score, rating }));
      assert.deepEqual(rounded(rows), rounded(list));
      assert.deepEqual([...listed.ignored], ignored);
      if (ratings) assert.deepEqual(rounded(Object.fromEntries(client.predict(own))), rounded(ratings));
    }
  });
}
