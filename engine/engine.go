// Package engine describes what SGLang, vLLM, TensorRT-LLM and llama.cpp can run, and the launch
// arguments of a deployment for them. The facts are data: the options of a version, and what it
// supports.
package engine

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"throughline/deploy"
	"throughline/hardware"
	"throughline/internal/document"
	"throughline/plan"
)

type Support string

const (
	Yes     Support = "yes"
	Partial Support = "partial"
	No      Support = "no"
)

type Capability struct {
	Support Support `json:"support" required:"true" enum:"yes,partial,no"`
	Remark  string  `json:"remark" required:"true"`
	Source  string  `json:"source" required:"true" nonempty:"true"`
}

// Format is how an engine reads weights of a number format.
type Format struct {
	Option string `json:"option"` // value of --quantization; empty if the checkpoint implies it
	// WhileLoading: the engine quantises 16-bit weights; otherwise it needs such a checkpoint.
	WhileLoading bool `json:"while_loading"`
	// Always: the option is needed for a quantised checkpoint, too.
	Always bool   `json:"always"`
	Remark string `json:"remark"`
}

// Small is the defaults of servers on chips with less memory, or of these beginnings of names.
type Small struct {
	BelowGiB   float64  `json:"below_gib" required:"true"`
	Chips      []string `json:"chips" required:"true"`
	StepTokens int      `json:"step_tokens" required:"true"`
	Sequences  int      `json:"sequences" required:"true"`
}

func (s *Small) is(sys *hardware.System) bool {
	return s != nil && sys != nil && (sys.Memory.GiB < s.BelowGiB || slices.ContainsFunc(s.Chips, func(name string) bool { return strings.HasPrefix(sys.Name, name) }))
}

// Unpacking is the share of the rate of 16-bit products that those of narrower weights reach on
// chips of these generations.
type Unpacking struct {
	Share float64  `json:"share" required:"true" range:"(0,1]"`
	Chips []string `json:"chips" required:"true"`
}

// Compiled is all that servers on chips of these generations compile once they have had copies of a
// prompt.
type Compiled struct {
	Chips  []string `json:"chips" required:"true"`
	Blocks bool     `json:"blocks"` // where weights have a scale for each block
	Latent bool     `json:"latent"` // of models with latent attention to all tokens
	deploy.Compiling
}

