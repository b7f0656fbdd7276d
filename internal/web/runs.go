package web

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"throughline/hardware"
	"throughline/internal/files"
	"throughline/internal/picture"
	"throughline/internal/question"
	"throughline/internal/rows"
	"throughline/internal/runs"
	"throughline/internal/validate"
	"throughline/model"
	"throughline/number"
)

// runsName is a table of measured runs, or a result file, to be shown beside plans.
const runsName = "runs"

func init() { ofPage = append(ofPage, runsName) }

// mostBeside is how many measured runs are predicted and drawn.
const mostBeside = 100

// besideRow is a measured run and its prediction for people.
type besideRow struct {
	Ref, Name, Clients string
	TTFT, TPOT, PerGPU pair
}

// pair is what was measured and what is predicted.
type pair struct{ Measured, Predicted, Off string }

func timePair(measured, predicted float64) pair {
	return pair{number.Time(measured, 3), number.Time(predicted, 3), number.Signed(predicted/measured-1, 1)}
}

// beside adds the measured runs of a file that are of the model and the systems of plans.
func (c *choice) beside(ctx context.Context, s *Server, st *state, plans []*systemPlan) error {
	name := st.shown[runsName]
	if name == "" || slices.ContainsFunc(plans, func(f *systemPlan) bool { return f.Partial }) {
		return nil
	}
	if _, ok := s.held()[name]; !ok {
		c.Remarks = append(c.Remarks, missingUpload(st.language, name))
		return nil
	}
	known := name
	for _, f := range plans {
		known += "\x00" + f.Loaded.Shape.Name + " " + f.Loaded.Decode.Name
	}
	rows, ok := s.measuredRuns.get(known)
	if !ok {
		var err error
		if rows, err = measuredRuns(ctx, s.door(), name, plans); err != nil {
			return question.OfSetting(runsName, err)
		}
		s.measuredRuns.put(known, rows)
	}
	if len(rows) == 0 {
		c.Remarks = append(c.Remarks, st.language.tell("%s has no run of %s on %s with TTFT and TPOT", name, plans[0].Loaded.Shape.Name, readable(st.words["system"])))
	}
	for i, r := range rows {
		at := slices.IndexFunc(plans, func(f *systemPlan) bool { return f.Loaded.Decode.Name == r.System })
		b := picture.Beside{Name: fmt.Sprintf("%s, %s", r.Deployment, number.Count(r.Clients, "client")), Place: at, Measured: clientFigures(r, r.Figures[0].Measured, r.Figures[1].Measured), Predicted: clientFigures(r, r.Figures[0].Predicted, r.Figures[1].Predicted)}
		c.drawn = append(c.drawn, b)
		c.Beside = append(c.Beside, besideRow{fmt.Sprintf("run%d", i), r.System + " " + r.Deployment, number.Grouped(r.Clients), timePair(b.Measured.TTFT, b.Predicted.TTFT), timePair(b.Measured.TPOT, b.Predicted.TPOT),
			pair{number.Rate(b.Measured.PerGPU), number.Rate(b.Predicted.PerGPU), number.Signed(b.Predicted.PerGPU/b.Measured.PerGPU-1, 1)}})
	}
	return nil
}

// clientFigures is what clients see of a run; its throughput follows by Little's law, of what was
// measured as of what is predicted.
func clientFigures(r *validate.Row, ttft, tpot float64) picture.ClientFigures {
	out := picture.ClientFigures{TTFT: ttft / 1e3, TPOT: tpot / 1e3}
	out.Latency = out.TTFT + float64(r.Output-1)*out.TPOT
	out.PerGPU = float64(r.Clients*r.Output) / out.Latency / float64(r.Procs)
	return out
}

func measuredRuns(ctx context.Context, in *files.Door, name string, plans []*systemPlan) ([]*validate.Row, error) {
	left := mostBeside
	return predictedRuns(ctx, in, name, func(r rows.Row) bool {
		ours := left > 0 && ofPlans(r, plans)
		if ours {
			left--
		}
		return ours
	})
}

// predictedRuns are the chosen runs of a file that have TTFT and TPOT, measured and predicted.
func predictedRuns(ctx context.Context, in *files.Door, name string, only func(rows.Row) bool) (out []*validate.Row, err error) {
	f, err := runs.Open(in, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	q := question.DefaultOf(question.Serving)
	q.In = in
	report, err := validate.Trial{Only: only}.Serving(ctx, name, f, q)
	if err != nil {
		return nil, err
	}
	for i := range report.Rows {
		r := &report.Rows[i]
		whole := r.Procs > 0 && r.Clients > 0 && r.Output > 1
		if at := slices.Index(report.Figures, "E2E"); at >= 0 && whole && r.Figures[1].Measured == 0 { // what a request takes after its first token
			r.Figures[1].Measured = max(0, r.Figures[at].Measured-r.Figures[0].Measured) / float64(r.Output-1)
		}
		r.Figures = r.Figures[:min(2, len(r.Figures))]
		for _, f := range r.Figures {
			whole = whole && f.Measured > 0 && f.Predicted > 0
		}
		if whole {
			out = append(out, r)
		}
	}
	return out, nil
}

func ofPlans(r rows.Row, plans []*systemPlan) bool {
	return modelOf(r) == plans[0].Loaded.Shape.Name && slices.ContainsFunc(plans, func(f *systemPlan) bool { return f.Loaded.Decode.Name == systemOf(r) })
}

// modelOf and systemOf are what a run says, by the built-in name where there is one.
func modelOf(r rows.Row) string  { return modelName(r.Get("model")) }
func systemOf(r rows.Row) string { return systemName(r.Get("system")) }

func modelName(text string) string {
	name, _ := model.Catalogue.Name(text)
	return cmp.Or(name, text)
}

func systemName(text string) string {
	name, _ := hardware.Catalogue.Name(text)
	return cmp.Or(name, text)
}
