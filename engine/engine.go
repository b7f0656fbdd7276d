// Package engine knows what the inference engines SGLang, vLLM and TensorRT-LLM can run, and the launch arguments that
// express a deployment for them. The facts are data: the options that a version has, and what it supports.
package engine

import (
	"cmp"
	"embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"throughline/deploy"
	"throughline/internal/document"
	"throughline/plan"
)

// Support is how far an engine has a feature.
type Support string

const (
	Yes     Support = "yes"
	Partial Support = "partial"
	No      Support = "no"
)

// Capability is what an engine does about a feature.
type Capability struct {
	Support Support `json:"support" required:"true" enum:"yes,partial,no"`
	Remark  string  `json:"remark" required:"true"`
	Source  string  `json:"source" required:"true" nonempty:"true"`
}

// Format is how an engine reads weights of a number format.
type Format struct {
	Option string `json:"option"` // value of --quantization; empty if the checkpoint says it
	// WhileLoading: the engine makes such weights of those of 16 bits; otherwise it needs a checkpoint that has them.
	WhileLoading bool `json:"while_loading"`
	// Always: the option is needed for a checkpoint that has such weights, too.
	Always bool   `json:"always"`
	Remark string `json:"remark"`
}

// Scheduling is the facts of an engine that decide how it serves requests, with their sources.
type Scheduling struct {
	deploy.Scheduling

	// QuantizedCache: where the cache of quantised weights is FP8. Kernels that read it well came with the processors that
	// have FP4; weights with one scale come with a scale of the cache, those with scales of blocks do not.
	QuantizedCache string `json:"quantized_cache" required:"true" enum:"always,one scale or fp4,with fp4,never"`
	// ReadsNarrowCache: kernels of its own read a cache of 8 bits, in half the time of one of 16, where those that other
	// engines run on a chip convert it first.
	ReadsNarrowCache bool `json:"reads_narrow_cache" required:"true"`
	// LibraryProducts: products of 8 bits with one scale run in the library of those of 16, cuBLAS, and not in kernels of its own.
	LibraryProducts bool `json:"library_products" required:"true"`
	// GathersExperts: which servers gather the tokens of data-parallel ranks instead of sending each to its experts.
	GathersExperts string `json:"gathers_experts" required:"true" enum:"always,aggregated,in nodes,never"`
	// GathersByAllReduce: the steps whose tokens are gathered by an all-reduce over a buffer of all of them, and not by an all-gather
	// and a reduce-scatter.
	GathersByAllReduce string `json:"gathers_by_all_reduce" required:"true" enum:"always,prefill,never"`
	// TunesExchange: an exchange for throughput that does not overlap can have more units than its library takes by itself.
	TunesExchange bool `json:"tunes_exchange" required:"true"`
	// FusesQuantization: the products whose inputs norms and activations write narrow. Elsewhere a kernel of its own makes them so.
	FusesQuantization string `json:"fuses_quantization" required:"true" enum:"8 bits,one scale of 8 bits,never"`
	// CapturedTokens is the most tokens of a decode step that is captured as one graph, those of all replicas together, in servers
	// that gather them; the operators of longer ones are launched one by one, each in LaunchSeconds. 0: all are captured, unless a
	// server is told which; it counts sequences then, or tokens.
	// On chips with more memory than LargeGiB it is LargeCapturedTokens, where that is said.
	CapturedTokens      int     `json:"captured_tokens"`
	LargeCapturedTokens int     `json:"large_captured_tokens"`
	LargeGiB            float64 `json:"large_gib"`
	CapturesBy          string  `json:"captures_by" required:"true" enum:"sequences,tokens"`
	LaunchSeconds       float64 `json:"launch_seconds" required:"true"`
	// CapturedPrompts is the most tokens of a step with prompts that is captured; the operators of longer ones are launched one by one,
	// each in PromptLaunchSeconds.
	CapturedPrompts     int     `json:"captured_prompts" required:"true"`
	PromptLaunchSeconds float64 `json:"prompt_launch_seconds" required:"true"`
	// SharedApart: shared experts are not run among the routed ones.
	SharedApart bool `json:"shared_apart"`
	// IndexKernels is how many small kernels the indexer of sparse attention has before what makes its queries and key narrow; 0: one. On
	// the chips of the maker FusesIndex it has none.
	IndexKernels int    `json:"index_kernels" range:"[0,100]"`
	FusesIndex   string `json:"fuses_index"`
	// SkipsIndex: of prompts no longer than it picks, the indexer makes the keys alone.
	SkipsIndex bool `json:"skips_index"`
	// GathersLatents: with sequence parallelism, latent vectors are gathered, and not what they are made of.
	GathersLatents bool `json:"gathers_latents" required:"true"`
	// DraftSequences is the sequences that all data-parallel ranks of a server with drafts run at a time where it is told no number;
	// the commands that are printed here always tell one. 0: as many as without drafts.
	DraftSequences int `json:"draft_sequences"`
	// UnpreparedSeconds is what the host adds to a step with drafts that it is told not to prepare while the one before runs.
	UnpreparedSeconds float64 `json:"unprepared_seconds"`
	// PipelineRest: where layers go that do not divide evenly among the stages of a pipeline, one to each of as many stages.
	PipelineRest string `json:"pipeline_rest" required:"true" enum:"last stages,before the last"`

	Sources map[string]string `json:"sources" required:"true"`
}

