package plan

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Words is a plan as people write it. Numbers that are not given are 0.
type Words struct {
	Count             int // instances
	DP, PP, TP, CP    int
	EP, MoETP, MoEDP  int
	Redundant, Drafts int
	Batch             int
	Overlap           Overlap
}

// word is one part of a plan in words: letters and a number.
type word struct {
	name string
	low  int
	ref  func(*Words) *int
}

var words = []word{
	{"dp", 1, func(w *Words) *int { return &w.DP }}, {"pp", 1, func(w *Words) *int { return &w.PP }},
	{"tp", 1, func(w *Words) *int { return &w.TP }}, {"cp", 1, func(w *Words) *int { return &w.CP }},
	{"ep", 1, func(w *Words) *int { return &w.EP }}, {"etp", 1, func(w *Words) *int { return &w.MoETP }},
	{"edp", 1, func(w *Words) *int { return &w.MoEDP }}, {"+", 0, func(w *Words) *int { return &w.Redundant }},
	{"mtp", 0, func(w *Words) *int { return &w.Drafts }}, {"batch", 1, func(w *Words) *int { return &w.Batch }},
}

// mostParts bounds the numbers of a plan in words, far beyond any deployment.
const mostParts = 1_000_000

// ParseWords reads a plan as the tables show it, like "3 × dp4·pp1·tp2 ep8·etp1·edp1 +32 mtp1", or as it is typed, like
// "3xtp8,ep8". Points, commas and spaces separate its parts; instances stand in front.
func ParseWords(text string) (Words, error) {
	var w Words
	rest := strings.TrimSpace(text)
	if n := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }); n > 0 {
		after := strings.TrimLeft(rest[n:], " ")
		for _, times := range []string{"×", "x", "*"} {
			if tail, ok := strings.CutPrefix(after, times); ok {
				count, err := strconv.Atoi(rest[:n])
				if err != nil || count < 1 || count > mostParts {
					return w, fmt.Errorf("%q: instances must be between 1 and %d", text, mostParts)
				}
				w.Count, rest = count, tail
				break
			}
		}
	}
	parts := strings.FieldsFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("·.,;", r) })
	if len(parts) == 0 {
		return w, fmt.Errorf("%q is no plan: one reads like tp8 or 2x dp4·pp1·tp2 ep8·etp1·edp1", text)
	}
	seen := map[string]bool{}
	for _, part := range parts {
		if o, ok := overlapOf(part); ok {
			if w.Overlap != NoOverlap {
				return w, fmt.Errorf("%q: an overlap is given twice", text)
			}
			w.Overlap = o
			continue
		}
		at := strings.IndexFunc(part, unicode.IsDigit)
		name, number := part, ""
		if at >= 0 {
			name, number = strings.TrimSuffix(part[:at], "="), part[at:]
		}
		found := false
		for i := range words {
			k := &words[i]
			if k.name != strings.ToLower(name) {
				continue
			}
			n, err := strconv.Atoi(number)
			if err != nil || n < k.low || n > mostParts {
				return w, fmt.Errorf("%q: %s must be a number between %d and %d, not %q", text, k.name, k.low, mostParts, number)
			}
			if seen[k.name] {
				return w, fmt.Errorf("%q: %s is given twice", text, k.name)
			}
			seen[k.name], found = true, true
			*k.ref(&w) = n
		}
		if !found {
			return w, fmt.Errorf("%q: %q is not one of dp, pp, tp, cp, ep, etp, edp, + (redundant experts), mtp (drafts), batch, each with its number, tbo or sbo (overlap of two batches, of a single one)", text, part)
		}
	}
	return w, nil
}

// overlapOf is the overlap of a word.
func overlapOf(part string) (Overlap, bool) {
	for o := TwoBatch; o < OverlapCount; o++ {
		if strings.EqualFold(part, o.Word()) {
			return o, true
		}
	}
	return NoOverlap, false
}
