// Asks the client what the Python client was asked, and compares. Runs in Node and in browsers.

const RELATIVE = 1e-9;

/**
 * What the client answers otherwise than Python did.
 * @param {typeof import("../../src/hushrec/javascript/client.js").Client} Client
 * @param {Uint8Array} bytes of a release
 * @param {{name: string, facts: Record<string, any>, questions: any[]}} expected the case beside it
 * @returns {Promise<string[]>} one line for each difference
 */
export async function differences(Client, bytes, expected) {
  const client = await Client.open(bytes);
  const { release } = client;
  /** @type {string[]} */
  const found = [];
  const { caveats, assumes, ledger, said } = release.statement;
  /** @type {Record<string, any>} */
  const facts = { ...release, personal: release.personal, statement: { caveats, assumes, ledger, said } };
  for (const [name, value] of Object.entries(expected.facts)) {
    const told = difference(facts[name], value);
    if (told) found.push(`${expected.name}: ${name}: ${told}`);
  }
  for (const question of expected.questions) {
    const told = asked(client, question);
    if (told) found.push(`${expected.name}: ${brief(question)}: ${told}`);
  }
  return found;
}

/**
 * @param {import("../../src/hushrec/javascript/client.js").Client} client
 * @param {any} question
 */
function asked(client, question) {
  let answer;
  try {
    answer = answered(client, question);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "ReleaseError") return `throws ${error}`;
    return difference(error.message, question.error);
  }
  return "error" in question ? `is answered, but Python says: ${question.error}` : difference(answer, question.answer);
}

/**
 * @param {import("../../src/hushrec/javascript/client.js").Client} client
 * @param {any} question
 */
function answered(client, { ask, own, items, options, item, n }) {
  const given = own && (own.ids ?? new Map(own.pairs));
  if (ask === "predict") return told(client.predict(given, items), (rows) => [...rows]);
  if (ask === "recommend") {
    return told(client.recommend(given, options), (rows) => rows.map((row) => [row.itemId, row.score, row.rank, row.rating]));
  }
  if (ask === "reasons") {
    return told(client.reasons(given, item, n, options), (rows) => rows.map((row) => [row.itemId, row.contribution]));
  }
  return client.title(item);
}

/**
 * An answer as the cases have it: what of the user's own was ignored, and the rows.
 * @template {import("../../src/hushrec/javascript/own.js").Ignored} Answer
 * @param {Answer} answer
 * @param {(answer: Answer) => unknown[]} rows
 */
function told(answer, rows) {
  return { ignored: answer.ignored, rows: rows(answer) };
}

/**
 * How two values differ; empty if they do not.
 * @param {any} found
 * @param {any} expected
 * @returns {string}
 */
function difference(found, expected) {
  if (typeof expected === "number" && typeof found === "number") {
    const near = Math.abs(found - expected) <= RELATIVE * (1 + Math.abs(expected));
    return near ? "" : `${found}, but Python says ${expected}`;
  }
  if (expected === null || typeof expected !== "object") {
    return Object.is(found, expected) ? "" : `${brief(found)}, but Python says ${brief(expected)}`;
  }
  if (found === null || typeof found !== "object") return `${brief(found)}, but Python says ${brief(expected)}`;
  const names = Object.keys(expected);
  if (Object.keys(found).length !== names.length) return `${brief(found)}, but Python says ${brief(expected)}`;
  for (const name of names) {
    const told = difference(found[name], expected[name]);
    if (told) return `at ${name}: ${told}`;
  }
  return "";
}

/** @param {unknown} value */
function brief(value) {
  return (JSON.stringify(value) ?? String(value)).slice(0, 300);
}
