// Whether lists are personal: the bounds beside the count, near the limits, and at the largest rank in time.

import assert from "node:assert/strict";
import { test } from "node:test";

import { dimensions, personal } from "../../src/hushrec/javascript/dimensions.js";

/** A release whose matrix has these eigenvalues, turned by a reflection so that no factor lies on an axis. */
function release(kind, eigenvalues, rank = eigenvalues.length) {
  const factors = new Float32Array(rank * rank);
  eigenvalues.forEach((value, i) => {
    for (let k = 0; k < rank; k += 1) factors[i * rank + k] = Math.sqrt(value) * ((i === k ? 1 : 0) - 2 / rank);
  });
  const one = new Float32Array(rank).fill(1);
  const tensors = { item_factors: factors, item_noise: one, input_weights: one, output_weights: one };
  return { kind, rank, tensors, items: [], constants: {} };
}

for (const kind of ["factors", "linear items"]) {
  for (const size of [1e-30, 1e-3, 0.0099 / 0.99, 0.0101 / 0.99, 1, 1e12]) {
    for (const others of [[], [0], [1e-5], [0.0099], [0.0101], [0.5], [1], [0.009, 0.009, 0.009, 0.009], Array(30).fill(1)]) {
      test(`as the count: ${kind}, ${size} × [1, ${others}]`, () => {
        const made = release(kind, [size, ...others.map((part) => part * size)]);
        assert.equal(personal(made), dimensions(made) > 0);
      });
    }
  }

  test(`nothing is nobody's: ${kind}`, () => {
    assert.equal(personal(release(kind, [], 3)), false);
    assert.equal(personal(release(kind, [], 0)), false);
  });

  test(`the largest rank takes no eigenvalues: ${kind}`, () => {
    const rank = 2048;
    const made = release(kind, [], rank);
    made.tensors.item_factors.forEach((_, at, all) => (all[at] = Math.sin(at * at)));
    const before = process.cpuUsage().user;
    assert.equal(personal(made), true);
    assert.ok(process.cpuUsage().user - before < 5e6); // all eigenvalues take 20 s and more
  });
}
