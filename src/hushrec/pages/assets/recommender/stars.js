import { element } from "./element.js";
import { PageError } from "./words.js";

const PREFIX = "hushrec.stars.";

/** Pairs of an item and its stars, `true` for a like or `false` for not me, that this browser keeps, in their order. */
function stored(name) {
  try {
    const pairs = JSON.parse(localStorage.getItem(PREFIX + name) ?? "[]");
    return pairs.filter(([item, value]) => typeof item === "string" && ["boolean", "number"].includes(typeof value));
  } catch {
    return []; // storage is switched off, or something else was kept there
  }
}

/** The file of the stars that this browser keeps, without a release to show them by; undefined if it keeps none. */
export function keptStars(name) {
  const pairs = stored(name);
  return pairs.length ? fileText(pairs) : undefined;
}

/** Offer the text of a file of stars as a download. */
export function saveStars(text) {
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  element("a", { href: address, download: isLikes(text) ? "my-likes.json" : "my-stars.json" }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Whether the text of a saved file holds likes. */
export function isLikes(text) {
  return /^({\s*"own": )?\[/.test(text);
}

/** What `hushrec recommend --ratings` reads: ids of likes, or numbers by id; and, if there are any, what is not for me. */
function fileText(pairs) {
  const starred = pairs.filter(([, value]) => value !== false);
  const away = pairs.filter(([, value]) => value === false).map(([item]) => item);
  const likes = starred.every(([, value]) => value === true);
  const own = likes ? starred.map(([item]) => item) : Object.fromEntries(starred);
  return `${JSON.stringify(away.length ? { own, not_for_me: away } : own, null, 1)}\n`;
}

/**
 * A reader's own stars or likes. They are kept in this browser's storage, and nowhere else.
 *
 * Every tab reads the storage before it writes, and hears when another tab wrote. What is kept of titles that are
 * not in the catalogue waits for a release that has them: it is neither counted nor given nor saved to a file.
 */
export class Stars extends EventTarget {
  #values = new Map();
  #name;
  #range;
  #has;
  #stored = true;

  /**
   * @param {string} name of the population or the catalogue, so that they outlive a release.
   * @param {?{lo: number, hi: number}} range of ratings; null where items are liked.
   * @param {function(string): boolean} has whether an item is in the catalogue.
   */
  constructor(name, range, has) {
    super();
    this.#name = name;
    this.#range = range;
    this.#has = has;
    this.#read();
    addEventListener("storage", ({ key }) => {
      if (key !== null && key !== PREFIX + this.#name) return;
      this.#read();
      this.dispatchEvent(new Event("change"));
    });
  }

  /** What they are. */
  get of() {
    return this.#range ? "stars" : "likes";
  }

  /** How many titles of the catalogue. */
  get size() {
    return this.items.length;
  }

  /** How many are kept, of stars and of what is not for the reader, in the catalogue or not. */
  get kept() {
    return this.#values.size;
  }

  /** How many stars are kept of titles that are not in the catalogue. */
  get waiting() {
    return [...this.#values].filter(([item, value]) => value !== false && !this.#has(item)).length;
  }

  /** Ids of the catalogue, the last starred first. */
  get items() {
    return this.#known().map(([item]) => item).reverse();
  }

  /** Ids of the catalogue that are not for the reader, the last first. */
  get away() {
    return this.#known(false).map(([item]) => item).reverse();
  }

  /** Number of stars of an item, `true` for a like, `false` if it is not for the reader, or undefined. */
  get(item) {
    return this.#values.get(item);
  }

  /** What the client takes, in the order of starring: ratings by id, or ids. */
  get given() {
    return this.#range ? new Map(this.#known()) : this.#known().map(([item]) => item);
  }

  /** What is kept of the catalogue: its stars, or what is not for the reader. */
  #known(starred = true) {
    return [...this.#values].filter(([item, value]) => this.#has(item) && (value !== false) === starred);
  }

  /** Star an item; undefined takes its stars away. */
  set(item, value) {
    this.#change(() => {
      if (value === undefined) this.#values.delete(item);
      else this.#values.set(item, value);
    });
  }

  /** As a file. */
  get text() {
    return fileText([...this.#known(), ...this.#known(false)]);
  }

  /**
   * Add the stars of a file, but for titles that are not in the catalogue; those of the same items are replaced.
   *
   * @returns {{all: number, loaded: number}} how many the file held, and how many of them are in the catalogue.
   * @throws {PageError} it holds something else.
   */
  load(text) {
    const pairs = this.#parsed(text);
    const known = pairs.filter(([item]) => this.#has(item));
    this.#change(() => known.forEach(([item, value]) => this.#values.set(item, value)));
    return { all: pairs.length, loaded: known.length };
  }

  /** Forget all, in the storage too. */
  erase() {
    this.#change(() => this.#values.clear());
  }

  /** Items and values of a file. */
  #parsed(text) {
    let kept;
    try {
      kept = JSON.parse(text);
    } catch {
      // then it is no object either
    }
    const { own, not_for_me: away } = Array.isArray(kept?.not_for_me) ? kept : { own: kept, not_for_me: [] };
    if (typeof own !== "object" || own === null) throw new PageError("file_foreign");
    const likes = Array.isArray(own);
    const pairs = likes ? own.map((item) => [item, true]) : Object.entries(own);
    const texts = [...pairs.map(([item]) => item), ...away].every((item) => typeof item === "string");
    if (!texts || !pairs.every(([, value]) => likes || typeof value === "number")) throw new PageError("file_foreign");
    if (likes !== !this.#range && (pairs.length || !away.length)) throw new PageError(likes ? "file_likes" : "file_ratings");
    if (!pairs.every((pair) => this.#fits(pair))) throw new PageError("file_range", this.#range);
    return [...new Map([...pairs, ...away.map((item) => [item, false])])];
  }

  #fits([, value]) {
    if (!this.#range || value === false) return typeof value === "boolean";
    return typeof value === "number" && value >= this.#range.lo && value <= this.#range.hi;
  }

  /** Take over what the storage holds, which another tab may have changed. */
  #read() {
    if (!this.#stored) return;
    this.#values = new Map(stored(this.#name).filter((pair) => this.#fits(pair)));
  }

  #change(make) {
    this.#read();
    make();
    const { size } = this.#values;
    try {
      if (size) localStorage.setItem(PREFIX + this.#name, JSON.stringify([...this.#values]));
      else localStorage.removeItem(PREFIX + this.#name);
    } catch {
      this.#stored = false; // storage is switched off or full: the stars live as long as the page is open
    }
    this.dispatchEvent(new Event("change"));
  }
}
