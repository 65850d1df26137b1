// The container of a release: a JSON header that says which tensor lies where, then their bytes.

import { LARGEST, parse } from "./untrusted_json.js";

const OTHERS = 2 ** 14; // characters outside quotes in a header: it describes a few tensors
const TYPES = { F32: Float32Array, I64: BigInt64Array, I32: Int32Array, U8: Uint8Array };

/** @typedef {Float32Array | BigInt64Array | Int32Array | Uint8Array} Values */
/** @typedef {{dtype: string, shape: number[], values: Values, bytes: Uint8Array}} Tensor */

/**
 * What a safetensors file holds. Tensors are views of its bytes where these are aligned, and copies elsewhere.
 * @param {Uint8Array} bytes
 * @returns {{metadata: Map<string, string>, tensors: () => Map<string, Tensor>}} `tensors` checks types, shapes
 *   and offsets: tensors fill the file without gaps or overlaps
 * @throws {Error} the header is not one
 */
export function contents(bytes) {
  const size = headerSize(bytes);
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes.subarray(8, 8 + size));
  const header = object(parse(text, { strings: 0, others: OTHERS }));
  const metadata = object(header.get("__metadata__"));
  for (const value of metadata.values()) if (typeof value !== "string") throw new TypeError("metadata are texts");
  header.delete("__metadata__");
  return { metadata, tensors: () => placed(header, bytes.subarray(8 + size)) };
}

/** @param {Uint8Array} bytes */
function headerSize(bytes) {
  if (bytes.length < 8) throw new RangeError("there is no header");
  const size = new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true);
  if (size > LARGEST || size > bytes.length - 8) throw new RangeError("the header is longer than it may be");
  return Number(size);
}

/**
 * @param {Map<string, any>} header
 * @param {Uint8Array} data
 */
function placed(header, data) {
  const found = [...header].map(([name, told]) => {
    const [dtype, shape, [start, end]] = ["dtype", "shape", "data_offsets"].map((field) => object(told).get(field));
    return { name, dtype, shape: shape.map(place), start: place(start), end: place(end), ends: told };
  });
  found.sort((a, b) => a.start - b.start || a.end - b.end);
  /** @type {Map<string, Tensor>} */
  const tensors = new Map();
  let filled = 0;
  for (const { name, dtype, shape, start, end, ends } of found) {
    if (!Object.hasOwn(TYPES, dtype)) throw new TypeError("a tensor has an unknown type");
    if (ends.get("data_offsets").length !== 2) throw new RangeError("a tensor has one start and one end");
    const Type = TYPES[/** @type {keyof typeof TYPES} */ (dtype)];
    if (start !== filled || end < start || end > data.length) throw new RangeError("a tensor is out of place");
    if (product(shape, data.length) * Type.BYTES_PER_ELEMENT !== end - start) throw new RangeError("a wrong size");
    const bytes = data.subarray(start, end);
    tensors.set(name, { dtype, shape, values: view(Type, bytes), bytes });
    filled = end;
  }
  if (filled !== data.length) throw new RangeError("the file holds more than its tensors");
  return tensors;
}

/**
 * @param {typeof TYPES[keyof typeof TYPES]} Type
 * @param {Uint8Array} bytes
 * @returns {Values}
 */
function view(Type, bytes) {
  const aligned = bytes.byteOffset % Type.BYTES_PER_ELEMENT ? new Uint8Array(bytes) : bytes;
  return new Type(/** @type {ArrayBuffer} */ (aligned.buffer), aligned.byteOffset, aligned.byteLength / Type.BYTES_PER_ELEMENT);
}

/**
 * How many values a shape has; what exceeds `most` is not told apart.
 * @param {number[]} shape
 * @param {number} most
 */
function product(shape, most) {
  return shape.includes(0) ? 0 : shape.reduce((all, size) => Math.min(all * size, most + 1), 1);
}

/** @param {unknown} value */
function place(value) {
  if (typeof value !== "bigint" || value < 0n || value > Number.MAX_SAFE_INTEGER) throw new RangeError("no size");
  return Number(value);
}

/** @param {unknown} value */
function object(value) {
  if (!(value instanceof Map)) throw new TypeError("an object is missing");
  return value;
}
