/**
 * An element with its attributes and children; texts become text, never markup.
 *
 * @param {string} name
 * @param {Object<string, *>} [attributes] `class`, `role`, …; functions are listeners, as in `{click: go}`;
 *   `false` and undefined leave an attribute out.
 * @param {...(Node|string)} children
 * @returns {HTMLElement}
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

/** The title of an item among other words, whichever way either is written. */
export function titled(title) {
  return element("bdi", {}, title);
}
