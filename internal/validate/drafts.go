package validate

import (
	"strings"

	"throughline/internal/names"
	"throughline/internal/rows"
)

// drafted is what a row of a table of serving runs says for a comparison with and without drafts.
type drafted struct {
	setting string // all that a deployment and its load are but for the drafts; empty: not to be compared
	drafts  bool
	tpot    float64 // as measured: the mean, else the median
}

// deployed are the columns that runs of one deployment and load share, except clients and drafts.
var deployed = []string{
	"model", "system", "engine", "weights", "cache", "mode", "isl", "osl", "length_spread", "gpus", "tp", "pp", "dp", "moe_tp", "ep",
	"prefill_workers", "prefill_tp", "prefill_pp", "prefill_dp", "prefill_moe_tp", "prefill_ep",
	"decode_workers", "decode_tp", "decode_pp", "decode_dp", "decode_moe_tp", "decode_ep",
}

// draftedIn reads a row whose drafts are said, if only that there are none.
func draftedIn(r rows.Row, figures []servingFigure) drafted {
	var tpot float64
	for _, statistic := range []string{"mean", "p50"} {
		for i := range figures {
			if figures[i].of == (names.Figure{Quantity: "tpot", Statistic: statistic}) && tpot == 0 {
				tpot = figures[i].measured(r.Cell).Measured
			}
		}
	}
	if spec := r.Get("spec"); !(tpot > 0) || spec+r.Get("drafts") == "" || spec == "unknown" {
		return drafted{}
	}
	setting := []string{r.Get("concurrency"), r.Cell("lengths")}
	for _, column := range deployed {
		setting = append(setting, r.Get(column))
	}
	drafts, _ := r.Drafts()
	return drafted{strings.Join(setting, "\x00"), drafts, tpot}
}

// DraftGain is what drafts do to the time per output token of one deployment under one load.
type DraftGain struct {
	Name                string
	Measured, Predicted float64 // time without drafts over time with them
}

// DraftGains pairs runs that differ only in drafts, using medians over otherwise identical runs.
func (r *Report) DraftGains() []DraftGain {
	type side struct{ measured, predicted []float64 }
	sides := map[string]*[2]side{}
	var order []string
	names := map[string]string{}
	for i := range r.Rows {
		row := &r.Rows[i]
		d := &row.drafted
		if d.setting == "" || !(row.Figures[1].Predicted > 0) {
			continue
		}
		if sides[d.setting] == nil {
			sides[d.setting] = &[2]side{}
			order = append(order, d.setting)
			names[d.setting] = row.Group + ", " + row.Label
		}
		s := &sides[d.setting][0]
		if d.drafts {
			s = &sides[d.setting][1]
		}
		s.measured = append(s.measured, d.tpot)
		s.predicted = append(s.predicted, row.Figures[1].Predicted)
	}
	var out []DraftGain
	for _, setting := range order {
		without, with := &sides[setting][0], &sides[setting][1]
		if len(without.measured) == 0 || len(with.measured) == 0 {
			continue
		}
		out = append(out, DraftGain{
			names[setting], Median(without.measured) / Median(with.measured), Median(without.predicted) / Median(with.predicted),
		})
	}
	return out
}

// MedianGain is the median of what pairs gain, as measured and as predicted.
func MedianGain(gains []DraftGain) (measured, predicted float64) {
	var m, p []float64
	for _, g := range gains {
		m, p = append(m, g.Measured), append(p, g.Predicted)
	}
	return Median(m), Median(p)
}
