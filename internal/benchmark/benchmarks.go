// Package benchmark turns rows of public tables of serving runs into rows of questions. It maps
// column names and holds, as data, what is known of how public benchmarks were run.
package benchmark

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/document"
	"throughline/workload"
)

// benchmarkFile is what is known of how public tables of runs were made, as data.
//
//go:embed benchmarks.json
var benchmarkFile []byte

// benchmark is how runs were made.
type benchmark struct {
	Name string   `json:"name" required:"true"`
	Also []string `json:"also"` // other names
	// Lengths identify it where a table does not name it: these, multiples of a number, or any.
	Lengths   [][]int `json:"lengths"`
	Multiples int     `json:"multiples"`
	Named     bool    `json:"named"` // or by its name alone

	Spread   string  `json:"spread" required:"true"`   // of the lengths; empty: whatever a row says
	Requests float64 `json:"requests" required:"true"` // of each client
	// Acceptance of drafts where texts differ from those in service; empty: that of the model.
	Acceptance []float64 `json:"acceptance"`
	Source     string    `json:"source" required:"true" nonempty:"true"`
	Scripts    []script  `json:"scripts" required:"true"`
	Datasets   []dataset `json:"datasets"`
	// Again lists the prompt counts of consecutive runs, in ascending order, with the same seed and
	// a persistent prefix cache, so that each run repeats the prompts of the one before.
	Again []int `json:"again"`
	// Recipes: what servers that prefill and decode apart were told stands in a table of its own.
	Recipes bool `json:"recipes"`

	worded bool // a row describes it
}

// script is the server options of one launch script of a benchmark. Empty fields match any run.
type script struct {
	Models  []string `json:"models"`  // beginnings of their names
	Systems []string `json:"systems"` // beginnings of their names
	Engine  string   `json:"engine"`
	Weights []string `json:"weights"`
	Mode    string   `json:"mode" enum:"agg,disagg"`
	TP      []int    `json:"tp"`
	Ranks   string   `json:"attention" enum:"dp,tp"` // data-parallel attention, or not
	Drafts  string   `json:"drafts" enum:"yes,no"`
	Input   int      `json:"isl"`
	Output  int      `json:"osl"`
	Clients int      `json:"clients"` // at least
	Below   int      `json:"below"`   // clients, fewer than these
	From    string   `json:"from"`    // first day of runs; those whose day is not known do not count
	Until   string   `json:"until"`   // and the last

	// Version is an earlier one of the engine, by its name there, that ran; empty: not said.
	Version string `json:"version"`
	// Options are the engine's own, as sums of numbers, isl and clients: "2*isl", "isl+clients+64".
	Options map[string]string `json:"options" required:"true"`
	// Acceptance of drafts that is not that of the benchmark.
	Acceptance []float64 `json:"acceptance"`
	// FirstDrafts is the share of a step's otherwise accepted first drafts that pass; 0: all.
	FirstDrafts float64 `json:"first_drafts"`
	Source      string  `json:"source" required:"true" nonempty:"true"`
}

// facts are what a script is chosen by.
type facts struct {
	model, system, engine, weights, mode string
	day                                  string // of the run, such as 2026-04-03; empty: not known
	version                              string // of the engine, as the row says it
	tp                                   int
	dp, drafting                         bool
	lengths                              workload.Lengths
	clients                              int
	prefill, decode                      servers // of two pools
}

// checkpoint is the format of weights that tables know by a shorter word.
type checkpoint struct {
	Models    string `json:"models" required:"true" nonempty:"true"` // beginning of their names
	Precision string `json:"precision" required:"true" nonempty:"true"`
	Format    string `json:"format" required:"true" nonempty:"true"`
	Source    string `json:"source" required:"true" nonempty:"true"`
}

var benchmarks, checkpoints, documents = readBenchmarks()

func readBenchmarks() ([]benchmark, []checkpoint, []statement) {
	var out struct {
		Checkpoints []checkpoint `json:"checkpoints" required:"true"`
		Documents   []statement  `json:"documents" required:"true"`
		Benchmarks  []benchmark  `json:"benchmarks" required:"true"`
	}
	doc := document.Parse("benchmarks.json", benchmarkFile)
	doc.Decode(&out)
	if err := doc.Err(); err != nil {
		panic(err)
	}
	return out.Benchmarks, out.Checkpoints, out.Documents
}

// repeated is the share of the clients' first requests that the previous run had already sent.
func (b *benchmark) repeated(prompts, clients float64) float64 {
	var before float64
	for _, n := range b.Again {
		if float64(n) < prompts {
			before = float64(n)
		}
	}
	return min(1, before/clients)
}

// checkpointOf is the format of the weights of a model that a table says a precision of.
func checkpointOf(model, precision string) string {
	for i := range checkpoints {
		if c := &checkpoints[i]; strings.HasPrefix(model, c.Models) && c.Precision == precision {
			return c.Format
		}
	}
	return precision
}

