// Prediction by the nearest of a user's own items, with weights from a released covariance.

import { ABSENCE, Choice } from "./choice.js";
import { largest, NoisyCosines } from "./lists.js";
import { solve } from "./matrices.js";
import { Slopes } from "./slopes.js";

/** @typedef {import("./artefact.js").Release} Release */

/**
 * k nearest neighbours with jointly derived weights (Bell & Koren 2007, §3; McSherry & Mironov 2009, §5); the
 * equations are at `hushrec.release.predictors.covariance_neighbours`.
 */
export class NeighbourPredictor {
  /** @param {Release} release of kind "neighbours" or "dense neighbours" */
  constructor(release) {
    const { tensors, constants } = release;
    this.noise = tensors.item_noise;
    this.levelNoise = constants.bias_noise;
    this.deviation = Math.sqrt(constants.user_variance);
    this.slopes = new Slopes(release);
    this.k = Math.trunc(constants.neighbours);
    this.effects = Float64Array.from(tensors.item_effects, (own) => own + constants.user_mean);
    this.covariance = symmetric(release, tensors.item_factors, tensors.covariance);
    this.alike = symmetric(release, tensors.similarity_factors, tensors.similarity);
    this.choice = new Choice(release, tensors.item_popularity);
    /** @type {NoisyCosines | null} */
    this.cosines = null;
  }

  /**
   * Ratings of `targets`, not clamped to the scale.
   * @param {number[]} rated
   * @param {number[]} ratings
   * @param {ArrayLike<number>} targets
   * @returns {Float64Array}
   */
  predict(rated, ratings, targets) {
    const level = this.level(rated, ratings);
    const residuals = rated.map((item, at) => ratings[at] - this.effects[item] - level(item));
    const found = this.added(rated, residuals, targets);
    for (let at = 0; at < found.length; at += 1) found[at] += this.effects[targets[at]] + level(targets[at]);
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
    const raised = rated.map((item, at) => ratings[at] - this.effects[item] + ABSENCE * this.choice.span);
    return this.choice.of(targets, this.added(rated, raised, targets));
  }

  /**
   * w_j (r_j − μ_j − b_j) of the target's neighbours, 0 of the user's other items.
   * @param {number[]} rated
   * @param {number[]} ratings
   * @param {number} target
   * @returns {Float64Array}
   */
  contributions(rated, ratings, target) {
    const found = new Float64Array(rated.length);
    if (!rated.length) return found;
    const level = this.level(rated, ratings);
    const among = this.among(rated);
    const nearest = this.nearest(rated, ascending(rated), target);
    const weights = Float64Array.from(nearest, (place) => this.covariance.of(target, rated[place]));
    solve(part(among, rated.length, nearest), weights, nearest.length);
    for (const [at, place] of nearest.entries()) {
      found[place] = weights[at] * (ratings[place] - this.effects[rated[place]] - level(rated[place]));
    }
    return found;
  }

  /**
   * Cosine by the released similarity, weighted by the items' noise.
   * @param {number} item
   * @param {ArrayLike<number>} others
   * @returns {Float64Array}
   */
  similarity(item, others) {
    const lengths = () => Float64Array.from(this.noise, (_, at) => Math.sqrt(Math.max(this.alike.of(at, at), 0)));
    const cosines = (this.cosines ??= new NoisyCosines(lengths(), this.noise));
    return Float64Array.from(others, (other) => cosines.of(this.alike.of(item, other), item, other));
  }

  /**
   * b_i of an item: the user's level and what their slopes add.
   * @param {number[]} rated
   * @param {number[]} ratings
   * @returns {(item: number) => number}
   */
  level(rated, ratings) {
    const width = 1 + this.slopes.width;
    /** @param {number} item */
    const row = (item) => [this.deviation, ...this.slopes.row(item)];
    const normal = new Float64Array(width * width);
    const right = new Float64Array(width);
    for (let j = 0; j < width; j += 1) normal[j * width + j] = 1;
    for (const [at, item] of rated.entries()) {
      const x = row(item);
      const residual = ratings[at] - this.effects[item];
      for (let j = 0; j < width; j += 1) {
        right[j] += (x[j] * residual) / this.levelNoise;
        for (let k = 0; k < width; k += 1) normal[j * width + k] += (x[j] * x[k]) / this.levelNoise;
      }
    }
    const vector = this.slopes.solved(normal, right);
    return (item) => row(item).reduce((all, own, k) => all + own * vector[k], 0);
  }

