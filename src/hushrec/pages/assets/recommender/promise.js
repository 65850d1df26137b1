import { above } from "./client/figures.js";
import { byId, element } from "./element.js";

const WHO = { user: "each person", rating: "each single rating" };

/**
 * Show what a release promises: the statement's own sentence, and its figures.
 *
 * @param {Object} release of the client: its statement and signature.
 * @param {{covered: {protected?: string, unprotected?: string}, statement: string}} facts of the page.
 */
export function showPromise(release, { covered, statement }) {
  const { statement: stated, signature, feedback, model } = release;
  byId("sentence").textContent = stated.sentence;
  const whom = stated.interactions && stated.unit === "rating" ? "each single interaction" : WHO[stated.unit];
  const finite = Number.isFinite(stated.epsilon);
  const facts = [
    ["ε", finite ? `${above(stated.epsilon)} at δ = ${above(stated.delta)}, for ${whom}` : "no finite ε is known"],
    ["Protected", covered.protected],
    ["Not protected", covered.unprotected],
    ["Signature", signed(signature)],
    ["Version", version(signature, stated)],
    ["Made by", `${model}, from ${feedback}${stated.hushrec ? `, with hushrec ${stated.hushrec}` : ""}`],
    ["File", `SHA-256 ${release.sha256}`],
  ];
  byId("facts").replaceChildren(
    ...facts.filter(([, told]) => told).flatMap(([name, told]) => [element("dt", {}, name), element("dd", {}, told)]),
  );
  byId("statement").href = statement;
}

function signed({ state, keyId }) {
  if (state === "verified") return `verified, by the key ${keyId.slice(0, 16)}…`;
  if (state === "unchecked") return "signed, but this page has no key to check it with";
  return "unsigned: nothing shows who published this file";
}

function version({ version: signedVersion }, { ledger }) {
  if (signedVersion !== undefined && signedVersion !== null) return String(signedVersion);
  if (ledger?.seq === undefined) return undefined;
  return `entry ${ledger.seq} of its ledger${ledger.date ? `, ${ledger.date}` : ""}`;
}

