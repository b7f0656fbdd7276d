package pages

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// barriers are what axe-core finds on the page that is shown.
func (s *served) barriers(t *testing.T, axe string) (out []string) {
	t.Helper()
	if axe == "" {
		return nil
	}
	get(t, s, chromedp.Evaluate[json.RawMessage](axe+";0"))
	text := get(t, s, chromedp.Evaluate[string](`axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then(r =>
		JSON.stringify(r.violations.map(v => v.id + ": " + v.nodes.slice(0, 3).map(n => n.target.join(" ") + " " + (n.any[0]?.message ?? n.all[0]?.message ?? n.none[0]?.message ?? "")).join(" | "))))`, chromedp.EvalAwaitPromise))
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// axeSource is the text of axe-core; without it barriers are not looked for, which is said.
func axeSource(t *testing.T) string {
	t.Helper()
	src, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Log("no axe-core, so that nobody looks for barriers: make browser installs it")
	}
	return string(src)
}

// looks measures a page: what is too wide, charts without a name, fields without one, text that is
// too small.
const looks = `(() => {
	const out = [], seen = e => { const r = e.getBoundingClientRect(); return r.width > 0 && r.height > 0; };
	if (document.documentElement.scrollWidth > innerWidth) out.push("the page is " + document.documentElement.scrollWidth + " wide, not " + innerWidth);
	for (const svg of document.querySelectorAll("svg.chart")) {
		if (!svg.querySelector("title")?.textContent || !svg.querySelector("desc")?.textContent) out.push("a chart without a name: " + svg.id);
		if (svg.querySelectorAll("rect,path,circle").length < 3) out.push("an empty chart: " + svg.id);
	}
	for (const e of document.querySelectorAll("main *")) {
		if (!e.closest(".vh") && seen(e) && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) {
			const size = parseFloat(getComputedStyle(e).fontSize) * (e.ownerSVGElement ? e.getScreenCTM().a : 1);
			if (size < 11.9) { out.push("text of " + size.toFixed(1) + " pixels: " + e.textContent.trim().slice(0, 30)); break; }
		}
	}
	if (document.querySelectorAll("*").length > 4000) out.push(document.querySelectorAll("*").length + " nodes");
	return out;
})()`

// TestViews: each view, in both schemes and on a phone, has no barrier, no complaint in the
// console, no request that leaves the server, and fits its window.
func TestViews(t *testing.T) {
	axe := axeSource(t)
	for _, width := range []int64{1280, 390} {
		s := serve(t, width, 900)
		for _, v := range views {
			for _, scheme := range []string{"light", "dark"} {
				if width == 390 && scheme == "dark" {
					continue
				}
				s.scheme(t, scheme)
				s.open(t, v.path)
				at := fmt.Sprintf("%s, %d, %s", v.name, width, scheme)
				for _, b := range s.barriers(t, axe) {
					t.Errorf("%s: %s", at, b)
				}
				for _, b := range get(t, s, chromedp.Evaluate[[]string](looks)) {
					t.Errorf("%s: %s", at, b)
				}
				for _, c := range s.complaints() {
					if !(v.name == "wrong" && strings.Contains(c, "status of 400")) {
						t.Errorf("%s: %s", at, c)
					}
				}
			}
		}
	}
}

