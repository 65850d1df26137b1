// What the owner signs of a release: an in-toto statement (v1) of its digest, number, ledger and promise.

import { fields, isDigest } from "./envelope.js";
import { ReleaseError } from "./errors.js";
import { printable } from "./escapes.js";

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
    const told = fields(envelope.told(), "_type", "subject", "predicateType", "predicate");
    if (told.get("_type") !== STATEMENT_TYPE || told.get("predicateType") !== PREDICATE_TYPE) {
      throw new ReleaseError(
        "this is the signature of something else than a release, or of a later version of hushrec; fetch the " +
          "release's own, or upgrade hushrec",
      );
    }
    const [subject, ...others] = told.get("subject");
    if (others.length) throw new SyntaxError("more than one subject");
    const file = fields(subject, "name", "digest");
    const sha256 = fields(file.get("digest"), "sha256").get("sha256");
    const predicate = fields(told.get("predicate"), "version", "ledger", "statement");
    const [name, ledger, version] = [file.get("name"), predicate.get("ledger"), predicate.get("version")];
    const valid =
      isText(name) &&
      isDigest(sha256) &&
      typeof version === "bigint" &&
      isVersion(Number(version)) &&
      (ledger === null || isText(ledger)) &&
      predicate.get("statement") instanceof Map;
    if (!valid) throw new SyntaxError("not what is signed");
    return { name, sha256, version: Number(version), ledger };
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
