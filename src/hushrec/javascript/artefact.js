// A release: one safetensors file with its statement of privacy, checked before use.

import { sha256 } from "./digest.js";
import { ReleaseError } from "./errors.js";
import { oneLine, printable } from "./escapes.js";
import { areColumns, KINDS, POSITIVE, ranges, VALUES, WHOLE } from "./kinds.js";
import { contents } from "./safetensors.js";
import { sayings, statement } from "./statement.js";
import { each, frozen, list, number, object, parse, text, whole } from "./untrusted_json.js";

/** @typedef {import("./safetensors.js").Tensor} Tensor */
/** @typedef {import("./statement.js").Statement} Statement */

const FORMAT = 8;
/** What stands between the size of the header and the SHA-256 of all that follows it. */
const BEFORE = '{"__metadata__":{"hushrec":"{\\"sha256\\":\\"';
const END = 8 + BEFORE.length + 64;
const LARGEST_FILE = 2 ** 30;
const LARGEST_RANK = 2048;
const LARGEST_CAP = 1e30; // of contributions
const LARGEST_ID = 256; // bytes
const PARQUET = [80, 65, 82, 49];
const LINES = "there is not one line of text for each item among the titles or features";
const UTF8 = new TextEncoder();

/**
 * Everything that a person needs to predict on their own device, with the statement of privacy. Read only.
 *
 * Its fields are those of `hushrec.release.artefact.Release`, `sha256` of the file, and `signedBy`.
 */
export class Release {
  /**
   * @param {Record<string, any>} facts as the file has them
   * @param {() => Map<string, Tensor>} tensors
   * @param {string} sum SHA-256 of the file
   * @param {string} signedBy the owner's public key by which the file's signature was checked; empty if it was not
   * @throws {ReleaseError} the parts do not match or are not finite
   */
  constructor(facts, tensors, sum, signedBy) {
    this.kind = text(facts.kind);
    if (!KINDS.has(this.kind)) {
      throw new ReleaseError(
        `a release of kind '${this.kind}' is for Python: JavaScript reads factors, linear items and item scores; ` +
          "make one of these, as CovarianceSVD and PrivateEASE do",
      );
    }
    this.model = text(facts.model);
    this.settings = frozen(object(facts.settings));
    this.items = list(facts.items, text);
    const n = this.items.length;
    this.titles = "titles" in facts ? lines(facts.titles, n) : Object.freeze(/** @type {string[]} */ ([]));
    this.features = each("features" in facts ? facts.features : {}, (value) => lines(value, n));
    this.scale = "scale" in facts ? list(facts.scale, number) : null;
    this.likes = "likes" in facts ? number(facts.likes) : null;
    this.counts = "counts" in facts ? whole(facts.counts) : null;
    this.feedback = this.scale && this.likes === null ? "ratings" : "interactions";
    this.constants = each(facts.constants, number);
    this.statement = statement(facts.statement);
    /** Number of dimensions of taste: directions in which the lists of two people can differ. */
    this.dimensions = whole(facts.dimensions);
    /** What is left of people's tastes after the noise, and why lists are all the same if they are. */
    this.said = sayings(facts.said, "taste", ...(this.dimensions ? [] : ["why_same"]));
    this.sha256 = sum;
    if ("users" in facts && list(facts.users, text).length) throw new TypeError("a release that lists people");
    const placed = tensors();
    /** Name and value of the features that explain a part of linear scores, in the order of the tensors' rows. */
    this.values = "values" in facts ? values(object(facts.values), placed) : Object.freeze(/** @type {string[][]} */ ([]));
    this.rank = checked(this, placed);
    const arrays = [...placed].map(([name, { values }]) => [name, values]);
    /** @type {Readonly<Record<string, Float32Array>>} of whole numbers, an Int32Array */
    this.tensors = Object.freeze(Object.fromEntries(arrays));
    this.signedBy = signedBy;
    Object.freeze(this);
  }

  /** Whether lists depend on who asks, beyond leaving out their own items. */
  get personal() {
    return this.dimensions > 0;
  }

  /** The smallest and the largest rating or count. */
  get bounds() {
    return this.scale ?? [1, this.counts ?? 1];
  }

  /**
   * The scale of the ratings that are predicted.
   * @returns {readonly number[]}
   * @throws {ReleaseError} the release is of interactions
   */
  requireScale() {
    if (this.scale && this.likes === null) return this.scale;
    throw new ReleaseError(
      "this release is of interactions: it ranks items and predicts no ratings; call recommend",
    );
  }

  /**
   * The release that these bytes hold.
   * @param {Uint8Array} bytes
   * @param {string} [signedBy] the key by which their signature was checked
   * @returns {Promise<Release>}
   * @throws {ReleaseError} the bytes are not a release, were altered, or have another format
   */
  static async from(bytes, signedBy = "") {
    if (bytes.length > LARGEST_FILE) throw new ReleaseError("the file is larger than a release may be here");
    const sum = await sha256(bytes);
    try {
      const { metadata, tensors } = contents(bytes);
      const facts = object(parse(text(metadata.hushrec)));
      if (facts.format !== FORMAT) {
        throw new ReleaseError(
          `this release has format ${String(facts.format)}, this hushrec reads ${FORMAT}; use the version that wrote ` +
            "it, or release again",
        );
      }
      const head = new TextDecoder().decode(bytes.subarray(8, END));
      if (head !== BEFORE + (await sha256(bytes.subarray(END)))) {
        throw new ReleaseError("the release was altered after it was written; fetch it again");
      }
      return new Release(facts, tensors, sum, signedBy);
    } catch (error) {
      if (error instanceof ReleaseError) throw error;
      // a crafted file can make the parsers throw anything; the answer is the same
      if (PARQUET.every((byte, at) => bytes[at] === byte)) {
        throw new ReleaseError(
          "this is a table, not a release; if it is a released data set, fit a model on it first (hushrec fit)",
        );
      }
      throw new ReleaseError("this is not a hushrec release, or it is damaged; fetch it again");
    }
  }
}

