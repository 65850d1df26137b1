// SHA-256, and whether the owner of a key signed a release: Ed25519 over the SHA-256 of its file. Both by WebCrypto.

import { demand, ReleaseError } from "./errors.js";

/**
 * SHA-256 of bytes, in hexadecimal digits.
 * @param {Uint8Array} bytes
 * @returns {Promise<string>}
 * @throws {ReleaseError} the page was not loaded over HTTPS or from localhost
 */
export async function sha256(bytes) {
  const subtle = globalThis.crypto?.subtle;
  const why = "browsers compute SHA-256 only on pages from HTTPS or localhost; open this page from there";
  demand(subtle !== undefined, `the release cannot be checked here: ${why}`);
  const digest = new Uint8Array(await subtle.digest("SHA-256", /** @type {Uint8Array & BufferSource} */ (bytes)));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Refuse a release that the owner of a key did not sign.
 * @param {Uint8Array} bytes the release's bytes; read the release from these
 * @param {string} signature text of the signature file, base64 of 64 bytes
 * @param {string} key text of the public key, base64 of 32 bytes
 * @throws {ReleaseError} it is not signed by the key, or Ed25519 cannot be checked here
 */
export async function requireSigned(bytes, signature, key) {
  const raw = fromBase64(key, 32);
  demand(raw !== null, "this is no public key; give the text of the owner's .pub file");
  const signed = new TextEncoder().encode(`hushrec release v1\n${await sha256(bytes)}`);
  const sealed = fromBase64(signature, 64);
  demand(
    sealed !== null && (await isBy(raw, sealed, signed)),
    "this release is not signed by this key: the file or its signature was altered, or is another owner's; do not use " +
      "it, and fetch both again from the owner",
  );
}

/** @param {BufferSource} raw @param {BufferSource} signature @param {BufferSource} message */
async function isBy(raw, signature, message) {
  const { subtle } = globalThis.crypto;
  /** @type {CryptoKey} */
  let key;
  try {
    key = await subtle.importKey("raw", raw, { name: "Ed25519" }, false, ["verify"]);
  } catch (error) {
    if (error instanceof Error && error.name === "DataError") return false; // not a point of the curve
    const why = "signatures need a browser that knows Ed25519; update the browser";
    throw new ReleaseError(`the signature cannot be checked here, so the release is not shown: ${why}`);
  }
  return subtle.verify({ name: "Ed25519" }, key, signature, message);
}

/**
 * The bytes of a base64 text in its one canonical form; null if it is not, or not of this length.
 * @param {string} text
 * @param {number} length
 * @returns {(Uint8Array & BufferSource) | null}
 */
function fromBase64(text, length) {
  const trimmed = text.trim();
  let bytes = "";
  try {
    bytes = atob(trimmed);
  } catch {
    return null;
  }
  if (bytes.length !== length || btoa(bytes) !== trimmed) return null;
  return Uint8Array.from(bytes, (sign) => sign.charCodeAt(0));
}
