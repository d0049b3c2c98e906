// Search in an exported site, also from a folder: words and pages are scripts, and only those needed are loaded.
"use strict";

(() => {
  const root = new URL("..", document.currentScript.src);
  const UNSPACED = "\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\u3040-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{3ffff}";
  const WORD = new RegExp(`[${UNSPACED}]+|(?:(?![${UNSPACED}])[\\p{L}\\p{N}])+`, "gu");
  const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`, "u");
  const NAME = /^(index|words-\d+|pages-\d+)$/;
  const MOST = 20;
  const MOST_PAGES = 200; // of long sessions
  const MOST_WORDS = 12;
  const MOST_SCRIPTS = 40; // of a beginning that thousands of words have
  const waiting = new Map();

  function address(name) {
    if (!NAME.test(name)) throw new TypeError(name);
    return new URL("search/" + name + ".js", root).href;
  }

  const policy = globalThis.trustedTypes
    ? trustedTypes.createPolicy("lineage-search", { createScriptURL: address })
    : { createScriptURL: address };

  globalThis.lineageData = (name, data) => waiting.get(name).resolve(data);

  function load(name) {
    if (!waiting.has(name)) {
      const script = document.createElement("script");
      const one = {};
      one.data = new Promise((resolve, reject) => {
        one.resolve = resolve;
        script.addEventListener("error", () => {
          waiting.delete(name);
          reject(new Error(name));
        });
      });
      waiting.set(name, one);
      script.src = policy.createScriptURL(name);
      document.head.append(script);
    }
    return waiting.get(name).data;
  }

  function split(text) {
    const plain = text.toLowerCase().normalize("NFKD").replace(/\p{M}+/gu, "");
    return (plain.match(WORD) || []).flatMap((word) => {
      const letters = [...word];
      if (letters.length > 2 && IS_UNSPACED.test(word)) return letters.slice(1).map((after, at) => letters[at] + after);
      return [letters.slice(0, 40).join("")];
    });
  }

  async function lines(index, word) {
    const after = index.words.findIndex((first) => first > word);
    const from = Math.max(0, (after < 0 ? index.words.length : after) - 1);
    const names = [];
    for (let at = from; at < Math.min(index.words.length, from + MOST_SCRIPTS); at += 1) {
      if (at > from && !index.words[at].startsWith(word)) break;
      names.push("words-" + at);
    }
    const loaded = await Promise.all(names.map(load));
    return loaded.flatMap((text) => text.split("\n")).filter((line) => line.startsWith(word));
  }

  // Pages that hold more of the words come first, then those with whole words and words of titles, then the newer.
  async function rank(index, words) {
    const found = new Map();
    for (const word of words) {
      const best = new Map();
      for (const line of await lines(index, word)) {
        const [name, ...steps] = line.split(" ");
        let place = 0;
        for (const step of steps) {
          place += parseInt(step, 36);
          const score = (name === word ? 3 : 1) * (place % 2 ? 4 : 1);
          const page = place >> 1;
          if (!best.has(page) || best.get(page).score < score) best.set(page, { score, name });
        }
      }
      for (const [page, { score, name }] of best) {
        const known = found.get(page) || { page, count: 0, score: 0, name };
        found.set(page, { ...known, count: known.count + 1, score: known.score + score });
      }
    }
    const order = (one, other) => other.count - one.count || other.score - one.score || one.page - other.page;
    return [...found.values()].sort(order);
  }

  globalThis.lineageSearch = async (query) => {
    const words = [...new Set(split(query))].slice(0, MOST_WORDS);
    const index = await load("index");
    const hits = new Map(); // the best page of each session
    for (const { page, name } of (await rank(index, words)).slice(0, MOST_PAGES)) {
      const pages = await load("pages-" + Math.floor(page / index.pages));
      const [path, title, kind, day, project, outcome] = pages[page % index.pages];
      const href = new URL(path, root).href + "#:~:text=" + encodeURIComponent(name);
      const whole = path.replace(/(\.\d+)?\.html$/, "");
      if (!hits.has(whole)) hits.set(whole, { href, title, kind, membership_ts: day, project, outcome, parts: [] });
      if (hits.size === MOST) break;
    }
    return [...hits.values()];
  };
})();
