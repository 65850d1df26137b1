// Which values are numbers, and how privacy figures are printed: rounded to the safe side, never to the nearest.

import { ReleaseError } from "./errors.js";

/**
 * A whole number of at least `least`.
 * @param {unknown} value
 * @param {string} name
 * @param {number} least
 * @returns {number}
 * @throws {ReleaseError} it is anything else
 */
export function whole(value, name, least) {
  if (Number.isInteger(value) && /** @type {number} */ (value) >= least) return /** @type {number} */ (value);
  throw new ReleaseError(`${name} must be a whole number, ${least} or more`);
}

/**
 * A cost or loss (ε, δ) in `digits` significant digits, never below the figure; ∞ for null.
 * @param {number | null} figure at least 0
 * @param {number} [digits] at most 15
 */
export function above(figure, digits = 6) {
  if (figure === null || figure === Infinity) return "∞";
  const [mantissa, power] = figure.toExponential().split("e");
  let [all, exponent] = [mantissa.replace(".", ""), Number(power)];
  let kept = all.slice(0, digits);
  if (/[1-9]/.test(all.slice(digits))) {
    const raised = String(BigInt(kept) + 1n);
    exponent += raised.length - kept.length;
    kept = raised.slice(0, digits);
  }
  kept = kept.replace(/0+$/, "") || "0";
  if (exponent < -4 || exponent >= digits) {
    const rest = kept.length > 1 ? `.${kept.slice(1)}` : "";
    return `${kept[0]}${rest}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  if (exponent < 0) return `0.${"0".repeat(-exponent - 1)}${kept}`;
  const whole = kept.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  const part = kept.slice(exponent + 1);
  return part ? `${whole}.${part}` : whole;
}
