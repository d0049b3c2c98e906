// What is comfortable beyond reading: search as you type, a filter as you type, keys. Every page works without it.
"use strict";

const field = document.getElementById("q");
const live = document.getElementById("live");
const count = document.getElementById("live-count");
const page = document.getElementById("page");
const PAUSE = 140;

function element(name, text, properties = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  return Object.assign(made, properties);
}

function title(hit) {
  if (hit.href) return [hit.title, hit.href];
  if (hit.entry) return [hit.title || hit.entry.book, "/entries/" + encodeURIComponent(hit.entry.id)];
  return [hit.title || hit.session_id, "/sessions/" + encodeURIComponent(hit.session_token)];
}

function shown(hit) {
  const item = element("li", "", { className: "hit" });
  const [text, href] = title(hit);
  const heading = element("h2", "");
  const marked = hit.parts.map((part) => (part.matched ? element("mark", part.text) : part.text));
  const isWhole = hit.entry && hit.parts.map((part) => part.text).join("") === text;
  const link = element("a", isWhole ? "" : text, { href });
  if (isWhole) link.append(...marked);
  link.dataset.item = "";
  heading.append(link);
  const snippet = element("p", "", { className: "snippet", hidden: isWhole });
  if (!isWhole) snippet.append(...marked);
  const facts = element("p", "", { className: "facts" });
  const kind = hit.entry ? hit.entry.book + " " + hit.entry.trust : hit.kind;
  const said = [kind, (hit.membership_ts || "").slice(0, 10), (hit.project || "").split("/").slice(-2).join("/")];
  facts.append(...said.filter(Boolean).map((one) => element("span", one)));
  const outcome = hit.outcome && hit.outcome !== hit.title ? [element("p", hit.outcome, { className: "outcome" })] : [];
  item.append(heading, ...outcome, snippet, facts);
  return item;
}

async function find(query) {
  if (globalThis.lineageSearch) return lineageSearch(query);
  const answer = await fetch("/api/search?" + new URLSearchParams({ q: query, agent: "all", limit: "8" }));
  return answer.ok ? (await answer.json()).results : null;
}

let asked = 0;

async function look() {
  const query = field.value.trim();
  const number = ++asked;
  if (query.length < 2) {
    leave();
    return;
  }
  const results = await find(query);
  if (!results || number !== asked) return;
  const list = element("ol", "", { className: "hits" });
  list.append(...results.map(shown));
  live.replaceChildren(list);
  live.hidden = false;
  page.hidden = true;
  count.textContent = results.length ? results.length + " found" : "nothing found";
}

function leave() {
  asked += 1;
  live.hidden = true;
  page.hidden = false;
  count.textContent = "";
}

function after(pause, act) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, pause);
  };
}

if (field) {
  field.addEventListener("input", after(PAUSE, look));
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      field.value = "";
      leave();
      field.blur();
    }
    if (event.key === "ArrowDown") step(1, event);
  });
}

const filter = document.getElementById("filter");

function narrow() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const entry of document.querySelectorAll("[data-entry]")) {
    const text = [...entry.querySelectorAll(".said, .facts")].map((one) => one.textContent).join(" ").toLowerCase();
    entry.hidden = !words.every((word) => text.includes(word));
  }
}

if (filter) filter.addEventListener("input", after(PAUSE, narrow));

// A page that came over the network in clear has no clipboard.
for (const from of navigator.clipboard ? document.querySelectorAll("[data-copy]") : []) {
  const button = element("button", "Copy", { className: "copy", type: "button" });
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(from.textContent);
    button.textContent = "Copied";
  });
  from.after(button);
}

const bulk = document.getElementById("bulk");

if (bulk) {
  const button = element("button", "Choose all of this page", { type: "button" });
  button.addEventListener("click", () => {
    for (const box of document.querySelectorAll("[name=ids]")) box.checked = box.checkVisibility();
  });
  bulk.append(" ", button);
}

for (const part of document.querySelectorAll("[data-script]")) part.hidden = false;

for (const button of document.querySelectorAll("[data-go]")) {
  button.hidden = false;
  button.addEventListener("click", () => location.assign(button.dataset.go));
}

function items() {
  return [...document.querySelectorAll("[data-item]")].filter((one) => one.checkVisibility());
}

function step(by, event) {
  const all = items();
  if (!all.length) return;
  const here = all.indexOf(document.activeElement);
  const next = here < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, here + by));
  all[next].focus();
  event.preventDefault();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  if (event.key === "/" && field) {
    field.focus();
    field.select();
    event.preventDefault();
  }
  if (event.key === "j") step(1, event);
  if (event.key === "k") step(-1, event);
});
