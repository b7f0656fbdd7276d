package engine_test

import (
	"testing"

	"throughline/deploy"
	"throughline/engine"
	"throughline/hardware"
	"throughline/internal/test/builtin"
	"throughline/internal/test/golden"
	"throughline/internal/test/questions"
)

// TestSums: how engines run drawn deployments, how each of their servers is started, and why other
// engines refuse them.
func TestSums(t *testing.T) {
	sums := golden.Sums{}
	for _, s := range questions.Deployments(t, 400, 34) {
		d := &s.Deployment
		of := d.Engine.Name
		sums.Fields(of+" engine", d.Engine)
		sums.Fields(of+" acceptance", d.Acceptance)
		sums.Fields("notes", engine.Notes(d))
		for _, e := range engine.All() {
			chip, settings := e.Takes(d)
			sums.Fields(e.Name+" takes", [][]string{chip, settings})
			fleet, err := e.Fleet(d)
			if err != nil {
				sums.Fields(e.Name+" refuses", err.Error())
			} else {
				sums.Fields(e.Name+" servers", fleet.Servers)
				sums.Fields(e.Name+" router", fleet.Router)
				sums.Fields(e.Name+" script", fleet.Filled().Script("A title"))
			}
			if d.Split() {
				sums.Fields(e.Name+" pairs", e.Pairs(&d.Pools[0].Plan, &d.Pools[1].Plan))
			}
			for i := range d.Pools {
				pool := &d.Pools[i]
				sums.Fields(e.Name+" behaviour", e.Behaviour(d, pool))
				sums.Fields(e.Name+" refusals", e.Refuses(d, pool))
				sums.Fields(e.Name+" sequences", e.Sequences(d, pool))
				if e.Runs(d, pool) {
					sums.Fields(e.Name+" launch", e.Launch(d, pool))
				}
			}
		}
		for i := range d.Pools {
			sums.Fields(of+" plan", d.Pools[i].Plan)
		}
	}
	addNames(t, sums)
	sums.Check(t, "testdata/sums.tsv")
}

// addNames adds what engines, their versions, settings and numbers are called, and what is said of
// others.
func addNames(t *testing.T, sums golden.Sums) {
	said := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	chips := []*hardware.System{builtin.System(t, "H200"), builtin.System(t, "B200"), builtin.System(t, "SOW-S1")}
	sums.Fields("names", [][]string{engine.Names(), engine.Runners(), engine.BackendNames(), engine.ProductNames(), engine.AllAttentionNames()})
	backends := append(engine.AllAttentionNames(), "FlashInfer", "fa9", "")
	for _, e := range append(engine.All(), engine.Generic) {
		sums.Fields(e.Name+" attention", e.AttentionNames())
		for _, name := range backends {
			sums.Fields("attention", said(engine.CheckAttention(name)))
			for _, chip := range chips {
				sums.Fields(e.Name+" attention on "+chip.Name, said(e.CheckSettings(&deploy.ServerOptions{Attention: name, DecodeAttention: "triton"}, chip)))
			}
		}
		for _, name := range append(engine.ProductNames(), "none") {
			for _, chip := range chips {
				sums.Fields(e.Name+" products on "+chip.Name, said(e.CheckSettings(&deploy.ServerOptions{Products: name}, chip)))
			}
		}
		for _, version := range []string{"0.1", "0.4.6", "0.5.9.post1", "0.9.2", "0.10.1rc1", "1.0.0rc3", "1.2", "99", "x", ""} {
			_, err := e.At(version)
			sums.Fields(e.Name+" versions", []any{said(err), e.Nearest(version)})
			choice, err := engine.Choices(e.Name + "@" + version)
			sums.Fields(e.Name+" choices", []any{said(err), len(choice)})
		}
		for _, number := range []string{"scheduling.step_tokens", "scheduling.nothing", "x[0]"} {
			changed, err := e.Changed(number, func(was float64) float64 { return 2 * was })
			if sums.Fields(e.Name+" numbers", said(err)); err == nil {
				again, err := changed.Changed(number, func(was float64) float64 { return was + 1 })
				sums.Fields(e.Name+" changed", []any{changed.Scheduling.StepTokens, again.Scheduling.StepTokens, said(err)})
			}
		}
		sums.Fields(e.Name+" tokens", []any{e.DefaultStepTokens(1), e.DefaultStepTokens(8)})
	}
	for _, name := range append(engine.Runners(), "none", "any", "vllm,sglang", "dynamo") {
		f, err := engine.FindRunner(name)
		choice, wrong := engine.Choices(name)
		sums.Fields("runners", []any{f != nil, said(err), len(choice), said(wrong), engine.IsOpen(name), engine.RunsOnHost(name), engine.StandIn(name)})
	}
	for _, name := range append(engine.BackendNames(), "x") {
		b, ok := engine.FindBackend(name)
		sums.Fields("backends", []any{ok, b})
	}
	for _, name := range []string{"max-running-requests", "max_num_seqs", "tp-size", "ep-size", "enable-dp-attention", "chunked-prefill-size", "mem-fraction-static", "x"} {
		sums.Fields("settings", []any{engine.Aliases(name), engine.OnlyOf(name), engine.SharedByRanks(name), engine.MemoryOptions()[name]})
	}
}
