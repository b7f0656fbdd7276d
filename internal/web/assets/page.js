// What all views share: colours, language, copying, links between rows and marks, settings, limits that are dragged.
import { between, brush } from "./brush.js";
import { frames, slide } from "./slide.js";

const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const root = document.documentElement;
const year = 31536000;
const remember = (name, value) => { document.cookie = `${name}=${value}; path=/; max-age=${year}; samesite=strict`; };
const say = text => { document.getElementById("said").textContent = text; };

// Drawings are made for the width of the page; a page that was drawn for another is fetched again.
const phone = matchMedia("(max-width: 760px)");
const wasNarrow = document.cookie.split("; ").includes("narrow=1");
if (phone.matches !== wasNarrow) {
  remember("narrow", phone.matches ? "1" : "0");
  if (document.querySelector("svg.chart")) location.reload();
}

// Of the stages of an answer the last that is whole stays.
const whole = all(".stage").filter(s => s.querySelector(":scope > .end"));
for (const s of all(".stage")) if (s !== whole.at(-1)) s.remove();
const next = document.querySelector("[data-elsewhere]");
if (next) location.replace(next.href);

function start(part) {
  for (const b of all("[data-theme-toggle]", part)) b.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    remember("theme", root.dataset.theme);
  });
  for (const b of all("[data-language]", part)) b.addEventListener("click", () => { remember("language", b.dataset.language); location.reload(); });
  for (const b of all("[data-copy]", part)) b.addEventListener("click", async () => {
    const from = document.getElementById(b.dataset.copy), text = b.textContent;
    try {
      await navigator.clipboard.writeText(from.textContent);
    } catch {
      getSelection().selectAllChildren(from);
      document.execCommand("copy");
    }
    b.textContent = "✓ " + text;
    say(text + " ✓");
    setTimeout(() => { b.textContent = text; }, 1500);
  });
  for (const s of all("select[data-go]", part)) s.addEventListener("change", () => { location.assign(s.value); });
  for (const d of all(".word", part)) {
    d.addEventListener("toggle", () => { if (d.open) d.querySelector("input, select").select?.() ?? d.querySelector("input, select").focus(); });
    d.addEventListener("keydown", e => { if (e.key === "Escape") { d.open = false; d.querySelector("summary").focus(); } });
  }
  for (const e of all("[data-p]", part)) {
    if (["dot", "time", "brush"].includes(e.dataset.p)) continue;
    const mark = on => all(`[data-p="${CSS.escape(e.dataset.p)}"]`).forEach(x => x.classList.toggle("hot", on));
    for (const [event, on] of [["pointerenter", true], ["pointerleave", false], ["focusin", true], ["focusout", false]]) e.addEventListener(event, () => mark(on));
  }
  // A row opens by a click or Enter, and is pinned with Shift.
  for (const row of all("tr[data-pin]", part)) row.addEventListener("click", e => {
    const a = e.target.closest("a");
    if (e.shiftKey && row.dataset.pin && !a?.classList.contains("pinb")) { e.preventDefault(); location.assign(row.dataset.pin); }
    else if (!a) location.assign(row.querySelector("th a").href);
  });
  for (const a of all("svg a", part)) a.addEventListener("click", e => {
    const ref = a.querySelector("[data-p]")?.dataset.p, row = ref && document.querySelector(`tr[data-p="${CSS.escape(ref)}"]`);
    if (e.shiftKey && row?.dataset.pin) { e.preventDefault(); location.assign(row.dataset.pin); }
  });
  for (const f of all("[type=file]", part)) f.addEventListener("change", () => {
    f.setCustomValidity(f.files[0]?.size > f.dataset.most ? f.labels[0].textContent : "");
    f.reportValidity();
  });
  for (const f of all("[data-find]", part)) f.addEventListener("input", () => {
    const words = f.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const s of all(".setting")) s.hidden = !words.every(w => s.dataset.words.toLowerCase().includes(w));
    for (const g of all("fieldset")) g.hidden = !all(".setting", g).some(s => !s.hidden);
  });
  for (const a of all("[data-here]", part)) a.addEventListener("click", async e => {
    e.preventDefault();
    try { await navigator.clipboard.writeText(location.href); say(a.textContent + " ✓"); } catch { location.assign(a.href); }
  });
  for (const l of all("[data-later]", part)) later(l);
  for (const f of all("[data-cells]", part)) cells(f);
  for (const g of all("[data-p=limit]", part)) limit(g);
  const why = part.querySelector("#why");
  if (why) {
    const page = frames(say);
    for (const s of all(".sliders", part)) slide(s, page, start);
    for (const f of all("[data-chart=timeline]", part)) {
      const place = brush(f, f.dataset.brush, between, (a, b) => {
        const q = new URLSearchParams(location.search);
        q.set("window", `${a}:${b}`);
        page.ask(q);
      });
      why.addEventListener("drawn", place);
    }
  }
  for (const f of all("[data-chart=load]", part)) requests(f);
}

