// The best of many scores, and the inner products that scores are made of.

const FEW = 256; // places that are kept in order while going through all scores

/**
 * Places of the `n` largest scores, largest first; ties go to the earlier.
 * @param {Float64Array} scores
 * @param {number} n
 * @returns {Uint32Array}
 */
export function largest(scores, n) {
  const keys = scores.map((score) => (Number.isNaN(score) ? -Infinity : score));
  if (n > FEW) {
    const all = Uint32Array.from(keys.keys());
    return all.sort((a, b) => keys[b] - keys[a] || a - b).subarray(0, n);
  }
  const [places, kept] = [new Uint32Array(n), new Float64Array(n)];
  let [count, least] = [0, -Infinity];
  for (let at = 0; at < keys.length; at += 1) {
    const score = keys[at];
    if (count === n && score <= least) continue;
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
 * A number for each of some items.
 * @param {ArrayLike<number>} items positions
 * @param {(item: number) => number} score
 */
export function scored(items, score) {
  const scores = new Float64Array(items.length);
  for (let at = 0; at < items.length; at += 1) scores[at] = score(items[at]);
  return scores;
}