// TestPath: from the first page to a plan, a point, its launch lines, two pins, their comparison,
// and the same numbers in another browser, by mouse.
func TestPath(t *testing.T) {
	s := serve(t, 1280, 900)
	s.open(t, "/")
	if n := get(t, s, chromedp.Evaluate[int](`document.querySelectorAll(".asks a").length`)); n != 6 {
		t.Errorf("%d questions on the first page", n)
	}
	s.open(t, views[1].path)
	s.follow(t, chromedp.Click(chromedp.CSS(`.rank tbody tr:nth-child(2) th a`)))
	if text := get(t, s, chromedp.Text(chromedp.CSS(`.side pre`))); !strings.Contains(text, "Llama") && !strings.Contains(text, "serve") {
		t.Errorf("the launch lines are %q", text)
	}
	s.follow(t, chromedp.Click(chromedp.CSS(`.rank tbody tr:nth-child(1) .pinb`)))
	s.follow(t, chromedp.Click(chromedp.CSS(`.rank tbody tr:nth-child(2) .pinb`)))
	if n := get(t, s, chromedp.Evaluate[int](`document.querySelectorAll(".pin").length`)); n != 2 {
		t.Fatalf("%d pins", n)
	}
	s.follow(t, chromedp.Click(chromedp.CSS(`nav li:nth-child(5) a`)))
	answer := get(t, s, chromedp.Text(chromedp.CSS(`.answer`)))
	if !strings.Contains(answer, "A") || !strings.Contains(answer, "B") || get(t, s, chromedp.Evaluate[int](`document.querySelectorAll("svg.between").length`)) != 1 {
		t.Errorf("the comparison says %q", answer)
	}
	at := get(t, s, chromedp.Location())
	other := serve(t, 1280, 900)
	other.open(t, strings.TrimPrefix(at, s.base))
	if again := get(t, other, chromedp.Text(chromedp.CSS(`.answer`))); again != answer {
		t.Errorf("another browser says %q, not %q", again, answer)
	}
	get(t, s, chromedp.Evaluate[bool](`history.back(), true`))
	s.shows(t, "choose")
	if n := get(t, s, chromedp.Evaluate[int](`document.querySelectorAll("table.rank tbody tr").length`)); n == 0 {
		t.Error("back leads to no ranks")
	}
	for _, c := range append(s.complaints(), other.complaints()...) {
		t.Error(c)
	}
}

// follow does what leads to another page, and waits for it.
func (s *served) follow(t *testing.T, a action) {
	t.Helper()
	get(t, s, chromedp.Evaluate[bool](`window.left = true`))
	s.run(t, a)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		// Between two pages there is none to ask.
		if gone, err := chromedp.Run(s.ctx, chromedp.Evaluate[bool](`!window.left && document.readyState === "complete"`)); err == nil && gone {
			s.settled(t)
			return
		}
	}
	t.Fatal("no other page")
}

// shows waits for a view.
func (s *served) shows(t *testing.T, view string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if is, err := chromedp.Run(s.ctx, chromedp.Evaluate[string](`document.querySelector("main")?.dataset.view ?? ""`)); err == nil && is == view {
			return
		}
	}
	t.Fatalf("no view %s", view)
}

// TestKeyboard: the same by keys alone: a word of the question, a row, a pin.
func TestKeyboard(t *testing.T) {
	s := serve(t, 1280, 900)
	s.open(t, views[1].path)
	s.run(t, chromedp.Focus(chromedp.CSS(`.keep:nth-of-type(4) summary`)), chromedp.KeyEvent(kb.Enter))
	get(t, s, chromedp.Poll[bool](`document.activeElement.id === "w-isl"`, chromedp.WithPollingTimeout(patience)))
	s.follow(t, chromedp.Steps(chromedp.SetValue(chromedp.CSS(`#w-isl`), "128"), chromedp.KeyEvent(kb.Enter)))
	if at := get(t, s, chromedp.Location()); !strings.Contains(at, "isl=128") {
		t.Errorf("the question is %s", at)
	}
	s.follow(t, chromedp.Steps(chromedp.Focus(chromedp.CSS(`.rank tbody tr:nth-child(2) .pinb`)), chromedp.KeyEvent(kb.Enter)))
	if !strings.Contains(get(t, s, chromedp.Location()), "pin=") {
		t.Error("nothing is pinned")
	}
	s.follow(t, chromedp.Steps(chromedp.Focus(chromedp.CSS(`.pin a`)), chromedp.KeyEvent(kb.Enter)))
	if get(t, s, chromedp.Evaluate[string](`document.querySelector("main").dataset.view`)) != "why" {
		t.Error("a pin does not open")
	}
	s.run(t, chromedp.KeyEvent(kb.Tab))
	if outline := get(t, s, chromedp.Evaluate[string](`getComputedStyle(document.activeElement).outlineStyle`)); outline != "solid" {
		t.Errorf("focus is shown by %q", outline)
	}
	for _, c := range s.complaints() {
		t.Error(c)
	}
}

