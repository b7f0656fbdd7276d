package point

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"throughline/estimate"
	"throughline/hardware/kernel"
	"throughline/internal/document"
	"throughline/internal/question"
	"throughline/op"
)

// TestBackendIsOnlyAttention: another attention backend changes the times of attention, with what
// its kernels may do besides, and of nothing else.
func TestBackendIsOnlyAttention(t *testing.T) {
	attention := []kernel.Slot{kernel.Prefill, kernel.LatentPrefill, kernel.Decode, kernel.LatentDecode}
	isAttention := func(o *estimate.Operator) bool {
		for _, u := range o.Kernels {
			for _, slot := range attention {
				if u.Slot == slot && (u.Role == kernel.Full || u.Role.Included()) {
					return true
				}
			}
		}
		return false
	}
	latent := deepseek()
	latent.TP, latent.Batch, latent.System = 8, 16, "B200"
	grouped := llama()
	grouped.Batch, grouped.System = 16, "B200"
	for name, p := range map[string]question.Question{"latent": latent, "grouped": grouped} {
		for _, phase := range []op.Phase{op.Prefill, op.Decode} {
			p.Engine, p.Phase = "sglang", question.Phase(phase.Name())
			operators := func(backend string) []estimate.Operator {
				p := p
				p.Traffic.Attention = backend
				a, err := NewEstimator().Answer(&p)
				if err != nil {
					t.Fatal(err)
				}
				d := &a.Deployment
				problem := d.Problem(phase, d.Pools[0].System, a.Load.Lengths)
				e, err := estimate.NewEvaluator(&problem)
				if err != nil {
					t.Fatal(err)
				}
				return slices.DeleteFunc(e.Operators(&a.Phases[0].Plan), func(o estimate.Operator) bool { return !o.Computes() && o.Part >= estimate.PartCount })
			}
			usual, other, changed := operators(""), operators("triton"), 0
			for i := range usual {
				a, b := &usual[i], &other[i]
				switch {
				case a.Kind != b.Kind || a.Flops != b.Flops:
					t.Fatalf("%s, %v: %v is %v", name, phase, a.Kind, b.Kind)
				case isAttention(a) && a.Full != b.Full:
					changed++
				case !isAttention(a) && math.Abs(a.Full-b.Full) > 1e-9*a.Full: // at the full clock: the power of attention moves that of all
					t.Errorf("%s, %v: %v takes %g, with another backend %g s", name, phase, a.Kind, a.Full, b.Full)
				}
			}
			if changed == 0 {
				t.Errorf("%s, %v: another backend changes nothing", name, phase)
			}
		}
	}
}

// TestBackendRemarks: kernels that stand in for others are said, and trusted less; backends that an
// engine has not got are problems.
func TestBackendRemarks(t *testing.T) {
	p := deepseek()
	p.TP, p.Batch, p.System, p.Engine, p.Phase = 8, 16, "B200", "sglang", question.Decode
	answer := func(backend string) (*Answer, error) {
		p := p
		p.Traffic.Attention = backend
		return NewEstimator().Answer(&p)
	}
	usual, err := answer("")
	if err != nil {
		t.Fatal(err)
	}
	for backend, want := range map[string]string{
		"trtllm_mla": "", "flashinfer": "no measurement of latent decode of flashinfer on B200: that of trtllm_mla stands in", "triton": "is extrapolated from grouped attention",
	} {
		a, err := answer(backend)
		if err != nil {
			t.Fatal(err)
		}
		if (want == "") != (a.Remark == "") || !strings.Contains(a.Remark, want) {
			t.Errorf("%s: %q", backend, a.Remark)
		}
		got, was := a.Phases[0].Detail.Confidence, usual.Phases[0].Detail.Confidence
		if want == "" && got != was || want != "" && got == was {
			t.Errorf("%s: %+v, before %+v", backend, got, was)
		}
	}
	_, err = answer("fa3")
	var problems *document.Error
	if !errors.As(err, &problems) || !strings.Contains(err.Error(), "not on B200 (Blackwell)") {
		t.Error(err)
	}
}

// TestRowsAreTold: every row of a table has its own settings of a run.
func TestRowsAreTold(t *testing.T) {
	e := NewEstimator()
	times := map[string]float64{}
	for _, backend := range []string{"triton", "", "flashinfer"} {
		p := llama()
		p.System, p.Engine, p.Phase, p.Batch, p.Context = "B200", "sglang", question.Decode, 64, 8000
		p.Traffic.Attention = backend
		a, err := e.Answer(&p)
		if err != nil {
			t.Fatal(err)
		}
		times[backend] = a.Phases[0].Estimate.StepTime
	}
	if !(times[""] < times["flashinfer"] && times["flashinfer"] < times["triton"]) {
		t.Errorf("steps of %v", times)
	}
}

