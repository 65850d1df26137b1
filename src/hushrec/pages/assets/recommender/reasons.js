import { element, titled } from "./element.js";
import { parts, words } from "./words.js";

const STRONG = 0.5;

/** Which of the reader's own titles moved an item, and how much, in words, with a signed bar before each. */
export function because(reasons, titles, stars) {
  if (!reasons.length) return [];
  const most = Math.max(...reasons.map(({ contribution }) => Math.abs(contribution)));
  const lines = reasons.map(({ itemId, contribution }) => {
    const title = element("i", {}, titled(titles.title(itemId)));
    const moved = parts(contribution > 0 ? "up" : "down", { of: stars.of, n: stars.get(itemId), title });
    const strength = words(Math.abs(contribution) > STRONG * most ? "strongly" : "little");
    const told = element("span", {}, element("span", { class: "unseen" }, strength, " "), ...moved);
    return element("li", {}, bar(contribution / most), told);
  });
  return [element("ul", { class: "because", "aria-label": words("because") }, ...lines)];
}

/** A bar from its middle to the right where it raises, to the left where it lowers; share from −1 to 1. */
function bar(share) {
  const part = element("span", { class: share < 0 ? "lowers" : "raises" });
  part.style.width = `${Math.max(Math.abs(share) * 50, 3)}%`;
  return element("span", { class: "bar", "aria-hidden": "true" }, part);
}
