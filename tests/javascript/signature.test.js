// Signatures that Python refuses, and right ones, on the cases of a file: CASES=FILE node --test

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Client, ReleaseError } from "../../src/hushrec/javascript/client.js";
import { requireSigned } from "../../src/hushrec/javascript/signature.js";

const { release, signature, key, forged, no_keys } = JSON.parse(readFileSync(process.env.CASES ?? "", "utf8"));
const bytes = new Uint8Array(release);

/** The sentence by which a check refuses; "" if it does not. */
async function refusal(check) {
  try {
    await check();
    return "";
  } catch (error) {
    assert.ok(error instanceof ReleaseError, `not a refusal: ${error.stack}`);
    return error.message;
  }
}

for (const [name, data, text, other] of forged) {
  test(`refused: ${name}`, async () => {
    assert.match(await refusal(() => requireSigned(new Uint8Array(data), text, other)), /is not signed by this key/);
  });
}

test("what is no public key is refused", async () => {
  for (const text of no_keys) assert.match(await refusal(() => requireSigned(bytes, signature, text)), /no public key/);
});

test("a client opens what the owner signed, and names the key", async () => {
  assert.equal((await Client.open(bytes, { signature, key })).release.signedBy, key);
  assert.equal((await Client.open(bytes)).release.signedBy, "");
  assert.equal((await Client.open(bytes, { signature: "no signature" })).release.signedBy, "");
});

test("a client refuses what is unsigned, and what another signed", async () => {
  assert.match(await refusal(() => Client.open(bytes, { key })), /is unsigned, and you gave a key/);
  const wrong = bytes.slice();
  wrong[wrong.length - 1] ^= 1;
  assert.match(await refusal(() => Client.open(wrong, { signature, key })), /is not signed by this key/);
});

test("where Ed25519 is missing, nothing is opened", async () => {
  const subtle = globalThis.crypto.subtle;
  const importKey = subtle.importKey;
  Object.defineProperty(subtle, "importKey", {
    configurable: true,
    value: () => Promise.reject(new DOMException("Unrecognized name.", "NotSupportedError")),
  });
  try {
    assert.match(await refusal(() => Client.open(bytes, { signature, key })), /a browser that knows Ed25519/);
  } finally {
    Object.defineProperty(subtle, "importKey", { configurable: true, value: importKey });
  }
});

test("on a page that is not from HTTPS or localhost, nothing is opened", async () => {
  const kept = Object.getOwnPropertyDescriptor(globalThis, "crypto");
  Object.defineProperty(globalThis, "crypto", { configurable: true, value: {} });
  try {
    assert.match(await refusal(() => Client.open(bytes, { signature, key })), /only on pages from HTTPS or localhost/);
  } finally {
    Object.defineProperty(globalThis, "crypto", kept);
  }
});
