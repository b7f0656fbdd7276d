package engine

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"throughline/deploy"
	"throughline/internal/shell"
	plain "throughline/number"
	"throughline/op"
)

// Launch is how to start a deployment.
type Launch struct {
	Commands []string // of one server, for each of its nodes: NODE_RANK numbers them, HEAD_IP is the first
	Config   string   // YAML file that the commands name, if any
	Remarks  []string // what the arguments do not express, or not exactly
}

// An arg is an option and when it is given. Without value it is a switch.
type arg struct {
	when   func(unit) bool
	option string
	value  func(unit) string
}

// A remark is something to know about a launch.
type remark struct {
	when func(unit) bool
	text func(unit) string
}

var commonRemarks = []remark{
	{
		func(u unit) bool { return u.checkpoint == "" && u.weights != plain.GGUF },
		func(u unit) string {
			return fmt.Sprintf("MODEL is the path or repository of a checkpoint of %s in %s", u.Shape.Name, cmp.Or(u.weights, "its format"))
		},
	},
	{
		func(u unit) bool { return u.servers > 1 && !u.placed },
		func(u unit) string {
			return fmt.Sprintf("start %d servers like this one and put a router in front of them", u.servers)
		},
	},
	{
		func(u unit) bool { return u.servers > 1 && 2*u.procs <= u.perNode && !u.placed },
		func(u unit) string {
			return fmt.Sprintf("%d servers share a node: give each its own CUDA_VISIBLE_DEVICES and port", min(u.servers, u.perNode/u.procs))
		},
	},
	{
		func(u unit) bool { return u.moe && u.Plan.SharedReplicas > 0 && !u.Plan.SharedPerCard },
		func(u unit) string {
			return fmt.Sprintf("the %d replicas of the shared expert are not expressed: each attention replica holds it", u.Plan.SharedReplicas)
		},
	},
	{
		func(u unit) bool {
			return prefills(u) && !speculates(u) && u.Shape.DraftLayers > 0 && u.Of(op.Decode) == nil
		},
		text("if the decode servers draft tokens, give the prefill servers the same speculative options"),
	},
	{both(takes, bare), contextRemark},
}

// takes: it is known how long requests may be.
func takes(u unit) bool { return u.Context > 0 }

// contextRemark says which requests servers take, and what the longest costs.
func contextRemark(u unit) string {
	longest := context(u)
	why := "the longest that the KV cache has room for"
	switch {
	case u.Shape.Positions == 0:
		return fmt.Sprintf("the model file does not say how long requests may be (max_position_embeddings), so servers take what the checkpoint's config.json says; the KV cache has room for %d tokens of one", longest)
	case longest <= u.MaxContext:
		return fmt.Sprintf("servers refuse requests of more than %d tokens, prompt and answer together: the KV cache of a rank, or the model, has room for no more", longest)
	case u.Longest:
		why = "the longest that the model takes"
	}
	return fmt.Sprintf("requests of up to %d tokens are taken, %s; one of that length holds as much KV cache as %.1f of those asked for", longest, why, float64(longest)/float64(u.MaxContext))
}

// Launch is how to start one server of a pool. For a deployment that the engine refuses, the
// reasons are the first remarks.
func (e *Engine) Launch(d *deploy.Deployment, p *deploy.Pool) Launch {
	var out Launch
	for _, why := range e.Refuses(d, p) {
		out.Remarks = append(out.Remarks, "cannot run: "+why)
	}
	u := e.unit(d, p)
	out.Commands = []string{e.command(u)}
	out.Config = e.yaml(u)
	out.Remarks = append(out.Remarks, e.remarksOn(u)...)
	return out
}

// Sequences is the requests per step and data-parallel rank in the servers of a pool, as launched.
func (e *Engine) Sequences(d *deploy.Deployment, p *deploy.Pool) int {
	u := shape(d, p)
	if e.sequences == nil {
		return u.batch / p.Plan.InFlight()
	}
	return (e.sequences(u) + p.Plan.InFlight() - 1) / p.Plan.InFlight()
}

func (e *Engine) remarksOn(u unit) (out []string) {
	if r := e.Weights[u.weights].Remark; r != "" && !u.Stored.Published {
		out = append(out, u.weights+" weights: "+r)
	}
	if e.Name == u.Engine.Name { // the engine whose kernels were priced
		out = append(out, u.StandIns()...)
	}
	for _, list := range [...][]remark{commonRemarks, e.remarks} {
		for _, r := range list {
			if r.when(u) {
				out = append(out, r.text(u))
			}
		}
	}
	return out
}

