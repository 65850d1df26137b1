// The container of a release: a JSON header that says which tensor lies where, then their bytes.

import { list, object, parse, text, whole } from "./untrusted_json.js";

/** Largest header in bytes: the limit of safetensors, about 5 million ids. */
const LARGEST = 100_000_000;
const WIDTH = 4; // bytes of a number, of either type
/** @type {Record<string, typeof Float32Array | typeof Int32Array>} */
const TYPES = { F32: Float32Array, I32: Int32Array };

/** @typedef {{shape: readonly number[], values: Float32Array | Int32Array}} Tensor */

/**
 * What a safetensors file holds; tensors are copies of its bytes.
 * @param {Uint8Array} bytes
 * @returns {{metadata: Record<string, any>, tensors: () => Map<string, Tensor>}} `tensors` checks types, shapes
 *   and offsets: tensors are F32 or I32 and fill the file without gaps or overlaps
 * @throws {Error} the header is not one
 */
export function contents(bytes) {
  const size = Number(new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true));
  if (size > LARGEST || size > bytes.length - 8) throw new RangeError("the header is longer than it may be");
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const { __metadata__: metadata, ...header } = object(parse(decoder.decode(bytes.subarray(8, 8 + size))));
  Object.values(object(metadata)).forEach(text);
  return { metadata, tensors: () => placed(header, bytes.subarray(8 + size)) };
}

/** @param {Record<string, any>} header @param {Uint8Array} data */
function placed(header, data) {
  const entries = Object.entries(header).map(([name, entry]) => {
    const { dtype } = object(entry);
    if (!Object.hasOwn(TYPES, dtype)) throw new TypeError("a tensor has an unknown type");
    const [start, end, ...more] = list(entry.data_offsets, whole);
    if (more.length) throw new RangeError("a tensor has one start and one end");
    return { name, type: TYPES[dtype], shape: list(entry.shape, whole), start, end };
  });
  entries.sort((a, b) => a.start - b.start || a.end - b.end);
  /** @type {Map<string, Tensor>} */
  const tensors = new Map();
  let filled = 0;
  for (const { name, type, shape, start, end } of entries) {
    if (start !== filled || end < start || end > data.length) throw new RangeError("a tensor is out of place");
    const size = shape.includes(0) ? 0 : shape.reduce((all, size) => all * size, WIDTH);
    if (size !== end - start) throw new RangeError("a tensor has another size");
    tensors.set(name, { shape, values: new type(new Uint8Array(data.subarray(start, end)).buffer) });
    filled = end;
  }
  if (filled !== data.length) throw new RangeError("the file holds more than its tensors");
  return tensors;
}
