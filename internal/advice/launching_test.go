package advice_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"throughline/deploy"
	"throughline/engine"
	"throughline/internal/advice"
	"throughline/internal/question"
	"throughline/internal/test/racing"
	"throughline/plan"
	"throughline/search"
)

// flags are the options of a server, with the keys of its extra configuration.
type flags map[string]string

func flagsOf(s *engine.Server) flags {
	out := flags{}
	words := slices.Concat(s.Command, s.Later)
	for i, w := range words {
		if strings.HasPrefix(w, "--") {
			out[w] = ""
			if i+1 < len(words) && !strings.HasPrefix(words[i+1], "--") {
				out[w] = words[i+1]
			}
		}
	}
	var open []string
	for line := range strings.Lines(s.Config) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		depth := (len(line) - len(strings.TrimLeft(line, " "))) / 2
		open = append(open[:depth], name)
		if value = strings.TrimSpace(value); value != "" {
			out[strings.Join(open, ".")] = value
		}
	}
	return out
}

func (f flags) has(name string) bool { _, ok := f[name]; return ok }

func (f flags) int(name string, missing int) int {
	if n, err := strconv.Atoi(f[name]); err == nil {
		return n
	}
	return missing
}

// started is what an engine makes of options, by its documentation, in the words of plans.
type started struct {
	dp, pp, tp, ep, etp int
	sends               bool // tokens are sent to their experts by a library
	mode                string
	overlap             plan.Overlap
	redundant, drafts   int
	sequences           int // of a replica
	tokens              int // of a step of a replica with prompts; 0: not given
	context             int
	quantization, cache string
	nodes               int // 0: not given
}

// startedBy reads options as the engines document them, not as this program makes them.
var startedBy = map[string]func(f flags, d *deploy.Deployment) started{
	"sglang": func(f flags, _ *deploy.Deployment) started {
		all, dp := f.int("--tp-size", 1), f.int("--dp-size", 1)
		s := started{
			dp: dp, pp: f.int("--pp-size", 1), tp: all / dp, ep: f.int("--ep-size", 1),
			sends: f["--moe-a2a-backend"] == "deepep", mode: f["--deepep-mode"],
			redundant: f.int("--ep-num-redundant-experts", 0), drafts: f.int("--speculative-num-steps", 0),
			sequences: f.int("--max-running-requests", 0) / dp, tokens: f.int("--chunked-prefill-size", 0) / dp, context: f.int("--context-length", 0),
			quantization: f["--quantization"], cache: f["--kv-cache-dtype"], nodes: f.int("--nnodes", 1),
		}
		s.etp = all / s.ep
		if f.has("--enable-two-batch-overlap") {
			s.overlap = plan.TwoBatch
		}
		if f.has("--enable-single-batch-overlap") {
			s.overlap = plan.SingleBatch
		}
		if dp > 1 && !f.has("--enable-dp-attention") {
			s.dp = -1 // replicas of the whole model
		}
		return s
	},
	"vllm": func(f flags, _ *deploy.Deployment) started {
		s := started{
			dp: f.int("--data-parallel-size", 1), pp: f.int("--pipeline-parallel-size", 1), tp: f.int("--tensor-parallel-size", 1), ep: 1,
			sends: strings.HasPrefix(f["--all2all-backend"], "deepep"), mode: f["--all2all-backend"],
			sequences: f.int("--max-num-seqs", 0), tokens: f.int("--max-num-batched-tokens", 0), context: f.int("--max-model-len", 0),
			quantization: f["--quantization"], cache: f["--kv-cache-dtype"], nodes: f.int("--nnodes", 0),
		}
		s.etp = s.dp * s.tp
		if f.has("--enable-expert-parallel") {
			s.ep, s.etp = s.etp, 1
		}
		if f.has("--enable-dbo") {
			s.overlap = plan.TwoBatch
		}
		_, _ = fmt.Sscanf(f["--eplb-config"], `{"num_redundant_experts":%d}`, &s.redundant)
		_, _ = fmt.Sscanf(f["--speculative-config"], `{"method":"mtp","num_speculative_tokens":%d}`, &s.drafts)
		return s
	},
	"trtllm": func(f flags, d *deploy.Deployment) started {
		all := f.int("--tp_size", 1)
		s := started{
			dp: 1, pp: f.int("--pp_size", 1), tp: all, ep: f.int("--ep_size", 1), etp: f.int("moe_tensor_parallel_size", 1),
			sequences: f.int("--max_batch_size", 0), tokens: f.int("--max_num_tokens", 0), context: f.int("--max_seq_len", 0),
			drafts: f.int("speculative_config.num_nextn_predict_layers", 0), cache: f["kv_cache_config.dtype"],
		}
		s.sequences *= s.pp
		if f["enable_attention_dp"] == "true" {
			s.dp, s.tp = all, 1
		}
		if n := f.int("moe_config.load_balancer.num_slots", 0); n > 0 {
			s.redundant = n - d.Model.Experts.Routed
		}
		return s
	},
}

