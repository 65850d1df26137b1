// Lists of items: the best of many, how alike two items are, and how a list becomes a varied one.

/** Candidates for each place of a varied list. */
export const POOL = 10;

const FEW = 256; // places that are kept in order while going through all scores

/**
 * Places of the `n` largest scores, largest first; ties go to the earlier.
 * @param {Float64Array} scores
 * @param {number} n
 * @returns {Uint32Array}
 */
export function largest(scores, n) {
  if (n > FEW) {
    const all = Uint32Array.from(scores.keys());
    return all.sort((a, b) => key(scores[b]) - key(scores[a]) || a - b).subarray(0, n);
  }
  const [places, kept] = [new Uint32Array(n), new Float64Array(n)];
  let [count, least] = [0, -Infinity];
  for (let at = 0; at < scores.length; at += 1) {
    if (count === n && !(scores[at] > least)) continue;
    const score = key(scores[at]);
    let place = count < n ? count++ : n - 1;
    for (; place > 0 && kept[place - 1] < score; place -= 1) {
      kept[place] = kept[place - 1];
      places[place] = places[place - 1];
    }
    kept[place] = score;
    places[place] = at;
    least = kept[n - 1];
  }
  return places.subarray(0, count);
}

/**
 * The cosine of an inner product; 0 where a length is 0, at most 1 where noise exceeds it.
 * @param {number} product
 * @param {number} length
 * @param {number} other
 */
export function cosine(product, length, other) {
  const bound = length * other;
  return bound > 0 ? Math.min(Math.max(product / bound, -1), 1) : 0;
}

/**
 * Cosines of an item's row and those of others, times the weights of both.
 * @param {(item: number) => ArrayLike<number>} row
 * @param {(item: number) => number} weight
 * @param {number} item
 * @param {ArrayLike<number>} others
 * @returns {Float64Array}
 */
export function weighedCosines(row, weight, item, others) {
  const length = (/** @type {number} */ at) => Math.sqrt(dot(row(at), row(at)));
  const [own, ownLength] = [row(item), length(item)];
  return scored(others, (other) => {
    return cosine(dot(own, row(other)), ownLength, length(other)) * (weight(item) * weight(other));
  });
}

/**
 * Why there are no similar items.
 * @param {import("./artefact.js").Release} release
 */
export function unlike(release) {
  return `this release does not tell which items are alike: ${release.said.why_same}; use one that holds people's tastes`;
}

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
export function dot(a, b) {
  return rowDot(a, 0, b);
}

/**
 * Inner product of a vector and a row of a matrix.
 * @param {ArrayLike<number>} matrix row by row, each as long as the vector
 * @param {number} row
 * @param {ArrayLike<number>} vector
 */
export function rowDot(matrix, row, vector) {
  const start = row * vector.length;
  let sum = 0;
  for (let k = 0; k < vector.length; k += 1) sum += matrix[start + k] * vector[k];
  return sum;
}

/**
 * Choose candidates by maximal marginal relevance (Carbonell & Goldstein 1998, §2), as in Python.
 * @param {Float64Array} scores of the candidates, descending
 * @param {Float64Array[]} similarity how alike they are; a row for each
 * @param {number} n number to choose
 * @param {number} diversity from 0 to 1
 * @returns {number[]} places of the chosen among the candidates, in the order of choice
 */
export function diversified(scores, similarity, n, diversity) {
  if (!scores.length || n < 1) return [];
  const last = scores[scores.length - 1];
  const width = scores[0] - last;
  const lengths = similarity.map((row, at) => Math.sqrt(Math.max(row[at], 0)));
  const closest = new Float64Array(scores.length);
  const chosen = [0];
  const left = new Uint8Array(scores.length).fill(1);
  while (chosen.length < Math.min(n, scores.length)) {
    const newest = chosen[chosen.length - 1];
    left[newest] = 0;
    let [best, most] = [-1, -Infinity];
    for (let at = 0; at < scores.length; at += 1) {
      closest[at] = Math.max(closest[at], cosine(similarity[newest][at], lengths[newest], lengths[at]));
      const relevance = width > 0 ? (scores[at] - last) / width : 0;
      const marginal = (1 - diversity) * relevance - diversity * closest[at];
      if (left[at] && marginal > most) [best, most] = [at, marginal];
    }
    chosen.push(best < 0 ? left.indexOf(1) : best);
  }
  return chosen;
}

/** @param {number} score */
function key(score) {
  return Number.isNaN(score) ? -Infinity : score;
}

/**
 * A number for each of some items.
 * @param {ArrayLike<number>} items positions
 * @param {(item: number) => number} score
 */
export function scored(items, score) {
  const scores = new Float64Array(items.length);
  for (let at = 0; at < items.length; at += 1) scores[at] = score(items[at]);
  return scores;
}
