package sweep_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"throughline/assume"
	"throughline/internal/files"
	"throughline/internal/jobfile"
	"throughline/internal/result"
	"throughline/internal/sweep"
	"throughline/internal/table"
	"throughline/internal/test/long"
	"throughline/op"
)

// searched are the records of presets that a test has asked for before.
var searched = map[string][]*result.Record{}

// records are the runs of the sample files of the project, with their operators. Tests read them
// only.
func records(t *testing.T, preset string) []*result.Record {
	t.Helper()
	if searched[preset] == nil {
		searched[preset] = search(t, preset)
	}
	return searched[preset]
}

func search(t *testing.T, preset string) (out []*result.Record) {
	t.Helper()
	as, err := assume.Parse(preset)
	if err != nil {
		t.Fatal(err)
	}
	calibrated := filepath.Join(t.TempDir(), "calibrated.json")
	if err := os.WriteFile(calibrated, []byte(`{"pd-split-request-optimal": {"model_list": ["llama_3_8b", "deepseek_v3_flash_mla_absorb"],
		"sequence_length_list": [[2000, 300]], "num_procs_list": [32], "pd_num_procs_list": [[16, 16]], "sys_list": [["H200", "H200"]],
		"wac_bytes_list": [[1, 1, 1, 2]], "flops_type_list": [["float8", "bfloat16", "bfloat16"]], "time_limit_list": [[null, 50]], "output": "out"}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../../configs/reference_sample.json", "../../configs/split_and_fusion.json", calibrated} {
		jobs, _, err := jobfile.Load(files.Machine, name, as)
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range jobs {
			err := sweep.Run(t.Context(), job, sweep.Options{Jobs: 2, Ops: true}, func(r *result.Record) error { out = append(out, r); return nil })
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

// TestOperatorsAddUp: the rows of operators add up to the step, to its shares, and per stage to the
// fields of the tables.
func TestOperatorsAddUp(t *testing.T) {
	long.NotRacing(t)
	for _, preset := range []string{"reference", "physical"} {
		steps := 0
		for _, r := range records(t, preset) {
			for _, s := range r.Sides {
				if !s.Found {
					continue
				}
				steps++
				if calibrated := s.System.Kernels != nil; (s.OpSums.Static > 0) != calibrated {
					t.Errorf("%s: %v s of static latency, calibrated kernels: %v", s.System.Name, s.OpSums.Static, calibrated)
				}
				near := func(what string, got, want float64) {
					t.Helper()
					if math.Abs(got-want) > 1e-9*math.Max(math.Abs(want), 1e-12) {
						t.Errorf("%s, %s %d phase %d: %s: rows say %v, the result %v", preset, r.Mode, r.Number, s.Phase, what, got, want)
					}
				}
				checkSums(s, near)
				checkStage(r, s, near)
				checkRows(t, s)
			}
		}
		if steps < 8 {
			t.Errorf("only %d steps", steps)
		}
	}
}

func checkSums(s *result.Side, near func(what string, got, want float64)) {
	sum, shares := s.OpSums, &s.Step.Shares
	near("step", sum.Step(), s.Step.StepTime)
	near("computing", sum.Compute+sum.Memory+sum.Static, shares.Compute+shares.Memory)
	near("communication", sum.Comm, shares.Communication)
	near("waiting", sum.Waiting, shares.Waiting+shares.Offload)
	engines := 0.0
	for _, e := range sum.Engines {
		engines += e.Time
	}
	near("engines", engines+sum.Waiting, s.Step.StepTime)
}

// checkStage compares with the fields of one stage.
func checkStage(r *result.Record, s *result.Side, near func(what string, got, want float64)) {
	p := &s.Step.Plan
	filled, _ := p.Filled(r.Model.Layers)
	passes := filled * float64(p.Attention.PP*p.Batch.Count)
	sums := map[string]float64{}
	for i := range s.Step.Operators {
		o := &s.Step.Operators[i]
		if o.Block != "attention" && o.Block != "mlp" || o.Waits() {
			continue
		}
		n := o.Times / passes
		block := "instance_" + strings.Replace(o.Block, "attention", "attn", 1) + "_"
		sums[block+"process_time(s)"] += n * o.Exposed
		sums[block+"mem_accessed"] += n * o.Bytes()
		sums[block+"flops"] += n * o.Flops
		sums[block+"mem_time(s)"] += n * o.Memory
		sums[block+"compute_time(s)"] += n * o.Compute
		switch {
		case o.Computes():
			sums["instance_"+o.Peak.Engine+"_process_time(s)"] += n * o.Exposed
		default:
			sums["instance_comm_time_exposed(s)"] += n * o.Exposed
		}
	}
	for name, got := range sums {
		near(name, got, result.Of(s.Phase, name).Value(r).(float64))
	}
}

func checkRows(t *testing.T, s *result.Side) {
	t.Helper()
	for i := range s.Step.Operators {
		o := &s.Step.Operators[i]
		end := s.Step.StepTime*(1+1e-9) + s.Step.KV.Time
		if o.Static < 0 || o.Static > o.Exposed || o.Exposed > o.Time*(1+1e-9)+1e-15 && o.Computes() || o.Start > o.End || o.End > end {
			t.Errorf("%+v of a step of %v s", o, s.Step.StepTime)
		}
		if u := o.Utilisation(); u < 0 || u > 1+1e-9 {
			t.Errorf("%s, phase %d: utilisation %v: %+v", o.Name, s.Phase, u, o)
		}
	}
}

// TestNoOperatorsUnlessAsked: without them the fields are empty, and the tables do not have them.
func TestNoOperatorsUnlessAsked(t *testing.T) {
	for _, table := range result.Tables() {
		for i := range table.Rows {
			if table.Rows[i].Category == result.OpDetails {
				t.Errorf("%s has %s", table.Name, table.Rows[i].Name)
			}
		}
	}
	err := sweep.Run(t.Context(), scan(t, 1, 1), sweep.Options{Jobs: 1}, func(r *result.Record) error {
		if v := result.Of(op.Decode, "op_memory_bound(%)").Value(r); v != nil {
			t.Errorf("%v", v)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTypes: the values of fields are of the types that files declare.
func TestTypes(t *testing.T) {
	long.NotRacing(t)
	for _, preset := range []string{"reference", "physical"} {
		for _, r := range records(t, preset) {
			for _, f := range result.Fields() {
				v := f.Value(r)
				ok := v == nil
				switch f.Kind() {
				case table.Number:
					_, whole := v.(int)
					_, number := v.(float64)
					ok = ok || whole || number
				case table.Count:
					_, whole := v.(int)
					ok = ok || whole
				case table.Text:
					_, text := v.(string)
					ok = ok || text
				case table.Flag:
					_, flag := v.(bool)
					ok = ok || flag
				}
				if !ok {
					t.Errorf("%s is %s, and %T", f.Name, f.Kind(), v)
				}
			}
		}
	}
}
