import { Client } from "./client/client.js";
import { byId, element } from "./element.js";
import { isLikes, keptStars, saveStars } from "./stars.js";
import { PageError, words } from "./words.js";

/**
 * Say in place of the page why it is not shown, and what a reader can do.
 *
 * @param {{facts?: Object, trust?: import("./trust.js").Trust, checked?: Object}} found before the error: facts of
 *   the page, what was seen before, and the release with its signature and key.
 */
export async function showRefusal(error, { facts, trust, checked }) {
  byId("call").textContent = words("refused_title");
  for (const hidden of document.querySelectorAll(".lead, .counter, .skip, #loading, #main")) hidden.hidden = true;
  const kept = facts && keptStars(facts.stars);
  const of = kept && isLikes(kept) ? "likes" : "stars";
  const why = words(error.reason === "unreachable" ? "unreachable" : checked ? "refused" : "broken");
  const told = kept ? [why, " ", words("kept_own", { of })] : [why];
  const acts = element("p", { class: "keep" });
  if (kept) acts.append(button(words("save_own", { of }), () => saveStars(kept)));
  if (checked) acts.append(...(await trusting(trust, checked)));
  byId("trouble").replaceChildren(element("p", {}, ...told), technical(error), acts);
  byId("trouble").hidden = false;
}

/** Say next to the list that is shown that the host has another one, `checked`, which does not replace it. */
export async function showDoubt(error, trust, checked) {
  const acts = await trusting(trust, checked);
  const more = acts.length ? [element("p", { class: "keep" }, ...acts)] : [];
  byId("newer").replaceChildren(element("p", {}, words("doubted")), technical(error), ...more);
}

function technical(error) {
  const lang = error instanceof PageError ? false : "en"; // the client and the browser's parts speak English
  return element("details", {}, element("summary", {}, words("technical")), element("p", { lang }, error.message));
}

/** A button to trust the key that the site has now, and its question, where nothing but the key or ledger is wrong. */
async function trusting(trust, checked) {
  const asked = await changed(trust, checked);
  if (!asked) return [];
  const dialog = question(asked, trust);
  return [button(words("trust"), () => dialog.showModal()), dialog];
}

/** A question that names what differs from what was seen, if the release is otherwise as its key signed it. */
async function changed(trust, { bytes, signature, key }) {
  const { seen } = trust;
  if (!seen || signature === undefined || key === undefined) return undefined;
  try {
    const { state, keyId, chain, ledger } = (await Client.open(bytes, { signature, key })).release.signature;
    if (state !== "verified") return undefined;
    if (chain[0] !== seen.chain[0]) return words("trust_question_key", { key: keyId });
    return ledger === seen.ledger ? undefined : words("trust_question_ledger");
  } catch {
    return undefined; // not signed by the key of this site
  }
}

function question(asked, trust) {
  const dialog = element("dialog", { "aria-labelledby": "trust-question" });
  const yes = async () => {
    await trust.forget();
    location.reload();
  };
  dialog.append(
    element("p", { id: "trust-question" }, asked),
    element("p", { class: "keep" }, button(words("trust_yes"), yes), button(words("trust_no"), () => dialog.close())),
  );
  return dialog;
}

function button(text, click) {
  return element("button", { type: "button", class: "plain", click }, text);
}
