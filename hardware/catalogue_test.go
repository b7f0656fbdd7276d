package hardware_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"throughline/hardware"
	"throughline/internal/test/golden"
)

// An entry is a catalogue file: what the program reads, what stands there, and where each number
// comes from.
type entry struct {
	*hardware.System
	leaves  []leaf
	sources map[string]string
}

type leaf struct {
	path   string
	number bool
	value  float64
}

func catalogue(t *testing.T) map[string]entry {
	t.Helper()
	entries := map[string]entry{}
	for _, name := range hardware.Catalogue.Names() {
		src, _ := hardware.Catalogue.Find(name)
		s, doc := hardware.Read(name, src)
		for _, p := range append(doc.Problems(), doc.Warnings()...) {
			t.Errorf("%s: %v", name, p)
		}
		if s == nil {
			t.FailNow()
		}
		var file map[string]any
		if err := json.Unmarshal(src, &file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		e := entry{System: s, sources: map[string]string{}}
		if from, ok := file["sources"].(map[string]any); ok {
			for key, text := range from {
				e.sources[key] = text.(string)
			}
			delete(file, "sources")
		}
		delete(file, "chosen") // which speaks of numbers that have a source
		e.walk("", file)
		entries[name] = e
	}
	return entries
}

// walk collects the leaves below a value.
func (e *entry) walk(path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			e.walk(strings.TrimPrefix(path+"."+key, "."), v[key])
		}
	case []any:
		for i, item := range v {
			e.walk(fmt.Sprintf("%s[%d]", path, i), item)
		}
	case float64:
		e.leaves = append(e.leaves, leaf{path, true, v})
	default:
		e.leaves = append(e.leaves, leaf{path, false, 0})
	}
}

// covers is the paths that a key of sources speaks for: those it lists and all below them. "*"
// stands for any name, "[]" for any index, and a lone "*" for the whole file.
func covers(key string) *regexp.Regexp {
	if key == "*" {
		return regexp.MustCompile("")
	}
	var parts []string
	for part := range strings.SplitSeq(key, ",") {
		p := regexp.QuoteMeta(strings.TrimSpace(part))
		p = strings.ReplaceAll(p, `\*`, `\w+`)
		p = strings.ReplaceAll(p, `\[\]`, `\[\d+\]`)
		parts = append(parts, p)
	}
	return regexp.MustCompile(`^(` + strings.Join(parts, "|") + `)($|[.\[])`)
}

func TestCatalogueNames(t *testing.T) {
	for name, e := range catalogue(t) {
		if e.Name != name {
			t.Errorf("%s calls itself %q", name, e.Name)
		}
	}
}

// TestCatalogueFamilies: every chip that exists says who makes it, its generation and what its
// matrix units multiply, each of which has a rate; a generation has one maker, and each that files
// may name has a chip. The chips of the reference tool exist on paper alone.
func TestCatalogueFamilies(t *testing.T) {
	makers := map[string]string{}
	for name, e := range catalogue(t) {
		if e.Type == "sow" {
			continue
		}
		if e.Maker == "" || e.Generation == "" || len(e.Formats) == 0 || e.sources["formats"] == "" {
			t.Errorf("%s: maker %q, generation %q, formats %q with the source %q", name, e.Maker, e.Generation, e.Formats, e.sources["formats"])
		}
		for _, f := range e.Formats {
			if !e.Computes(f) {
				t.Errorf("%s multiplies %s and has no rate for it", name, f)
			}
		}
		if was, ok := makers[e.Generation]; ok && was != e.Maker || hardware.MakerOf(e.Generation) != e.Maker {
			t.Errorf("%s is of %s, others of its generation are of %s", name, e.Maker, was)
		}
		makers[e.Generation] = e.Maker
	}
	field, _ := reflect.TypeFor[hardware.File]().FieldByName("Generation")
	if got, want := slices.Sorted(maps.Keys(makers)), slices.Sorted(strings.SplitSeq(field.Tag.Get("enum"), ",")); !slices.Equal(got, want) {
		t.Errorf("the catalogue has chips of %q, files may name %q", got, want)
	}
}

// Every number of the catalogue has a source, and no source speaks of a key that is not there.
func TestCatalogueSources(t *testing.T) {
	for name, e := range catalogue(t) {
		sourced := map[string]bool{}
		for key, text := range e.sources {
			if strings.TrimSpace(text) == "" {
				t.Errorf("%s: the source of %s is empty", name, key)
			}
			for part := range strings.SplitSeq(key, ",") {
				pattern := covers(part)
				found := false
				for _, l := range e.leaves {
					if pattern.MatchString(l.path) {
						sourced[l.path], found = true, true
					}
				}
				if !found {
					t.Errorf("%s: sources speaks of %s, which is not in the file", name, part)
				}
			}
		}
		for _, l := range e.leaves {
			// One processor per card is what the format takes if nothing is said.
			if l.number && !sourced[l.path] && !(l.path == "procs_per_npu" && e.ProcsPerNPU == 1) {
				t.Errorf("%s: no source for %s", name, l.path)
			}
		}
	}
}

