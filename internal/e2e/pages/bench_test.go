package pages

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// measured is how long something took, several times.
type measured struct {
	view, metric string
	ms           []float64
}

func (m *measured) print() {
	slices.Sort(m.ms)
	fmt.Printf("%s,%s,%.1f,%.1f\n", m.view, m.metric, m.ms[len(m.ms)/2], m.ms[min(len(m.ms)-1, len(m.ms)*95/100)])
}

// times is how often each is measured.
const times = 9

// BenchmarkWeb prints how fast pages are answered and readable, frames follow a slider, and how
// large they are.
func BenchmarkWeb(b *testing.B) {
	s := serve(b, 1280, 900)
	fmt.Println("view,metric,median_ms,p95_ms")
	for _, v := range []struct{ name, path string }{
		{"choose-llama70b-8", "/choose?gpus=8&isl=%d&model=Llama-3.1-70B&system=H200"},
		{"choose-deepseek-32", "/choose?gpus=32&isl=%d&model=DeepSeek-V3&osl=1000&system=H200&tpot=50ms"},
		{"why-deepseek", "/why?batch=64&dp=16&isl=%d&model=DeepSeek-V3&osl=1000&system=H200"},
		{"map-10000-cells", "/chips?batch=16&isl=%d&model=Llama-3.1-8B&phase=decode&system=H200&vary=sys.mem1.GBps%%3Dx0.5:x2:100,sys.networks[0].bandwidth%%3Dx0.5:x2:100"},
	} {
		// Of the same question the server keeps the answer: a new one is what people wait for.
		for _, asked := range []int{0, 1} {
			about := []string{"kept ", ""}[asked]
			answer, readable, drawn := measured{view: v.name, metric: about + "answer"}, measured{view: v.name, metric: about + "readable"}, measured{view: v.name, metric: about + "drawn after the answer"}
			s.open(b, fmt.Sprintf(v.path, 4000))
			for i := range times {
				s.open(b, fmt.Sprintf(v.path, 4000+asked*(1+i)))
				answer.ms = append(answer.ms, get(b, s, chromedp.Evaluate[float64](`performance.getEntriesByType("navigation")[0].responseEnd`)))
				readable.ms = append(readable.ms, get(b, s, chromedp.Evaluate[float64](`performance.getEntriesByType("paint").find(e => e.name === "first-contentful-paint")?.startTime ?? performance.now()`)))
				drawn.ms = append(drawn.ms, get(b, s, chromedp.Evaluate[float64](`(e => (e.loadEventEnd || performance.now()) - e.responseEnd)(performance.getEntriesByType("navigation")[0])`)))
			}
			answer.print()
			readable.print()
			drawn.print()
		}
		size, nodes := s.size(b, fmt.Sprintf(v.path, 4000)), get(b, s, chromedp.Evaluate[int](`document.querySelectorAll("*").length`))
		fmt.Printf("%s,kilobytes compressed,%.1f,%.1f\n%s,nodes,%d,%d\n", v.name, size, size, v.name, nodes, nodes)
	}
	s.open(b, "/why?batch=64&dp=16&isl=4000&model=DeepSeek-V3&osl=1000&system=H200")
	get(b, s, chromedp.Evaluate[bool](`performance.setResourceTimingBufferSize(1000), true`))
	for i := range 30 {
		get(b, s, chromedp.Evaluate[bool](fmt.Sprintf(`(() => { const i = document.getElementById("s0"); window.was = document.getElementById("why").dataset.drawn; i.value = "%d"; i.dispatchEvent(new Event("input", {bubbles: true})); return true; })()`, 51+i)))
		get(b, s, chromedp.Poll[bool](`document.getElementById("why").dataset.drawn !== window.was`, chromedp.WithPollingTimeout(patience)))
	}
	s.frames(b, "slider-deepseek")
	// The whole step has 61 layers of 33 operators; a brush over it prices nothing.
	s.open(b, "/why?batch=64&dp=16&isl=4000&model=DeepSeek-V3&osl=1000&system=H200")
	get(b, s, chromedp.Evaluate[bool](`document.querySelector(".brush").focus(), true`))
	for range 30 {
		get(b, s, chromedp.Evaluate[bool](`(() => { window.was = document.getElementById("why").dataset.drawn; document.querySelector(".brush").dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true})); return true; })()`))
		get(b, s, chromedp.Poll[bool](`document.getElementById("why").dataset.drawn !== window.was`, chromedp.WithPollingTimeout(patience)))
	}
	s.frames(b, "timeline-2000-operators")
}

// frames prints how fast changes of a page came, and how large they were.
func (s *served) frames(b *testing.B, view string) {
	b.Helper()
	for _, m := range []struct{ metric, expression string }{
		{"answer", `performance.getEntriesByType("resource").filter(e => e.name.includes("/why/frame")).map(e => e.responseEnd - e.requestStart)`},
		{"frame", `performance.getEntriesByName("frame").map(e => e.duration)`},
		{"patch kilobytes compressed", `performance.getEntriesByType("resource").filter(e => e.name.includes("/why/frame")).map(e => e.encodedBodySize / 1000)`},
	} {
		one := measured{view, m.metric, get(b, s, chromedp.Evaluate[[]float64](m.expression))}
		one.print()
	}
}

// size is the bytes of a page as they are sent, in kilobytes.
func (s *served) size(b *testing.B, path string) float64 {
	b.Helper()
	jar, _ := cookiejar.New(nil)
	client := http.Client{Jar: jar, Timeout: time.Hour}
	if _, err := client.Get(s.first); err != nil {
		b.Fatal(err)
	}
	r, err := client.Get(s.base + path)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Body.Close()
	var sent counter
	zip := gzip.NewWriter(&sent)
	io.Copy(zip, r.Body)
	zip.Close()
	return float64(sent) / 1000
}

type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }
