import { element, shape, titled } from "./element.js";
import { parts, words } from "./words.js";

const WIDTH = 42;
const STRONG = 0.5;

/**
 * Which of the reader's own titles moved an item, and how much, in words, with a signed bar before each.
 *
 * @param {{itemId: string, contribution: number}[]} reasons strongest first.
 * @param {import("./titles.js").Titles} titles
 * @param {import("./stars.js").Stars} stars
 * @returns {HTMLElement[]} none without reasons.
 */
export function because(reasons, titles, stars) {
  if (!reasons.length) return [];
  const most = Math.max(...reasons.map(({ contribution }) => Math.abs(contribution)));
  const lines = reasons.map(({ itemId, contribution }) =>
    element(
      "li",
      {},
      bar(contribution / most),
      element(
        "span",
        {},
        element("span", { class: "unseen" }, words(Math.abs(contribution) > STRONG * most ? "strongly" : "little"), " "),
        ...parts(contribution > 0 ? "up" : "down", {
          of: stars.of,
          n: stars.get(itemId),
          title: element("i", {}, titled(titles.title(itemId))),
        }),
      ),
    ),
  );
  return [element("ul", { class: "because", "aria-label": words("because") }, ...lines)];
}

/** A bar from its middle to the right where it raises, to the left where it lowers; share from −1 to 1. */
function bar(share) {
  const middle = WIDTH / 2;
  const length = Math.max(Math.abs(share) * (middle - 1), 1.5);
  return shape(
    "svg",
    { class: "bar", viewBox: `0 0 ${WIDTH} 8`, "aria-hidden": "true" },
    shape("rect", { x: share < 0 ? middle - length : middle, y: 1, width: length, height: 6, class: share < 0 ? "lowers" : "raises" }),
    shape("line", { x1: middle, x2: middle, y1: 0, y2: 8 }),
  );
}
