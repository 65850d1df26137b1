// Scores that are linear in a user's own items, as those of EASE (Steck 2019) are, or the same for whoever asks.

import { ReleaseError } from "./errors.js";
import { dot, rowDot, unlike, weighedCosines } from "./lists.js";

/** @typedef {import("./artefact.js").Release} Release */

/** The same scores for everybody, such as popularity: a user's own items leave the list, and no more. */
export class ItemScores {
  /** @param {Release} release of kind "item scores" */
  constructor(release) {
    this.release = release;
  }

  /**
   * Scores of `targets`.
   * @param {number[]} rated
   * @param {number[]} ratings
   * @param {ArrayLike<number>} targets
   * @returns {Float64Array}
   */
  scores(rated, ratings, targets) {
    return Float64Array.from(targets, (item) => this.release.tensors.item_scores[item]);
  }

  /**
   * Refused: a user's items change nothing.
   * @returns {Float64Array}
   */
  contributions() {
    throw new ReleaseError("this release gives everybody the same scores; no item of yours changes them");
  }

  /**
   * Refused: scores say nothing about pairs of items.
   * @returns {Float64Array}
   */
  similarity() {
    throw new ReleaseError(unlike(this.release));
  }
}

/** In place of a length of 0, so that nothing is divided by zero. */
const LEAST_LENGTH = 1e-300;

/**
 * Ranks by score_j = b_j ⟨Σ_i a_i g_i + ‖a‖ h, g_j⟩ over own items i ≠ j, or else by `item_scores`.
 *
 * ‖a‖ is the length of the vector of all own a_i, and h the intercept: what own items do not say is filled
 * in by popularity. How often an item was given does not count.
 */
export class LinearItems {
  /** @param {Release} release of kind "linear items" */
  constructor(release) {
    this.rank = release.rank;
    this.factors = release.tensors.item_factors;
    this.inputs = release.tensors.input_weights;
    this.outputs = release.tensors.output_weights;
    this.intercept = release.tensors.intercept;
    this.others = release.tensors.item_scores;
    this.values = release.values;
    this.tensors = release.tensors;
  }

  /**
   * Scores of `targets`, none of which is an own item.
   * @param {number[]} rated
   * @param {number[]} ratings
   * @param {ArrayLike<number>} targets
   * @returns {Float64Array}
   */
  scores(rated, ratings, targets) {
    if (!rated.length) return Float64Array.from(targets, (item) => this.others[item]);
    const vector = new Float64Array(this.rank);
    const length = this.length(rated);
    for (const item of [...rated].sort((a, b) => a - b)) {
      this.part(item, length).forEach((part, k) => (vector[k] += part));
    }
    return Float64Array.from(targets, (item) => this.outputs[item] * rowDot(this.factors, item, vector));
  }

  /**
   * ⟨a_i g_i + a_i²/‖a‖ h, g_j⟩ b_j of each own item i ≠ j.
   * @param {number[]} rated
   * @param {number[]} ratings
   * @param {number} target
   * @returns {Float64Array}
   */
  contributions(rated, ratings, target) {
    const length = this.length(rated);
    return Float64Array.from(rated, (item) => {
      return item === target ? 0 : dot(this.part(item, length), this.row(target)) * this.outputs[target];
    });
  }

  /**
   * Parts of the contributions that values of features explain: a_i e_i F_if ⟨W_f, g_j⟩ b_j.
   * @param {number[]} rated
   * @param {number} target
   * @returns {Map<string, {value: readonly string[], parts: Float64Array}>} name and value of each feature that an
   *   own item has, in the order of the release, with the part of each own item
   */
  featureParts(rated, target) {
    const { value_factors: factors, value_starts: starts, value_columns: columns, value_weights: weights } = this.tensors;
    if (!this.values.length) return new Map();
    const towards = this.row(target);
    const added = rated.map(() => /** @type {Map<number, number>} */ (new Map()));
    for (const [place, item] of rated.entries()) {
      for (let at = starts[item]; at < starts[item + 1]; at += 1) {
        const weight = item === target ? 0 : this.inputs[item] * weights[at] * this.outputs[target];
        added[place].set(columns[at], weight * rowDot(factors, columns[at], towards));
      }
    }
    const found = new Map();
    for (const column of [...new Set(added.flatMap((of) => [...of.keys()]))].sort((a, b) => a - b)) {
      const value = this.values[column];
      const name = value.join("\n");
      if (!found.has(name)) found.set(name, { value, parts: new Float64Array(rated.length) });
      const { parts } = found.get(name);
      for (const [place, of] of added.entries()) parts[place] += of.get(column) ?? 0;
    }
    return found;
  }

  /**
   * ‖a‖ over a user's items.
   * @param {number[]} rated
   * @returns {number}
   */
  length(rated) {
    return Math.sqrt(rated.reduce((total, item) => total + this.inputs[item] ** 2, 0));
  }

  /**
   * What an own item adds to the user's vector: ‖a‖ = Σ a_i²/‖a‖.
   * @param {number} item
   * @param {number} length
   * @returns {Float64Array}
   */
  part(item, length) {
    const weight = this.inputs[item];
    const more = weight ** 2 / Math.max(length, LEAST_LENGTH);
    return Float64Array.from(this.row(item), (factor, k) => weight * factor + more * this.intercept[k]);
  }

  /**
   * Cosine of g_i and g_j times √(a_i a_j): a is small for items with little data.
   * @param {number} item
   * @param {ArrayLike<number>} others
   * @returns {Float64Array}
   */
  similarity(item, others) {
    return weighedCosines((at) => this.row(at), (at) => Math.sqrt(Math.max(this.inputs[at], 0)), item, others);
  }

  /** @param {number} item */
  row(item) {
    return this.factors.subarray(item * this.rank, (item + 1) * this.rank);
  }
}