// unit is one server of a pool as this engine starts it.
func (e *Engine) unit(d *deploy.Deployment, p *deploy.Pool) unit {
	u := shape(d, p)
	u.cacheType = e.Cache[u.cache]
	u.checkpoint = d.Name
	u.attention, u.prefillAttention, u.decodeAttention = e.backend(u, d.ServerOptions.Attention), e.backend(u, d.ServerOptions.PrefillAttention), e.backend(u, d.ServerOptions.DecodeAttention)
	f := e.Weights[u.weights]
	switch stored, _ := d.Model.Narrowest(); {
	case d.Stored.Published: // a checkpoint implies its format
		if f.Always {
			u.quantization = f.Option
		}
	case stored.Bytes < 2 || u.weights != "bf16" && !f.WhileLoading:
		u.checkpoint, u.quantization = "", f.Option // another checkpoint than the published one
	default:
		u.quantization = f.Option
	}
	u.share = d.MemoryShare(p)
	u.tokens = e.Scheduling.StepTokens
	if d.Engine.Name == e.Name {
		u.tokens = d.Engine.StepTokens
	}
	return u
}

// prefix is the program of a server, behind its launcher if any.
func (e *Engine) prefix(u unit) string {
	if e.launcher == nil {
		return e.Program
	}
	return e.launcher(u) + e.Program
}

// command is the command line of all nodes of a unit, one option per line.
func (e *Engine) command(u unit) string {
	var b strings.Builder
	b.WriteString(e.prefix(u))
	for _, a := range e.args {
		if !a.when(u) {
			continue
		}
		b.WriteString(" ")
		if a.option != "" { // the model may be an argument without option
			b.WriteString("\\\n  " + a.option)
			if a.value != nil {
				b.WriteString(" ")
			}
		}
		if a.value != nil {
			b.WriteString(a.value(u))
		}
	}
	var later strings.Builder
	for _, a := range e.later {
		if a.when(u) {
			later.WriteString(" " + a.option)
			if a.value != nil {
				later.WriteString(" " + a.value(u))
			}
		}
	}
	if later.Len() > 0 {
		fmt.Fprintf(&b, " \\\n  $([ \"$NODE_RANK\" -gt 0 ] && echo%s)", &later)
	}
	return b.String()
}

// yaml is the extra configuration. Keys of one parent are adjacent in the table.
func (e *Engine) yaml(u unit) string {
	var b strings.Builder
	var open []string
	for _, a := range e.config {
		if !a.when(u) {
			continue
		}
		path := strings.Split(a.option, ".")
		parents := path[:len(path)-1]
		same := 0
		for same < len(parents) && same < len(open) && parents[same] == open[same] {
			same++
		}
		for i := same; i < len(parents); i++ {
			b.WriteString(strings.Repeat("  ", i) + parents[i] + ":\n")
		}
		open = parents
		b.WriteString(strings.Repeat("  ", len(parents)) + path[len(parents)] + ": " + a.value(u) + "\n")
	}
	return b.String()
}

// Values of options.

func text(s string) func(unit) string { return func(unit) string { return s } }
func integer(f func(unit) int) func(unit) string {
	return func(u unit) string { return strconv.Itoa(f(u)) }
}

// nodeRank is the number of the node that runs the command.
const nodeRank = `"$NODE_RANK"`

// oneBatch says what becomes of micro-batches without a pipeline.
var oneBatch = remark{
	func(u unit) bool { return u.Plan.Batch.Count > 1 && !piped(u) },
	func(u unit) string { return fmt.Sprintf("the %d micro-batches run as one batch", u.Plan.Batch.Count) },
}

// eachNode says how one command serves several nodes.
var eachNode = remark{both(manyNodes, bare), func(u unit) string {
	return fmt.Sprintf("run it on each of the %d nodes, with NODE_RANK from 0 to %d; HEAD_IP is the address of node 0", u.nodes, u.nodes-1)
}}

// modelName is the checkpoint, or the variable that names it.
func modelName(u unit) string {
	if u.checkpoint == "" {
		return `"$MODEL"`
	}
	return shell.Quote(u.checkpoint)
}

func fraction(u unit) string   { return strconv.FormatFloat(u.share, 'g', -1, 64) }
func context(u unit) int       { return max(u.Context, u.MaxContext) }
func requestTokens(u unit) int { return u.MaxContext }

// Part starts one pool of a deployment.
type Part struct {
	What string `json:"what"`
	Launch
}

// Parts are the launches of all pools.
func (e *Engine) Parts(d *deploy.Deployment) []Part {
	var parts []Part
	for i := range d.Pools {
		p := &d.Pools[i]
		on := func(procs int) string { return plain.Count(procs, "GPU") }
		if d.Split() && d.Pools[0].System != d.Pools[1].System {
			on = func(procs int) string { return fmt.Sprintf("%d × %s", procs, p.System.Name) }
		}
		what := fmt.Sprintf("%s, on %s", p.Role, on(p.Procs()))
		if p.Count > 1 {
			what = fmt.Sprintf("%s, %d instances of %s", p.Role, p.Count, on(p.Plan.Attention.Procs()))
		}
		parts = append(parts, Part{what, e.Launch(d, p)})
	}
	return parts
}

// Behind is the engine that prices a deployment; nil: none that can be started.
func Behind(d *deploy.Deployment) *Engine {
	if e, err := Find(d.Engine.Name); err == nil && e != Generic {
		return e
	}
	return nil
}