// TestFrames: while a slider moves the page is priced again, and its drawings, patched, are those
// that the server draws.
func TestFrames(t *testing.T) {
	s := serve(t, 1280, 900)
	s.open(t, "/why?batch=64&dp=8&isl=256&model=Qwen3-30B-A3B&osl=32&system=H200")
	before := get(t, s, chromedp.Text(chromedp.CSS(`#answer`)))
	for _, value := range []string{"80", "20", "65"} {
		get(t, s, chromedp.Evaluate[bool](`(() => { const i = document.getElementById("s0"); window.was = document.getElementById("why").dataset.drawn; i.value = "`+value+`"; i.dispatchEvent(new Event("input", {bubbles: true})); return true; })()`))
		get(t, s, chromedp.Poll[bool](`document.getElementById("why").dataset.drawn !== window.was`, chromedp.WithPollingTimeout(patience)))
	}
	if after := get(t, s, chromedp.Text(chromedp.CSS(`#answer`))); after == before {
		t.Error("the answer stays as it was")
	}
	for _, id := range []string{"roofline", "timeline", "tpot", "ttft"} { // those out of view are drawn when they come into it
		get(t, s, chromedp.Evaluate[bool](`document.querySelector("[data-chart=`+id+`]").scrollIntoView(), true`))
		get(t, s, chromedp.Poll[bool](`!document.getElementById("why").dataset.stale.split(" ").includes("`+id+`")`, chromedp.WithPollingTimeout(patience)))
	}
	// The same drawings, whole: ids are the same, order of attributes does not matter.
	const shape = `[...document.querySelectorAll("[data-chart] svg")].map(svg => svg.id + svg.getAttribute("viewBox") + [...svg.querySelectorAll("*")].map(e =>
		e.localName + [...e.attributes].filter(a => !(a.name === "class" && a.value === "")).map(a => a.name + "=" + a.value.trim()).sort().join(" ") + (e.childElementCount ? "" : e.textContent)).join("\n")).join("\n\n")`
	patched := get(t, s, chromedp.Evaluate[string](shape))
	address := get(t, s, chromedp.Evaluate[string](`location.pathname + location.search`))
	if !strings.Contains(address, "sys.") {
		t.Fatalf("the address is %s", address)
	}
	s.open(t, address)
	if whole := get(t, s, chromedp.Evaluate[string](shape)); whole != patched {
		a, b := strings.Split(patched, "\n"), strings.Split(whole, "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Errorf("line %d of %d and %d: patched %s, drawn %s", i, len(a), len(b), a[i], b[i])
				break
			}
		}
	}
	for _, c := range s.complaints() {
		t.Error(c)
	}
}

// TestLimit: while a limit is dragged what is known is ranked again: rows that break it go, others
// of the frontier come, the best first; when it rests the search runs.
func TestLimit(t *testing.T) {
	s := serve(t, 1280, 900)
	s.open(t, "/choose?gpus=2&isl=256&mode=agg&model=Llama-3.1-8B&osl=32&system=H200&tpot=50ms")
	const rows = `[...document.querySelectorAll(".rank tbody tr")].filter(r => !r.hidden).map(r => +r.dataset.u)`
	before := get(t, s, chromedp.Evaluate[[]float64](rows))
	type place struct{ X, Y float64 }
	at := get(t, s, chromedp.Evaluate[place](`(() => { const r = document.querySelector("[data-p=limit]").getBoundingClientRect(); return {X: r.x + r.width / 2, Y: r.y + r.height / 2}; })()`))
	s.run(t, chromedp.MouseEvent(chromedp.MousePressed, at.X, at.Y, chromedp.ButtonLeft), chromedp.MouseEvent(chromedp.MouseMoved, at.X+150, at.Y, chromedp.ButtonLeft))
	limit := 1000 / get(t, s, chromedp.Evaluate[float64](`+document.querySelector("[data-p=limit]").getAttribute("aria-valuenow")`))
	during := get(t, s, chromedp.Evaluate[[]float64](rows))
	if len(before) == 0 || len(during) == 0 || limit < 1.2*1000/50 {
		t.Fatalf("%d rows, %d beyond %.1f tokens/s", len(before), len(during), limit)
	}
	for _, u := range during {
		if u < 0.99*limit {
			t.Errorf("%v tokens/s are shown at a limit of %.1f", u, limit)
		}
	}
	const merits = `[...document.querySelectorAll(".rank tbody tr")].filter(r => !r.hidden).map(r => +r.dataset.merit)`
	if list := get(t, s, chromedp.Evaluate[[]float64](merits)); !slices.IsSorted(list) {
		t.Errorf("the rows are not ranked: %v", list)
	}
	s.follow(t, chromedp.MouseEvent(chromedp.MouseReleased, at.X+150, at.Y, chromedp.ButtonLeft))
	if at := get(t, s, chromedp.Location()); strings.Contains(at, "tpot=50ms") || !strings.Contains(at, "tpot=") {
		t.Errorf("the question is %s", at)
	}
	for _, c := range s.complaints() {
		t.Error(c)
	}
}

