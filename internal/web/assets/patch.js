// A patch turns one drawing into the next, as the server drew both.
const space = "http://www.w3.org/2000/svg";

function make(e) {
  const out = document.createElementNS(space, e.tag);
  out.id = e.id;
  for (const [name, value] of e.attributes) out.setAttribute(name, value);
  if (e.text) out.textContent = e.text;
  else if (e.title) tip(out, e.title);
  if (!e.link) return out;
  const a = document.createElementNS(space, "a");
  a.setAttribute("href", e.link);
  a.append(out);
  return a;
}

function tip(of, text) {
  const t = document.createElementNS(space, "title");
  t.textContent = text;
  of.replaceChildren(t);
}

const outer = e => e.parentNode.localName === "a" ? e.parentNode : e;

export function patch(svg, p, zoom) {
  if (p.width) {
    svg.setAttribute("viewBox", `0 0 ${p.width} ${p.height}`);
    svg.setAttribute("width", +(p.width * zoom).toFixed(1));
    svg.setAttribute("height", +(p.height * zoom).toFixed(1));
  }
  if (p.title) svg.querySelector("title").textContent = p.title;
  if (p.description) svg.querySelector("desc").textContent = p.description;
  const byID = id => svg.getElementById(id);
  for (const id of p.remove ?? []) outer(byID(id)).remove();
  for (const c of p.change ?? []) {
    const e = byID(c.id);
    for (const [name, value] of Object.entries(c.attributes ?? {})) value === null ? e.removeAttribute(name) : e.setAttribute(name, value);
    if (c.text !== undefined) e.textContent = c.text;
    if (c.title !== undefined) tip(e, c.title);
  }
  (p.add ?? []).forEach((e, i) => {
    const after = p.after[i] ? outer(byID(p.after[i])) : svg.querySelector("desc");
    after.after(make(e));
  });
}
