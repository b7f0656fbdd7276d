package plan

import "strings"

// Overlap is how the exchange of tokens between experts hides behind computation.
type Overlap uint8

const (
	NoOverlap Overlap = iota
	// TwoBatch: a step runs as two micro-batches of half its sequences. While one exchanges tokens, the other computes.
	TwoBatch
	// SingleBatch: the shared experts compute while tokens are on their way to the routed ones, and results leave while others
	// are still being computed.
	SingleBatch
	OverlapCount
)

// overlaps are their names, as they are set and as tables show them beside a plan.
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

// OverlapNames are the names of all overlaps.
func OverlapNames() []string {
	var out []string
	for _, o := range overlaps {
		out = append(out, o.name)
	}
	return out
}

// OverlapWords are the names of overlaps by the words that plans have for them.
func OverlapWords() map[string]string {
	out := map[string]string{}
	for _, o := range overlaps {
		if o.word != "" {
			out[o.word] = o.name
		}
	}
	return out
}

// FindOverlap is the overlap of a name, or of the word that plans have for it, in any case.
func FindOverlap(name string) (Overlap, bool) {
	for i := range overlaps {
		if strings.EqualFold(overlaps[i].name, name) || name != "" && strings.EqualFold(overlaps[i].word, name) {
			return Overlap(i), true
		}
	}
	return NoOverlap, false
}

// Least is the sequences that a step must have for the overlap: two micro-batches have one each.
func (o Overlap) Least() int {
	if o == TwoBatch {
		return 2
	}
	return 1
}
