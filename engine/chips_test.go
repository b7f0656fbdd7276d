package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"throughline/assume"
	"throughline/deploy"
	"throughline/hardware"
	"throughline/internal/test/builtin"
	"throughline/plan"
)

// servedOn is a dense model on one chip, in weights that a setting names.
func servedOn(t *testing.T, e *Engine, chip *hardware.System, weights string) (*deploy.Deployment, error) {
	t.Helper()
	m, settings := builtin.Model(t, "Llama-3.1-8B")
	prec, stored, err := (deploy.Formats{Weights: weights}).Resolve(m, chip)
	if err != nil {
		return nil, err
	}
	physical := assume.Physical
	d := e.Apply(deploy.Deployment{
		Name: m.Name, Model: m, Settings: settings, Precision: prec, Stored: stored, Assume: &physical,
		Pools: []deploy.Pool{{Role: deploy.Both, System: chip, Count: 1, Plan: plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 1}}, Batch: plan.Batch{Count: 1, Size: 1}}}},
	})
	return &d, nil
}

// chipCells are the words of the table for what becomes of weights.
var chipCells = map[treatment]string{native: "native", converted: "16 bits", notRun: "no"}

// chipTable is what engines do with weights on every chip: what its matrix units multiply, and by
// engine.
func chipTable() string {
	var b strings.Builder
	b.WriteString("| chips | generation | multiplies | engine |")
	for _, w := range weightKinds {
		fmt.Fprintf(&b, " %s |", w.title)
	}
	b.WriteString("\n|---|---|---|---|" + strings.Repeat("---|", len(weightKinds)) + "\n")
	type family struct {
		generation, formats string
		chips               []string
	}
	var families []*family
	for _, name := range hardware.Catalogue.Names() {
		src, _ := hardware.Catalogue.Find(name)
		s, _ := hardware.Read(name, src)
		if s.Generation == "" {
			continue
		}
		formats := strings.Join(s.Formats, ", ")
		at := slices.IndexFunc(families, func(f *family) bool { return f.generation == s.Generation })
		if at < 0 {
			at = len(families)
			families = append(families, &family{generation: s.Generation, formats: formats})
		}
		families[at].chips = append(families[at].chips, name)
	}
	slices.SortFunc(families, func(a, b *family) int { return strings.Compare(a.generation, b.generation) })
	for _, f := range families {
		for _, e := range engines {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |", strings.Join(f.chips, ", "), f.generation, f.formats, e.Name)
			c, runs := e.Chips[f.generation]
			for _, w := range weightKinds {
				cell := chipCells[c.does(w.name)]
				if !runs {
					cell = "no"
				}
				fmt.Fprintf(&b, " %s |", cell)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// chipSources are where each row of that table comes from.
func chipSources() string {
	var b strings.Builder
	b.WriteString("| engine | generation | source |\n|---|---|---|\n")
	for _, e := range engines {
		for _, g := range slices.Sorted(func(yield func(string) bool) {
			for g := range e.Chips {
				if !yield(g) {
					return
				}
			}
		}) {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", e.Name, g, e.Chips[g].Source)
		}
	}
	return b.String()
}

// saidOfChips is the table of docs/engines.md, by chip, engine and title of the weights.
func saidOfChips(t *testing.T) map[[3]string]string {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join("..", "docs", "engines.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "<!-- chips -->\n")
	table, _, ok := strings.Cut(rest, "<!-- /chips -->")
	if !ok {
		t.Fatal("docs/engines.md has no table of chips")
	}
	var rows [][]string
	for line := range strings.SplitSeq(strings.TrimSpace(table), "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	out := map[[3]string]string{}
	for _, cells := range rows[2:] {
		for chip := range strings.SplitSeq(cells[0], ", ") {
			for i, title := range rows[0][4:] {
				out[[3]string{chip, cells[3], title}] = cells[4+i]
			}
		}
	}
	return out
}

// checkWeights asks an engine for weights on a chip, and compares what it does with what the table
// says. It reports whether it could ask.
func checkWeights(t *testing.T, said map[[3]string]string, e *Engine, chip *hardware.System, w *weightKind) bool {
	t.Helper()
	want := said[[3]string{chip.Name, e.Name, w.title}]
	d, err := servedOn(t, e, chip, w.setting)
	if err != nil { // the chip multiplies nothing that goes with them
		if want == "native" {
			t.Errorf("%s in %s on %s: %v, the table says %s", w.title, e.Name, chip.Name, err, want)
		}
		return false
	}
	u := shape(d, &d.Pools[0])
	switch got := u.kindOfWeights(); {
	case got != nil && got.name == "int4" && w.name == "w4a8" && !chip.Computes("fp8") && !chip.Computes("int8"):
		want = said[[3]string{chip.Name, e.Name, got.title}] // there is nothing of 8 bits to multiply them with
	case got == nil || got.name != w.name && want != "no":
		t.Errorf("weights %s on %s are %+v", w.setting, chip.Name, got)
	}
	refused, notes := strings.Join(e.Refuses(d, &d.Pools[0]), "; "), strings.Join(Notes(d), "; ")
	is := "native"
	switch _, runs := e.Chips[chip.Generation]; {
	case runs && refused != "" && !strings.Contains(refused, "nearest there: weights "):
		is = "refused without what comes nearest: " + refused
	case refused != "":
		is = "no"
	case strings.Contains(notes, "multiplied in 16 bits"):
		is = "16 bits"
	}
	if is != want {
		t.Errorf("%s on %s in %s: %s, the table says %q", w.title, chip.Name, e.Name, is, want)
	}
	return true
}

// TestChipsFormatsEngines goes over all chips, weights and engines: what the table of
// docs/engines.md says is what happens. Weights that do not run are refused with what comes
// nearest, those that are converted are said to be, and no others. Nothing is refused on chips of
// paper.
func TestChipsFormatsEngines(t *testing.T) {
	said, asked := saidOfChips(t), 0
	for _, name := range hardware.Catalogue.Names() {
		chip := on(t, name)
		for _, e := range engines {
			if chip.Type == "sow" {
				weights := "fp8"
				if e.OnlyNamed { // which has files of its own formats
					weights = "q8_0"
				}
				if d, err := servedOn(t, e, chip, weights); err != nil || len(e.Refuses(d, &d.Pools[0])) > 0 {
					t.Errorf("%s refuses %s: %v", e.Name, name, err)
				}
				continue
			}
			for i := range weightKinds {
				if checkWeights(t, said, e, chip, &weightKinds[i]) {
					asked++
				}
			}
		}
	}
	if least := 700; asked < least {
		t.Errorf("%d cells of the table were asked, want at least %d", asked, least)
	}
}

// TestNativeWeights: what an engine multiplies as it is on a generation, every chip of it can
// multiply.
func TestNativeWeights(t *testing.T) {
	needs := map[string][]string{
		"fp4": {"nvfp4"}, "mxfp4": {"mxfp4"}, "fp8": {"fp8"}, "fp8_block": {"fp8"}, "int8": {"int8"}, "bf16": {"bf16"}, "w4a8": {"fp8", "int8"}, "gguf": {"int8"},
	}
	for _, name := range hardware.Catalogue.Names() {
		chip := on(t, name)
		for _, e := range engines {
			for _, format := range e.Chips[chip.Generation].Native {
				if !slices.ContainsFunc(needs[format], chip.Computes) {
					t.Errorf("%s multiplies %s on %s, which multiplies %q", e.Name, format, name, chip.Formats)
				}
			}
		}
	}
}

// TestKnownCapabilities: cells copied by hand from the pages that the data names.
func TestKnownCapabilities(t *testing.T) {
	for _, c := range []struct {
		engine, chip, weights string
		want                  treatment
	}{
		{"vllm", "A100_SXM", "nvfp4", converted}, // Marlin (GPTQ/AWQ/FP8/FP4): Ampere
		{"sglang", "A100_SXM", "nvfp4", converted},
		{"trtllm", "A100_SXM", "nvfp4", notRun}, // Hardware Support Matrix, Ampere: W4A16 alone
		{"trtllm", "A100_SXM", "fp8", notRun},
		{"trtllm", "A100_SXM", "int4", converted},
		{"vllm", "A100_SXM", "fp8", converted},
		{"trtllm", "MI300X", "fp8", notRun},
		{"vllm", "Ascend_910C", "fp8", notRun},
		{"sglang", "Ascend_910C", "fp8", notRun},
		{"vllm", "910C_with_1die", "fp8", notRun},
		{"vllm", "Gaudi3", "nvfp4", notRun},
		{"sglang", "Gaudi3", "bf16", notRun},
		{"vllm", "TPU_v6e", "nvfp4", notRun},
		{"vllm", "MI300X", "nvfp4", notRun},
		{"sglang", "MI325X", "nvfp4", notRun},
		{"vllm", "Ascend_910B", "nvfp4", notRun},
		{"trtllm", "B200", "int4", notRun},
		{"vllm", "B200", "int4", converted},
		{"vllm", "MI355X", "fp4", native}, // which is MXFP4 there
		{"sglang", "MI350X", "fp4", native},
		{"sglang", "MI355X", "nvfp4", notRun},
		{"sglang", "MI300X", "mxfp4", notRun}, // mxfp4.py: Current platform not support mxfp4 computation
		{"vllm", "MI300X", "mxfp4", converted},
		{"vllm", "B200", "nvfp4", native},
		{"vllm", "RTX_5090", "nvfp4", native},
		{"trtllm", "L40S", "fp8_block", notRun},
	} {
		e, chip := find(t, c.engine), on(t, c.chip)
		d, err := servedOn(t, e, chip, c.weights)
		if err != nil {
			t.Error(err)
			continue
		}
		u := shape(d, &d.Pools[0])
		got := e.weightsOn(chip, u.kindOfWeights())
		if len(e.refusedChip(chip)) > 0 {
			got = notRun
		}
		if got != c.want {
			t.Errorf("%s on %s in %s: %s, want %s", c.weights, c.chip, c.engine, chipCells[got], chipCells[c.want])
		}
	}
}

// TestUnknownChips: of a file without generation and maker nothing is refused, and one that only
// says its maker runs where engines run on some chip of it.
func TestUnknownChips(t *testing.T) {
	for _, c := range []struct {
		maker   string
		refused []string
	}{{"", nil}, {"AMD", []string{"trtllm"}}, {"NVIDIA", nil}, {"Nobody", []string{"sglang", "vllm", "trtllm"}}} {
		chip := *on(t, "B200")
		chip.Name, chip.Maker, chip.Generation, chip.Formats = "mine", c.maker, "", nil
		for _, e := range All() {
			for _, weights := range []string{"nvfp4", "mxfp4", "fp8", "int4"} {
				d, err := servedOn(t, e, &chip, weights)
				if err != nil {
					t.Fatal(err)
				}
				if why := e.Refuses(d, &d.Pools[0]); (len(why) > 0) != slices.Contains(c.refused, e.Name) {
					t.Errorf("%s on a chip of %q in %s: %v", weights, c.maker, e.Name, why)
				}
			}
		}
	}
}
