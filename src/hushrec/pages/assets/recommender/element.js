/**
 * An element with its attributes and children; texts become text, never markup.
 *
 * @param {string} name
 * @param {Object<string, *>} [attributes] `class`, `role`, …; functions are listeners, as in `{click: go}`;
 *   `false` leaves an attribute out.
 * @param {...(Node|string)} children
 * @returns {HTMLElement}
 */
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** The same for a shape of a drawing. */
export function shape(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

/** The element of the page with this id. */
export function byId(id) {
  return document.getElementById(id);
}

/** The title of an item among other words, whichever way either is written. */
export function titled(title) {
  return element("bdi", {}, title);
}

function filled(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(key, value);
    else if (value !== false && value !== undefined) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}
