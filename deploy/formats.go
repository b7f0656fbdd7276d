package deploy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"throughline/hardware"
	"throughline/internal/document"
	"throughline/model"
	"throughline/number"
	"throughline/plan"
)

// Formats are number formats by name; empty ones follow from the model and the others.
type Formats struct {
	Weights, Activations, Cache, Comm, Attention, Vector string
	Dispatch, Combine                                    string // of tokens sent to experts and back
}

type Stored struct {
	Format    string `json:"format"`           // "fp8_block", "mxfp4 experts, rest bf16"
	Published bool   `json:"published"`        // as the model is published
	Why       string `json:"reason,omitempty"` // it is not, though no other format was requested
}

func (s Stored) String() string {
	switch {
	case s.Published && s.Format != number.Half: // 16 bits go without saying
		return s.Format + " as published"
	case s.Why != "":
		return s.Format + " (" + s.Why + ")"
	}
	return s.Format
}

// Resolve turns formats into the bytes and rates of a model on systems, or reports all problems.
// Weights are as published if all systems compute in that, else in 16 bits. A requested format
// applies to all products, or only to the experts where its checkpoints do so; the ends of the
// model, and latent attention with four-bit formats, stay in 16 bits. Activations are what the
// systems multiply such weights with; the cache is left to the engine unless given or published.
// Communication, attention and the vector unit take two bytes, as in engines.
func (f Formats) Resolve(m *model.Model, systems ...*hardware.System) (plan.Precision, Stored, error) {
	r := resolver{systems: systems}
	weights, stored := r.weights(f.Weights, m)
	if f.Activations != "" {
		r.find("activations", f.Activations)
	}
	attention, vector := r.find("attention", cmp.Or(f.Attention, number.Half)), r.find("vector", cmp.Or(f.Vector, number.Half))
	p := plan.Precision{Comm: r.find("comm", cmp.Or(f.Comm, number.Half)).Bytes}
	p.Dispatch, p.Combine = r.exchanged("dispatch", f.Dispatch), r.exchanged("combine", f.Combine)
	if name := cmp.Or(f.Cache, m.Formats.Cache); name != "" {
		p.Cache = r.find("cache", name).Bytes
	}
	if len(r.problems) > 0 {
		return p, stored, document.Join(r.problems...)
	}
	for module, w := range weights {
		x := r.product(w, f.Activations)
		switch {
		case module == 0:
			p.Weight, p.Activation, p.MatrixType, p.Stored = x.Weight, x.Activation, x.Type, x.Stored
		case x != p.Of(0):
			p.Modules[module] = x
		}
	}
	p.Residual = max(2, p.Activation)
	narrow := slices.MinFunc(weights[:], func(a, b *number.Format) int { return cmp.Compare(a.Bytes, b.Bytes) })
	if p.Name = narrow.Engine; narrow.Bytes == 1 && p.MatrixType == "int8" {
		p.Name = "int8"
	}
	p.AttentionType = r.rate("attention", attention, "matrix", (*hardware.System).MatrixTypes)
	p.VectorType = r.rate("vector", vector, "vector", (*hardware.System).VectorTypes)
	return p, stored, document.Join(r.problems...)
}

// resolver collects the problems of formats.
type resolver struct {
	systems  []*hardware.System
	problems []error
}

func (r *resolver) find(setting, name string) *number.Format {
	if f, ok := number.Find(name); ok {
		return f
	}
	words := number.ElementWords()
	if setting == "weights" {
		words = number.Words()
	}
	r.problems = append(r.problems, wrong(setting, document.NotOneOf(name, words)))
	return &number.Format{}
}

// meant is the weight format of a name. A kind that is no format itself, such as fp4, means the
// first of its formats that all systems multiply: NVFP4 on Blackwell, MXFP4 on CDNA 4.
func (r *resolver) meant(name string) *number.Format {
	f := r.find("weights", name)
	if f.Kind != name || f.Name == name {
		return f
	}
	for i := range number.Formats {
		if own := &number.Formats[i]; own.Kind == name && r.input(own) != nil {
			return own
		}
	}
	return f
}

// exchanged is the bytes of an element sent to experts or back; 0 by default.
func (r *resolver) exchanged(setting, name string) float64 {
	if name == "" {
		return 0
	}
	return scaled(r.find(setting, name).Bytes)
}

