package gap

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"throughline/deploy"
	"throughline/internal/files"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/serving"
	"throughline/serving/simulate"
)

func answered(t *testing.T) *point.Answer {
	t.Helper()
	q := question.DefaultOf(question.Compare)
	q.Model, q.System, q.Engine, q.Concurrency = "Llama-3.1-8B", "H200", "vllm", 32
	a, err := point.NewExaminer().Answer(&q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestExplain: a measurement that is the prediction with 5 ms more of the host in every step is
// explained by that; decode kernels would have to take as much longer, and prompts alone contradict
// the TTFT.
func TestExplain(t *testing.T) {
	a := answered(t)
	d := a.Deployment
	d.Engine.StepSeconds += 5e-3
	p, err := serving.NewPredictor(&d)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := simulate.Steady(p, &d, a.Load)
	if err != nil {
		t.Fatal(err)
	}
	m := &Measured{Figures: []Measurement{{"tpot", 1e3 * seen.TPOT}, {"ttft", 1e3 * seen.TTFT}}}
	why, err := Explain(a, nil, m, "")
	if err != nil {
		t.Fatal(err)
	}
	cause := func(name string) *Cause {
		at := slices.IndexFunc(why.Causes, func(c Cause) bool { return c.Name == name })
		if at < 0 {
			t.Fatalf("no cause %s", name)
		}
		return &why.Causes[at]
	}
	if why.Figure != "tpot" || math.Abs(why.Predicted-1e3*a.Seen.TPOT) > 1e-9 {
		t.Errorf("%s of %v ms is explained, predicted %v", why.Figure, why.Predicted, 1e3*a.Seen.TPOT)
	}
	if h := cause("host"); h.Needs != "+5 ms per step" || h.Contradicts || h.Leaves != "" || math.Abs(h.Others[0].Predicted/(1e3*seen.TTFT)-1) > 0.01 {
		t.Errorf("host: %+v", h)
	}
	if p := cause("prompts"); p.Able && !p.Contradicts {
		t.Errorf("prompts: %+v", p)
	}
	if o := cause("overlap"); o.Able || !strings.HasPrefix(o.Needs, "cannot") {
		t.Errorf("overlap of a model without exchange: %+v", o)
	}
	// Of the decode kernels, 5 ms of a step: a class that takes a share s of it must be 1 + 5 ms /
	// (s · step) times as long.
	k := cause("decode kernels")
	var factors float64
	for _, p := range k.Parts {
		factors += 1 / (p.Factor - 1)
	}
	decode := 0.0
	probe := deploy.Deployment{}
	k.at(&probe, &traffic{Load: a.Load})
	decode, _ = probe.Fitted.Scales()
	if math.Abs(factors*(decode-1)-1) > 1e-6 {
		t.Errorf("classes: %+v do not add up to ×%v", k.Parts, decode)
	}
	if step := a.Phases[1].Estimate.StepTime; math.Abs((decode-1)*step-5e-3) > 0.3e-3 {
		t.Errorf("decode ×%v of a step of %v s is %v s, want 5 ms", decode, step, (decode-1)*step)
	}
	if len(why.Next) == 0 || !strings.Contains(why.Next[0].What, "1 client") && !strings.Contains(why.Next[0].What, "four times") {
		t.Errorf("measure next: %+v", why.Next)
	}
}

// TestRead: words, result files of three clients, rows of a table; and what is none of these.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	sglang := write("sglang.jsonl", "{}\n"+`{"backend":"sglang-oai","max_concurrency":16,"concurrency":15.99,"completed":128,"random_input_len":1000,"random_output_len":500,"random_range_ratio":0.5,"mean_ttft_ms":886.12,"mean_tpot_ms":24.3,"mean_e2e_latency_ms":25161.28,"request_throughput":0.64}`)
	vllm := write("vllm.json", `{"backend":"vllm","model_id":"m","max_concurrency":8,"completed":80,"total_input_tokens":80000,"total_output_tokens":40000,"median_ttft_ms":90,"mean_ttft_ms":100,"mean_tpot_ms":12,"mean_e2el_ms":6000}`)
	aiperf := write("aiperf.json", `{"time_to_first_token":{"unit":"ms","avg":120.5,"p99":300},"inter_token_latency":{"unit":"ms","avg":11},"input_sequence_length":{"unit":"tokens","avg":550.2},"output_sequence_length":{"unit":"tokens","avg":150},"input_config":{"loadgen":{"concurrency":32}}}`)
	table := write("runs.csv", "model,system,tp,concurrency,isl,osl,tpot_ms\nA,B,8,4,100,200,7\nA,B,8,16,100,200,9.5\n")
	tagged := write("bench.jsonl", `{"tag":"slow","mean_tpot_ms":40,"max_concurrency":4}`+"\n"+`{"tag":"fast","mean_tpot_ms":20,"max_concurrency":8}`+"\n")
	sheet := "Run,Model,Framework,GPU,ISL,OSL,Concurrency,TP,TPOT,TTFT,Predicted TPOT\nx,A,vllm,B,100,200,4,8,7,70,6\n"
	matrix, list := write("results.csv", sheet), write("results.json", `[{"run":"x","model":"A","framework":"vllm","gpu":"B","isl":100,"osl":200,"concurrency":4,"tp":8,"tpot":7,"ttft":70,"predicted_tpot":6}]`)
	appended := write("appended.csv", "model,system,isl,osl,lengths,concurrency,num_prompts,tpot_mean_ms\nA,B,100,200,uniform:0.5,4,20,7\n")
	deployed := map[string]string{"concurrency": "4", "tp": "8", "model": "A", "system": "B", "engine": "vllm", "isl": "100"}
	for _, c := range []struct {
		text     string
		want     map[string]float64
		settings map[string]string
		requests float64
	}{
		{"tpot=31ms,ttft=0.4s", map[string]float64{"tpot": 31, "ttft": 400}, nil, 0},
		{sglang, map[string]float64{"tpot": 24.3, "ttft": 886.12, "e2e": 25161.3, "requests": 0.64}, map[string]string{"concurrency": "16", "isl": "1000", "osl": "500", "lengths": "uniform:0.5", "engine": ""}, 8},
		{vllm, map[string]float64{"tpot": 12, "ttft": 100, "e2e": 6000}, map[string]string{"concurrency": "8", "isl": "1000", "osl": "500", "engine": ""}, 10},
		{aiperf, map[string]float64{"tpot": 11, "ttft": 120.5}, map[string]string{"concurrency": "32", "isl": "550", "osl": "150"}, 0},
		{tagged, map[string]float64{"tpot": 20}, map[string]string{"concurrency": "8"}, 0},
		{tagged + "#1", map[string]float64{"tpot": 40}, map[string]string{"concurrency": "4"}, 0},
		{tagged + "#slow", map[string]float64{"tpot": 40}, map[string]string{"concurrency": "4"}, 0},
		{matrix, map[string]float64{"tpot": 7, "ttft": 70}, deployed, 0},
		{list, map[string]float64{"tpot": 7, "ttft": 70}, deployed, 0},
		{appended, map[string]float64{"tpot": 7}, map[string]string{"lengths": "uniform:0.5", "concurrency": "4", "model": "A"}, 5},
		{table + "#2", map[string]float64{"tpot": 9.5}, map[string]string{"concurrency": "16", "tp": "8", "model": "A"}, 0},
	} {
		m, err := Read(files.Machine, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		got := map[string]float64{}
		for _, f := range m.Figures {
			got[f.Name] = f.Value
		}
		for name, v := range c.want {
			if math.Abs(got[name]-v) > 1e-9 {
				t.Errorf("%s: %s %v, want %v", c.text, name, got[name], v)
			}
		}
		if len(got) != len(c.want) || m.Requests != c.requests {
			t.Errorf("%s: %v, %v requests of a client", c.text, got, m.Requests)
		}
		for name, v := range c.settings {
			if m.Settings[name] != v {
				t.Errorf("%s: %s %q, want %q", c.text, name, m.Settings[name], v)
			}
		}
	}
	for text, want := range map[string]string{
		"tpto=31ms":                        `did you mean "tpot"`,
		"tpot=fast":                        "is no measured value",
		"tpot=-3ms":                        "is no measured value",
		table + "#7":                       "has no row 7",
		tagged + "#3":                      "has no result 3: there are 2",
		tagged + "#fats":                   `did you mean "fast"`,
		write("other.json", `{"a":1}`):     "none of the keys",
		write("text.json", `hello`):        "neither a JSON object",
		filepath.Join(dir, "missing.json"): "there is no such file",
	} {
		if _, err := Read(files.Machine, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
