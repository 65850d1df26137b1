/**
 * Counts what this page sends once it is loaded.
 *
 * Every request of the page is seen in the browser's own record of resources, with at least the bytes of its
 * address; the bodies that scripts hand to fetch, beacons, XMLHttpRequest and WebSockets are added, and the
 * addresses that they open in another window. Answers out of this device's
 * cache, for which nothing leaves the device, do not count.
 */
export class Counter {
  #bytes = 0;
  #shown;

  /** @param {function(number): void} shown called with the number of bytes, whenever it grows. */
  constructor(shown) {
    this.#shown = shown;
  }

  /** Count from here on. */
  start() {
    const from = performance.now();
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (entry.startTime >= from && leaves(entry)) this.#add(entry.name.length);
    }).observe({ type: "resource", buffered: false });
    document.addEventListener("securitypolicyviolation", (event) => this.#add(event.blockedURI.length));
    this.#weighRequests();
    this.#weigh(window, "fetch", (given, { body } = {}) => body);
    this.#weigh(window, "open", (address) => address);
    this.#weigh(navigator, "sendBeacon", (address, body) => body);
    this.#weigh(XMLHttpRequest.prototype, "send", (body) => body);
    this.#weigh(WebSocket.prototype, "send", (body) => body);
  }

  #weigh(owner, name, bodyOf) {
    const send = owner[name];
    const counter = this;
    owner[name] = function (...given) {
      counter.#add(size(bodyOf(...given)));
      return send.apply(this, given);
    };
  }

  /** A body that is inside a request is read from a copy, since nothing tells its length. */
  #weighRequests() {
    const fetch = window.fetch;
    window.fetch = (given, options) => {
      if (given instanceof Request && given.body && !given.bodyUsed && !options?.body) {
        given.clone().arrayBuffer().then((body) => this.#add(size(body)), () => {});
      }
      return fetch.call(window, given, options);
    };
  }

  #add(bytes) {
    this.#bytes += bytes;
    if (bytes) this.#shown(this.#bytes);
  }
}

/** Whether a request went beyond this device. What `worker.js` answers did not: it passes no fetch of a file on. */
function leaves(entry) {
  const kept = entry.workerStart > 0 && entry.transferSize === 0;
  return !kept && /^https?:|^wss?:/.test(entry.name);
}

function size(body) {
  if (body === undefined || body === null) return 0;
  return body.size ?? body.byteLength ?? new TextEncoder().encode(String(body)).length;
}
