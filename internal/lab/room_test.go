package lab

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"throughline/deploy"
	"throughline/internal/question"
	"throughline/internal/test/long"
	"throughline/internal/validate"
)

// TestRoom: what a server has for its cache decides how long requests wait where it is full. Of the
// runs that another room would change, in groups on which it was not found: as engines size their
// caches, as if memory that is usable held all (before), and without end.
func TestRoom(t *testing.T) {
	if !long.Mode() {
		t.Skip("evidence from thousands of runs, each simulated three times: with make test-long")
	}
	public, err := Import(t.Context(), besideProject(t, evidence.serving))
	if err != nil {
		t.Fatal(err)
	}
	predicted := func(tune tuning) *validate.Report {
		r, err := public.predict(t.Context(), question.Default(), validate.Trial{Waiting: true, Tune: tune})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	ways := []*validate.Report{
		predicted(nil),
		predicted(func(_ string, s *deploy.Scheduling) { s.Memory = deploy.Memory{} }),
		predicted(func(_ string, s *deploy.Scheduling) { s.Memory = deploy.Memory{Counts: "all", TakenGiB: -1e6} }),
	}
	listed := map[string]bool{}
	errorsOf := map[string][3][2][]float64{} // by engine, way and figure
	for i := range ways[0].Rows {
		of := public.rows[i]
		name := fmt.Sprint(ways[0].Rows[i].Group, ways[0].Rows[i].Figures[ttft].Measured, ways[0].Rows[i].Figures[tpot].Measured)
		first, later := doubted(of, 1)
		if listed[name] || first || later {
			continue
		}
		listed[name] = true
		same := func(figure int) bool {
			now := ways[0].Rows[i].Figures[figure].Predicted
			return !slices.ContainsFunc(ways[1:], func(r *validate.Report) bool { return math.Abs(r.Rows[i].Figures[figure].Predicted/now-1) > 0.02 })
		}
		if same(0) && same(1) {
			continue
		}
		engine := of.Get("backend")
		e := errorsOf[engine]
		for w, r := range ways {
			for figure := range 2 {
				if f := &r.Rows[i].Figures[figure]; f.Reason == "" && f.Measured > 0 && f.Predicted > 0 {
					e[w][figure] = append(e[w][figure], math.Abs(math.Log(f.Predicted/f.Measured)))
				}
			}
		}
		errorsOf[engine] = e
		t.Logf("%s, %s: TTFT %.0f, %.0f (%.0f, %.0f)", ways[0].Rows[i].Group, ways[0].Rows[i].Label, ways[0].Rows[i].Figures[0].Measured, ways[0].Rows[i].Figures[0].Predicted, ways[1].Rows[i].Figures[0].Predicted, ways[2].Rows[i].Figures[0].Predicted)
	}
	var all [3][]float64
	for engine, e := range errorsOf {
		var mid [3][2]float64
		for w := range e {
			for figure := range 2 {
				mid[w][figure] = 100 * math.Expm1(validate.Median(e[w][figure]))
			}
		}
		t.Logf("%s, %d runs: TTFT off by %.0f%% in the median (before %.0f%%, without %.0f%%), TPOT %.1f%% (%.1f%%, %.1f%%)",
			engine, len(e[0][1]), mid[0][0], mid[1][0], mid[2][0], mid[0][1], mid[1][1], mid[2][1])
		if mid[0][0] > mid[2][0]/4 || mid[0][1] > mid[2][1] {
			t.Errorf("%s: a cache without end is as good", engine)
		}
		for w := range all {
			all[w] = append(all[w], e[w][0]...)
		}
	}
	if now, before := validate.Median(all[0]), validate.Median(all[1]); len(all[0]) < 20 || now > before {
		t.Errorf("%d runs: off by %.3f, before %.3f", len(all[0]), now, before)
	}
}