// carried is a source that takes the numbers of another chip.
var carried = regexp.MustCompile(`\b(?:as measured on|the dies? (?:and memory )?of) the (\w+)`)

// Numbers that were carried from another chip are those that it has, where it has them.
func TestCatalogueCarried(t *testing.T) {
	all, compared := catalogue(t), 0
	for name, e := range all {
		for key, text := range e.sources {
			from := carried.FindStringSubmatch(text)
			if from == nil || !strings.HasPrefix(key, "power.") {
				continue
			}
			theirs := map[string]float64{}
			for _, l := range all[from[1]].leaves {
				theirs[l.path] = l.value
			}
			pattern := covers(key)
			for _, l := range e.leaves {
				if want, has := theirs[l.path]; has && l.number && pattern.MatchString(l.path) {
					if compared++; l.value != want {
						t.Errorf("%s: %s is %v, that of the %s is %v", name, l.path, l.value, from[1], want)
					}
				}
			}
		}
	}
	if compared == 0 {
		t.Error("no number was carried")
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		key, path string
		want      bool
	}{
		{"*", "mem1.GiB", true},
		{"matrix", "matrix.float8.tflops", true},
		{"matrix", "matrix2.float8.tflops", false},
		{"matrix.float1", "matrix.float16.tflops", false},
		{"mem1.GiB, mem1.GBps", "mem1.GBps", true},
		{"mem1.GiB, mem1.GBps", "mem1.calibration_coefficient", false},
		{"networks[0]", "networks[0].ops.p2p.op_scalar[1]", true},
		{"networks[0]", "networks[1].size", false},
		{"networks[].size", "networks[1].size", true},
		{"matrix.*.calibration_coefficient", "matrix.float8.calibration_coefficient", true},
		{"matrix.*.calibration_coefficient", "matrix.float8.tflops", false},
	} {
		if got := covers(c.key).MatchString(c.path); got != c.want {
			t.Errorf("%q covers %s: %v", c.key, c.path, got)
		}
	}
}

// Operators between products run on the vector unit in the type of the products.
func TestCatalogueVectorTypes(t *testing.T) {
	for name, e := range catalogue(t) {
		switch name {
		case "H800_IB": // it follows published runtime files
			continue
		}
		for _, typ := range e.MatrixTypes() {
			if _, ok := e.Vector[typ]; !ok {
				t.Errorf("%s multiplies matrices in %s and has no vector rate for it", name, typ)
			}
		}
	}
}

// Data sheets print peaks with sparsity, twice the dense ones. Where it doubles the rate of one
// type only, the ratio of the types shows it.
func TestCatalogueIsDense(t *testing.T) {
	double := []string{
		"H100_SXM", "H100_PCIe", "H200", "H800", "H800_IB", "H20_96G", "H20_141G", "B200", "B300", "GB200_NVL72", "GB300_NVL72",
		"L40S", "L40S_P2P", "L4", "RTX_4090", "RTX_5090", "RTX_PRO_6000", "DGX_Spark", "H200_NVL", "GH200", "MI300X", "MI325X", "MI350X", "MI355X",
		"Gaudi2", "TPU_v7",
	}
	entries := catalogue(t)
	for _, name := range double {
		e := entries[name]
		if ratio := e.Matrix["float8"].TFlops / e.Matrix["bfloat16"].TFlops; math.Abs(ratio-2) > 0.04 {
			t.Errorf("%s: float8 runs at %.3g times bfloat16, not twice", name, ratio)
		}
	}
	for name, e := range entries {
		half, ok := e.Matrix["bfloat16"]
		if ok && e.Matrix["float16"].TFlops > 0 && half.TFlops > e.Matrix["float16"].TFlops && e.Type != "cpu" {
			t.Errorf("%s: bfloat16 (%g) above float16", name, half.TFlops)
		}
		for typ, m := range e.Matrix {
			if v, ok := e.Vector[typ]; ok && v.TFlops > m.TFlops {
				t.Errorf("%s: vector rate of %s above the matrix rate", name, typ)
			}
		}
	}
	if r := entries["H100_SXM"].Matrix["bfloat16"].TFlops; r >= 1000 {
		t.Errorf("H100_SXM: %g T/s of bfloat16 is the peak with sparsity", r)
	}
}

