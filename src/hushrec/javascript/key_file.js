// The key file that users pin: the owner's first public key, and every rotation to a later one.
//
// It is the PEM of the first key, followed by one DSSE envelope a line. Each is signed by the key that it
// replaces, so users who pinned the first key need to trust no more than that.

import { isVersion } from "./attestation.js";
import { sha256 } from "./digest.js";
import { Envelope } from "./envelope.js";
import { ReleaseError } from "./errors.js";
import { grouped, PublicKey } from "./keys.js";
import { fields, text as string, whole } from "./untrusted_json.js";

const ROTATION_TYPE = "application/vnd.hushrec.rotation+json";
const END = "-----END PUBLIC KEY-----";
const LARGEST = 2 ** 16;

/** The keys of one owner, oldest first. */
export class KeyFile {
  /**
   * @param {PublicKey[]} keys
   * @param {number[]} starts number of the first release that each key signs
   * @param {string[]} chain the first key's id, and the SHA-256 of what each rotation says
   */
  constructor(keys, starts, chain) {
    this.keys = keys;
    this.starts = starts;
    this.chain = chain;
  }

  /**
   * The keys in a key file.
   * @param {string} text
   * @returns {Promise<KeyFile>}
   * @throws {ReleaseError} it does not begin with a public key of Ed25519, or a rotation is malformed or not signed
   *   by the key that it replaces
   */
  static async fromText(text) {
    if (text.length > LARGEST) throw new ReleaseError("this is not a key file: it is too large");
    const end = text.indexOf(END);
    const first = await PublicKey.fromPem(end < 0 ? text : `${stripped(text.slice(0, end))}\n${END}\n`);
    let keyFile = new KeyFile([first], [0], [first.id]);
    const lines = end < 0 ? [] : text.slice(end + END.length).split("\n");
    for (const line of lines.map(stripped).filter(Boolean)) {
      keyFile = await keyFile.#followed(Envelope.fromText(line));
    }
    return keyFile;
  }

  /**
   * The key with an id.
   * @param {string} keyId
   * @returns {PublicKey}
   * @throws {ReleaseError} there is none
   */
  find(keyId) {
    const key = this.keys.find((one) => one.id === keyId);
    if (key) return key;
    throw new ReleaseError(
      `this release is signed by another key, ${grouped(keyId)}, and not by the owner's, ` +
        `${grouped(this.keys[this.keys.length - 1].id)}: do not use it; if the owner rotated their key, fetch their ` +
        "key file again",
    );
  }

  /**
   * Refuse a key that may not sign a release of this number.
   * @param {string} keyId
   * @param {number} version
   * @throws {ReleaseError} the key had not begun to sign by then, or had been replaced
   */
  require(keyId, version) {
    const place = this.keys.findIndex((key) => key.id === keyId);
    const about = `this release has number ${shown(version)}, and its key`;
    if (version < this.starts[place]) {
      throw new ReleaseError(
        `${about} signs only from number ${shown(this.starts[place])} on; ask the owner for a release that their ` +
          "key at the time signed",
      );
    }
    if (place + 1 < this.keys.length && version >= this.starts[place + 1]) {
      throw new ReleaseError(
        `${about} was replaced from number ${shown(this.starts[place + 1])} on: it may be forged with the old key; ` +
          "ask the owner for one that their present key signed",
      );
    }
  }

  /**
   * With one more rotation, if it is right.
   * @param {Envelope} rotation
   */
  async #followed(rotation) {
    const [last, before] = [this.keys[this.keys.length - 1], this.starts[this.starts.length - 1]];
    const malformed = "a rotation in this key file is malformed; fetch the file again";
    if (rotation.payloadType !== ROTATION_TYPE) throw new ReleaseError(malformed);
    if (!(await rotation.isBy(last))) {
      throw new ReleaseError(
        "a rotation in this key file is not signed by the key that it replaces: do not use the file; fetch it " +
          "again where you got the owner's first key",
      );
    }
    let [pem, start] = ["", -1];
    try {
      const values = fields(rotation.parsed(), "replaces", "public", "from_version");
      start = whole(values.from_version);
      pem = string(values.public);
      if (values.replaces !== last.id || !isVersion(start)) throw new SyntaxError();
    } catch {
      throw new ReleaseError(malformed);
    }
    const next = await PublicKey.fromPem(pem);
    if (this.keys.some((key) => key.id === next.id) || start < before) {
      throw new ReleaseError(
        "a rotation leads back to a key that was replaced, or begins before the last one; rotate to a key of its " +
          "own, from a later number on",
      );
    }
    const link = await sha256(rotation.payload);
    return new KeyFile([...this.keys, next], [...this.starts, start], [...this.chain, link]);
  }
}

/** @param {string} line */
function stripped(line) {
  let end = line.length;
  while (end > 0 && " \t\r\n".includes(line[end - 1])) end -= 1;
  return line.slice(0, end);
}

/** @param {number} version */
export function shown(version) {
  return version.toLocaleString("en");
}
