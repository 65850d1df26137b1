// Recommendations on a user's own device, from a release and own ratings or items, which never leave it.

import { demand, ReleaseError } from "./errors.js";
import { above, whole } from "./figures.js";
import { predictor } from "./fold_in.js";
import { diversified, largest, POOL } from "./lists.js";
import { clamped, normal, ownValues, used, withIgnored } from "./own.js";
import { Release } from "./artefact.js";
import { requireSigned } from "./signature.js";
import { Titles } from "./titles.js";

export { above, Release, ReleaseError };

/** @typedef {import("./own.js").Own} Own */
/** @typedef {import("./own.js").Ignored} Ignored */
/** @typedef {{itemId: string, score: number, rank: number, rating: number | null}} Recommendation */
/** @typedef {{itemId: string, score: number, rank: number}} Similar */
/** @typedef {{itemId: string | null, contribution: number, feature: string, value: string, items: string[]}} Reason */
/** @typedef {{signature?: string, key?: string}} Trust */

/**
 * Predicts and recommends for anybody, including users who were never in the data.
 *
 * A user's own are ratings, as in `{Alien: 5}` or a Map, of a release of ratings; ids of items, as in
 * `["Alien", "Heat"]`, of one of interactions; or counts by id, if they are counted. Nothing is sent or kept.
 *
 * Ids are texts, since one that was read as a number has lost its leading zeros. What a release does not know of
 * the user's own is left out, and named in `ignored` of the answer; if it knows nothing of it, that is refused.
 */
export class Client {
  #positions;
  #predictor;
  #titles;

  /** @param {Release} release */
  constructor(release) {
    this.release = release;
    this.#positions = new Map(release.items.map((item, position) => [item, position]));
    this.#predictor = predictor(release);
    this.#titles = new Titles(release.items, release.titles);
  }

  /**
   * Open a release, check it whole, and check its signature if you give a key.
   * @param {ArrayBuffer | Uint8Array} bytes of the release's file; do not change them afterwards
   * @param {Trust} trust the text of the signature file next to it, and of the owner's public key
   * @returns {Promise<Client>}
   * @throws {ReleaseError} the file cannot be trusted
   */
  static async open(bytes, { signature, key } = {}) {
    const file = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
    if (key !== undefined) {
      demand(
        signature !== undefined,
        "this release is unsigned, and you gave a key to check it by; ask the owner for its signature file, and do " +
          "not use the release without",
      );
      await requireSigned(file, signature, key);
    }
    return new Client(await Release.from(file, key));
  }

  /** Number of dimensions of taste: directions in which the lists of two people can differ. */
  get dimensions() {
    return this.release.dimensions;
  }

  /** Whether lists depend on who asks, beyond leaving out their own items. */
  get personal() {
    return this.release.personal;
  }

  /**
   * The title of an item, or its id where the release has none.
   * @param {string} item
   * @returns {string}
   * @throws {ReleaseError} the item is not in the catalogue
   */
  title(item) {
    const position = this.#required(item);
    return this.release.titles[position] || this.release.items[position];
  }

