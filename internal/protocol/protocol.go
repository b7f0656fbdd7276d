// Package protocol holds, as data, how the runs of public tables were made: what their servers were
// told, which requests they got, which version ran. It knows columns of runs and nothing of tables.
package protocol

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/csv"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"throughline/internal/document"
	"throughline/workload"
)

// Rule says which cells the rows have that it fits.
type Rule struct {
	// When are values by column: one of several (a|b), the beginning of one for a model or a chip,
	// or a range of numbers or days (16.., ..2026-04-08).
	When   map[string]string `json:"when" required:"true"`
	Then   map[string]string `json:"then" required:"true"` // numbers may be sums of isl, osl and concurrency
	Source string            `json:"source" required:"true" nonempty:"true"`

	// clients of a recipe; of all that fit, the one counts that ran with the most similar number.
	clients []float64
}

// Protocol is how a benchmark makes its runs.
type Protocol struct {
	Name string   `json:"name" required:"true"`
	Also []string `json:"also"` // other names
	// Lengths identify it where a table does not name it: these, multiples of a number, or any.
	Lengths   [][]int `json:"lengths"`
	Multiples int     `json:"multiples"`
	Named     bool    `json:"named"` // or by its name alone

	Spread   string  `json:"spread" required:"true"`   // of the lengths; empty: whatever a row says
	Requests float64 `json:"requests" required:"true"` // of each client
	// Acceptance of drafts where texts differ from those in service; empty: that of the model.
	Acceptance string `json:"acceptance"`
	Source     string `json:"source" required:"true" nonempty:"true"`
	// Datasets have the model and the lengths of rows that do not print them.
	Datasets []Rule `json:"datasets"`
	Rows     []Rule `json:"rows" required:"true"`
	// Again lists the prompt counts of consecutive runs, in ascending order, with the same seed and
	// a persistent prefix cache, so that each run repeats the prompts of the one before.
	Again []int `json:"again"`
	// Recipes: what servers that prefill and decode apart were told stands in a table of its own.
	Recipes bool `json:"recipes"`
}

// Stated is the load a row states, in steady state with requests of exactly its lengths. It serves
// rows that nobody has measured.
var Stated = Protocol{Name: "the row itself", Spread: "fixed"}

//go:embed protocols.json
var file []byte

// recipeFile is the servers of InferenceX that prefill and decode apart. Its
// .github/configs/nvidia-master.yaml of 2025-12-20, 2026-02-20, 2026-03-20, 2026-04-20 and
// 2026-06-12 says which recipe ran with which layout and clients. The recipes, in that repository
// or in NVIDIA/srt-slurm, give the server options. Numbers that SGLang divides among data-parallel
// ranks are stored per rank.
//
//go:embed recipes.csv
var recipeFile []byte

// Few commands need them: they are read on demand.
var known = sync.OnceValue(func() (out struct {
	Checkpoints []Rule     `json:"checkpoints" required:"true"`
	Documents   []Rule     `json:"documents" required:"true"`
	Protocols   []Protocol `json:"protocols" required:"true"`
}) {
	doc := document.Parse("protocols.json", file)
	doc.Decode(&out)
	if err := doc.Err(); err != nil {
		panic(err)
	}
	return out
})

var recipes = sync.OnceValue(func() (out []Rule) {
	lines, err := csv.NewReader(bytes.NewReader(recipeFile)).ReadAll()
	if err != nil {
		panic(err)
	}
	for _, line := range lines[1:] {
		r := Rule{When: map[string]string{}, Then: map[string]string{}}
		for i, column := range lines[0] {
			switch then, ok := strings.CutPrefix(column, "then:"); {
			case ok && line[i] != "":
				r.Then[then] = line[i]
			case ok:
			case column == "source":
				r.Source = line[i]
			case column == "concurrency":
				for _, word := range strings.Fields(line[i]) {
					n, err := strconv.ParseFloat(word, 64)
					if err != nil {
						panic(err)
					}
					r.clients = append(r.clients, n)
				}
			default:
				r.When[column] = line[i]
			}
		}
		out = append(out, r)
	}
	return out
})

// Named is the protocol that the name of a benchmark begins with, in any of its names, or that it
// holds, such as "InferenceMAX tables"; nil: none.
func Named(benchmark string) *Protocol {
	for i := range known().Protocols {
		p := &known().Protocols[i]
		if slices.ContainsFunc(append([]string{p.Name}, p.Also...), func(name string) bool { return strings.Contains(benchmark, name) }) {
			return p
		}
	}
	return nil
}

