// The kinds of predictor: which tensors and constants a release of each holds, and in which ranges.

const LARGEST_COUNT = 10 ** 6;

/** Distance between users: ‖a − b‖², 1 − cos(a, b), or the latter after centring; constant `distance`. */
export const DISTANCES = ["squared", "cosine", "pearson"];

const FACTORS = { user_mean: [-1e30, 1e30], user_variance: [1e-30, 1e30] };
const NEIGHBOURS = { ...FACTORS, bias_noise: [1e-30, 1e30], neighbours: [1, 1000] };
/** @type {Record<string, number[]>} */
const SLOPES = { effect_slope: [1e-30, 1e30], popularity_slope: [1e-30, 1e30], slope_odds: [1e-30, 1e30] };
const COUNT = { neighbours: [1, LARGEST_COUNT] };
const EFFECTS = { item_effects: ["items"], item_noise: ["items"], item_popularity: ["items"] };

/** @typedef {{constants: Record<string, number[]>, tensors: Record<string, string[]>}} Kind */

/** @type {[string, Kind][]} */
const ALL = [
  ["factors", { constants: FACTORS, tensors: { ...EFFECTS, item_factors: ["items", "rank"] } }],
  [
    "factors and people",
    {
      constants: FACTORS,
      tensors: {
        ...EFFECTS,
        item_factors: ["items", "rank"],
        user_effects: ["people"],
        user_factors: ["people", "rank"],
      },
    },
  ],
  [
    "neighbours",
    {
      constants: NEIGHBOURS,
      tensors: { ...EFFECTS, item_factors: ["items", "rank"], similarity_factors: ["items", "similarity rank"] },
    },
  ],
  [
    "dense neighbours",
    { constants: NEIGHBOURS, tensors: { ...EFFECTS, covariance: ["pairs"], similarity: ["pairs"] } },
  ],
  [
    "people's rows",
    {
      constants: { ...COUNT, distance: [0, DISTANCES.length - 1] },
      tensors: { row_starts: ["starts"], row_items: ["ratings"], row_steps: ["ratings"] },
    },
  ],
  [
    "item neighbours",
    { constants: COUNT, tensors: { item_means: ["items"], item_popularity: ["items"], similarity: ["pairs"] } },
  ],
  ["item scores", { constants: {}, tensors: { item_scores: ["items"] } }],
  [
    "linear items",
    {
      constants: {},
      tensors: {
        item_factors: ["items", "rank"],
        input_weights: ["items"],
        output_weights: ["items"],
        item_scores: ["items"],
      },
    },
  ],
];

/**
 * Kind of predictor → the constants that it needs, each with its smallest and largest value, and its tensors
 * with their dimensions; `pairs` is a packed upper triangle.
 */
export const KINDS = new Map(ALL);

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

/** Kinds of predictor that rank items by interactions; all others predict ratings. */
export const RANKERS = new Set(["item scores", "linear items"]);

/** Types of the tensors that are not F32. They are a CSR matrix of ratings, in steps above lo. */
export const DTYPES = new Map([["row_starts", "I64"], ["row_items", "I32"], ["row_steps", "U8"]]);
