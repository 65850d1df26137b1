// Items by what people call them: an id, or a title as it is typed.

const MARKS = /\p{M}/gu;
const SIGNS = /[^\p{L}\p{N}]+/gu;
const SPECIAL = /[æœøłđðþıς]/g;
/** @type {Record<string, string>} Letters that no accent marks, as keyboards without them write them. */
const LETTERS = { æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", ð: "d", þ: "th", ı: "i", ς: "σ" };

/**
 * A text without case, accents and punctuation: words of letters and digits, with single blanks.
 * @param {string} text
 */
export function folded(text) {
  const plain = text.toUpperCase().toLowerCase().normalize("NFKD").replace(MARKS, ""); // ß is SS in capitals
  return plain.replace(SPECIAL, (letter) => LETTERS[letter]).replace(SIGNS, " ").trim();
}

/** Finds items by title, whatever its case, accents and punctuation. */
export class Titles {
  /** @param {readonly string[]} titles of the items of a catalogue, in its order */
  constructor(titles) {
    this.titles = titles;
    /** @type {string[] | null} */
    this.folded = null;
  }

  /**
   * Places of the items whose title is the text, or else of those that have it from the beginning of a word on.
   * @param {string} text
   * @returns {number[]}
   */
  find(text) {
    const sought = folded(text);
    if (!sought) return [];
    const all = (this.folded ??= this.titles.map(folded));
    const named = [...all.keys()].filter((at) => all[at] === sought);
    return named.length ? named : [...all.keys()].filter((at) => ` ${all[at]}`.includes(` ${sought}`));
  }
}
