import { folded as fold } from "./client/titles.js";
import { element, titled } from "./element.js";

const SIGNS = /[^\p{L}\p{N}]+/gu;
const MARKS = /\p{M}/gu;
const SPELLED = 5;

/** What is known of each item: title, year, genres and picture; and a search of them. */
export class Titles {
  #places;
  #columns;
  #folded;
  #order;
  #abouts;
  #words;

  /**
   * @param {string[]} items ids.
   * @param {{titles?: string[], years?: string[], genres?: string[], pictures?: string[]}} columns
   * @param {string[]} order of the ids, the best known first.
   */
  constructor(items, columns, order) {
    this.#places = new Map(items.map((item, place) => [item, place]));
    this.#columns = columns;
    this.#order = order;
    this.#folded = new Map(items.map((item, place) => [item, folded(columns.titles?.[place] || item)]));
    this.#abouts = new Map(items.map((item) => [item, folded(this.about(item))]));
  }

  /** Whether it is in the catalogue. */
  has(item) {
    return this.#places.has(item);
  }

  title(item) {
    return this.#cell("titles", item) || item;
  }

  /** Year and genres as one line; "" if neither is known. */
  about(item) {
    const year = this.#cell("years", item);
    const genres = this.#cell("genres", item).split("|").filter(Boolean).join(", ");
    const named = year && !this.title(item).includes(year) ? [year] : [];
    return [...named, ...(genres ? [genres] : [])].join(" · ");
  }

  /** How an item is named wherever it is listed: picture, if none is asked of the host, title, year and genres. */
  row(item, pictured) {
    const [about, picture] = [this.about(item), pictured && this.#cell("pictures", item)];
    const named = element("span", {}, element("b", {}, titled(this.title(item))));
    if (about) named.append(element("small", { dir: "auto" }, about));
    const images = picture ? [element("img", { src: picture, alt: "", width: 40, height: 60, decoding: "async" })] : [];
    return element("span", { class: "title" }, ...images, named);
  }

  /**
   * Ids whose titles, years and genres hold all words of a text, or words that begin with them: titles that begin
   * with the text first, then those with a word that does; the best known first among equals. If there are none,
   * words of five letters and more may differ by one letter.
   *
   * @param {string} text
   * @param {number} n
   * @returns {{items: string[], all: number, near: boolean}} the best n, how many there are, and whether a word
   *   is spelled another way in them.
   */
  find(text, n) {
    const sought = folded(text);
    const words = sought.split(" ").filter(Boolean);
    const grades = [[], [], [], []];
    if (!words.length) return { items: [], all: 0, near: false };
    for (const item of this.#order) {
      const title = this.#folded.get(item);
      if (item === text.trim() || title.startsWith(sought)) grades[0].push(item);
      else if (words.every((word) => ` ${title}`.includes(` ${word}`))) grades[1].push(item);
      else if (words.every((word) => title.includes(word))) grades[2].push(item);
      else if (words.every((word) => ` ${title} ${this.#abouts.get(item)}`.includes(` ${word}`))) grades[3].push(item);
    }
    const exact = grades.flat();
    const all = exact.length ? exact : this.#near(words);
    return { items: all.slice(0, n), all: all.length, near: !exact.length && all.length > 0 };
  }

  /** Ids that hold all words, where long ones may differ by one letter. */
  #near(words) {
    if (!words.some((word) => word.length >= SPELLED)) return [];
    this.#words ??= this.#vocabulary();
    const found = words.map((word) => {
      const fits = word.length >= SPELLED ? (other) => other.startsWith(word) || oneApart(word, other) : (other) => other.startsWith(word);
      return new Set([...this.#words].filter(([other]) => fits(other)).flatMap(([, items]) => items));
    });
    return this.#order.filter((item) => found.every((items) => items.has(item)));
  }

  /** The items of every word. */
  #vocabulary() {
    const all = new Map();
    for (const item of this.#order) {
      for (const word of `${this.#folded.get(item)} ${this.#abouts.get(item)}`.split(" ")) {
        if (all.has(word)) all.get(word).push(item);
        else all.set(word, [item]);
      }
    }
    return all;
  }

  #cell(name, item) {
    return this.#columns[name]?.[this.#places.get(item)] ?? "";
  }
}

function folded(text) {
  return fold(text).replace(MARKS, "").replace(SIGNS, " ").trim();
}

/** Whether one letter was exchanged, added or left out. */
function oneApart(word, other) {
  const [short, long] = word.length < other.length ? [word, other] : [other, word];
  if (long.length - short.length > 1) return false;
  let at = 0;
  while (at < short.length && short[at] === long[at]) at += 1;
  return short.slice(short.length === long.length ? at + 1 : at) === long.slice(at + 1);
}
