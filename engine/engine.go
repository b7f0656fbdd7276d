// Package engine knows what the inference engines SGLang, vLLM and TensorRT-LLM can run, and the launch arguments that
// express a deployment for them. The facts are data: the options that a version has, and what it supports.
package engine

import (
	"embed"
	"fmt"
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
	// CompiledLaunchSeconds is the same of models that a compiler has made, as far as it is known: sparse latent attention; 0: as others.
	CompiledLaunchSeconds float64 `json:"compiled_launch_seconds" range:"[0,1]"`
	// SharedApart: shared experts are not run among the routed ones.
	SharedApart bool `json:"shared_apart"`
	// IndexKernels is how many small kernels the indexer of sparse attention has before what makes its queries and key narrow; 0: one. On
	// the chips of the maker FusesIndex it has none.
	IndexKernels int    `json:"index_kernels" range:"[0,100]"`
	FusesIndex   string `json:"fuses_index"`
	// IndexBytes is the most bytes of scores that an indexer makes of prompts at a time; 0: all at once.
	IndexBytes float64 `json:"index_bytes" range:"[0,1e15]"`
	// SparsePrompts: every query of a prompt reads what an indexer picked for it, also where that is all there is.
	SparsePrompts bool `json:"sparse_prompts"`
	// SparseApart: sparse latent attention and the experts behind it have small kernels of their own that are fused elsewhere.
	SparseApart bool `json:"sparse_apart"`
	// SharedBeside is the most tokens of a step whose shared experts run beside the routed ones, in models with sparse attention; 0: as
	// routed ones that all tokens visit.
	SharedBeside int `json:"shared_beside" range:"[0,1e9]"`
	// WideRouter: routers multiply in 32 bits where the model asks for it.
	WideRouter bool `json:"wide_router"`
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

	// LargestGraph is the most tokens of a step of a replica that is captured as a graph, which holds prompts as well. There is none for
	// more tokens than a replica may have sequences, with their drafts: graphs are for the largest of the sizes below that. The operators
	// of longer steps are launched one by one. 0: what is captured is said above.
	LargestGraph int `json:"largest_graph"`
	// SharedLaunches is the kernels of the shared experts of a layer, which run apart from the routed ones.
	SharedLaunches int `json:"shared_launches"`
	// PieceSeconds is of the host, for each layer of a captured step whose graphs end at every attention; 0: one graph is the step.
	PieceSeconds float64 `json:"piece_seconds"`
	// LaunchesBoth: servers of both phases whose ranks send tokens to experts capture no steps.
	LaunchesBoth bool `json:"launches_both"`
	// CopyKernels choose the copies of experts that tokens go to; 0: as many as plans have by themselves.
	CopyKernels int `json:"copy_kernels" range:"[0,100]"`
	// Unfused are the small kernels that there are besides where tokens are sent to experts.
	Unfused UnfusedKernels `json:"unfused"`
	// SlowPrefill and SlowDecode are how many times as long exchanges of prompts and of tokens that decode take as in the tables, by the
	// nodes that they join, with fewer first; none: as long.
	SlowPrefill []SlowExchange `json:"slow_prefill"`
	SlowDecode  []SlowExchange `json:"slow_decode"`

	Sources map[string]string `json:"sources" required:"true"`
	// Chosen are the facts whose numbers were chosen with the runs in view that predictions are judged by.
	Chosen map[string]document.Chosen `json:"chosen"`
}

// UnfusedKernels is the small kernels around an exchange that most engines fuse with others.
type UnfusedKernels struct {
	// ScaleRows is the tokens of a rank that each expert turns the scales of, whether they came or not.
	ScaleRows float64 `json:"scale_rows" required:"true"`
	// Transposed is how many times as long what is turned around takes as what is moved in order.
	Transposed float64 `json:"transposed" required:"true"`
}

// SlowExchange is how many times as long the two directions of an exchange between some nodes take as in the tables.
type SlowExchange struct {
	Nodes    int     `json:"nodes" required:"true" range:"[2,10000]"`
	Dispatch float64 `json:"dispatch" required:"true" range:"[1,100]"`
	Combine  float64 `json:"combine" required:"true" range:"[1,100]"`
}

// slowdown is that of an exchange between some nodes: on a straight line between those that were measured, and as that of the most
// beyond them.
func slowdown(list []SlowExchange, nodes int) plan.Slowdown {
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
	// Chips are the generations of chips that it runs on, and what it does with weights there; none: it runs everything everywhere.
	Chips map[string]Chip `json:"chips" required:"true"`

	Weights      map[string]Format     `json:"weights" required:"true" keys:"bf16,fp8,int8,fp4,mxfp4,int4"`
	Cache        map[string]string     `json:"cache" required:"true" keys:"bf16,fp8,fp4"` // by format, the value of the option
	Capabilities map[string]Capability `json:"capabilities" required:"true"`              // by key of a feature
	Scheduling   Scheduling            `json:"scheduling" required:"true"`
	// PrefillExchange is that of prefill servers; nil: any number of ranks.
	PrefillExchange *Exchange          `json:"prefill_exchange"`
	Versions        map[string]Version `json:"versions"`
	Ports           map[string]Port    `json:"ports"` // by maker of the chip
	// Products are the kernels of products of blocks that a server can be told to take.
	Products map[string]Products `json:"products"`

	// Sequence is when it spreads steps over tensor-parallel ranks, where it is told to; nil: whenever they have prompts.
	Sequence *SequenceSteps `json:"sequence"`

	Attention Attention // which backends of attention it has

	Options       Options
	RouterOptions Options // of the program in front of its servers

	versions func() (map[string]*Engine, error)
	ports    map[string]*Scheduling // by maker of the chip
	support  [featureCount]Support
	rules
}

// rules are what data cannot say of an engine: what it refuses, and how its commands are written.
type rules struct {
	pairs  func(prefill, decode *plan.Plan) bool // nil: all
	limits []limit
	args   []arg
	later  []arg // of all nodes but the first
	config []arg // keys of the extra YAML
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

func load() []*Engine {
	return []*Engine{
		newEngine("sglang", rules{limits: sglangLimits, pairs: sglangPairs, args: sglangArgs, variables: sglangVariables, remarks: sglangRemarks, router: sglangRouter}),
		newEngine("vllm", rules{limits: vllmLimits, args: vllmArgs, sequences: vllmSequences, later: vllmLater, variables: vllmVariables, remarks: vllmRemarks, router: vllmRouter}),
		newEngine("trtllm", rules{limits: trtllmLimits, args: trtllmArgs, config: trtllmConfig, remarks: trtllmRemarks, launcher: trtllmLauncher, router: trtllmRouter}),
	}
}

// newEngine is the engine of a name as its files have it.
func newEngine(name string, r rules) *Engine {
	e := &Engine{rules: r, Attention: readAttention(name)}
	read(path.Join("data/options", name+".json"), &e.Options)
	read(path.Join("data/options", name+"_router.json"), &e.RouterOptions)
	if err := e.decode(parse(path.Join("data", name+".json"))); err != nil {
		panic(err)
	}
	return e
}

// parse reads a file that is compiled in.
func parse(name string) document.Value {
	src, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	doc := document.Parse(name, src)
	if err := doc.Err(); err != nil {
		panic(err)
	}
	return doc.Root()
}

// read decodes a file that is compiled in.
func read(name string, into any) {
	v := parse(name)
	v.Decode(into)
	if err := v.File().Err(); err != nil {
		panic(err)
	}
}
