import { byId, element, titled } from "./element.js";
import { starGroup } from "./star_group.js";
import { number, parts, words } from "./words.js";

const STEP = 10;
const TENTHS = { minimumFractionDigits: 1, maximumFractionDigits: 1 };

/** The reader's own list, which is computed again whenever a star changes. */
export class Ranking {
  #page;
  #length = STEP;
  #rows = new Map();

  /** @param {import("./page.js").Page} page */
  constructor(page) {
    this.#page = page;
    byId("more").addEventListener("click", () => {
      this.#length += STEP;
      this.show();
    });
  }

  /** Ids on the list, best first. */
  get items() {
    return [...this.#rows.keys()];
  }

  /** Compute the list and show it. */
  show() {
    const { client, stars, titles } = this.#page;
    const before = this.items;
    const tops = new Map([...this.#rows].map(([item, row]) => [item, row.getBoundingClientRect().top]));
    const held = this.items.findIndex((item) => this.#rows.get(item).contains(document.activeElement));
    const listed = client.recommend(stars.given, { n: this.#length });
    this.#rows = new Map(listed.map((entry) => [entry.itemId, this.#row(entry)]));
    byId("ranked").replaceChildren(...this.#rows.values());
    byId("more").hidden = listed.length < this.#length;
    this.#slide(tops);
    this.#say(before.slice(0, STEP), titles);
    if (held >= 0) this.#focus(held, before[held]);
  }

  #row({ itemId, rating }) {
    const { stars, titles, scale, pictured } = this.#page;
    const title = titles.title(itemId);
    const rated = typeof rating === "number";
    const expected = rated ? element("span", { class: "expected", title: words("expected") }, number(rating, TENTHS)) : element("span");
    const act = element("div", { class: scale ? "act" : "act beside" }, starGroup(title, scale, undefined, (value) => stars.set(itemId, value)));
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

  /** Let rows that stay glide to their new places, unless the reader prefers no motion. */
  #slide(tops) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    for (const [item, row] of this.#rows) {
      const fall = (tops.get(item) ?? NaN) - row.getBoundingClientRect().top;
      if (fall) row.animate([{ transform: `translateY(${fall}px)` }, { transform: "none" }], { duration: 250, easing: "ease-out" });
      else if (tops.size && Number.isNaN(fall)) row.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 250 });
    }
  }

  /** Tell a screen reader what changed, in a few words. */
  #say(before, titles) {
    const { client, stars } = this.#page;
    const after = this.items.slice(0, STEP);
    if (!before.length || after.join() === before.join()) return;
    const first = after.length ? parts("changed_first", { title: titled(titles.title(after[0])) }) : [];
    const n = after.filter((item) => !before.includes(item)).length;
    const whose = client.release.personal && stars.size ? "changed_own" : "changed_all";
    byId("changed").replaceChildren(words(n ? whose : "changed_order", { n, all: after.length }), " ", ...first);
  }

  /** Keep the keyboard where it was: on the same title, or on that which took its place. */
  #focus(place, item) {
    const row = this.#rows.get(item) ?? [...this.#rows.values()][Math.min(place, this.#rows.size - 1)];
    row?.querySelector('[role="radio"][tabindex="0"], .like, input')?.focus({ preventScroll: true });
  }
}
