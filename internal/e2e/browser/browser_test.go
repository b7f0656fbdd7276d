// Package browser tests HTML reports in a real browser: scripts/browser.sh installs one.
package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"throughline/internal/cli"
	"throughline/internal/test/long"
)

// browser is the program to run; without one the test is skipped, and says so.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("THROUGHLINE_BROWSER"), "chromium", "google-chrome", "chromium-browser"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	t.Skip("no browser: scripts/browser.sh installs one, THROUGHLINE_BROWSER names it")
	return ""
}

// open shows a page and returns what the browser prints, and what it complains about.
func open(t *testing.T, file string, args ...string) (out, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	all := append([]string{"--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr", "--user-data-dir=" + t.TempDir()}, args...)
	cmd := exec.CommandContext(ctx, browser(t), append(all, "file://"+file)...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, &e)
	}
	return o.String(), e.String()
}

// probe looks at a page as a reader does: it sorts every table by every column, searches, measures
// the charts, and leaves what it found in the page.
const probe = `<script>
const found = {svgs: 0, empty: 0, outside: 0, tables: 0, unsorted: [], overlaps: [], wide: document.documentElement.scrollWidth > innerWidth};
for (const d of document.querySelectorAll("details")) d.open = true;
for (const svg of document.querySelectorAll("svg.chart")) {
  if (!svg.checkVisibility()) continue; // drawn for screens of another width
  found.svgs++;
  const frame = svg.getBoundingClientRect();
  if (frame.width < 100 || svg.querySelectorAll("rect,path,circle").length < 3) found.empty++;
  const texts = [...svg.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
  for (let i = 0; i < texts.length; i++) {
    const a = texts[i][1], cut = a.height * 0.2; // above and below letters there is room in the box of a line
    if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.top < frame.top - 1 || a.bottom > frame.bottom + 1) found.outside++;
    for (let j = 0; j < i; j++) {
      const b = texts[j][1];
      if (a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top + cut < b.bottom - cut && b.top + cut < a.bottom - cut) found.overlaps.push(texts[i][0] + " on " + texts[j][0]);
    }
  }
}
for (const table of document.querySelectorAll("table.sortable")) {
  found.tables++;
  if (found.tables > 12) continue;
  [...table.tHead.rows[0].cells].forEach((head, at) => {
    for (const way of ["ascending", "descending"]) {
      head.querySelector("button").click();
      const values = [...table.tBodies[0].rows].filter(r => !r.classList.contains("space")).map(r => r.cells[at].dataset.v).filter(v => v !== undefined).map(Number);
      const ok = values.every((v, i) => i === 0 || (way === "ascending" ? values[i-1] <= v : values[i-1] >= v));
      if (head.getAttribute("aria-sort") !== way || !ok) found.unsorted.push(table.id + " " + head.textContent + " " + way);
    }
  });
}
const field = document.querySelector("input[data-filters]");
if (field) {
  const shown = () => [...document.getElementById(field.dataset.filters).tBodies[0].rows].filter(r => !r.hidden && !r.classList.contains("space"));
  const before = shown();
  field.value = before[0].cells[0].textContent; field.dispatchEvent(new Event("input"));
  found.rows = before.length; found.shown = shown().length;
}
const p = document.createElement("pre"); p.id = "found"; p.textContent = JSON.stringify(found); document.body.append(p);
</script>`

var kept = regexp.MustCompile(`(?s)<pre id="found">(.*?)</pre>`)

