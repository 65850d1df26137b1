// Ed25519 public keys (RFC 8032) as PEM, checked by WebCrypto.

import { sha256 } from "./digest.js";
import { ReleaseError } from "./errors.js";

/** What precedes the 32 bytes of the key in its SPKI encoding (RFC 8410). */
const SPKI = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
const LENGTH = 32;
const PEM = /^-----BEGIN PUBLIC KEY-----\n([A-Za-z0-9+/=\n]{1,4096})\n-----END PUBLIC KEY-----\n?$/;

/** A public key, by which a signature is checked. */
export class PublicKey {
  /**
   * @param {Uint8Array} der the key as SPKI
   * @param {string} id SHA-256 of the SPKI, hex
   */
  constructor(der, id) {
    this.der = der;
    this.id = id;
  }

  /**
   * The key in a PEM file.
   * @param {string} text
   * @returns {Promise<PublicKey>}
   * @throws {ReleaseError} it is not a public key, or not of Ed25519
   */
  static async fromPem(text) {
    const unix = text.replaceAll("\r\n", "\n");
    if (unix.includes("PRIVATE KEY-----")) {
      throw new ReleaseError(
        "this is a private key: give the public key, whose name ends in .pub, and show the private one to no one",
      );
    }
    const match = PEM.exec(unix);
    const der = match ? fromBase64(match[1].replaceAll("\n", "")) : new Uint8Array();
    if (!match) {
      throw new ReleaseError("this is not a public key; give the file that hushrec keys new wrote as .pub");
    }
    if (der.length !== SPKI.length + LENGTH || !SPKI.every((byte, at) => der[at] === byte)) {
      throw new ReleaseError("this public key is not of Ed25519; make one with hushrec keys new");
    }
    return new PublicKey(der, await sha256(der));
  }

  /**
   * Whether a signature of a message is by this key.
   * @param {Uint8Array} signature
   * @param {Uint8Array} message
   * @returns {Promise<boolean>}
   * @throws {ReleaseError} nothing here can check Ed25519
   */
  async signed(signature, message) {
    const subtle = globalThis.crypto?.subtle;
    const raw = this.der.slice(SPKI.length);
    /** @type {CryptoKey} */
    let key;
    try {
      key = await subtle.importKey("raw", raw, { name: "Ed25519" }, false, ["verify"]);
    } catch (error) {
      if (subtle && error instanceof Error && error.name === "DataError") return false; // not a point of the curve
      throw new ReleaseError(
        "the signature cannot be checked here, so the release is not verified: signatures need a browser that knows " +
          "Ed25519, and a page from HTTPS or localhost; update the browser, or open this page from there",
      );
    }
    return subtle.verify({ name: "Ed25519" }, key, /** @type {any} */ (signature), /** @type {any} */ (message));
  }
}

/**
 * A key's id in groups of eight, which people can compare.
 * @param {string} id
 */
export function grouped(id) {
  return (id.match(/.{1,8}/gsu) ?? []).join(" ");
}

/**
 * The bytes of a base64 text in its one canonical form.
 * @param {string} text
 * @returns {Uint8Array & BufferSource}
 * @throws {ReleaseError} the text is not base64, or not canonical
 */
export function fromBase64(text) {
  let bytes = "";
  try {
    bytes = atob(text);
  } catch {
    bytes = "";
  }
  if (!bytes || btoa(bytes) !== text) {
    throw new ReleaseError("a signature or key holds text that is not canonical base64; fetch it again");
  }
  return Uint8Array.from(bytes, (sign) => sign.charCodeAt(0));
}