// later fetches a part of the page that takes long; its phase is named, and it can be stopped.
async function later(place) {
  const stop = document.createElement("button"), control = new AbortController(), phase = place.querySelector("[data-phase]");
  stop.type = "button"; stop.textContent = "×"; stop.setAttribute("aria-label", place.dataset.ends);
  stop.addEventListener("click", () => control.abort());
  phase?.append(" ", stop);
  try {
    const r = await fetch(place.dataset.later, { signal: control.signal });
    const text = await r.text();
    if (!r.ok) throw new Error(new DOMParser().parseFromString(text, "text/html").querySelector(".answer")?.textContent ?? r.status);
    const doc = new DOMParser().parseFromString(text, "text/html");
    place.replaceChildren(...doc.body.childNodes);
    start(place);
  } catch (e) {
    if (phase) phase.textContent = e.name === "AbortError" ? "—" : e.message;
  }
}

// requests lists those of a part of a run, and the steps of one of them.
function requests(figure) {
  const place = document.getElementById("requests"), q = new URLSearchParams(location.search);
  const show = async () => {
    const hint = document.createElement("p");
    hint.className = "hint"; hint.role = "status"; hint.dataset.phase = ""; hint.textContent = place.dataset.says;
    place.replaceChildren(hint);
    const asked = place.dataset.asked = `${place.dataset.part}?${q}`;
    const r = await fetch(asked);
    const doc = new DOMParser().parseFromString(await r.text(), "text/html");
    if (place.dataset.asked !== asked) return;
    place.replaceChildren(...(r.ok ? doc.body.childNodes : [doc.querySelector(".answer") ?? ""]));
    for (const a of all("a[data-request]", place)) a.addEventListener("click", e => {
      e.preventDefault();
      q.set("request", a.dataset.request);
      history.replaceState(null, "", `?${q}`);
      show();
    });
    place.querySelector("[data-steps]")?.focus();
  };
  const first = (q.get("between") ?? "0:10").split(":").map(v => v / 100);
  brush(figure, figure.dataset.brush, () => first, (a, b, rests) => {
    first[0] = a / 100; first[1] = b / 100;
    if (!rests) return;
    q.delete("request");
    q.set("between", `${a}:${b}`);
    history.replaceState(null, "", `?${q}`);
    show();
  });
  if (q.get("between")) show();
}

// cells leads from a map that is an image to what was clicked, or chosen with the arrow keys.
function cells(figure) {
  const columns = figure.dataset.columns.split("|"), rows = figure.dataset.rows.split("|");
  const image = () => [...figure.querySelectorAll("image")].find(i => i.getBoundingClientRect().width > 0);
  const open = (column, row) => location.assign(`${figure.dataset.cells}&column=${column}&row=${row}`);
  figure.addEventListener("click", e => {
    const at = image()?.getBoundingClientRect();
    if (!at || e.clientX < at.left || e.clientX >= at.right || e.clientY < at.top || e.clientY >= at.bottom) return;
    open(Math.floor((e.clientX - at.left) / at.width * columns.length), Math.floor((e.clientY - at.top) / at.height * rows.length));
  });
  const cursor = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, text] of Object.entries({ class: "cursor", tabindex: "0", role: "button", "aria-label": figure.dataset.says })) cursor.setAttribute(name, text);
  let x = 0, y = 0;
  const place = () => {
    const of = name => +image().getAttribute(name), w = of("width") / columns.length, h = of("height") / rows.length;
    for (const [name, v] of Object.entries({ x: of("x") + x * w, y: of("y") + y * h, width: w, height: h })) cursor.setAttribute(name, v.toFixed(2));
  };
  cursor.addEventListener("keydown", e => {
    const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key] ?? [0, 0], by = e.shiftKey ? 10 : 1;
    if (e.key === "Enter") open(x, y);
    if (!dx && !dy) return;
    e.preventDefault();
    x = Math.max(0, Math.min(columns.length - 1, x + by * dx)); y = Math.max(0, Math.min(rows.length - 1, y + by * dy));
    place();
    say(`${columns[x]}, ${rows[y]}`);
  });
  place();
  figure.querySelector("svg").append(cursor);
}

