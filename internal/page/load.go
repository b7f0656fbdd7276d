package page

import (
	"strings"

	"throughline/internal/advice"
	"throughline/internal/picture"
	"throughline/internal/report"
	"throughline/internal/sentence"
	"throughline/internal/table"
	"throughline/number"
	"throughline/serving/simulate"
)

func Simulated(l *sentence.Loaded) *Page {
	title := report.DeploymentTitle(l.Deployment, false)
	notes := l.Run.Notes()
	if _, listed := l.Cost(); len(listed) > 0 {
		notes = append(notes, "price: "+strings.Join(listed, "; "))
	}
	return &Page{Title: "What clients see", Subtitle: title, Answer: sentence.Load(l), Sections: []Section{{
		Title: "Requests", Charts: drawn(picture.LoadKinds, picture.Load{Title: title, Result: l.Run}),
		Tables: []Table{{Title: "Percentiles", Any: percentiles(l.Seen)}}, Notes: notes,
	}, assumptions(l.Deployment.Assume)}}
}

// spread is a figure of requests with its distribution.
type spread struct {
	name string
	of   *simulate.Distribution
}

// percentiles are a row for each figure that requests have.
func percentiles(s *simulate.Seen) table.Any {
	t := &table.Table[spread]{Columns: []table.Column[spread]{{Title: "time", Value: func(d spread) any { return d.name }}}}
	add := func(title string, of func(*simulate.Distribution) float64) {
		t.Columns = append(t.Columns, table.Column[spread]{Title: title, Kind: table.Number,
			Value: func(d spread) any { return of(d.of) }, Cell: func(d spread) string { return number.Time(of(d.of), 3) }})
	}
	add("mean", (*simulate.Distribution).Mean)
	for _, q := range []struct {
		title string
		share float64
	}{{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}} {
		add(q.title, func(d *simulate.Distribution) float64 { return d.Quantile(q.share) })
	}
	for _, d := range []spread{{"TTFT", &s.Summary.TTFT}, {"TPOT", &s.Summary.TPOT}, {"between tokens", &s.ITL}, {"whole request", &s.E2E}} {
		if d.of.Weight > 0 {
			t.Rows = append(t.Rows, d)
		}
	}
	return t
}

func Scanned(r *report.Scan) *Page {
	p := &Page{Title: "Several questions", Subtitle: r.Title(), Answer: r.Sentences()}
	p.Sections = []Section{{Title: "Points", Charts: drawn(picture.ScanKinds, picture.OfScan(r)), Tables: []Table{{Title: "Points", Wide: true, First: mostAtOnce, Any: r.Table()}}}}
	if list := r.Systems(); list != nil {
		all := advice.Together(list)
		var ranked, frontier comparison
		ranked.candidates("", all.Ranked)
		frontier.candidates("f", all.Frontier)
		p.Sections = append(p.Sections, Section{Title: "One ranking of all systems", Notes: all.Notes, Tables: []Table{ranked.table("Ranked deployments")}},
			Section{Title: "One frontier", Text: []string{fromFastest}, Tables: []Table{frontier.table("The frontier")}})
		p.Sections = append(p.Sections, launchSections(all)...)
	}
	return p
}
