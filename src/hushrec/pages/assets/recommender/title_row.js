import { element, titled } from "./element.js";

/**
 * How an item is named wherever it is listed: picture, title, and year and genres below.
 *
 * @param {import("./titles.js").Titles} titles
 * @param {string} item
 * @param {boolean} pictured whether pictures can be shown without asking the host for them.
 */
export function titleRow(titles, item, pictured) {
  const about = titles.about(item);
  const picture = pictured && titles.picture(item);
  return element(
    "span",
    { class: "title" },
    ...(picture ? [element("img", { src: picture, alt: "", width: 40, height: 60, decoding: "async" })] : []),
    element("span", {}, element("b", {}, titled(titles.title(item))), ...(about ? [element("small", { dir: "auto" }, about)] : [])),
  );
}
