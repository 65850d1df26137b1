// SHA-256, by the browser or Node.

import { ReleaseError } from "./errors.js";
import { dumps } from "./untrusted_json.js";

/** @typedef {import("./untrusted_json.js").Json} Json */
/** @typedef {import("./safetensors.js").Tensor} Tensor */

/**
 * SHA-256 of bytes, in hexadecimal digits.
 * @param {Uint8Array} bytes
 * @returns {Promise<string>}
 * @throws {ReleaseError} the page was not loaded over HTTPS or from localhost
 */
export async function sha256(bytes) {
  const subtle = globalThis.crypto?.subtle;
  if (!subtle) {
    throw new ReleaseError(
      "the release cannot be checked here: browsers compute SHA-256 only on pages from HTTPS or localhost; " +
        "open this page from there",
    );
  }
  const found = new Uint8Array(await subtle.digest("SHA-256", /** @type {Uint8Array & BufferSource} */ (bytes)));
  return Array.from(found, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * The digest that a release states: over all its facts but this one, and then its tensors by name.
 * @param {Map<string, Json>} facts
 * @param {Map<string, Tensor>} tensors
 */
export async function digest(facts, tensors) {
  const encoder = new TextEncoder();
  /** @type {Uint8Array[]} */
  const parts = [encoder.encode(dumps(new Map([...facts].filter(([name]) => name !== "sha256"))))];
  for (const name of [...tensors.keys()].sort()) {
    const { shape, bytes } = /** @type {Tensor} */ (tensors.get(name));
    const written = `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;
    parts.push(encoder.encode(name + written), bytes);
  }
  const all = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return sha256(all);
}
