// SHA-256, by the browser or Node.

import { demand } from "./errors.js";

/**
 * SHA-256 of bytes, in hexadecimal digits.
 * @param {Uint8Array} bytes
 * @returns {Promise<string>}
 * @throws {ReleaseError} the page was not loaded over HTTPS or from localhost
 */
export async function sha256(bytes) {
  const subtle = globalThis.crypto?.subtle;
  demand(
    subtle !== undefined,
    "the release cannot be checked here: browsers compute SHA-256 only on pages from HTTPS or localhost; " +
      "open this page from there",
  );
  const digest = new Uint8Array(await subtle.digest("SHA-256", /** @type {Uint8Array & BufferSource} */ (bytes)));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