// axe is what axe-core finds wrong with a page, light and dark, and on a telephone; empty: nothing.
// What is folded is left out: thousands of rows of the same tables.
func axe(t *testing.T, dir, name string, page []byte) (found string) {
	t.Helper()
	library, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Log("axe-core is not installed: make readers installs it")
		return ""
	}
	check := `<script>` + string(library) + `</script><script>axe.run(document).then(r => { const p = document.createElement("pre"); p.id = "found";
p.textContent = r.violations.map(v => v.id + " " + v.nodes[0].html).join("; ") + (document.documentElement.scrollWidth > innerWidth ? " wider than the window" : ""); document.body.append(p); });</script>`
	file := filepath.Join(dir, name+"_axe.html")
	if err := os.WriteFile(file, bytes.Replace(page, []byte("</body>"), []byte(check+"</body>"), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, look := range [][]string{{"--window-size=1280,900"}, {"--window-size=1280,900", "--blink-settings=preferredColorScheme=0"}, {"--window-size=500,844"}} {
		page, _ := open(t, file, append(look, "--virtual-time-budget=60000", "--dump-dom")...)
		if m := kept.FindStringSubmatch(page); m == nil {
			t.Errorf("%s %v: axe did not end", name, look)
		} else if m[1] != "" {
			found += strings.Join(look, " ") + ": " + html.UnescapeString(m[1]) + "\n"
		}
	}
	return found
}

// Reports of all commands show their charts and sort their tables, the console stays clean, and
// they can be printed.
func TestReports(t *testing.T) {
	browser(t)
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, c := range map[string]struct {
		args         string
		svgs, tables int // at least
	}{
		"explain":  {"explain --model deepseek_v3_flash_mla_absorb --system H200 --dp 16 --batch 64 --weights fp8", 5, 5},
		"plan":     {"plan --model llama_3_8b --system H200 --gpus 8 --tpot 20", 4, 4},
		"estimate": {"estimate --model Qwen3-32B --system H200 --tp 2 --batch 32", 1, 3},
		"simulate": {"simulate --model llama_3_8b --system H200 --rate 20 --isl 200 --osl 20 --num-prompts 300 --ttft p99:300ms", 3, 2},
		"curve":    {"estimate --model llama_3_8b --system H200 --isl 1k:8k:x2 --batch 1:20", 3, 1},
		"systems":  {"plan --model llama_3_8b --system H200,H100_SXM --gpus 2 --tpot 20", 1, 3},
		"run":      {"run -c " + root + "/configs/split_and_fusion.json -o " + dir, 10, 6},
	} {
		file := filepath.Join(dir, name+".html")
		var out, errs bytes.Buffer
		if code := cli.Run(context.Background(), append(strings.Fields(c.args), "--html", file), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); code != 0 {
			t.Fatalf("%s: exit code %d: %s", name, code, &errs)
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(src, []byte("style=")) || regexp.MustCompile(`(src|href)="[^#]`).Match(src) {
			t.Errorf("%s: a style attribute, or something that the page would load", name)
		}
		probed := filepath.Join(dir, name+"_probed.html")
		if err := os.WriteFile(probed, bytes.Replace(src, []byte("</body>"), []byte(probe+"</body>"), 1), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, window := range []string{"1300,1000", "500,844"} {
			page, said := open(t, probed, "--window-size="+window, "--dump-dom")
			if strings.Contains(said, "CONSOLE") {
				t.Errorf("%s: the console says %s", name, said)
			}
			m := kept.FindStringSubmatch(page)
			if m == nil {
				t.Fatalf("%s: the probe did not end", name)
			}
			var found struct {
				SVGs, Empty, Outside, Tables, Shown, Rows int
				Unsorted, Overlaps                        []string
				Wide                                      bool
			}
			if err := json.Unmarshal([]byte(html.UnescapeString(m[1])), &found); err != nil {
				t.Fatal(err)
			}
			if found.SVGs < c.svgs || found.Tables < c.tables || found.Empty+found.Outside > 0 || len(found.Unsorted)+len(found.Overlaps) > 0 || found.Wide || found.Rows > 0 && (found.Shown == 0 || found.Shown >= found.Rows) {
				t.Errorf("%s at %s: %+v", name, window, found)
			}
		}
		if name != "plan" && !long.Mode() {
			continue // the others are checked, and printed, by the long tests
		}
		if violations := axe(t, dir, name, src); violations != "" {
			t.Errorf("%s: axe finds %s", name, violations)
		}
		pdf := filepath.Join(dir, name+".pdf")
		if _, said := open(t, file, "--print-to-pdf="+pdf); strings.Contains(said, "CONSOLE") {
			t.Errorf("%s: printing, the console says %s", name, said)
		}
		printed, err := os.ReadFile(pdf)
		if err != nil {
			t.Fatal(err)
		}
		if pages := bytes.Count(printed, []byte("/Type /Page\n")) + bytes.Count(printed, []byte("/Type /Page ")); !bytes.HasPrefix(printed, []byte("%PDF")) || pages < 1 || pages > 60 {
			t.Errorf("%s: a print of %d pages, %d bytes", name, pages, len(printed))
		}
	}
}
