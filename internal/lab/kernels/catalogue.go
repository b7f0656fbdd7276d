// Package kernels fits the built-in kernels to public measurements kept beside the project. It
// writes the kernels, a page on their errors, and a record by which a test tells whether they are
// current.
package kernels

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/calibrate"
	"throughline/internal/files"
	"throughline/internal/measurement"
)

// shared is where public measurements lie, relative to the project root; they are not part of it.
const shared = "../shared/measurements/"

// measured is tables of one chip by one method.
type measured struct {
	title, system string
	files         []string               // patterns
	source        string                 // as the kernels name it
	software      map[kernel.Slot]string // of attention, where the tables do not say
}

const aiconfigurator = "per-operator tables of NVIDIA aiconfigurator (Apache-2.0)"

var (
	h200PyTorch  = measured{"H200, PyTorch 2.11, cold cache", "H200", []string{shared + "h200/ops.csv"}, "PyTorch 2.11 on one H200", nil}
	h200Compiled = measured{"H200, measure/measure.py", "H200", []string{"measure/H200/ops.csv"}, "measure/H200/ops.csv", nil}
	h200Fused    = measured{"H200, measure/experts.py and small.py", "H200", []string{"measure/H200/experts.csv", "measure/H200/small.csv"}, "measure/H200/experts.csv and small.csv", nil}
	h200Engine   = measured{"H200, SGLang and NCCL", "H200", []string{shared + "ops/h200_sxm_*"}, aiconfigurator, nil}
	h100Engine   = measured{"H100 SXM, SGLang and NCCL", "H100_SXM", []string{shared + "ops/h100_sxm_*"}, aiconfigurator, nil}
	b200Engine   = measured{"B200, SGLang and NCCL", "B200", []string{shared + "ops/b200_sxm_*"}, aiconfigurator, nil}
	b300Engine   = measured{"B300, expert exchanges", "B300", []string{shared + "ops/b300_sxm_*"}, aiconfigurator, nil}
	gb200Engine  = measured{"GB200, SGLang and NCCL", "GB200_NVL72", []string{shared + "ops/gb200_*"}, aiconfigurator, nil}
	gb300Engine  = measured{"GB300, expert exchanges", "GB300_NVL72", []string{shared + "ops/gb300_*"}, aiconfigurator, nil}
	a100Engine   = measured{"A100 SXM, SGLang and NCCL", "A100_SXM", []string{shared + "ops/a100_sxm_*"}, aiconfigurator, nil}
	l40sEngine   = measured{"L40S, SGLang and NCCL", "L40S", []string{shared + "ops/l40s_*"}, aiconfigurator, nil}
	h20Tables    = measured{"H20, InferSim", "H20_96G", []string{shared + "infersim/*/h20/*.csv", shared + "infersim/*/*/h20/*.csv"}, "tables of alibaba/InferSim (Apache-2.0)", inferSim}
	h800Tables   = measured{"H800, InferSim", "H800", []string{shared + "infersim/*/h800/*.csv", shared + "infersim/*/*/h800/*.csv"}, "tables of alibaba/InferSim (Apache-2.0)", inferSim}
)

// inferSim is what its tables were measured with: README.md ("Benchmarked on FlashInfer,
// FlashAttention-3, FlashMLA"), kernel_benchmark/fa3_mha_prefill.py and flashinfer_mha_decode.py of
// alibaba/InferSim.
var inferSim = map[kernel.Slot]string{kernel.Prefill: "fa3", kernel.LatentPrefill: "fa3", kernel.Decode: "flashinfer", kernel.LatentDecode: "flashmla"}

// chipTables are the sources of the kernels of a chip.
type chipTables struct {
	name   string
	own    []measured
	others []string
}

// built are the built-in kernels, measured on the chip first and then borrowed from others; the
// first source with a kind of kernel provides it.
var built = []chipTables{
	{"H200", []measured{h200PyTorch, h200Fused, h200Engine}, []string{"H100_SXM"}},
	{"H100_SXM", []measured{h100Engine}, []string{compiledOnH200, "H200"}},
	{"B200", []measured{b200Engine}, []string{compiledOnH200, "GB200_NVL72"}},
	{"GB200_NVL72", []measured{gb200Engine}, []string{compiledOnH200}},
	{"B300", []measured{b300Engine}, []string{"B200"}},
	{"GB300_NVL72", []measured{gb300Engine}, []string{"GB200_NVL72"}},
	{"A100_SXM", []measured{a100Engine}, []string{compiledOnH200}},
	{"L40S", []measured{l40sEngine}, []string{compiledOnH200}},
	// Memory serves a multiprocessor of an H20 with 51 GB/s, one of an H200 with 36, one of an H100
	// with 25: shares of the bandwidth come from the nearer of the two.
	{"H20_96G", []measured{h20Tables}, []string{compiledOnH200, "H200", "H100_SXM"}},
	{"H800", []measured{h800Tables}, []string{compiledOnH200, "H100_SXM"}},
}

