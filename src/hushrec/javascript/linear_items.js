// Scores that are linear in a user's own items, as those of EASE (Steck 2019) are.

import { dot, products } from "./factor_predictor.js";
import { cosine } from "./lists.js";

/** @typedef {import("./artefact.js").Release} Release */

/**
 * Ranks by score_j = b_j Σ_i a_i ⟨g_i, g_j⟩ over a user's own items i ≠ j, or else by `item_scores`.
 *
 * How often an item was given does not count.
 */
export class LinearItems {
  /** @param {Release} release of kind "linear items" */
  constructor(release) {
    this.rank = release.rank;
    this.factors = release.tensors.item_factors;
    this.inputs = release.tensors.input_weights;
    this.outputs = release.tensors.output_weights;
    this.others = release.tensors.item_scores;
    /** @type {Float64Array | null} */
    this.lengths = null;
  }

  /**
   * Scores of `targets`; an own item does not count for itself.
   * @param {number[]} rated
   * @param {number[]} ratings
   * @param {ArrayLike<number>} targets
   * @returns {Float64Array}
   */
  scores(rated, ratings, targets) {
    if (!rated.length) return Float64Array.from(targets, (item) => this.others[item]);
    const vector = new Float64Array(this.rank);
    for (const item of [...rated].sort((a, b) => a - b)) {
      const row = this.row(item);
      for (let k = 0; k < vector.length; k += 1) vector[k] += this.inputs[item] * row[k];
    }
    const scores = products(this.factors, this.rank, vector, targets);
    const ownItems = new Set(rated);
    for (let at = 0; at < scores.length; at += 1) {
      const item = targets[at];
      if (ownItems.has(item)) scores[at] -= this.inputs[item] * dot(this.row(item), this.row(item));
      scores[at] *= this.outputs[item];
    }
    return scores;
  }

  /**
   * a_i ⟨g_i, g_j⟩ b_j of each own item i ≠ j.
   * @param {number[]} rated
   * @param {number[]} ratings
   * @param {number} target
   * @returns {Float64Array}
   */
  contributions(rated, ratings, target) {
    return Float64Array.from(rated, (item) => {
      return item === target
        ? 0
        : this.inputs[item] * dot(this.row(item), this.row(target)) * this.outputs[target];
    });
  }

  /**
   * Cosine of g_i and g_j times √(a_i a_j): a is small for items with little data.
   * @param {number} item
   * @param {ArrayLike<number>} others
   * @returns {Float64Array}
   */
  similarity(item, others) {
    this.lengths ??= Float64Array.from(this.inputs, (_, at) => Math.sqrt(dot(this.row(at), this.row(at))));
    const lengths = this.lengths;
    const factors = this.row(item);
    const weight = (/** @type {number} */ at) => Math.sqrt(Math.max(this.inputs[at], 0));
    return Float64Array.from(others, (other) => {
      const alike = cosine(dot(factors, this.row(other)), lengths[item], lengths[other]);
      return alike * (weight(item) * weight(other));
    });
  }

  /** @param {number} item */
  row(item) {
    return this.factors.subarray(item * this.rank, (item + 1) * this.rank);
  }
}