/**
 * Check that the parts match.
 * @param {Release} release
 * @param {Map<string, Tensor>} tensors
 * @returns {number} the rank of its factors; 0 without
 */
function checked(release, tensors) {
  const kind = /** @type {import("./kinds.js").Kind} */ (KINDS.get(release.kind));
  const valued = release.values.length > 0;
  const shapes = /** @type {Record<string, string[]>} */ ({ ...kind.tensors, ...(valued ? VALUES : {}) });
  const names = Object.keys(shapes);
  const alike = tensors.size === names.length && names.every((name) => tensors.has(name));
  if (!alike || (valued && release.kind !== "linear items")) {
    throw new ReleaseError(`the tensors are not those of kind '${release.kind}'`);
  }
  const n = release.items.length;
  const sizes = new Map([["items", n], ["values", release.values.length], ["ends of items", n + 1]]);
  for (const name of names) checkTensor(name, /** @type {Tensor} */ (tensors.get(name)), shapes[name], sizes);
  const [lo, hi, step, ...more] = release.scale ?? [0, 1, 1]; // without ratings, nothing depends on it
  const rank = sizes.get("rank") ?? 0;
  if (more.length || !(lo < hi) || !(step > 0) || rank > LARGEST_RANK) {
    throw new ReleaseError("the scale is empty, or there are more factors than a release may have");
  }
  if (release.likes !== null && !(release.scale && lo <= release.likes && release.likes <= hi)) {
    throw new ReleaseError("the lowest rating that is a like is not on the scale");
  }
  if (release.counts !== null && (release.scale || !(release.counts >= 2 && release.counts <= 255))) {
    throw new ReleaseError("the largest count is out of range, or ratings are counted");
  }
  if ((release.kind === "factors") !== (release.feedback === "ratings")) {
    throw new ReleaseError(`a release of kind '${release.kind}' cannot be of ${release.feedback}`);
  }
  for (const [name, [least, most]] of Object.entries(ranges(kind, release.constants, valued))) {
    const value = release.constants[name] ?? NaN;
    if (!(least <= value && value <= most)) throw new ReleaseError(`the constant ${name} is missing or out of range`);
  }
  const cap = release.settings.contribution_cap ?? null;
  if (release.kind === "linear items" && cap !== null && !(typeof cap === "number" && 0 < cap && cap <= LARGEST_CAP)) {
    throw new ReleaseError("the setting contribution_cap is not a positive number");
  }
  const [starts, columns] = ["value_starts", "value_columns"].map((name) => tensors.get(name)?.values ?? []);
  if (valued && !areColumns(starts, columns, release.values.length)) {
    throw new ReleaseError("the values of the items are malformed, or one of them is unknown");
  }
  checkTexts(release, n);
  return rank;
}

/**
 * @param {string} name
 * @param {Tensor} tensor
 * @param {string[]} dimensions
 * @param {Map<string, number>} sizes by dimension; those that are still free take this tensor's
 */
function checkTensor(name, { shape, values }, dimensions, sizes) {
  for (const [at, dimension] of dimensions.entries()) if (!sizes.has(dimension)) sizes.set(dimension, shape[at]);
  const wrong = WHOLE.has(name) !== values instanceof Int32Array;
  if (wrong || shape.length !== dimensions.length || !dimensions.every((dimension, at) => sizes.get(dimension) === shape[at])) {
    throw new ReleaseError(`tensor ${name} has the wrong type or shape`);
  }
  const positive = POSITIVE.has(name);
  for (let at = 0; at < values.length; at += 1) {
    if (!Number.isFinite(values[at])) throw new ReleaseError(`tensor ${name} holds numbers that are not finite`);
    if (positive && values[at] <= 0) throw new ReleaseError(`tensor ${name} holds numbers that are not positive`);
  }
}

/** @param {Release} release @param {number} n */
function checkTexts(release, n) {
  const { items, titles, features } = release;
  if (!printable(release.model) || !items.every(isId)) {
    throw new ReleaseError("the model's name or an id is not printable text, or an id is too long");
  }
  const named = [...Object.keys(features), ...release.values.flat()].every((name) => name && oneLine(name) === name);
  if (!named || ![...(titles.length ? [titles] : []), ...Object.values(features)].every((of) => of.length === n)) {
    throw new ReleaseError(LINES);
  }
  if (new Set(items).size !== n) throw new ReleaseError("an id is repeated");
}

/** @param {string} id */
function isId(id) {
  if (!id || /\p{Cs}/u.test(id)) return false;
  return id.length * 3 <= LARGEST_ID || UTF8.encode(id).length <= LARGEST_ID;
}

/**
 * Texts about items, one a line, made safe to show; no more than needed, as each takes more memory alone.
 * @param {unknown} value
 * @param {number} n number of items
 */
function lines(value, n) {
  const parts = text(value).split("\n", n + 1);
  if (parts.length !== n) throw new ReleaseError(LINES);
  return Object.freeze(parts.map(oneLine));
}

/**
 * Name and value of the features that explain a part of the scores.
 * @param {Record<string, unknown>} texts
 * @param {Map<string, Tensor>} tensors
 * @returns {readonly (readonly string[])[]}
 */
function values(texts, tensors) {
  const n = tensors.get("value_counts")?.values.length ?? 0;
  const [names, labels] = [lines(texts.features, n), lines(texts.values, n)];
  return Object.freeze(names.map((name, at) => Object.freeze([name, labels[at]])));
}
