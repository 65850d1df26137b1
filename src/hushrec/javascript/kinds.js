// The kinds of predictor that JavaScript reads: which tensors and constants each holds, and in which ranges.

const I = ["items"];
const FACTORS = { user_mean: [-1e30, 1e30], user_variance: [1e-30, 1e30] };
/** @type {Record<string, number[]>} */
const SLOPES = { effect_slope: [1e-30, 1e30], popularity_slope: [1e-30, 1e30], slope_odds: [1e-30, 1e30] };

/** @typedef {{constants: Record<string, number[]>, tensors: Record<string, string[]>}} Kind */

/**
 * Kind of predictor → the constants that it needs, each with its smallest and largest value, and its tensors
 * with their dimensions.
 * @type {Record<string, Kind>}
 */
const ALL = {
  factors: {
    constants: FACTORS,
    tensors: { item_effects: I, item_noise: I, item_popularity: I, item_factors: [...I, "rank"] },
  },
  "linear items": {
    constants: {},
    tensors: {
      item_factors: [...I, "rank"],
      input_weights: I,
      output_weights: I,
      intercept: ["rank"],
      item_scores: I,
    },
  },
  "item scores": { constants: {}, tensors: { item_scores: I } },
};
export const KINDS = new Map(Object.entries(ALL));

/** Further tensors of linear items if features explain a part of them, which no score needs. */
export const VALUES = {
  value_factors: ["values", "rank"],
  value_counts: ["values"],
  value_direction: ["rank"],
  value_starts: ["ends of items"],
  value_columns: ["entries"],
  value_weights: ["entries"],
};

/** Tensors of whole numbers; all others are of floats. */
export const WHOLE = new Set(["value_starts", "value_columns"]);

/**
 * Constants that a release needs, each with its smallest and largest value: those of its kind, and the prior of
 * slopes if it has any part of that.
 * @param {Kind} kind
 * @param {Record<string, number>} constants of the release
 * @returns {Record<string, number[]>}
 */
export function ranges(kind, constants) {
  const sloped = "user_variance" in kind.constants && Object.keys(SLOPES).some((name) => name in constants);
  return sloped ? { ...kind.constants, ...SLOPES } : kind.constants;
}

/** Tensors of positive numbers: variances of ratings, and how often each item is chosen and liked. */
export const POSITIVE = new Set(["item_noise", "item_popularity"]);
