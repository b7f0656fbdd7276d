package engine

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"throughline/deploy"
	"throughline/hardware"
	"throughline/model"
	"throughline/plan"
)

// TestAttentionData: defaults are backends that run such attention there, generations are those of
// built-in chips, and no backend is without a kind of attention.
func TestAttentionData(t *testing.T) {
	known := []string{anyChip}
	for _, name := range hardware.Catalogue.Names() {
		known = append(known, on(t, name).Generation)
	}
	engines := append(slices.Clone(engines), Generic)
	for _, e := range engines {
		for version := range e.Attention.Versions {
			was, err := Find(e.Name + "@" + version)
			if err != nil {
				t.Error(err)
				continue
			}
			engines = append(engines, was)
		}
	}
	for _, e := range engines {
		for name, b := range e.Attention.Backends {
			if len(b.Grouped)+len(b.Latent) == 0 || len(b.Prefill)+len(b.Decode) == 0 {
				t.Errorf("%s: %s runs nothing", e.Name, name)
			}
			for _, g := range slices.Concat(b.Grouped, b.Latent) {
				if !slices.Contains(known, g) {
					t.Errorf("%s: %s: no generation %s", e.Name, name, g)
				}
			}
		}
		for _, d := range e.Attention.Defaults {
			for _, g := range d.Chips {
				for _, latent := range []bool{false, true} {
					name := map[bool]string{false: d.Grouped, true: d.Latent}[latent]
					b, ok := e.Attention.Backends[name]
					if on := b.on(latent); !ok || !slices.Contains(known, g) || !slices.Contains(on, g) && !slices.Contains(on, anyChip) {
						t.Errorf("%s: %s by default on %s, where it has %v", e.Name, name, g, on)
					}
				}
			}
		}
	}
}

// on is the built-in system of a name.
func on(t *testing.T, name string) *hardware.System {
	t.Helper()
	src, _ := hardware.Catalogue.Find(name)
	s, doc := hardware.Read(name, src)
	if err := doc.Err(); err != nil {
		t.Fatal(err)
	}
	return s
}

// attending is a deployment of latent or grouped attention on a chip, told a backend.
func attending(t *testing.T, chip string, latent bool, told deploy.ServerOptions) deploy.Deployment {
	d := exchanging(8, 8)
	shape := *d.Model
	if !latent {
		shape.Attention.Kind = model.MultiHead
	}
	d.Model, d.ServerOptions = &shape, told
	d.Pools[0].System = on(t, chip)
	return d
}

// TestAttentionNames: the engine's own names in any case of letters, and those that all engines
// share, by the kind of attention.
func TestAttentionNames(t *testing.T) {
	for _, c := range []struct {
		engine, name string
		latent       bool
		want         string
	}{
		{"sglang", "fa3", true, "fa3"}, {"sglang", "FA3", false, "fa3"}, {"sglang", "trtllm-gen", true, "trtllm_mla"}, {"sglang", "trtllm-gen", false, "trtllm_mha"},
		{"vllm", "fa3", true, "FLASH_ATTN_MLA"}, {"vllm", "fa3", false, "FLASH_ATTN"}, {"vllm", "flashinfer", true, "FLASHINFER_MLA"}, {"vllm", "flashinfer", false, "FLASHINFER"},
		{"vllm", "triton", true, "TRITON_MLA"}, {"trtllm", "flashinfer", false, "FLASHINFER"}, {"trtllm", "trtllm-gen", true, "TRTLLM"}, {"vllm", "trtllm_mha", false, ""},
	} {
		if got, _ := find(t, c.engine).Attention.find(c.name, c.latent); got != c.want {
			t.Errorf("%s %s, latent %v: %q, want %q", c.engine, c.name, c.latent, got, c.want)
		}
	}
}