// compiledOnH200 is kernels measured by measure.py and small.py. Only those that move bytes carry
// over to other chips: engines fuse them alike, and tables of engines lack them.
const compiledOnH200 = "H200, compiled"

// skipped are tables of whole modules, which have no model; exchanges of the older engine on the
// H200, which are the H100's renamed; decodes on the H800, which the host launched one by one,
// where the H100 of the same die was measured in graphs, as engines run it; and an H20 table of a
// kernel that, unlike the chip's others, does not split the context.
var skipped = regexp.MustCompile(`sparse_attention|wideep_\w+_mla|h200_sxm_.*0\.5\.6.*deepep|INDEX|/dsa/|/gdn/|/m[hl]a/decode/h800/|/h20/64-2-128`)

// launched are tables of calls that the host launches one by one between two looks at its clock
// (kernel_benchmark/flashinfer_mha_decode.py of alibaba/InferSim at f2293dab), 26 to 35 us for
// contexts of 1,024 to 32,768 alike. What is hardly longer is left out.
var launched = regexp.MustCompile(`/mha/decode/h20/(16|32-[24]|128|256)-`)

const hostDecides = 45e-6

func (m *measured) names(folder string) ([]string, error) {
	var out []string
	for _, pattern := range m.files {
		all, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			return nil, err
		}
		out = append(out, all...)
	}
	if out = slices.DeleteFunc(out, skipped.MatchString); len(out) == 0 {
		return nil, fmt.Errorf("no measurements of %s: %s", m.title, strings.Join(m.files, ", "))
	}
	return out, nil
}

// load reads tables and takes what contradicts itself out of them.
func load(names []string) (rows []measurement.Row, bad []measurement.Problem, conflicts []calibrate.Conflict, err error) {
	for _, f := range names {
		tab, err := measurement.ReadFile(files.Machine, f)
		if err != nil {
			return nil, nil, nil, err
		}
		if launched.MatchString(f) {
			tab.Rows = slices.DeleteFunc(tab.Rows, func(r measurement.Row) bool { return r.Seconds < hostDecides })
		}
		rows, bad = append(rows, tab.Rows...), append(bad, tab.Problems...)
	}
	rows, conflicts = calibrate.Clean(rows)
	return rows, bad, conflicts, nil
}

// plain is a built-in system without its kernels.
func plain(name string) (*hardware.System, error) {
	src, ok := hardware.Catalogue.Find(name)
	if !ok {
		return nil, fmt.Errorf("no system %s", name)
	}
	src, err := hardware.WithKernels(src, nil)
	if err != nil {
		return nil, err
	}
	s, doc := hardware.Read(name, src)
	return s, doc.Err()
}

// Output is a file that is written from measurements, seen from the root of the project.
type Output struct {
	Name    string
	Content []byte
}

// Catalogue fits the built-in kernels, which takes minutes, and returns the files to write,
// including their errors in docs/calibration.md. The folder is the project root.
func Catalogue(folder string, log func(title string)) ([]Output, error) {
	var out bytes.Buffer
	var files []Output
	out.WriteString(intro)
	sets := map[string]*kernel.Set{}
	fused, err := fitted(folder, &out, &h200Fused)
	if err != nil {
		return nil, err
	}
	compiled, err := fitted(folder, &out, &h200Compiled)
	if err != nil {
		return nil, err
	}
	sets[compiledOnH200] = movingOnly(compiled, fused)
	for _, b := range built {
		if sets[b.name], err = ofOwnTables(b, func(m *measured) (*kernel.Set, error) {
			if m.title == h200Fused.title {
				return fused, nil
			}
			log(m.title)
			return fitted(folder, &out, m)
		}); err != nil {
			return nil, err
		}
	}
	for _, b := range built {
		set := sets[b.name]
		if err := fillFrom(set, b.others, sets); err != nil {
			return nil, err
		}
		acrossNodes(set, sets["H100_SXM"])
		fillLinks(set, sets["H100_SXM"])
		set.Exchange = ordered(set.Exchange)
	}
	besides(sets["H200"], compiled)
	for _, b := range built {
		once(sets[b.name])
		content, err := encoded(sets[b.name])
		if err != nil {
			return nil, err
		}
		files = append(files, Output{"hardware/kernels/" + b.name + ".json", content})
	}
	log("kernels carried over")
	if err := carriedOver(folder, &out, sets); err != nil {
		return nil, err
	}
	log("attention by backend")
	if err := byBackend(folder, &out, sets); err != nil {
		return nil, err
	}
	return append(files, Output{"docs/calibration.md", out.Bytes()}), nil
}

