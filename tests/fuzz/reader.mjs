// Opens and uses the files whose paths come on standard input, one a line, and says of each what came of it.

import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { Client } = await import(pathToFileURL(process.argv[2]).href);

/** Bytes held at most since the last reset. */
function memory(reset = false) {
  if (reset) writeFileSync("/proc/self/clear_refs", "5");
  const line = readFileSync("/proc/self/status", "utf8").match(/VmHWM:\s*(\d+)/);
  return 1024 * Number(line[1]);
}

/** What the client lists, after everything else that people do with a release. */
async function used(bytes) {
  const client = await Client.open(bytes);
  const { release } = client;
  const ids = release.items.slice(0, 2);
  const numbers = release.scale !== null || release.counts !== null;
  const own = numbers ? new Map(ids.map((id) => [id, (release.scale ?? [1, 2])[1]])) : ids;
  const listed = client.recommend(own, { n: 3 });
  for (const ask of [
    () => client.predict(own),
    () => client.reasons(own, ids[0]),
    () => client.find(release.titles[0] ?? "a"),
    () => [release.taste, client.title(ids[0])],
  ]) {
    try {
      ask();
    } catch (error) {
      if (error.name !== "ReleaseError") throw error;
    }
  }
  if (Object.prototype.polluted !== undefined || {}.x !== undefined) throw new Error("a prototype was changed");
  return listed.map(({ itemId, score }) => [itemId, score]);
}

for await (const path of createInterface({ input: process.stdin })) {
  const bytes = readFileSync(path);
  globalThis.gc();
  const before = memory(true);
  let told;
  try {
    told = { listed: await used(bytes) };
  } catch (error) {
    if (error.name === "ReleaseError") told = { refused: error.message };
    else told = { fault: `${error.stack}`.slice(0, 600) };
  }
  if (/[\p{C}\p{Zl}\p{Zp}]/u.test(told.refused ?? "")) told = { fault: "shows a character that acts" };
  process.stdout.write(`${JSON.stringify({ ...told, peak: memory() - before })}\n`);
}