  /**
   * Ids of the items that a text may mean: one if it is clear, several to choose from, or none. If it is the id of an
   * item and the title of others, the item with the id comes first.
   * @param {string} text an id; or a title or its beginning, whatever the case, accents, punctuation, place of
   *   the article ("Matrix, The") and year, which tells namesakes apart
   * @returns {string[]}
   */
  find(text) {
    const item = normal(text);
    const { items, titles } = this.release;
    if (!this.#positions.has(item)) return this.#titles.find(text).map((position) => items[position]);
    const named = this.#titles.named(text).filter((at) => titles[at] && items[at] !== item);
    return [item, ...named.map((at) => items[at])];
  }

  /**
   * Predict a user's ratings.
   * @param {Own} own item id → rating. Items that are not in the catalogue and ratings that are not finite are
   *   left out, and named in `ignored`; ratings off the scale are clamped to it
   * @param {Iterable<string> | null} [items] ids of the items to predict; the whole catalogue by default
   * @returns {Map<string, number> & Ignored} item id → rating, clamped to the scale
   * @throws {ReleaseError} an item is not in the catalogue, or nothing of one's own is; an id is not a text, a rating
   *   is not a number, or the release is of interactions
   */
  predict(own, items = null) {
    const [lo, hi] = this.release.requireScale();
    const names = items === null ? this.release.items : [...items].map(normal);
    const targets = items === null ? range(names.length) : names.map((name) => this.#required(name));
    const { values, ignored } = ownValues(this.release, this.#positions, own);
    const ratings = this.#ratings(values, targets);
    return withIgnored(new Map(names.map((name, at) => [name, clamped(ratings[at], lo, hi)])), ignored);
  }

  /**
   * The `n` items that the user is most likely to choose and like, without their own.
   * @param {Own} own as in `predict`; of a release of interactions ids of items, counts, or of likes
   *   ratings: items that are rated below the threshold are not used, and not recommended
   * @param {{n?: number, exclude?: Iterable<string>, allowed?: Iterable<string> | null, diversity?: number}} choice
   *   `exclude` and `allowed` take ids; `diversity` is from 0, the best items, to 1
   * @returns {Recommendation[] & Ignored} best first; ties in the catalogue's order
   * @throws {ReleaseError} what is given cannot be used, or nothing of it is in the catalogue
   */
  recommend(own, { n = 10, exclude = [], allowed = null, diversity = 0 } = {}) {
    const most = whole(n, "n", 0);
    demand(typeof diversity === "number" && diversity >= 0 && diversity <= 1, "diversity must be between 0 and 1");
    const { values, ignored } = ownValues(this.release, this.#positions, own);
    const targets = this.#listable(values.keys(), exclude, allowed);
    const scores = this.#predictor.scores(...split(used(this.release, values)), targets);
    const length = Math.min(most, targets.length);
    if (diversity) this.#predictor.similarity(0, []); // refused if the release does not tell
    let best = Array.from(largest(scores, diversity ? Math.min(POOL * length, targets.length) : length));
    if (diversity) {
      const pool = best.map((place) => targets[place]);
      const alike = pool.map((item) => this.#predictor.similarity(item, pool));
      const chosen = diversified(Float64Array.from(best, (place) => scores[place]), alike, length, diversity);
      best = chosen.map((place) => best[place]);
    }
    const items = best.map((place) => targets[place]);
    const ratings = this.release.feedback === "ratings" ? this.#ratings(values, items) : null;
    const [lo, hi] = this.release.bounds;
    const rows = best.map((place, at) => ({
      itemId: this.release.items[items[at]],
      score: scores[place],
      rank: at + 1,
      rating: ratings ? clamped(ratings[at], lo, hi) : null,
    }));
    return withIgnored(rows, ignored);
  }

  /**
   * The `n` items most like an item, for everybody the same: no own ratings are needed.
   * @param {string} item
   * @param {number} [n]
   * @returns {Similar[]} most similar first, without the item itself; ties in the catalogue's order
   * @throws {ReleaseError} the item is not in the catalogue, or the release does not tell which are alike
   */
  similar(item, n = 10) {
    const most = whole(n, "n", 0);
    const position = this.#required(item);
    const alike = this.#predictor.similarity(position, range(this.release.items.length));
    alike[position] = 0;
    const best = [...largest(alike, Math.min(most, alike.length))];
    return best
      .filter((place) => alike[place] > 0)
      .map((place, at) => ({ itemId: this.release.items[place], score: alike[place], rank: at + 1 }));
  }

  /**
   * Which of the user's own items, or of their features, raise or lower the prediction of an item most.
   *
   * The contributions of all own items add up to the prediction, before it is clamped to the scale, minus what
   * it starts from: the item's effect, and what the user's level and slopes add to it. Of interactions they add
   * up to the item's score. Where a release says what values of features explain, such as a genre, these are reasons
   * of their own, without an item and with the own items that have the value, and an item's is what is left to it.
   * @param {Own} own as in `recommend`
   * @param {string} item
   * @param {number} [n]
   * @returns {Reason[] & Ignored} strongest first, whether they raise or lower; those that add nothing are left out
   * @throws {ReleaseError} as `recommend`; or the prediction is not a sum over own items
   */
  reasons(own, item, n = 3) {
    const most = whole(n, "n", 0);
    const { values, ignored } = ownValues(this.release, this.#positions, own);
    const [rated, ratings] = split(used(this.release, values));
    const added = this.#predictor.contributions(rated, ratings, this.#required(item));
    const names = rated.map((item) => this.release.items[item]);
    const ofFeatures = this.#predictor.featureParts?.(rated, this.#required(item)) ?? [];
    /** @type {Reason[]} */
    const reasons = names.map((itemId, place) => {
      const contribution = added[place] - ofFeatures.reduce((sum, { parts }) => sum + parts[place], 0);
      return { itemId, contribution, feature: "", value: "", items: [] };
    });
    for (const { value, parts } of ofFeatures) {
      const sizes = parts.map(Math.abs);
      const items = [...largest(sizes, sizes.length)].filter((place) => parts[place]).map((place) => names[place]);
      const contribution = parts.reduce((sum, part) => sum + part, 0);
      reasons.push({ itemId: null, contribution, feature: value[0], value: value[1], items });
    }
    const sizes = Float64Array.from(reasons, ({ contribution }) => Math.abs(contribution));
    const strongest = [...largest(sizes, Math.min(most, sizes.length))];
    return withIgnored(strongest.map((place) => reasons[place]).filter(({ contribution }) => contribution), ignored);
  }

  /**
   * Ratings of some items that are predicted.
   * @param {Map<number, number>} values
   * @param {ArrayLike<number>} targets
   */
  #ratings(values, targets) {
    demand(this.#predictor.predict !== undefined, "this release predicts no ratings");
    return this.#predictor.predict(...split(values), targets);
  }

  /**
   * Positions of the items that may be recommended, ascending.
   * @param {Iterable<number>} ownItems
   * @param {Iterable<string>} exclude
   * @param {Iterable<string> | null} allowed
   */
  #listable(ownItems, exclude, allowed) {
    const listed = allowed === null ? null : new Set(this.#known(allowed));
    const left = new Set([...ownItems, ...this.#known(exclude)]);
    return range(this.release.items.length).filter((position) => !left.has(position) && (listed?.has(position) ?? true));
  }

  /**
   * Positions of the ids that are in the catalogue.
   * @param {Iterable<string>} names
   */
  #known(names) {
    const ids = typeof names !== "string" && typeof names?.[Symbol.iterator] === "function";
    demand(ids, "exclude and allowed take item ids, as in ['Alien', 'Heat']");
    const positions = [];
    for (const name of names) {
      const position = this.#positions.get(normal(name));
      if (position !== undefined) positions.push(position);
    }
    return positions;
  }

  /**
   * The position of an item that must be in the catalogue.
   * @param {string} item
   */
  #required(item) {
    const [name, position] = [normal(item), this.#positions.get(normal(item))];
    if (position !== undefined) return position;
    const size = this.release.items.length.toLocaleString("en");
    throw new ReleaseError(`'${name}' is not in this release's catalogue of ${size} items`);
  }
}

/**
 * @param {Map<number, number>} values
 * @returns {[number[], number[]]}
 */
function split(values) {
  return [[...values.keys()], [...values.values()]];
}

/** @param {number} length */
function range(length) {
  return new Uint32Array(length).map((_, at) => at);
}
