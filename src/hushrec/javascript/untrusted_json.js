// JSON from files that others made: it is measured before it is parsed, and each value is checked before it is used.

/**
 * The value of a JSON text. Brackets take a hundred times their size in memory, and facts hold few.
 * @param {string} text
 * @returns {any}
 */
export function parse(text) {
  let brackets = 0;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charCodeAt(at);
    if (sign === 0x5b || sign === 0x7b) brackets += 1;
  }
  if (brackets > 2 ** 16 + text.length / 16) throw new SyntaxError("more than facts hold");
  return JSON.parse(text);
}

/**
 * The value, if it is an object.
 * @param {any} value
 * @returns {Record<string, any>}
 */
export function object(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new TypeError("not an object");
  return value;
}

/**
 * What a list holds, each read by the same rule.
 * @template Entry
 * @param {unknown} value
 * @param {(entry: unknown) => Entry} read
 * @returns {readonly Entry[]}
 */
export function list(value, read) {
  if (!Array.isArray(value)) throw new TypeError("not a list");
  return Object.freeze(value.map((entry) => read(entry)));
}

/**
 * Named values, each read by the same rule.
 * @template Entry
 * @param {unknown} value
 * @param {(entry: any) => Entry} read
 * @returns {Readonly<Record<string, Entry>>}
 */
export function each(value, read) {
  const entries = Object.create(null);
  for (const [name, entry] of Object.entries(object(value))) entries[name] = read(entry);
  return Object.freeze(entries);
}

/** @param {unknown} value */
export function text(value) {
  if (typeof value !== "string") throw new TypeError("not a text");
  return value;
}

/** @param {unknown} value */
export function number(value) {
  if (typeof value !== "number" || !Number.isFinite(value)) throw new TypeError("not a number");
  return value;
}

/** @param {unknown} value */
export function whole(value) {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0) throw new TypeError("not a whole number");
  return value;
}

/**
 * A value of any form, frozen, its objects without a prototype.
 * @param {unknown} value
 * @returns {any}
 */
export function frozen(value) {
  if (value === null || typeof value !== "object") return value;
  return Array.isArray(value) ? list(value, frozen) : each(value, frozen);
}
