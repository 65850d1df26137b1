// DSSE envelopes: one payload with its type and one signature (github.com/secure-systems-lab/dsse, v1.0).

import { ReleaseError } from "./errors.js";
import { fromBase64 } from "./keys.js";
import { fields, text as string } from "./untrusted_json.js";

/** @typedef {import("./keys.js").PublicKey} PublicKey */

/** Largest envelope; a statement has a few thousand characters. */
const LARGEST = 2 ** 20;
const DIGEST = /^[0-9a-f]{64}$/;

/** A signed payload; nothing is checked but its form. */
export class Envelope {
  /**
   * @param {string} payloadType what the payload is
   * @param {Uint8Array} payload what is signed
   * @param {string} keyId of the key that is said to have signed it
   * @param {Uint8Array} signature 64 bytes
   */
  constructor(payloadType, payload, keyId, signature) {
    this.payloadType = payloadType;
    this.payload = payload;
    this.keyId = keyId;
    this.signature = signature;
  }

  /**
   * The envelope in a signature file.
   * @param {string} text
   * @returns {Envelope}
   * @throws {ReleaseError} it is not an envelope in the one form that hushrec writes
   */
  static fromText(text) {
    try {
      if (text.length > LARGEST) throw new SyntaxError("too large");
      const values = fields(JSON.parse(text), "payloadType", "payload", "signatures");
      if (!Array.isArray(values.signatures)) throw new SyntaxError("not a list");
      if (values.signatures.length !== 1) {
        throw new ReleaseError(
          `this signature file holds ${values.signatures.length.toLocaleString("en")} signatures, and must hold one; ` +
            "ask the owner for the file that hushrec keys sign wrote",
        );
      }
      const { keyid, sig } = fields(values.signatures[0], "keyid", "sig");
      const [type, payload] = [string(values.payloadType), fromBase64(string(values.payload))];
      const envelope = new Envelope(type, payload, string(keyid), fromBase64(string(sig)));
      if (!isDigest(envelope.keyId) || envelope.signature.length !== 64) throw new SyntaxError("no key id or signature");
      return envelope;
    } catch (error) {
      if (error instanceof ReleaseError) throw error;
      throw new ReleaseError("this is not a signature file, or it is damaged; fetch it again");
    }
  }

  /**
   * Whether the signature is by a key, over the type and the payload.
   * @param {PublicKey} key
   */
  async isBy(key) {
    return this.keyId === key.id && (await key.signed(this.signature, pae(this.payloadType, this.payload)));
  }

  /**
   * What the payload says as JSON.
   * @throws {Error} it is not UTF-8, or not JSON
   */
  parsed() {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(this.payload));
  }
}

/**
 * What is signed: DSSE's pre-authentication encoding, in which type and payload cannot be confused.
 * @param {string} payloadType
 * @param {Uint8Array} payload
 */
export function pae(payloadType, payload) {
  const encoder = new TextEncoder();
  const kind = encoder.encode(payloadType);
  const before = encoder.encode(`DSSEv1 ${kind.length} ${payloadType} ${payload.length} `);
  const whole = new Uint8Array(before.length + payload.length);
  whole.set(before);
  whole.set(payload, before.length);
  return whole;
}

/**
 * Whether a value is a SHA-256 as 64 hex digits.
 * @param {unknown} value
 */
export function isDigest(value) {
  return typeof value === "string" && DIGEST.test(value);
}
