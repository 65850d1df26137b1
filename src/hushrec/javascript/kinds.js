// The kinds of predictor that JavaScript reads: which tensors and constants each holds, and in which ranges.

const I = ["items"];
/** @type {Record<string, number[]>} Further constants of factors, of which a release has all or none. */
export const SLOPES = { effect_slope: [1e-30, 1e30], popularity_slope: [1e-30, 1e30], slope_odds: [1e-30, 1e30] };

/** @typedef {{constants: Record<string, number[]>, tensors: Record<string, string[]>}} Kind */

/** @type {Record<string, Kind>} Constants with their smallest and largest values, and tensors with their dimensions. */
export const KINDS = {
  factors: {
    constants: { user_mean: [-1e30, 1e30], user_variance: [1e-30, 1e30] },
    tensors: { item_effects: I, item_noise: I, item_popularity: I, item_factors: [...I, "rank"] },
  },
  "linear items": {
    constants: {},
    tensors: { item_factors: [...I, "rank"], input_weights: I, output_weights: I, intercept: ["rank"], item_scores: I },
  },
  "item scores": { constants: {}, tensors: { item_scores: I } },
};

/** Further tensors of linear items if features explain a part of them, which no score needs. */
export const VALUES = {
  value_factors: ["values", "rank"], value_counts: ["values"], value_direction: ["rank"],
  value_starts: ["ends of items"], value_columns: ["entries"], value_weights: ["entries"],
};

/** Tensors of whole numbers; all others are of floats. */
export const WHOLE = new Set(["value_starts", "value_columns"]);

/** Tensors of positive numbers: variances of ratings, and how often each item is chosen and liked. */
export const POSITIVE = new Set(["item_noise", "item_popularity"]);

/**
 * Predicts a user's ratings of some items from their ratings of others, or ranks by their interactions.
 *
 * `own` maps positions of the user's items to their ratings (of interactions, to their weights), and `targets` are
 * positions of items.
 * @typedef {object} Predictor
 * @property {(own: Map<number, number>, targets: ArrayLike<number>) => Float64Array} [predict] ratings of `targets`,
 *   not clamped to the scale; missing where only lists are made
 * @property {(own: Map<number, number>, targets: ArrayLike<number>) => Float64Array} scores by which lists of `targets`,
 *   none of which is an own item, are ordered
 * @property {(own: Map<number, number>, target: number) => Float64Array} contributions what each of the user's items
 *   adds to the prediction of `target`; refused if it is not a sum over these
 */