// Earlier is the facts of an earlier version that differ, as far as they are known.
type Earlier struct {
	GathersByAllReduce  string  `json:"gathers_by_all_reduce" required:"true" enum:"always,prefill,never"`
	DraftSeconds        float64 `json:"draft_seconds" required:"true"`
	CapturedTokens      int     `json:"captured_tokens" required:"true"`
	LaunchSeconds       float64 `json:"launch_seconds" required:"true"`
	LargeCapturedTokens int     `json:"large_captured_tokens"`
	LargeGiB            float64 `json:"large_gib"`
	PieceSeconds        float64 `json:"piece_seconds"`                                               // of its ports
	LogitBytes          float64 `json:"logit_bytes"`                                                 // 0: as now
	FusesQuantization   string  `json:"fuses_quantization" enum:",8 bits,one scale of 8 bits,never"` // empty: as now
	SharedApart         bool    `json:"shared_apart"`
	Synchronous         bool    `json:"synchronous"`                   // a step is scheduled when the one before has ended
	IndexKernels        int     `json:"index_kernels" range:"[0,100]"` // 0: as now
	Source              string  `json:"source" required:"true" nonempty:"true"`
}

// Release is one of an earlier version, with what differs from the last one of that.
type Release struct {
	Of string `json:"of" required:"true"` // the earlier version
	// CopyKernels choose the copies of experts that tokens go to.
	CopyKernels int `json:"copy_kernels" range:"[0,100]"`
	// Unfused: it has small kernels besides where tokens are sent to experts, most of which later ones do without.
	Unfused bool `json:"unfused"`
	// Exchange is how many times as long the exchanges of prompts took between so many nodes as in the tables.
	Exchange []ExchangeThen `json:"exchange"`
	// LowLatency is that of the exchanges of tokens that decode.
	LowLatency []ExchangeThen `json:"low_latency"`
	// LaunchesBoth: servers of both phases whose ranks send tokens to experts capture no steps.
	LaunchesBoth bool   `json:"launches_both"`
	Source       string `json:"source" required:"true" nonempty:"true"`
}

// ExchangeThen is the two directions of an exchange in an older library.
type ExchangeThen struct {
	Nodes    int     `json:"nodes" required:"true" range:"[2,10000]"`
	Dispatch float64 `json:"dispatch" required:"true" range:"[1,100]"`
	Combine  float64 `json:"combine" required:"true" range:"[1,100]"`
}

// then is the slowdown of an exchange between so many nodes: on a straight line between those that were measured, and as that of the most beyond them.
func then(list []ExchangeThen, nodes int) plan.Slowdown {
	for i, x := range list {
		switch {
		case nodes < x.Nodes && i == 0:
			return plan.Slowdown{}
		case nodes < x.Nodes:
			before := list[i-1]
			part := float64(nodes-before.Nodes) / float64(x.Nodes-before.Nodes)
			return plan.Slowdown{Dispatch: before.Dispatch + part*(x.Dispatch-before.Dispatch), Combine: before.Combine + part*(x.Combine-before.Combine)}
		}
	}
	if len(list) == 0 {
		return plan.Slowdown{}
	}
	last := list[len(list)-1]
	return plan.Slowdown{Dispatch: last.Dispatch, Combine: last.Combine}
}

