import { Client } from "./client/client.js";
import { Unreachable } from "./contents.js";
import { byId, element } from "./element.js";
import { isLikes, keptStars, saveStars } from "./stars.js";

const REFUSED =
  "This site shows an older list than the one that you have seen, or one that its owner did not sign. Tell the owner.";
const DOUBTED =
  "This site now has a list that is older than the one that you see, or that its owner did not sign. Yours stays. Tell the owner.";
const BROKEN = "This page cannot be used here. Reload it; if that does not help, tell its owner.";

/**
 * Say in place of the page why it is not shown, and what a reader can do.
 *
 * @param {Error} error
 * @param {{facts?: Object, trust?: import("./trust.js").Trust, checked?: Object}} found what was read before: facts of
 *   the page, what was seen before, and the release with its signature and key.
 */
export async function showRefusal(error, { facts, trust, checked }) {
  byId("call").textContent = "This list is not shown.";
  for (const hidden of document.querySelectorAll(".lead, .counter, .skip, #loading, #main")) hidden.hidden = true;
  const kept = facts && keptStars(facts.stars);
  const own = kept && isLikes(kept) ? "likes" : "stars";
  const why = error instanceof Unreachable ? error.message : checked ? REFUSED : BROKEN;
  const words = [why, kept && `Your ${own} are kept on this device.`].filter(Boolean).join(" ");
  const acts = element("p", { class: "keep" });
  if (kept) acts.append(button(`Save my ${own} to a file`, () => saveStars(kept)));
  if (checked) acts.append(...(await trusting(trust, checked)));
  byId("trouble").replaceChildren(element("p", {}, words), technical(error), acts);
  byId("trouble").hidden = false;
}

/**
 * Say beside the list that is shown that the host has another one, which does not replace it.
 *
 * @param {Error} error
 * @param {import("./trust.js").Trust} trust
 * @param {Object} checked the other release with its signature and key.
 */
export async function showDoubt(error, trust, checked) {
  const acts = await trusting(trust, checked);
  const more = acts.length ? [element("p", { class: "keep" }, ...acts)] : [];
  byId("newer").replaceChildren(element("p", {}, DOUBTED), technical(error), ...more);
}

function technical({ message }) {
  return element("details", {}, element("summary", {}, "In technical words"), element("p", {}, message));
}

/** A button to trust the key that the site has now, and its question, where nothing but the key or ledger is wrong. */
async function trusting(trust, checked) {
  const other = await changed(trust, checked);
  if (!other) return [];
  const dialog = question(other, trust);
  return [button("Trust this site’s key from now on", () => dialog.showModal()), dialog];
}

/** What differs from what was seen, if the release is otherwise as its key signed it; undefined else. */
async function changed(trust, { bytes, signature, key }) {
  const { seen } = trust;
  if (!seen || signature === undefined || key === undefined) return undefined;
  try {
    const { state, keyId, chain, ledger } = (await Client.open(bytes, { signature, key })).release.signature;
    if (state !== "verified") return undefined;
    if (chain[0] !== seen.chain[0]) return `another key than before. Its number is ${keyId}`;
    return ledger === seen.ledger ? undefined : "another ledger than before, so losses of privacy may not be added up";
  } catch {
    return undefined; // not signed by the key of this site
  }
}

function question(other, trust) {
  const dialog = element("dialog", { "aria-labelledby": "trust-question" });
  const yes = async () => {
    await trust.forget();
    location.reload();
  };
  dialog.append(
    element("p", { id: "trust-question" }, `This list is signed with ${other}. Trust it only if the owner says so ` +
      "through a channel that you trust, such as in person, and not on this site: somebody else may have made this list."),
    element("p", { class: "keep" }, button("Trust it", yes), button("Do not trust it", () => dialog.close())),
  );
  return dialog;
}

function button(text, click) {
  return element("button", { type: "button", class: "plain", click }, text);
}
