// Prediction by a user's own vector, from released item factors.

import { ReleaseError } from "./errors.js";
import { rowDot, scored } from "./lists.js";

/** Logarithm of how much likelier a choice is if the rating is higher by the scale's width. */
const LIKING = 2;
/** How much lower a user would rate an item that they did not choose, in widths of the scale. */
const ABSENCE = 0.5;
const LARGEST_ODDS = 700; // a logarithm

/** @typedef {import("./artefact.js").Release} Release */

/**
 * Ridge regression of a user's ratings on the item factors (McSherry & Mironov 2009, §5, "SVD"), by the equations
 * of `docs/format.md`, with which those of `hushrec.release.predictors` are the same.
 * @param {Release} release of kind "factors"
 * @returns {import("./kinds.js").Predictor}
 */
export function factorPredictor(release) {
  const { constants, rank, tensors } = release;
  const { item_factors: factors, item_noise: noise } = tensors;
  const [lo, hi] = release.bounds;
  const span = hi - lo;
  const logs = Float64Array.from(tensors.item_popularity, Math.log);
  const effects = Float64Array.from(tensors.item_effects, (effect) => effect + constants.user_mean);
  const deviation = Math.sqrt(constants.user_variance);
  const slopes = "slope_odds" in constants ? slopeColumns(release) : [];

  const row = (/** @type {number} */ item) => factors.subarray(item * rank, (item + 1) * rank);

  /** x of an item: √user_variance, its factors, its columns of the slopes. */
  const extended = (/** @type {number} */ item) => Float64Array.of(deviation, ...row(item), ...slopes.map((column) => column[item]));

  /**
   * A = I + Σ x xᵀ/τ_i², row by row, as in `posterior`.
   * @param {number[]} rated
   * @param {ArrayLike<number>[]} rows
   * @param {number} width
   */
  function normal(rated, rows, width) {
    const sums = new Float64Array(width * width);
    for (let k = 0; k < width; k += 1) sums[k * width + k] = 1;
    for (const [at, item] of rated.entries()) {
      for (let j = 0; j < width; j += 1) {
        const weighed = rows[at][j] / noise[item];
        for (let k = 0; k < width; k += 1) sums[j * width + k] += weighed * rows[at][k];
      }
    }
    return sums;
  }

  /**
   * A⁻¹ c of A = I + Σ x xᵀ/τ_i² and c = Σ x r_i/τ_i², with cᵀ A⁻¹ c and log det A.
   * @param {number[]} rated
   * @param {number[]} residuals r_i
   * @param {ArrayLike<number>[]} rows x of each of `rated`, of which the first `width` numbers count
   * @param {number} width
   */
  function posterior(rated, residuals, rows, width) {
    const right = new Float64Array(width);
    for (const [at, item] of rated.entries()) {
      for (let k = 0; k < width; k += 1) right[k] += rows[at][k] * (residuals[at] / noise[item]);
    }
    const mean = right.slice();
    const logDet = solve(normal(rated, rows, width), mean);
    return { mean, explained: rowDot(right, 0, mean), logDet };
  }

  /**
   * The user's vector: first the level, then the factors, then the slopes, which they have with some probability.
   * @param {Map<number, number>} own
   */
  function foldIn(own) {
    const rated = [...own.keys()];
    const residuals = Array.from(own, ([item, rating]) => rating - effects[item]);
    const rows = rated.map(extended);
    const level = posterior(rated, residuals, rows, 1 + rank);
    if (!slopes.length) return level.mean;
    const sloped = posterior(rated, residuals, rows, 1 + rank + slopes.length);
    const evidence = (sloped.explained - level.explained - Math.max(sloped.logDet - level.logDet, 0)) / 2;
    const odds = evidence + Math.log(constants.slope_odds);
    const share = 1 / (1 + Math.exp(-Math.min(Math.max(odds, -LARGEST_ODDS), LARGEST_ODDS)));
    return sloped.mean.map((value, k) => share * value + (1 - share) * (level.mean[k] ?? 0));
  }

  /**
   * An item's effect and what the user's level and slopes add to it.
   * @param {Float64Array} vector
   * @param {number} item
   */
  function withoutTaste(vector, item) {
    const sloped = slopes.reduce((sum, column, k) => sum + column[item] * vector[1 + rank + k], 0);
    return effects[item] + deviation * vector[0] + sloped;
  }

  return {
    predict(own, targets) {
      const vector = foldIn(own);
      const taste = vector.subarray(1, 1 + rank);
      return scored(targets, (item) => withoutTaste(vector, item) + rowDot(factors, item, taste));
    },

    /** How likely the user chooses and likes each: log n_i + 2 z_i/span. */
    scores(own, targets) {
      const rated = [...own.keys()];
      const raised = Array.from(own, ([item, rating]) => rating - effects[item] + ABSENCE * span);
      const { mean } = posterior(rated, raised, rated.map(row), rank);
      return scored(targets, (item) => logs[item] + (LIKING / span) * rowDot(factors, item, mean));
    },

    contributions(own, target) {
      const [vector, rated] = [foldIn(own), [...own.keys()]];
      const weights = Float64Array.from(row(target));
      solve(normal(rated, rated.map(row), rank), weights);
      return Float64Array.from([...own], ([item, rating]) => {
        return ((rating - withoutTaste(vector, item)) * rowDot(factors, item, weights)) / noise[item];
      });
    },
  };
}

/**
 * By how much an item's effect, and the logarithm of its popularity, are above their means weighted by popularity,
 * times √effect_slope and √popularity_slope.
 * @param {Release} release
 */
function slopeColumns({ constants, tensors }) {
  const popularity = tensors.item_popularity;
  const total = popularity.reduce((sum, count) => sum + count, 0);
  const columns = [Float64Array.from(tensors.item_effects), Float64Array.from(popularity, Math.log1p)];
  return columns.map((column, at) => {
    const mean = rowDot(column, 0, popularity) / total;
    const size = Math.sqrt(at ? constants.popularity_slope : constants.effect_slope);
    return column.map((value) => (value - mean) * size);
  });
}

/**
 * Solve A x = b by elimination, of a positive definite A, which needs no pivots; both are overwritten.
 * @param {Float64Array} a shape (n, n), row by row
 * @param {Float64Array} b shape (n,); x afterwards
 * @returns {number} log det A
 * @throws {ReleaseError} A has no inverse
 */
export function solve(a, b) {
  const n = b.length;
  let logDet = 0;
  for (let k = 0; k < n; k += 1) {
    const pivot = a[k * n + k];
    if (pivot === 0) throw new ReleaseError("nothing can be predicted from this release's numbers; fetch it again");
    logDet += Math.log(pivot);
    for (let i = k + 1; i < n; i += 1) {
      const factor = a[i * n + k] / pivot;
      for (let j = k + 1; j < n; j += 1) a[i * n + j] -= factor * a[k * n + j];
      b[i] -= factor * b[k];
    }
  }
  for (let i = n - 1; i >= 0; i -= 1) {
    for (let k = i + 1; k < n; k += 1) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  return logDet;
}
