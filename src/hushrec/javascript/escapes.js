// Safe display of text from other people's files: it cannot imitate other lines or turn the text around.

/** Bytes in a title or in another public text about an item. */
export const LARGEST_LINE = 512;

/** One blank, as Python knows them: those of JavaScript differ. */
export const BLANK = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";

const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;
const ACTING = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const BLANKS = new RegExp(`${BLANK}+`, "u");
const PLAIN = /^[!-~]+(?: [!-~]+)*$/;
const SHORT = new Map([["\t", "\\t"], ["\n", "\\n"], ["\r", "\\r"]]);
const UTF8 = new TextEncoder();

/**
 * Whether every character of a text can be printed.
 * @param {string} text
 */
export function printable(text) {
  return !HIDDEN.test(text);
}

/**
 * A text whose control and format characters, line ends and lone surrogates are escaped: `\n`, `\x1b`.
 * @param {string} text
 */
export function escaped(text) {
  return printable(text) ? text : text.replace(ACTING, escape);
}

/**
 * A text in Unicode NFC as one escaped line, with single blanks, cut to `LARGEST_LINE` bytes.
 * @param {string} text
 */
export function oneLine(text) {
  if (text.length <= LARGEST_LINE && PLAIN.test(text)) return text;
  const line = escaped(text.normalize("NFC").split(BLANKS).filter(Boolean).join(" "));
  const bytes = UTF8.encode(line);
  if (bytes.length <= LARGEST_LINE) return line;
  let end = LARGEST_LINE - 3;
  while ((bytes[end] & 0xc0) === 0x80) end -= 1; // not in the middle of a character
  return `${new TextDecoder().decode(bytes.subarray(0, end)).trimEnd()}…`;
}

/** @param {string} sign */
function escape(sign) {
  const code = /** @type {number} */ (sign.codePointAt(0));
  const [mark, width] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
  return SHORT.get(sign) ?? `\\${mark}${code.toString(16).padStart(width, "0")}`;
}
