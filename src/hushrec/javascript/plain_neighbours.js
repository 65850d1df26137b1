// Prediction for one user from nearest neighbours: among public rows of ratings, or among items.

import { Choice, LEAST_POPULARITY, LIKING } from "./choice.js";
import { symmetric } from "./covariance_neighbours.js";
import { ReleaseError } from "./errors.js";
import { DISTANCES } from "./kinds.js";
import { cosine, largest } from "./lists.js";

/** @typedef {import("./artefact.js").Release} Release */

const NEGLIGIBLE = 1e-10; // a centred row with less than this part of Σ r² is constant up to rounding
const GRID = 2 ** 23; // grid of similarities, so that the order of a sum does not break ties

/**
 * Mean rating by the K nearest users who rated the item (Du, Leighton & Patel 2019, §IV.B); the rules are at
 * `hushrec.release.predictors.plain_neighbours`.
 */
export class NearestPeople {
  /** @param {Release} release of kind "people's rows" */
  constructor(release) {
    const { row_starts: starts, row_items: items, row_steps: steps } = release.tensors;
    const [lo, hi, step] = release.requireScale();
    const n = release.items.length;
    this.people = starts.length - 1;
    this.k = Math.trunc(release.constants.neighbours);
    this.distance = DISTANCES[release.constants.distance];
    this.starts = offsets(items, n);
    this.raters = new Uint32Array(items.length);
    this.values = new Float32Array(items.length);
    this.counts = new Float64Array(this.people);
    this.sums = new Float64Array(this.people);
    this.squares = new Float64Array(this.people);
    this.fill(starts, items, Float32Array.from(steps, (own) => lo + step * own));
    const total = this.values.reduce((/** @type {number} */ all, own) => all + own, 0);
    this.overall = items.length ? total / items.length : (lo + hi) / 2;
    const popularity = new Float64Array(n);
    this.means = new Float64Array(n).fill(this.overall);
    for (let item = 0; item < n; item += 1) {
      const raters = this.starts[item + 1] - this.starts[item];
      let sum = 0;
      for (let at = this.starts[item]; at < this.starts[item + 1]; at += 1) sum += this.values[at];
      if (raters) this.means[item] = sum / raters;
      const liking = raters + (LIKING / (hi - lo)) * (sum - (raters * (lo + hi)) / 2);
      popularity[item] = Math.max(liking, LEAST_POPULARITY);
    }
    this.choice = new Choice(release, popularity);
  }

  /**
   * Put the rows in the order of their items, and add them up over people.
   * @param {Float64Array} starts
   * @param {Int32Array} items
   * @param {Float32Array} ratings
   */
  fill(starts, items, ratings) {
    const next = this.starts.slice();
    for (let person = 0; person < this.people; person += 1) {
      this.counts[person] = starts[person + 1] - starts[person];
      for (let at = starts[person]; at < starts[person + 1]; at += 1) {
        const place = next[items[at]]++;
        this.raters[place] = person;
        this.values[place] = ratings[at];
        this.sums[person] += ratings[at];
        this.squares[person] += ratings[at] ** 2;
      }
    }
  }

  /**
   * Ratings of `targets`; a person's own rating of a target does not count for it.
   * @param {number[]} rated
   * @param {number[]} ratings
   * @param {ArrayLike<number>} targets
   * @returns {Float64Array}
   */
  predict(rated, ratings, targets) {
    const user = new User(this, rated, ratings);
    return Float64Array.from(targets, (target) => {
      const own = rated.indexOf(target);
      if (own < 0) return user.predict(target);
      return new User(this, without(rated, own), without(ratings, own)).predict(target);
    });
  }

  /**
   * How likely the user chooses and likes `targets`.
   * @param {number[]} rated
   * @param {number[]} ratings
   * @param {ArrayLike<number>} targets
   * @returns {Float64Array}
   */
  scores(rated, ratings, targets) {
    const tastes = this.predict(rated, ratings, targets);
    for (let at = 0; at < tastes.length; at += 1) tastes[at] -= this.means[targets[at]];
    return this.choice.of(targets, tastes);
  }

  /**
   * Refused: own ratings decide who is near, and are not added up.
   * @returns {Float64Array}
   */
  contributions() {
    throw new ReleaseError(
      "this release predicts by the nearest people, so no single item of yours explains a prediction",
    );
  }

  /**
   * Cosine of two items' columns of ratings, 0 where a user did not rate the item; 0 if nobody did.
   * @param {number} item
   * @param {ArrayLike<number>} others
   * @returns {Float64Array}
   */
  similarity(item, others) {
    const [ratings, square] = [new Float64Array(this.people), { own: 0, other: 0 }];
    for (let at = this.starts[item]; at < this.starts[item + 1]; at += 1) {
      ratings[this.raters[at]] = this.values[at];
      square.own += this.values[at] ** 2;
    }
    return Float64Array.from(others, (other) => {
      let product = 0;
      square.other = 0;
      for (let at = this.starts[other]; at < this.starts[other + 1]; at += 1) {
        product += ratings[this.raters[at]] * this.values[at];
        square.other += this.values[at] ** 2;
      }
      return cosine(product, Math.sqrt(square.own), Math.sqrt(square.other));
    });
  }
}

/**
 * Ratings of the K most similar items that the user rated (Sarwar et al. 2001, §3.2.1):
 * mean_i + Σ_j s_ij (r_j − mean_j) / Σ_j s_ij over the items with s_ij > 0; mean_i if there are none.
 */
export class SimilarItems {
  /** @param {Release} release of kind "item neighbours" */
  constructor(release) {
    this.means = release.tensors.item_means;
    this.alike = symmetric(release, undefined, release.tensors.similarity);
    this.k = Math.trunc(release.constants.neighbours);
    this.choice = new Choice(release, release.tensors.item_popularity);
  }

