// The statement of privacy that every release carries: what it promises, to whom, and on what assumptions.

import { ReleaseError } from "./errors.js";
import { printable } from "./escapes.js";
import { above } from "./figures.js";
import { plain } from "./untrusted_json.js";

const VERSION = 1;
const REQUIRED = [
  "caveat", "unit", "adjacency", "epsilon", "delta", "analysis", "claimed_epsilon", "measurements", "assumes",
  "ledger",
];
const OPTIONAL = [
  "beside", "diagnostics", "promises", "local", "personal", "interactions", "model", "settings", "hushrec",
];
const DERIVED = ["sentence", "reading"];
const UNPROTECTED = "NOT PRIVATE:";
const CONDITIONAL = "CONDITIONAL ON CONVERGENCE:";
const CAVEATS = [UNPROTECTED, CONDITIONAL, "GROUPS NOT COVERED:", "AUTHOR'S CLAIM:"];
const ADJACENCIES = ["user add-remove", "user replace", "user replace-items", "rating add-remove", "rating replace"];
const RANDOMIZERS = new Map([["cell", "randomized response"], ["slot", "item substitution"]]);
const MECHANISMS = [
  "gaussian", "subsampled gaussian", "laplace", "spherical", "posterior sample", "own noise",
  ...RANDOMIZERS.values(), "exact",
];
const MEASURED = ["name", "mechanism", "sensitivity", "noise", "entries", "share", "cost"];
const WHOLE = ["seq", "release_index", "max_releases"];
const LEDGER = [...WHOLE, "total_epsilon", "spent_epsilon"];
const LARGEST = 2n ** 63n;

/**
 * What a release promises: its fields as the file has them, and two texts.
 * @typedef {object} Statement
 * @property {string} caveat why nothing is promised, or on what condition; empty if the promise holds
 * @property {string} unit `user` or `rating`
 * @property {string} adjacency `add-remove`, `replace` or `replace-items`
 * @property {number} epsilon true ε at `delta`; Infinity if no finite ε is known
 * @property {number} delta δ
 * @property {string} analysis `corrected` or `published`
 * @property {readonly any[]} measurements everything that was measured
 * @property {readonly string[]} assumes what the promise rests on
 * @property {Readonly<Record<string, any>>} ledger the ledger that was charged
 * @property {boolean} interactions whether people gave interactions in place of ratings
 * @property {string} sentence what is promised to a person, in plain words, or why nothing is; empty in files
 *   from before statements had one
 * @property {string} headline the guarantee in a few words
 */

/**
 * A statement, checked.
 * @param {unknown} given
 * @returns {Readonly<Statement & Record<string, any>>}
 * @throws {ReleaseError} it is malformed, of a later version, or promises without grounds
 */
export function statement(given) {
  const told = new Map(fields(given));
  const version = told.get("version");
  if (told.has("version")) {
    if (version !== 1n && version !== 1) {
      throw new ReleaseError(
        `the statement of privacy has version ${String(version)}, this hushrec reads ${VERSION}; upgrade hushrec`,
      );
    }
    if (!DERIVED.every((name) => told.has(name))) {
      throw new ReleaseError("the statement of privacy has missing fields");
    }
    told.delete("version");
  }
  const known = [...REQUIRED, ...OPTIONAL, ...(version === undefined ? [] : DERIVED)];
  if (!REQUIRED.every((name) => told.has(name)) || ![...told.keys()].every((name) => known.includes(name))) {
    throw new ReleaseError("the statement of privacy has missing or unknown fields");
  }
  if (!isValid(told)) throw new ReleaseError("the statement of privacy is malformed");
  if (!isGrounded(told)) throw new ReleaseError("the statement of privacy promises something without grounds");
  const epsilon = told.get("epsilon") === null ? Infinity : Number(told.get("epsilon"));
  const texts = { sentence: sentence(told, epsilon), headline: headline(told, epsilon) };
  const facts = { interactions: false, ...plain(told), epsilon, ...texts };
  return Object.freeze(Object.assign(Object.create(null), facts));
}

/**
 * A number from 0 to the largest float; JSON allows larger integers.
 * @param {any} value
 */
function finite(value) {
  return (typeof value === "number" || typeof value === "bigint") && value >= 0 && value <= Number.MAX_VALUE;
}

/** @param {any} value */
function finiteOrNull(value) {
  return value === null || finite(value);
}

/** @param {unknown} value */
function fields(value) {
  if (!(value instanceof Map)) throw new ReleaseError("the statement of privacy is malformed");
  return /** @type {Map<string, any>} */ (value);
}

