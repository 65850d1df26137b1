import { byId, element } from "./element.js";

const PATIENCE = 2000; // milliseconds

/**
 * Looks for a newer page when this one is opened, keeps it on this device beside the one that is shown, and offers it.
 *
 * The one request for it is of `worker.js`, the same for every reader.
 */
export class Newer {
  #registration;
  #reloading = false;

  /** Ask the host once. A newer page that an earlier visit found takes over at once. */
  async look() {
    const workers = navigator.serviceWorker;
    const scope = new URL("./", location).href;
    this.#registration = await workers?.getRegistration().catch(() => undefined);
    if (this.#registration?.scope !== scope) return; // the first visit: this is the newest page
    const controlled = workers.controller !== null;
    workers.addEventListener("controllerchange", () => {
      if (this.#reloading) location.reload();
      else if (controlled) this.#offer(); // another tab took the newer page over
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
    worker?.addEventListener("statechange", () => {
      if (worker.state === "installed") this.#offer();
    });
  }

  #offer() {
    const button = element("button", { type: "button", class: "plain", click: () => this.#show() }, "Show it");
    byId("newer").replaceChildren("A newer list is here. ", button);
  }

  /** Stars are in the browser's storage, and so outlive the page. */
  #show() {
    this.#reloading = true;
    if (this.#registration.waiting) this.#registration.waiting.postMessage("show");
    else location.reload();
  }
}