// ExchangedBytes is the bytes of an element sent to experts or back; 0 without a format.
func ExchangedBytes(setting, name string) (float64, error) {
	var r resolver
	n := r.exchanged(setting, name)
	return n, document.Join(r.problems...)
}

// scaled is the bytes of a sent element: below 16 bits with a scale of four bytes per 128.
func scaled(bytes float64) float64 {
	if bytes > 0 && bytes < 2 {
		return bytes + plan.LibraryDispatch - 1
	}
	return bytes
}

func wrong(setting, message string) error {
	return &document.Error{Problems: []document.Problem{{Path: setting, Message: message}}}
}

func (r *resolver) weights(requested string, m *model.Model) (out [model.ModuleCount]*number.Format, stored Stored) {
	for module := range model.ModuleCount {
		out[module] = m.Formats.Of(module)
	}
	published, _ := m.Narrowest()
	if requested == "" {
		return r.asPublished(out, m)
	}
	f := r.meant(requested)
	if f.Kind == number.GGUF {
		return r.file(f, m)
	}
	if f.Name == published.Name || slices.Contains([]string{requested, f.Name}, published.Kind) {
		return out, Stored{Format: m.DescribeFormats(), Published: true}
	}
	for module := range out {
		if module == int(model.ExpertModule) || f.BesideExperts == "" || !m.IsMoE() {
			out[module] = f
		} else if rest := r.find("weights", f.BesideExperts); int(out[module].Bytes) != int(rest.Bytes) || r.cannot(out[module]) != "" {
			out[module] = rest
		}
	}
	if half, _ := number.Find(number.Half); f.Bytes < 2 && r.typeOf(half, (*hardware.System).MatrixTypes) != "" {
		out[model.EndModule] = half
		if f.Kind == "fp4" && (m.Attention.Kind == model.Latent || m.IsMoE()) {
			// As in NVIDIA's checkpoints of expert models: in DeepSeek-R1-0528-FP4,
			// MiniMax-M2.5-NVFP4 and GLM-4.7-NVFP4 all of self_attn is BF16 (exclude_modules of
			// hf_quant_config.json), feed-forward blocks and experts NVFP4.
			out[model.AttentionModule] = half
		}
	}
	return out, Stored{Format: describe(f, &out, m)}
}

// asPublished are the formats of a checkpoint, or half precision where a chip lacks one of them.
func (r *resolver) asPublished(out [model.ModuleCount]*number.Format, m *model.Model) ([model.ModuleCount]*number.Format, Stored) {
	stored := Stored{Format: m.DescribeFormats(), Published: true}
	for module := range out {
		if lacks := r.cannot(out[module]); lacks != "" {
			half, _ := number.Find(number.Half)
			for i := range out {
				out[i] = half
			}
			return out, Stored{Format: half.Name, Why: fmt.Sprintf("published in %s, which %s does not compute", stored.Format, lacks)}
		}
	}
	return out, stored
}

// file is the formats of the modules in a GGUF file, each the mean of its tensors. The ends have
// that of the output projection, since the embedding stays with the host.
func (r *resolver) file(f *number.Format, m *model.Model) (out [model.ModuleCount]*number.Format, stored Stored) {
	values, outputs := m.AttentionShares()
	down := m.DownShare()
	shares := [model.ModuleCount]map[number.Tensor]float64{
		model.AttentionModule:   {number.ValueTensor: values, number.ProjectionTensor: outputs},
		model.FeedForwardModule: {number.DownTensor: down},
		model.ExpertModule:      {number.DownTensor: down},
		model.SharedModule:      {number.DownTensor: down},
		model.EndModule:         {number.HeadTensor: 1},
	}
	for module, tensors := range shares {
		base := f
		if f.BesideExperts != "" && module != int(model.ExpertModule) {
			base = r.find("weights", f.BesideExperts)
		}
		mixed := *base
		for tensor, share := range tensors {
			mixed.Bytes += share * (r.bytesOf(tensor, base, m) - base.Bytes)
		}
		out[module] = &mixed
	}
	return out, Stored{Format: describe(f, &out, m)}
}

