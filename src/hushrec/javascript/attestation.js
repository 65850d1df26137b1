// What the owner signs of a release: an in-toto statement (v1) of its digest, number, ledger and promise.

import { isDigest } from "./envelope.js";
import { ReleaseError } from "./errors.js";
import { printable } from "./escapes.js";
import { fields, object, whole } from "./untrusted_json.js";

/** @typedef {import("./envelope.js").Envelope} Envelope */
/** @typedef {{name: string, sha256: string, version: number, ledger: string | null}} Attestation */

export const PAYLOAD_TYPE = "application/vnd.in-toto+json";
const STATEMENT_TYPE = "https://in-toto.io/Statement/v1";
const PREDICATE_TYPE = "urn:hushrec:release:1";
const LONGEST = 1024;

/**
 * What an envelope says of one file.
 * @param {Envelope} envelope
 * @returns {Attestation}
 * @throws {ReleaseError} it is not what hushrec signs
 */
export function attested(envelope) {
  try {
    const values = fields(envelope.parsed(), "_type", "subject", "predicateType", "predicate");
    if (values._type !== STATEMENT_TYPE || values.predicateType !== PREDICATE_TYPE) {
      throw new ReleaseError(
        "this is the signature of something else than a release, or of a later version of hushrec; fetch the " +
          "release's own, or upgrade hushrec",
      );
    }
    const [subject, ...others] = values.subject;
    const { name, digest } = fields(subject, "name", "digest");
    const { sha256 } = fields(digest, "sha256");
    const { version, ledger, statement } = fields(values.predicate, "version", "ledger", "statement");
    object(statement);
    if (others.length || !isText(name) || !isDigest(sha256) || !isVersion(whole(version)) || !(ledger === null || isText(ledger))) {
      throw new SyntaxError("not what is signed");
    }
    return { name, sha256, version, ledger };
  } catch (error) {
    if (error instanceof ReleaseError) throw error;
    throw new ReleaseError("what this signature is of is malformed; ask the owner to sign the release again");
  }
}

/**
 * Whether a value can be the number of a release.
 * @param {unknown} value
 */
export function isVersion(value) {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** @param {unknown} value */
function isText(value) {
  return typeof value === "string" && value !== "" && [...value].length <= LONGEST && printable(value);
}
