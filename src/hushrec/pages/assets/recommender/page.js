import { Client } from "./client/client.js";
import { Chooser } from "./chooser.js";
import { Contents } from "./contents.js";
import { byId, element } from "./element.js";
import { lookForNewer } from "./newer.js";
import { showPromise } from "./promise.js";
import { Ranking } from "./ranking.js";
import { showRefusal } from "./refusal.js";
import { starGroup } from "./star_group.js";
import { Stars } from "./stars.js";
import { Titles } from "./titles.js";
import { words } from "./words.js";

/** The page: a client, the reader's own stars, and the parts that show them. */
export class Page {
  /** Of a client, the facts of `contents.json`, and the columns of the titles. */
  constructor(client, facts, columns) {
    const { release } = client;
    const [lo, hi, step] = release.scale ?? [];
    this.client = client;
    this.scale = release.feedback === "ratings" ? { lo, hi, step } : null;
    this.pictured = false;
    const everybodys = client.recommend(this.scale ? {} : [], { n: release.items.length });
    this.popular = everybodys.map(({ itemId }) => itemId); // by how well they are known and liked
    this.titles = new Titles(release.items, columns, this.popular);
    this.stars = new Stars(facts.stars, this.scale, (item) => this.titles.has(item));
    byId("choose-title").textContent = words("choose", { of: this.stars.of });
    this.ranking = new Ranking(this);
    this.chooser = new Chooser(this);
    this.stars.addEventListener("change", () => this.show());
    showPromise(release, facts.statement);
  }

  /** The control by which a reader says what they think of an item. */
  control(item) {
    const [title, value] = [this.titles.title(item), this.stars.get(item)];
    if (value !== false) return starGroup(title, this.scale, value, (chosen) => this.stars.set(item, chosen));
    const click = () => this.stars.set(item, undefined);
    return element("button", { class: "plain back", type: "button", "aria-label": words("back_this", { title }), click }, words("back"));
  }

  /** Show everything anew, after a star changed. */
  show() {
    this.chooser.showOffered();
    this.chooser.showOwn();
    this.ranking.show();
    this.#note();
  }

  #note() {
    const { stars, client } = this;
    const { of, size: n, waiting } = stars;
    byId("list-title").textContent = words(client.release.personal && n ? "list_own" : "list_all");
    const note = words(!client.release.personal ? "note_same" : n ? "note_own" : waiting ? "note_waiting" : "note_all", { of, n });
    const why = client.release.personal ? [] : [client.release.said.taste, " "];
    byId("list-note").replaceChildren(...why, note);
  }
}

async function start(found) {
  byId("loading").hidden = false;
  let show;
  const shown = new Promise((resolve) => (show = resolve));
  found.nothing = () => show({ key: found.facts?.key });
  await lookForNewer(shown);
  const contents = await Contents.open();
  const { facts } = contents;
  found.facts = facts;
  const { key } = facts;
  const [bytes, signature, columns] = await Promise.all([
    contents.bytes("release"), contents.text("signature"), contents.json("titles"),
  ]);
  found.signed = key !== undefined;
  const client = await Client.open(bytes, { signature, key });
  found.signed = false;
  const { release } = client;
  show({ key, release });
  const { titles, features } = release;
  const page = new Page(client, facts, columns ?? { titles, years: features?.year, genres: features?.genres });
  byId("loading").hidden = true;
  byId("main").hidden = false;
  page.show();
  await keepForOffline(page);
}

/** Keep the page on this device. */
async function keepForOffline(page) {
  const note = byId("offline");
  try {
    const active = await installed(await navigator.serviceWorker.register("worker.js", { updateViaCache: "none" }));
    if (!navigator.serviceWorker.controller) {
      const controlled = new Promise((resolve) => navigator.serviceWorker.addEventListener("controllerchange", resolve, { once: true }));
      active.postMessage("claim"); // after a reload past the cache, nothing else makes it answer
      await controlled;
    }
    note.textContent = words("kept_page");
    page.pictured = true;
    page.show();
  } catch {
    note.textContent = words("kept_no_page");
  }
  document.documentElement.dataset.ready = "";
}

/** The worker that answers; fails where the first one was not installed, as when the host has another page by now. */
function installed({ active, waiting, installing }) {
  const worker = waiting ?? installing;
  if (active) return active;
  return new Promise((resolve, reject) => {
    worker.addEventListener("statechange", () => {
      if (["activating", "activated"].includes(worker.state)) resolve(worker);
      if (worker.state === "redundant") reject(new Error(worker.state));
    });
  });
}

const found = {};
start(found).catch((error) => {
  console.info(error);
  found.nothing();
  return showRefusal(error, found);
});
