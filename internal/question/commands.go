package question

import (
	"slices"
	"strings"

	"throughline/assume"
	"throughline/collective"
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
		Doc: "processors of an expert group",
		Ref: func(q *Question) any { return &q.Exchange.Ranks }},
	{Name: "tokens", For: Comm, List: Count, Low: 1, High: mostExchanged,
		Doc: "tokens of a processor",
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
	Config       string // runtime file
	Measured     string // table of runs, for the raw data of a workbook
	Simulated    int    // requests through every deployment, for the same; 0: none
	Measurements string // list of tables
	Sustained    float64
	StepSource   string // times of steps of a replay
	Name, Source string // of an imported model
	By           string // list of columns
	Worst        int
	BySimulation bool
	Explained    string // the figure of a measurement to explain; empty: the one furthest off
	MeasuredOn   string // what runs are of, where their file does not say it
	Parts        string // list of what measured runs may correct
	Exact        bool   // these go as far as the runs say
	Against      string // table of other runs
	Retry        bool   // combinations that have failed
	Jobs         int    // 0: as many as this machine has processors
}

// OwnTimes are times of steps that are estimated.
const OwnTimes = "own"

// StepSources are where the times of steps of a replay come from.
var StepSources = []string{"recorded", "run", "table", OwnTimes}

// ofCommands are the settings of commands as a whole.
var ofCommands = []Setting{
	{Name: "from", For: Deployed, Apart: true,
		Doc: "take the deployment from a row of the JSON that throughline plan wrote: plan.json#1, or plan.json#f2 for the frontier",
		Ref: func(q *Question) any { return &q.From }},
	{Name: "points", For: Estimate, Apart: true,
		Doc: "CSV table of deployments; - reads standard input",
		Ref: func(q *Question) any { return &q.Points }},
	{Name: "kernels", For: Compare, Apart: true,
		Doc: "summary of kernels",
		Ref: func(q *Question) any { return &q.Kernels }},
	{Name: "measured", For: Compare, Apart: true,
		Doc: "what was measured: tpot=31ms,ttft=400ms, a result file of bench, sglang.bench_serving, vLLM's bench serve, aiperf, genai-perf or InferenceX, or a row of a table, runs.csv#2",
		Ref: func(q *Question) any { return &q.Seen }},
	{Name: "figure", For: Compare, Choices: []string{"tpot", "ttft", "e2e", "requests"}, Apart: true,
		Doc: "the measured figure to explain (default: the one furthest from its prediction)",
		Ref: func(q *Question) any { return &q.Explained }, Idle: unless(func(l *Loaded) bool { return l.Seen != "" }, "only figures that were measured are explained")},
	{Name: "seek", For: Explain, Apart: true,
		Doc: "hardware number to change until the goal is reached",
		Ref: func(q *Question) any { return &q.Seek }},
	{Name: "until", For: Explain, Apart: true,
		Doc: "the goal: tpot, ttft, step, throughput, memory, batch = a value",
		Ref: func(q *Question) any { return &q.Until }},
	{Name: "config", Short: "c", For: Run | Matrix, Apart: true,
		Doc: "runtime file (required)",
		As:  map[Command]string{Matrix: "file of servers and clients, YAML or JSON (required)"},
		Ref: func(q *Question) any { return &q.Config }},
	{Name: "measured", For: Run | Scenario, Apart: true,
		Doc: "CSV table of measured runs, for the raw data of a workbook (xlsx)",
		As:  map[Command]string{Scenario: "CSV table of measured runs, to be shown beside the predictions"},
		Ref: func(q *Question) any { return &q.Measured }},
	{Name: "simulate", For: Run, Low: 1, High: mostSimulated, Optional: true, Apart: true,
		Doc: "send so many requests through every deployment, for the raw data of a workbook (xlsx); needs assume physical",
		Ref: func(q *Question) any { return &q.Simulated }},
	{Name: "measurements", For: Calibrate, List: Text, Apart: true,
		Doc: "tables of measured kernels, plain or .gz (required)",
		Ref: func(q *Question) any { return &q.Measurements }},
	{Name: "sustained", For: Calibrate, Low: 0, Above: true, High: 1, Optional: true, Apart: true,
		Doc: "share of the rate of isolated kernels that a long prefill sustains",
		Ref: func(q *Question) any { return &q.Sustained }},
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
	{Name: "by-simulation", For: Serving | CalibrateServing, Apart: true,
		Doc: "predict means by the simulation of all requests, too, as percentiles and open loops are",
		Ref: func(q *Question) any { return &q.BySimulation }},
	{Name: "deployment", For: Bench | Serving | CalibrateServing, List: Text, Check: checkDeployment, Apart: true,
		Doc: "what runs are of, where their file does not say it, like model=Llama-3.1-8B,system=H200,tp=4; also engine, " + strings.Join(runs.Settings()[4:], ", "),
		As:  map[Command]string{Bench: "what is measured, for append-run, like model=Llama-3.1-8B,system=H200,tp=4; also engine, " + strings.Join(runs.Settings()[4:], ", ")},
		Ref: func(q *Question) any { return &q.MeasuredOn }},
	{Name: "correct", For: CalibrateServing, List: Text, Choices: []string{"decode", "prefill", "first-token", "first-wave"}, Apart: true,
		Doc: "what the runs may correct: decode, prefill (scales), first-token, first-wave (times)",
		Ref: func(q *Question) any { return &q.Parts }},
	{Name: "against", For: CalibrateServing, Apart: true,
		Doc: "table of other runs of the deployment, to be predicted with the fit",
		Ref: func(q *Question) any { return &q.Against }},
	{Name: "exact", For: CalibrateServing, Apart: true,
		Doc: "correct as far as the runs say, also where predictions are rarely so far off",
		Ref: func(q *Question) any { return &q.Exact }},
	{Name: "retry", For: Matrix, Apart: true,
		Doc: "run combinations again that have failed before",
		Ref: func(q *Question) any { return &q.Retry }},
	{Name: "jobs", Short: "j", For: Plan | Run, Low: 1, High: mostJobs, Optional: true, Apart: true,
		Doc: "CPU cores to use (default: all)",
		Ref: func(q *Question) any { return &q.Jobs }},
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

// conflicts are all of them.
var conflicts = slices.Concat(ofBench, []conflict{
	{Plan | Point, "prefix-hit", func(q *Question) bool { return q.Prefix > 0 && q.PrefixHit > 0 },
		"says the same as prefix; give one of them"},
	{Plan, "decode-system", func(q *Question) bool {
		return q.Mode == Aggregated && q.DecodeSystem != "" && q.DecodeSystem != q.System
	},
		"is that of a pool of its own, and mode agg has one pool; leave it out, or ask for mode disagg"},
	{Explain, "seek", func(q *Question) bool { return q.Seek != "" && q.Until == "" },
		"needs a goal as well: until, such as tpot=20ms"},
	{Explain, "until", func(q *Question) bool { return q.Until != "" && q.Seek == "" },
		"needs a hardware number as well: seek, such as mem1.GBps"},
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
