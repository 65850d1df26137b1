import { byId, element } from "./element.js";
import { isLikes, keptStars, saveStars } from "./stars.js";
import { words } from "./words.js";

/**
 * Say in place of the page why it is not shown, and what a reader can do; by the facts of the page, if they were found,
 * and whether its release was to be checked by a key.
 */
export function showRefusal(error, { facts, signed }) {
  byId("call").textContent = words("refused_title");
  for (const hidden of document.querySelectorAll(".lead, .check, .skip, #loading, #main")) hidden.hidden = true;
  const kept = facts && keptStars(facts.stars);
  const of = kept && isLikes(kept) ? "likes" : "stars";
  const why = words(error.reason === "unreachable" ? "unreachable" : signed ? "refused" : "broken");
  const told = kept ? [why, " ", words("kept_own", { of })] : [why];
  byId("trouble").replaceChildren(element("p", {}, ...told), technical(error));
  if (kept) {
    const save = element("button", { type: "button", class: "plain", click: () => saveStars(kept) }, words("save_own", { of }));
    byId("trouble").append(element("p", { class: "keep" }, save));
  }
  byId("trouble").hidden = false;
}

/** Say next to the list that is shown that the host has another one, which does not replace it. */
export function showDoubt(error) {
  byId("newer").replaceChildren(element("p", {}, words("doubted")), technical(error));
}

function technical(error) {
  return element("details", {}, element("summary", {}, words("technical")), element("p", {}, error.message));
}
