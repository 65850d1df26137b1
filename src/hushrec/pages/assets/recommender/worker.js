/**
 * Keeps every file of the page on this device, each checked by its SHA-256, and answers out of that.
 *
 * What the page fetches goes no further: a file that is not kept is not there. Other addresses of the host can be
 * visited.
 */

const CONTENTS = "contents-digest";
const NAME = `hushrec ${self.registration.scope} ${CONTENTS}`;

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(activate()));
self.addEventListener("message", ({ data }) => {
  if (data === "show") self.skipWaiting(); // the reader wants this page in place of the one before
  if (data === "claim") self.clients.claim();
});
self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method === "GET" && url.href.startsWith(self.registration.scope)) {
    event.respondWith(answer(event.request, url));
  }
});

async function install() {
  const cache = await caches.open(NAME);
  const contents = await fetched("contents.json", CONTENTS);
  const { files } = await contents.clone().json();
  const wanted = Object.keys(files).filter((name) => name !== "index.html");
  await Promise.all(wanted.map(async (name) => cache.put(name, await fetched(name, files[name]))));
  await cache.put("./", await fetched("./", files["index.html"]));
  await cache.put("contents.json", contents);
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
