// Signatures beside Python's check, on the cases of a file: CASES=FILE node --test

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Client, ReleaseError } from "../../src/hushrec/javascript/client.js";
import { PublicKey } from "../../src/hushrec/javascript/keys.js";
import { claimed, verified } from "../../src/hushrec/javascript/signature.js";

const { cases, rfc8032 } = JSON.parse(readFileSync(process.env.CASES ?? "", "utf8"));

/** What a check says: its answer, or the sentence by which it refuses. */
async function said(check) {
  try {
    return { answer: await check() };
  } catch (error) {
    assert.ok(error instanceof ReleaseError, `not a refusal: ${error.stack}`);
    return { refused: error.message };
  }
}

const bytes = (text) => new Uint8Array(Buffer.from(text, "base64"));
const hex = (text) => new Uint8Array(Buffer.from(text, "hex"));

for (const { name, data, signature, key, seen, ...python } of cases) {
  test(`the same as in Python: ${name}`, async () => {
    assert.deepEqual(await said(() => verified(bytes(data), signature, key, seen)), python.verified);
    assert.deepEqual(await said(() => claimed(bytes(data), signature)), python.claimed);
  });
}

test("the vectors of RFC 8032", async () => {
  for (const [pem, message, signature] of rfc8032) {
    const key = await PublicKey.fromPem(pem);
    assert.equal(await key.signed(hex(signature), hex(message)), true);
    for (let at = 0; at < 64; at += 1) {
      const wrong = hex(signature);
      wrong[at] ^= 1;
      assert.equal(await key.signed(wrong, hex(message)), false, `byte ${at}`);
    }
    assert.equal(await key.signed(hex(signature), hex(`${message}00`)), false);
  }
});

const good = cases.find(({ name }) => name === "right");

test("where Ed25519 is missing, nothing is verified", async () => {
  const subtle = globalThis.crypto.subtle;
  const importKey = subtle.importKey;
  Object.defineProperty(subtle, "importKey", {
    configurable: true,
    value: () => Promise.reject(new DOMException("Unrecognized name.", "NotSupportedError")),
  });
  try {
    const told = await said(() => verified(bytes(good.data), good.signature, good.key));
    assert.match(told.refused, /is not verified: signatures need a browser that knows Ed25519/);
  } finally {
    Object.defineProperty(subtle, "importKey", { configurable: true, value: importKey });
  }
  assert.equal((await verified(bytes(good.data), good.signature, good.key)).state, "verified");
});

test("on a page that is not from HTTPS or localhost, nothing is verified", async () => {
  const kept = Object.getOwnPropertyDescriptor(globalThis, "crypto");
  Object.defineProperty(globalThis, "crypto", { configurable: true, value: {} });
  try {
    const told = await said(() => verified(bytes(good.data), good.signature, good.key));
    assert.match(told.refused, /only on pages from HTTPS or localhost/);
  } finally {
    Object.defineProperty(globalThis, "crypto", kept);
  }
});

test("what was seen is checked as well", async () => {
  const damaged = [
    {},
    [],
    7,
    { ledger: null },
    { ledger: null, version: -1 },
    { ledger: null, version: "3" },
    { ledger: 7, version: 3 },
    { ledger: null, version: 3, chain: "abc" },
    { ledger: null, version: 3, chain: ["abc"] },
  ];
  for (const seen of damaged) {
    const told = await said(() => verified(bytes(good.data), good.signature, good.key, seen));
    assert.match(told.refused ?? "", /what was seen is damaged/, JSON.stringify(seen));
  }
  const before = await verified(bytes(good.data), good.signature, good.key);
  const again = await verified(bytes(good.data), good.signature, good.key, JSON.parse(JSON.stringify(before)));
  assert.deepEqual(again, before);
});

test("a client refuses what is unsigned, before it reads the file", async () => {
  const open = (trust) => said(() => Client.open(bytes(good.data), trust));
  assert.match((await open({ key: good.key })).refused, /is unsigned, and you gave a key/);
  assert.match((await open({ seen: { ledger: null, version: 1 } })).refused, /give the owner's key as well/);
  const forged = cases.find(({ name }) => name === "wrong signature").signature;
  assert.match((await open({ key: good.key, signature: forged })).refused, /signature is wrong/);
  assert.match((await open({ key: good.key, signature: good.signature })).refused, /not a hushrec release/);
  assert.match((await open({ signature: good.signature })).refused, /not a hushrec release/);
});