// Figures copied by hand from public sources, apart from the files.
func TestCatalogueFacts(t *testing.T) {
	type facts struct {
		bfloat16, float8, int8, float4 float64 // T/s, dense; 0: the chip does not have the type
		gib, gbps                      float64
		up                             float64 // GB/s per direction
		domain                         int
		out                            float64
	}
	entries := catalogue(t)
	for name, want := range map[string]facts{
		"H100_SXM":     {989, 1979, 1979, 0, 80, 3350, 450, 8, 50},
		"H100_PCIe":    {756, 1513, 1513, 0, 80, 2000, 64, 8, 50},
		"H200":         {989, 1979, 1979, 0, 140.4, 4800, 450, 8, 50},
		"H800":         {989, 1979, 1979, 0, 80, 3352, 200, 8, 50},
		"H20_96G":      {148, 296, 296, 0, 96, 4000, 450, 8, 50},
		"H20_141G":     {148, 296, 296, 0, 140.4, 4800, 450, 8, 50},
		"A100_SXM":     {312, 0, 624, 0, 80, 2039, 300, 8, 25},
		"A100_PCIe":    {312, 0, 624, 0, 80, 1935, 32, 8, 25},
		"B200":         {2250, 4500, 4500, 9000, 179.1, 7700, 900, 8, 50},
		"B300":         {2250, 4500, 153.5, 14000, 268.6, 7750, 900, 8, 100},
		"GB200_NVL72":  {2500, 5000, 5000, 10000, 185, 8000, 900, 72, 50},
		"GB300_NVL72":  {2500, 5000, 165, 15000, 277.6, 8000, 900, 72, 100},
		"L40S":         {362.05, 733, 733, 0, 45, 864, 32, 8, 32},
		"L40S_P2P":     {362.05, 733, 733, 0, 45, 864, 32, 8, 32},
		"RTX_4090":     {165.2, 330.3, 660.6, 0, 24, 1008, 32, 8, 0},
		"RTX_PRO_6000": {467.8, 935.6, 935.6, 1871.2, 95.6, 1597, 64, 8, 50},
		"MI300X":       {1307, 2615, 2615, 0, 192, 5300, 448, 8, 50},
		"MI325X":       {1307, 2615, 2615, 0, 256, 6000, 448, 8, 50},
		"MI355X":       {2516, 5033, 5033, 10066, 288, 8000, 537.6, 8, 50},
		"Ascend_910B":  {353.9, 0, 752, 0, 64, 1759.2, 196, 8, 25},
		"Ascend_910C":  {353.9, 0, 752, 0, 64, 1759.2, 196, 768, 25},
		"Gaudi3":       {1835, 1835, 0, 0, 128, 3675, 525, 8, 75},
		"TPU_v5e":      {197, 0, 393, 0, 16, 819, 200, 256, 3.125},
		"TPU_v5p":      {459, 459, 918, 0, 95, 2765, 600, 6144, 6.25},
		"TPU_v6e":      {918, 0, 1836, 0, 32, 1640, 400, 256, 12.5},
		"Xeon":         {118, 0, 236, 0, 1024, 307.2, 144, 2, 25},
		"MI350X":       {2307, 4614, 4614, 9228, 288, 8000, 537.6, 8, 50},
		"A10":          {125, 0, 250, 0, 22.5, 600, 32, 8, 25},
		"A40":          {149.7, 0, 299.3, 0, 45, 696, 32, 8, 25},
		"A100_40GB":    {312, 0, 624, 0, 39.6, 1555, 300, 8, 25},
		"L4":           {121, 242, 242, 0, 22.5, 300, 32, 8, 25},
		"H200_NVL":     {835.5, 1670.5, 1670.5, 0, 140.4, 4800, 450, 4, 50},
		"GH200":        {989, 1979, 1979, 0, 134.1, 4900, 50, 65536, 0},
		"RTX_5090":     {209.5, 419, 838, 1676, 31.8, 1792, 64, 8, 0},
		"DGX_Spark":    {125, 250, 250, 500, 119.7, 273, 25, 65536, 0},
		"MI250":        {181, 0, 181, 0, 64, 1638.4, 150, 8, 25},
		"MI210":        {181, 0, 181, 0, 64, 1638.4, 150, 4, 25},
		"TPU_v7":       {2307, 4614, 0, 0, 192, 7380, 600, 9216, 12.5},
		"Gaudi2":       {432, 865, 0, 0, 96, 2460, 262.5, 8, 37.5},
		"Arc_B60":      {98.3, 0, 196.6, 0, 24, 456, 32, 8, 0},
		"M2_Ultra":     {27.2, 0, 0, 0, 192, 800, 5, 8, 0},
		"M3_Ultra":     {28.6, 0, 0, 0, 512, 819, 10, 8, 0},
		"M4_Max":       {17.2, 0, 0, 0, 128, 546, 10, 8, 0},
		"M1_Max":       {10.4, 0, 0, 0, 64, 400, 5, 8, 0},
		"M1_Ultra":     {21.2, 0, 0, 0, 128, 800, 5, 8, 0},
		"M3_Max":       {14.3, 0, 0, 0, 128, 400, 5, 8, 0},
		"M4":           {4.3, 0, 0, 0, 32, 120, 5, 8, 0},
		"RTX_3090":     {71, 0, 284, 0, 24, 936, 32, 8, 0},
		"M4_Pro":       {8.6, 0, 0, 0, 64, 273, 10, 8, 0},
	} {
		e, ok := entries[name]
		if !ok {
			t.Errorf("%s is not in the catalogue", name)
			continue
		}
		check := func(what string, got, want float64) {
			t.Helper()
			if math.Abs(got-want) > 0.005*want {
				t.Errorf("%s: %s is %g, published %g", name, what, got, want)
			}
		}
		check("bfloat16", e.Matrix["bfloat16"].TFlops, want.bfloat16)
		check("float8", e.Matrix["float8"].TFlops, want.float8)
		check("int8", e.Matrix["int8"].TFlops, want.int8)
		check("float4", e.Matrix["float4"].TFlops, want.float4)
		check("capacity", e.Memory.GiB, want.gib)
		check("memory bandwidth", e.Memory.GBps, want.gbps)
		check("scale-up", e.Networks[0].Bandwidth, want.up)
		check("domain", float64(e.Networks[0].Size), float64(want.domain))
		out := 0.0
		if len(e.Networks) > 1 {
			out = e.Networks[1].Bandwidth
		}
		check("scale-out", out, want.out)
		cards := 1
		if name == "Ascend_910C" || name == "MI250" {
			cards = 2
		}
		check("processors per card", float64(e.ProcsPerNPU), float64(cards))
	}
}

