// What a user gives: own ratings, counts, or ids of items.

import { demand, ReleaseError } from "./errors.js";

/** @typedef {import("./artefact.js").Release} Release */
/** @typedef {Map<string, number> | Record<string, number> | Iterable<string>} Own */
/** @typedef {{readonly ignored: readonly string[]}} Ignored */
/** @typedef {number | string | Date} Time */
/** @typedef {{times?: Map<string, Time> | Record<string, Time> | null, recency?: boolean}} Order */

const MIDDLE = 0.5; // weight of an item with stars of the middle, where a like has 1

/**
 * Position → rating, or how often it was given, of the items of the catalogue that the user gave; and ids not used.
 * @param {Release} release
 * @param {Map<string, number>} positions of the release's items
 * @param {Own | null | undefined} own
 * @returns {{values: Map<number, number>, ignored: string[]}}
 * @throws {ReleaseError} it is not what this release takes, or the catalogue has nothing of it
 */
export function ownValues(release, positions, own) {
  demand(own !== null && own !== undefined, "give own ratings, or {} if there are none");
  const [lo, hi] = release.bounds;
  const values = new Map();
  /** @type {string[]} */
  const ignored = [];
  let [some, anyKnown] = [false, false];
  for (const [item, rating] of numbers(release, own)) {
    demand(typeof rating === "number", "own ratings must map item ids to numbers, as in {'Alien': 5}");
    const name = normal(item);
    const position = positions.get(name);
    some = true;
    anyKnown ||= position !== undefined;
    const value = release.counts === null ? rating : Math.floor(rating + 0.5); // as in loading
    if (position === undefined || !Number.isFinite(value) || (release.counts !== null && value < 1)) ignored.push(name);
    else values.set(position, clamped(value, lo, hi));
  }
  demand(
    anyKnown || !some,
    "nothing of what was given is in this release's catalogue; give ids as the catalogue has them, with their " +
      "leading zeros, or give nothing to list what is popular",
  );
  return { values, ignored };
}

/**
 * @template {object} Answer
 * @param {Answer} answer
 * @param {readonly string[]} ignored ids that were given and not used
 * @returns {Answer & Ignored} the same object
 */
export function withIgnored(answer, ignored) {
  return /** @type {Answer & Ignored} */ (Object.defineProperty(answer, "ignored", { value: Object.freeze([...ignored]) }));
}

/**
 * What a predictor ranks by: ratings, or of interactions the weight of each item, as in `hushrec.release.own_items`.
 * @param {Release} release
 * @param {Map<number, number>} values as of `ownValues`
 * @param {Map<number | undefined, Time> | null} times as of `timesOf`
 */
export function used({ likes, scale, feedback }, values, times) {
  if (feedback === "ratings") return values;
  const [lo, hi, step] = scale ?? [0, 0, 0];
  const least = (likes ?? 0) - step / 2; // loading rounds to the nearest rating as well
  const items = [...values].map(([item, rating]) => ({
    item, time: /** @type {Time} */ (times?.get(item)), weight: rating >= least ? 1 : rating >= (lo + hi) / 2 ? MIDDLE : 0,
  })).filter(({ weight }) => weight);
  const latest = items.map(({ time }) => time).sort((a, b) => (a < b ? 1 : a > b ? -1 : 0)); // those without one last
  return new Map(items.map(({ item, time, weight }) => [item, weight / Math.sqrt(1 + latest.indexOf(time))]));
}

/**
 * Position → when the user gave it, larger is later; null where neither times nor an array tell the order.
 * @param {Map<string, number>} positions of the release's items
 * @param {Own} own
 * @param {Map<number, number>} values as of `ownValues`
 * @param {Order} order
 * @returns {Map<number | undefined, Time> | null}
 * @throws {ReleaseError} times are of several kinds
 */
export function timesOf(positions, own, values, { times = null, recency = true }) {
  if (!recency || (times === null && !Array.isArray(own))) return null;
  if (times === null) return new Map([...values.keys()].map((item, at) => [item, at]));
  const given = [...(times instanceof Map ? times : Object.entries(times))].filter(([, time]) => !Number.isNaN(time.valueOf()));
  const alike = new Set(given.map(([, time]) => typeof time)).size < 2;
  demand(alike, "times must be all numbers, all dates, or all texts of ISO 8601");
  return new Map(given.map(([name, time]) => [positions.get(normal(name)), time.valueOf()]));
}

/**
 * An id in the form that domains use: Unicode normal form C.
 * @param {unknown} name
 * @throws {ReleaseError} it is not a text
 */
export function normal(name) {
  if (typeof name === "string") return name.normalize("NFC");
  const fix = "give String(id), with the leading zeros that it has in the catalogue";
  throw new ReleaseError(`ids are texts, and this one is of type ${typeof name}: ${fix}`);
}

/** @param {number} value @param {number} lo @param {number} hi */
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
    demand(scale !== null || counts !== null, "this release takes item ids without numbers, as in ['Alien', 'Heat']");
    return own instanceof Map ? own : /** @type {[string, unknown][]} */ (Object.entries(own));
  }
  if (feedback === "ratings" || !ids) {
    const example = feedback === "ratings" ? "{'Alien': 5}" : "['Alien', 'Heat']";
    throw new ReleaseError(`this release is of ${feedback}: give your own as in ${example}`);
  }
  const times = new Map();
  for (const name of /** @type {Iterable<string>} */ (own)) {
    const id = normal(name);
    const before = times.get(id) ?? 0;
    times.delete(id); // in the order in which they were given last
    times.set(id, counts === null ? bounds[1] : before + 1);
  }
  return times;
}
