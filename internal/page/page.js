"use strict";
const rowHeight = 25, ahead = 20;

// compare orders values: numbers first, nothing last.
function compare(x, y, down) {
  if (x === "" || y === "") return (x === "") - (y === "");
  if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
  const sign = typeof x === "number" ? x - y : x.localeCompare(y);
  return down ? -sign : sign;
}

// turned marks the head that a table is sorted by, and says whether downwards.
function turned(heads, head) {
  const down = head.getAttribute("aria-sort") === "ascending";
  heads.forEach(other => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  return down;
}

const words = field => field.value.toLowerCase().split(/\s+/).filter(Boolean);

// short sorts and filters rows that stand in the page.
function short(table) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, at) => head.querySelector("button").addEventListener("click", () => {
    const down = turned(heads, head);
    const value = row => { const cell = row.cells[at]; return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v); };
    body.append(...[...body.rows].sort((a, b) => compare(value(a), value(b), down)));
  }));
  return all => {
    for (const row of body.rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !all.every(word => text.includes(word));
    }
  };
}

// long shows the rows of a long table that are in view.
function long(table, columns) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells], scroll = table.parentElement;
  const looks = heads.map(head => head.className), n = columns[0].r.length;
  const text = (c, row) => { const t = c.t[c.r[row]]; return typeof t === "string" ? t : t[0]; };
  const value = (c, row) => { const t = c.t[c.r[row]]; return typeof t === "string" ? t : t[1]; };
  const all = Array.from({length: n}, (_, i) => i);
  let order = all.slice(), shown = all;
  const spacer = height => { const row = document.createElement("tr"), cell = row.insertCell(); row.className = "space"; row.setAttribute("aria-hidden", "true"); cell.colSpan = heads.length; cell.height = height; return row; };
  const draw = () => {
    const from = Math.max(0, Math.floor(scroll.scrollTop / rowHeight) - ahead);
    const to = Math.min(shown.length, from + Math.ceil(scroll.clientHeight / rowHeight) + 2 * ahead);
    const rows = [spacer(from * rowHeight)];
    for (const i of shown.slice(from, to)) {
      const row = document.createElement("tr");
      columns.forEach((c, k) => { const cell = row.insertCell(); cell.className = looks[k]; cell.textContent = text(c, i); });
      rows.push(row);
    }
    rows.push(spacer((shown.length - to) * rowHeight));
    body.replaceChildren(...rows);
  };
  table.classList.add("long");
  table.setAttribute("aria-rowcount", n);
  heads.forEach((head, at) => head.querySelector("button").addEventListener("click", () => {
    const down = turned(heads, head), keys = all.map(i => value(columns[at], i)), known = new Set(shown);
    order = all.slice().sort((a, b) => compare(keys[a], keys[b], down) || a - b);
    shown = order.filter(i => known.has(i));
    draw();
  }));
  let waiting = false;
  scroll.addEventListener("scroll", () => { if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; draw(); }); } });
  draw();
  return list => {
    const hits = columns.map(c => c.t.map(t => (typeof t === "string" ? t : t[0]).toLowerCase()));
    shown = order.filter(i => list.every(word => columns.some((c, k) => hits[k][c.r[i]].includes(word))));
    scroll.scrollTop = 0;
    draw();
  };
}

for (const table of document.querySelectorAll("table.sortable")) {
  const data = document.querySelector(`script[data-rows="${table.id}"]`);
  const filter = data ? long(table, JSON.parse(data.textContent)) : short(table);
  const field = document.querySelector(`input[data-filters="${table.id}"]`);
  if (field) field.addEventListener("input", () => filter(words(field)));
}
for (const button of document.querySelectorAll("button[data-all]")) {
  button.addEventListener("click", () => button.setAttribute("aria-pressed", String(document.getElementById(button.dataset.all).classList.toggle("all"))));
}
for (const button of document.querySelectorAll("button.copy")) {
  button.addEventListener("click", async () => {
    const pre = button.nextElementSibling;
    try {
      await navigator.clipboard.writeText(pre.textContent);
    } catch {
      getSelection().selectAllChildren(pre);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    button.setAttribute("aria-live", "polite");
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}