  /**
   * Ratings of `targets`; a person's own rating of a target does not count for it.
   * @param {number[]} rated
   * @param {number[]} ratings
   * @param {ArrayLike<number>} targets
   * @returns {Float64Array}
   */
  predict(rated, ratings, targets) {
    return this.added(rated, ratings, targets).map((added, at) => this.means[targets[at]] + added);
  }

  /**
   * How likely the user chooses and likes `targets`.
   * @param {number[]} rated
   * @param {number[]} ratings
   * @param {ArrayLike<number>} targets
   * @returns {Float64Array}
   */
  scores(rated, ratings, targets) {
    return this.choice.of(targets, this.added(rated, ratings, targets));
  }

  /**
   * s_ij (r_j − mean_j) / Σ_j s_ij; a person's own rating of a target does not count for it.
   * @param {number[]} rated
   * @param {number[]} ratings
   * @param {number} target
   * @returns {Float64Array}
   */
  contributions(rated, ratings, target) {
    const similar = Float64Array.from(rated, (item) => (item === target ? 0 : this.alike.of(target, item)));
    const found = new Float64Array(rated.length);
    const nearest = largest(similar, Math.min(this.k, rated.length)).filter((place) => similar[place] > 0);
    const sum = nearest.reduce((all, place) => all + similar[place], 0);
    for (const place of nearest) {
      const residual = Math.fround(ratings[place]) - this.means[rated[place]];
      found[place] = (similar[place] * residual) / sum;
    }
    return found;
  }

  /**
   * The released similarity.
   * @param {number} item
   * @param {ArrayLike<number>} others
   * @returns {Float64Array}
   */
  similarity(item, others) {
    return Float64Array.from(others, (other) => this.alike.of(item, other));
  }

  /**
   * What the user's items add to the mean of each target.
   * @param {number[]} rated
   * @param {number[]} ratings
   * @param {ArrayLike<number>} targets
   */
  added(rated, ratings, targets) {
    return Float64Array.from(targets, (target) => {
      return this.contributions(rated, ratings, target).reduce((all, own) => all + own, 0);
    });
  }
}

/** One user's ratings, and what they share with everyone in the rows. */
class User {
  /**
   * @param {NearestPeople} rows
   * @param {number[]} rated
   * @param {number[]} ratings
   */
  constructor(rows, rated, ratings) {
    this.rows = rows;
    const given = ratings.map(Math.fround);
    const squares = given.reduce((all, own) => all + own ** 2, 0);
    const mean = given.reduce((all, own) => all + own, 0) / given.length;
    const own = rows.distance === "pearson" ? given.map((rating) => rating - mean) : given;
    const square = own.reduce((all, rating) => all + rating ** 2, 0);
    this.square = square > NEGLIGIBLE * squares ? square : 0;
    this.size = rated.length;
    this.mean = rated.length ? ratings.reduce((all, rating) => all + rating, 0) / rated.length : rows.overall;
    this.products = new Float64Array(rows.people);
    this.totals = new Float64Array(rows.people);
    for (const [place, item] of rated.entries()) {
      for (let at = rows.starts[item]; at < rows.starts[item + 1]; at += 1) {
        this.products[rows.raters[at]] += own[place] * rows.values[at];
        this.totals[rows.raters[at]] += own[place];
      }
    }
  }

  /** @param {number} target an item that is not among the user's */
  predict(target) {
    const { raters, values, starts, k } = this.rows;
    const [start, end] = [starts[target], starts[target + 1]];
    if (start === end) return this.mean;
    if (!this.size || end - start <= k) return mean(values.subarray(start, end));
    const near = new Float64Array(end - start);
    for (let at = start; at < end; at += 1) near[at - start] = -this.apart(raters[at], values[at]);
    return mean(Float32Array.from(largest(near, k), (place) => values[start + place]));
  }

  /**
   * Distance of a row from the user, without its rating of the target.
   * @param {number} row
   * @param {number} value
   */
  apart(row, value) {
    const { distance, sums, counts } = this.rows;
    let [squares, product] = [this.rows.squares[row] - value ** 2, this.products[row]];
    if (distance === "squared") return Math.fround(Math.max(this.square + squares - 2 * product, 0));
    if (distance === "pearson") {
      const own = (sums[row] - value) / Math.max(counts[row] - 1, 1);
      const centred = squares - (sums[row] - value) * own;
      squares = centred > NEGLIGIBLE * squares ? centred : 0;
      product -= own * this.totals[row];
    }
    const bound = Math.sqrt(this.square * squares);
    const alike = bound > 0 ? Math.min(Math.max(product / bound, -1), 1) : 0;
    return even((1 - alike) * GRID);
  }
}

/**
 * Where the ratings of each item start, then where the last ones end.
 * @param {Int32Array} items of all ratings
 * @param {number} n number of items
 */
function offsets(items, n) {
  const found = new Uint32Array(n + 1);
  for (let at = 0; at < items.length; at += 1) found[items[at] + 1] += 1;
  for (let item = 0; item < n; item += 1) found[item + 1] += found[item];
  return found;
}

/**
 * @template T
 * @param {T[]} list
 * @param {number} place
 */
function without(list, place) {
  return list.filter((_, at) => at !== place);
}

/** @param {Float32Array} values */
function mean(values) {
  return values.reduce((/** @type {number} */ all, own) => all + own, 0) / values.length;
}

/**
 * The nearest whole number, the even one of two, as NumPy rounds.
 * @param {number} value
 */
function even(value) {
  const low = Math.floor(value);
  if (value - low === 0.5) return low % 2 ? low + 1 : low;
  return Math.round(value);
}
