import { element } from "./element.js";
import { number, words } from "./words.js";

const LARGEST_GROUP = 10;

/**
 * The control by which one item is starred or, without a scale, liked.
 *
 * Stars are a group of radio buttons with one tab stop: arrows move, Space or Enter chooses, digits choose at
 * once, Delete takes the stars away. Arrows choose nothing by themselves, since a starred title leaves the list.
 *
 * A scale in steps of half a star, up to a whole number, shows that many stars, of which each half is a button, and
 * the rating as a figure beside them.
 *
 * @param {?{lo: number, hi: number, step: number}} scale
 * @param {function((number|boolean|undefined)): void} choose
 */
export function starGroup(name, scale, value, choose) {
  if (scale === null) return like(name, value, choose);
  const values = steps(scale);
  if (values.length > LARGEST_GROUP) return field(name, scale, value, choose);
  return group(name, values, inHalves(scale) ? scale.hi : undefined, value, choose);
}

/** Whether ratings are stars and halves of stars. */
function inHalves({ lo, hi, step }) {
  return step === 0.5 && lo > 0 && Number.isInteger(hi) && Number.isInteger(2 * lo);
}

/** All ratings of a scale, ascending. */
function steps({ lo, hi, step }) {
  const count = Math.min(Math.round((hi - lo) / step) + 1, LARGEST_GROUP + 1);
  return Array.from({ length: count }, (_, nth) => Number((lo + nth * step).toPrecision(12)));
}

function like(title, value, choose) {
  const said = { "aria-pressed": String(Boolean(value)), "aria-label": words("like", { title }) };
  const click = () => choose(value ? undefined : true);
  return element("button", { class: "like", type: "button", ...said, click }, words(value ? "like_on" : "like_off"));
}

function field(title, { lo, hi, step }, value, choose) {
  const change = ({ target }) => {
    if (target.value === "") choose(undefined);
    else if (target.valueAsNumber >= lo && target.valueAsNumber <= hi) choose(target.valueAsNumber);
  };
  const label = words("rate", { title, lo, hi });
  return element("input", { type: "number", min: lo, max: hi, step, value: value ?? "", "aria-label": label, change });
}

/** Radio buttons for each of `values`: a star each; or, of `whole` stars, a half each. */
function group(name, values, whole, value, choose) {
  const reached = values.findLastIndex((one) => value !== undefined && one <= value);
  const buttons = values.map((one, nth) => {
    const label = whole ? words("stars_of", { n: one, all: whole }) : words("stars", { n: one });
    return element("button", {
      type: "button", role: "radio", "aria-checked": String(nth === reached), "aria-label": label,
      tabindex: nth === Math.max(reached, 0) ? 0 : -1, click: () => choose(one), pointerenter: () => show(nth),
    });
  });
  const missing = whole ? Array.from({ length: 2 * values[0] - 1 }, () => element("span", { "aria-hidden": "true" })) : [];
  const figure = element("span", { class: "figure", "aria-hidden": "true" });
  const show = (to) => {
    for (const [nth, button] of buttons.entries()) {
      if (whole) button.classList.toggle("full", nth <= to);
      else button.textContent = nth <= to ? "★" : "☆";
    }
    for (const half of missing) half.classList.toggle("full", to >= 0);
    figure.textContent = to < 0 ? "" : number(to === reached ? value : values[to], { minimumFractionDigits: 1 });
  };
  show(reached);
  const clear = element("button", {
    class: "clear", type: "button", tabindex: -1, "aria-hidden": "true", "aria-disabled": String(reached < 0),
    title: words("unstar"), click: () => reached >= 0 && choose(undefined),
  }, "×");
  const keydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = buttons.indexOf(document.activeElement);
    const last = buttons.length - 1;
    const moves = { ArrowRight: at + 1, ArrowUp: at + 1, ArrowLeft: at - 1, ArrowDown: at - 1, Home: 0, End: last };
    if (event.key in moves) move(buttons, Math.min(Math.max(moves[event.key], 0), last));
    else if (event.key === "Delete" || event.key === "Backspace") choose(undefined);
    else if (values.includes(Number(event.key)) && event.key.trim()) choose(Number(event.key));
    else return;
    event.preventDefault();
  };
  const radios = element("span", {
    class: whole ? "stars halves" : values.length > 5 ? "stars many" : "stars", role: "radiogroup",
    "aria-label": words("stars_for", { title: name }), "aria-description": words("stars_help"),
    pointerleave: () => show(reached), keydown,
  }, ...missing, ...buttons);
  return element("span", { class: "rated" }, radios, ...(whole ? [figure] : []), clear);
}

function move(buttons, to) {
  buttons.forEach((button, nth) => button.setAttribute("tabindex", nth === to ? 0 : -1));
  buttons[to].focus();
}
