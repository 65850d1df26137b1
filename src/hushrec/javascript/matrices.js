// Small systems of equations and spectra, in double precision. Matrices are square, row by row.

import { ReleaseError } from "./errors.js";

/**
 * Solve A x = b by elimination with partial pivoting; both are overwritten.
 * @param {Float64Array} a shape (n, n)
 * @param {Float64Array} b shape (n, width); the solution afterwards
 * @param {number} n
 * @param {number} [width] number of right-hand sides
 * @returns {Float64Array} b
 * @throws {ReleaseError} A has no inverse
 */
export function solve(a, b, n, width = 1) {
  for (let k = 0; k < n; k += 1) {
    let pivot = k;
    for (let i = k + 1; i < n; i += 1) if (Math.abs(a[i * n + k]) > Math.abs(a[pivot * n + k])) pivot = i;
    if (a[pivot * n + k] === 0) {
      throw new ReleaseError("nothing can be predicted from this release's numbers; fetch it again");
    }
    if (pivot !== k) {
      exchange(a, k * n, pivot * n, n);
      exchange(b, k * width, pivot * width, width);
    }
    for (let i = k + 1; i < n; i += 1) {
      const factor = a[i * n + k] / a[k * n + k];
      for (let j = k + 1; j < n; j += 1) a[i * n + j] -= factor * a[k * n + j];
      for (let j = 0; j < width; j += 1) b[i * width + j] -= factor * b[k * width + j];
    }
  }
  for (let i = n - 1; i >= 0; i -= 1) {
    for (let j = 0; j < width; j += 1) {
      let left = b[i * width + j];
      for (let k = i + 1; k < n; k += 1) left -= a[i * n + k] * b[k * width + j];
      b[i * width + j] = left / a[i * n + i];
    }
  }
  return b;
}

/**
 * @param {Float64Array} values
 * @param {number} left
 * @param {number} right
 * @param {number} length
 */
function exchange(values, left, right, length) {
  for (let i = 0; i < length; i += 1) {
    [values[left + i], values[right + i]] = [values[right + i], values[left + i]];
  }
}

/** The eigenvalues of a symmetric matrix, counted without being computed one by one. */
export class Spectrum {
  /**
   * @param {Float64Array} a shape (n, n); overwritten
   * @param {number} n
   */
  constructor(a, n) {
    const [diagonal, beside] = tridiagonal(a, n);
    this.diagonal = diagonal;
    this.beside = beside;
  }

  /**
   * How many eigenvalues are at least `least`: those of a tridiagonal matrix, by Sturm's sequence
   * (Golub & Van Loan 2013, §8.4.1).
   * @param {number} least
   */
  atLeast(least) {
    let [count, last] = [0, 1];
    for (let i = 0; i < this.diagonal.length; i += 1) {
      const square = i ? this.beside[i - 1] ** 2 : 0;
      last = this.diagonal[i] - least - (square ? square / (last || Number.MIN_VALUE) : 0);
      if (last >= 0) count += 1;
    }
    return count;
  }

  /** The largest eigenvalue, to the last digits; 0 if there is none. */
  largest() {
    let bound = 0;
    for (let i = 0; i < this.diagonal.length; i += 1) {
      const around = Math.abs(this.beside[i - 1] ?? 0) + Math.abs(this.beside[i] ?? 0);
      bound = Math.max(bound, Math.abs(this.diagonal[i]) + around);
    }
    let [low, high] = [-bound, bound];
    for (let step = 0; step < 100; step += 1) {
      const middle = low + (high - low) / 2;
      [low, high] = this.atLeast(middle) ? [middle, high] : [low, middle];
    }
    return high;
  }
}

/**
 * Householder's reduction of a symmetric matrix to a tridiagonal one with the same eigenvalues (Golub & Van
 * Loan 2013, §8.3.1).
 * @param {Float64Array} a shape (n, n); overwritten
 * @param {number} n
 * @returns {[Float64Array, Float64Array]} its diagonal, and the numbers beside it
 */
function tridiagonal(a, n) {
  const beside = new Float64Array(Math.max(n - 1, 0));
  const [v, p] = [new Float64Array(n), new Float64Array(n)];
  for (let k = 0; k < n - 1; k += 1) {
    let scale = 0;
    for (let i = k + 1; i < n; i += 1) scale = Math.max(scale, Math.abs(a[i * n + k]));
    if (!(scale > 0)) continue;
    let square = 0;
    for (let i = k + 1; i < n; i += 1) {
      v[i] = a[i * n + k] / scale;
      square += v[i] ** 2;
    }
    const length = v[k + 1] > 0 ? -Math.sqrt(square) : Math.sqrt(square);
    beside[k] = scale * length;
    const half = square - v[k + 1] * length; // ‖v‖²/2 once the first entry is moved
    v[k + 1] -= length;
    if (half === 0) continue;
    let inner = 0;
    for (let i = k + 1; i < n; i += 1) {
      p[i] = 0;
      for (let j = k + 1; j < n; j += 1) p[i] += a[i * n + j] * v[j];
      p[i] /= half;
      inner += p[i] * v[i];
    }
    for (let i = k + 1; i < n; i += 1) p[i] -= (inner / (2 * half)) * v[i];
    for (let i = k + 1; i < n; i += 1) {
      for (let j = k + 1; j < n; j += 1) a[i * n + j] -= v[i] * p[j] + p[i] * v[j];
    }
  }
  return [Float64Array.from({ length: n }, (_, i) => a[i * n + i]), beside];
}
