package benchmark

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"math"
	"slices"
	"strconv"
	"strings"
)

// recipeFile is the servers of InferenceX that prefill and decode apart. Its
// .github/configs/nvidia-master.yaml of 2025-12-20, 2026-02-20, 2026-03-20, 2026-04-20 and
// 2026-06-12 says which recipe ran with which layout and clients. The recipes, in that repository
// or in NVIDIA/srt-slurm, give the server options. Numbers that SGLang divides among data-parallel
// ranks are stored per rank.
//
//go:embed recipes.csv
var recipeFile []byte

// recipe is one row of it.
type recipe struct {
	models                  []string // beginnings of names
	system, weights, engine string
	input, output           int
	drafting                bool
	prefill, decode         servers
	clients                 []int

	options map[string]string
}

// servers is a pool: how many, of how many ranks, and whether attention is data-parallel over them.
type servers struct {
	count, ranks int
	dp           bool
}

var recipes = readRecipes()

func readRecipes() []recipe {
	lines, err := csv.NewReader(bytes.NewReader(recipeFile)).ReadAll()
	if err != nil {
		panic(err)
	}
	column := map[string]int{}
	for i, name := range lines[0] {
		column[name] = i
	}
	var out []recipe
	for _, line := range lines[1:] {
		get := func(name string) string { return line[column[name]] }
		count := func(name string) int {
			n, err := strconv.Atoi(get(name))
			if err != nil {
				panic(err)
			}
			return n
		}
		pool := func(of string) servers {
			return servers{count(of + "_workers"), count(of + "_ranks"), get(of+"_attention") == "dp"}
		}
		r := recipe{
			models: strings.Split(get("model"), "|"), system: get("system"), weights: get("weights"), engine: get("engine"),
			input: count("isl"), output: count("osl"), drafting: get("spec") == "mtp", prefill: pool("prefill"), decode: pool("decode"),
			options: map[string]string{},
		}
		for _, text := range strings.Fields(get("clients")) {
			n, err := strconv.Atoi(text)
			if err != nil {
				panic(err)
			}
			r.clients = append(r.clients, n)
		}
		for column, option := range map[string]string{"step_tokens": "step-tokens", "sequences": "max-num-seqs", "drafts": draftOptions[0]} {
			if text := get(column); text != "" {
				r.options[option] = text
			}
		}
		out = append(out, r)
	}
	return out
}

// recipeOf is the matching recipe with the nearest number of clients; nil: none is known.
func recipeOf(f *facts) *recipe {
	var best *recipe
	least := math.Inf(1)
	for i := range recipes {
		r := &recipes[i]
		if !r.fits(f) {
			continue
		}
		for _, n := range r.clients {
			if far := math.Abs(math.Log(float64(n) / float64(max(1, f.clients)))); far < least {
				best, least = r, far
			}
		}
	}
	return best
}

func (r *recipe) fits(f *facts) bool {
	return slices.ContainsFunc(r.models, func(m string) bool { return strings.HasPrefix(f.model, m) }) && strings.HasPrefix(f.system, r.system) &&
		r.weights == f.weights && r.engine == f.engine && r.input == f.lengths.Input && r.output == f.lengths.Output &&
		r.drafting == f.drafting && r.prefill == f.prefill && r.decode == f.decode
}