// bytesOf is the mean bytes of an element of a kind of tensor over the layers of a GGUF file.
func (r *resolver) bytesOf(tensor number.Tensor, f *number.Format, m *model.Model) float64 {
	least := 0.0
	if tensor == number.ValueTensor && m.Layers == layersOf70B {
		least = r.find("weights", "q5_k_s").Bytes
	}
	bytes := max(least, f.Bytes)
	for i := range f.Mixture {
		x := &f.Mixture[i]
		if x.Tensor != tensor || x.Shared && m.Attention.KVHeads*4 > m.Attention.Heads {
			continue
		}
		bytes += x.In(m.Layers) * (max(least, r.find("weights", x.Format).Bytes) - bytes)
	}
	return bytes
}

// layersOf70B are those by which llama.cpp takes a model for the 70B of its family, whose values it
// gives five bits at least (LLM_TYPE_70B in src/llama-quant.cpp).
const layersOf70B = 80

// FileBytes is the size of a GGUF file of a model: its modules, the embedding in the base format
// unless it is the output projection, and routers and norms in 32 bits.
func FileBytes(format string, m *model.Model) float64 {
	var r resolver
	f := r.find("weights", format)
	modules, _ := r.file(f, m)
	params := m.ModuleParams()
	params[model.EndModule] -= m.EmbeddingParams()
	const full = 4 // bytes of what is not quantised
	total := m.EmbeddingParams() * modules[model.EndModule].Bytes
	if !m.Tied {
		params[model.EndModule] -= m.EmbeddingParams()
		base := f
		if f.BesideExperts != "" {
			base = r.find("weights", f.BesideExperts)
		}
		total += m.EmbeddingParams() * base.Bytes
	}
	for module, n := range params {
		if module == int(model.EndModule) {
			total += full * n
		} else {
			total += n * modules[module].Bytes
		}
	}
	return total
}

// describe names a requested format of weights.
func describe(f *number.Format, modules *[model.ModuleCount]*number.Format, m *model.Model) string {
	if f.BesideExperts == "" || !m.IsMoE() {
		return f.Name
	}
	return f.Name + " experts, rest " + modules[model.AttentionModule].Name
}

// cannot names a system that neither multiplies weights of a format nor unpacks them to 16 bits.
func (r *resolver) cannot(f *number.Format) string {
	if f.Bytes >= 2 || f.Integer || r.input(f) != nil {
		return ""
	}
	for _, s := range r.systems {
		if s.Type != "gpu" {
			return s.Name
		}
	}
	return ""
}

// input is the activation format that all systems multiply weights of a format with; nil if none.
func (r *resolver) input(f *number.Format) *number.Format {
	for _, in := range f.Inputs {
		if !slices.ContainsFunc(r.systems, func(s *hardware.System) bool { return !s.Computes(in.Needs) }) {
			out, _ := number.Find(in.Format)
			return out
		}
	}
	return nil
}

// product is how weights are multiplied: with requested, native or 16-bit activations.
func (r *resolver) product(w *number.Format, requested string) plan.Product {
	in := r.input(w)
	switch {
	case requested != "":
		in, _ = number.Find(requested)
	case in == nil && w.Bytes >= 2:
		in = w
	case in == nil:
		in, _ = number.Find(number.Half)
	}
	out := plan.Product{Weight: w.Bytes, Activation: in.Bytes, Type: r.rate("activations", in, "matrix", (*hardware.System).MatrixTypes)}
	if w.Bytes < 1 && w.Stored != out.Type {
		out.Stored = w.Stored
	}
	return out
}

// typeOf is the number type of a format on all systems; empty if there is none.
func (r *resolver) typeOf(f *number.Format, types func(*hardware.System) []string) string {
	for _, t := range f.Types {
		if !slices.ContainsFunc(r.systems, func(s *hardware.System) bool { return !slices.Contains(types(s), t) }) {
			return t
		}
	}
	return ""
}

// rate is that number type, or a problem.
func (r *resolver) rate(setting string, f *number.Format, unit string, types func(*hardware.System) []string) string {
	if t := r.typeOf(f, types); t != "" {
		return t
	}
	var have []string
	for _, s := range r.systems {
		have = append(have, fmt.Sprintf("%s has %s", s.Name, document.QuoteList(types(s))))
	}
	err := wrong(setting, fmt.Sprintf("no %s rate for %s; %s", unit, f.Name, strings.Join(slices.Compact(have), ", ")))
	if !slices.ContainsFunc(r.problems, func(e error) bool { return e.Error() == err.Error() }) {
		r.problems = append(r.problems, err)
	}
	return ""
}