// OfLengths is the protocol that is known by its lengths.
func OfLengths(n workload.Lengths) *Protocol {
	for i := range known().Protocols {
		p := &known().Protocols[i]
		other := len(p.Lengths) == 0 && p.Multiples == 0 && !p.Named
		if other || slices.ContainsFunc(p.Lengths, func(l []int) bool { return l[0] == n.Input && l[1] == n.Output }) ||
			p.Multiples > 0 && n.Input%p.Multiples == 0 && n.Output%p.Multiples == 0 {
			return p
		}
	}
	return &Stated
}

// Checkpoint is the cells of a row whose weights a table knows by a shorter word.
func Checkpoint(row map[string]string) map[string]string { return apply(known().Checkpoints, row) }

// Document is the cells that the document of a row has and the row omits.
func Document(row map[string]string) map[string]string { return apply(known().Documents, row) }

// Dataset is the model and the lengths of a row that prints none.
func (p *Protocol) Dataset(row map[string]string) map[string]string { return apply(p.Datasets, row) }

// Cells are those of a run: of every rule that it fits, the last of a column, then its recipe's.
func (p *Protocol) Cells(row map[string]string) map[string]string {
	rules := p.Rows
	if r := recipeOf(row); p.Recipes && r != nil {
		rules = append(slices.Clip(rules), *r)
	}
	return apply(rules, row)
}

// recipeOf is the matching recipe with the nearest number of clients; nil: none is known.
func recipeOf(row map[string]string) *Rule {
	clients, _ := strconv.ParseFloat(row["concurrency"], 64)
	var best *Rule
	least := math.Inf(1)
	all := recipes()
	for i := range all {
		r := &all[i]
		if !r.fits(row) {
			continue
		}
		for _, n := range r.clients {
			if far := math.Abs(math.Log(n / max(1, clients))); far < least {
				best, least = r, far
			}
		}
	}
	return best
}

// Accepted are the shares of drafts that are accepted, by position, where servers were told these
// cells; none: those of the model.
func (p *Protocol) Accepted(told map[string]string) (out []float64) {
	text := cmp.Or(told["acceptance"], p.Acceptance)
	if text == "" {
		return nil
	}
	for word := range strings.SplitSeq(text, ",") {
		share, err := strconv.ParseFloat(word, 64)
		if err != nil {
			panic(err)
		}
		out = append(out, share)
	}
	if first, err := strconv.ParseFloat(told["first_drafts"], 64); err == nil {
		out[0] *= first
	}
	return out
}

// Repeated is the share of the clients' first requests that the previous run had already sent.
func (p *Protocol) Repeated(prompts, clients float64) float64 {
	var before float64
	for _, n := range p.Again {
		if float64(n) < prompts {
			before = float64(n)
		}
	}
	return min(1, before/clients)
}

func apply(rules []Rule, row map[string]string) map[string]string {
	out := map[string]string{}
	for i := range rules {
		if rules[i].fits(row) {
			for column, text := range rules[i].Then {
				out[column] = sum(text, row)
			}
		}
	}
	return out
}

func (r *Rule) fits(row map[string]string) bool {
	for column, want := range r.When {
		if !holds(column, want, row[column]) {
			return false
		}
	}
	return true
}

// holds reports whether a cell is what a rule wants.
func holds(column, want, have string) bool {
	if low, high, ok := strings.Cut(want, ".."); ok {
		return have != "" && !less(have, low) && (high == "" || !less(high, have))
	}
	begins := column == "model" || column == "system"
	return slices.ContainsFunc(strings.Split(want, "|"), func(w string) bool {
		return have == w || begins && strings.HasPrefix(have, w)
	})
}

// less compares numbers by value and days by their letters.
func less(a, b string) bool {
	x, err := strconv.Atoi(a)
	y, err2 := strconv.Atoi(b)
	if err == nil && err2 == nil {
		return x < y
	}
	return a < b
}

// sum is a cell whose terms, such as 64, isl and 2*concurrency, are added up; any other as it is.
func sum(text string, row map[string]string) string {
	total := 0
	for term := range strings.SplitSeq(text, "+") {
		product := 1
		for factor := range strings.SplitSeq(term, "*") {
			if factor == "isl" || factor == "osl" || factor == "concurrency" {
				factor = row[factor]
			}
			n, err := strconv.Atoi(factor)
			if err != nil {
				return text
			}
			product *= n
		}
		total += product
	}
	return strconv.Itoa(total)
}
