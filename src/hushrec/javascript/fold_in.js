// Prediction for one user from a release and their own ratings, which never leave the device.

import { factorPredictor } from "./factor_predictor.js";
import { itemScores, linearItems } from "./linear_items.js";

/** @typedef {import("./artefact.js").Release} Release */

/**
 * Predicts a user's ratings of some items from their ratings of others, or ranks by their interactions.
 *
 * `rated` are positions of the user's items, `ratings` their ratings (of interactions, how often each was given),
 * `targets` positions of items.
 * @typedef {object} Predictor
 * @property {(rated: number[], ratings: number[], targets: ArrayLike<number>) => Float64Array} [predict] ratings of
 *   `targets`, not clamped to the scale; missing where only lists are made
 * @property {(rated: number[], ratings: number[], targets: ArrayLike<number>) => Float64Array} scores by which lists
 *   of `targets`, none of which is an own item, are ordered
 * @property {(rated: number[], ratings: number[], target: number) => Float64Array} contributions what each of the
 *   user's items adds to the prediction of `target`; refused if it is not a sum over these
 */

/** For each kind of release, its predictor. */
const PREDICTORS = { factors: factorPredictor, "linear items": linearItems, "item scores": itemScores };

/**
 * The predictor for a release's kind, from a user's own ratings.
 * @param {Release} release
 * @returns {Predictor}
 */
export function predictor(release) {
  return PREDICTORS[/** @type {keyof typeof PREDICTORS} */ (release.kind)](release);
}
