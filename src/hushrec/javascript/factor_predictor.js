// Prediction by a user's own vector, from released item factors.

import { ReleaseError } from "./errors.js";
import { NoisyCosines } from "./lists.js";
import { solve } from "./matrices.js";
import { unlike } from "./item_scores.js";
import { Slopes } from "./slopes.js";

/** Logarithm of how much likelier a choice is if the rating is higher by the scale's width. */
const LIKING = 2;
/** How much lower a user would rate an item that they did not choose, in widths of the scale. */
const ABSENCE = 0.5;

/** @typedef {import("./artefact.js").Release} Release */

/**
 * Ridge regression of a user's ratings on the item factors (McSherry & Mironov 2009, §5, "SVD"); the equations
 * are at `hushrec.release.predictors.factor_predictor`.
 */
export class FactorPredictor {
  /** @param {Release} release of kind "factors" */
  constructor(release) {
    this.release = release;
    this.rank = release.rank;
    this.factors = release.tensors.item_factors;
    this.noise = release.tensors.item_noise;
    const [lo, hi] = release.requireScale();
    this.span = hi - lo;
    this.logs = Float64Array.from(release.tensors.item_popularity, Math.log);
    this.deviation = Math.sqrt(release.constants.user_variance);
    const mean = release.constants.user_mean;
    this.effects = Float64Array.from(release.tensors.item_effects, (effect) => effect + mean);
    this.slopes = new Slopes(release);
    /** @type {NoisyCosines | null} */
    this.cosines = null;
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
    const predicted = this.tastes(vector.subarray(1), targets);
    for (let at = 0; at < predicted.length; at += 1) {
      predicted[at] += this.effects[targets[at]] + this.added(vector, targets[at]);
    }
    return predicted;
  }

  /**
   * How likely the user chooses and likes `targets`, by `hushrec.release.predictors.scores`: log n_i + 2 z_i/span.
   * @param {number[]} rated
   * @param {number[]} ratings
   * @param {ArrayLike<number>} targets
   * @returns {Float64Array}
   */
  scores(rated, ratings, targets) {
    const raised = ABSENCE * this.span;
    const residuals = rated.map((item, at) => ratings[at] - this.effects[item] + raised);
    const tastes = this.tastes(this.regression(rated, residuals, false), targets);
    return tastes.map((taste, at) => this.logs[targets[at]] + (LIKING / this.span) * taste);
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
    const weights = this.normal(rated, false);
    const right = Float64Array.from(this.row(target));
    solve(weights, right, this.rank);
    return Float64Array.from(rated, (item, at) => {
      return (ratings[at] - this.effects[item] - this.added(vector, item)) * (dot(this.row(item), right) / this.noise[item]);
    });
  }

  /**
   * Cosine of an item's factors and those of others, weighted by their noise.
   * @param {number} item
   * @param {ArrayLike<number>} others
   * @returns {Float64Array}
   * @throws {ReleaseError} there are no factors
   */
  similarity(item, others) {
    if (!this.rank) throw new ReleaseError(unlike(this.release));
    const lengths = () => Float64Array.from(this.effects, (_, at) => Math.sqrt(dot(this.row(at), this.row(at))));
    const cosines = (this.cosines ??= new NoisyCosines(lengths(), this.noise));
    const factors = this.row(item);
    return Float64Array.from(others, (other) => cosines.of(dot(factors, this.row(other)), item, other));
  }

  /**
   * The user's vector: first the level, then the factors, then the slopes.
   * @param {number[]} rated
   * @param {number[]} ratings
   */
  foldIn(rated, ratings) {
    return this.regression(rated, rated.map((item, at) => ratings[at] - this.effects[item]), true);
  }

  /**
   * What the user's level and slopes add to an item's effect.
   * @param {Float64Array} vector
   * @param {number} item
   */
  added(vector, item) {
    return this.deviation * vector[0] + dot(this.slopes.row(item), vector.subarray(1 + this.rank));
  }

  /**
   * (I + Σ x xᵀ/τ_i²)⁻¹ Σ x r_i/τ_i², with x = (level, f_i, slopes), where users may have no slopes, or f_i alone.
   * @param {number[]} rated
   * @param {number[]} residuals r_i
   * @param {boolean} whole whether level and slopes are estimated
   */
  regression(rated, residuals, whole) {
    const right = new Float64Array(this.width(whole));
    const x = new Float64Array(right.length);
    for (const [at, item] of rated.entries()) {
      this.fill(x, item, whole);
      const weighed = residuals[at] / this.noise[item];
      for (let k = 0; k < x.length; k += 1) right[k] += x[k] * weighed;
    }
    const normal = this.normal(rated, whole);
    return whole ? this.slopes.solved(normal, right) : solve(normal, right, right.length);
  }

  /**
   * I + Σ x xᵀ/τ_i², row by row.
   * @param {number[]} rated
   * @param {boolean} whole as in `regression`
   */
  normal(rated, whole) {
    const width = this.width(whole);
    const normal = new Float64Array(width * width);
    const x = new Float64Array(width);
    for (const item of rated) {
      this.fill(x, item, whole);
      for (let j = 0; j < width; j += 1) {
        const weighed = x[j] / this.noise[item];
        for (let k = 0; k <= j; k += 1) normal[j * width + k] += weighed * x[k];
      }
    }
    for (let j = 0; j < width; j += 1) {
      for (let k = 0; k < j; k += 1) normal[k * width + j] = normal[j * width + k];
      normal[j * width + j] += 1;
    }
    return normal;
  }

  /** @param {boolean} whole */
  width(whole) {
    return whole ? 1 + this.rank + this.slopes.width : this.rank;
  }

  /**
   * @param {Float64Array} x overwritten
   * @param {number} item
   * @param {boolean} whole
   */
  fill(x, item, whole) {
    if (whole) {
      x[0] = this.deviation;
      x.set(this.slopes.row(item), 1 + this.rank);
    }
    x.set(this.row(item), whole ? 1 : 0);
  }

  /**
   * f_i · p of each target.
   * @param {Float64Array} vector p
   * @param {ArrayLike<number>} targets
   */
  tastes(vector, targets) {
    return products(this.factors, this.rank, vector, targets);
  }

  /** @param {number} item */
  row(item) {
    return this.factors.subarray(item * this.rank, (item + 1) * this.rank);
  }
}

/**
 * Inner products of rows and a vector.
 * @param {Float32Array} rows
 * @param {number} width of a row
 * @param {Float64Array} vector
 * @param {ArrayLike<number>} targets which rows
 */
export function products(rows, width, vector, targets) {
  const scores = new Float64Array(targets.length);
  for (let at = 0; at < targets.length; at += 1) {
    const start = targets[at] * width;
    let sum = 0;
    for (let k = 0; k < width; k += 1) sum += rows[start + k] * vector[k];
    scores[at] = sum;
  }
  return scores;
}

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
export function dot(a, b) {
  let sum = 0;
  for (let k = 0; k < a.length; k += 1) sum += a[k] * b[k];
  return sum;
}
