// Prediction by a user's own vector, from released item factors.

import { ABSENCE, Choice } from "./choice.js";
import { ReleaseError } from "./errors.js";
import { NoisyCosines } from "./lists.js";
import { solve } from "./matrices.js";
import { unlike } from "./item_scores.js";

/** @typedef {import("./release.js").Release} Release */

/**
 * Ridge regression of a user's ratings on the item factors (McSherry & Mironov 2009, §5, "SVD"); the equations
 * are at `hushrec.release.predictors.factor_predictor`.
 */
export class FactorPredictor {
  /** @param {Release} release of kind "factors" or "factors and people" */
  constructor(release) {
    this.release = release;
    this.rank = release.rank;
    this.factors = release.tensors.item_factors;
    this.noise = release.tensors.item_noise;
    this.choice = new Choice(release, release.tensors.item_popularity);
    this.deviation = Math.sqrt(release.constants.user_variance);
    const mean = release.constants.user_mean;
    this.effects = Float64Array.from(release.tensors.item_effects, (own) => own + mean);
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
    const found = this.tastes(vector.subarray(1), targets);
    for (let at = 0; at < found.length; at += 1) {
      found[at] += this.effects[targets[at]] + this.deviation * vector[0];
    }
    return found;
  }

  /**
   * How likely the user chooses and likes `targets`.
   * @param {number[]} rated
   * @param {number[]} ratings
   * @param {ArrayLike<number>} targets
   * @returns {Float64Array}
   */
  scores(rated, ratings, targets) {
    const raised = ABSENCE * this.choice.span;
    const residuals = rated.map((item, at) => ratings[at] - this.effects[item] + raised);
    return this.choice.of(targets, this.tastes(this.regression(rated, residuals, 0), targets));
  }

  /**
   * What each of the user's items adds to the prediction of `target`.
   * @param {number[]} rated
   * @param {number[]} ratings
   * @param {number} target
   * @returns {Float64Array}
   */
  contributions(rated, ratings, target) {
    const level = this.deviation * this.foldIn(rated, ratings)[0];
    const weights = this.normal(rated, 0);
    const right = Float64Array.from(this.row(target));
    solve(weights, right, this.rank);
    return Float64Array.from(rated, (item, at) => {
      return (ratings[at] - this.effects[item] - level) * (dot(this.row(item), right) / this.noise[item]);
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
    const own = this.row(item);
    return Float64Array.from(others, (other) => cosines.of(dot(own, this.row(other)), item, other));
  }

  /**
   * The user's vector: first the level, then the factors.
   * @param {number[]} rated
   * @param {number[]} ratings
   */
  foldIn(rated, ratings) {
    return this.regression(rated, rated.map((item, at) => ratings[at] - this.effects[item]), this.deviation);
  }

  /**
   * (I + Σ x xᵀ/τ_i²)⁻¹ Σ x r_i/τ_i², with x = (level, f_i), or f_i alone if the level is 0.
   * @param {number[]} rated
   * @param {number[]} residuals r_i
   * @param {number} level
   */
  regression(rated, residuals, level) {
    const extra = level ? 1 : 0;
    const right = new Float64Array(this.rank + extra);
    for (const [at, item] of rated.entries()) {
      const weighed = residuals[at] / this.noise[item];
      if (extra) right[0] += level * weighed;
      const row = this.row(item);
      for (let k = 0; k < row.length; k += 1) right[k + extra] += row[k] * weighed;
    }
    return solve(this.normal(rated, level), right, right.length);
  }

  /**
   * I + Σ x xᵀ/τ_i², row by row.
   * @param {number[]} rated
   * @param {number} level
   */
  normal(rated, level) {
    const extra = level ? 1 : 0;
    const width = this.rank + extra;
    const found = new Float64Array(width * width);
    const x = new Float64Array(width);
    for (const item of rated) {
      if (extra) x[0] = level;
      x.set(this.row(item), extra);
      for (let j = 0; j < width; j += 1) {
        const weighed = x[j] / this.noise[item];
        for (let k = 0; k < width; k += 1) found[j * width + k] += weighed * x[k];
      }
    }
    for (let j = 0; j < width; j += 1) found[j * width + j] += 1;
    return found;
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
  const found = new Float64Array(targets.length);
  for (let at = 0; at < targets.length; at += 1) {
    const start = targets[at] * width;
    let sum = 0;
    for (let k = 0; k < width; k += 1) sum += rows[start + k] * vector[k];
    found[at] = sum;
  }
  return found;
}

/**
 * @param {ArrayLike<number>} a
 * @param {ArrayLike<number>} b
 */
export function dot(a, b) {
  let sum = 0;
  for (let k = 0; k < a.length; k += 1) sum += a[k] * b[k];
  return sum;
}
