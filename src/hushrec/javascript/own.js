// What a user gives: own ratings, counts, or ids of items.

import { ReleaseError } from "./errors.js";

/** @typedef {import("./release.js").Release} Release */
/** @typedef {Map<string, number> | Record<string, number> | Iterable<string>} Own */

/**
 * Position → rating, or how often it was given, of all items of the catalogue that the user gave.
 * @param {Release} release
 * @param {Map<string, number>} positions of the release's items
 * @param {Own | null | undefined} own
 * @returns {Map<number, number>}
 * @throws {ReleaseError} it is not what this release takes
 */
export function given(release, positions, own) {
  if (own === null || own === undefined) {
    throw new ReleaseError("give own ratings, {} if there are none, or user, the id of a listed user");
  }
  const [lo, hi] = release.bounds;
  const found = new Map();
  for (const [item, rating] of numbers(release, own)) {
    if (typeof rating !== "number") {
      throw new ReleaseError("own ratings must map item ids to numbers, as in {'Alien': 5}");
    }
    const position = positions.get(normal(item));
    if (position === undefined || !Number.isFinite(rating)) continue;
    const value = release.counts === null ? rating : Math.floor(rating + 0.5); // as in loading
    if (release.counts !== null && value < 1) continue;
    found.set(position, clamped(value, lo, hi));
  }
  return found;
}

/**
 * What a predictor uses of it: ratings, or of interactions how often each was given.
 * @param {Release} release
 * @param {Map<number, number>} own
 */
export function used({ likes, scale }, own) {
  if (likes === null || !scale) return own;
  const least = likes - scale[2] / 2; // loading rounds to the nearest rating as well
  return new Map([...own].filter(([, rating]) => rating >= least).map(([position]) => [position, 1]));
}

/**
 * An id in the form that domains use: Unicode normal form C.
 * @param {unknown} name
 */
export function normal(name) {
  return String(name).normalize("NFC");
}

/**
 * @param {number} value
 * @param {number} lo
 * @param {number} hi
 */
export function clamped(value, lo, hi) {
  return Math.min(Math.max(value, lo), hi);
}

/**
 * Ratings or counts by item id; an id alone is a like, or was given once.
 * @param {Release} release
 * @param {Own} own
 * @returns {Iterable<[string, unknown]>}
 */
function numbers({ scale, counts, feedback, bounds }, own) {
  const ids = typeof own !== "string" && !(own instanceof Map) && Symbol.iterator in Object(own);
  if (!ids && typeof own === "object") {
    if (!scale && counts === null) {
      throw new ReleaseError("this release takes item ids without numbers, as in ['Alien', 'Heat']");
    }
    return own instanceof Map ? own : /** @type {[string, unknown][]} */ (Object.entries(own));
  }
  if (feedback === "ratings" || !ids) {
    const example = feedback === "ratings" ? "{'Alien': 5}" : "['Alien', 'Heat']";
    throw new ReleaseError(`this release is of ${feedback}: give your own as in ${example}`);
  }
  const times = new Map();
  for (const name of /** @type {Iterable<string>} */ (own)) {
    const id = normal(name);
    times.set(id, counts === null ? bounds[1] : (times.get(id) ?? 0) + 1);
  }
  return times;
}
