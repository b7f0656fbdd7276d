package plan

import "strings"

// Overlap is how the exchange of tokens between experts hides behind computation.
type Overlap uint8

const (
	NoOverlap Overlap = iota
	// TwoBatch: a step runs as two micro-batches; while one exchanges tokens, the other computes.
	TwoBatch
	// SingleBatch: shared experts run during dispatch, and combine starts while experts compute.
	SingleBatch
	OverlapCount
)

// overlaps are their names in settings, and their words in plans.
var overlaps = [OverlapCount]struct{ name, word string }{
	NoOverlap: {"off", ""}, TwoBatch: {"two-batch", "tbo"}, SingleBatch: {"single-batch", "sbo"},
}

func (o Overlap) String() string { return overlaps[o].name }

// Word is the overlap in a plan in words; empty: none.
func (o Overlap) Word() string { return overlaps[o].word }

// Batches is the micro-batches that a step runs as.
func (o Overlap) Batches() float64 {
	if o == TwoBatch {
		return 2
	}
	return 1
}

func OverlapNames() []string {
	var out []string
	for _, o := range overlaps {
		out = append(out, o.name)
	}
	return out
}

// OverlapWords are the names of overlaps by their words in plans.
func OverlapWords() map[string]string {
	out := map[string]string{}
	for _, o := range overlaps {
		if o.word != "" {
			out[o.word] = o.name
		}
	}
	return out
}

// FindOverlap finds an overlap by its name or word, in any case.
func FindOverlap(name string) (Overlap, bool) {
	for i := range overlaps {
		if strings.EqualFold(overlaps[i].name, name) || name != "" && strings.EqualFold(overlaps[i].word, name) {
			return Overlap(i), true
		}
	}
	return NoOverlap, false
}

// Least is the fewest sequences of a step with the overlap: two micro-batches have one each.
func (o Overlap) Least() int {
	if o == TwoBatch {
		return 2
	}
	return 1
}
