// Lists of items: the best of many, how alike two items are, and how a list becomes a varied one.

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
