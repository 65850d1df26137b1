// How many dimensions of taste a release holds: what makes one person's list differ from another's.

import { above } from "./figures.js";
import { Spectrum } from "./matrices.js";
import { Moments } from "./moments.js";

/** Least part of a dimension that everything in the catalogue together tells, for the dimension to count. */
const LEAST = 0.01;
/** Room for rounding where a bound decides in place of the eigenvalues. */
const SURE = 1 + 1e-6;

/** @typedef {import("./artefact.js").Release} Release */

/**
 * Number of directions in which the lists of two people can differ; 0 if everybody gets the same list.
 *
 * As in Python, `hushrec.release.contents.dimensions`, which says what counts. It takes all eigenvalues of a
 * matrix of rank × rank numbers: milliseconds at rank 64, half a minute at rank 2,048. `personal` is faster.
 * @param {Release} release
 * @returns {number}
 */
export function dimensions(release) {
  const { kind, tensors, constants } = release;
  if (kind === "item scores") return 0;
  if (kind === "people's rows") return lists(tensors.row_starts, tensors.row_items, release, constants.neighbours);
  if (kind === "dense neighbours") return tied(tensors.covariance, release.items.length, (value) => value !== 0);
  if (kind === "item neighbours") return tied(tensors.similarity, release.items.length, (value) => value > 0);
  const held = moments(release);
  const found = new Spectrum(held.matrix(), held.rank);
  if (kind !== "linear items") return found.atLeast(LEAST / (1 - LEAST));
  const largest = found.largest();
  return largest > 0 ? Math.max(found.atLeast(LEAST * largest) - 1, 0) : 0;
}

/**
 * Whether `dimensions` is above 0: bounds of the eigenvalues tell for nearly every release, and fast. Only what
 * they leave open is counted.
 * @param {Release} release
 * @returns {boolean}
 */
export function personal(release) {
  if (!("item_factors" in release.tensors)) return dimensions(release) > 0;
  const [first, second, most, rest] = moments(release).bounds();
  if (!most) return false;
  if (release.kind !== "linear items") {
    const least = LEAST / (1 - LEAST);
    if (first > least * SURE) return true;
    if (most * SURE < least) return false;
  } else {
    if (second > LEAST * most * SURE) return true;
    if (rest * SURE < LEAST * first) return false;
  }
  return dimensions(release) > 0;
}

/**
 * What is left of people's tastes, in plain words.
 * @param {Release} release
 * @returns {string}
 */
export function taste(release) {
  const known = release.constants.known_factors ?? 0;
  const found = release.dimensions;
  if (!(known > 0 && known < found)) return told(release, found, known);
  const more = Math.trunc(known);
  return `${told(release, found - more, 0)} ${more.toLocaleString("en")} more from what is publicly known of items.`;
}

/**
 * @param {Release} release
 * @param {number} found how many dimensions
 * @param {number} known how many of them are from public features of items
 */
function told(release, found, known) {
  const { config, model, statement } = release;
  const noisy = statement.measurements.length > 0;
  const learns = "rank" in config || "n_neighbours" in config;
  if (!found) {
    const same = "Lists are the same for everybody";
    if (!learns) return `${same}: ${model} learns no tastes.`;
    if (!noisy) return `${same}: no taste was found.`;
    return `${same}: no taste survived the noise at ε = ${above(statement.epsilon)}.`;
  }
  const counted = `${found.toLocaleString("en")} dimension${found > 1 ? "s" : ""} of taste`;
  if (known > 0 || !learns) return `${counted}, from what is publicly known of items.`;
  if (!noisy) return `${counted}, learned without noise.`;
  if (config.covariance?.cleaning === "weighted" || model === "PrivateEASE") return `${counted} survived the noise.`;
  return `${counted} at most, noise included: ${model} does not tell which of them are noise.`;
}

/** @param {Release} release whose items have factors */
function moments({ kind, rank, tensors }) {
  const { item_factors: factors, item_noise: noise, input_weights: inputs, output_weights: outputs } = tensors;
  const weight =
    kind === "linear items"
      ? (/** @type {number} */ item) => Math.abs(inputs[item] * outputs[item])
      : (/** @type {number} */ item) => 1 / noise[item];
  return new Moments(factors, rank, weight);
}

/**
 * People with ratings, or items with more raters than count, whichever are fewer.
 * @param {Float64Array} starts
 * @param {Int32Array} items
 * @param {Release} release
 * @param {number} most
 */
function lists(starts, items, release, most) {
  const raters = new Uint32Array(release.items.length);
  for (let i = 0; i < items.length; i += 1) raters[items[i]] += 1;
  let rows = 0;
  for (let i = 1; i < starts.length; i += 1) if (starts[i] > starts[i - 1]) rows += 1;
  return Math.min(rows, raters.reduce((count, own) => count + Number(own > most), 0));
}

/**
 * How many items are in a pair with another, from a packed upper triangle of pairs.
 * @param {Float32Array} pairs
 * @param {number} n
 * @param {(value: number) => boolean} holds
 */
function tied(pairs, n, holds) {
  const found = new Uint8Array(n);
  for (let item = 0, at = 0; item < n; item += 1) {
    at += 1; // the item with itself
    for (let other = item + 1; other < n; other += 1, at += 1) {
      if (holds(pairs[at])) found[item] = found[other] = 1;
    }
  }
  return found.reduce((count, one) => count + one, 0);
}