/**
 * @param {Map<string, any>} told
 * @param {string} name
 * @param {any} otherwise
 */
function field(told, name, otherwise) {
  return told.has(name) ? told.get(name) : otherwise;
}

/** @param {any} value */
function isText(value) {
  return typeof value === "string" && printable(value);
}

/** @param {any} value @param {(entry: any) => boolean} [test] */
function isList(value, test = () => true) {
  return Array.isArray(value) && value.every(test);
}

/**
 * @param {any} value
 * @param {string[]} required
 * @param {string[]} [optional]
 */
function hasFields(value, required, optional = []) {
  if (!(value instanceof Map)) return false;
  const names = [...value.keys()];
  return required.every((name) => value.has(name)) && names.every((n) => [...required, ...optional].includes(n));
}

/**
 * Whether every field holds what it may.
 * @param {Map<string, any>} told
 */
function isValid(told) {
  const claimed = told.get("claimed_epsilon");
  const [ledger, diagnostics] = [told.get("ledger"), field(told, "diagnostics", new Map())];
  const promises = field(told, "promises", []);
  const local = field(told, "local", null);
  return (
    isText(told.get("caveat")) &&
    isText(told.get("unit")) &&
    isText(told.get("adjacency")) &&
    finiteOrNull(told.get("epsilon")) &&
    finite(told.get("delta")) &&
    (claimed === null || finite(claimed)) &&
    isList(told.get("measurements"), (line) => hasFields(line, MEASURED, ["rate"])) &&
    isList(told.get("assumes"), isText) &&
    ["beside", "model", "settings", "hushrec"].every((name) => isText(field(told, name, ""))) &&
    ["personal", "interactions"].every((name) => typeof field(told, name, false) === "boolean") &&
    ledger instanceof Map &&
    ["id", "head"].every((name) => typeof field(ledger, name, "") === "string") &&
    (field(ledger, "file", null) === null || typeof ledger.get("file") === "string") &&
    WHOLE.every((name) => typeof field(ledger, name, 0n) === "bigint") &&
    LEDGER.every((name) => finite(field(ledger, name, 0)) && field(ledger, name, 0) < LARGEST) &&
    [...ledger.values()].every((value) => typeof value !== "string" || printable(value)) &&
    diagnostics instanceof Map &&
    [...diagnostics].every(([name, value]) => printable(name) && (isText(value) || isFigure(value))) &&
    isList(promises, (promise) => hasFields(promise, ["name", "asked", "weight", "promised"])) &&
    new Set(promises.map((/** @type {any} */ promise) => promise.get("name"))).size === promises.length &&
    (local === null ||
      hasFields(local, ["what", "epsilon", "expected", "claimed", "count", "changed"], ["drawn"]))
  );
}

/** @param {any} value */
function isFigure(value) {
  return ["number", "bigint", "boolean"].includes(typeof value) && Number.isFinite(Number(value));
}

/**
 * Whether there is noise of a known cost, any condition of the promise is stated, and the figures agree.
 * @param {Map<string, any>} told
 */
function isGrounded(told) {
  const [caveat, adjacency] = [told.get("caveat"), `${told.get("unit")} ${told.get("adjacency")}`];
  const epsilon = told.get("epsilon");
  /** @type {Map<string, any>[]} */
  const measured = told.get("measurements");
  const claimed = told.get("claimed_epsilon");
  const promises = field(told, "promises", []);
  const local = field(told, "local", null);
  const forPeople = field(told, "personal", false) || promises.length || measured.some((m) => rate(m) < 1);
  const sampled = measured.some((line) => line.get("mechanism") === "posterior sample");
  const known =
    (!caveat || CAVEATS.some((start) => caveat.startsWith(start))) &&
    ADJACENCIES.includes(adjacency) &&
    ["corrected", "published"].includes(told.get("analysis")) &&
    (claimed === null || claimed > 0) &&
    told.get("delta") < 1 &&
    measured.every(isMeasured) &&
    (adjacency === "rating replace" || measured.every((line) => Number(line.get("entries")))) &&
    (epsilon === null || measured.every((line) => line.get("cost") !== null)) &&
    promises.every((/** @type {Map<string, any>} */ promise) => isPromise(promise, epsilon)) &&
    (adjacency === "user add-remove" || !forPeople) &&
    (local === null || answers(told, local, measured));
  const grounded =
    epsilon !== null &&
    measured.some((line) => line.get("mechanism") !== "exact") &&
    (caveat.startsWith(CONDITIONAL) || !sampled);
  return known && (grounded || caveat.startsWith(UNPROTECTED));
}

/** @param {Map<string, any>} line */
function rate(line) {
  return field(line, "rate", 1);
}

