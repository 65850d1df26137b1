import { folded } from "./client/titles.js";
import { element, titled } from "./element.js";

/** What is known of each item: title, year, genres and picture; and a search of them. */
export class Titles {
  #places;
  #columns;
  #folded;
  #order;
  #abouts;

  /** Of ids; columns `titles`, `years`, `genres` and `pictures`, or some; and the ids, the best known first. */
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
   * with the text first, then those with a word that does; the best known first among equals. The best n, and how
   * many there are.
   */
  find(text, n) {
    const sought = folded(text);
    const words = sought.split(" ").filter(Boolean);
    const grades = [[], [], [], []];
    if (!words.length) return { items: [], all: 0 };
    for (const item of this.#order) {
      const title = this.#folded.get(item);
      if (item === text.trim() || title.startsWith(sought)) grades[0].push(item);
      else if (words.every((word) => ` ${title}`.includes(` ${word}`))) grades[1].push(item);
      else if (words.every((word) => title.includes(word))) grades[2].push(item);
      else if (words.every((word) => ` ${title} ${this.#abouts.get(item)}`.includes(` ${word}`))) grades[3].push(item);
    }
    const all = grades.flat();
    return { items: all.slice(0, n), all: all.length };
  }

  #cell(name, item) {
    return this.#columns[name]?.[this.#places.get(item)] ?? "";
  }
}