// TestSlider: numbers of a chip keep their places and the focus when a slider rests, although others
// matter more then.
func TestSlider(t *testing.T) {
	s := serve(t, 1280, 900)
	s.open(t, "/why?batch=64&isl=256&model=Llama-3.1-8B&osl=32&system=H200&tp=2")
	const names = `[...document.querySelectorAll("[data-name]")].map(i => i.dataset.name)`
	before := get(t, s, chromedp.Evaluate[[]string](names))
	get(t, s, chromedp.Evaluate[bool](`(() => { const i = document.querySelector("[data-name]"); i.focus(); i.value = 100; for (const e of ["input", "change"]) i.dispatchEvent(new Event(e, {bubbles: true})); return true; })()`))
	get(t, s, chromedp.Poll[bool](`!!document.querySelector(".sl.moved .gh") && document.querySelectorAll(".sl.moved").length === 1 && document.querySelector(".r#now").textContent.includes("was") && document.activeElement.dataset.name === "`+before[0]+`" && !!document.querySelector(".chipsec .sech > a")`, chromedp.WithPollingTimeout(patience)))
	if after := get(t, s, chromedp.Evaluate[[]string](names)); after[0] != before[0] {
		t.Errorf("sliders %v become %v", before, after)
	}
	for _, c := range s.complaints() {
		t.Error(c)
	}
}

// TestBrush: a part of the step that is chosen by mouse or keys has its operators named, the page
// keeps it, and a reload draws the same.
func TestBrush(t *testing.T) {
	s := serve(t, 1280, 900)
	s.open(t, "/why?batch=64&dp=8&isl=256&model=Qwen3-30B-A3B&osl=32&system=H200")
	get(t, s, chromedp.Evaluate[bool](`document.querySelector(".brush").scrollIntoView({block: "center"}), true`))
	drawn := func() string {
		return get(t, s, chromedp.Evaluate[string](`document.getElementById("why").dataset.drawn`))
	}
	wait := func(was string) {
		t.Helper()
		get(t, s, chromedp.Poll[bool](`document.getElementById("why").dataset.drawn !== "`+was+`"`, chromedp.WithPollingTimeout(patience)))
	}
	type place struct{ X, Y, Width float64 }
	at := get(t, s, chromedp.Evaluate[place](`(() => { const r = document.querySelector(".brush").getBoundingClientRect(); return {X: r.x, Y: r.y + r.height / 2, Width: r.width}; })()`))
	was := drawn()
	s.run(t, chromedp.MouseEvent(chromedp.MousePressed, at.X-200, at.Y, chromedp.ButtonLeft), chromedp.MouseEvent(chromedp.MouseMoved, at.X-120, at.Y, chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseReleased, at.X-120, at.Y, chromedp.ButtonLeft))
	wait(was)
	const heading = `([...document.querySelectorAll("[data-chart=timeline] text")].find(e => e.textContent.startsWith("From"))?.textContent ?? "")`
	title := func() string { return get(t, s, chromedp.Evaluate[string](heading)) }
	if text := title(); !strings.Contains(text, "layers") {
		t.Errorf("above the step stands %q", text)
	}
	if width := get(t, s, chromedp.Evaluate[float64](`document.querySelector(".brush").getBoundingClientRect().width`)); width < 70 || width > 90 {
		t.Errorf("80 pixels were chosen, and %v are marked", width)
	}
	before := title()
	s.run(t, chromedp.Focus(chromedp.CSS(`.brush`)), chromedp.KeyEvent(kb.ArrowRight))
	// The mouse may have asked twice: what is waited for is another heading, not the next drawing.
	get(t, s, chromedp.Poll[bool](fmt.Sprintf(`%s !== %q`, heading, before), chromedp.WithPollingTimeout(patience)))
	after := title()
	path := get(t, s, chromedp.Evaluate[string](`location.pathname + location.search`))
	s.open(t, path)
	if again := title(); again != after || !strings.Contains(path, "window=") {
		t.Errorf("%s shows %q, not %q", path, again, after)
	}
	for _, c := range s.complaints() {
		t.Error(c)
	}
}