// stated is the load a row states, in steady state with requests of exactly its lengths. It serves
// rows that nobody has measured.
var stated = benchmark{Name: "the row itself", Spread: "fixed"}

// benchmarkOf is the benchmark that is known by its lengths.
func benchmarkOf(n workload.Lengths) *benchmark {
	for i := range benchmarks {
		b := &benchmarks[i]
		one := len(b.Lengths) == 0 && b.Multiples == 0 && !b.Named
		if one || slices.ContainsFunc(b.Lengths, func(l []int) bool { return l[0] == n.Input && l[1] == n.Output }) ||
			b.Multiples > 0 && n.Input%b.Multiples == 0 && n.Output%b.Multiples == 0 {
			return b
		}
	}
	return &stated
}

// benchmarkNamed finds a benchmark by its name, such as "InferenceX" or "InferenceMAX", in the
// source of a table; nil: none.
func benchmarkNamed(source string) *benchmark {
	for i := range benchmarks {
		if name := benchmarks[i].Name; strings.Contains(source, name) || slices.ContainsFunc(benchmarks[i].Also, func(n string) bool { return strings.Contains(source, n) }) {
			return &benchmarks[i]
		}
	}
	return nil
}

// options are those of a run: of every script that it fits, the last of a name.
func (b *benchmark) options(f *facts) map[string]string {
	out := map[string]string{}
	for i := range b.Scripts {
		if s := &b.Scripts[i]; s.fits(f) {
			for name, value := range s.Options {
				out[name] = value
			}
		}
	}
	if r := recipeOf(f); b.Recipes && r != nil {
		maps.Copy(out, r.options)
	}
	return out
}

// statement is an engine version that rows omit but the document they are from gives.
type statement struct {
	Benchmark string `json:"benchmark" required:"true" nonempty:"true"`
	Version   string `json:"version" required:"true" nonempty:"true"`
	Source    string `json:"source" required:"true" nonempty:"true"`
}

// documented is the version that the document of a row gives; empty: none.
func (r Row) documented() string {
	at := slices.IndexFunc(documents, func(d statement) bool { return r.Cell("version") == "" && d.Benchmark == r.Cell("benchmark") })
	if at < 0 {
		return ""
	}
	return documents[at].Version
}

// version is the earlier engine version of the last matching script that gives one; empty: none.
func (b *benchmark) version(f *facts) (out string) {
	for i := range b.Scripts {
		if s := &b.Scripts[i]; s.Version != "" && s.fits(f) {
			out = s.Version
		}
	}
	return out
}

// acceptance of drafts comes from the last matching script that gives it, else from the benchmark.
func (b *benchmark) acceptance(f *facts) []float64 {
	out, first := b.Acceptance, 1.0
	for i := range b.Scripts {
		s := &b.Scripts[i]
		if !s.fits(f) {
			continue
		}
		if s.Acceptance != nil {
			out = s.Acceptance
		}
		first *= cmp.Or(s.FirstDrafts, 1)
	}
	if len(out) > 0 && first != 1 {
		out = slices.Clone(out)
		out[0] *= first
	}
	return out
}

func (s *script) fits(f *facts) bool {
	begins := func(with []string, name string) bool {
		return len(with) == 0 || slices.ContainsFunc(with, func(w string) bool { return strings.HasPrefix(name, w) })
	}
	is := func(asked, yes string, v bool) bool { return asked == "" || (asked == yes) == v }
	return begins(s.Models, f.model) && begins(s.Systems, f.system) && (s.Engine == "" || s.Engine == f.engine) &&
		(len(s.Weights) == 0 || slices.Contains(s.Weights, f.weights)) && (s.Mode == "" || s.Mode == f.mode) &&
		(len(s.TP) == 0 || slices.Contains(s.TP, f.tp)) && is(s.Ranks, "dp", f.dp) && is(s.Drafts, "yes", f.drafting) &&
		(s.Input == 0 || s.Input == f.lengths.Input) && (s.Output == 0 || s.Output == f.lengths.Output) &&
		f.clients >= s.Clients && (s.Below == 0 || f.clients < s.Below) && (s.From == "" || f.day >= s.From) &&
		(s.Until == "" || f.day != "" && f.day <= s.Until)
}

// sum is the value of an option of a run: terms such as 64, isl and 2*clients, added up.
func (f *facts) sum(text string) (int, error) {
	words := map[string]int{"isl": f.lengths.Input, "osl": f.lengths.Output, "clients": f.clients}
	total := 0
	for _, term := range strings.Split(text, "+") {
		product := 1
		for _, factor := range strings.Split(term, "*") {
			n, ok := words[factor]
			if !ok {
				var err error
				if n, err = strconv.Atoi(factor); err != nil {
					return 0, fmt.Errorf("%q is neither a number nor isl, osl or clients", factor)
				}
			}
			product *= n
		}
		total += product
	}
	return total, nil
}
