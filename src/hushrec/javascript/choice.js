// Which item a user chooses next: log n_i + 2 z_i/span, the model by which releases of ratings rank.
// `hushrec.release.predictors.choice` says why.

/** Logarithm of how much likelier a choice is if the rating is higher by the scale's width. */
const LIKING = 2;
/** How much lower a user would rate an item that they did not choose, in widths of the scale. */
export const ABSENCE = 0.5;

/** @typedef {import("./artefact.js").Release} Release */

/** Orders items by popularity and taste. */
export class Choice {
  /**
   * @param {Release} release of ratings
   * @param {ArrayLike<number>} popularity of each item, positive
   */
  constructor(release, popularity) {
    const [lo, hi] = release.requireScale();
    this.span = hi - lo;
    this.logs = Float64Array.from(popularity, Math.log);
  }

  /**
   * Logarithm of how likely a user chooses and likes each item, up to a constant.
   * @param {ArrayLike<number>} targets positions in the catalogue
   * @param {Float64Array} tastes what the user's taste adds to their rating of each; overwritten
   */
  of(targets, tastes) {
    for (let at = 0; at < tastes.length; at += 1) {
      tastes[at] = this.logs[targets[at]] + (LIKING / this.span) * tastes[at];
    }
    return tastes;
  }
}