// Scheduling is the facts that decide how an engine serves requests, with their sources.
type Scheduling struct {
	deploy.Scheduling
	plan.Facts

	Compiles []Compiled `json:"compiles"`

	// QuantizedCache: where the cache of quantised weights is FP8. Kernels that read it well came
	// with FP4 processors; weights with one scale have a cache scale, block-scaled ones do not.
	QuantizedCache string `json:"quantized_cache" required:"true" enum:"always,one scale or fp4,with fp4,never"`
	// ReadsNarrowCache: its own kernels read an 8-bit cache in half the time of a 16-bit one, where
	// those of other engines on a chip convert it first.
	ReadsNarrowCache bool `json:"reads_narrow_cache" required:"true"`
	// Unpacking is how products multiply narrower weights in 16 bits; nil: as fast as others.
	Unpacking *Unpacking `json:"unpacking"`
	// LibraryProducts: 8-bit products with one scale run in cuBLAS, as 16-bit ones do.
	LibraryProducts bool `json:"library_products" required:"true"`
	// FusesElementwise: activations with their gates, and norms with residuals, are one kernel
	// each, not several as in PyTorch's eager mode.
	FusesElementwise bool `json:"fuses_elementwise" required:"true"`
	// Small is the batches of servers that are told nothing on chips with little memory.
	Small *Small `json:"small"`
	// GathersExperts: servers that gather tokens of data-parallel ranks, not dispatch them.
	GathersExperts string `json:"gathers_experts" required:"true" enum:"always,aggregated,in nodes,never"`
	// GathersByAllReduce: steps that gather by an all-reduce, not all-gather and reduce-scatter.
	GathersByAllReduce string `json:"gathers_by_all_reduce" required:"true" enum:"always,prefill,never"`
	// AllReduceSeconds is by how much its all-reduces on NVIDIA's chips take longer than
	// TensorRT-LLM's, which were measured.
	AllReduceSeconds float64 `json:"all_reduce_seconds"`
	// UncompiledAllReduceSeconds is the same of models that are not compiled.
	UncompiledAllReduceSeconds float64 `json:"uncompiled_all_reduce_seconds"`
	// TunesExchange: an exchange for throughput without overlap can use more units than by default.
	TunesExchange bool `json:"tunes_exchange" required:"true"`
	// FusesQuantization: products whose inputs norms and activations write narrow without a kernel.
	FusesQuantization string `json:"fuses_quantization" required:"true" enum:"8 bits,one scale of 8 bits,never"`
	// CapturedTokens is the most tokens, over all replicas, of a decode step captured as one graph
	// in servers that gather; longer ones launch each operator in LaunchSeconds. 0: all are
	// captured, unless a server is told which; then it counts sequences or tokens. On chips with
	// more memory than LargeGiB it is LargeCapturedTokens, if given.
	CapturedTokens      int     `json:"captured_tokens"`
	LargeCapturedTokens int     `json:"large_captured_tokens"`
	LargeGiB            float64 `json:"large_gib"`
	CapturesBy          string  `json:"captures_by" required:"true" enum:"sequences,tokens"`
	LaunchSeconds       float64 `json:"launch_seconds" required:"true"`
	// CapturedPrompts is the most tokens of a captured step with prompts, CapturedLatents that of
	// models with latent attention, if not 0; longer ones launch each
	// operator in PromptLaunchSeconds, those of models that are not compiled in EagerLaunchSeconds.
	CapturedPrompts     int     `json:"captured_prompts" required:"true"`
	CapturedLatents     int     `json:"captured_latents" range:"[0,1e9]"`
	PromptLaunchSeconds float64 `json:"prompt_launch_seconds" required:"true"`
	EagerLaunchSeconds  float64 `json:"eager_launch_seconds" range:"[0,1]"`
	// DecodesSingles: prompts of which all but one token are cached are steps of decode.
	DecodesSingles bool `json:"decodes_singles"`
	// Launches is how many calls of the host launch an operator, by its name, on all chips and on
	// those of a generation; others are launched as they are priced.
	Launches map[string]map[string]int `json:"launches"`
	// AbsorbedPrompts is the most tokens of a prompt that latent attention takes for decode, by
	// generation of the chip.
	AbsorbedPrompts map[string]int `json:"absorbed_prompts"`
	// SparePairs is the generations on which experts have a place for every token and expert.
	SparePairs []string `json:"spare_pairs"`
	// StagedAllReduce is the all-reduces that go through a buffer which all ranks see.
	StagedAllReduce []StagedAllReduce `json:"staged_all_reduce"`
	// SharedApart: shared experts do not run among the routed ones.
	SharedApart bool `json:"shared_apart"`
	// FusesIndex is the maker of chips on which no small kernels precede an indexer's quantisation.
	FusesIndex string `json:"fuses_index"`
	// RowPicks is the most entries of a row that one block of a kernel picks from.
	RowPicks RowPicks `json:"row_picks"`
	// SharedBeside is the most tokens of a step whose shared experts run beside the routed ones on
	// NVIDIA's chips; 0: as routed ones that all tokens visit.
	SharedBeside int `json:"shared_beside" range:"[0,1e9]"`
	// SharedAmong is the routed experts of models with latent attention and one shared expert whose
	// shared one runs among the routed; 0: it does in none, where it runs beside.
	SharedAmong int `json:"shared_among" range:"[0,1e9]"`
	// PaddedExperts in FP8 of blocks multiply whole tiles of rows, however few tokens there are.
	PaddedExperts *PaddedExperts `json:"padded_experts"`
	// PaddedInputs of experts in MXFP4 are filled up in memory.
	PaddedInputs *PaddedInputs `json:"padded_inputs"`
	// FewRouters are the routers of few tokens that have a kernel of their own.
	FewRouters []FewRouter `json:"few_routers"`
	// GathersLatents: sequence parallelism gathers latent vectors, not their inputs.
	GathersLatents bool `json:"gathers_latents" required:"true"`
	// DraftSequences is the default sequences over all data-parallel ranks of a server with drafts;
	// printed commands always set a number. 0: as without drafts.
	DraftSequences int `json:"draft_sequences"`
	// HostShare is the share of the host's bandwidth at which it runs layers; 0: it runs none, and
	// what is offloaded is read over the link. LinkShare is that of the link at which weights then
	// cross it for prompts.
	HostShare float64 `json:"host_share" range:"[0,1]"`
	LinkShare float64 `json:"link_share" range:"[0,1]"`
	// UnpreparedSeconds is the host time of a draft step that is not prepared ahead.
	UnpreparedSeconds float64 `json:"unprepared_seconds"`
	// ChatSeconds of the front end for each request of messages, unless the model's beginning is
	// one of ChatOwn, whose prompts it makes otherwise.
	ChatSeconds float64  `json:"chat_seconds" range:"[0,1]"`
	ChatOwn     []string `json:"chat_own"`
	// PipelineRest: which stages take one of the layers that do not divide evenly.
	PipelineRest string `json:"pipeline_rest" required:"true" enum:"last stages,before the last"`

	// LargestGraph is the most tokens of a captured step of a replica, prompts included. The
	// largest graph is the next smaller size to a replica's sequences with their drafts; operators
	// of longer steps are launched one by one. 0: see above; below: there are no graphs.
	LargestGraph int `json:"largest_graph"`
	// LaunchesBoth: servers of both phases whose ranks send tokens to experts capture no steps.
	LaunchesBoth bool `json:"launches_both"`
	// SlowPrefill and SlowDecode scale the tabulated times of prompt and decode exchanges, by the
	// nodes that they join, in ascending order; none: 1.
	SlowPrefill []SlowExchange `json:"slow_prefill"`
	SlowDecode  []SlowExchange `json:"slow_decode"`

	counts map[string]*plan.Launches // of Launches, by generation

	Sources map[string]string `json:"sources" required:"true"`
	// Chosen are the numbers chosen with the runs in view that predictions are judged by.
	Chosen map[string]document.Chosen `json:"chosen"`
}

