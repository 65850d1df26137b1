import { byId, element, refill } from "./element.js";
import { saveStars } from "./stars.js";
import { PageError, words } from "./words.js";

const SHOWN = 8;
const STARTERS = 6;
const LISTED = 10;

/** Where titles are found and starred, and where the reader's own stars are kept. */
export class Chooser {
  #page;
  #start = 0;
  #offered = [];

  /** @param {import("./page.js").Page} page */
  constructor(page) {
    this.#page = page;
    byId("search").addEventListener("input", () => this.find());
    byId("others").addEventListener("click", () => {
      this.#start += STARTERS;
      this.find();
    });
    this.#keep();
    this.find();
    this.showOwn();
  }

  /** Show what the search finds, or titles to begin with. */
  find() {
    const { titles, popular, stars } = this.#page;
    const sought = byId("search").value;
    const { items, all } = titles.find(sought, SHOWN);
    if (sought.trim()) {
      byId("found-title").textContent = words(!all ? "found_none" : all > SHOWN ? "found_more" : "found", { n: SHOWN, all });
      this.#offered = items;
    } else {
      const later = [...popular.slice(LISTED), ...popular.slice(0, LISTED)]; // everybody's list beside it has the first
      const free = later.filter((item) => stars.get(item) === undefined);
      if (this.#start >= free.length) this.#start = 0;
      byId("found-title").textContent = words("begin");
      this.#offered = free.slice(this.#start, this.#start + STARTERS);
    }
    byId("others").hidden = Boolean(sought.trim());
    this.showOffered();
  }

  /** Show the offered titles with their stars, in unchanged places. */
  showOffered() {
    this.#fill(byId("found"), this.#offered);
  }

  /** Show the reader's own stars. */
  showOwn() {
    const { stars } = this.#page;
    const { size, waiting, away } = stars;
    this.#fill(byId("own-list"), stars.items);
    this.#fill(byId("away-list"), away);
    byId("own").hidden = !size;
    byId("away").hidden = !away.length;
    byId("export").hidden = !size && !away.length;
    byId("erase").hidden = !stars.kept;
    byId("own-title").textContent = words("own", { of: stars.of, n: size });
    byId("away-title").textContent = words("away_own", { n: away.length });
    byId("kept").textContent = waiting ? words("waiting", { of: stars.of, n: waiting }) : "";
  }

  #fill(list, items) {
    const { titles, pictured } = this.#page;
    refill(list, items.map((item) => element("li", { "data-item": item }, titles.row(item, pictured), this.#page.control(item))));
  }

  /** Buttons that save, load and erase. */
  #keep() {
    const { stars } = this.#page;
    byId("export").addEventListener("click", () => saveStars(stars.text));
    byId("import").addEventListener("click", () => byId("import-file").click());
    byId("import-file").addEventListener("change", async ({ target }) => {
      const [file] = target.files;
      if (!file) return;
      try {
        byId("kept").textContent = told(stars.load(await file.text()));
      } catch (error) {
        const why = error instanceof PageError ? error.message : words("file_unread");
        byId("kept").textContent = words("loaded_none", { why });
      }
      target.value = "";
    });
    byId("erase").addEventListener("click", () => {
      byId("erase-question").textContent = words("erase_question", { n: stars.kept });
      byId("erase-dialog").showModal();
    });
    byId("erase-no").addEventListener("click", () => byId("erase-dialog").close());
    byId("erase-yes").addEventListener("click", () => {
      byId("erase-dialog").close();
      stars.erase();
      byId("kept").textContent = words("erased");
      byId("search").focus();
    });
  }
}

/** What was loaded of a file, in words. */
function told({ all, loaded }) {
  return all === loaded ? words("loaded", { n: all }) : words("loaded_some", { n: all - loaded, loaded, all });
}
