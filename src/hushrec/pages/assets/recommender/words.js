import { texts } from "./texts.js";

const plurals = new Intl.PluralRules("en");

/**
 * A text of the page by its name in `texts.json`: its words, and the value of each name in braces, which may be an
 * element. Of a text with cases, `of` and the number `n` choose one.
 */
export function parts(name, values = {}) {
  let text = texts[name];
  while (typeof text === "object") text = text[values.of] ?? text[plurals.select(values.n)];
  return text.split(/\{(\w+)\}/).map((part, nth) => (nth % 2 ? shown(values[part]) : part));
}

/** The same as one text. */
export function words(name, values) {
  return parts(name, values).join("");
}

/** A number as the page writes it. */
export function number(value, options) {
  return value.toLocaleString("en", options);
}

/** What went wrong, in the page's words. */
export class PageError extends Error {
  constructor(name, values) {
    super(words(name, values));
    this.reason = name;
  }
}

function shown(value) {
  return typeof value === "number" ? number(value) : value;
}
