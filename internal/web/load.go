package web

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"

	"throughline"
	"throughline/internal/picture"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/sentence"
	"throughline/number"
	"throughline/serving/simulate"
)

// loading is the view of a deployment under requests.
var loading = &view{
	path: "load", title: "Load", of: question.Simulate,
	pieces: append([]piece{{"", "model", "a model", false}, {" on ", "system", "a system", false}}, append(slices.Clone(deployed),
		piece{", at ", "rate", "inf", false}, piece{" requests/s of ", "isl", "1024", false}, piece{" → ", "osl", "1024", false},
		piece{" tokens, TTFT ≤ ", "ttft", "any time", false}, piece{", TPOT ≤ ", "tpot", "any time", false}, piece{", behind ", "engine", "any engine", false})...),
	slow: func(*state) bool { return true },
}

// loaded is the answer of the view.
type loaded struct {
	Big, Unit, Band string
	Says            []string
	Remarks         []string
	Charts          []drawnChart
	Table           []percentiles
	Curve           string // the address of the part that follows
	Trace           string
	Replay          string
}

// percentiles of one figure.
type percentiles struct {
	Name                     string
	Mean, P50, P90, P95, P99 string
	Limit                    string
	Limited, Holds           bool
}

// drawnEvery is the interval of the load over time, in seconds; long runs join several.
const drawnEvery = 1e-3

func (s *Server) load(ctx context.Context, st *state) (content, error) {
	to, err := s.deploymentAddress(ctx, st, loading)
	if err != nil || to != "" || !fixed(st.words) {
		return content{elsewhere: to}, err
	}
	if st.words["rate"] == "" && st.words["trace"] == "" && st.words["concurrency"] == "" {
		rate, err := s.startRate(ctx, st.words)
		if err != nil {
			return content{}, err
		}
		return content{elsewhere: st.to(loading, withWord(st.words, "rate", rate), st.shown, st.pins)}, nil
	}
	pins, err := s.pinned(ctx, st)
	if err != nil {
		return content{}, err
	}
	sim, err := throughline.NewSimulation(throughline.Question(st.words), s.reading()...)
	if err != nil {
		return content{}, err
	}
	if err := sim.Settle(ctx); err != nil {
		return content{}, err
	}
	o := sim.Options
	o.Every = drawnEvery
	got, err := sim.Run(ctx, o)
	if err != nil {
		return content{}, err
	}
	l := &loaded{Remarks: append(remarksOf(append(sim.Remarks, sim.After(got)...)), got.Notes()...), Trace: st.words["trace"]}
	load := &sentence.Loaded{Deployment: &sim.Deployment, Trusted: sim.Trusted, Seen: got.Seen()}
	l.Says = sentence.Load(load)
	seen := got.Seen()
	band := 0.0
	if sim.Trusted != nil {
		band = sim.Trusted.TTFT.Band
	}
	big := bandedTime(seen.Summary.TTFT.Quantile(0.99), band)
	l.Big, l.Unit, _ = strings.Cut(big.Value, " ")
	l.Unit, l.Band = l.Unit+" p99 TTFT", big.Band
	l.table(st.language, seen)
	title := report.DeploymentTitle(&sim.Deployment, false)
	for _, k := range picture.LoadKinds {
		c, err := k.Draw(picture.Load{Title: title, Result: got})
		if err != nil {
			continue
		}
		width, height := halfWidth, 300.0
		if k.Name == "load" {
			width, height = fullWidth, 380
		}
		svg, _ := figure(c, st.width(width), height, k.Name)
		l.Charts = append(l.Charts, drawnChart{k.Name, c.Title, "", width == fullWidth, svg})
	}
	if st.words["trace"] == "" && st.words["concurrency"] == "" {
		l.Curve = strings.Replace(st.address(), "/load?", "/load/curve?", 1)
	}
	return content{data: l, pins: pins, takes: st.loadTakes(), launched: launchedAs(&sim.Deployment), title: fmt.Sprintf("p99 TTFT %s %s", big.Value, title)}, nil
}

// startRate is seven tenths of the rate that closed clients reach: one to begin with.
func (s *Server) startRate(ctx context.Context, words map[string]string) (string, error) {
	most, err := s.mostRate(ctx, words)
	return plainRate(0.7 * most), err
}

