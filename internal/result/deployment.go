package result

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"throughline/estimate"
	"throughline/internal/version"
	"throughline/op"
	"throughline/plan"
	"throughline/serving"
)

var identityFields = []Field{
	{"schema", None, Identity, "version of the columns of the long table", func(*Record) any { return LongVersion }},
	{"run", None, Identity, "number of the run in its section", func(r *Record) any { return r.Number }},
	{"mode", None, Identity, "how the phases share GPUs", func(r *Record) any { return r.Mode }},
	{"reason", None, Identity, "why there is no plan, or what is to be said of it", func(r *Record) any {
		if r.Remark != "" {
			return r.Remark
		}
		return strings.Join(r.Reasons, "; ")
	}},
}

var modelFields = []Field{
	{"model_name", None, Model, "name of the model", func(r *Record) any { return r.Model.Name }},
	{"seq_size", None, Model, "tokens in of a request", func(r *Record) any { return r.Lengths.Input }},
	{"out_size", None, Model, "tokens out of a request", func(r *Record) any { return r.Lengths.Output }},
	{"weight_byte", Bytes, Model, "of an element of the weights", func(r *Record) any { return r.Precision.Weight }},
	{"activation_byte", Bytes, Model, "of an element of the activations", func(r *Record) any { return r.Precision.Activation }},
	{"cache_byte", Bytes, Model, "of an element of the KV cache", func(r *Record) any { return r.Precision.Cache }},
	{"comm_byte", Bytes, Model, "of an element that is sent", func(r *Record) any { return r.Precision.Comm }},
	{"use_flash_attn", None, Model, "scores never reach memory", func(r *Record) any { return r.Settings.Flash }},
}

var provenanceFields = []Field{
	{"assumptions", None, Provenance, "name of the set of modelling assumptions", func(r *Record) any { return r.Assume.Name }},
	{"throughline_version", None, Provenance, "version of the program", func(*Record) any { return version.Number }},
	{"input_hash", None, Provenance, "identifies the run: everything that its results depend on. Equal hashes and versions mean equal results", func(r *Record) any { return r.Hash }},
}

// complete is a field of deployments with a plan for both phases.
func complete(name string, u Unit, doc string, value func(r *Record) any) Field {
	return Field{name, u, Whole, doc, func(r *Record) any {
		if !r.Complete {
			return nil
		}
		return value(r)
	}}
}

// both is such a field where steps of both phases are known; a pool for both may have one.
func both(name string, u Unit, doc string, value func(r *Record) any) Field {
	return complete(name, u, doc, func(r *Record) any {
		if r.Sides[op.Prefill] == nil || r.Sides[op.Decode] == nil {
			return nil
		}
		return value(r)
	})
}

// split is such a field of deployments whose phases have separate processors.
func split(name string, u Unit, doc string, value func(r *Record) any) Field {
	return complete(name, u, doc, func(r *Record) any {
		if r.Shared {
			return nil
		}
		return value(r)
	})
}

func transfer(name string, u Unit, doc string, value func(t *estimate.Transfer) float64) Field {
	return split(name, u, doc, func(r *Record) any { return value(&r.Sides[op.Prefill].Step.KV) })
}

// aroundThroughput is an end of the band of the tokens per second and processor.
func aroundThroughput(name, doc string, end func(tokens, band float64) float64) Field {
	return Field{name, TokenRate, Answers, doc, func(r *Record) any {
		if band := r.ThroughputBand(); r.Complete && band > 0 {
			return end(r.Tokens()/float64(r.Procs), band)
		}
		return nil
	}}
}

// served is a field of what clients of an engine see.
func served(name string, u Unit, doc string, value func(r *Record) any) Field {
	return complete(name, u, doc, func(r *Record) any {
		if !r.Served {
			return nil
		}
		return value(r)
	})
}

