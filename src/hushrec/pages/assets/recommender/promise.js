import { above } from "./client/figures.js";
import { byId, element } from "./element.js";
import { words } from "./words.js";

/**
 * Show what a release promises: the statement's own sentence, and its figures.
 *
 * @param {Object} release of the client: its statement and signature.
 * @param {{covered: {protected?: string, unprotected?: string}, statement: string}} facts of the page.
 */
export function showPromise(release, { covered, statement }) {
  const { statement: stated, signature, feedback, model } = release;
  byId("sentence").textContent = stated.sentence;
  const unit = stated.interactions && stated.unit === "rating" ? "interaction" : stated.unit;
  const epsilon = Number.isFinite(stated.epsilon) ? `epsilon_${unit}` : "epsilon_none";
  const made = words(`made_${feedback}`, { model });
  const facts = {
    epsilon: words(epsilon, { epsilon: above(stated.epsilon), delta: above(stated.delta) }),
    protected: covered.protected && element("span", { lang: "en" }, covered.protected),
    unprotected: covered.unprotected && element("span", { lang: "en" }, covered.unprotected),
    signature: words(`signature_${signature.state}`, { key: signature.keyId?.slice(0, 16) }),
    version: version(signature, stated),
    made_by: stated.hushrec ? words("made_version", { made, version: stated.hushrec }) : made,
    file: `SHA-256 ${release.sha256}`,
  };
  const told = Object.entries(facts).filter(([, fact]) => fact);
  byId("facts").replaceChildren(...told.flatMap(([name, fact]) => [element("dt", {}, words(name)), element("dd", {}, fact)]));
  byId("statement").href = statement;
}

function version({ version: signedVersion }, { ledger }) {
  if (signedVersion !== undefined && signedVersion !== null) return String(signedVersion);
  if (ledger?.seq === undefined) return undefined;
  return [words("version_entry", { seq: ledger.seq }), ledger.date].filter(Boolean).join(", ");
}

