// The statement of privacy that every release carries: what it promises, to whom, and on what assumptions.
//
// It is read as it is, and checked so that it can be shown. Python computes the promise again from what was measured.

import { ReleaseError } from "./errors.js";
import { printable } from "./escapes.js";
import { each, frozen, list, number, object, text, whole } from "./untrusted_json.js";

const VERSION = 1;

/**
 * What a release promises: its fields as the file has them.
 * @typedef {object} Statement
 * @property {string} caveat why nothing is promised, or on what condition; empty if the promise holds
 * @property {string} sentence what is promised to a person, in plain words, or why nothing is
 * @property {string} headline the guarantee in a few words
 * @property {string} unit `user` or `rating`
 * @property {string} adjacency `add-remove`, `replace` or `replace-items`
 * @property {number} epsilon true ε at `delta`; Infinity if no finite ε is known
 * @property {number} delta δ
 * @property {readonly any[]} measurements everything that was measured
 * @property {readonly string[]} assumes what the promise rests on
 * @property {Readonly<Record<string, any>>} ledger the ledger that was charged
 * @property {boolean} interactions whether people gave interactions in place of ratings
 */

/**
 * A statement that can be shown.
 * @param {unknown} given
 * @returns {Readonly<Statement & Record<string, any>>}
 * @throws {ReleaseError} it is malformed or of another version
 */
export function statement(given) {
  try {
    const told = object(given);
    if (told.version !== VERSION) {
      throw new ReleaseError(
        `the statement of privacy has version ${String(told.version)}, this hushrec reads ${VERSION}; upgrade hushrec`,
      );
    }
    const { caveat, sentence, headline, unit, adjacency, hushrec = "", interactions = false } = told;
    const { id = "", head = "", file = null, seq = 0, release_index: index = 0 } = object(told.ledger);
    for (const line of [caveat, sentence, headline, unit, adjacency, hushrec, id, head, file ?? ""]) shown(line);
    each(told.ledger, (value) => typeof value === "string" && shown(value));
    whole(seq);
    whole(index);
    if (typeof interactions !== "boolean") throw new TypeError("neither yes nor no");
    const epsilon = told.epsilon === null ? Infinity : number(told.epsilon);
    if (epsilon < 0 || number(told.delta) < 0) throw new RangeError("a loss is negative");
    list(told.measurements, object);
    list(told.assumes, shown);
    return Object.freeze(Object.assign(Object.create(null), frozen(told), { epsilon, interactions }));
  } catch (error) {
    if (error instanceof ReleaseError) throw error;
    throw new ReleaseError("the statement of privacy is malformed");
  }
}

/** @param {unknown} value */
function shown(value) {
  if (!printable(text(value))) throw new TypeError("not a line of text");
  return value;
}
