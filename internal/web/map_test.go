package web

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/scan"
	"throughline/internal/sweep"
)

// manyCells is a scan of many points with figures of their own, which nobody has computed.
func manyCells(t testing.TB, s *Server, columns, rows int) (*state, *report.Scan) {
	t.Helper()
	words := map[string]string{"model": "llama_3_8b", "system": "H200", "batch": "16", "vary": fmt.Sprintf("sys.mem1.GBps=x0.5:x2:%d,sys.networks[0].bandwidth=x0.5:x2:%d", rows, columns)}
	asked, err := scan.FromWords(s.door(), question.Estimate, words)
	if err != nil {
		t.Fatal(err)
	}
	r := report.NewScan(asked)
	for i := range asked.Len() {
		p := &sweep.Point{Meets: true, Values: make([]scan.Value, len(asked.Axes))}
		asked.At(i, p.Values)
		p.Figures = make([]any, len(sweep.Figures(asked.Of)))
		for k := range p.Figures {
			p.Figures[k] = float64(1 + i)
		}
		r.Add(p)
	}
	r.Finish()
	return &state{view: chips, words: words, shown: map[string]string{}, language: english}, r
}

// A map of many cells is an image, and a click on it leads where a click on the cell would.
func TestManyCells(t *testing.T) {
	s := patient()
	st, r := manyCells(t, s, 101, 100)
	m := &mapped{}
	m.draw(s, st, r)
	if strings.Count(string(m.Chart), "<image") != 2 || strings.Count(string(m.Chart), "<rect") > 10 || m.Cells == "" {
		t.Fatalf("%q: %d images, %d elements", m.Without, strings.Count(string(m.Chart), "<image"), strings.Count(string(m.Chart), "<rect"))
	}
	few, small := &mapped{}, 0
	stFew, rFew := manyCells(t, s, 3, 2)
	few.draw(s, stFew, rFew)
	links := regexp.MustCompile(`<a href="(/why[^"]+)"`).FindAllStringSubmatch(string(few.Chart), -1)
	if small = len(links); small != 6 || few.Cells != "" {
		t.Fatalf("%d links of 6 cells", small)
	}
	for _, corner := range []struct{ column, row, link int }{{0, 0, 0}, {100, 99, 5}} {
		got := get(s, "GET", fmt.Sprintf("%s&column=%d&row=%d", m.Cells, corner.column, corner.row), nil)
		if to := got.Header().Get("Location"); got.Code != 303 || to != html.UnescapeString(links[corner.link][1]) {
			t.Errorf("cell %d, %d leads to %s, not %s", corner.column, corner.row, to, links[corner.link][1])
		}
	}
	for _, wrong := range []string{"&column=101&row=0", "&column=-1&row=0", "&column=x", ""} {
		if got := get(s, "GET", m.Cells+wrong, nil); got.Code != 303 || !strings.HasPrefix(got.Header().Get("Location"), "/chips?") {
			t.Errorf("%q leads to %q", wrong, got.Header().Get("Location"))
		}
	}
	for _, again := range []string{"//evil.example/", "%09//evil.example/", "/%09/evil.example/", "%5C%0A/evil.example/", "+//evil.example/"} {
		if got := get(s, "GET", "/map/cell?map=gone&again="+again, nil); got.Header().Get("Location") != "/evil.example/" {
			t.Errorf("%s leads to %q", again, got.Header().Get("Location"))
		}
	}
}

// BenchmarkManyCells draws 10,100 cells.
func BenchmarkManyCells(b *testing.B) {
	s := patient()
	st, r := manyCells(b, s, 101, 100)
	for b.Loop() {
		(&mapped{}).draw(s, st, r)
	}
}
