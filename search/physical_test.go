package search_test

import (
	"context"
	"testing"

	"throughline/assume"
	"throughline/plan"
	"throughline/search"
)

// TestExpertsOfAStage: 8 processors. Pipelined, the experts of a plan are spread over the
// processors of a stage, and all such splits are among the plans; otherwise over all 8.
func TestExpertsOfAStage(t *testing.T) {
	p := sampleProblem(t, "deepseek_v3_flash_mla_absorb", 8)
	p.Redundant = search.Range{}
	for _, as := range []*assume.Assumptions{&assume.Reference, &assume.Physical} {
		p.Assume = as
		seen := map[int]map[plan.ExpertSplit]bool{}
		for _, pl := range p.Plans() {
			pp := pl.Attention.PP
			procs := 8
			if as.Pipelined {
				procs = 8 / pp
			}
			if pl.Experts.Procs() != procs || pl.Attention.Procs() != 8 || pl.Pipelined != as.Pipelined {
				t.Fatalf("%s: %v over %d processors, pipelined %v", as.Name, &pl, pl.Experts.Procs(), pl.Pipelined)
			}
			if seen[pp] == nil {
				seen[pp] = map[plan.ExpertSplit]bool{}
			}
			seen[pp][pl.Experts] = true
		}
		// 256 + 32 experts and a width of 2048 suit all splits: of 8 processors 10, of 4 6, of 2 3,
		// of 1 1.
		want := map[int]int{1: 10, 2: 10, 4: 10, 8: 10}
		if as.Pipelined {
			want = map[int]int{1: 10, 2: 6, 4: 3, 8: 1}
		}
		for pp, n := range want {
			if len(seen[pp]) != n {
				t.Errorf("%s: %d splits of the experts with pp %d, want %d", as.Name, len(seen[pp]), pp, n)
			}
		}
	}
}

// TestRefusedExpertsOfAStage: three experts on 8 processors. Refused are the splits with ep 2, 4 or
// 8: of 8 processors 3 + 2 + 1 (the rest may be slices or copies), of 4 2 + 1, of 2 1, of 1 none.
func TestRefusedExpertsOfAStage(t *testing.T) {
	p := sampleProblem(t, "deepseek_v3_flash_mla_absorb", 8)
	m := *p.Model
	m.Experts.Routed, m.Experts.TopK = 3, 1
	set := *p.Settings
	set.SharedReplicas = 0
	p.Model, p.Settings, p.Redundant = &m, &set, search.Range{}
	for as, want := range map[*assume.Assumptions]int{&assume.Reference: 6, &assume.Physical: 6 + 3 + 1} {
		p.Assume = as
		count := 0
		for _, r := range p.Refusals(&search.Result{}) {
			if r.Rule == "experts per GPU" {
				count = r.Count
			}
		}
		if count != want {
			t.Errorf("%s: %d splits are refused, want %d", as.Name, count, want)
		}
	}
}

// TestUsableMemory: see TestDecodeLeavesRoomForPrefill: of 300 bytes a decode of two leaves room.
// Of 700 bytes half are usable, and 50 kept: 300 again.
func TestUsableMemory(t *testing.T) {
	p := onePerSecond()
	as := *p.Decode.Assume
	as.MemoryFraction, as.ReserveGiB = 0.5, 50.0/(1<<30)
	p.Decode.Assume, p.Prefill.Assume = &as, &as
	p.Decode.System.Memory.GiB = 700.0 / (1 << 30)
	got, err := search.Fused(context.Background(), p, 1)
	if err != nil {
		t.Fatal(err)
	}
	if b := got.Decode.Best.Plan.Batch.Size; !got.Found() || b != 2 {
		t.Errorf("found %v, a decode batch of %d, want 2", got.Found(), b)
	}
	// With nothing left, nothing fits; the reason counts what is usable.
	as.ReserveGiB = 250.0 / (1 << 30) // leaves 100 bytes; 88 + 80 + 8 and a cache of 56 are needed
	got, err = search.Fused(context.Background(), p, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got.Found() || got.Decode.Rejected.Memory.Plans != 1 {
		t.Errorf("found %v, %d plans do not fit", got.Found(), got.Decode.Rejected.Memory.Plans)
	}
	if r := got.Decode.Rejected.Memory; r.Needs-r.Over != 100 {
		t.Errorf("%v bytes are said to be usable, want 100", r.Needs-r.Over)
	}
}