// ofOwnTables are the kernels of a chip that its own tables have.
func ofOwnTables(b chipTables, fit func(*measured) (*kernel.Set, error)) (*kernel.Set, error) {
	s, err := plain(b.name)
	if err != nil {
		return nil, err
	}
	set := &kernel.Set{System: b.name, Peaks: s.Peaks()}
	var sources []string
	for i := range b.own {
		part, err := fit(&b.own[i])
		if err != nil {
			return nil, err
		}
		narrowProducts(part, b.own[i].title)
		set.Fill(part)
		sources = append(sources, part.Source)
	}
	set.Source = strings.Join(sources, "; ")
	if slices.Contains(hopper, b.name) {
		fp8Latent(set)
	}
	if g := set.GroupedGemm["float8"]; g != nil { // DeepGEMM, run after an exchange
		set.Put(kernel.DispatchedExperts, "float8", g, set.Errors["grouped_gemm.float8"])
	}
	return set, nil
}

// narrowProducts chooses the kernels for 8-bit products with one scale and with block scales, and
// for experts of 4 bits on Hopper.
// InferSim's tables are of DeepGEMM, which scales blocks, and stand for both. On an H100 DeepGEMM
// also replaces SGLang's slower one-scale kernel. Block kernels in tables of Blackwell
// are slower than those for one scale and not what engines run: with them, serving runs of DeepSeek
// in FP8 would come out 10 to 25% too slow.
//
// Chosen: runs of DeepSeek in FP8 on B200, GB200, tables of 4-bit experts on Hopper; 2026-11-19.
func narrowProducts(part *kernel.Set, title string) {
	const one, blocks = "float8", "float8" + kernel.Blocks
	switch title {
	case h20Tables.title, h800Tables.title:
		part.Put(kernel.Gemm, blocks, part.Gemm[one], part.Errors["gemm."+one])
	case h100Engine.title:
		part.Gemm[one], part.Errors["gemm."+one] = part.Gemm[blocks], part.Errors["gemm."+blocks]
		// Marlin takes as long on an H200 at every shape of both tables (0.95 in the median), but
		// beyond them the two fits part by up to 1.9. That of the H200 is closer at a shape that
		// neither has seen (3584 x 3072 of 896 experts).
		delete(part.Experts, "int4")
		delete(part.Errors, "experts.int4")
	case b200Engine.title, gb200Engine.title:
		delete(part.Gemm, blocks)
		delete(part.Errors, "gemm."+blocks)
	}
}

// fillFrom takes what a chip lacks from others.
func fillFrom(set *kernel.Set, others []string, sets map[string]*kernel.Set) error {
	to, err := plain(set.System)
	if err != nil {
		return err
	}
	for _, name := range others {
		share := 1.0
		if name != compiledOnH200 { // whose kernels only move bytes
			from, err := plain(name)
			if err != nil {
				return err
			}
			share = tensorShare(from, to)
		}
		set.Fill(weaker(sets[name], share))
	}
	return nil
}

// movingOnly is kernels that only move bytes, which carry over by launch time and bandwidth.
func movingOnly(sets ...*kernel.Set) *kernel.Set {
	out := &kernel.Set{System: compiledOnH200}
	for _, s := range sets {
		out.Fill(&kernel.Set{System: compiledOnH200, Elementwise: s.Elementwise, Errors: s.Errors})
	}
	return out
}

// besides adds compiled kernels to a chip whose own tables have those of PyTorch's eager mode:
// engines run the one, plain forward passes the other.
func besides(set, compiled *kernel.Set) {
	for _, of := range []kernel.Slot{kernel.AddNorm, kernel.SiluMul} {
		key := of.Key()
		set.Put(of, kernel.KeyBy(key, kernel.Fused), compiled.Elementwise[key], compiled.Errors[of.Section()+"."+key])
	}
	set.Source += "; fused element-wise kernels: " + compiled.Source
}

