// A release: one safetensors file with its statement of privacy, checked before use.

import { digest, sha256 } from "./digest.js";
import * as tastes from "./dimensions.js";
import { ReleaseError } from "./errors.js";
import { oneLine, printable } from "./escapes.js";
import { parse, plain } from "./untrusted_json.js";
import { DTYPES, KINDS, POSITIVE, RANKERS, ranges } from "./kinds.js";
import { contents } from "./safetensors.js";
import { statement } from "./statement.js";

/** @typedef {import("./safetensors.js").Tensor} Tensor */
/** @typedef {import("./statement.js").Statement} Statement */
/** @typedef {{state: "unsigned"}} Unsigned */
/** @typedef {{state: "unchecked", problem: string}} Useless */
/** @typedef {import("./signature.js").Unchecked | import("./signature.js").Verified} Claimed */
/** @typedef {Unsigned | Useless | Claimed} Signature */

/** The formats that are read. */
const READ = [3, 4];
const LARGEST_FILE = 2 ** 30;
const LARGEST_RANK = 2048;
const LARGEST_ID = 256; // bytes
const PARQUET = [80, 65, 82, 49];
const LINES = "there is not one line of text for each item among the titles or features";
const UTF8 = new TextEncoder();

/**
 * Everything that a person needs to predict on their own device, with the statement of privacy. Read only.
 *
 * Its fields are those of `hushrec.release.artefact.Release`, `sha256` of the file, and `signature`.
 */
export class Release {
  #dimensions = -1;
  /** @type {boolean | null} */
  #personal = null;

  /**
   * @param {Map<string, any>} facts as the file has them
   * @param {Map<string, Tensor>} tensors
   * @param {string} sum SHA-256 of the file
   * @throws {ReleaseError} the parts do not match or are not finite
   */
  constructor(facts, tensors, sum) {
    this.model = text(facts.get("model"));
    this.config = plain(object(facts.get("config")));
    this.kind = text(facts.get("kind"));
    /** @type {readonly string[]} */
    this.items = texts(facts.get("items"));
    /** @type {readonly string[]} */
    this.titles = facts.has("titles") ? lines(facts.get("titles"), this.items.length) : Object.freeze([]);
    /** @type {Readonly<Record<string, readonly string[]>>} */
    this.features = each(facts.has("features") ? facts.get("features") : new Map(), (value) => {
      return lines(value, this.items.length);
    });
    /** @type {readonly string[]} */
    this.users = facts.has("users") ? texts(facts.get("users")) : Object.freeze([]);
    this.scale = facts.has("scale") ? Object.freeze(three(facts.get("scale")).map(number)) : null;
    this.likes = facts.has("likes") ? number(facts.get("likes")) : null;
    this.counts = facts.has("counts") ? integer(facts.get("counts")) : null;
    this.feedback = this.scale && this.likes === null ? "ratings" : "interactions";
    /** @type {Readonly<Record<string, number>>} */
    this.constants = each(facts.get("constants"), number);
    this.statement = statement(facts.get("statement"));
    this.sha256 = sum;
    this.rank = checked(this, tensors);
    /** @type {Readonly<Record<string, any>>} */
    this.tensors = arrays(tensors);
    if ("row_starts" in this.tensors) checkRows(this);
    /** @type {Readonly<Signature>} */
    this.signature = Object.freeze({ state: "unsigned" });
  }

  /**
   * The same release, with what is known of its signature.
   * @param {Signature} signature
   * @returns {Release}
   */
  signed(signature) {
    this.signature = Object.freeze(signature);
    Object.freeze(this);
    return this;
  }

