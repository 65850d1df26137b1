// Items by what people call them: an id, or a title as it is remembered.

import { BLANK } from "./escapes.js";

const YEAR = new RegExp(`${BLANK}*\\((\\p{Nd}{4})(?:[-–/]\\p{Nd}{0,4})?\\)${BLANK}*$`, "u");
const ENDS = new RegExp(`^${BLANK}+|${BLANK}+$`, "gu");
const ARTICLES = new Set(
  (
    "the a an le la les l' un une der die das ein eine el los las il lo gli i o os as de het den det en ett"
  ).split(" "),
);
const LEADING = /^(?:the|a|an) (?=.)/u;
// Letters that no accent marks, as keyboards without them write them.
/** @type {Record<string, string>} */
const LETTERS = { ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", ð: "d", þ: "th", ı: "i" };

/** Finds items by title, whatever its case, accents, punctuation, place of the article or year. */
export class Titles {
  /**
   * @param {readonly string[]} items the ids of a catalogue
   * @param {readonly string[]} titles their titles, or "" where an item has none; or nothing
   */
  constructor(items, titles) {
    this.names = items.map((item, at) => titles[at] || item);
    /** @type {{keys: string[][], years: string[], byKey: Map<string, number[]>} | null} */
    this.indexed = null;
  }

  /**
   * Positions of the items that a text may mean, in the catalogue's order.
   *
   * Those whose title is the text, and its year if it has one; or else those whose title is the text apart from a
   * leading article; or else those whose title begins with it; or else those with all its words.
   * @param {string} text
   * @returns {number[]}
   */
  find(text) {
    const forms = keysOf(text);
    if (!forms.length) return [];
    const named = this.named(text);
    if (named.length) return named;
    const { keys } = (this.indexed ??= this.index());
    const [key, words] = [bare(forms[0]), bare(forms[0]).split(" ")];
    const those = (/** @type {(form: string) => boolean} */ test) => {
      return [...keys.keys()].filter((at) => keys[at].some(test));
    };
    const began = those((form) => bare(form).startsWith(key));
    if (began.length) return began;
    return those((form) => {
      const has = new Set(form.split(" "));
      return words.every((word) => has.has(word));
    });
  }

  /**
   * Positions of the items whose title is the text, as in `find`, and no others.
   * @param {string} text
   * @returns {number[]}
   */
  named(text) {
    const [year, forms] = [yearOf(text), keysOf(text)];
    const { years, byKey } = (this.indexed ??= this.index());
    for (const fold of [(/** @type {string} */ key) => key, bare]) {
      let positions = [...new Set(forms.flatMap((key) => byKey.get(fold(key)) ?? []))];
      if (year && positions.some((at) => years[at] === year)) positions = positions.filter((at) => years[at] === year);
      if (positions.length) return positions.sort((a, b) => a - b);
    }
    return [];
  }

  index() {
    const keys = this.names.map(keysOf);
    /** @type {Map<string, number[]>} */
    const byKey = new Map();
    for (const [at, forms] of keys.entries()) {
      for (const key of new Set(forms.flatMap((whole) => [whole, bare(whole)]))) {
        const positions = byKey.get(key);
        if (positions) positions.push(at);
        else byKey.set(key, [at]);
      }
    }
    return { keys, years: this.names.map(yearOf), byKey };
  }
}

/** @param {string} title */
function yearOf(title) {
  return YEAR.exec(title)?.[1] ?? "";
}

/**
 * The forms of a title without its year, the whole one first; parts in brackets are titles as well.
 * @param {string} title
 */
function keysOf(title) {
  const whole = title.replace(YEAR, "") || title;
  return [...new Set([whole, ...whole.split(/[()]/)].map(keyOf).filter(Boolean))];
}

/**
 * Letters folded, words separated by single blanks, an article at the end put first.
 * @param {string} title
 */
function keyOf(title) {
  let plain = folded(title.replace(ENDS, "").replace(/^a\.k\.a\. /, ""));
  const comma = plain.lastIndexOf(",");
  const last = plain.slice(comma + 1).replace(ENDS, "");
  if (comma >= 0 && ARTICLES.has(last)) plain = `${last} ${plain.slice(0, comma)}`;
  plain = plain.replace(/['’`´.*]/g, "").replaceAll("&", " and ");
  return plain.match(/[\p{L}\p{N}]+/gu)?.join(" ") || title.replace(ENDS, "");
}

/**
 * Case, accents and letters of few alphabets folded.
 * @param {string} title
 */
export function folded(title) {
  if (/^[ -~]*$/.test(title)) return title.toLowerCase();
  const folds = [...title].map((sign) => sign.toUpperCase().toLowerCase()).join("");
  const plain = [...folds.normalize("NFKD")].filter((sign) => !combines(sign));
  return plain.map((sign) => LETTERS[sign] ?? sign).join("");
}

/**
 * Whether a sign has a combining class: marks of another class change places with it.
 * @param {string} sign
 */
function combines(sign) {
  if (!/\p{M}/u.test(sign)) return false;
  return ["\u0334", "\u0345"].some((mark) => {
    return (sign + mark).normalize("NFD") !== sign + mark || (mark + sign).normalize("NFD") !== mark + sign;
  });
}

/**
 * Without an English article at its beginning.
 * @param {string} key
 */
function bare(key) {
  return key.replace(LEADING, "");
}