// TestAsks: what a server is told is asked for, by default what the engine takes where it was
// measured besides; telling it what it takes anyway changes nothing.
func TestAsks(t *testing.T) {
	for _, c := range []struct {
		engine, chip    string
		latent          bool
		told            deploy.ServerOptions
		prefill, decode string
	}{
		{"sglang", "H200", false, deploy.ServerOptions{}, "?fa3", "?fa3"}, // beside PyTorch's kernels
		{"sglang", "H200", false, deploy.ServerOptions{Attention: "fa3"}, "?fa3", "?fa3"},
		{"vllm", "H200", false, deploy.ServerOptions{Attention: "FLASH_ATTN"}, "?fa3", "?fa3"},
		{"trtllm", "H200", false, deploy.ServerOptions{}, "", ""},
		{"trtllm", "H200", false, deploy.ServerOptions{Attention: "TRTLLM"}, "", ""},
		{"sglang", "H100_SXM", false, deploy.ServerOptions{}, "", ""}, // is what was measured
		{"sglang", "H20_96G", false, deploy.ServerOptions{}, "", ""},  // other chips' kernels are no better than its own
		{"sglang", "B200", true, deploy.ServerOptions{Attention: "triton"}, "triton", "triton"},
		{"sglang", "B200", true, deploy.ServerOptions{Attention: "flashinfer", DecodeAttention: "cutlass_mla"}, "flashinfer", "cutlass_mla"},
		{"vllm", "B200", true, deploy.ServerOptions{Attention: "TRITON_MLA"}, "", "triton"},
		{"vllm", "B200", false, deploy.ServerOptions{Attention: "FLASHINFER"}, "", ""},
		{"vllm", "B200", false, deploy.ServerOptions{Attention: "FLASH_ATTN"}, "fa3", "fa3"},
		{"none", "B200", false, deploy.ServerOptions{Attention: "flashinfer"}, "flashinfer", "flashinfer"},
		{"sglang@0.4", "B200", false, deploy.ServerOptions{}, "?flashinfer", "?flashinfer"},
		{"sglang", "MI300X", false, deploy.ServerOptions{}, "", ""},
		{"sglang", "MI300X", false, deploy.ServerOptions{Attention: "aiter"}, "aiter", "aiter"}, // its kernels are fa3 of an H200
		{"vllm", "MI300X", false, deploy.ServerOptions{Attention: "aiter"}, "aiter", "aiter"},
		{"vllm", "MI300X", false, deploy.ServerOptions{}, "", ""},
		{"sglang", "RTX_4090", false, deploy.ServerOptions{Attention: "flashinfer"}, "", ""}, // those of an L40S, where it takes the same
	} {
		d := attending(t, c.chip, c.latent, c.told)
		got := find(t, c.engine).Apply(d).Precision
		if got.PrefillBy != c.prefill || got.DecodeBy != c.decode {
			t.Errorf("%s on %s, told %+v: %q and %q, want %q and %q", c.engine, c.chip, c.told, got.PrefillBy, got.DecodeBy, c.prefill, c.decode)
		}
	}
	d := attending(t, "H200", false, deploy.ServerOptions{Attention: "triton"})
	assumed := *d.Assume
	assumed.Engine = false
	d.Assume = &assumed
	if got := find(t, "sglang").Apply(d).Precision; got.DecodeBy != "" {
		t.Error("a backend without an engine:", got.DecodeBy)
	}
}

// TestRefusesAttention: backends that an engine does not have, or not for such attention, or not on
// the chip.
func TestRefusesAttention(t *testing.T) {
	for _, c := range []struct {
		engine, chip string
		latent       bool
		told         deploy.ServerOptions
		why          string
	}{
		{"sglang", "H200", false, deploy.ServerOptions{Attention: "flashinfr"}, `has no such attention backend: "flashinfr" is not one of "aiter"`},
		{"sglang", "H200", false, deploy.ServerOptions{Attention: "FLASH_ATTN"}, "has no such attention backend"},
		{"sglang", "H200", false, deploy.ServerOptions{Attention: "trtllm_mla"}, "trtllm_mla of SGLang is not for grouped attention"},
		{"sglang", "H200", true, deploy.ServerOptions{DecodeAttention: "cutlass_mla"}, "runs latent attention on Blackwell, not on H200 (Hopper); there it has dsa, fa3, fa4, flashinfer, flashmla"},
		{"sglang", "B200", false, deploy.ServerOptions{Attention: "fa3"}, "runs grouped attention on Ampere, Ada, Hopper, not on B200"},
		{"sglang@0.4", "B200", true, deploy.ServerOptions{Attention: "trtllm_mla"}, "has no such attention backend"},
		{"vllm", "B200", false, deploy.ServerOptions{PrefillAttention: "FLASHINFER"}, "has no option prefill-attention-backend"},
		{"vllm", "H200", false, deploy.ServerOptions{Attention: "fa3", PrefillAttention: "fa3"}, "has no option prefill-attention-backend"}, // in either case of letters
		{"vllm", "H200", false, deploy.ServerOptions{Attention: "fa3", PrefillAttention: "FA3"}, "has no option prefill-attention-backend"},
		{"trtllm", "B200", true, deploy.ServerOptions{Attention: "FLASHINFER"}, "not for latent attention"},
		{"none", "B200", true, deploy.ServerOptions{Attention: "aiter"}, "has no such attention backend"},
		{"sglang", "B200", true, deploy.ServerOptions{Attention: "flashinfer"}, ""},
		{"none", "B200", true, deploy.ServerOptions{Attention: "trtllm-gen"}, ""},
		{"vllm", "SOW-S1", false, deploy.ServerOptions{Attention: "FLASHINFER"}, ""}, // of no generation that is known
	} {
		d := attending(t, c.chip, c.latent, c.told)
		e := find(t, c.engine)
		why := strings.Join(e.refusedAttention(shape(&d, &d.Pools[0]), d.Pools[0].System), "; ")
		if (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s on %s, told %+v: %q, want %q", c.engine, c.chip, c.told, why, c.why)
		}
		if refused := strings.Contains(strings.Join(e.Refuses(&d, &d.Pools[0]), "; "), "attention"); c.why != "" && !refused {
			t.Errorf("%s on %s runs %+v", c.engine, c.chip, c.told)
		}
	}
}

