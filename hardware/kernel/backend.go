package kernel

import (
	"slices"
	"strings"
)

// Engines have several attention kernels, which a server can be configured to choose from. A set
// keeps the default one under its number type, and others under number type and software.

// by separates a number type from the name of other software.
const by = "@"

// KeyBy is the key of a model measured with other software.
func KeyBy(key, software string) string { return key + by + software }

// PlainKey is a key without the software.
func PlainKey(key string) string {
	plain, _, _ := strings.Cut(key, by)
	return plain
}

// Backends is the attention software a server is configured to use: kernel names, best first,
// separated by bars. Empty: the engine's default.
type Backends string

// IfMeasured marks software that is not requested, but used where it was measured.
const IfMeasured = "?"

func (a Backends) Names() []string {
	return strings.Split(strings.TrimPrefix(string(a), IfMeasured), "|")
}

// wish reports whether another kernel stands in where the software was not measured.
func (a Backends) wish() bool { return a != "" && !strings.HasPrefix(string(a), IfMeasured) }

// alike is the software whose kernels treat latent attention as any other: in prefill, with
// expanded keys and values, and in decode, with one KV head (sgl-project/sglang at cce0a124,
// python/sglang/kernels/ops/attention/decode_attention.py: one kernel, with tiles for widths of 576
// and 288 among others).
var alike = map[string]bool{"triton": true}

// alikeInPrefill does so in prefill: the same kernel for widths of 192 and 128.
var alikeInPrefill = map[string]bool{"triton": true, "fa3": true}

// treatsAlike reports whether the software's kernels for other attention also serve latent one.
func (a Backends) treatsAlike(in map[string]bool) bool {
	return a.wish() && slices.ContainsFunc(a.Names(), func(name string) bool { return in[name] })
}

// blockHeads is the most heads that share a read of the cache in such a kernel (_GROUPED_BLOCK_H).
const blockHeads = 16

// LatentBy prices latent decode attention by a kernel of other attention. Its error was measured on
// an L40S, which has both: docs/calibration.md, "Attention by backend".
func LatentBy(t Timing) Timing { return blocks{t} }

// blocks groups heads into blocks, each of which reads the keys and values for itself.
type blocks struct{ Timing }

func (b blocks) Seconds(p *Pace, s *Shape) float64 { return b.Timing.Seconds(p, inBlocks(s)) }

func (b blocks) Beyond(s *Shape) bool { return b.Timing.Beyond(inBlocks(s)) }

func inBlocks(s *Shape) *Shape {
	out := *s
	if n := (s.Heads + blockHeads - 1) / blockHeads; n > s.KVHeads {
		out.Moved *= float64(n) / float64(s.KVHeads)
		out.KVHeads = n
	}
	return &out
}

// backed returns the keys of the requested software's models or, with false, the default ones.
func backed(in *section, s *Set, keys []string, backends Backends) ([]string, bool) {
	if backends == "" || len(keys) == 0 {
		return keys, true
	}
	var out []string
	for _, key := range keys {
		for _, name := range backends.Names() {
			if s.Software[in.key+"."+key] == name {
				out = append(out, key)
				break
			}
			if by := KeyBy(key, name); in.get(s, by) != nil && (backends.wish() || s.MeasuredOn(in.key, by) == s.System) {
				out = append(out, by)
				break
			}
		}
	}
	if len(out) == 0 {
		return keys, false
	}
	return out, true
}

// Differs reports whether a set has kernels of the requested software other than the default.
func (s *Set) Differs(backends Backends, prefill bool) bool {
	slots := [...]*slot{&decodeSlot, &latentDecodeSlot}
	if prefill {
		slots = [...]*slot{&prefillSlot, &latentPrefillSlot}
	}
	for _, r := range slots {
		for _, key := range r.section.keys(s) {
			if PlainKey(key) != key {
				continue
			}
			if own, found := backed(r.section, s, []string{key}, backends); found && own[0] != key {
				return true
			}
		}
	}
	return false
}

// StandIn is an attention kernel that is priced as another than the requested one.
type StandIn struct {
	Of       string // attention in words
	Backends Backends
	By       string // software of the kernel that stands in; empty: not named
	// Stretched: the requested kernel, measured with other heads.
	Stretched bool
	None      bool // no kernel of the kind is calibrated
}

// StandIns are those of a deployment, latent or not.
func (s *Set) StandIns(t Types, latent bool) (out []StandIn) {
	slots := [...]Slot{Prefill, Decode}
	if latent {
		slots = [...]Slot{LatentPrefill, LatentDecode}
	}
	b := s.Bind(t)
	for i, slot := range slots {
		backends := [...]Backends{t.PrefillBy, t.DecodeBy}[i]
		if !backends.wish() {
			continue
		}
		k := &b.slots[slot]
		if slot == LatentPrefill && k.timing[Full] == nil {
			k = &b.slots[Prefill]
		}
		if k.timing[Full] == nil {
			out = append(out, StandIn{Of: table[slot].of, Backends: backends, None: true})
		} else if k.StandsIn || k.Stretched {
			out = append(out, StandIn{Of: table[slot].name, Backends: backends, By: s.SoftwareOf(k.Section, k.Key), Stretched: k.Stretched})
		}
	}
	return out
}

// SoftwareOf is the software that a section's model was measured with; empty if unknown.
func (s *Set) SoftwareOf(section, key string) string {
	if _, name, ok := strings.Cut(key, by); ok {
		return name
	}
	return s.Software[section+"."+key]
}