// PaddedExperts are products over a buffer with room for a tile that is nearly empty for every
// expert of a processor, all of which is multiplied.
type PaddedExperts struct {
	Rows    int `json:"rows" required:"true" range:"[1,65536]"` // of a tile
	BelowTP int `json:"below_tp" range:"[0,100000]"`            // in servers that split experts over fewer ranks; 0: over any number
	// Chips are the generations that have such kernels.
	Chips []string `json:"chips" required:"true"`
}

// PaddedInputs are rows of weights filled up to a multiple, on chips of these generations, in
// models of these beginnings of names.
type PaddedInputs struct {
	Multiple int      `json:"multiple" required:"true" range:"[1,65536]"`
	Chips    []string `json:"chips" required:"true"`
	Models   []string `json:"models" required:"true"`
}

// FewRouter is a kernel for routers of up to Tokens, by their inputs and experts, on chips of these
// generations.
type FewRouter struct {
	Inputs  int      `json:"inputs" required:"true" range:"[1,1e6]"`
	Experts []int    `json:"experts" required:"true"`
	Tokens  int      `json:"tokens" required:"true" range:"[1,1e6]"`
	Chips   []string `json:"chips" required:"true"`
}

// RowPicks is the most entries that one block picks from, of latent attention and of compressed
// caches; 0: rows that decode have a kernel of their own.
type RowPicks struct {
	Latent     float64 `json:"latent" range:"[0,1e12]"`
	Compressed float64 `json:"compressed" range:"[0,1e12]"`
}

