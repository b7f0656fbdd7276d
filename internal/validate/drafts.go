package validate

import (
	"cmp"
	"strconv"
	"strings"
)

// drafted is what a row of a table of serving runs says for a comparison with and without drafts.
type drafted struct {
	setting string // all that a deployment and its load are but for the drafts; empty: not to be compared
	drafts  bool
	tpot    float64 // as measured: the mean, else the median
}

// settingColumns are what two runs have in common that differ in drafts alone.
var settingColumns = []string{
	"model_path", "system", "backend", "precision", "kv_cache", "mode", "isl", "osl", "concurrency", "length_spread", "num_gpus",
	"tp_size", "pp_size", "attention_dp_size", "moe_tp_size", "moe_ep_size",
	"prefill_num_workers", "prefill_tp_size", "prefill_pp_size", "prefill_attention_dp_size", "prefill_moe_tp_size", "prefill_moe_ep_size",
	"decode_num_workers", "decode_tp_size", "decode_pp_size", "decode_attention_dp_size", "decode_moe_tp_size", "decode_moe_ep_size",
}

// drafted reads a row whose drafts are said, if only that there are none.
func (r run) drafted() drafted {
	tpot, err := strconv.ParseFloat(cmp.Or(r.plain("silicon_tpot_ms"), r.cell("tpot_p50")), 64)
	if err != nil || !(tpot > 0) || r.plain("spec")+r.plain("drafts") == "" || r.plain("spec") == "unknown" {
		return drafted{}
	}
	var setting []string
	for _, column := range settingColumns {
		setting = append(setting, r.get(column))
	}
	drafts, _ := r.drafts()
	return drafted{strings.Join(setting, "\x00"), drafts, tpot}
}

// DraftGain is what drafts do to the time per output token of one deployment under one load.
type DraftGain struct {
	Name                string
	Measured, Predicted float64 // time without drafts over time with them
}

// DraftGains are the pairs of runs that differ in drafts alone. Of runs that differ in nothing, as by version, the medians count.
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
			names[setting], median(without.measured) / median(with.measured), median(without.predicted) / median(with.predicted),
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
	return median(m), median(p)
}