// The table of docs/systems.md shows what stands in the files.
func TestSystemsTable(t *testing.T) {
	const (
		doc   = "../docs/systems.md"
		begin = "<!-- systems -->\n"
		end   = "<!-- end -->\n"
	)
	content, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := bytes.Cut(content, []byte(begin))
	_, tail, ok2 := bytes.Cut(rest, []byte(end))
	if !ok1 || !ok2 {
		t.Fatalf("%s has no table between %q and %q", doc, begin, end)
	}
	golden.File(t, doc, slices.Concat(head, []byte(begin+table(catalogue(t))+end), tail))
}

func table(entries map[string]entry) string {
	var b strings.Builder
	b.WriteString("| Name | Matrix peaks, T/s | Memory | Scale-up | Scale-out | Kernels | Estimated |\n|---|---|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		e := entries[name]
		var peaks []string
		for _, n := range hardware.NumberTypes {
			if m, ok := e.Matrix[n.Name]; ok {
				peaks = append(peaks, n.Name+" "+number(m.TFlops))
			}
		}
		out := "none"
		if len(e.Networks) > 1 {
			out = network(e.Networks[1])
		}
		kernels := "as " + e.MeasuredAs()
		switch e.MeasuredAs() {
		case "":
			kernels = "roofline"
		case name:
			kernels = "measured"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s GiB, %s GB/s | %s | %s | %s | %s |\n", name, strings.Join(peaks, ", "),
			number(e.Memory.GiB), number(e.Memory.GBps), network(e.Networks[0]), out, kernels, e.estimated())
	}
	return b.String()
}

func network(n hardware.Network) string {
	return fmt.Sprintf("%s GB/s, %s of %d", number(n.Bandwidth), n.Topology, n.Size)
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

var unsure = regexp.MustCompile(`\b(estimated|assumed|inferred|fitted|guessed)\b`)

// estimated lists the keys that no source gives outright.
func (e entry) estimated() string {
	var keys []string
	for key, text := range e.sources {
		if !unsure.MatchString(text) {
			continue
		}
		for part := range strings.SplitSeq(key, ",") {
			if part = strings.TrimSpace(part); part == "*" {
				part = "all else"
			} else {
				part = "`" + part + "`"
			}
			keys = append(keys, part)
		}
	}
	if len(keys) == 0 {
		return "nothing"
	}
	slices.Sort(keys)
	return strings.Join(keys, ", ")
}

// TestAliases: other names of systems lead to a file, and none hides one.
func TestAliases(t *testing.T) {
	for alias, name := range hardware.Catalogue.Aliases {
		if got, ok := hardware.Catalogue.Name(alias); !ok || got != name {
			t.Errorf("%q leads to %q, want %q", alias, got, name)
		}
		if _, ok := hardware.Catalogue.Find(name); !ok {
			t.Errorf("%q is an alias of %q, which does not exist", alias, name)
		}
	}
}
