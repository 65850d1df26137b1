// What the client throws on purpose.

import { escaped } from "./escapes.js";

/** A release file is malformed, altered, or cannot be trusted or used for another reason. */
export class ReleaseError extends Error {
  /** @param {string} message what is wrong, then what to do; shown as one line, ids and names escaped */
  constructor(message) {
    super(escaped(message));
    this.name = "ReleaseError";
  }
}

/**
 * Refuse what does not hold.
 * @param {boolean} holds
 * @param {string} otherwise what is wrong, then what to do
 * @returns {asserts holds}
 * @throws {ReleaseError} it does not hold
 */
export function demand(holds, otherwise) {
  if (!holds) throw new ReleaseError(otherwise);
}
