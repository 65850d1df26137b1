import { Client } from "./client/client.js";
import { Contents } from "./contents.js";
import { showDoubt } from "./refusal.js";
import { PageError } from "./words.js";

const QUIET = 500; // milliseconds
const PATIENCE = 2000;

/**
 * Take the page that an earlier visit found, and ask the host once whether it has another.
 *
 * The one request for it is of `worker.js`, the same for every reader. That keeps the other page's files on this device,
 * and asks this page, which the reader has, to judge them: a page that would be refused is not installed.
 *
 * @param {Promise<{key?: string, release?: Object}>} shown the owner's key, and the release that this page shows.
 */
export async function lookForNewer(shown) {
  const workers = navigator.serviceWorker;
  const judged = new Map();
  workers?.addEventListener("message", ({ data, ports: [port] }) => {
    if (typeof data?.judge !== "string" || !port) return;
    if (!judged.has(data.judge)) judged.set(data.judge, mayFollow(data.judge, shown));
    judged.get(data.judge).then((answer) => port.postMessage(answer));
  });
  workers?.startMessages();
  const registration = await workers?.getRegistration().catch(() => undefined);
  if (registration?.scope !== new URL("./", location).href) return; // the first visit: this is the newest page
  if (registration.waiting) {
    workers.addEventListener("controllerchange", () => location.reload());
    await pause(QUIET); // asked while the one before answers a fetch, as of the icon, Chromium's worker waits for ever
    registration.waiting?.postMessage("show");
    await pause(PATIENCE);
  }
  registration.update().catch(() => undefined); // without a network, this page goes on
}

function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Whether the page that a cache holds may follow this one. */
async function mayFollow(name, asked) {
  const { key, release: shown } = await asked;
  let bytes;
  try {
    const cache = await caches.open(name);
    const contents = await Contents.open((file) => cache.match(file));
    bytes = await contents.bytes("release");
    if (key !== undefined && contents.facts.key !== key) throw new PageError("another_key");
    const { release } = await Client.open(bytes, { signature: await contents.text("signature"), key: contents.facts.key });
    requireNoOlder(release.statement.ledger, shown?.statement.ledger);
    return true;
  } catch (error) {
    if (bytes && shown) showDoubt(error);
    return false;
  }
}

/** Refuse an older entry of the same ledger; without a ledger in common, nothing tells. */
function requireNoOlder(next, last) {
  if (next?.id && next.id === last?.id && next.seq < last.seq) throw new PageError("not_latest", { next: next.seq, last: last.seq });
}