var resultFields = []Field{
	{"num_procs", None, Whole, "GPUs of the run, spare ones included", func(r *Record) any { return r.Procs }},
	ofInstances(op.Prefill, "num_procs", None, "GPUs of all instances of the prefill. In fusion, all", func(s *Side) any { return s.Instances * s.Procs }),
	ofInstances(op.Decode, "num_procs", None, "GPUs of all instances of the decode. In fusion, all", func(s *Side) any { return s.Instances * s.Procs }),
	complete("spare_procs", None, "GPUs that no instance uses", func(r *Record) any { return r.Spare }),
	split("pd_ratio", None, "GPUs of prefill and decode, as `4:5`; empty in fusion", func(r *Record) any {
		p, d := r.Sides[op.Prefill], r.Sides[op.Decode]
		return fmt.Sprintf("%d:%d", p.Instances*p.Procs, d.Instances*d.Procs)
	}),
	complete("request_per_second", Rate, "requests per second of the deployment", func(r *Record) any { return r.Requests }),
	complete("request_per_second_per_npu", Rate, "the same per package, over all GPUs of the run, in packages of the decode system", func(r *Record) any { return r.Requests / float64(r.Cards) }),
	complete("output_throughput(token/s)", TokenRate, "output tokens per second of the deployment", func(r *Record) any { return r.Tokens() }),
	complete("TTFT(s)", Seconds, "time to the first token, KV transfer included, of clients who have been at it for long", func(r *Record) any { return r.TTFT }),
	complete("TTFT_cold(s)", Seconds, "the same of a benchmark whose clients start at once on a server that has just started; empty unless `cold` asks for it", func(r *Record) any {
		if r.ColdTTFT == 0 {
			return nil
		}
		return r.ColdTTFT
	}),
	complete("TPOT(s)", Seconds, "time per output token", func(r *Record) any { return r.TPOT }),
	complete("request_latency(s)", Seconds, "time of a whole request: TTFT, and TPOT for every further token", func(r *Record) any { return r.Latency }),
	ofInstances(op.Prefill, "request_per_second", Rate, "what all instances of the prefill can do alone", func(s *Side) any { return s.Rate() }),
	ofInstances(op.Decode, "request_per_second", Rate, "what all instances of the decode can do alone", func(s *Side) any { return s.Rate() }),
	both("bottleneck", None, "the phase with the lower of the two rates", func(r *Record) any { return r.Bottleneck() }),
	both("balance", None, "the lower rate over the higher: 1 if no phase waits for the other", func(r *Record) any { return r.Balance() }),
	transfer("kv_transfer_per_request(Gib)", GiB, "KV cache that a request takes from prefill to decode", func(t *estimate.Transfer) float64 { return gib(t.Bytes) }),
	transfer("kv_transfer_time(s)", Seconds, "time to send the cache of a prefill batch", func(t *estimate.Transfer) float64 { return t.Time }),
	transfer("kv_transfer_hidden(s)", Seconds, "of that, what runs behind the computation of the layers", func(t *estimate.Transfer) float64 { return t.Hidden() }),
	transfer("kv_transfer_exposed(s)", Seconds, "of that, what does not", func(t *estimate.Transfer) float64 { return t.Exposed }),
	{"engine", None, Whole, "where an engine is assumed (`assume` physical): the one that serves; of `run`, the generic one", func(r *Record) any {
		if r.Engine == "" {
			return nil
		}
		return r.Engine
	}},
	served("concurrency", None, "clients of the closed loop under which TTFT, TPOT and the request rate hold; of a deployment that was simulated at a rate, requests under way on average", func(r *Record) any { return r.Clients }),
	{"TTFT_limit(ms)", Millis, Whole, "the limit on TTFT", func(r *Record) any { return optional(r.Limits.TTFT) }},
	{"TPOT_limit(ms)", Millis, Whole, "the limit on TPOT", func(r *Record) any { return optional(r.Limits.TPOT) }},
}

// ofInstances is a field of all instances of a phase.
func ofInstances(phase op.Phase, name string, u Unit, doc string, value func(s *Side) any) Field {
	return complete(prefixes[phase]+name, u, doc, func(r *Record) any {
		if r.Sides[phase] == nil {
			return nil
		}
		return value(r.Sides[phase])
	})
}