  /** Number of dimensions of taste: directions in which the lists of two people can differ. Slow at large ranks. */
  get dimensions() {
    if (this.#dimensions < 0) this.#dimensions = tastes.dimensions(this);
    return this.#dimensions;
  }

  /** Whether lists depend on who asks, beyond leaving out their own items. */
  get personal() {
    return (this.#personal ??= this.#dimensions < 0 ? tastes.personal(this) : this.#dimensions > 0);
  }

  /** What is left of people's tastes after the noise, as a sentence. */
  get taste() {
    return tastes.taste(this);
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
   * @returns {Promise<Release>}
   * @throws {ReleaseError} the bytes are not a release, were altered, or have another format
   */
  static async from(bytes) {
    if (bytes.length > LARGEST_FILE) throw new ReleaseError("the file is larger than a release may be here");
    const sum = await sha256(bytes);
    let [release, intact] = [/** @type {Release | null} */ (null), false];
    try {
      const file = contents(bytes);
      const facts = object(parse(text(file.metadata.get("hushrec"))));
      if (!READ.includes(number(facts.get("format")))) {
        throw new ReleaseError(
          `this release has format ${String(facts.get("format"))}, this hushrec reads ${READ.join(" and ")}; ` +
            "use the version that wrote it",
        );
      }
      const tensors = file.tensors();
      release = new Release(facts, tensors, sum);
      intact = facts.get("sha256") === (await digest(facts, tensors));
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
    if (!intact) throw new ReleaseError("the release was altered after it was written; fetch it again");
    return release;
  }
}

/**
 * Check everything but rows of ratings.
 * @param {Release} release
 * @param {Map<string, Tensor>} tensors
 * @returns {number} the rank of its factors; 0 without
 */
function checked(release, tensors) {
  const kind = KINDS.get(release.kind);
  const names = Object.keys(kind?.tensors ?? {});
  if (!kind || tensors.size !== names.length || !names.every((name) => tensors.has(name))) {
    throw new ReleaseError(`kind '${release.kind}' is unknown, or its tensors are not those of this kind`);
  }
  const n = release.items.length;
  const sizes = new Map([["items", n], ["pairs", (n * (n + 1)) / 2], ["people", release.users.length]]);
  const listing = Object.values(kind.tensors).some((dimensions) => dimensions.includes("people"));
  if (release.users.length > 0 !== listing) {
    throw new ReleaseError(
      `a release of kind '${release.kind}' lists people but must not, or must but does not`,
    );
  }
  for (const name of names) checkTensor(name, /** @type {Tensor} */ (tensors.get(name)), kind.tensors[name], sizes);
  const [lo, hi, step] = release.scale ?? [0, 1, 1]; // without ratings, nothing depends on it
  const rank = Math.max(sizes.get("rank") ?? 0, sizes.get("similarity rank") ?? 0);
  if (!(lo < hi) || !(step > 0) || rank > Math.min(LARGEST_RANK, Math.max(n, 1))) {
    throw new ReleaseError("the scale is empty, or there are more factors than a release may have");
  }
  if (release.likes !== null && !(release.scale && lo <= release.likes && release.likes <= hi)) {
    throw new ReleaseError("the lowest rating that is a like is not on the scale");
  }
  if (release.counts !== null && (release.scale || !(release.counts >= 2 && release.counts <= 255))) {
    throw new ReleaseError("the largest count is out of range, or ratings are counted");
  }
  if (RANKERS.has(release.kind) !== (release.feedback === "interactions")) {
    throw new ReleaseError(`a release of kind '${release.kind}' cannot be of ${release.feedback}`);
  }
  for (const [name, [least, most]] of Object.entries(ranges(kind, release.constants))) {
    const value = release.constants[name] ?? NaN;
    if (!(least <= value && value <= most)) throw new ReleaseError(`the constant ${name} is missing or out of range`);
  }
  if ("distance" in kind.constants && release.constants.distance % 1) {
    throw new ReleaseError("the constant distance is not a whole number");
  }
  checkTexts(release, n);
  if (![lo, hi, step, ...Object.values(release.constants)].every(Number.isFinite)) {
    throw new ReleaseError("an id is repeated, or the scale or a constant is not finite");
  }
  return sizes.get("rank") ?? 0;
}

/**
 * @param {string} name
 * @param {Tensor} tensor
 * @param {string[]} dimensions
 * @param {Map<string, number>} sizes by dimension; those that are still free take this tensor's
 */
function checkTensor(name, { dtype, shape, values }, dimensions, sizes) {
  if (dtype !== (DTYPES.get(name) ?? "F32") || shape.length !== dimensions.length) {
    throw new ReleaseError(`tensor ${name} has the wrong type or shape`);
  }
  for (const [at, dimension] of dimensions.entries()) {
    if (!sizes.has(dimension)) sizes.set(dimension, shape[at]);
    if (sizes.get(dimension) !== shape[at]) throw new ReleaseError(`tensor ${name} has the wrong type or shape`);
  }
  if (!(values instanceof Float32Array)) return;
  const positive = POSITIVE.has(name);
  for (let at = 0; at < values.length; at += 1) {
    if (!Number.isFinite(values[at])) throw new ReleaseError(`tensor ${name} holds numbers that are not finite`);
    if (positive && values[at] <= 0) throw new ReleaseError(`tensor ${name} holds numbers that are not positive`);
  }
}

/**
 * @param {Release} release
 * @param {number} n
 */
function checkTexts(release, n) {
  const { items, users, titles, features } = release;
  if (!printable(release.model) || !items.every(isId) || !users.every(isId)) {
    throw new ReleaseError("the model's name or an id is not printable text, or an id is too long");
  }
  const named = Object.keys(features).every((name) => name && oneLine(name) === name);
  if (!named || ![...(titles.length ? [titles] : []), ...Object.values(features)].every((of) => of.length === n)) {
    throw new ReleaseError(LINES);
  }
  if (new Set(items).size !== n || new Set(users).size !== users.length) {
    throw new ReleaseError("an id is repeated, or the scale or a constant is not finite");
  }
}

/**
 * Whether the rows are a CSR matrix whose items ascend in every row, with ratings on the scale.
 * @param {Release} release
 */
function checkRows({ tensors, items, scale }) {
  const { row_starts: starts, row_items: rated, row_steps: steps } = tensors;
  const [lo, hi, step] = scale ?? [0, 1, 1];
  const most = (hi - lo) / step + 1e-6;
  let valid = starts.length > 0 && starts[0] === 0 && starts.at(-1) === rated.length;
  for (let row = 1; row < starts.length && valid; row += 1) {
    valid = starts[row] >= starts[row - 1];
    for (let at = starts[row - 1]; at < starts[row] && valid; at += 1) {
      const least = at > starts[row - 1] ? rated[at - 1] + 1 : 0;
      valid = rated[at] >= least && rated[at] < items.length && steps[at] <= most;
    }
  }
  if (!valid) throw new ReleaseError("the rows are malformed, or hold an unknown item or a rating off the scale");
}

/**
 * Typed arrays by name; the starts of rows as numbers.
 * @param {Map<string, Tensor>} tensors
 */
function arrays(tensors) {
  const found = Object.create(null);
  for (const [name, { values }] of tensors) {
    found[name] = values instanceof BigInt64Array ? Float64Array.from(values, Number) : values;
  }
  return Object.freeze(found);
}

/** @param {string} id */
function isId(id) {
  if (!id || /\p{Cs}/u.test(id)) return false;
  return id.length * 3 <= LARGEST_ID || UTF8.encode(id).length <= LARGEST_ID;
}

/**
 * @param {unknown} given
 * @param {(value: any) => any} read
 */
function each(given, read) {
  const found = Object.create(null);
  for (const [name, value] of object(given)) found[name] = read(value);
  return Object.freeze(found);
}

/** @param {unknown} value */
function object(value) {
  if (!(value instanceof Map)) throw new TypeError("an object is missing");
  return value;
}

/** @param {unknown} value */
function list(value) {
  if (!Array.isArray(value)) throw new TypeError("a list is missing");
  return value;
}

/** @param {unknown} value */
function three(value) {
  if (list(value).length !== 3) throw new TypeError("a scale has three numbers");
  return list(value);
}

/** @param {unknown} value */
function text(value) {
  if (typeof value !== "string") throw new TypeError("a text is missing");
  return value;
}

/** @param {unknown} value */
function texts(value) {
  return Object.freeze(list(value).map(text));
}

/**
 * Texts about items, one a line, made safe to show; counted first, as each takes more memory alone.
 * @param {unknown} value
 * @param {number} n number of items
 */
function lines(value, n) {
  const whole = text(value);
  let count = 1;
  for (let at = whole.indexOf("\n"); at >= 0 && count <= n; at = whole.indexOf("\n", at + 1)) count += 1;
  if (count !== n) throw new ReleaseError(LINES);
  return Object.freeze(whole.split("\n").map(oneLine));
}

/** @param {unknown} value */
function number(value) {
  if (typeof value !== "number" && typeof value !== "bigint") throw new TypeError("a number is missing");
  return Number(value);
}

/** @param {unknown} value */
function integer(value) {
  if (typeof value !== "bigint") throw new TypeError("a whole number is missing");
  return Number(value);
}