// Port is the facts of an engine on the chips of a maker that differ from those on others.
type Port struct {
	Title string `json:"title" required:"true"`
	// LargestGraph is the most tokens of a decode step of a replica that is captured as a graph. There is none for more tokens than a
	// replica may have sequences, with their drafts: graphs are for the largest of the sizes below that. The operators of longer
	// steps are launched one by one, each in LaunchSeconds.
	LargestGraph  int     `json:"largest_graph" required:"true"`
	LaunchSeconds float64 `json:"launch_seconds" required:"true"`
	// SharedLaunches is the kernels of the shared experts of a layer, which run apart from the routed ones.
	SharedLaunches int `json:"shared_launches" required:"true"`
	// PieceSeconds is of the host, for each layer of a captured step whose graphs end at every attention; 0: one graph is the step.
	PieceSeconds float64           `json:"piece_seconds" required:"true"`
	Sources      map[string]string `json:"sources" required:"true"`
}

// Products is kernels of products, and how they fall short of those of the tables: TFLOP/s at most, and seconds at least for weights that
// they are not tuned for.
type Products struct {
	Chips      []string `json:"chips" required:"true"` // generations that have them
	Unmeasured bool     `json:"unmeasured"`
	TFlops     float64  `json:"tflops"`
	N          float64  `json:"n"`
	K          float64  `json:"k"`
	Seconds    float64  `json:"seconds"`
	Source     string   `json:"source" required:"true" nonempty:"true"`
}

// SequenceSteps are the steps that an engine spreads over tensor-parallel ranks: of models at least so wide, on chips of some generations,
// with so many bytes of activations for each rank.
type SequenceSteps struct {
	Hidden    int      `json:"hidden" required:"true"`
	RankBytes int      `json:"rank_bytes" required:"true"`
	Chips     []string `json:"chips" required:"true"`
	Source    string   `json:"source" required:"true" nonempty:"true"`
}

// Exchange is what the kernels can do that send tokens to their experts.
type Exchange struct {
	Ranks  []int  `json:"ranks" required:"true"` // numbers of them
	Source string `json:"source" required:"true" nonempty:"true"`
}

// Engine is one inference engine in one version.
type Engine struct {
	Name    string   `json:"name" required:"true"`
	Title   string   `json:"title" required:"true"`
	Aliases []string `json:"aliases" required:"true"`
	Program string   `json:"program" required:"true"`
	Makers  []string `json:"makers"` // of the chips that it runs on; none: of any

	Weights      map[string]Format     `json:"weights" required:"true" keys:"bf16,fp8,int8,fp4,mxfp4,int4"`
	Cache        map[string]string     `json:"cache" required:"true" keys:"bf16,fp8,fp4"` // by format, the value of the option
	Capabilities map[string]Capability `json:"capabilities" required:"true"`              // by key of a feature
	Scheduling   Scheduling            `json:"scheduling" required:"true"`
	// PrefillExchange is that of prefill servers; nil: any number of ranks.
	PrefillExchange *Exchange          `json:"prefill_exchange"`
	Earlier         map[string]Earlier `json:"earlier"`  // by version
	Releases        map[string]Release `json:"releases"` // by version, of earlier ones
	release         Release            // that it is
	Ports           map[string]Port    `json:"ports"` // by maker of the chip
	// Products are the kernels of products of blocks that a server can be told to take.
	Products map[string]Products `json:"products"`

	// Sequence is when it spreads steps over tensor-parallel ranks, where it is told to; nil: whenever they have prompts.
	Sequence *SequenceSteps `json:"sequence"`

	Attention Attention // which backends of attention it has

	Options       Options
	RouterOptions Options // of the program in front of its servers

	support [featureCount]Support
	pairs   func(prefill, decode *plan.Plan) bool // nil: all
	limits  []limit
	args    []arg
	later   []arg // of all nodes but the first
	config  []arg // keys of the extra YAML
	// variables of the environment of servers that have a place
	variables []arg
	router    func(*Fleet) *Router // nil: there is none for such servers
	remarks   []remark
	// sequences is how many a replica is told to run; nil: its batch.
	sequences func(unit) int
	// launcher is the program that starts the server on several nodes with one command; nil: the command is run on each.
	launcher func(unit) string
}

// Options are the options that exist in a version.
type Options struct {
	Version string   `json:"version" required:"true" nonempty:"true"`
	Source  string   `json:"source" required:"true" nonempty:"true"`
	Options []string `json:"options" required:"true"` // of the command line
	Keys    []string `json:"keys" required:"true"`    // of the extra YAML; dots before nested ones
}

