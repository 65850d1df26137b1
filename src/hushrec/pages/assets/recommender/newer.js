import { Client } from "./client/client.js";
import { Contents } from "./contents.js";
import { byId, element } from "./element.js";
import { showDoubt } from "./refusal.js";
import { PageError, words } from "./words.js";

const PATIENCE = 2000; // milliseconds

/**
 * Looks for another page when this one is opened, says whether it may follow, and offers it if it is newer.
 *
 * The one request for it is of `worker.js`, the same for every reader. That keeps the other page's files on this device,
 * and asks this page, which the reader has, to judge them: a page that would be refused is not installed.
 */
export class Newer {
  #registration;
  #reloading = false;
  #larger = false;
  #judged = new Map();
  #shown;

  /** @param {Promise<{key?: string, release?: Object}>} shown the owner's key, and the release that this page shows. */
  constructor(shown) {
    this.#shown = shown;
    navigator.serviceWorker?.addEventListener("message", ({ data, ports: [port] }) => {
      if (typeof data?.judge !== "string" || !port) return;
      if (!this.#judged.has(data.judge)) this.#judged.set(data.judge, this.#judge(data.judge));
      this.#judged.get(data.judge).then((answer) => port.postMessage(answer));
    });
    navigator.serviceWorker?.startMessages();
  }

  /** Ask the host once. Another page that an earlier visit found takes over at once. */
  async look() {
    const workers = navigator.serviceWorker;
    const scope = new URL("./", location).href;
    this.#registration = await workers?.getRegistration().catch(() => undefined);
    if (this.#registration?.scope !== scope) return; // the first visit: this is the newest page
    const controlled = workers.controller !== null;
    workers.addEventListener("controllerchange", () => {
      if (this.#reloading) location.reload();
      else if (controlled && this.#larger) this.#offer(); // another tab took the newer page over
    });
    if (this.#registration.waiting) {
      this.#show();
      await new Promise((resolve) => setTimeout(resolve, PATIENCE));
    }
    this.#registration.addEventListener("updatefound", () => this.#await(this.#registration.installing));
    this.#await(this.#registration.installing);
    this.#registration.update().catch(() => undefined); // without a network, this page goes on
  }

  #await(worker) {
    worker?.addEventListener("statechange", async () => {
      if (worker.state !== "installed") return;
      await Promise.all(this.#judged.values()); // another tab may have answered first
      if (this.#larger) this.#offer();
    });
  }

  #offer() {
    const button = element("button", { type: "button", class: "plain", click: () => this.#show() }, words("newer_show"));
    byId("newer").replaceChildren(words("newer"), " ", button);
  }

  /** Whether the page that a cache holds may follow this one. */
  async #judge(name) {
    const { key, release: shown } = await this.#shown;
    let bytes;
    try {
      const cache = await caches.open(name);
      const contents = await Contents.open((file) => cache.match(file));
      bytes = await contents.bytes("release");
      if (key !== undefined && contents.facts.key !== key) throw new PageError("another_key");
      const { release } = await Client.open(bytes, { signature: await contents.text("signature"), key: contents.facts.key });
      this.#larger = larger(release, shown);
      return true;
    } catch (error) {
      if (bytes && shown) showDoubt(error);
      return false;
    }
  }

  /** Stars are in the browser's storage, and so outlive the page. */
  #show() {
    this.#reloading = true;
    if (this.#registration.waiting) this.#registration.waiting.postMessage("show");
    else location.reload();
  }
}

/**
 * Whether a release has a larger number than the one that is shown; without a ledger in common, nothing tells.
 *
 * @throws {Error} it has a smaller one.
 */
function larger(release, shown) {
  if (shown === undefined) return false;
  const [next, last] = [release.statement.ledger, shown.statement.ledger];
  if (!next?.id || next.id !== last?.id || next.seq === undefined || last.seq === undefined) return false;
  if (next.seq < last.seq) throw new PageError("not_latest", { next: next.seq, last: last.seq });
  return next.seq > last.seq;
}
