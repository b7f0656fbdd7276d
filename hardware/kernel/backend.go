package kernel

import (
	"slices"
	"strings"
)

// Attention is the one kind of kernels of which engines have several, which a server may be told to choose from. What was
// measured of each has the name of its software: a set holds the one that engines run unless they are told under the number
// type, and others under the number type and their name.

// by is what stands between a number type and the name of other software.
const by = "@"

// KeyBy is the key of a model that other software was measured as.
func KeyBy(key, software string) string { return key + by + software }

// PlainKey is a key without the software.
func PlainKey(key string) string {
	plain, _, _ := strings.Cut(key, by)
	return plain
}

// Asked is the software of attention that a server is told to take: names of kernels, the best of them first, with bars
// between. Empty: what engines take by themselves.
type Asked string

// IfMeasured stands before software that is not asked for, but taken where it was measured.
const IfMeasured = "?"

// Names are those of the software.
func (a Asked) Names() []string {
	return strings.Split(strings.TrimPrefix(string(a), IfMeasured), "|")
}

// wish reports whether another kernel stands in where the software was not measured.
func (a Asked) wish() bool { return a != "" && !strings.HasPrefix(string(a), IfMeasured) }

// alike is the software whose kernels treat latent attention as any other: in prefill, where its keys and values are expanded,
// and in decode, where it has one head of keys and values (sgl-project/sglang at cce0a124,
// python/sglang/kernels/ops/attention/decode_attention.py: one kernel for all, tiles for widths of 576 and 288 among others).
var alike = map[string]bool{"triton": true}

// alikeInPrefill is that of which only prefill is: the same kernel for widths of 192 and 128.
var alikeInPrefill = map[string]bool{"triton": true, "fa3": true}

// treatsAlike reports whether kernels of the asked software for other attention are those for latent attention.
func (a Asked) treatsAlike(in map[string]bool) bool {
	return a.wish() && slices.ContainsFunc(a.Names(), func(name string) bool { return in[name] })
}

// blockHeads is the heads that a program of such a kernel computes at most: the cache is read once for so many (_GROUPED_BLOCK_H).
const blockHeads = 16

// LatentBy is the kernel of latent attention in decode that one of other attention is. How far off it is was measured on an L40S,
// which has both: docs/calibration.md, "Attention by backend".
func LatentBy(t Timing) Timing { return blocks{t} }

// blocks is heads in blocks, each of which reads the keys and values for itself.
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

// backed is the keys of the models of the asked software in place of those for a number type; the latter, and false, where it
// was not measured.
func backed(in *section, s *Set, keys []string, asked Asked) ([]string, bool) {
	if asked == "" || len(keys) == 0 {
		return keys, true
	}
	var out []string
	for _, key := range keys {
		for _, name := range asked.Names() {
			if s.Software[in.key+"."+key] == name {
				out = append(out, key)
				break
			}
			if by := KeyBy(key, name); in.get(s, by) != nil && (asked.wish() || s.MeasuredOn(in.key, by) == s.System) {
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

// Differs reports whether a set has other kernels of the asked software than those that are taken unasked, in a phase.
func (s *Set) Differs(asked Asked, prefill bool) bool {
	slots := [...]*slot{&decodeSlot, &latentDecodeSlot}
	if prefill {
		slots = [...]*slot{&prefillSlot, &latentPrefillSlot}
	}
	for _, r := range slots {
		for _, key := range r.section.keys(s) {
			if PlainKey(key) != key {
				continue
			}
			if own, found := backed(r.section, s, []string{key}, asked); found && own[0] != key {
				return true
			}
		}
	}
	return false
}

// StandIn is an attention kernel that is priced as another one than was asked for.
type StandIn struct {
	Of    string // attention in words
	Asked Asked
	By    string // the software of the kernel that stands in; empty: not named
	// Stretched: the kernel is the one that was asked for, but was measured with other heads.
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
		asked := [...]Asked{t.PrefillBy, t.DecodeBy}[i]
		if !asked.wish() {
			continue
		}
		k := &b.slots[slot]
		if slot == LatentPrefill && k.timing[Whole] == nil {
			k = &b.slots[Prefill]
		}
		if k.timing[Whole] == nil {
			out = append(out, StandIn{Of: table[slot].of, Asked: asked, None: true})
		} else if k.StandsIn || k.Stretched {
			out = append(out, StandIn{Of: table[slot].name, Asked: asked, By: s.SoftwareOf(k.Section, k.Key), Stretched: k.Stretched})
		}
	}
	return out
}

// SoftwareOf is what the model of a section under a key was measured as; empty where no table said.
func (s *Set) SoftwareOf(section, key string) string {
	if _, name, ok := strings.Cut(key, by); ok {
		return name
	}
	return s.Software[section+"."+key]
}
