// Whether a release is signed, and by whom: its bytes are checked by the key file that a user pins.
//
// The rules and sentences are those of `hushrec.release.signing`, and docs/signing.md explains them.

import { attested, isVersion, PAYLOAD_TYPE } from "./attestation.js";
import { sha256 } from "./digest.js";
import { Envelope, isDigest } from "./envelope.js";
import { ReleaseError } from "./errors.js";
import { KeyFile, shown } from "./key_file.js";

/** @typedef {import("./attestation.js").Attestation} Attestation */
/** @typedef {{chain?: readonly string[], ledger: string | null, version: number}} Seen */
/** @typedef {{state: "unchecked", keyId: string, version: number, ledger: string | null}} Unchecked */
/** @typedef {{state: "verified", keyId: string, version: number, ledger: string | null, chain: string[]}} Verified */

/**
 * The signature of a release, checked.
 * @param {Uint8Array} bytes the release's bytes; read the release from these
 * @param {string} envelopeText the signature file
 * @param {string} keyText the key file that the user pins
 * @param {Seen | null} [seen] what the last check returned, kept by the caller; without it any number is accepted
 * @returns {Promise<Verified>} keep it, and give it to the next check as `seen`
 * @throws {ReleaseError} the signature is malformed, by another key, wrong, or of other bytes; its key had been
 *   replaced; the release is an older one, or of another ledger; or Ed25519 cannot be checked here
 */
export async function verified(bytes, envelopeText, keyText, seen = null) {
  const keys = await KeyFile.fromText(keyText);
  const envelope = ofRelease(envelopeText);
  if (!(await envelope.isBy(keys.find(envelope.keyId)))) {
    throw new ReleaseError(
      "the signature is wrong: the signature file was altered or forged; do not use this release, and fetch it again " +
        "from its owner",
    );
  }
  const attestation = attested(envelope);
  await requireSame(bytes, attestation);
  keys.require(envelope.keyId, attestation.version);
  if (seen !== null && seen !== undefined) requireLater(seen, keys.chain, attestation);
  return { state: "verified", keyId: envelope.keyId, version: attestation.version, ledger: attestation.ledger, chain: keys.chain };
}

/**
 * What a signature file says, without a key to check it by: anybody can write this.
 * @param {Uint8Array} bytes the release's bytes
 * @param {string} envelopeText the signature file
 * @returns {Promise<Unchecked>}
 * @throws {ReleaseError} the signature is malformed, or of other bytes
 */
export async function claimed(bytes, envelopeText) {
  const envelope = ofRelease(envelopeText);
  const attestation = attested(envelope);
  await requireSame(bytes, attestation);
  return { state: "unchecked", keyId: envelope.keyId, version: attestation.version, ledger: attestation.ledger };
}

/** @param {string} text */
function ofRelease(text) {
  const envelope = Envelope.fromText(text);
  if (envelope.payloadType === PAYLOAD_TYPE) return envelope;
  throw new ReleaseError(
    "this is the signature of something else than a release; fetch the release's own, whose name ends in .dsse.json",
  );
}

/** @param {Uint8Array} bytes @param {Attestation} attestation */
async function requireSame(bytes, attestation) {
  if ((await sha256(bytes)) === attestation.sha256) return;
  throw new ReleaseError(
    `this is not the file that was signed as '${attestation.name}': it was altered, or the signature is of another one; do ` +
      "not use it, and fetch both again from its owner",
  );
}

/**
 * Refuse what must not come after what was seen.
 * @param {Seen} seen
 * @param {string[]} chain
 * @param {Attestation} attestation
 */
function requireLater(seen, chain, attestation) {
  const before = seen.chain ?? [];
  const valid = Array.isArray(before) && before.every(isDigest) && isVersion(seen.version);
  if (!valid || !(seen.ledger === null || typeof seen.ledger === "string")) {
    throw new ReleaseError("what was seen is damaged; if you delete it, an older release is accepted once");
  }
  const fix = "; if the owner says so, through a channel that you trust, delete what was seen and begin again";
  if (before.some((link, at) => link !== chain[at])) {
    throw new ReleaseError(
      "this key file begins with another key than the one by which releases were verified before, or lacks one of " +
        `its rotations: do not use it${fix}`,
    );
  }
  if (attestation.ledger !== seen.ledger) {
    const [ledger, other] = [attestation.ledger, seen.ledger].map((id) => id ?? "None");
    throw new ReleaseError(
      `this release is charged to ledger ${ledger}, and those verified before to ${other}: their losses of ` +
        `privacy may not be added up${fix}`,
    );
  }
  if (attestation.version < seen.version) {
    throw new ReleaseError(
      `this release has number ${shown(attestation.version)}, and number ${shown(seen.version)} was verified before: it is ` +
        "an older release (a rollback); fetch the latest",
    );
  }
}
