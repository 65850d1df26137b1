// How privacy figures are printed: rounded to the safe side, never to the nearest.

/**
 * A cost or loss (ε, δ) in `digits` significant digits, never below the figure; ∞ for null.
 * @param {number | null} figure at least 0
 * @param {number} [digits] at most 15
 */
export function above(figure, digits = 6) {
  if (figure === null || figure === Infinity) return "∞";
  let [mantissa, power] = figure.toExponential(digits - 1).split("e");
  let exponent = Number(power);
  if (Number(`${mantissa}e${power}`) < figure) {
    [mantissa, power] = (Number(mantissa.replace(".", "")) + 1).toExponential(digits - 1).split("e");
    exponent += Number(power) - digits + 1;
  }
  const plain = exponent >= -4 && exponent < digits;
  const shown = plain ? Number(`${mantissa}e${exponent}`).toFixed(digits - 1 - exponent) : mantissa;
  const trimmed = shown.replace(/\.0+$|(\.\d*?)0+$/, "$1");
  return plain ? trimmed : `${trimmed}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}
