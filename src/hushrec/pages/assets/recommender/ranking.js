import { byId, element, refill, titled } from "./element.js";
import { number, parts, words } from "./words.js";

const STEP = 10;
const TENTHS = { minimumFractionDigits: 1, maximumFractionDigits: 1 };

/** The reader's own list, which is computed again whenever a star changes. */
export class Ranking {
  #page;
  #length = STEP;
  #items = [];
  #gone;

  /** @param {import("./page.js").Page} page */
  constructor(page) {
    this.#page = page;
    byId("more").addEventListener("click", () => {
      this.#length += STEP;
      this.show();
    });
  }

  /** Compute the list and show it. */
  show() {
    const { client, stars } = this.#page;
    const [list, before] = [byId("ranked"), this.#items];
    const tops = new Map([...list.children].map((row) => [row.dataset.item, row.getBoundingClientRect().top]));
    const listed = client.recommend(stars.given, { n: this.#length, exclude: stars.away });
    const rows = listed.map((entry, place) => this.#row(entry, place));
    if (this.#gone) rows.splice(this.#gone.place, 0, this.#row(this.#gone, this.#gone.place)); // until the next change
    this.#gone = undefined;
    this.#items = listed.map(({ itemId }) => itemId);
    refill(list, rows);
    byId("more").hidden = listed.length < this.#length;
    slide(rows, tops);
    this.#say(before.slice(0, STEP));
  }

  #row({ itemId, rating }, place) {
    const { stars, titles, pictured } = this.#page;
    const rated = typeof rating === "number";
    const expected = rated ? element("span", { class: "expected", title: words("expected") }, number(rating, TENTHS)) : element("span");
    const act = element("div", { class: "act" }, this.#page.control(itemId));
    if (stars.get(itemId) === false) return element("li", { "data-item": itemId, class: "gone" }, titles.row(itemId, pictured), act);
    const click = () => {
      this.#gone = { itemId, place };
      stars.set(itemId, false);
    };
    const label = words("away_this", { title: titles.title(itemId) });
    act.append(element("button", { class: "plain away", type: "button", "aria-label": label, click }, words("away")));
    return element("li", { "data-item": itemId }, titles.row(itemId, pictured), expected, ...this.#reason(itemId), act);
  }

  /** Which of the reader's own titles pulls an item up most, in words; nothing if none does. */
  #reason(item) {
    const { client, stars, titles } = this.#page;
    const reasons = client.release.personal && stars.size ? client.reasons(stars.given, item, stars.size) : [];
    const strongest = reasons.find(({ contribution }) => contribution > 0);
    if (!strongest) return [];
    const { itemId } = strongest;
    const title = element("i", {}, titled(titles.title(itemId)));
    return [element("p", { class: "because" }, ...parts("because", { of: stars.of, n: stars.get(itemId), title }))];
  }

  /** Tell a screen reader what changed, in a few words. */
  #say(before) {
    const { client, stars, titles } = this.#page;
    const after = this.#items.slice(0, STEP);
    if (!before.length || after.join() === before.join()) return;
    const first = after.length ? parts("changed_first", { title: titled(titles.title(after[0])) }) : [];
    const n = after.filter((item) => !before.includes(item)).length;
    const whose = client.release.personal && stars.size ? "changed_own" : "changed_all";
    byId("changed").replaceChildren(words(n ? whose : "changed_order", { n, all: after.length }), " ", ...first);
  }
}

/** Let rows that stay glide to their new places, unless the reader prefers no motion. */
function slide(rows, tops) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  for (const row of rows) {
    const fall = (tops.get(row.dataset.item) ?? NaN) - row.getBoundingClientRect().top;
    if (fall) row.animate([{ transform: `translateY(${fall}px)` }, { transform: "none" }], { duration: 250, easing: "ease-out" });
    else if (tops.size && Number.isNaN(fall)) row.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 250 });
  }
}
