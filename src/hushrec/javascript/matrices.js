// Small systems of equations, in double precision. Matrices are square, row by row.

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

/** @param {Float64Array} values @param {number} left @param {number} right @param {number} length */
function exchange(values, left, right, length) {
  for (let i = 0; i < length; i += 1) {
    [values[left + i], values[right + i]] = [values[right + i], values[left + i]];
  }
}