// TestBackendOfNoEngine: what no engine takes is a problem with the reasons of all, whether or not
// the generic one has kernels of that name; a plan that no engine runs whatever it is told is
// priced without one.
func TestBackendOfNoEngine(t *testing.T) {
	p := llama()
	p.System, p.Engine = "H200", ""
	p.Traffic.Attention = "cutlass_mla"
	_, err := NewEstimator().Answer(&p)
	if err == nil || !strings.Contains(err.Error(), "not for grouped attention") || !strings.Contains(err.Error(), "TensorRT-LLM has no such attention backend") {
		t.Error(err)
	}
	p.Traffic.Attention, p.Traffic.PrefillAttention, p.Traffic.WaitSteps = "fa3", "fa3", 2 // of two engines
	if _, err := NewEstimator().Answer(&p); err == nil || !strings.Contains(err.Error(), "no option wait-steps") {
		t.Error(err)
	}
}

// TestMeasuredAreCompared: of several engines, those whose kernels were measured are chosen from;
// the others are named.
func TestMeasuredAreCompared(t *testing.T) {
	p := llama()
	p.System, p.Engine, p.Batch = "H200", "", 64
	p.Traffic.Attention = "triton"
	a, err := NewEstimator().Answer(&p)
	if err != nil {
		t.Fatal(err)
	}
	if a.Deployment.Engine.Name != "sglang" || !strings.Contains(a.Remark, "vllm is left out: no measurement of prefill attention of vllm_triton on H200") {
		t.Errorf("%s: %s", a.Deployment.Engine.Name, a.Remark)
	}
	p.Engine = "vllm"
	if a, err = NewEstimator().Answer(&p); err != nil || strings.Contains(a.Remark, "left out") || !strings.Contains(a.Remark, "stands in") {
		t.Errorf("%v: %s", err, a.Remark)
	}
}

// TestColumnsByOtherNames: columns may have the names that engines have for settings, one of each;
// a name that one engine alone understands chooses it.
func TestColumnsByOtherNames(t *testing.T) {
	run := func(table string) string {
		var out strings.Builder
		if _, err := Stream(t.Context(), strings.NewReader(table), &out, new(question.Default())); err != nil {
			return err.Error()
		}
		return out.String()
	}
	for _, c := range []struct{ table, want string }{
		{"model,system,engine,attn_backend\nLlama-3.1-8B,H200,trtllm,TRTLLM\n", ",TRTLLM,trtllm,1,"},
		{"model,system,engine,Max-Num-Seqs\nLlama-3.1-8B,H200,vllm,8\n", ",8,vllm,1,"},
		{"model,system,attn_backend,attention-backend\nLlama-3.1-8B,H200,fa3,fa3\n", `"attention-backend" is there twice`},
		{"model,system,piecewise_cuda_graph_max_tokens\nLlama-3.1-8B,H200,100\n", ",100,sglang,1,"},
		{"model,system,engine,piecewise_cuda_graph_max_tokens\nLlama-3.1-8B,H200,vllm,100\n", "piecewise-cuda-graph-max-tokens: is an option of sglang, not of vllm; captured-prompts says the same of any engine"},
		{"model,system,engine,captured-prompts\nLlama-3.1-8B,H200,vllm,100\n", ",100,vllm,1,"},
	} {
		if got := run(c.table); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.table, got)
		}
	}
}

// TestHardlyUneven: experts that are hardly more popular than others take the time of those that
// are as popular, in both phases.
func TestHardlyUneven(t *testing.T) {
	p := deepseek()
	p.System, p.Engine, p.TP, p.EP, p.Batch = "H200", "sglang", 8, 8, 16
	step := func(phase question.Phase, popularity string) float64 {
		p := p
		p.Phase, p.Popularity = phase, popularity
		a, err := NewEstimator().Answer(&p)
		if err != nil {
			t.Fatal(err)
		}
		return a.Phases[0].Estimate.StepTime
	}
	for _, phase := range []question.Phase{question.Prefill, question.Decode} {
		even := step(phase, "uniform")
		for _, popularity := range []string{"zipf:0.0001", "zipf:0.01", "lognormal:0.01"} {
			if r := step(phase, popularity) / even; r < 0.9995 || r > 1.0005 {
				t.Errorf("%s, %s: %v times the step of uniform", phase, popularity, r)
			}
		}
		if served := step(phase, "served"); served < 1.005*even {
			t.Errorf("%s: as served %v s, uniform %v s", phase, served, even)
		}
	}
}
