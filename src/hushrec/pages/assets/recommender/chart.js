import { byId, element, titled } from "./element.js";
import { parts, words } from "./words.js";

const INSET = 24;
const REACH = 18;
const LABELS = 40;
const LARGE = 300;

/** The map of items: a dot each, names of the best known, and marks on the reader's own and their list. */
export class Chart {
  #page;
  #places;
  #marked = [];

  /** @param {{x: number[], y: number[]}} places of the items, from 0 to 1,000. */
  constructor(page, { x, y }) {
    this.#page = page;
    this.#places = new Map(page.client.release.items.map((item, nth) => [item, [x[nth], y[nth]]]));
    byId("map").hidden = false;
    const redraw = () => {
      this.#scatter();
      this.draw();
    };
    new ResizeObserver(redraw).observe(byId("chart"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    byId("chart").addEventListener("pointermove", (event) => this.#hover(event));
    byId("chart").addEventListener("pointerleave", () => this.#name());
    byId("marks").addEventListener("keydown", (event) => this.#step(event));
  }

  /** Show the marks of the reader's own titles and their list, and names, over the dots. */
  draw() {
    const { pen, style, width, height } = sheet("names");
    if (!width) return;
    this.#mark(width, height);
    this.#label(pen, style, width, height);
  }

  /** Draw a dot for every item, which no star changes. */
  #scatter() {
    const { pen, style, width, height } = sheet("dots");
    const dot = style.getPropertyValue("--dot").trim();
    const { popular } = this.#page;
    popular.forEach((item, rank) => {
      const [left, top] = this.#at(item, width, height);
      pen.fillStyle = `rgb(${dot} / ${rank < LARGE ? 60 : 25}%)`;
      pen.beginPath();
      pen.arc(left, top, rank < LARGE ? 2 : 1.2, 0, 7);
      pen.fill();
    });
  }

  #at(item, width, height) {
    const [x, y] = this.#places.get(item);
    return [INSET + (x / 1000) * (width - 2 * INSET), INSET + (1 - y / 1000) * (height - 2 * INSET)];
  }

  /** Names of the best known items, each where it covers neither another name nor a mark. */
  #label(pen, style, width, height) {
    pen.font = `12px ${style.fontFamily}`;
    pen.textBaseline = "middle";
    const taken = this.#marked.map(({ left, top }) => [left - 9, top - 9, left + 9, top + 9]);
    const own = this.#marked.map(({ item }) => item);
    for (const item of [...own, ...this.#page.popular.slice(0, LABELS)]) {
      const title = this.#page.titles.title(item);
      const text = title.length > 28 ? `${title.slice(0, 27)}…` : title;
      const [left, top] = this.#at(item, width, height);
      const long = pen.measureText(text).width;
      const offset = own.includes(item) ? 11 : 6;
      const from = left + offset + long > width - 4 ? left - offset - long : left + offset;
      const box = [from - 2, top - 8, from + long + 2, top + 8];
      if (from < 4 || taken.some((other) => overlap(box, other))) continue;
      taken.push(box);
      pen.fillStyle = style.getPropertyValue(own.includes(item) ? "--ink" : "--quiet");
      pen.fillText(text, from, top);
    }
  }

  #mark(width, height) {
    const { stars, ranking, titles, chooser } = this.#page;
    const own = stars.items.filter((item) => titles.has(item));
    const kinds = [...ranking.items.slice(0, 10).map((item) => [item, "listed"]), ...own.map((item) => [item, "own"])];
    const held = document.activeElement?.closest("#marks li")?.dataset.item;
    this.#marked = kinds.map(([item, kind]) => {
      const [left, top] = this.#at(item, width, height);
      const said = words(`map_${kind}`, { title: titles.title(item) });
      const button = element("button", {
        type: "button", class: kind, "aria-label": said, tabindex: -1,
        focus: () => this.#name(item), blur: () => this.#name(), click: () => chooser.seek(item),
      });
      Object.assign(button.style, { left: `${left}px`, top: `${top}px` });
      return { item, left, top, button };
    });
    byId("marks").replaceChildren(...this.#marked.map(({ item, button }) => element("li", { "data-item": item }, button)));
    const stop = this.#marked.find(({ item }) => item === held) ?? this.#marked[0];
    stop?.button.setAttribute("tabindex", 0);
    if (held && stop) stop.button.focus();
    byId("words").replaceChildren(...kinds.map(([item, kind]) => this.#said(item, kind)));
  }

  /** What lies near an item, in words. */
  #said(item, kind) {
    const { titles, popular } = this.#page;
    const near = this.#nearest(this.#places.get(item), popular.slice(0, LARGE), item).slice(0, 3);
    const names = element("span", {}, ...near.flatMap((one, nth) => [nth ? ", " : "", titled(titles.title(one))]));
    return element("li", {}, ...parts(`near_${kind}`, { title: element("b", {}, titled(titles.title(item))), near: names }));
  }

  #nearest([x, y], items, but) {
    const distance = new Map(items.map((item) => {
      const [left, top] = this.#places.get(item);
      return [item, (left - x) ** 2 + (top - y) ** 2];
    }));
    return items.filter((item) => item !== but).sort((one, other) => distance.get(one) - distance.get(other));
  }

  #hover({ clientX, clientY }) {
    const { left, top, width, height } = byId("chart").getBoundingClientRect();
    let nearest;
    let least = REACH ** 2;
    for (const item of this.#places.keys()) {
      const [x, y] = this.#at(item, width, height);
      const distance = (x - clientX + left) ** 2 + (y - clientY + top) ** 2;
      if (distance < least) [nearest, least] = [item, distance];
    }
    this.#name(nearest);
  }

  #name(item) {
    const label = byId("named");
    label.hidden = item === undefined;
    if (item === undefined) return;
    const { width, height } = byId("chart").getBoundingClientRect();
    const [left, top] = this.#at(item, width, height);
    label.textContent = this.#page.titles.title(item);
    label.style.left = `${Math.max(4, Math.min(left + 12, width - label.offsetWidth - 4))}px`;
    label.style.top = `${top > 44 ? top - 36 : top + 14}px`;
  }

  /** Arrows go from mark to mark, which have one tab stop together. */
  #step(event) {
    const at = this.#marked.findIndex(({ button }) => button === document.activeElement);
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (at < 0 || !by) return;
    const to = (at + by + this.#marked.length) % this.#marked.length;
    this.#marked.forEach(({ button }, nth) => button.setAttribute("tabindex", nth === to ? 0 : -1));
    this.#marked[to].button.focus();
    event.preventDefault();
  }
}

/** A clean canvas, as sharp as the screen, and what to draw with on it. */
function sheet(id) {
  const canvas = byId(id);
  const { width, height } = canvas.getBoundingClientRect();
  const dense = window.devicePixelRatio || 1;
  canvas.width = width * dense;
  canvas.height = height * dense;
  const pen = canvas.getContext("2d");
  pen.scale(dense, dense);
  return { pen, style: getComputedStyle(document.documentElement), width, height };
}

function overlap([left, top, right, bottom], [otherLeft, otherTop, otherRight, otherBottom]) {
  return left < otherRight && right > otherLeft && top < otherBottom && bottom > otherTop;
}