// TestAttentionIsLaunched: under the engine's own option and name.
func TestAttentionIsLaunched(t *testing.T) {
	for _, c := range []struct {
		engine string
		latent bool
		told   deploy.ServerOptions
		words  string
	}{
		{"sglang", true, deploy.ServerOptions{Attention: "trtllm-gen"}, "--attention-backend trtllm_mla"},
		{"sglang", true, deploy.ServerOptions{PrefillAttention: "fa3", DecodeAttention: "flashmla"}, "--prefill-attention-backend fa3 --decode-attention-backend flashmla"},
		{"vllm", false, deploy.ServerOptions{Attention: "fa3"}, "--attention-backend FLASH_ATTN"},
		{"trtllm", false, deploy.ServerOptions{Attention: "flashinfer"}, "attn_backend: FLASHINFER"},
	} {
		d := attending(t, "H200", c.latent, c.told)
		l := find(t, c.engine).Launch(&d, &d.Pools[0])
		if text := strings.Join(strings.Fields(strings.ReplaceAll(strings.Join(l.Commands, " ")+" "+l.Config, "\\", " ")), " "); !strings.Contains(text, c.words) {
			t.Errorf("%s: no %q in\n%s", c.engine, c.words, text)
		}
	}
}

// attentionTable is the backends of the engines for the documentation.
func attentionTable() string {
	var b strings.Builder
	b.WriteString("| engine | backend | shared name | kernels of prefill | of decode | grouped attention on | latent attention on | pages | |\n|---|---|---|---|---|---|---|---|---|\n")
	list := func(words []string) string { return strings.Join(words, ", ") }
	for _, e := range engines {
		for _, name := range e.AttentionNames() {
			a := e.Attention.Backends[name]
			fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s | %s | %s | %s | %s |\n", e.Title, name, a.Family, list(a.Prefill), list(a.Decode), list(a.Grouped), list(a.Latent),
				strings.Trim(fmt.Sprint(a.Pages), "[]"), a.Source)
		}
	}
	return b.String()
}

// attentionDefaults is what the engines take unless they are told.
func attentionDefaults() string {
	var b strings.Builder
	b.WriteString("| engine | chips | grouped attention | latent attention | source |\n|---|---|---|---|---|\n")
	row := func(title string, a *Attention) {
		for _, d := range a.Defaults {
			fmt.Fprintf(&b, "| %s | %s | `%s` | `%s` | %s |\n", title, strings.Join(d.Chips, ", "), d.Grouped, d.Latent, a.Source)
		}
	}
	for _, e := range engines {
		row(e.Title, &e.Attention)
		for _, version := range slices.Sorted(maps.Keys(e.Attention.Versions)) {
			was := e.Attention.at(version)
			row(e.Title+" "+version, &was)
		}
	}
	return b.String()
}

// TestSectionsOfConfig: the keys of a section of a configuration stand together, since a second one
// of the same name takes the place of the first when it is read.
func TestSectionsOfConfig(t *testing.T) {
	for _, e := range engines {
		closed := map[string]bool{}
		last := ""
		for _, a := range e.config {
			section, _, _ := strings.Cut(a.option, ".")
			if section != last {
				if closed[section] {
					t.Errorf("%s: %s begins again at %s", e.Name, section, a.option)
				}
				closed[last] = true
				last = section
			}
		}
	}
}

