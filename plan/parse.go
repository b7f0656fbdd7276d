package plan

import (
	"fmt"
	"slices"
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

// ParseWords reads a plan as the tables show it, like "3 × dp4·pp1·tp2 ep8·etp1·edp1 +32 mtp1", or
// as it is typed, like "3xtp8,ep8". Points, commas and spaces separate its parts.
func ParseWords(text string) (Words, error) {
	var w Words
	rest, err := w.parseCount(text)
	if err != nil {
		return w, err
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
		} else if err := w.parsePart(part, seen); err != nil {
			return w, fmt.Errorf("%q: %w", text, err)
		}
	}
	return w, nil
}

// parseCount reads the number of instances, if the text starts with one, and returns the rest.
func (w *Words) parseCount(text string) (rest string, err error) {
	rest = strings.TrimSpace(text)
	n := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if n <= 0 {
		return rest, nil
	}
	after := strings.TrimLeft(rest[n:], " ")
	for _, times := range []string{"×", "x", "*"} {
		if tail, ok := strings.CutPrefix(after, times); ok {
			if w.Count, err = strconv.Atoi(rest[:n]); err != nil || w.Count < 1 || w.Count > mostParts {
				return "", fmt.Errorf("%q: instances must be between 1 and %d", text, mostParts)
			}
			return tail, nil
		}
	}
	return rest, nil
}

// parsePart reads letters and a number, or letters without one, which are refused.
func (w *Words) parsePart(part string, seen map[string]bool) error {
	name, number := part, ""
	if at := strings.IndexFunc(part, unicode.IsDigit); at >= 0 {
		name, number = strings.TrimSuffix(part[:at], "="), part[at:]
	}
	i := slices.IndexFunc(words, func(k word) bool { return k.name == strings.ToLower(name) })
	if i < 0 {
		return fmt.Errorf("%q is not one of dp, pp, tp, cp, ep, etp, edp, + (redundant experts), mtp (drafts), batch, each with its number, tbo or sbo (overlap of two batches, of a single one)", part)
	}
	k := &words[i]
	n, err := strconv.Atoi(number)
	if err != nil || n < k.low || n > mostParts {
		return fmt.Errorf("%s must be a number between %d and %d, not %q", k.name, k.low, mostParts, number)
	}
	if seen[k.name] {
		return fmt.Errorf("%s is given twice", k.name)
	}
	seen[k.name] = true
	*k.ref(w) = n
	return nil
}

func overlapOf(part string) (Overlap, bool) {
	for o := TwoBatch; o < OverlapCount; o++ {
		if strings.EqualFold(part, o.Word()) {
			return o, true
		}
	}
	return NoOverlap, false
}
