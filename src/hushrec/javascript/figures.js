// How privacy figures are printed: rounded to the safe side, never to the nearest.

const DIGITS = 6;

/**
 * A cost or loss (ε, δ) in six significant digits, never below the figure; ∞ for null.
 * @param {number | null} figure at least 0
 */
export function above(figure) {
  if (figure === null || figure === Infinity) return "∞";
  let [mantissa, power] = figure.toExponential(DIGITS - 1).split("e");
  let exponent = Number(power);
  if (Number(`${mantissa}e${power}`) < figure) {
    [mantissa, power] = (Number(mantissa.replace(".", "")) + 1).toExponential(DIGITS - 1).split("e");
    exponent += Number(power) - DIGITS + 1;
  }
  const plain = exponent >= -4 && exponent < DIGITS;
  const shown = plain ? Number(`${mantissa}e${exponent}`).toFixed(DIGITS - 1 - exponent) : mantissa;
  const trimmed = shown.replace(/\.0+$|(\.\d*?)0+$/, "$1");
  return plain ? trimmed : `${trimmed}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}
