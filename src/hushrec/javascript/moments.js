// Weighted second moments of item factors, and bounds of their eigenvalues without the matrix itself.

import { dot } from "./factor_predictor.js";

/** Times that the matrix is applied before its eigenvalues are bounded. */
const STEPS = 16;
/** How rarely chance may break the upper bound. */
const RARELY = 1e-12;

/** M = Σ w_i f_i f_iᵀ, shape (rank, rank). */
export class Moments {
  /**
   * @param {Float32Array} factors f_i, row by row
   * @param {number} rank
   * @param {(item: number) => number} weight w_i, at least 0
   */
  constructor(factors, rank, weight) {
    this.factors = factors;
    this.rank = rank;
    this.weight = weight;
  }

  /** M itself, after items × rank² / 2 multiplications. */
  matrix() {
    const { factors, rank, weight } = this;
    const found = new Float64Array(rank * rank);
    for (let start = 0, item = 0; start < factors.length; start += rank, item += 1) {
      const own = weight(item);
      for (let j = 0; j < rank; j += 1) {
        const scaled = own * factors[start + j];
        for (let k = 0; k <= j; k += 1) found[j * rank + k] += scaled * factors[start + k];
      }
    }
    for (let j = 0; j < rank; j += 1) for (let k = 0; k < j; k += 1) found[k * rank + j] = found[j * rank + k];
    return found;
  }

  /**
   * Bounds of the two largest eigenvalues, after a few dozen times items × rank multiplications.
   *
   * Below: the eigenvalues of M on the plane of two vectors, after subspace iteration (Golub & Van Loan 2013,
   * §8.2.4). Above: the trace, or (θ xᵀMᵏx)^(1/k) for x drawn at random, which is exceeded with probability at
   * most 0.8 √(rank/θ) (Dixon 1983, Theorem 1), whatever M is.
   * @returns {[number, number, number, number]} least of the first and of the second, most of the first and
   *     of all others together
   */
  bounds() {
    const { rank } = this;
    const trace = this.trace();
    if (!(trace > 1e-100 && trace < 1e100)) return [0, 0, trace, trace]; // squares of squares would not be exact
    const [x, y] = [drawn(rank), drawn(rank)];
    let grown = 0; // logarithm of ‖Mᵏx‖
    for (let step = 0; step < STEPS; step += 1) {
      x.set(this.times(x));
      y.set(this.times(y));
      grown += Math.log(scaled(x));
      orthogonal(y, x);
    }
    const [mx, my] = [this.times(x), this.times(y)];
    const [a, b, c] = [dot(x, mx), dot(x, my), dot(y, my)];
    const spread = Math.hypot((a - c) / 2, b);
    const first = (a + c) / 2 + spread;
    const theta = rank * (0.8 / RARELY) ** 2;
    const most = Math.min(trace, Math.exp((Math.log(theta) + 2 * grown) / (2 * STEPS)));
    return [first, (a + c) / 2 - spread, Math.max(most, first), Math.max(trace - first, 0)];
  }

  /** The sum of all eigenvalues. */
  trace() {
    const { factors, rank, weight } = this;
    let sum = 0;
    for (let at = 0; at < factors.length; at += 1) sum += weight(Math.floor(at / rank)) * factors[at] ** 2;
    return sum;
  }

  /**
   * M x.
   * @param {Float64Array} x
   */
  times(x) {
    const { factors, rank, weight } = this;
    const found = new Float64Array(rank);
    for (let start = 0, item = 0; start < factors.length; start += rank, item += 1) {
      let along = 0;
      for (let k = 0; k < rank; k += 1) along += factors[start + k] * x[k];
      along *= weight(item);
      for (let k = 0; k < rank; k += 1) found[k] += along * factors[start + k];
    }
    return found;
  }
}

/**
 * A direction that whoever made the file cannot foresee.
 * @param {number} length
 */
function drawn(length) {
  const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  const found = Float64Array.from({ length }, normal);
  scaled(found);
  return found;
}

/**
 * Give a vector length 1; its length before.
 * @param {Float64Array} x
 */
function scaled(x) {
  const length = Math.sqrt(dot(x, x));
  for (let k = 0; k < x.length; k += 1) x[k] = length ? x[k] / length : 0;
  return length;
}

/**
 * Make y orthogonal to x and of length 1, or 0 if nothing is left of it but rounding.
 * @param {Float64Array} y
 * @param {Float64Array} x
 */
function orthogonal(y, x) {
  for (let pass = 0; pass < 2; pass += 1) {
    const before = scaled(y);
    const shared = dot(x, y);
    for (let k = 0; k < y.length; k += 1) y[k] -= shared * x[k];
    if (!before || dot(y, y) < 1e-20) return void y.fill(0);
  }
  scaled(y);
}