// StagedAllReduce is all-reduces of more than Over and at most UpTo bytes on chips of a generation.
type StagedAllReduce struct {
	Chips string  `json:"chips" required:"true"`
	Ranks int     `json:"ranks" required:"true" range:"[2,1000]"`
	Over  float64 `json:"over" required:"true" range:"[0,1e15]"`
	UpTo  float64 `json:"up_to" required:"true" range:"[1,1e15]"`
	// Uncompiled: only in models that are not compiled, whose all-reduces nothing is fused with.
	Uncompiled bool `json:"uncompiled"`
}

// SlowExchange scales the tabulated times of both directions of an exchange between nodes.
type SlowExchange struct {
	Nodes int `json:"nodes" required:"true" range:"[2,10000]"`
	plan.Slowdown
}

// slowdown interpolates linearly between measured numbers of nodes, and is constant beyond them.
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
	return last.Slowdown
}

// Products is kernels of products and how they fall short of the tables: TFLOP/s at most, and
// seconds at least for weights that they are not tuned for.
type Products struct {
	Chips      []string `json:"chips" required:"true"` // generations that have them
	Unmeasured bool     `json:"unmeasured"`
	plan.Kernels
	Source string `json:"source" required:"true" nonempty:"true"`
}

// SequenceSteps are the steps that run with sequence parallelism: of models at least this wide, on
// chips of some generations, with this many activation bytes per rank.
type SequenceSteps struct {
	Hidden    int      `json:"hidden" required:"true"`
	RankBytes int      `json:"rank_bytes" required:"true"`
	Chips     []string `json:"chips" required:"true"`
	Source    string   `json:"source" required:"true" nonempty:"true"`
}

// OwnKernels are an engine's kernels on a chip.
type OwnKernels struct {
	plan.OwnKernels
	Source string `json:"source" required:"true" nonempty:"true"`
}

// Exchange is what the kernels that send tokens to experts can do.
type Exchange struct {
	Ranks  []int  `json:"ranks" required:"true"` // supported numbers of ranks
	Source string `json:"source" required:"true" nonempty:"true"`
}

// Engine is an inference engine in one version.
type Engine struct {
	Name    string   `json:"name" required:"true"`
	Title   string   `json:"title" required:"true"`
	Aliases []string `json:"aliases" required:"true"`
	Program string   `json:"program" required:"true"`
	// Chips are the supported generations and their weights; none: everything runs everywhere.
	Chips map[string]Chip `json:"chips" required:"true"`

	Weights      map[string]Format     `json:"weights" required:"true" keys:"bf16,fp8,int8,fp4,mxfp4,int4,gguf"`
	Cache        map[string]string     `json:"cache" required:"true" keys:"bf16,fp8,fp4,q8_0"` // option value by format
	Capabilities map[string]Capability `json:"capabilities" required:"true"`                   // by feature key
	Scheduling   Scheduling            `json:"scheduling" required:"true"`
	// PrefillExchange of prefill servers; nil: any number of ranks.
	PrefillExchange *Exchange          `json:"prefill_exchange"`
	Versions        map[string]Version `json:"versions"`
	Ports           map[string]Port    `json:"ports"` // by maker of the chip
	// Products are the selectable kernels of block-scaled products.
	Products map[string]Products `json:"products"`

	// DefaultProducts is those that a server takes which is not told, by generation of the chip.
	DefaultProducts map[string]string `json:"default_products"`
	// Kernels are its own, by generation of the chip or, before that, by its name; none: those
	// measured of the chip.
	Kernels map[string]OwnKernels `json:"kernels"`
	// OnlyNamed: it is not compared with others unless it is named.
	OnlyNamed bool `json:"only_named"`
	// SplitsLayers: several GPUs share a model by layers unless told otherwise; else by tensors.
	SplitsLayers bool `json:"splits_layers"`

	// Sequence is when requested sequence parallelism applies; nil: in all steps with prompts.
	Sequence *SequenceSteps `json:"sequence"`

	Attention Attention // backends

	Options       Options
	RouterOptions Options // of the router

	Tiles *Tiles // of experts; nil: kernels choose them

	version  string // the known one that it is; empty: the current one
	source   []byte // of its file, where numbers were changed; nil: as it is
	versions func() (map[string]*Engine, error)
	ports    map[string]*Scheduling // by maker of the chip
	support  [featureCount]Support
	rules
}

