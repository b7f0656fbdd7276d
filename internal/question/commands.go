package question

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"throughline/assume"
	"throughline/collective"
	"throughline/engine"
	"throughline/internal/axis"
	"throughline/internal/runs"
)

// Exchange is what is asked about exchanges between experts: lists of words.
type Exchange struct{ Libraries, Ranks, Tokens, Fabric string }

// fabrics are the networks that any library has numbers of its own for.
func fabrics() (out []string) {
	for _, name := range collective.LibraryNames() {
		if l, ok := collective.FindLibrary(name); ok {
			out = append(out, l.FabricNames()...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ofExchanges are the settings of expert exchanges besides the model, system and formats.
var ofExchanges = []Setting{
	{Name: "library", For: Comm, List: Text, Choices: collective.LibraryNames(),
		Doc: "libraries: " + strings.Join(collective.LibraryNames(), ", "),
		Ref: func(q *Question) any { return &q.Exchange.Libraries }},
	{Name: "ep", For: Comm, List: Count, Low: 2, High: mostExchanged,
		Doc: "GPUs of an expert group",
		Ref: func(q *Question) any { return &q.Exchange.Ranks }},
	{Name: "tokens", For: Comm, List: Count, Low: 1, High: mostExchanged,
		Doc: "tokens of a GPU",
		Ref: func(q *Question) any { return &q.Exchange.Tokens }},
	{Name: "fabric", For: Comm, Choices: fabrics(),
		Doc: "network between nodes where a library has numbers of its own for it: " + strings.Join(fabrics(), ", ") + " (default InfiniBand or RoCE)",
		Ref: func(q *Question) any { return &q.Exchange.Fabric }},
}

// Reading is what a command reads and does as a whole, whatever the deployment.
type Reading struct {
	From         string // row of a plan
	Points       string // table of deployments
	Kernels      string // summary of a profile
	Seen         string // measured figures, or a file of them
	Seek, Until  string // hardware number and goal
	Replan       bool   // at each value of that number
	Config       string // runtime file
	Measured     string // table of runs, for the raw data of a workbook
	Simulated    int    // requests through every deployment, for the same; 0: none
	Measurements string // list of tables
	StepSource   string // times of steps of a replay
	Name, Source string // of an imported model
	By           string // list of columns
	Worst        int
	Explained    string // the figure of a measurement to explain; empty: the one furthest off
	MeasuredOn   string // what runs are of, where their file does not say it
	Parts        string // list of what measured runs may correct
	Exact        bool   // these go as far as the runs say
	Against      string // table of other runs
	Retry        bool   // combinations that have failed
	Several
	Jobs int // 0: as many as this machine has processors
}

// Several is what many questions at once have besides those of one, in words.
type Several struct {
	Vary, Link, Where, Design string
	Optimise, Sensitivity     string
	Samples                   int
	Shard                     string  // of a process, I/N; empty: as a scheduler says, or all
	PartSeconds               float64 // that a part takes
	Again                     int     // points to answer again
	Workers                   int
	Image, Claim              string // of containers
}

// OwnTimes are times of steps that are estimated.
const OwnTimes = "own"

// StepSources are where the times of steps of a replay come from.
var StepSources = []string{"recorded", "run", "table", OwnTimes}

var ofCommands = []Setting{
	{Name: "from", Opens: true, For: Deployed, Apart: true,
		Doc: "take the deployment from a row of the JSON that throughline plan wrote: plan.json#1, or plan.json#f2 for the frontier",
		Ref: func(q *Question) any { return &q.From }},
	{Name: "vary", Opens: true, For: Plan | Estimate | Simulate | Run, List: Text, Apart: true,
		Doc: "ask at several values of a setting or of a number of a file: gpus=8,16,32, sys.mem1.GBps=3000:12500:20, sys.mem1.GBps=x0.5:x4:log8; may be repeated",
		Ref: func(q *Question) any { return &q.Vary }},
	{Name: "link", For: Plan | Estimate | Simulate | Run, List: Text, Joint: ";", Apart: true,
		Doc: "axes that move together, value by value: isl,osl",
		Ref: func(q *Question) any { return &q.Link }},
	{Name: "where", For: Plan | Estimate | Simulate, List: Text, Apart: true,
		Doc: "keep points that meet a condition on an axis or a figure: tpot <= 20ms, gpus < 64; may be repeated",
		Ref: func(q *Question) any { return &q.Where }},
	{Name: "design", For: Plan | Estimate | Simulate | Run, Choices: axis.Designs(), Apart: true,
		Doc: "how points are spread over the axes: grid (every combination), latin, sobol or halton (default grid)",
		Ref: func(q *Question) any { return &q.Design }},
	{Name: "samples", For: Plan | Estimate | Simulate | Run, Low: 1, High: 4_294_967_295, Optional: true, Apart: true,
		Doc: "number of points of a design other than grid",
		Ref: func(q *Question) any { return &q.Samples }},
	{Name: "optimise", For: Plan | Estimate | Simulate, List: Text, Apart: true,
		Doc: "look for the points that no other beats in two or three figures, max:tokens_per_s_per_gpu and min:usd_per_m_tokens; with samples by zoom, in rounds around those found; may be repeated",
		Ref: func(q *Question) any { return &q.Optimise }},
	{Name: "sensitivity", For: Plan | Estimate | Simulate, Choices: []string{"morris", "sobol"}, Apart: true,
		Doc: "say how much each axis matters for the best figure, or those of optimise: morris (effects of one axis at a time) or sobol (shares of the variance); needs samples",
		Ref: func(q *Question) any { return &q.Sensitivity }},
	{Name: "points", Opens: true, For: Estimate, Apart: true,
		Doc: "CSV table of deployments; - reads standard input",
		Ref: func(q *Question) any { return &q.Points }},
	{Name: "kernels", Opens: true, For: Compare, Apart: true,
		Doc: "summary of kernels",
		Ref: func(q *Question) any { return &q.Kernels }},
	{Name: "measured", Opens: true, For: Compare, Apart: true,
		Doc: "what was measured: tpot=31ms,ttft=400ms, a result file of bench, sglang.bench_serving, vLLM's bench serve, aiperf, genai-perf or InferenceX, or a row of a table, runs.csv#2",
		Ref: func(q *Question) any { return &q.Seen }},
	{Name: "explain", For: Compare, Choices: []string{"tpot", "ttft", "e2e", "requests"}, Apart: true,
		Doc: "the measured figure to explain (default: the one furthest from its prediction)",
		Ref: func(q *Question) any { return &q.Explained }, Idle: unless(func(l *Loaded) bool { return l.Seen != "" }, "only figures that were measured are explained")},
	{Name: "seek", For: Explain, Apart: true,
		Doc: "hardware number to change until the goal is reached",
		Ref: func(q *Question) any { return &q.Seek }},
	{Name: "until", For: Explain, Apart: true,
		Doc: "the goal: tpot, ttft, step, throughput, memory, batch = a value",
		Ref: func(q *Question) any { return &q.Until }},
	{Name: "replan", For: Explain, Apart: true,
		Doc: "search the best deployment on as many GPUs at each value that seek tries; for the goals tpot and throughput",
		Ref: func(q *Question) any { return &q.Replan }},
	{Name: "config", Short: "c", Opens: true, For: Run | Matrix, Apart: true,
		Doc: "runtime file (required)",
		As:  map[Command]string{Matrix: "file of servers and clients, YAML or JSON (required)"},
		Ref: func(q *Question) any { return &q.Config }},
	{Name: "measured", Opens: true, For: Run | Scenario, Apart: true,
		Doc: "CSV table of measured runs, for the raw data of a workbook (xlsx)",
		As:  map[Command]string{Scenario: "CSV table of measured runs, to be shown beside the predictions"},
		Ref: func(q *Question) any { return &q.Measured }},
	{Name: "simulate", For: Run, Low: 1, High: mostSimulated, Optional: true, Apart: true,
		Doc: "send so many requests through every deployment, for the raw data of a workbook (xlsx); needs assume physical",
		Ref: func(q *Question) any { return &q.Simulated }},
	{Name: "measurements", Opens: true, For: Calibrate, List: Text, Apart: true,
		Doc: "tables of measured kernels, plain or .gz (required)",
		Ref: func(q *Question) any { return &q.Measurements }},
	{Name: "steps", For: Requests, Choices: StepSources, Apart: true,
		Doc: "times of steps: " + strings.Join(StepSources, ", "),
		Ref: func(q *Question) any { return &q.StepSource }},
	{Name: "name", For: Import, Apart: true,
		Doc: "name of the model in results (default: that of the file or its folder)",
		Ref: func(q *Question) any { return &q.Name }},
	{Name: "source", For: Import, Apart: true,
		Doc: "where the config comes from, for the sources of the model file",
		Ref: func(q *Question) any { return &q.Source }},
	{Name: "by", For: Tables, List: Text, Apart: true,
		Doc: "group by these columns of the table",
		Ref: func(q *Question) any { return &q.By }},
	{Name: "worst", For: Tables, Low: 0, High: mostRows, Apart: true,
		Doc: "list this many rows with the largest errors",
		Ref: func(q *Question) any { return &q.Worst }},
	{Name: "deployment", Opens: true, For: Bench | Serving | CalibrateServing, List: Text, Check: checkDeployment, Apart: true,
		Doc: "what runs are of, where their file does not say it, like model=Llama-3.1-8B,system=H200,tp=4; also engine, " + strings.Join(runs.Settings()[4:], ", "),
		As:  map[Command]string{Bench: "what is measured, for append-run, like model=Llama-3.1-8B,system=H200,tp=4; also engine, " + strings.Join(runs.Settings()[4:], ", ")},
		Ref: func(q *Question) any { return &q.MeasuredOn }},
	{Name: "correct", For: CalibrateServing, List: Text, Choices: []string{"decode", "prefill", "first-token", "first-wave"}, Apart: true,
		Doc: "what the runs may correct: decode, prefill (scales), first-token, first-wave (times)",
		Ref: func(q *Question) any { return &q.Parts }},
	{Name: "against", Opens: true, For: CalibrateServing, Apart: true,
		Doc: "table of other runs of the deployment, to be predicted with the fit",
		Ref: func(q *Question) any { return &q.Against }},
	{Name: "exact", For: CalibrateServing, Apart: true,
		Doc: "correct as far as the runs say, also where predictions are rarely so far off",
		Ref: func(q *Question) any { return &q.Exact }},
	{Name: "retry", For: Matrix, Apart: true,
		Doc: "run combinations again that have failed before",
		Ref: func(q *Question) any { return &q.Retry }},
	{Name: "shard", For: SweepRun, Check: func(text string) error { _, _, err := ParseShard(text, func(string) string { return "0" }); return err }, Apart: true,
		Doc: "share of this process, 3/100: of 100 processes the one numbered 3, from 0; auto/100: the number is that of a Slurm array task or an index of a Kubernetes job (default: as Slurm says, or all)",
		Ref: func(q *Question) any { return &q.Shard }},
	{Name: "part", For: SweepRun, Low: 0.01, High: 3600, Unit: seconds, Optional: true, Apart: true,
		Doc: "work of one file of results, when a scan begins, like 3s",
		Ref: func(q *Question) any { return &q.PartSeconds }},
	{Name: "again", For: SweepVerify, Low: 0, High: mostRows, Apart: true,
		Doc: "points to answer again and compare, spread over the parts",
		Ref: func(q *Question) any { return &q.Again }},
	{Name: "workers", For: SweepJob, Low: 1, High: 100_000, Optional: true, Apart: true,
		Doc: "processes that share the scan",
		Ref: func(q *Question) any { return &q.Several.Workers }},
	{Name: "image", For: SweepJob, Apart: true,
		Doc: "container image with throughline in it, of Kubernetes",
		Ref: func(q *Question) any { return &q.Image }},
	{Name: "claim", For: SweepJob, Apart: true,
		Doc: "persistent volume claim that holds the folder of the results, of Kubernetes; not needed for s3://",
		Ref: func(q *Question) any { return &q.Claim }},
	{Name: "jobs", Short: "j", For: Plan | Run | SweepRun, Low: 1, High: mostJobs, Optional: true, Apart: true,
		Doc: "CPU cores to use (default: all)",
		Ref: func(q *Question) any { return &q.Jobs }},
}

// ParseShard reads I/N or auto/N; variable finds those of the environment.
func ParseShard(text string, variable func(string) string) (number, of int, err error) {
	first, last, ok := strings.Cut(text, "/")
	if first == "auto" {
		first = cmp.Or(variable("SLURM_ARRAY_TASK_ID"), variable("JOB_COMPLETION_INDEX"))
		if first == "" {
			return 0, 0, errors.New("auto needs SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX, and neither is set")
		}
	}
	number, err1 := strconv.Atoi(first)
	of, err2 := strconv.Atoi(last)
	if !ok || err1 != nil || err2 != nil || of < 1 || number < 0 || number >= of {
		return 0, 0, fmt.Errorf("must be I/N with I from 0 to N-1, like 0/5 to 4/5, not %q", text)
	}
	return number, of, nil
}

func checkDeployment(text string) error {
	_, err := runs.Deployment(Words(text))
	return err
}

// conflict is settings that cannot be given together.
type conflict struct {
	of      Command
	setting string // that is said
	given   func(q *Question) bool
	why     string
}

var conflicts = slices.Concat(ofBench, []conflict{
	{Plan | Point, "prefix-hit", func(q *Question) bool { return q.Prefix > 0 && q.PrefixHit > 0 },
		"says the same as prefix; give one of them"},
	{Point, "gpus", func(q *Question) bool {
		n := q.TP * q.PP * q.DP * q.CP
		return q.spreads() && n > 1 && n != q.Over
	},
		"is not tp · pp · dp · cp; give it or them"},
	{Point, "gpus", func(q *Question) bool { return q.spreads() && q.Split() },
		"is of one pool; prefill-plan and decode-plan say theirs"},
	{Plan | Deployed, "gpu-layers", func(q *Question) bool { return q.GPULayers > 0 && !engine.RunsOnHost(q.Engine) },
		"is of engine llamacpp, which runs the other layers on the host; offload-weights is for those that read weights over the link"},
	{Plan | Deployed, "gpu-layers", func(q *Question) bool { return q.GPULayers > 0 && q.Offload.Weights+q.Offload.Cache > 0 },
		"says what is offloaded; leave offload-weights and offload-cache out"},
	{Plan, "decode-system", func(q *Question) bool {
		return q.Mode == Aggregated && q.DecodeSystem != "" && q.DecodeSystem != q.System
	},
		"is that of a pool of its own, and mode agg has one pool; leave it out, or ask for mode disagg"},
	{Compare | Served, "power-limit", func(q *Question) bool { return len(Words(q.PowerLimit)) > 1 },
		"what runs has one limit; `plan`, `estimate`, `explain`, `simulate` and `run` compare several"},
	{Deployed | Run, "power-limit", func(q *Question) bool { return slices.Contains(Words(q.PowerLimit), AnyLimit) },
		AnyLimit + " is searched by plan; of one deployment give watts, such as 500W"},
	{Plan, "power-limit", func(q *Question) bool {
		limits := Words(q.PowerLimit)
		return len(limits) > 1 && slices.Contains(limits, AnyLimit)
	},
		AnyLimit + " searches the limits; give it alone, or limits in watts"},
	{Explain, "seek", func(q *Question) bool { return q.Seek != "" && q.Until == "" },
		"needs a goal as well: until, such as tpot=20ms"},
	{Explain, "until", func(q *Question) bool { return q.Until != "" && q.Seek == "" },
		"needs a hardware number as well: seek, such as mem1.GBps"},
	{Explain, "replan", func(q *Question) bool { return q.Replan && q.Seek == "" },
		"needs a hardware number and a goal as well: seek and until"},
	{Estimate, "from", func(q *Question) bool { return q.From != "" && q.Points != "" },
		"fixes one deployment, points are many; give one of them"},
	{Plan | Deployed, "random-range-ratio", func(q *Question) bool { return q.Traffic.Ratio != 1 && q.Distribution != "" },
		"says the same as lengths; give one of them"},
	{Plan | Deployed, "turns", func(q *Question) bool { return q.Traffic.Turns > 1 && q.Traffic.Groups > 0 },
		"conversations and groups that share a prefix do not go together; give turns or gsp-num-groups"},
	{Plan | Deployed, "gsp-num-groups", func(q *Question) bool { return q.Traffic.Groups > 0 && q.Traffic.SharedTokens == 0 },
		"needs the tokens that a group shares as well: gsp-system-prompt-len"},
	{Plan | Deployed, "gsp-system-prompt-len", func(q *Question) bool { return q.Traffic.SharedTokens > 0 && q.Traffic.Groups == 0 },
		"needs a number of groups as well: gsp-num-groups"},
	{Plan, "prefix-hit", func(q *Question) bool { return q.Simulates() && (q.Prefix > 0 || q.PrefixHit > 0) },
		"does not go with limits of percentiles, for which requests are simulated: say what prompts share, by gsp-num-groups, turns or trace, and prefix-cache"},
	{Run, "simulate", func(q *Question) bool {
		as, err := assume.Parse(q.Assume)
		return q.Simulated > 0 && err == nil && !as.Engine
	},
		"needs assume physical: without an engine there is nothing to simulate"},
	{Simulate, "max-rate", func(q *Question) bool { return q.Traffic.MaxRate && q.Concurrency > 0 },
		"asks for a rate, which concurrency bounds; give one of them"},
})