  /**
   * Σ_j w_j x_j over the neighbours of each target.
   *
   * With the neighbours N it is C_iN (C_NN + diag τ_N²)⁻¹ x_N; the part after C_iN is the same for all targets
   * if all own items are neighbours.
   * @param {number[]} rated
   * @param {number[]} residuals x
   * @param {ArrayLike<number>} targets
   */
  added(rated, residuals, targets) {
    const found = new Float64Array(targets.length);
    if (!rated.length) return found;
    const among = this.among(rated);
    if (this.k >= rated.length) {
      const weighed = solve(among, Float64Array.from(residuals), rated.length);
      for (let at = 0; at < targets.length; at += 1) {
        for (let place = 0; place < rated.length; place += 1) {
          found[at] += this.covariance.of(targets[at], rated[place]) * weighed[place];
        }
      }
      return found;
    }
    /** @type {Map<string, Float64Array>} */
    const solved = new Map(); // many targets have the same neighbours
    const order = ascending(rated);
    for (let at = 0; at < targets.length; at += 1) {
      const nearest = this.nearest(rated, order, targets[at]).sort();
      const key = String.fromCharCode(...nearest);
      let weighed = solved.get(key);
      if (!weighed) {
        weighed = Float64Array.from(nearest, (place) => residuals[place]);
        solve(part(among, rated.length, nearest), weighed, nearest.length);
        solved.set(key, weighed);
      }
      for (let own = 0; own < nearest.length; own += 1) {
        found[at] += this.covariance.of(targets[at], rated[nearest[own]]) * weighed[own];
      }
    }
    return found;
  }

  /**
   * C + diag τ² of the user's items.
   * @param {number[]} rated
   */
  among(rated) {
    const n = rated.length;
    const found = new Float64Array(n * n);
    for (let i = 0; i < n; i += 1) {
      for (let j = 0; j < n; j += 1) found[i * n + j] = this.covariance.of(rated[i], rated[j]);
      found[i * n + i] += this.noise[rated[i]];
    }
    return found;
  }

  /**
   * Places of the target's neighbours among the user's items; ties go to the earlier item of the catalogue.
   * @param {number[]} rated
   * @param {Uint32Array} order of their places, by position in the catalogue
   * @param {number} target
   */
  nearest(rated, order, target) {
    const similar = new Float64Array(order.length);
    for (let at = 0; at < order.length; at += 1) similar[at] = this.alike.of(target, rated[order[at]]);
    return largest(similar, Math.min(this.k, order.length)).map((at) => order[at]);
  }
}

/**
 * Places of items, in the order of their positions in the catalogue.
 * @param {number[]} rated
 */
function ascending(rated) {
  return Uint32Array.from(rated.keys()).sort((a, b) => rated[a] - rated[b]);
}

/**
 * Some rows and columns of a matrix.
 * @param {Float64Array} matrix shape (n, n)
 * @param {number} n
 * @param {Uint32Array} places
 */
function part(matrix, n, places) {
  const found = new Float64Array(places.length ** 2);
  for (let i = 0; i < places.length; i += 1) {
    for (let j = 0; j < places.length; j += 1) found[i * places.length + j] = matrix[places[i] * n + places[j]];
  }
  return found;
}

/**
 * A symmetric item × item matrix, stored as factors or as a packed upper triangle.
 * @param {Release} release
 * @param {Float32Array | undefined} factors
 * @param {Float32Array} packed
 * @returns {{of: (i: number, j: number) => number}}
 */
export function symmetric(release, factors, packed) {
  const n = release.items.length;
  if (!factors) {
    return {
      of(i, j) {
        const low = Math.min(i, j);
        return packed[low * n - (low * (low - 1)) / 2 + Math.max(i, j) - low];
      },
    };
  }
  const width = n ? factors.length / n : 0;
  return {
    of(i, j) {
      let sum = 0;
      for (let k = 0; k < width; k += 1) sum += factors[i * width + k] * factors[j * width + k];
      return sum;
    },
  };
}
