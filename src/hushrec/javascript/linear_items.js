// Scores that are linear in a user's own items, as those of EASE (Steck 2019) are, or the same for whoever asks.

import { demand } from "./errors.js";
import { rowDot, scored } from "./lists.js";

/** @typedef {import("./artefact.js").Release} Release */

/** In place of a length of 0, so that nothing is divided by zero. */
const LEAST_LENGTH = 1e-300;

/**
 * Ranks by score_j = b_j ⟨Σ_i a_i g_i + ‖a‖ h, g_j⟩ over own items i ≠ j, or else by `item_scores`,
 * which is the same for everybody, such as popularity.
 *
 * a_i is the released input weight of an item times the user's own. ‖a‖ is the length of the vector of all own a_i,
 * and h the intercept: what own items do not say is filled in by popularity.
 * @param {Release} release of kind "linear items", or "item scores" alone
 * @returns {import("./kinds.js").Predictor}
 */
export function linearItems(release) {
  const { rank, tensors } = release;
  const { item_factors: factors, input_weights: inputs, output_weights: outputs, intercept } = tensors;

  const row = (/** @type {number} */ item) => factors.subarray(item * rank, (item + 1) * rank);

  /**
   * What each own item adds to the user's vector: ‖a‖ = Σ a_i²/‖a‖.
   * @param {[number, number][]} own items and their weights
   */
  function parts(own) {
    const weights = own.map(([item, weight]) => inputs[item] * weight);
    const length = Math.max(Math.sqrt(weights.reduce((total, weight) => total + weight ** 2, 0)), LEAST_LENGTH);
    return own.map(([item], at) => {
      const more = weights[at] ** 2 / length;
      return Float64Array.from(row(item), (factor, k) => weights[at] * factor + more * intercept[k]);
    });
  }

  return {
    scores(own, targets) {
      const given = [...own].sort(([a], [b]) => a - b); // so that a sum does not depend on the order
      if (!given.length || !factors) return scored(targets, (item) => tensors.item_scores[item]);
      const vector = new Float64Array(rank);
      for (const part of parts(given)) part.forEach((value, k) => (vector[k] += value));
      return scored(targets, (item) => outputs[item] * rowDot(factors, item, vector));
    },

    /** ⟨a_i g_i + a_i²/‖a‖ h, g_j⟩ b_j of each own item i ≠ j. */
    contributions(own, target) {
      demand(factors !== undefined, "this release gives everybody the same scores; no item of yours changes them");
      const rated = [...own.keys()];
      const added = parts([...own]).map((part) => rowDot(factors, target, part) * outputs[target]);
      return Float64Array.from(rated, (item, at) => (item === target ? 0 : added[at]));
    },
  };
}