// launchCases are 20 plans: models, systems, modes, engines.
func launchCases() (out []struct {
	model, system, engine string
	gpus, perNode         int
	mode                  advice.Mode
	set                   func(*question.Question)
}) {
	none := func(*question.Question) {}
	add := func(model, system, engine string, gpus int, mode advice.Mode, set func(*question.Question)) {
		per := 8
		if strings.HasPrefix(system, "GB") {
			per = 4
		}
		out = append(out, struct {
			model, system, engine string
			gpus, perNode         int
			mode                  advice.Mode
			set                   func(*question.Question)
		}{model, system, engine, gpus, per, mode, set})
	}
	for _, e := range []string{"sglang", "vllm", "trtllm"} {
		add("DeepSeek-V3", "H200", e, 16, advice.Aggregated, none)
		add("DeepSeek-V3", "H200", e, 32, advice.Disaggregated, none)
		add("gpt-oss-120b", "B200", e, 8, advice.Both, none)
		add("Llama-3.1-70B", "H100_SXM", e, 8, advice.Both, func(q *question.Question) { q.Formats.Weights = "fp8" })
	}
	add("Qwen3-235B-A22B", "H200", "any", 16, advice.Both, none)
	add("Kimi-K2.5", "B200", "any", 16, advice.Both, none)
	add("DeepSeek-R1", "GB200", "any", 16, advice.Both, func(q *question.Question) { q.Drafts = 2 })
	add("Llama-3.1-8B", "H200", "any", 2, advice.Both, func(q *question.Question) { q.Distribution = "uniform:0.5" })
	add("Qwen3-30B-A3B", "L40S", "any", 8, advice.Both, none)
	add("DeepSeek-V3", "H100_SXM", "sglang", 32, advice.Disaggregated, func(q *question.Question) { q.Popularity = "served" })
	add("Mixtral-8x7B", "MI300X", "any", 8, advice.Both, none)
	add("Qwen3-32B", "H20_141G", "any", 8, advice.Aggregated, func(q *question.Question) { q.Distribution = "lognormal:0.5" })
	return out
}

// What is priced is what is launched, in every row of 20 plans: the options, read as the engines
// document them, give the plan again.
func TestLaunchesWhatIsPriced(t *testing.T) {
	if racing.Enabled {
		t.Skip("searches are watched in other tests; what is launched is text")
	}
	rows := 0
	for _, c := range launchCases() {
		name := fmt.Sprintf("%s on %d %s, %s, %s", c.model, c.gpus, c.system, c.engine, c.mode)
		q := question.DefaultOf(question.Plan)
		q.Model, q.System, q.Input, q.Output, q.GPUs, q.GPUsPerNode = c.model, c.system, 2000, 500, c.gpus, c.perNode
		c.set(&q)
		l, err := q.Load()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		engines, err := engine.Choices(c.engine)
		if err != nil {
			t.Fatal(err)
		}
		got := advise(t, l, advice.Options{Search: question.Search{GPUs: c.gpus, Mode: c.mode}, GPUsPerNode: c.perNode, Engines: engines,
			Redundant: search.Range{High: q.Redundant}, Drafts: search.Range{High: q.Drafts}, Overlaps: []plan.Overlap{plan.NoOverlap, plan.TwoBatch, plan.SingleBatch}})
		for _, list := range [][]advice.Candidate{got.Ranked, got.Frontier} {
			for i := range list {
				rows++
				walk(t, fmt.Sprintf("%s, row %d", name, i+1), l, &list[i])
			}
		}
	}
	t.Log(rows, "rows")
	if rows < 100 {
		t.Errorf("only %d rows", rows)
	}
}

