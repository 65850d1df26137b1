// JSON from files that others made, checked before it is parsed.
//
// Objects become maps, so that no field can touch a prototype. Integers become BigInt and other numbers Number,
// because the digest of a release tells 1 from 1.0, as the file does.

/** Largest metadata of a release in bytes: safetensors' header limit, about 5 million ids. */
export const LARGEST = 100_000_000;

const STRINGS = 2 ** 18; // in addition to one for every eight characters: there are few shorter ids
const OTHERS = 2 ** 20; // characters outside quotes, in addition to two for every string
const DEEPEST = 900;
const LONGEST_INTEGER = 4300; // digits
const BLANK = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
const WORDS = new Map(/** @type {[string, Json][]} */ ([["true", true], ["false", false], ["null", null]]));

/** @typedef {null | boolean | string | bigint | number | any[] | Map<string, any>} Json */

/**
 * The value of a JSON text, in memory bounded by a small multiple of the text's size.
 * @param {string} text
 * @param {{strings?: number, others?: number}} limits how many strings it may hold, in addition to one for
 *   every eight characters, and how many characters outside quotes, in addition to two for every string
 * @returns {Json}
 * @throws {SyntaxError} it is not JSON, is too large, repeats a field, or holds a number that is not finite
 */
export function parse(text, { strings = STRINGS, others = OTHERS } = {}) {
  count(text, strings, others);
  const parser = new Parser(text);
  const value = parser.value(0);
  parser.end();
  return value;
}

/**
 * The text that Python's `json.dumps(value, sort_keys=True)` writes.
 * @param {Json} value
 * @returns {string}
 */
export function dumps(value) {
  if (typeof value === "string") return quoted(value);
  if (typeof value === "number") return repr(value);
  if (Array.isArray(value)) return `[${value.map(dumps).join(", ")}]`;
  if (!(value instanceof Map)) return String(value);
  const fields = [...value].sort(([a], [b]) => byCodePoint(a, b));
  return `{${fields.map(([name, inside]) => `${quoted(name)}: ${dumps(inside)}`).join(", ")}}`;
}

/**
 * The value in JavaScript's own terms, frozen: objects without a prototype, and numbers.
 * @param {Json | undefined} value
 * @returns {any}
 */
export function plain(value) {
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return Object.freeze(value.map(plain));
  if (!(value instanceof Map)) return value;
  const found = Object.create(null);
  for (const [name, inside] of value) found[name] = plain(inside);
  return Object.freeze(found);
}

/**
 * A float as Python writes it: the fewest digits that are read as the same float.
 * @param {number} value finite
 */
export function repr(value) {
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const [mantissa, power] = Math.abs(value).toExponential().split("e");
  const digits = mantissa.replace(".", "");
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    const rest = digits.length > 1 ? `.${digits.slice(1)}` : "";
    return `${sign}${digits[0]}${rest}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${sign}${whole}.${digits.slice(exponent + 1) || "0"}`;
}

/**
 * Refuse a text that would take far more memory than its size.
 * @param {string} text
 * @param {number} strings
 * @param {number} others
 */
function count(text, strings, others) {
  const most = strings + Math.floor(text.length / 8);
  let found = 0;
  let outside = 0;
  let end = 0;
  for (let start = text.indexOf('"'); start >= 0; start = text.indexOf('"', end)) {
    found += 1;
    outside += start - end;
    end = closing(text, start) + 1;
    if (found > most || outside > others + 2 * found) throw new SyntaxError("more than facts hold");
  }
  if (outside + Math.max(text.length - end, 0) > others + 2 * found) throw new SyntaxError("more than facts hold");
}

/**
 * Where a string ends: the place of its closing quote, or the text's length without one.
 * @param {string} text
 * @param {number} start the place of its opening quote
 */
function closing(text, start) {
  for (let at = start + 1; ; at += 1) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return text.length;
    let slash = quote;
    while (text.charCodeAt(slash - 1) === 92 && slash - 1 > start) slash -= 1;
    if ((quote - slash) % 2 === 0) return quote;
    at = quote;
  }
}

/** @param {string} text */
function quoted(text) {
  return JSON.stringify(text).replace(/[\x7f-\uffff]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/**
 * @param {string} a
 * @param {string} b
 */
function byCodePoint(a, b) {
  const [left, right] = [[...a], [...b]];
  const at = left.findIndex((sign, place) => sign !== right[place]);
  if (at < 0) return left.length - right.length;
  return at < right.length ? Number(left[at].codePointAt(0)) - Number(right[at].codePointAt(0)) : 1;
}

/** Reads one value after another. */
class Parser {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  /**
   * @param {number} depth
   * @returns {Json}
   */
  value(depth) {
    this.blank();
    const sign = this.text[this.at];
    if (sign === '"') return this.string();
    if (sign === "[" || sign === "{") {
      if (depth >= DEEPEST) throw new SyntaxError("nested too deep");
      this.at += 1;
      return sign === "[" ? this.array(depth) : this.object(depth);
    }
    for (const [word, value] of WORDS) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    return this.number();
  }

  end() {
    this.blank();
    if (this.at < this.text.length) throw new SyntaxError("more than one value");
  }

  /** @param {number} depth */
  array(depth) {
    /** @type {Json[]} */
    const found = [];
    if (this.taken("]")) return found;
    do found.push(this.value(depth + 1));
    while (this.taken(","));
    this.expect("]");
    return found;
  }

  /** @param {number} depth */
  object(depth) {
    /** @type {Map<string, Json>} */
    const found = new Map();
    if (this.taken("}")) return found;
    do {
      this.blank();
      if (this.text[this.at] !== '"') throw new SyntaxError("a field needs a name");
      const name = this.string();
      if (found.has(name)) throw new SyntaxError("a field is repeated");
      this.expect(":");
      found.set(name, this.value(depth + 1));
    } while (this.taken(","));
    this.expect("}");
    return found;
  }

  /** @returns {string} */
  string() {
    const end = closing(this.text, this.at);
    const inside = this.text.slice(this.at + 1, end);
    const whole = this.text.slice(this.at, end + 1);
    this.at = end + 1;
    if (end >= this.text.length) throw new SyntaxError("a string does not end");
    return /[\x00-\x1f\\]/.test(inside) ? JSON.parse(whole) : inside;
  }

  number() {
    NUMBER.lastIndex = this.at;
    const found = NUMBER.exec(this.text);
    if (!found) throw new SyntaxError("not a value");
    const [digits, part, power] = found;
    this.at += digits.length;
    if (part === undefined && power === undefined) {
      if (digits.length > LONGEST_INTEGER) throw new SyntaxError("an integer is too long");
      return BigInt(digits);
    }
    const number = Number(digits);
    if (!Number.isFinite(number)) throw new SyntaxError("a number is not finite");
    return number;
  }

  blank() {
    BLANK.lastIndex = this.at;
    BLANK.exec(this.text);
    this.at = BLANK.lastIndex;
  }

  /** @param {string} sign */
  taken(sign) {
    this.blank();
    if (this.text[this.at] !== sign) return false;
    this.at += 1;
    return true;
  }

  /** @param {string} sign */
  expect(sign) {
    if (!this.taken(sign)) throw new SyntaxError(`${sign} is missing`);
  }
}
