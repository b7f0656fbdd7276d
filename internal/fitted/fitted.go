// Package fitted is the file of corrections that measured runs make to the predictions of a
// deployment.
package fitted

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"throughline/deploy"
	"throughline/internal/document"
	"throughline/number"
	"throughline/op"
)

// File is the format. Tags drive the strict decoder, the JSON Schema and the key list in
// docs/formats.md. Corrections beyond the bounds mean that the runs are of something else.
type File struct {
	Model   string   `json:"model" required:"true" nonempty:"true" doc:"name of the model whose runs were measured"`
	System  string   `json:"system" required:"true" nonempty:"true" doc:"name of the system that they ran on; of a decode pool that"`
	Engine  string   `json:"engine" required:"true" nonempty:"true" doc:"engine that served them: sglang, vllm, trtllm or none"`
	Weights string   `json:"weights" required:"true" nonempty:"true" doc:"number format of the weights"`
	Plan    string   `json:"plan" required:"true" nonempty:"true" doc:"parallel sizes of an instance; of two pools those of both"`
	Lengths [][2]int `json:"lengths" required:"true" nonempty:"true" range:"[1,1000000000]" form:"[input, output]" doc:"tokens of the requests of the runs, each pair once"`
	Runs    int      `json:"runs" required:"true" range:"[1,1000000]" doc:"measured runs"`
	Source  string   `json:"source" doc:"where they were read from"`

	Decode  float64 `json:"decode_scale" range:"[0.1,10]" doc:"scale of the time that decoding keeps the processors busy"`
	Prefill float64 `json:"prefill_scale" range:"[0.1,10]" doc:"scale of the time that prompts add to that"`
	First   float64 `json:"first_token_ms" range:"[-1e6,1e6]" unit:"ms" doc:"time before a request is scheduled, on top of that of the engine"`
	Wave    float64 `json:"first_wave_ms" range:"[0,1e6]" unit:"ms" doc:"what the first requests of all clients wait besides, of a server that has just started, on top of wave_seconds of the engine"`
}

// Bounds of scales, as in the tags.
const (
	LeastScale = 0.1
	MostScale  = 10
)

func defaults() File { return File{Decode: 1, Prefill: 1} }

func Schema() ([]byte, error) {
	f := defaults()
	return document.Schema("Throughline fitted deployment", "fitted.schema.json", &f)
}

// Read reads a file. The problems, if any, are in the returned document.
func Read(name string, src []byte) (*File, *document.File) {
	doc := document.Parse(name, src)
	f := defaults()
	doc.Decode(&f)
	if doc.Err() != nil {
		return nil, doc
	}
	return &f, doc
}

// Of is the file of a fit of a deployment to runs with requests of these lengths.
func Of(d *deploy.Deployment, f *deploy.Fit, lengths [][2]int, runs int, source string) *File {
	decode, prefill := f.Scales()
	return &File{
		Model: d.Model.Name, System: d.Of(op.Decode).System.Name, Engine: d.Engine.Name, Weights: d.Stored.Format, Plan: d.Plans(), Lengths: lengths, Runs: runs, Source: source,
		Decode: number.Round(decode, 5), Prefill: number.Round(prefill, 5), First: number.Round(1e3*f.First, 4), Wave: number.Round(1e3*f.Wave, 4),
	}
}

func (f *File) Write() ([]byte, error) {
	src, err := json.MarshalIndent(f, "", "  ")
	return append(src, '\n'), err
}

// Elsewhere is the share of a correction that applies to requests of other lengths: chosen by
// cross-validation over the deployments of aiconfigurator's silicon_sample.csv (throughline
// validate serving --from-one-point).
var Elsewhere = deploy.Shares{Decode: 1, Prefill: 0.7, First: 0.7}

// Left returns the share of a correction at a distance from measured lengths; elsewhere applies at
// a factor of two and beyond.
func Left(distance float64, elsewhere deploy.Shares) deploy.Shares {
	left := func(there float64) float64 { return 1 - (1-there)*min(1, distance/math.Ln2) }
	return deploy.Shares{Decode: left(elsewhere.Decode), Prefill: left(elsewhere.Prefill), First: left(elsewhere.First)}
}

// Distance is the larger logarithm of the ratios of inputs and of outputs.
func Distance(a, b [2]int) float64 {
	ratio := func(i int) float64 { return math.Abs(math.Log(float64(a[i]) / float64(b[i]))) }
	return max(ratio(0), ratio(1))
}

// Fit returns the correction of requests with these lengths.
func (f *File) Fit(input, output int) deploy.Fit {
	fit := deploy.Fit{Engine: f.Engine, Plans: f.Plan, Source: f.Words(), Decode: f.Decode, Prefill: f.Prefill, First: f.First / 1e3, Wave: f.Wave / 1e3}
	distance := math.Inf(1)
	for _, n := range f.Lengths {
		distance = min(distance, Distance(n, [2]int{input, output}))
	}
	return fit.Faded(Left(distance, Elsewhere))
}

// Words describes what was measured.
func (f *File) Words() string {
	runs := "1 run"
	if f.Runs != 1 {
		runs = fmt.Sprintf("%d runs", f.Runs)
	}
	if f.Source != "" {
		runs += " of " + f.Source
	}
	var lengths []string
	for _, n := range f.Lengths {
		lengths = append(lengths, fmt.Sprintf("%d + %d", n[0], n[1]))
	}
	return fmt.Sprintf("%s (%s tokens)", runs, strings.Join(lengths, ", "))
}

// Mismatch tells how a deployment differs from the measured one, apart from plans; empty: it does
// not.
func (f *File) Mismatch(model, system, weights string) string {
	var out []string
	for _, c := range []struct{ what, measured, asked string }{{"model", f.Model, model}, {"system", f.System, system}, {"weights", f.Weights, weights}} {
		if c.measured != c.asked {
			out = append(out, fmt.Sprintf("%s %s, not %s", c.what, c.measured, c.asked))
		}
	}
	return strings.Join(out, "; ")
}
