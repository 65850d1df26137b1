// Prediction for one user from a release and their own ratings, which never leave the device.

import { FactorPredictor } from "./factor_predictor.js";
import { ItemScores, LinearItems } from "./linear_items.js";

/** @typedef {import("./artefact.js").Release} Release */

/**
 * Predicts a user's ratings of some items from their ratings of others, or ranks by their interactions.
 *
 * `predict` is missing where only lists are made. `rated` are positions of the user's items, `ratings` their
 * ratings (of interactions, how often each was given), `targets` positions of items.
 * @typedef {object} Predictor
 * @property {(rated: number[], ratings: number[], targets: ArrayLike<number>) => Float64Array} [predict]
 * @property {(rated: number[], ratings: number[], targets: ArrayLike<number>) => Float64Array} scores
 * @property {(rated: number[], ratings: number[], target: number) => Float64Array} contributions
 * @property {(rated: number[], target: number) => Map<string, {value: readonly string[], parts: Float64Array}>} [featureParts]
 * @property {(item: number, others: ArrayLike<number>) => Float64Array} similarity
 */

/**
 * The predictor for a release's kind, from a user's own ratings.
 * @param {Release} release
 * @returns {Predictor}
 */
export function predictor(release) {
  if (release.kind === "factors") return new FactorPredictor(release);
  return release.kind === "linear items" ? new LinearItems(release) : new ItemScores(release);
}