// clientFields are further fields of estimate and plan.
var clientFields = []Field{
	{"cached_tokens", None, Whole, "leading tokens of a prompt whose keys and values are cached", func(r *Record) any { return r.Lengths.Cached }},
	{"context", None, Answers, "of a decode step that is no share of a request, its context", func(r *Record) any {
		if s := r.Sides[op.Decode]; s != nil && s.Ongoing {
			return r.Lengths.DecodeContext()
		}
		return nil
	}},
	{"system", None, Answers, "name of the system of the first phase that is asked about", func(r *Record) any {
		for _, phase := range phases {
			if s := r.Sides[phase]; s != nil {
				return s.System.Name
			}
		}
		return nil
	}},
	{"cards", None, Whole, "packages that the GPUs make", func(r *Record) any { return r.Cards }},
	complete("tokens_per_card", TokenRate, "output tokens per second and package", func(r *Record) any { return r.Tokens() / float64(r.Cards) }),
	complete("tokens_per_processor", TokenRate, "output tokens per second and GPU, spare ones included", func(r *Record) any { return r.Tokens() / float64(r.Procs) }),
	complete("tokens_per_user", TokenRate, "output tokens per second that a user sees; 0 where a request has one", func(r *Record) any { return perUser(r.TPOT) }),
	served("memory(Gib)", GiB, "what the fullest GPU holds", func(r *Record) any { return gib(r.Held) }),
	{"chance", None, Answers, "probability that all limits hold, by the bands of TTFT and TPOT and how far runs differ", func(r *Record) any {
		if chance := r.Chance(); !math.IsNaN(chance) {
			return chance
		}
		return nil
	}},
	aroundThroughput("tokens_per_processor_low", "where the band of the tokens per second and GPU begins", func(tokens, band float64) float64 { return tokens / (1 + band) }),
	aroundThroughput("tokens_per_processor_high", "where it ends", func(tokens, band float64) float64 { return tokens * (1 + band) }),
	{"dollars_per_million_tokens", "$", Costs, "dollars per million output tokens, where a price is given or that of the system is known", func(r *Record) any { return nonzero(r.DollarsPerMillion) }},
	{"price", None, Costs, "prices of systems that this rests on, with their dates and sources", func(r *Record) any {
		if len(r.Listed) == 0 {
			return nil
		}
		return strings.Join(r.Listed, "; ")
	}},
	{"tokens_per_joule", None, Answers, "output tokens per joule, where a power is given", func(r *Record) any { return nonzero(r.TokensPerJoule) }},
	trusted("TTFT_confidence", None, "what the prefill steps behind TTFT rest on", func(_ *Record, c *serving.Confidence) any { return c.TTFT.Level.String() }),
	trusted("TTFT_error_band(%)", Percent, "how much longer than predicted TTFT may be: four times in five it lies in its band", func(_ *Record, c *serving.Confidence) any { return bandOf(&c.TTFT) }),
	trusted("TTFT_low(s)", Seconds, "where the band of TTFT begins", func(r *Record, c *serving.Confidence) any { low, _ := bandAround(&c.TTFT, r.TTFT); return low }),
	trusted("TTFT_high(s)", Seconds, "where it ends", func(r *Record, c *serving.Confidence) any { _, high := bandAround(&c.TTFT, r.TTFT); return high }),
	trusted("TPOT_confidence", None, "what the decode steps behind TPOT rest on", func(_ *Record, c *serving.Confidence) any { return c.TPOT.Level.String() }),
	trusted("TPOT_error_band(%)", Percent, "how much longer than predicted TPOT may be: four times in five it lies in its band", func(_ *Record, c *serving.Confidence) any { return bandOf(&c.TPOT) }),
	trusted("TPOT_low(s)", Seconds, "where the band of TPOT begins", func(r *Record, c *serving.Confidence) any { low, _ := bandAround(&c.TPOT, r.TPOT); return low }),
	trusted("TPOT_high(s)", Seconds, "where it ends", func(r *Record, c *serving.Confidence) any { _, high := bandAround(&c.TPOT, r.TPOT); return high }),
	narrowed("narrowed_by", None, "what would narrow the bands most if it were known: settings, version, warm servers or a measured run", func(f *estimate.Fact, _ *serving.Confidence) any { return f.Name }),
	narrowed("TTFT_narrowed_band(%)", Percent, "the band of TTFT then", func(_ *estimate.Fact, c *serving.Confidence) any { return bandOf(&c.TTFT) }),
	narrowed("TPOT_narrowed_band(%)", Percent, "the band of TPOT then", func(_ *estimate.Fact, c *serving.Confidence) any { return bandOf(&c.TPOT) }),
	{"trust", None, Whole, "the weakest confidence of TTFT and TPOT, and their bands; of bare steps, that of the steps", func(r *Record) any { return r.trust() }},
}

// rowPrefix starts the names of the fields of a row of answers.
const rowPrefix = "row_"

