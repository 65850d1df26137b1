// Items by what people call them: an id, or a title as it is typed.

const MARKS = /\p{M}/gu;
const SIGNS = /[^\p{L}\p{N}]+/gu;
const SPECIAL = /[æœøłđðþıς]/g;
/** @type {Record<string, string>} Letters that no accent marks, as keyboards without them write them. */
const LETTERS = { æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", ð: "d", þ: "th", ı: "i", ς: "σ" };

/**
 * A text without case, accents and punctuation: words of letters and digits, with single blanks; if it has none, as it is.
 * @param {string} text
 */
export function folded(text) {
  const plain = text.toUpperCase().toLowerCase().normalize("NFKD").replace(MARKS, ""); // ß is SS in capitals
  return plain.replace(SPECIAL, (letter) => LETTERS[letter]).replace(SIGNS, " ").trim() || text.trim();
}

/**
 * A search of titles: places of those that are a text, or else of those that have it from the beginning of a word on.
 * @param {readonly string[]} titles
 * @returns {(text: string) => number[]}
 */
export function titleSearch(titles) {
  /** @type {string[] | null} */
  let plain = null;
  return (text) => {
    const sought = ` ${folded(text)}`;
    const all = (plain ??= titles.map((title) => ` ${folded(title)}`));
    const those = (/** @type {(title: string) => boolean} */ test) => [...all.keys()].filter((at) => test(all[at]));
    const named = those((title) => title === sought);
    return named.length || sought === " " ? named : those((title) => title.includes(sought));
  };
}