//go:embed data
var files embed.FS

var engines = load()

// All lists the engines.
func All() []*Engine { return slices.Clone(engines) }

// Find returns the engine of a name or alias; behind an @ may be an earlier version.
func Find(name string) (*Engine, error) {
	if of, version, ok := strings.Cut(name, "@"); ok {
		e, err := Find(of)
		if err != nil {
			return nil, err
		}
		return e.At(version)
	}
	names := []string{Any}
	if strings.EqualFold(name, Generic.Name) {
		return Generic, nil
	}
	for _, e := range engines {
		if slices.ContainsFunc(append([]string{e.Name}, e.Aliases...), func(own string) bool { return strings.EqualFold(own, name) }) {
			return e, nil
		}
		names = append(append(names, e.Name), e.Aliases...)
	}
	meant := ""
	if near, ok := document.Nearest(name, names); ok {
		meant = fmt.Sprintf("; did you mean %q?", near)
	}
	return nil, fmt.Errorf("no engine %q: there are sglang, vllm, trtllm; none is a generic one%s", name, meant)
}

// At is the engine with what differs in an earlier version.
func (e *Engine) At(version string) (*Engine, error) {
	if r, ok := e.Releases[version]; ok {
		out, err := e.At(r.Of)
		if err == nil {
			out.release = r
		}
		return out, err
	}
	was, ok := e.Earlier[version]
	if !ok {
		known := "none is known"
		if versions := slices.Concat(slices.Collect(maps.Keys(e.Earlier)), slices.Collect(maps.Keys(e.Releases))); len(versions) > 0 {
			slices.Sort(versions)
			known = "known are " + document.QuoteList(versions)
		}
		return nil, fmt.Errorf("no earlier version %q of %s: %s", version, e.Title, known)
	}
	out := *e
	out.Scheduling.GathersByAllReduce, out.Scheduling.DraftSeconds = was.GathersByAllReduce, was.DraftSeconds
	out.Scheduling.CapturedTokens, out.Scheduling.LaunchSeconds = was.CapturedTokens, was.LaunchSeconds
	out.Scheduling.LargeCapturedTokens, out.Scheduling.LargeGiB = was.LargeCapturedTokens, was.LargeGiB
	out.Scheduling.Memory.LogitBytes = cmp.Or(was.LogitBytes, e.Scheduling.Memory.LogitBytes)
	out.Scheduling.FusesQuantization = cmp.Or(was.FusesQuantization, e.Scheduling.FusesQuantization)
	out.Scheduling.SharedApart = was.SharedApart
	if was.IndexKernels > 0 {
		out.Scheduling.IndexKernels, out.Scheduling.FusesIndex = was.IndexKernels, ""
	}
	if was.Synchronous {
		out.Scheduling.StepsAhead = 0
	}
	out.Attention = e.Attention.then(version)
	out.Ports = maps.Clone(e.Ports)
	for maker, port := range out.Ports {
		port.PieceSeconds = was.PieceSeconds
		out.Ports[maker] = port
	}
	return &out, nil
}

func load() []*Engine {
	list := []*Engine{
		{Name: "sglang", limits: sglangLimits, pairs: sglangPairs, args: sglangArgs, variables: sglangVariables, remarks: sglangRemarks, router: sglangRouter},
		{Name: "vllm", limits: vllmLimits, args: vllmArgs, sequences: vllmSequences, later: vllmLater, variables: vllmVariables, remarks: vllmRemarks, router: vllmRouter},
		{Name: "trtllm", limits: trtllmLimits, args: trtllmArgs, config: trtllmConfig, remarks: trtllmRemarks, launcher: trtllmLauncher, router: trtllmRouter},
	}
	for _, e := range list {
		read(path.Join("data", e.Name+".json"), e)
		e.Attention = readAttention(e.Name)
		read(path.Join("data/options", e.Name+".json"), &e.Options)
		read(path.Join("data/options", e.Name+"_router.json"), &e.RouterOptions)
		for i, f := range features {
			c, ok := e.Capabilities[f.key]
			if !ok {
				panic(e.Name + " says nothing about " + f.key)
			}
			e.support[i] = c.Support
		}
	}
	return list
}

// read decodes a file that is compiled in.
func read(name string, into any) {
	src, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	doc := document.Parse(name, src)
	doc.Decode(into)
	if err := doc.Err(); err != nil {
		panic(err)
	}
}
