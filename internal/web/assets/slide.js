// Sliders of the chip: the page is priced again while one moves, with one request under way and
// the newest next. Charts that nobody sees are drawn when they come into view.
import { patch } from "./patch.js";

const reach = 4, zoom = 1.2;
const digits = v => Number(v.toPrecision(4));
const charts = () => [...document.querySelectorAll("[data-chart]")];

// frames asks for what changes on the page; address is where it is.
export function frames(say) {
  const why = document.getElementById("why");
  const stale = new Set();
  let busy = false, waiting = null, timer = 0;
  const seen = () => charts().filter(c => { const r = c.getBoundingClientRect(); return r.bottom > -100 && r.top < innerHeight + 100; }).map(c => c.dataset.chart);
  const ask = async q => {
    if (busy) { waiting = q; return; }
    busy = true;
    const see = seen();
    try {
      const began = performance.now();
      const r = await fetch(`${why.dataset.frame}?${q}&was=${why.dataset.drawn}&see=${see.join(",") || "none"}`);
      const got = await r.json();
      if (!r.ok) { say(got.problems.map(p => p.message).join("; ")); return; }
      for (const c of charts()) see.includes(c.dataset.chart) ? stale.delete(c.dataset.chart) : stale.add(c.dataset.chart);
      why.dataset.stale = [...stale].join(" ");
      show(got);
      performance.measure("frame", { start: began });
      history.replaceState(null, "", got.address);
      clearTimeout(timer);
      timer = setTimeout(() => say(document.getElementById("answer").textContent.slice(0, 120)), 400);
    } catch { /* the next one tells */ } finally {
      busy = false;
      if (waiting) { const next = waiting; waiting = null; ask(next); }
    }
  };
  const show = got => {
    for (const [id, p] of Object.entries(got.patches)) {
      const svg = document.querySelector(`[data-chart="${id}"] svg`);
      if (svg) patch(svg, p, zoom);
    }
    for (const [id, svg] of Object.entries(got.whole ?? {})) {
      const place = document.querySelector(`[data-chart="${id}"]`);
      place?.replaceChildren(document.importNode(new DOMParser().parseFromString(svg, "text/html").querySelector("svg"), true));
    }
    why.dataset.drawn = got.drawn;
    for (const [id, text] of [["answer", got.answer], ["now", got.now], ["operators", got.table]]) {
      document.getElementById(id)?.replaceChildren(...new DOMParser().parseFromString(text, "text/html").body.childNodes);
    }
    const line = document.getElementById("cmd0");
    if (line) line.textContent = got.command;
    why.dispatchEvent(new Event("drawn"));
  };
  addEventListener("scroll", () => { if (!busy && why.isConnected && seen().some(id => stale.has(id))) ask(new URLSearchParams(location.search)); }, { passive: true });
  return { ask, busy: () => busy };
}

export function slide(place, page, start) {
  const words = place.dataset;
  const inputs = [...place.querySelectorAll("input[type=range]")];
  const value = i => digits(+i.dataset.base * Math.pow(reach, (+i.value - 50) / 50));
  const shown = (i, v) => digits(v * i.dataset.scale);
  let asked = 0;
  // The address of what the sliders say; those at the value of the file are left out.
  const query = () => {
    const q = new URLSearchParams(location.search);
    for (const name of ["seek", "until"]) q.delete(name);
    for (const i of inputs) {
      if (+i.value === 50) q.delete(i.dataset.name);
      else q.set(i.dataset.name, value(i));
    }
    return q;
  };
  for (const i of inputs) i.addEventListener("input", () => {
    const row = i.closest(".sl"), v = shown(i, value(i)), was = shown(i, +i.dataset.base);
    row.querySelector("output").textContent = `${v} ${i.dataset.unit}`;
    i.setAttribute("aria-valuetext", `${v} ${i.dataset.unit}, ${words.was} ${was}`);
    row.classList.toggle("moved", +i.value !== 50);
    row.querySelector(".gh").textContent = +i.value === 50 ? words.now : `${words.was} ${was}`;
    asked++;
    page.ask(query());
  });
  // When a slider rests the effects of all numbers are those of the new chip; what stays keeps its place.
  const rested = async i => {
    const at = asked;
    const r = await fetch(`${location.pathname}?${query()}`);
    const doc = new DOMParser().parseFromString(await r.text(), "text/html");
    if (asked !== at || !place.isConnected) return;
    doc.querySelectorAll(".stage:not(:last-of-type)").forEach(s => s.remove());
    const order = inputs.map(i => i.dataset.name), named = row => order.indexOf(row.querySelector("input").dataset.name) + 1 || order.length + 1;
    doc.querySelector(".sliders")?.append(...[...doc.querySelectorAll(".sl")].sort((a, b) => named(a) - named(b)));
    for (const part of [".q", ".stage", ".foot", ".top nav"]) {
      const to = doc.querySelector(part), from = document.querySelector(part);
      if (!to || !from) continue;
      from.replaceWith(document.adoptNode(to));
      start(document.querySelector(part));
    }
    document.title = doc.title;
    document.querySelector(`[data-name="${CSS.escape(i.dataset.name)}"]`)?.focus({ preventScroll: true });
  };
  for (const i of inputs) i.addEventListener("change", () => {
    const wait = () => setTimeout(() => page.busy() ? wait() : rested(i), 100);
    wait();
  });
}
