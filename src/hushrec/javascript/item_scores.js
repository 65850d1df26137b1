// Scores that do not depend on who asks.

import { ReleaseError } from "./errors.js";

/** @typedef {import("./artefact.js").Release} Release */

/** The same scores for everybody, such as popularity: a user's own items leave the list, and no more. */
export class ItemScores {
  /** @param {Release} release of kind "item scores" */
  constructor(release) {
    this.release = release;
    this.values = release.tensors.item_scores;
  }

  /**
   * Scores of `targets`.
   * @param {number[]} rated
   * @param {number[]} ratings
   * @param {ArrayLike<number>} targets
   * @returns {Float64Array}
   */
  scores(rated, ratings, targets) {
    return Float64Array.from(targets, (item) => this.values[item]);
  }

  /**
   * Refused: a user's items change nothing.
   * @returns {Float64Array}
   */
  contributions() {
    throw new ReleaseError("this release gives everybody the same scores; no item of yours changes them");
  }

  /**
   * Refused: scores say nothing about pairs of items.
   * @returns {Float64Array}
   */
  similarity() {
    throw new ReleaseError(unlike(this.release));
  }
}

/**
 * Why there are no similar items.
 * @param {Release} release
 */
export function unlike(release) {
  return `this release does not tell which items are alike: ${release.said.why_same}; use one that holds people's tastes`;
}
