// The statement of privacy that every release carries: what it promises, to whom, and on what assumptions.
//
// It is read as it is, and checked so that it can be shown, with a headline that is that of its figures. Python
// computes the promise again from what was measured.

import { demand, ReleaseError } from "./errors.js";
import { printable } from "./escapes.js";
import { above } from "./figures.js";
import { each, frozen, list, number, object, text, whole } from "./untrusted_json.js";

const VERSION = 3;
/** What a headline says of each kind of caveat. */
const CAVEATS = new Map([
  ["unprotected", "NOT PRIVATE"], ["convergence", "CONDITIONAL ON CONVERGENCE"],
  ["groups", "GROUPS NOT COVERED"], ["author", "AUTHOR'S CLAIM"],
]);

/**
 * What a file states by a name and values; Python's `hushrec.documents.sentences` says it in English.
 * @typedef {Readonly<{name: string} & Record<string, any>>} Fact
 */

/**
 * What readers see of a statement.
 * @typedef {object} Said
 * @property {string} headline the guarantee in a few words
 * @property {string} sentence what is promised to a person, in plain words, or why nothing is
 * @property {string} [story] what readers may find out about one person; missing if nothing is promised
 * @property {string} [protected] what is protected; missing if nothing is promised
 * @property {string} [unprotected] what is not protected; missing if nothing is promised
 * @property {string} [together] ε of all releases together; missing if there is only one
 */

/**
 * What a release promises: its fields as the file has them.
 * @typedef {object} Statement
 * @property {readonly Fact[]} caveats why nothing is promised, or on what condition; empty if the promise holds
 * @property {Readonly<Said>} said what readers see
 * @property {string} unit `user` or `record`
 * @property {string} adjacency `add-remove`, `replace` or `replace-items`
 * @property {number} epsilon true ε at `delta`; Infinity if no finite ε is known
 * @property {number} delta δ
 * @property {readonly any[]} measurements everything that was measured
 * @property {readonly Fact[]} assumes what the promise rests on
 * @property {Readonly<Record<string, any>>} ledger the ledger that was charged
 * @property {boolean} interactions whether people gave interactions in place of ratings
 * @property {Fact | null} [beside] the release that groups of items were made from
 */

/**
 * A statement that can be shown.
 * @param {unknown} facts
 * @returns {Readonly<Statement & Record<string, any>>}
 * @throws {ReleaseError} it is malformed or of another version
 */
export function statement(facts) {
  try {
    const fields = object(facts);
    demand(
      fields.version === VERSION,
      `the statement of privacy has version ${String(fields.version)}, this hushrec reads ${VERSION}; upgrade hushrec`,
    );
    if (fields.kind !== "statement") throw new TypeError("another kind");
    const { unit, adjacency, hushrec = "", interactions = false, beside = null } = fields;
    const { id = "", head = "", file = null, seq = 0, release_index: index = 0 } = object(fields.ledger);
    for (const line of [unit, adjacency, hushrec, id, head, file ?? ""]) shown(line);
    each(fields.ledger, safe);
    sayings(fields.said, "sentence");
    whole(seq);
    whole(index);
    if (typeof interactions !== "boolean") throw new TypeError("neither yes nor no");
    const epsilon = fields.epsilon === null ? Infinity : number(fields.epsilon);
    if (epsilon < 0 || number(fields.delta) < 0) throw new RangeError("a loss is negative");
    list(fields.measurements, object);
    for (const named of ["caveats", "assumes"]) list(fields[named], fact);
    list(fields.decisions ?? [], fact);
    if (beside !== null) fact(beside);
    const read = Object.assign(Object.create(null), frozen(fields), { epsilon, interactions });
    demand(
      read.said.headline === headline(read),
      "the headline of the statement of privacy is not that of its figures; do not use the release, and fetch it " +
        "again from its owner",
    );
    return Object.freeze(read);
  } catch (error) {
    if (error instanceof ReleaseError) throw error;
    throw new ReleaseError("the statement of privacy is malformed");
  }
}

/**
 * The guarantee in a few words, from the figures: the first of its caveats, and ε with what it is for.
 * @param {Statement} statement
 */
function headline({ caveats, measurements, unit, adjacency, epsilon, delta }) {
  const kinds = caveats.map(({ name }) => name.split(".")[0]);
  const [first] = kinds.map((kind) => text(CAVEATS.get(kind)));
  if (kinds.includes("unprotected") || !measurements.length) return first ?? "nothing was measured";
  if (first) return `${first}: ε = ${above(epsilon)} per ${unit}`;
  return `ε = ${above(epsilon)} at δ = ${above(delta)} per ${unit}, ${adjacency}`;
}

/**
 * What readers see, by name: lines of text.
 * @param {unknown} value
 * @param {...string} names that it must have
 */
export function sayings(value, ...names) {
  const sentences = each(value, shown);
  for (const name of names) text(sentences[name]);
  return sentences;
}

/** @param {unknown} value */
function fact(value) {
  text(object(value).name);
  each(value, safe);
}

/** @param {unknown} value of any form; a text must be a line */
function safe(value) {
  if (typeof value === "string") shown(value);
}

/** @param {unknown} value */
function shown(value) {
  if (!printable(text(value))) throw new TypeError("not a line of text");
  return value;
}