// limit lets the line of a limit be dragged: what is forbidden follows at once, and what is known and still holds is
// ranked again; the search runs when it rests.
function limit(line) {
  const svg = line.ownerSVGElement, [from, to, low, high, log] = svg.dataset.across.split(" ");
  const x0 = +from, x1 = +to, v0 = +low, v1 = +high, isLog = log === "true";
  const at = v => x0 + (x1 - x0) * (isLog ? Math.log(v / v0) / Math.log(v1 / v0) : (v - v0) / (v1 - v0));
  const value = x => isLog ? v0 * Math.exp((x - x0) / (x1 - x0) * Math.log(v1 / v0)) : v0 + (x - x0) / (x1 - x0) * (v1 - v0);
  const shade = svg.querySelector("[data-p=forbidden]");
  const field = document.getElementById("w-tpot");
  if (!field || new URL(location).searchParams.get("over")) return;
  const path = line.getAttribute("d"), home = +path.match(/^M([\d.]+)/)[1], area = shade?.getAttribute("d");
  let now = 1000 / value(home), timer;
  for (const [name, text] of Object.entries({
    tabindex: "0", role: "slider", "aria-label": "TPOT", "aria-valuemin": (1000 / v1).toFixed(1), "aria-valuemax": (1000 / v0).toFixed(1), "aria-valuenow": now.toFixed(1), "aria-valuetext": `${now.toFixed(0)} ms`,
  })) line.setAttribute(name, text);
  const set = ms => {
    now = Math.min(1000 / v0, Math.max(1000 / v1, ms));
    const x = at(1000 / now), u = 1000 / now;
    line.setAttribute("d", path.replaceAll(String(home), x.toFixed(1)));
    if (area) shade.setAttribute("d", area.replaceAll(String(home), x.toFixed(1)));
    line.setAttribute("aria-valuenow", now.toFixed(1));
    line.setAttribute("aria-valuetext", `${now.toFixed(0)} ms`);
    const rows = all("tr[data-u]").sort((a, b) => a.dataset.merit - b.dataset.merit);
    for (const row of rows) row.hidden = +row.dataset.u < 0.995 * u; // which has three digits
    rows[0]?.parentNode.append(...rows);
    say(`TPOT ≤ ${now.toFixed(0)} ms`);
  };
  const rest = () => {
    clearTimeout(timer);
    timer = setTimeout(() => { field.value = `${Number(now.toPrecision(3))}ms`; field.form.requestSubmit(); }, 100);
  };
  line.addEventListener("keydown", e => {
    const d = { ArrowLeft: 1, ArrowDown: 1, ArrowRight: -1, ArrowUp: -1 }[e.key];
    if (!d) return;
    e.preventDefault();
    set(now + d * (e.shiftKey ? 10 : 1));
    clearTimeout(timer);
    timer = setTimeout(rest, 400);
  });
  line.addEventListener("pointerdown", e => { line.setPointerCapture(e.pointerId); svg.classList.add("grabbed"); e.preventDefault(); });
  line.addEventListener("pointermove", e => {
    if (!line.hasPointerCapture(e.pointerId)) return;
    const p = new DOMPoint(e.clientX, e.clientY).matrixTransform(svg.getScreenCTM().inverse());
    set(1000 / value(Math.min(x1, Math.max(x0, p.x))));
  });
  line.addEventListener("pointerup", () => { svg.classList.remove("grabbed"); rest(); });
}

start(document);
