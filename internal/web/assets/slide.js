// Sliders of the chip: the page is priced again while one moves, with one request under way and the newest next.
import { patch } from "./patch.js";

const reach = 4, zoom = 1.2;
const digits = v => Number(v.toPrecision(4));

export function slide(place, say) {
  const inputs = [...place.querySelectorAll("input[type=range]")];
  const why = document.getElementById("why");
  let busy = false, waiting = null, timer = 0;
  const value = i => digits(+i.dataset.base * Math.pow(reach, (+i.value - 50) / 50));
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
  const ask = async () => {
    if (busy) { waiting = true; return; }
    busy = true;
    const q = query();
    try {
      const began = performance.now();
      const r = await fetch(`${place.dataset.frame}?${q}&was=${why.dataset.drawn}`);
      const got = await r.json();
      if (!r.ok) { say(got.problems.map(p => p.message).join("; ")); return; }
      show(got);
      performance.measure("frame", { start: began });
      history.replaceState(null, "", got.address);
      clearTimeout(timer);
      timer = setTimeout(() => say(document.getElementById("answer").textContent.slice(0, 120)), 400);
    } catch { /* the next one tells */ } finally {
      busy = false;
      if (waiting) { waiting = null; ask(); }
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
    for (const [id, text] of [["answer", got.answer], ["operators", got.table]]) {
      document.getElementById(id).replaceChildren(...new DOMParser().parseFromString(text, "text/html").body.childNodes);
    }
    const line = document.getElementById("cmd0");
    if (line) line.textContent = got.command;
  };
  for (const i of inputs) i.addEventListener("input", () => {
    const v = value(i), row = i.closest(".sl");
    row.querySelector("output").textContent = `${v} ${i.dataset.unit}`;
    i.setAttribute("aria-valuetext", `${v} ${i.dataset.unit}, was ${digits(+i.dataset.base)}`);
    row.classList.toggle("moved", +i.value !== 50);
    row.querySelector(".gh").textContent = +i.value === 50 ? "now" : `was ${digits(+i.dataset.base)}`;
    ask();
  });
  // When a slider rests the effects of all numbers are those of the new chip.
  for (const i of inputs) i.addEventListener("change", () => { setTimeout(() => { if (!busy) location.replace(`${location.pathname}?${query()}#ch-h`); }, 600); });
}