// rowFields answer a question in a row: what clients see and the decode step, or a bare step.
var rowFields = []Field{
	inRow("row_step(s)", Seconds, "the step behind the answer: that of the decode, or the one that is asked for", func(_ *Record, s *Side) any { return s.Step.StepTime }),
	inRow("row_throughput(token/s)", TokenRate, "output tokens per second of the deployment; of a bare step, its tokens per second", func(r *Record, s *Side) any {
		if r.Served {
			return r.Tokens()
		}
		return s.Step.Throughput
	}),
	inRow("row_requests", Rate, "requests per second of the deployment, or of a bare step; empty at a given context", func(r *Record, s *Side) any {
		switch {
		case r.Served:
			return r.Requests
		case s.Ongoing:
			return nil
		}
		return s.Step.Requests
	}),
	inRow("row_memory(Gib)", GiB, "what the fullest GPU holds", func(r *Record, s *Side) any { return gib(r.rowHeld(s)) }),
	inRow("row_fits", None, "that is no more than is usable", func(r *Record, s *Side) any { return r.rowFits(s) }),
	inRow("row_bound", None, "what takes the largest share of the step", func(_ *Record, s *Side) any { return s.Bound.By }),
	inRow("row_confidence", None, "what the time rests on", func(r *Record, s *Side) any { return r.rowTrusted(s).Level.String() }),
	inRow("row_error_band(%)", Percent, "the band of that time: of TPOT where clients are served, else of the step", func(r *Record, s *Side) any { return bandOf(r.rowTrusted(s)) }),
	inRow("row_reason", None, "what does not fit, and what is to be said of the engine", func(r *Record, s *Side) any {
		return strings.Trim(s.TooMuch()+"; "+r.Remark, "; ")
	}),
}

// inRow is a field of the phase of a row; of both, the decode.
func inRow(name string, u Unit, doc string, value func(r *Record, s *Side) any) Field {
	return Field{name, u, Answers, doc, func(r *Record) any {
		for _, phase := range []op.Phase{op.Decode, op.Prefill} {
			if s := r.Sides[phase]; s != nil && s.Found {
				return value(r, s)
			}
		}
		return nil
	}}
}

// trusted is a field of the confidence in what clients see.
func trusted(name string, u Unit, doc string, value func(r *Record, c *serving.Confidence) any) Field {
	return Field{name, u, Answers, doc, func(r *Record) any {
		if r.Trusted == nil {
			return nil
		}
		return value(r, r.Trusted)
	}}
}

// narrowed is a field of the fact that would narrow the bands most.
func narrowed(name string, u Unit, doc string, value func(*estimate.Fact, *serving.Confidence) any) Field {
	return trusted(name, u, doc, func(_ *Record, c *serving.Confidence) any {
		fact, known := c.Narrower()
		if fact == nil {
			return nil
		}
		return value(fact, &known)
	})
}

// rowTrusted returns the confidence in TPOT where clients are served, otherwise in the step.
func (r *Record) rowTrusted(s *Side) *estimate.Confidence {
	if r.Trusted != nil {
		return &r.Trusted.TPOT
	}
	return &s.Step.Confidence
}

// rowHeld returns the bytes of the fullest processor under the load or, without clients, in the
// step.
func (r *Record) rowHeld(s *Side) float64 {
	if r.Served {
		return r.Held
	}
	return s.Held
}

// rowFits compares what processors hold with what is usable there: pools have each their own.
func (r *Record) rowFits(s *Side) bool {
	if r.Served && !r.Shared {
		return !slices.ContainsFunc(r.Sides[:], func(s *Side) bool { return s != nil && s.Over() > 0 })
	}
	return r.rowHeld(s) <= s.Usable
}

// bandOf returns a band in percent, or nil.
func bandOf(c *estimate.Confidence) any {
	if !c.HasBand() {
		return nil
	}
	return 100 * c.Band
}

// bandAround returns the ends of the band of a time, or nil.
func bandAround(c *estimate.Confidence, time float64) (low, high any) {
	if !c.HasBand() {
		return nil, nil
	}
	return c.Around(time)
}

// trust describes the weakest level of the sides, and the error bands of their steps.
func (r *Record) trust() any {
	level, bands := r.Confidence()
	if bands == nil {
		return nil
	}
	if !r.Assume.Compared() {
		bands = bands[:1] // report once that there is none
	}
	return fmt.Sprintf("%s %s", level, strings.Join(bands, ", "))
}

// Instances formats a plan with its count.
func Instances(count int, p *plan.Plan) string {
	s := p.String()
	if p.Redundant > 0 {
		s += fmt.Sprintf(" +%d", p.Redundant)
	}
	if p.Drafts > 0 {
		s += fmt.Sprintf(" mtp%d", p.Drafts)
	}
	if w := p.Overlap.Word(); w != "" {
		s += " " + w
	}
	if count > 1 {
		s = fmt.Sprintf("%d × %s", count, s)
	}
	return s
}

// perUser returns the tokens per second of a TPOT; a request of one token has none.
func perUser(tpot float64) float64 {
	if tpot == 0 {
		return 0
	}
	return 1 / tpot
}