// rules are what data cannot express: refusals, and the syntax of commands.
type rules struct {
	pairs  func(prefill, decode *plan.Plan) bool // nil: all
	limits []limit
	args   []arg
	later  []arg // of all nodes but the first
	config []arg // keys of the extra YAML
	// variables of the environment of placed servers
	variables []arg
	router    func(*Fleet) *Router // nil: there is none for such servers
	remarks   []remark
	// sequences is the option value for a replica; nil: its batch.
	sequences func(unit) int
	// launcher starts the server on several nodes with one command; nil: the command runs on each.
	launcher func(unit) string
}

// Options of a version.
type Options struct {
	Version string   `json:"version" required:"true" nonempty:"true"`
	Source  string   `json:"source" required:"true" nonempty:"true"`
	Options []string `json:"options" required:"true"` // of the command line
	Keys    []string `json:"keys" required:"true"`    // of the extra YAML; dots before nested ones
}

//go:embed data
var files embed.FS

// Hash identifies the data of all engines.
func Hash() string {
	all := sha256.New()
	err := fs.WalkDir(files, "data", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		src, err := files.ReadFile(name)
		fmt.Fprintf(all, "%s %d\n%s", name, len(src), src)
		return err
	})
	if err != nil {
		panic(err) // they are within the program
	}
	return hex.EncodeToString(all.Sum(nil))
}

// Data is the facts of engines as files.
func Data() fs.FS { return files }

var engines = load()

// All lists the engines that are compared where none is named.
func All() []*Engine {
	return slices.DeleteFunc(slices.Clone(engines), func(e *Engine) bool { return e.OnlyNamed })
}

// Find returns the engine of a name or alias, optionally followed by @ and an earlier version.
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
	return nil, fmt.Errorf("no engine %q: there are sglang, vllm, trtllm, llamacpp; none is a generic one%s", name, meant)
}

func load() []*Engine {
	return []*Engine{
		newEngine("sglang", rules{limits: sglangLimits, pairs: sglangPairs, args: sglangArgs, variables: sglangVariables, remarks: sglangRemarks, router: sglangRouter}),
		newEngine("vllm", rules{limits: vllmLimits, args: vllmArgs, sequences: vllmSequences, later: vllmLater, variables: vllmVariables, remarks: vllmRemarks, router: vllmRouter}),
		newEngine("trtllm", rules{limits: trtllmLimits, args: trtllmArgs, config: trtllmConfig, remarks: trtllmRemarks, launcher: trtllmLauncher, router: trtllmRouter}),
		newEngine("llamacpp", rules{limits: llamaLimits, args: llamaArgs, remarks: llamaRemarks, router: func(*Fleet) *Router { return nil }}),
	}
}

func newEngine(name string, r rules) *Engine {
	e := &Engine{rules: r, Attention: readAttention(name), Tiles: readTiles(name)}
	read(path.Join("data/options", name+".json"), &e.Options)
	if router := path.Join("data/options", name+"_router.json"); exists(router) {
		read(router, &e.RouterOptions)
	}
	if err := e.decode(parse(path.Join("data", name+".json"))); err != nil {
		panic(err)
	}
	return e
}

func exists(name string) bool {
	_, err := fs.Stat(files, name)
	return err == nil
}

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

// read decodes an embedded file.
func read(name string, into any) {
	v := parse(name)
	v.Decode(into)
	if err := v.File().Err(); err != nil {
		panic(err)
	}
}
