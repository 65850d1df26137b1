// A release: one safetensors file with its statement of privacy, checked before use.

import { demand, ReleaseError } from "./errors.js";
import { oneLine, printable } from "./escapes.js";
import { KINDS, POSITIVE, SLOPES, VALUES, WHOLE } from "./kinds.js";
import { contents } from "./safetensors.js";
import { sha256 } from "./signature.js";
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
const LARGEST_ID = 256; // bytes
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
    demand(
      Object.hasOwn(KINDS, this.kind),
      `a release of kind '${this.kind}' is for Python: JavaScript reads factors, linear items and item scores; ` +
        "make one of these, as CovarianceSVD and PrivateEASE do",
    );
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
    this.rank = checked(this, placed, "values" in facts);
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
   * The release that these bytes hold.
   * @param {Uint8Array} bytes
   * @param {string} [signedBy] the key by which their signature was checked
   * @returns {Promise<Release>}
   * @throws {ReleaseError} the bytes are not a release, were altered, or have another format
   */
  static async from(bytes, signedBy = "") {
    demand(bytes.length <= LARGEST_FILE, "the file is larger than a release may be here");
    const sum = await sha256(bytes);
    try {
      const { metadata, tensors } = contents(bytes);
      const facts = object(parse(text(metadata.hushrec)));
      const formats = `this release has format ${String(facts.format)}, this hushrec reads ${FORMAT}`;
      demand(facts.format === FORMAT, `${formats}; use the version that wrote it, or release again`);
      const head = new TextDecoder().decode(bytes.subarray(8, END));
      const intact = head === BEFORE + (await sha256(bytes.subarray(END)));
      demand(intact, "the release was altered after it was written; fetch it again");
      return new Release(facts, tensors, sum, signedBy);
    } catch (error) {
      if (error instanceof ReleaseError) throw error;
      // a crafted file can make the parsers throw anything; the answer is the same
      throw new ReleaseError("this is not a hushrec release, or it is damaged; fetch it again");
    }
  }
}

/**
 * Check that the parts match.
 * @param {Release} release
 * @param {Map<string, Tensor>} tensors
 * @param {boolean} valued whether features explain a part of the scores
 * @returns {number} the rank of its factors; 0 without
 */
function checked(release, tensors, valued) {
  const { constants, counts, feedback, items, likes, scale } = release;
  const kind = KINDS[release.kind];
  const shapes = /** @type {Record<string, string[]>} */ ({ ...kind.tensors, ...(valued ? VALUES : {}) });
  const names = Object.keys(shapes);
  const alike = tensors.size === names.length && names.every((name) => tensors.has(name));
  demand(alike && (!valued || release.kind === "linear items"), `the tensors are not those of kind '${release.kind}'`);
  const n = items.length;
  const sizes = new Map([["items", n], ["ends of items", n + 1]]);
  for (const name of names) checkTensor(name, /** @type {Tensor} */ (tensors.get(name)), shapes[name], sizes);
  const [lo, hi, step, ...more] = scale ?? [0, 1, 1]; // without ratings, nothing depends on it
  const rank = sizes.get("rank") ?? 0;
  const wide = lo < hi && step > 0 && !more.length && rank <= LARGEST_RANK;
  demand(wide, "the scale is empty, or there are more factors than a release may have");
  const liked = likes === null || (scale !== null && lo <= likes && likes <= hi);
  demand(liked, "the lowest rating that is a like is not on the scale");
  const counted = counts === null || (!scale && counts >= 2 && counts <= 255);
  demand(counted, "the largest count is out of range, or ratings are counted");
  const rates = release.kind === "factors";
  demand(rates === (feedback === "ratings"), `a release of kind '${release.kind}' cannot be of ${feedback}`);
  const sloped = rates && Object.keys(SLOPES).some((name) => name in constants);
  for (const [name, [least, most]] of Object.entries({ ...kind.constants, ...(sloped ? SLOPES : {}) })) {
    const within = least <= constants[name] && constants[name] <= most;
    demand(within, `the constant ${name} is missing or out of range`);
  }
  checkTexts(release);
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
  const fits = shape.length === dimensions.length && dimensions.every((dimension, at) => sizes.get(dimension) === shape[at]);
  demand(fits && WHOLE.has(name) === values instanceof Int32Array, `tensor ${name} has the wrong type or shape`);
  demand(values.every(Number.isFinite), `tensor ${name} holds numbers that are not finite`);
  const positive = !POSITIVE.has(name) || values.every((value) => value > 0);
  demand(positive, `tensor ${name} holds numbers that are not positive`);
}

/** @param {Release} release */
function checkTexts({ features, items, model, titles }) {
  const ids = printable(model) && items.every(isId);
  demand(ids, "the model's name or an id is not printable text, or an id is too long");
  const named = Object.keys(features).every((name) => name && oneLine(name) === name);
  const texts = [...(titles.length ? [titles] : []), ...Object.values(features)];
  demand(named && texts.every((lines) => lines.length === items.length), LINES);
  demand(new Set(items).size === items.length, "an id is repeated");
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
  demand(parts.length === n, LINES);
  return Object.freeze(parts.map(oneLine));
}