// hopper are the chips of one die.
var hopper = []string{"H100_SXM", "H200", "H800", "H20_96G"}

// carriedOver says how far off the kernels of one chip are on another, at that one's peaks.
func carriedOver(folder string, out *bytes.Buffer, sets map[string]*kernel.Set) error {
	out.WriteString(carried)
	kinds := []string{"gemm", "fused experts", "decode attention", "latent decode", "prefill attention", "latent prefill", "all-reduce", "all-to-all"}
	fmt.Fprintf(out, "| from | to | %s |\n|---|---|%s\n", strings.Join(kinds, " | "), strings.Repeat("--:|", len(kinds)))
	for _, pair := range []struct {
		from string
		to   measured
	}{
		{"H200", h100Engine}, {"H100_SXM", h200Engine}, {"GB200_NVL72", b200Engine}, {"B200", gb200Engine},
		{"H100_SXM", a100Engine}, {"A100_SXM", h100Engine}, {"H100_SXM", b200Engine}, {"B200", h100Engine},
		{"A100_SXM", l40sEngine}, {"H100_SXM", l40sEngine},
	} {
		s, err := plain(pair.to.system)
		if err != nil {
			return err
		}
		s.Kernels = sets[pair.from]
		p := calibrate.NewPredictor(s)
		names, err := pair.to.names(folder)
		if err != nil {
			return err
		}
		rows, _, _, err := load(names)
		if err != nil {
			return err
		}
		errors, counts := map[string]float64{}, map[string]float64{}
		for i := 0; i < len(rows); i += 7 { // an even sample
			slot, ok := calibrate.Slot(&rows[i])
			if !ok || calibrate.TooShort(&rows[i]) && (rows[i].Kind == kernel.Decode || rows[i].Kind == kernel.Prefill) {
				continue
			}
			if predicted, ok := p.Seconds(&rows[i]); ok {
				errors[slot.Name()] += math.Abs(predicted/rows[i].Seconds - 1)
				counts[slot.Name()]++
			}
		}
		fmt.Fprintf(out, "| %s | %s |", pair.from, pair.to.system)
		for _, k := range kinds {
			if counts[k] == 0 {
				out.WriteString(" – |")
			} else {
				fmt.Fprintf(out, " %.0f |", 100*errors[k]/counts[k])
			}
		}
		out.WriteString("\n")
	}
	return nil
}

const carried = `
## Kernels carried over

Chips that were not measured take the kernels of one that was, at their own peaks. How far off that is shows on chips that
were measured: mean errors in percent of the kernels of one chip on the tables of another, of all software in them.

`

// acrossNodes adds exchanges over several nodes, measured on the H100 only: there the network
// decides, and slowdowns are relative to its bandwidth.
func acrossNodes(set, from *kernel.Set) {
	added := false
	for key, e := range set.Exchange {
		for _, l := range from.Exchange[key].Levels {
			if l.Nodes > e.Levels[len(e.Levels)-1].Nodes {
				l.From = from.System
				e.Levels = append(e.Levels, l)
				added = true
			}
		}
	}
	if added {
		set.Source += "; exchanges over several nodes as on the H100"
	}
}

// usualExchange is 16384 tokens of DeepSeek-V3 on a node of eight.
var usualExchange = kernel.Shape{M: 16384, N: 8, K: 7168, Experts: 256, Group: 8, Nodes: 1}

// fillLinks gives exchanges within a node that leave links idle the link use of another chip whose
// same units fill them: what more units would reach.
func fillLinks(set, from *kernel.Set) {
	const idle = 1.5
	for of, key := range map[kernel.Slot]string{kernel.DispatchNormal: "dispatch_normal", kernel.CombineNormal: "combine_normal"} {
		slowdown := func(s *kernel.Set) float64 {
			t, ok := s.Timing(of, key)
			if !ok {
				return 0
			}
			return t.Seconds(&kernel.Pace{Byte: 1}, &usualExchange) / s.Exchange[key].Bytes(&usualExchange)
		}
		if full := slowdown(from); full > 0 && slowdown(set) > idle*full {
			set.Exchange[key].Levels[0].Filled = calibrate.Digits(full)
		}
	}
}

func ordered(m map[string]*kernel.ExchangeModel) map[string]*kernel.ExchangeModel {
	for _, e := range m {
		slices.SortFunc(e.Levels, func(a, b kernel.ExchangeLevel) int { return int(a.Nodes - b.Nodes) })
	}
	return m
}

