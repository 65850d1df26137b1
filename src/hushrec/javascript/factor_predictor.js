// Prediction by a user's own vector, from released item factors.

import { ReleaseError } from "./errors.js";
import { dot, rowDot, unlike, weighedCosines } from "./lists.js";

/** Logarithm of how much likelier a choice is if the rating is higher by the scale's width. */
const LIKING = 2;
/** How much lower a user would rate an item that they did not choose, in widths of the scale. */
const ABSENCE = 0.5;
const LARGEST_ODDS = 700; // a logarithm

/** @typedef {import("./artefact.js").Release} Release */

/**
 * Ridge regression of a user's ratings on the item factors (McSherry & Mironov 2009, §5, "SVD"), by the equations
 * of `docs/format.md`, with which those of `hushrec.release.predictors` are the same.
 */
export class FactorPredictor {
  /** @param {Release} release of kind "factors" */
  constructor(release) {
    const { constants, tensors } = release;
    const [lo, hi] = release.requireScale();
    this.release = release;
    this.rank = release.rank;
    this.factors = tensors.item_factors;
    this.noise = tensors.item_noise;
    this.least = this.noise.reduce((least, variance) => Math.min(least, variance), Infinity);
    this.span = hi - lo;
    this.logs = Float64Array.from(tensors.item_popularity, Math.log);
    this.deviation = Math.sqrt(constants.user_variance);
    this.effects = Float64Array.from(tensors.item_effects, (effect) => effect + constants.user_mean);
    this.slopes = "slope_odds" in constants ? slopeColumns(release) : [];
  }

  /**
   * Ratings of `targets`, not clamped to the scale.
   * @param {number[]} rated positions of the user's items
   * @param {number[]} ratings their ratings
   * @param {ArrayLike<number>} targets positions of the items to predict
   * @returns {Float64Array}
   */
  predict(rated, ratings, targets) {
    const vector = this.foldIn(rated, ratings);
    const tastes = vector.subarray(1, 1 + this.rank);
    return Float64Array.from(targets, (item) => this.withoutTaste(vector, item) + rowDot(this.factors, item, tastes));
  }

  /**
   * How likely the user chooses and likes `targets`: log n_i + 2 z_i/span.
   * @param {number[]} rated
   * @param {number[]} ratings
   * @param {ArrayLike<number>} targets
   * @returns {Float64Array}
   */
  scores(rated, ratings, targets) {
    const raised = rated.map((item, at) => ratings[at] - this.effects[item] + ABSENCE * this.span);
    const { mean } = this.posterior(rated, raised, rated.map((item) => this.row(item)), this.rank);
    return Float64Array.from(targets, (item) => this.logs[item] + (LIKING / this.span) * rowDot(this.factors, item, mean));
  }

  /**
   * What each of the user's items adds to the prediction of `target`.
   * @param {number[]} rated
   * @param {number[]} ratings
   * @param {number} target
   * @returns {Float64Array}
   */
  contributions(rated, ratings, target) {
    const vector = this.foldIn(rated, ratings);
    const weights = Float64Array.from(this.row(target));
    solve(this.normal(rated, rated.map((item) => this.row(item)), this.rank), weights);
    return Float64Array.from(rated, (item, at) => {
      const residual = ratings[at] - this.withoutTaste(vector, item);
      return (residual * rowDot(this.factors, item, weights)) / this.noise[item];
    });
  }

  /**
   * Cosine of an item's factors and those of others times p_i p_j, with p_i = min τ²/τ_i²: the noise τ_i² is least for
   * items with many ratings, and cosines alone list many items with few.
   * @param {number} item
   * @param {ArrayLike<number>} others
   * @returns {Float64Array}
   * @throws {ReleaseError} there are no factors
   */
  similarity(item, others) {
    if (!this.rank) throw new ReleaseError(unlike(this.release));
    return weighedCosines((at) => this.row(at), (at) => this.least / this.noise[at], item, others);
  }

  /**
   * The user's vector: first the level, then the factors, then the slopes, which they have with some probability.
   * @param {number[]} rated
   * @param {number[]} ratings
   * @returns {Float64Array}
   */
  foldIn(rated, ratings) {
    const residuals = rated.map((item, at) => ratings[at] - this.effects[item]);
    const rows = rated.map((item) => this.extended(item));
    const width = 1 + this.rank;
    const level = this.posterior(rated, residuals, rows, width);
    if (!this.slopes.length) return level.mean;
    const sloped = this.posterior(rated, residuals, rows, width + this.slopes.length);
    const evidence = (sloped.explained - level.explained - Math.max(sloped.logDet - level.logDet, 0)) / 2;
    const odds = evidence + Math.log(this.release.constants.slope_odds);
    const share = 1 / (1 + Math.exp(-Math.min(Math.max(odds, -LARGEST_ODDS), LARGEST_ODDS)));
    return sloped.mean.map((value, k) => share * value + (1 - share) * (level.mean[k] ?? 0));
  }

  /**
   * An item's effect and what the user's level and slopes add to it.
   * @param {Float64Array} vector
   * @param {number} item
   */
  withoutTaste(vector, item) {
    const slopes = this.slopes.reduce((sum, column, k) => sum + column[item] * vector[1 + this.rank + k], 0);
    return this.effects[item] + this.deviation * vector[0] + slopes;
  }

  /**
   * A⁻¹ c of A = I + Σ x xᵀ/τ_i² and c = Σ x r_i/τ_i², with cᵀ A⁻¹ c and log det A.
   * @param {number[]} rated
   * @param {number[]} residuals r_i
   * @param {ArrayLike<number>[]} rows x of each of `rated`, of which the first `width` numbers count
   * @param {number} width
   */
  posterior(rated, residuals, rows, width) {
    const right = new Float64Array(width);
    for (const [at, item] of rated.entries()) {
      for (let k = 0; k < width; k += 1) right[k] += rows[at][k] * (residuals[at] / this.noise[item]);
    }
    const mean = right.slice();
    const logDet = solve(this.normal(rated, rows, width), mean);
    return { mean, explained: dot(right, mean), logDet };
  }

  /**
   * A = I + Σ x xᵀ/τ_i², row by row, as in `posterior`.
   * @param {number[]} rated
   * @param {ArrayLike<number>[]} rows
   * @param {number} width
   */
  normal(rated, rows, width) {
    const normal = new Float64Array(width * width);
    for (let k = 0; k < width; k += 1) normal[k * width + k] = 1;
    for (const [at, item] of rated.entries()) {
      for (let j = 0; j < width; j += 1) {
        const weighed = rows[at][j] / this.noise[item];
        for (let k = 0; k < width; k += 1) normal[j * width + k] += weighed * rows[at][k];
      }
    }
    return normal;
  }

  /**
   * x of an item: √user_variance, its factors, its columns of the slopes.
   * @param {number} item
   */
  extended(item) {
    return Float64Array.of(this.deviation, ...this.row(item), ...this.slopes.map((column) => column[item]));
  }

  /** @param {number} item */
  row(item) {
    return this.factors.subarray(item * this.rank, (item + 1) * this.rank);
  }
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
    const mean = dot(column, popularity) / total;
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
