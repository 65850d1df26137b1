// Recommendations on a user's own device, from a release and own ratings or items, which never leave it.

import { demand, ReleaseError } from "./errors.js";
import { above } from "./figures.js";
import { factorPredictor } from "./factor_predictor.js";
import { linearItems } from "./linear_items.js";
import { largest } from "./lists.js";
import { clamped, normal, ownValues, timesOf, used, withIgnored } from "./own.js";
import { Release } from "./artefact.js";
import { requireSigned } from "./signature.js";
import { titleSearch } from "./titles.js";

export { above, Release, ReleaseError };

/** @typedef {import("./own.js").Own} Own */
/** @typedef {import("./own.js").Ignored} Ignored */
/** @typedef {import("./own.js").Order} Order */
/** @typedef {{itemId: string, score: number, rank: number, rating: number | null}} Recommendation */
/** @typedef {{itemId: string, contribution: number}} Reason */
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
  #search;

  /** @param {Release} release */
  constructor(release) {
    this.release = release;
    this.#positions = new Map(release.items.map((item, position) => [item, position]));
    this.#predictor = release.kind === "factors" ? factorPredictor(release) : linearItems(release);
    this.#search = titleSearch(release.items.map((item, position) => release.titles[position] || item));
  }

  /**
   * Open a release, check it whole, and check its signature if you give a key.
   * @param {ArrayBuffer | Uint8Array} bytes of the release's file
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
   * Ids of the items that a text may mean: first the one of this id, then those of this title, or else those whose
   * title has the text from the beginning of a word on.
   * @param {string} text an id, or a title or a part of it, whatever the case, accents and punctuation
   * @returns {string[]}
   */
  find(text) {
    const item = normal(text);
    const found = this.#search(text).map((position) => this.release.items[position]);
    return this.#positions.has(item) ? [item, ...found.filter((other) => other !== item)] : found;
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
    const { predict } = this.#predictor;
    demand(predict !== undefined, "this release is of interactions: it ranks items and predicts no ratings; call recommend");
    const names = items === null ? this.release.items : [...items].map(normal);
    const targets = items === null ? range(names.length) : names.map((name) => this.#required(name));
    const { values, ignored } = ownValues(this.release, this.#positions, own);
    const ratings = predict(values, targets);
    const [lo, hi] = this.release.bounds;
    return withIgnored(new Map(names.map((name, at) => [name, clamped(ratings[at], lo, hi)])), ignored);
  }

  /**
   * The `n` items that the user is most likely to choose and like, without their own.
   * @param {Own} own as in `predict`; of a release of interactions ids of items, of which an array has the latest last,
   *   counts, or of likes ratings: below the threshold they count half from the middle of the scale on, and else not
   * @param {{n?: number, exclude?: Iterable<string>, allowed?: Iterable<string> | null} & Order} choice
   *   `exclude` and `allowed` take ids; of interactions, earlier items count less: `times` by id go before an array's
   *   order, and `recency: false` lets all count alike
   * @returns {Recommendation[] & Ignored} best first; ties in the catalogue's order
   * @throws {ReleaseError} what is given cannot be used, or nothing of it is in the catalogue
   */
  recommend(own, { n = 10, exclude = [], allowed = null, ...order } = {}) {
    const most = length(n);
    const { values, ignored } = ownValues(this.release, this.#positions, own);
    const targets = this.#listable(values.keys(), exclude, allowed);
    const scores = this.#predictor.scores(used(this.release, values, timesOf(this.#positions, own, values, order)), targets);
    const best = [...largest(scores, most)];
    const items = best.map((place) => targets[place]);
    const ratings = this.#predictor.predict?.(values, items);
    const [lo, hi] = this.release.bounds;
    const rows = best.map((place, at) => {
      const rating = ratings ? clamped(ratings[at], lo, hi) : null;
      return { itemId: this.release.items[items[at]], score: scores[place], rank: at + 1, rating };
    });
    return withIgnored(rows, ignored);
  }

  /**
   * Which of the user's own items raise or lower the prediction of an item most.
   *
   * The contributions of all own items add up to the prediction, before it is clamped to the scale, minus what
   * it starts from: the item's effect, and what the user's level and slopes add to it. Of interactions they add
   * up to the item's score.
   * @param {Own} own as in `recommend`
   * @param {string} item
   * @param {number} [n]
   * @param {Order} [order] as in `recommend`
   * @returns {Reason[] & Ignored} strongest first, whether they raise or lower; those that add nothing are left out
   * @throws {ReleaseError} as `recommend`; or the prediction is not a sum over own items
   */
  reasons(own, item, n = 3, order = {}) {
    const most = length(n);
    const { values, ignored } = ownValues(this.release, this.#positions, own);
    const listed = used(this.release, values, timesOf(this.#positions, own, values, order));
    const added = this.#predictor.contributions(listed, this.#required(item));
    const rated = [...listed.keys()];
    const strongest = [...largest(added.map(Math.abs), most)].filter((place) => added[place]);
    const reasons = strongest.map((place) => ({ itemId: this.release.items[rated[place]], contribution: added[place] }));
    return withIgnored(reasons, ignored);
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
   * Positions of some ids; undefined for those that are not in the catalogue.
   * @param {Iterable<string>} names
   */
  #known(names) {
    const ids = typeof names !== "string" && typeof names?.[Symbol.iterator] === "function";
    demand(ids, "exclude and allowed take item ids, as in ['Alien', 'Heat']");
    return [...names].map((name) => this.#positions.get(normal(name)));
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
 * The length of a list.
 * @param {unknown} n
 * @returns {number}
 */
function length(n) {
  if (typeof n === "number" && Number.isInteger(n) && n >= 0) return n;
  throw new ReleaseError("n must be a whole number, 0 or more");
}

/** @param {number} length */
function range(length) {
  return new Uint32Array(length).map((_, at) => at);
}
