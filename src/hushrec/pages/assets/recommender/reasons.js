import { element, titled } from "./element.js";
import { parts, words } from "./words.js";

const STRONG = 0.5;
const NAMED = 2; // titles with a feature

/** Which of the reader's own titles, or of their features, moved an item, and how much, with a signed bar before each. */
export function because(reasons, titles, stars) {
  if (!reasons.length) return [];
  const most = Math.max(...reasons.map(({ contribution }) => Math.abs(contribution)));
  const lines = reasons.map((reason) => {
    const { contribution } = reason;
    const moved = parts(contribution > 0 ? "up" : "down", cause(reason, titles, stars));
    const strength = words(Math.abs(contribution) > STRONG * most ? "strongly" : "little");
    const told = element("span", {}, element("span", { class: "unseen" }, strength, " "), ...moved);
    return element("li", {}, bar(contribution / most), told);
  });
  return [element("ul", { class: "because", "aria-label": words("because") }, ...lines)];
}

/** What moved an item, as the values of a text: an own title, or a feature with some own titles that have it. */
function cause({ itemId, feature, value, items }, titles, stars) {
  const named = (item) => element("i", {}, titled(titles.title(item)));
  if (itemId !== null) return { of: stars.of, n: stars.get(itemId), title: named(itemId) };
  const some = items.slice(0, NAMED).flatMap((item, at) => (at ? [", ", named(item)] : [named(item)]));
  if (items.length > NAMED) some.push(", ", words("more_titles", { n: items.length - NAMED }));
  return { of: "features", feature: titled(feature), value: titled(value), titles: element("span", {}, ...some) };
}

/** A bar from its middle to the right where it raises, to the left where it lowers; share from −1 to 1. */
function bar(share) {
  const part = element("span", { class: share < 0 ? "lowers" : "raises" });
  part.style.width = `${Math.max(Math.abs(share) * 50, 3)}%`;
  return element("span", { class: "bar", "aria-hidden": "true" }, part);
}