// encoded has one kind of kernels on each line.
func encoded(set *kernel.Set) ([]byte, error) {
	src, err := json.Marshal(set)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	d := json.NewDecoder(bytes.NewReader(src))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	for i := 0; d.More(); i++ {
		key, _ := d.Token()
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "%s\n  %q: %s", map[bool]string{true: "{", false: ","}[i == 0], key, value)
	}
	out.WriteString("\n}\n")
	return out.Bytes(), nil
}

// fitted fits all classes of the tables and reports how well.
func fitted(folder string, out *bytes.Buffer, m *measured) (*kernel.Set, error) {
	names, err := m.names(folder)
	if err != nil {
		return nil, err
	}
	rows, bad, conflicts, err := load(names)
	if err != nil {
		return nil, err
	}
	s, err := plain(m.system)
	if err != nil {
		return nil, err
	}
	set := &kernel.Set{System: m.system, Source: fmt.Sprintf("fitted to %d rows of %s", len(rows), m.source)}
	results, uncovered := calibrate.Classes(rows, s, set)
	for of, software := range m.software {
		for _, key := range set.Keys(of) {
			set.By(of, key, software)
		}
	}
	layers, err := m.modules(folder)
	if err != nil {
		return nil, err
	}
	modules, _, _, err := load(layers)
	if err != nil {
		return nil, err
	}
	results = append(results, calibrate.ByDifference(rows, modules, s, set)...)
	fmt.Fprintf(out, "\n## %s\n\n%d rows; %d unreadable, %d in %d contradictions, %d of kinds or conditions without a model.\n\n", m.title,
		len(rows)+len(bad)+contradicting(conflicts), len(bad), contradicting(conflicts), len(conflicts), uncovered)
	out.WriteString("| class | type | kernel | rows | numbers | before | fitted | held out: mean | median | worst | largest | noise | left out |\n" +
		"|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, r := range results {
		held := fmt.Sprintf("**%.1f** | %.1f | %.0f", r.Shapes.Mean, r.Shapes.Median, r.Shapes.Worst)
		if r.Shapes.Rows == 0 {
			held = "– | – | –"
		}
		fmt.Fprintf(out, "| %s | %s | %s | %d | %d | %.0f | %.1f | %s | %.1f | %.1f | %d |\n", r.Class, r.Type, r.Kernel, r.Fitted.Rows,
			r.Numbers, r.Before.Mean, r.Fitted.Mean, held, r.Largest.Mean, r.Noise, r.Below+r.Short)
	}
	for _, r := range results {
		if r.Doubt != "" && r.Reason == "" {
			fmt.Fprintf(out, "\n**Kept out**: %s %s %s: %s.\n", r.Class, r.Type, r.Kernel, r.Doubt)
		} else if r.Doubt != "" {
			fmt.Fprintf(out, "\nTaken all the same: %s %s %s: %s; %s.\n", r.Class, r.Type, r.Kernel, r.Doubt, r.Reason)
		}
	}
	calibrate.ByName(out, results, set)
	for i, c := range conflicts {
		if i == 5 {
			fmt.Fprintf(out, "\nand %d more contradictions.\n", len(conflicts)-i)
			break
		}
		fmt.Fprintf(out, "\nContradiction: %s\n", c)
	}
	for i, b := range bad {
		if i == 5 {
			fmt.Fprintf(out, "\nand %d more unreadable rows.\n", len(bad)-i)
			break
		}
		fmt.Fprintf(out, "\nUnreadable: %s\n", b.Error())
	}
	return set, nil
}

func contradicting(cs []calibrate.Conflict) int {
	n := 0
	for _, c := range cs {
		n += len(c.Places)
	}
	return n
}

