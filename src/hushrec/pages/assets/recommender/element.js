/**
 * An element with its attributes and children; texts become text, never markup.
 *
 * Of attributes, functions are listeners, as in `{click: go}`; `false` and undefined leave one out.
 */
export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(key, value);
    else if (value !== false && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

/** The element of the page with this id. */
export function byId(id) {
  return document.getElementById(id);
}

/** Exchange the rows of a list; the keyboard stays on the same item, or on the one that took its place. */
export function refill(list, rows) {
  const before = [...list.children];
  const place = before.findIndex((row) => row.contains(document.activeElement));
  list.replaceChildren(...rows);
  if (place < 0) return;
  const same = rows.find(({ dataset }) => dataset.item === before[place].dataset.item);
  const row = same ?? rows[Math.min(place, rows.length - 1)];
  (row?.querySelector('[role="radio"][tabindex="0"], .like, .back, input') ?? byId("search")).focus({ preventScroll: true });
}

/** The title of an item among other words, whichever way either is written. */
export function titled(title) {
  return element("bdi", {}, title);
}
