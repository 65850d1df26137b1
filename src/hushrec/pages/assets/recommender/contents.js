import { sha256 } from "./client/signature.js";
import { PageError } from "./words.js";

/** The files of a page, as `contents.json` names them: each is checked by its SHA-256 before use. */
export class Contents {
  #get;

  /** Of the facts of `contents.json`, and what gets a file by its name and how to use the cache. */
  constructor(facts, get) {
    this.facts = facts;
    this.#get = get;
  }

  static async open(get = asked) {
    const answer = await get("contents.json", "no-cache");
    if (!answer?.ok) throw new PageError("missing_contents");
    return new Contents(await answer.json(), get);
  }

  /** The bytes of the file with this role, such as "release"; undefined where the page has none. */
  async bytes(role) {
    const name = this.facts[role];
    if (name === undefined) return undefined;
    for (const cache of ["default", "reload"]) { // an intermediary may hold the file of an earlier page
      const answer = await this.#get(name, cache);
      const bytes = answer?.ok && (await answer.arrayBuffer());
      if (bytes && (await sha256(bytes)) === this.facts.files[name]) return bytes;
    }
    throw new PageError("missing_file", { name });
  }

  async text(role) {
    const bytes = await this.bytes(role);
    return bytes && new TextDecoder().decode(bytes);
  }

  async json(role) {
    const text = await this.text(role);
    return text && JSON.parse(text);
  }
}

async function asked(name, cache) {
  try {
    return await fetch(name, { cache });
  } catch {
    throw new PageError("unreachable"); // no fault of the page
  }
}
