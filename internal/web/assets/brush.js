// A brush chooses a part of what a chart shows from left to right: drag, or the arrow keys, with Shift for its width. Init says
// which shares of it are chosen at first, or after another drawing; changed hears of others, and whether the brush rests.
export function brush(figure, label, init, changed) {
  const least = 0.0005;
  const percent = v => Math.round(v * 1e4) / 100;
  let rect = null, drag = null, x0 = 0, x1 = 1, a = 0, b = 1, timer = 0;
  const draw = () => {
    rect.setAttribute("x", (x0 + a * (x1 - x0)).toFixed(1));
    rect.setAttribute("width", Math.max(2, (b - a) * (x1 - x0)).toFixed(1));
    rect.setAttribute("aria-valuenow", percent((a + b) / 2));
    rect.setAttribute("aria-valuetext", `${percent(a)} % – ${percent(b)} %`);
  };
  const place = () => {
    const svg = figure.querySelector("svg"), at = svg && init(svg);
    if (!at) { rect?.remove(); return; }
    const [from, to, , , , top, bottom] = svg.dataset.across.split(" ").map(Number);
    [x0, x1] = [from, to];
    if (rect?.ownerSVGElement !== svg) {
      rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      for (const [name, text] of Object.entries({ class: "brush", tabindex: "0", role: "slider", "aria-label": label, "aria-valuemin": "0", "aria-valuemax": "100" })) rect.setAttribute(name, text);
      rect.addEventListener("keydown", key);
      svg.append(rect);
    }
    rect.setAttribute("y", top);
    rect.setAttribute("height", bottom - top);
    if (!drag) [a, b] = at;
    draw();
  };
  const set = (from, to, rests) => {
    a = Math.max(0, Math.min(from, 1 - least)); b = Math.min(1, Math.max(to, a + least));
    draw();
    changed(percent(a), percent(b), rests);
  };
  const key = e => {
    const d = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[e.key];
    if (!d) return;
    e.preventDefault();
    const w = b - a, by = d * w / 2;
    const rests = () => { clearTimeout(timer); timer = setTimeout(() => changed(percent(a), percent(b), true), 400); };
    if (e.shiftKey) set(a - by / 2, b + by / 2, false);
    else if (a + by >= 0 && b + by <= 1) set(a + by, b + by, false);
    else d < 0 ? set(0, w, false) : set(1 - w, 1, false);
    rests();
  };
  const at = e => {
    const p = new DOMPoint(e.clientX, e.clientY).matrixTransform(figure.querySelector("svg").getScreenCTM().inverse());
    return { share: (p.x - x0) / (x1 - x0), y: p.y };
  };
  figure.addEventListener("pointerdown", e => {
    if (!rect?.isConnected) return;
    const p = at(e), y = +rect.getAttribute("y");
    if (p.share < 0 || p.share > 1 || p.y < y || p.y > y + +rect.getAttribute("height")) return;
    drag = { from: p.share, w: b - a };
    figure.setPointerCapture(e.pointerId);
    e.preventDefault();
  });
  const far = p => Math.abs(p - drag.from) * (x1 - x0) > 3;
  figure.addEventListener("pointermove", e => {
    if (!drag) return;
    const p = Math.min(1, Math.max(0, at(e).share));
    if (far(p)) set(Math.min(p, drag.from), Math.max(p, drag.from), false);
  });
  figure.addEventListener("pointerup", e => {
    if (!drag) return;
    const { from, w } = drag, p = Math.min(1, Math.max(0, at(e).share)), moved = far(p);
    drag = null;
    if (moved) set(Math.min(p, from), Math.max(p, from), true);
    else set(Math.max(0, Math.min(1 - w, p - w / 2)), Math.max(w, Math.min(1, p + w / 2)), true);
  });
  place();
  return place;
}

// between are the shares of a chart between its two lines to drag.
export function between(svg) {
  const lines = [...svg.querySelectorAll("path[data-p=brush]")];
  if (lines.length !== 2) return null;
  const [from, to] = svg.dataset.across.split(" ").map(Number);
  return lines.map(l => (+l.getAttribute("d").match(/^M(-?[\d.]+)/)[1] - from) / (to - from));
}
