import { PageError } from "./words.js";

/**
 * What this browser has seen of signatures, so that a later page at the same address cannot go back behind it.
 *
 * It is kept by the page's address and not by anything that the page says, which an exchanged page could change.
 */
export class Trust {
  #name = `hushrec.seen.${new URL(".", location.href).pathname}`;
  seen; // undefined if nothing was

  constructor() {
    try {
      this.seen = JSON.parse(localStorage.getItem(this.#name) ?? "null") ?? undefined;
    } catch {
      // storage is switched off: every visit is the first
    }
  }

  /**
   * What the client checks a release by: the texts of the page's signature and key, and what was seen before.
   *
   * @throws {PageError} the page was signed before, and is not any more.
   */
  given(signature, key) {
    if (this.seen && (signature === undefined || key === undefined)) throw new PageError("not_signed");
    return { signature, key, seen: this.seen };
  }

  /** Begin again with the page that the host has now, and with its key: nothing that was kept stays. */
  async forget() {
    localStorage.removeItem(this.#name);
    const scope = new URL("./", location).href;
    const registration = await navigator.serviceWorker?.getRegistration();
    if (registration?.scope === scope) await registration.unregister();
    const names = (await globalThis.caches?.keys()) ?? [];
    await Promise.all(names.filter((name) => name.startsWith(`hushrec ${scope} `)).map((name) => caches.delete(name)));
  }

  /** Remember a signature that was found to be right. */
  remember({ state, chain, ledger, version }) {
    if (state !== "verified") return;
    this.seen = { chain, ledger, version };
    try {
      localStorage.setItem(this.#name, JSON.stringify(this.seen));
    } catch {
      // storage is switched off: every visit is the first
    }
  }
}
