// Prediction from the most similar of a user's own items.

import { Choice } from "./choice.js";
import { symmetric } from "./covariance_neighbours.js";
import { largest } from "./lists.js";

/** @typedef {import("./release.js").Release} Release */

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
