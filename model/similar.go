package model

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Sizes in the names of models: 70B, 0.6B, 8x7B, and the parameters of a token, A22B.
var (
	sizeWord   = regexp.MustCompile(`(?i)(?:^|[-_ ])(?:([0-9]+)x)?([0-9]+(?:\.[0-9]+)?)b(?:$|[-_ ])`)
	activeWord = regexp.MustCompile(`(?i)[-_ ]a([0-9]+(?:\.[0-9]+)?)b(?:$|[-_ ])`)
	familyWord = regexp.MustCompile(`^[a-z]+`)
)

// named is what the name of a model says of it.
type named struct {
	family        string
	total, active float64 // billions of parameters; 0: not said
	experts       bool
}

func readName(name string) (out named) {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	out.family = familyWord.FindString(strings.ToLower(name))
	if m := activeWord.FindStringSubmatch(name); m != nil {
		out.active, _ = strconv.ParseFloat(m[1], 64)
		out.experts = true
		name = strings.Replace(name, m[0], "-", 1)
	}
	if m := sizeWord.FindStringSubmatch(name); m != nil {
		out.total, _ = strconv.ParseFloat(m[2], 64)
		if n, err := strconv.ParseFloat(m[1], 64); err == nil {
			out.total, out.experts = n*out.total, true
		}
	}
	return out
}

// Bounds of what may stand in for another model, as logarithms of a ratio of parameters.
var (
	nearTotal   = math.Log(1.25)
	nearActive  = math.Log(1.5)
	otherFamily = math.Log(1.2) // as far as a family that differs
)

// Similar is the built-in model nearest to a name by family and size; false: none is near, or the
// name has no size.
func Similar(name string) (string, bool) {
	of := readName(name)
	best, least := "", math.Inf(1)
	for _, candidate := range Catalogue.Names() {
		c := readName(candidate)
		if of.total == 0 || c.total == 0 || c.experts != of.experts {
			continue
		}
		far := math.Abs(math.Log(c.total / of.total))
		if far > nearTotal || of.active > 0 && c.active > 0 && math.Abs(math.Log(c.active/of.active)) > nearActive {
			continue
		}
		if c.family != of.family {
			far += otherFamily
		}
		if far < least {
			best, least = candidate, far
		}
	}
	return best, best != ""
}
