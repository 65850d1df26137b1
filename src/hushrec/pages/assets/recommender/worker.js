/**
 * Keeps every file of the page on this device, each checked by its SHA-256, and answers out of that.
 *
 * It is installed only if the page that is open says that it may follow: that page checks the signature by its own
 * key. Otherwise the page that was kept before stays.
 *
 * What the page fetches goes no further: a file that is not kept is not there. Other addresses of the host can be
 * visited.
 */

const CONTENTS = "contents-digest";
const NAME = `hushrec ${self.registration.scope} ${CONTENTS}`;
const PATIENCE = 60; // seconds that an open page has to answer

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(activate()));
self.addEventListener("message", ({ data }) => {
  if (data === "show") self.skipWaiting(); // a visit begins, and takes this page in place of the one before
  if (data === "claim") self.clients.claim();
});
self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method === "GET" && url.href.startsWith(self.registration.scope)) {
    event.respondWith(answer(event.request, url));
  }
});

async function install() {
  const known = await caches.has(NAME); // the page that is kept now may be this one
  try {
    await keep();
    if (!(await allowed())) throw new Error("no open page says that this one may follow it");
  } catch (error) {
    if (!known) await caches.delete(NAME);
    throw error;
  }
}

async function keep() {
  const cache = await caches.open(NAME);
  const contents = await fetched("contents.json", CONTENTS);
  const { files } = await contents.clone().json();
  const wanted = Object.keys(files).filter((name) => name !== "index.html");
  await Promise.all(wanted.map(async (name) => cache.put(name, await fetched(name, files[name]))));
  await cache.put("./", await fetched("./", files["index.html"]));
  await cache.put("contents.json", contents);
}

/** What the first open page answers that has looked at the files; false if none does. */
async function allowed() {
  for (let second = 0; second < PATIENCE; second += 1) {
    const pages = await self.clients.matchAll({ includeUncontrolled: true, type: "window" });
    const answers = pages.map((page) => new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = ({ data }) => resolve(data);
      page.postMessage({ judge: NAME }, [port2]);
    }));
    const answer = await Promise.race([...answers, new Promise((resolve) => setTimeout(resolve, 1000))]);
    if (answer !== undefined) return answer === true;
  }
  return false;
}

/** A file as it should be, out of the browser's cache or of an earlier page if it is there unchanged. */
async function fetched(name, digest) {
  for (const mode of ["default", "reload"]) {
    const answer = await fetch(name, { cache: mode });
    const bytes = await answer.clone().arrayBuffer();
    const found = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    const hex = Array.from(found, (byte) => byte.toString(16).padStart(2, "0")).join("");
    if (answer.ok && hex === digest) return answer;
  }
  throw new Error(`${name} is not the file that contents.json names`);
}

async function activate() {
  const ours = `hushrec ${self.registration.scope} `;
  for (const name of await caches.keys()) if (name.startsWith(ours) && name !== NAME) await caches.delete(name);
  await self.clients.claim();
}

async function answer(request, url) {
  const cache = await caches.open(NAME);
  const path = url.pathname.endsWith("/index.html") ? new URL("./", url).href : url.origin + url.pathname;
  const kept = await cache.match(path);
  if (kept) return kept;
  return request.mode === "navigate" ? fetch(request) : new Response(null, { status: 404 });
}