/** @param {Map<string, any>} line */
function isMeasured(line) {
  const [mechanism, noise] = [line.get("mechanism"), line.get("noise")];
  const endless =
    ["spherical", "own noise", "item substitution"].includes(mechanism) &&
    line.get("sensitivity") === null &&
    line.get("cost") === null;
  return (
    isText(line.get("name")) &&
    MECHANISMS.includes(mechanism) &&
    finite(rate(line)) &&
    rate(line) > 0 &&
    rate(line) <= 1 &&
    rate(line) < 1 === (mechanism === "subsampled gaussian") &&
    [noise, line.get("entries"), line.get("share")].every(finite) &&
    (endless || [line.get("sensitivity"), line.get("cost")].every(finite)) &&
    (noise > 0 || mechanism === "exact") &&
    (noise <= 1 || ![...RANDOMIZERS.values()].includes(mechanism))
  );
}

/**
 * Whether a class is promised what its weight implies; users who ask for 0 have weight 0.
 * @param {Map<string, any>} promise
 * @param {number | bigint | null} epsilon
 */
function isPromise(promise, epsilon) {
  const figures = ["asked", "weight", "promised"].map((name) => promise.get(name));
  if (!isText(promise.get("name")) || !figures.every(finite)) return false;
  const [asked, weight, promised] = figures.map(Number);
  const total = epsilon === null ? Infinity : Number(epsilon);
  const full = weight === 1;
  return (
    weight <= 1 &&
    promised <= asked &&
    (asked > 0 || weight === 0) &&
    (weight > 0 || promised === 0) &&
    (full ? total * (1 - 1e-9) : 0) <= promised &&
    promised <= total &&
    (full || asked < Math.max(total, 1e-12))
  );
}

/**
 * Whether the figures of one answer match what was measured, and the release's ε covers all answers.
 * @param {Map<string, any>} told
 * @param {Map<string, any>} local
 * @param {Map<string, any>[]} measured
 */
function answers(told, local, measured) {
  const figures = ["epsilon", "expected", "changed"].map((name) => local.get(name));
  const [drawn, claimed, count] = [field(local, "drawn", 1), local.get("claimed"), local.get("count")];
  if (![...figures, drawn, count].every(finite) || !finiteOrNull(claimed) || typeof count !== "bigint") return false;
  const [epsilon, expected, changed] = figures.map(Number);
  const total = Number(count) * epsilon;
  const error = 1e-9 * (1 + total);
  const spent = told.get("epsilon") === null ? Infinity : Number(told.get("epsilon"));
  const mechanisms = measured.map((line) => line.get("mechanism")).filter((name) => name !== "exact");
  return (
    RANDOMIZERS.has(local.get("what")) &&
    epsilon > 0 &&
    expected <= epsilon * (1 + 1e-9) &&
    count >= 1n &&
    count < LARGEST &&
    changed > 0 &&
    changed <= 1 &&
    drawn > 0 &&
    drawn <= 1 &&
    told.get("unit") === "user" &&
    mechanisms.length > 0 &&
    mechanisms.every((name) => name === RANDOMIZERS.get(local.get("what"))) &&
    spent <= total + error &&
    (told.get("delta") > 0 || spent >= total - error)
  );
}

/**
 * What is promised to a person; where nothing is, or on a condition, the file's own text does not count.
 * @param {Map<string, any>} told
 * @param {number} epsilon
 */
function sentence(told, epsilon) {
  const caveat = told.get("caveat");
  if (caveat.startsWith(UNPROTECTED)) return `Nothing is promised. ${caveat}.`;
  if (epsilon === Infinity) return "Nothing is promised.";
  if (caveat) return `What is promised holds only on a condition. ${caveat}.`;
  return isText(told.get("sentence")) ? told.get("sentence") : "";
}

/**
 * The guarantee in a few words: the first of its caveat, and ε with what it is for.
 * @param {Map<string, any>} told
 * @param {number} epsilon
 */
function headline(told, epsilon) {
  const caveat = told.get("caveat");
  const first = caveat.split(":")[0];
  if (!told.get("measurements").length || caveat.startsWith(UNPROTECTED)) return first || "nothing was measured";
  const loss = epsilon === Infinity ? "no finite ε" : `ε = ${above(epsilon)}`;
  const doubt = first || (told.get("analysis") === "published" ? "not a valid guarantee" : "");
  if (doubt) return `${doubt}: ${loss} per ${told.get("unit")}`;
  return `${loss} at δ = ${above(Number(told.get("delta")))} per ${told.get("unit")}, ${told.get("adjacency")}`;
}
