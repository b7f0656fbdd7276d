package page

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"throughline/assume"
	"throughline/internal/chart"
	"throughline/internal/files"
	"throughline/internal/jobfile"
	"throughline/internal/picture"
	"throughline/internal/report"
	"throughline/internal/result"
	"throughline/internal/sweep"
	"throughline/internal/table"
)

func render(t testing.TB, p *Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Names of files and models are text, whatever is in them.
func TestNamesAreText(t *testing.T) {
	bad := `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	p := &Page{Title: bad, Subtitle: bad, Sections: []Section{{
		Title: bad, Text: []string{bad}, Code: []string{bad}, Charts: []*chart.Chart{{Kind: bad, Title: bad, Subtitle: bad, Description: bad, Keys: []chart.Key{{Text: bad}}}},
		Tables: []Table{{Title: bad, Any: &table.Table[any]{Columns: []table.Column[any]{{Title: bad, Doc: bad, Value: func(v any) any { return v }}}, Rows: []any{bad, 3.0, math.Inf(1)}}}}, Folded: []Section{{Title: bad}},
	}}}
	src := render(t, p)
	if strings.Contains(src, "<img") || strings.Count(src, "<script") != 1 || strings.Contains(src, "style=") {
		t.Error("a name has become part of the page")
	}
	for _, want := range []string{"default-src 'none'", `data-v="3"`, "prefers-color-scheme:dark", "@media print"} {
		if !strings.Contains(src, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(src, `data-v="+Inf"`) {
		t.Error("what is no number is sorted as one")
	}
}

// records are the runs of a file, over and over.
func records(t testing.TB, n int) ([]*result.Record, *picture.Runs) {
	t.Helper()
	jobs, _, err := jobfile.Load(files.Machine, filepath.FromSlash("../../configs/reference_sample.json"), &assume.Reference)
	if err != nil {
		t.Fatal(err)
	}
	var out []*result.Record
	if err := sweep.Run(context.Background(), jobs[0], sweep.Options{Jobs: 2}, func(r *result.Record) error { out = append(out, r); return nil }); err != nil {
		t.Fatal(err)
	}
	fields, err := report.FieldsOf("columns", picture.UsualX, picture.UsualY, picture.UsualBy)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; len(out) < n; i++ {
		r := *out[i]
		r.Number = len(out)
		out = append(out, &r)
	}
	return out[:n], &picture.Runs{Title: "sample", X: fields[0], Y: fields[1], By: fields[2]}
}

func write(list []*result.Record, pictures *picture.Runs) *Page {
	p := NewRuns("sample.json")
	p.Start("pd-split-request-optimal", pictures)
	for _, r := range list {
		pictures.Add(r)
		p.Add(r)
	}
	return p.Page()
}

// The report compares all runs and tells each by itself; the same runs give the same bytes.
func TestRuns(t *testing.T) {
	list, pictures := records(t, 4)
	src := render(t, write(list, pictures))
	again, others := records(t, 4)
	if src != render(t, write(again, others)) {
		t.Error("written twice, two pages")
	}
	for i, r := range list {
		for _, want := range []string{fmt.Sprintf(">run %d<", i), fmt.Sprintf("<summary>run %d: %s", i, r.Model.Name)} {
			if !strings.Contains(src, want) {
				t.Errorf("no %s", want)
			}
		}
	}
	for _, want := range []string{"Preset reference.", "pd-split-request-optimal, assumptions"} {
		if !strings.Contains(src, want) {
			t.Errorf("no %s", want)
		}
	}
	if f, _ := result.Lookup("trust"); !strings.Contains(src, fmt.Sprint(f.Value(list[0]))) {
		t.Error("no confidence")
	}
}

// Many runs are a page that a browser stands.
func TestManyRuns(t *testing.T) {
	list, pictures := records(t, mostRows+100)
	src := render(t, write(list, pictures))
	if !strings.Contains(src, fmt.Sprintf("The first %d of %d runs", mostRows, mostRows+100)) || strings.Count(src, "<details>") != mostSingle {
		t.Errorf("%d runs are told one by one", strings.Count(src, "<details>"))
	}
	if len(src) > 5<<20 {
		t.Errorf("%d bytes", len(src))
	}
	if rows := strings.Count(src, "<tr>"); rows > printed+mostSingle*300 {
		t.Errorf("%d rows stand in the page itself", rows)
	}
}

// A report of ten thousand runs is a small file, ten columns wide at once, that assistive
// technology can read.
func TestTenThousandRuns(t *testing.T) {
	list, pictures := records(t, 10_000)
	for i, r := range list { // no two alike
		r.Requests *= 1 + float64(i)/1e4
		r.Lengths.Input += i
	}
	src := render(t, write(list, pictures))
	if len(src) > 3<<20 {
		t.Errorf("%d bytes", len(src))
	}
	head, _, _ := strings.Cut(src[strings.Index(src, "<thead>"):], "</thead>")
	if all, more := strings.Count(head, `scope="col"`), strings.Count(head, ` m"`)+strings.Count(head, `"m"`); all-more > mostAtOnce || more == 0 {
		t.Errorf("%d of %d columns are shown at once", all-more, all)
	}
	for _, figure := range []string{"TTFT", "TPOT", "tokens/s per GPU"} { // what is asked for is among them
		if i := strings.Index(head, ">"+figure+"</button>"); i < 0 || strings.Contains(head[strings.LastIndex(head[:i], "<th"):i], ` m"`) {
			t.Errorf("%s is not shown at once", figure)
		}
	}
	if first := strings.Index(src, "<td>run 9999</td>"); first < 0 || first > strings.Index(src, "<td>run 9998</td>") {
		t.Error("the best run is not the first row")
	}
	if wide, narrow := strings.Count(src, `<div class="broad">`), strings.Count(src, `<div class="phone">`); wide == 0 || wide != narrow {
		t.Errorf("%d drawings for screens, %d for phones", wide, narrow)
	}
	for _, want := range []string{"<main>", "<caption>", `role="region"`, `type="application/json" data-rows="t1"`, "aria-label="} {
		if !strings.Contains(src, want) {
			t.Errorf("no %s", want)
		}
	}
	for _, raw := range []string{"decoder_microbatchsize</button>", "TTFT(s)</button>"} {
		if strings.Contains(src, raw) {
			t.Errorf("a head is the name of a field: %s", raw)
		}
	}
}

// The report of 100 runs takes less than a second.
func BenchmarkHundredRuns(b *testing.B) {
	list, _ := records(b, 100)
	for b.Loop() {
		_, pictures := records(b, 1)
		start := time.Now()
		if err := write(list, pictures).Write(io.Discard); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms/page")
	}
}