// walk compares the servers of a row with its pools.
func walk(t *testing.T, name string, l *question.Loaded, c *advice.Candidate) {
	t.Helper()
	d := &c.Deployment
	f, err := c.Engine().Fleet(d)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if !strings.Contains(f.Model, "/") && d.Stored.Published {
		t.Errorf("%s: checkpoint %q", name, f.Model)
	}
	placedOnce(t, name, f, d)
	if have := (c.Procs + f.GPUs - 1) / f.GPUs; f.Nodes > have {
		t.Errorf("%s: %d nodes, there are %d", name, f.Nodes, have)
	}
	for i := range d.Pools {
		p := &d.Pools[i]
		servers := slices.DeleteFunc(slices.Clone(f.Servers), func(s engine.Server) bool { return s.Role != p.Role.String() })
		if len(servers) == 0 {
			t.Errorf("%s: no servers of %s", name, p.Role)
			continue
		}
		s := startedBy[f.Engine](flagsOf(&servers[0]), d)
		samePool(t, fmt.Sprintf("%s: %s %v", name, p.Role, &p.Plan), l, d, p, &s, len(servers))
		if n := len(servers[0].Nodes); s.nodes > 0 && s.nodes != n {
			t.Errorf("%s: --nnodes %d on %d nodes", name, s.nodes, n)
		}
	}
}

// placedOnce checks that every processor of the deployment has one server.
func placedOnce(t *testing.T, name string, f *engine.Fleet, d *deploy.Deployment) {
	t.Helper()
	used := map[[2]int]string{}
	ports := map[[2]int]bool{}
	for i := range f.Servers {
		s := &f.Servers[i]
		for _, node := range s.Nodes {
			devices := s.Devices
			for k := range f.GPUs {
				if s.Devices == nil {
					devices = append(devices, k)
				}
			}
			for _, k := range devices {
				at := [2]int{node, k}
				if used[at] != "" || node >= f.Nodes || k >= f.GPUs {
					t.Errorf("%s: processor %v has %s and %s", name, at, used[at], s.Name)
				}
				used[at] = s.Name
			}
		}
		if at := [2]int{s.Nodes[0], s.Port}; ports[at] {
			t.Errorf("%s: two servers at %v", name, at)
		} else {
			ports[at] = true
		}
	}
	if len(used) != d.Procs() {
		t.Errorf("%s: %d processors are used, of %d", name, len(used), d.Procs())
	}
}

// samePool compares what is started with a pool.
func samePool(t *testing.T, name string, l *question.Loaded, d *deploy.Deployment, p *deploy.Pool, s *started, servers int) {
	t.Helper()
	same := func(what string, got, want any) {
		if got != want {
			t.Errorf("%s: %s %v, priced with %v", name, what, got, want)
		}
	}
	a, x := p.Plan.Attention, p.Plan.Experts
	same("replicas", s.dp*servers, a.DP*p.Count)
	same("pp", s.pp, a.PP)
	same("tp", s.tp, a.TP)
	if d.Model.IsMoE() {
		same("ep", s.ep, x.EP)
		same("moe-tp", s.etp, x.TP)
		same("redundant experts", s.redundant, p.Plan.Redundant)
		if d.Engine.Name != "trtllm" { // which chooses by the network
			same("sends tokens to experts", s.sends, x.EP > 1 && s.dp > 1 && !p.Plan.Gathered)
		}
		if s.sends {
			modes := map[string][3]string{"sglang": {"auto", "normal", "low_latency"}, "vllm": {"", "deepep_high_throughput", "deepep_low_latency"}}
			same("kernels", s.mode, modes[d.Engine.Name][p.Role])
		}
	}
	same("overlap", s.overlap, p.Plan.Overlap)
	same("drafts", s.drafts, d.Pools[len(d.Pools)-1].Plan.Drafts)
	same("sequences", s.sequences, p.Plan.Batch.Size*p.Plan.InFlight())
	switch {
	case p.Role == deploy.Decode:
	case d.Engine.Prefill == deploy.Prompts:
		same("tokens of a step", s.tokens, max(d.Engine.StepTokens, d.MaxPrompt))
	default:
		want := d.Engine.StepTokens
		if d.Engine.Name == "vllm" {
			want = max(want, s.sequences) // of all stages: vllm/config/scheduler.py refuses fewer tokens than sequences
		}
		same("tokens of a step", s.tokens, want)
	}
	same("context", s.context, cmp.Or(d.Context, d.MaxContext))
	if most := d.Model.Positions; s.context < l.Lengths.Final() || most > 0 && s.context > most {
		t.Errorf("%s: context %d, requests of %d, %d positions", name, s.context, l.Lengths.Final(), most)
	}
	narrow := s.cache != "" && s.cache != "auto"
	same("FP8 cache", narrow, d.Precision.Cache == 1)
	quantised := !d.Stored.Published && d.Precision.Narrowest() < 2 && d.Engine.Name != "trtllm"
	same("quantises while loading", s.quantization == "fp8", quantised)
}
