import { above } from "./client/figures.js";
import { byId, element } from "./element.js";
import { words } from "./words.js";

/** Show what a release promises: what its statement says, and its figures; the whole statement stands on `page`. */
export function showPromise(release, page) {
  const { statement, signedBy, feedback, model } = release;
  const said = statement.said;
  for (const [name, box] of [["together", "together"], ["sentence", "sentence"], ["story", "meaning"]]) {
    byId(name).replaceChildren(said[name] ?? "");
    byId(box).hidden = !said[name];
  }
  const made = words(`made_${feedback}`, { model });
  const facts = {
    [said.together ? "epsilon_alone" : "epsilon"]: loss(statement),
    protected: said.protected,
    unprotected: said.unprotected,
    signature: words(signedBy ? "signature_checked" : "signature_none", { key: signedBy }),
    made_by: statement.hushrec ? words("made_version", { made, version: statement.hushrec }) : made,
    file: `SHA-256 ${release.sha256}`,
  };
  const told = Object.entries(facts).filter(([, fact]) => fact);
  byId("facts").replaceChildren(...told.flatMap(([name, fact]) => [element("dt", {}, words(name)), element("dd", {}, fact)]));
  byId("statement").href = page;
}

function loss({ epsilon, delta, interactions, unit }) {
  const record = interactions ? "interaction" : "rating"; // words of the reader for a record
  const of = unit === "record" ? record : unit;
  const found = { epsilon: above(epsilon), delta: above(delta) };
  return words(Number.isFinite(epsilon) ? `epsilon_${of}` : "epsilon_none", found);
}