// plainRate is a rate of two digits.
func plainRate(v float64) string {
	size := math.Pow(10, math.Floor(math.Log10(v))-1)
	return strconv.FormatFloat(math.Round(v/size)*size, 'g', 3, 64)
}

// mostRate is what a deployment serves when all its batches are full, in closed form.
func (s *Server) mostRate(ctx context.Context, words map[string]string) (float64, error) {
	q := throughline.Question{}
	for name, text := range words {
		if _, ok := question.Lookup(question.Estimate, name); ok && !slices.Contains([]string{"ttft", "tpot", "trace", "arrival", "seed"}, name) {
			q[name] = text
		}
	}
	if q["batch"] == "" && q["concurrency"] == "" {
		q["batch"] = "64"
	}
	got, err := throughline.Estimate(ctx, q, s.reading()...)
	if err != nil {
		return 0, err
	}
	if got.Record == nil || !(got.Record.Requests > 0) {
		return 0, fmt.Errorf("no client can be served: %s", got.Answer.Remark)
	}
	replicas, err := strconv.Atoi(words["replicas"])
	if err != nil {
		replicas = 1
	}
	return got.Record.Requests * float64(replicas), nil
}

// table lists the percentiles.
func (l *loaded) table(say *language, seen *simulate.Seen) {
	for _, one := range []struct {
		name  string
		of    *simulate.Distribution
		limit float64
		told  string
	}{
		{"TTFT", &seen.Summary.TTFT, seen.Terms.TTFT.Seconds, seen.Terms.TTFT.Statistic()}, {"TPOT", &seen.Summary.TPOT, seen.Terms.TPOT.Seconds, seen.Terms.TPOT.Statistic()},
		{"between tokens", &seen.Summary.ITL, 0, ""}, {"whole request", &seen.Summary.E2E, 0, ""},
	} {
		if one.of.Weight == 0 {
			continue
		}
		at := func(q float64) string { return number.Time(one.of.Quantile(q), 3) }
		p := percentiles{Name: say.say(one.name), Mean: number.Time(one.of.Mean(), 3), P50: at(0.5), P90: at(0.9), P95: at(0.95), P99: at(0.99)}
		if one.limit > 0 {
			p.Limited, p.Limit = true, one.told+" ≤ "+number.Time(one.limit, 3)
			limit := seen.Terms.TTFT
			if one.name == "TPOT" {
				limit = seen.Terms.TPOT
			}
			p.Holds = simulate.Figure(&limit, one.of) <= one.limit
		}
		l.Table = append(l.Table, p)
	}
}

// Shares of the highest rate of closed clients that a curve goes through.
var curveShares = []float64{0.3, 0.5, 0.65, 0.8, 0.9, 1}

// curve is the percentiles over rates, as a part of the page.
func (s *Server) curve(w http.ResponseWriter, r *http.Request) {
	st := loading.read(r)
	out := struct {
		*page
		Chart template.HTML
		Says  []string
		Grid  grid
	}{page: &page{state: st}}
	if !s.part(w, r, st, func(ctx context.Context) error {
		most, err := s.mostRate(ctx, st.words)
		if err != nil {
			return err
		}
		var rates []string
		for _, share := range curveShares {
			if text := plainRate(share * most); !slices.Contains(rates, text) {
				rates = append(rates, text)
			}
		}
		if own := st.words["rate"]; own != "" && own != "inf" && !slices.Contains(rates, own) {
			rates = append(rates, own)
		}
		slices.SortFunc(rates, func(a, b string) int {
			x, _ := strconv.ParseFloat(a, 64)
			y, _ := strconv.ParseFloat(b, 64)
			return int(math.Copysign(1, x-y))
		})
		got, err := s.scanned(ctx, question.Simulate, withWord(st.words, "rate", strings.Join(rates, ",")), true, nil)
		if err != nil {
			return err
		}
		out.Says = got.Sentences()
		lines, _ := picture.Find(picture.ScanKinds, "lines")
		if c, err := lines.Draw(picture.OfScan(got)); err == nil {
			out.Chart, _ = figure(c, st.width(fullWidth), 460, "curve")
		}
		out.Grid = gridOf(got.Table(), 50)
		return nil
	}) {
		return
	}
	w.Header().Set("Content-Type", htmlType)
	render(w, "curve", out)
}
