// How much one user follows the general opinion and popularity: slopes in addition to their level. The
// equations are at `hushrec.release.predictors.scores`.

import { solve } from "./matrices.js";

/** @typedef {import("./artefact.js").Release} Release */

const LARGEST = 700; // logarithm of the largest odds

/** What users differ in apart from taste: the columns of their slopes, and the odds that they have any. */
export class Slopes {
  /** @param {Release} release that predicts ratings from item effects */
  constructor(release) {
    const { constants, tensors } = release;
    this.width = "slope_odds" in constants ? 2 : 0;
    this.odds = constants.slope_odds ?? 1;
    const popularity = Float64Array.from(tensors.item_popularity);
    const total = popularity.reduce((sum, count) => sum + count, 0);
    /** Shape (n_items, width). */
    this.columns = new Float64Array(this.width * popularity.length);
    if (!this.width) return;
    const effects = Float64Array.from(tensors.item_effects);
    const logs = Float64Array.from(popularity, (count) => Math.log1p(count));
    for (const [at, values] of [effects, logs].entries()) {
      const mean = values.reduce((sum, value, item) => sum + value * popularity[item], 0) / total;
      const size = Math.sqrt(at ? constants.popularity_slope : constants.effect_slope);
      for (let item = 0; item < values.length; item += 1) {
        this.columns[item * this.width + at] = (values[item] - mean) * size;
      }
    }
  }

  /** @param {number} item */
  row(item) {
    return this.columns.subarray(item * this.width, (item + 1) * this.width);
  }

  /**
   * Posterior mean of coefficients of unit variance; a user may lack the last, the slopes.
   * @param {Float64Array} normal shape (n, n)
   * @param {Float64Array} right shape (n,)
   * @returns {Float64Array} shape (n,)
   */
  solved(normal, right) {
    const n = right.length;
    const nSlopes = this.width;
    if (!nSlopes) return solve(normal, right, n);
    const rest = n - nSlopes;
    const across = nSlopes + 1;
    const others = new Float64Array(rest * rest);
    const sides = new Float64Array(rest * across);
    for (let i = 0; i < rest; i += 1) {
      others.set(normal.subarray(i * n, i * n + rest), i * rest);
      sides[i * across] = right[i];
      sides.set(normal.subarray(i * n + rest, (i + 1) * n), i * across + 1);
    }
    solve(others, sides, rest, across);
    const schur = new Float64Array(nSlopes * nSlopes);
    const left = new Float64Array(nSlopes);
    for (let i = 0; i < nSlopes; i += 1) {
      const row = (rest + i) * n;
      left[i] = right[rest + i];
      for (let k = 0; k < rest; k += 1) left[i] -= normal[row + k] * sides[k * across];
      for (let j = 0; j < nSlopes; j += 1) {
        schur[i * nSlopes + j] = normal[row + rest + j];
        for (let k = 0; k < rest; k += 1) schur[i * nSlopes + j] -= normal[row + k] * sides[k * across + 1 + j];
      }
    }
    const determinant = schur[0] * schur[3] - schur[1] * schur[2];
    const raw = solve(schur, Float64Array.from(left), nSlopes);
    const evidence = (left[0] * raw[0] + left[1] * raw[1] - Math.log(Math.max(determinant, 1))) / 2;
    const odds = Math.min(Math.max(evidence + Math.log(this.odds), -LARGEST), LARGEST);
    const coefficients = new Float64Array(n);
    for (let i = 0; i < nSlopes; i += 1) coefficients[rest + i] = raw[i] / (1 + Math.exp(-odds));
    for (let k = 0; k < rest; k += 1) {
      coefficients[k] = sides[k * across];
      for (let i = 0; i < nSlopes; i += 1) coefficients[k] -= sides[k * across + 1 + i] * coefficients[rest + i];
    }
    return coefficients;
  }
}