// TestGenerationOfCopies: a copy of a chip's file under another name, or with other numbers, has
// the backends of that chip. A file that does not say its generation has that of the built-in chip
// of its name, or of the one with the same peaks that its kernels are of.
func TestGenerationOfCopies(t *testing.T) {
	says := regexp.MustCompile(`"generation": "[^"]*",`)
	for name, want := range map[string]string{"H200": "Hopper", "B200": "Blackwell", "MI300X": "CDNA 3", "Ascend_910B": "Ascend", "TPU_v5p": "TPU v5"} {
		src, _ := hardware.Catalogue.Find(name)
		read := func(change func(string) string) *hardware.System {
			s, doc := hardware.Read("copy.json", []byte(change(string(src))))
			if err := doc.Err(); err != nil {
				t.Fatal(err)
			}
			return s
		}
		renamed := func(text string) string { return strings.Replace(text, `"name": "`+name+`"`, `"name": "copy"`, 1) }
		edited := func(text string) string { return strings.Replace(renamed(text), `"GBps": `, `"GBps": 1`, 1) }
		silent := func(text string) string { return says.ReplaceAllString(text, "") }
		was := on(t, name)
		for what, s := range map[string]*hardware.System{"renamed": read(renamed), "edited": read(edited), "silent": read(silent)} {
			if s.Generation != want || what == "edited" && s.Memory.GBps == was.Memory.GBps {
				t.Errorf("%s %s is of the generation %q, want %q", name, what, s.Generation, want)
			}
			for _, e := range engines {
				for _, latent := range []bool{false, true} {
					if got, own := e.Attention.usual(latent, s), e.Attention.usual(latent, was); got != own {
						t.Errorf("%s: %s on %s %s, %s on the original", e.Name, got, name, what, own)
					}
				}
			}
		}
		kept := want
		if was.Kernels == nil || !was.Has(was.Kernels) {
			kept = ""
		}
		if s := read(func(text string) string { return silent(renamed(text)) }); s.Generation != kept {
			t.Errorf("%s under another name, which does not say its generation: %q, want %q", name, s.Generation, kept)
		}
		if s := read(func(text string) string { return silent(edited(text)) }); s.Generation != "" {
			t.Errorf("%s with other peaks under another name, which does not say its generation: %q", name, s.Generation)
		}
	}
}

// TestJoinedTile: vLLM's FlashAttention 2 takes decodes beside prompts as tiles of 64 queries; 3 of
// Hopper, models with attention sinks, which have another backend, and other backends do not. The
// chunks of Llama 4 are decoded head by head by TensorRT-LLM before Blackwell.
func TestJoinedTile(t *testing.T) {
	for _, c := range []struct {
		engine, model, chip, backend string
		want                         int
	}{
		{"vllm", "Qwen3-14B", "Ampere", "", 64},
		{"vllm@0.11.0", "Qwen3-14B", "Ada", "", 64},
		{"vllm", "Qwen3-14B", "Ampere", "FLASHINFER", 0},
		{"vllm", "Qwen3-14B", "Hopper", "", 0},
		{"vllm", "Qwen3-14B", "", "", 0},
		{"vllm", "gpt-oss-20b", "Ampere", "", 0},
		{"sglang", "Qwen3-14B", "Ampere", "", 0},
	} {
		shape := *llama
		shape.Name = c.model
		d, pool := (&served{Shape: &shape, Precision: bf16, Instances: 1, GPUsPerNode: 8, Plan: plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 1}}}}).parts()
		pool.System = &hardware.System{Generation: c.chip}
		d.ServerOptions.Attention = c.backend
		if got := find(t, c.engine).Behaviour(d, pool).JoinedTile; got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	for _, c := range []struct {
		engine, model, chip string
		want                bool
	}{
		{"trtllm", "Llama-4-Maverick-17B-128E", "Hopper", true},
		{"trtllm", "Llama-4-Maverick-17B-128E", "Blackwell", false},
		{"trtllm", "Gemma-3-27B", "Hopper", false},
		{"vllm", "Llama-4-Maverick-17B-128E", "Hopper", false},
	} {
		shape := *llama
		shape.Name = c.model
		d, pool := (&served{Shape: &shape, Precision: bf16, Instances: 1, GPUsPerNode: 8, Plan: plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 1}}}}).parts()
		pool.System = &hardware.System{Generation: c.chip}
		if got := find(t, c.engine).Behaviour(d, pool).WindowApart; got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	for version, want := range map[string]bool{"vllm@0.17.1": true, "vllm@0.22.1": true, "vllm@0.23": false, "vllm": false} {
		if got := find(t, version).Scheduling.JoinedStates; got != want {
			t.Errorf("%s joins states: %v", version, got)
		}
	}
}