const intro = `# Calibration

How close the kernel models of package ` + "`kernel`" + ` come to measurements when package ` + "`calibrate`" + ` fits them. Written by
` + "`go run ./cmd/lab kernels`" + ` from public tables that are not part of the project, with the built-in
kernels (hardware/kernels).

Errors are absolute, in percent of the measured time.

- **before**: mean error of the longer of operations and bytes at 0.8 of the peaks.
- **fitted**: mean error on the rows of the fit (of large tables, an even sample of 9,000).
- **held out**: error on shapes that the fit did not see, a fifth of them at a time: whole (n, k) of products, whole
  (hidden, inner, experts) of expert blocks, whole head configurations of attention, whole sizes of messages and copies. A
  dash: all rows are of one shape.
- **largest**: mean error on the tenth of the rows with the most work, fitted to the other nine tenths.
- **noise**: mean error of the best function that does not fall with size, found for each series of rows on its own
  (rows that differ in m, tokens, context or bytes only). Models that are monotone cannot go under it by much.
- **numbers**: how many were fitted. **left out**: rows faster than the roofline at peak (served from cache, or not what
  they say), contexts under 128, prompts under 64 tokens, linear attention that moves more than 256 MiB in prefill or
  1 GiB in decode, and rows of linear attention, of absorbed products and of products that came from the cache of the chip (below).

What the models do not see: which of several kernels a library picks (steps from one m to the next, where m + 1 can take
much longer than m, or less than m), skewed load of experts, experts spread over ranks (the measured fused kernels then also handle
tokens of other ranks), windows. Fused experts marked "tuned" ran with tiles that SGLang ships for their shape, the others
of that kernel with default ones; experts of one model were measured without a gate, of another with half of them idle, and
are counted so. The tables of products are noisy themselves: those of B200 and GB200, nearly one chip, differ from each
other by 9 to 10% on average, shape by shape, beyond their mean ratio, which leaves 6 to 7% to each.
Exchanges for throughput over 8 nodes are left out: of the 6.5 and 12.5 ms that 4096 tokens take there, 1.0 and 8.0 are
spent notifying the others (0.1 over 4 nodes), which is ranks that wait for each other, and the rest is no faster than 20 GB/s; DeepEP's
authors have 51 and 50 GB/s, 2.1 and 4.2 ms. The level of 4 nodes, counted on with the copies, gives 2.2 and 4.2.
Tables of absorbed products and of linear attention repeat a kernel on the same memory, so that weights and states come
from the cache of the chip where they fit into it (tens of MB), in down to a quarter of the time that memory takes, while
engines find other layers there: rows that take less than the quickest of all and their bytes at peak together are left
out, up to three quarters of a table, and the errors are those of the others. Tables of products time six matrices of a shape in
turn, which the cache holds up to 7 MB each on a Hopper and 16 on a Blackwell: there times of few tokens step up by 1.3 and 2.5 µs.
Smaller ones are left out unless they take less than a fiftieth of the time. Of linear attention on the H200, larger
prompts are noisy, the same shape taking up to three times as long elsewhere in the table.

Tables are checked before they are used. Doubtful is one of which more than a twentieth of the rows compute faster than the
peak of the chip, of which more than a quarter move bytes faster than its memory can, or whose largest rows reach less than a
third of what related kernels (products; attention in prefill; attention in decode) reach on the same chip. Below each table
stand the classes that are kept out of the built-in kernels for that, and those that are taken all the same, with the
reason. So out are latent prefill on Hopper and Ada (the kernel attends to the latent cache itself, 576 + 512 elements wide,
where engines expand keys and values to 192 + 128), and latent decode with an 8-bit cache on Hopper (a fallback that widens
the cache first). Latent prefill is priced as attention with these widths instead; the 8-bit cache by the model of 16 bits
with half the bytes, its operations slower by 660 / 410, the rates that FlashMLA publishes for the two on an H800: estimated.
Expert blocks between the halves of an exchange are those of SGLang's DeepEP layer, of prompts only rows with whole tiles for
every expert and on up to 8 ranks: smaller ones last as long as the host takes to launch a dozen kernels.
`

// fp8Latent adds latent attention with an 8-bit cache on Hopper, for which no table has the kernel
// that engines run: half the bytes at 16-bit efficiency, and operations slowed as FlashMLA's rates
// on an H800 are (github.com/deepseek-ai/FlashMLA, README), from 660 TFLOP/s with a 16-bit cache to
// 410 with 8.
func fp8Latent(set *kernel.Set) {
	wide := set.LatentDecode["bfloat16"]
	if wide == nil || set.LatentDecode["float8"] != nil {
		return
	}
	narrow := *wide
	narrow.Compute.Slowdown = slices.Clone(wide.Compute.Slowdown)
	for i, v := range narrow.Compute.Slowdown {
		narrow.Compute.Slowdown[i] = calibrate.Digits(v * 660 / 410)
	}
	set.Put(kernel.LatentDecode, "float8", &narrow, -1)
	set.By(kernel.LatentDecode, "float8", set.SoftwareOf("latent_decode", "bfloat16"))
	if set.From == nil {
		set.From = map[string]string{}
	}
	set.From["latent_decode.float8"] = set.MeasuredOn("latent_decode", "bfloat16") + ", a cache of 16 bits"
}
