package model

import (
	_ "embed"
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"throughline/internal/catalogue"
)

// Sizes in the names of models: 70B, 0.6B, 1T, 8x7B, and the parameters of a token, A22B.
var (
	sizeWord   = regexp.MustCompile(`(?i)(?:^|[-_ :])(?:([0-9]+)x)?([0-9]+(?:\.[0-9]+)?)([bt])(?:$|[-_ ])`)
	activeWord = regexp.MustCompile(`(?i)[-_ ]a([0-9]+(?:\.[0-9]+)?)b(?:$|[-_ ])`)
	familyWord = regexp.MustCompile(`^[a-z]+`)
)

// sized is a model as far as its size goes.
type sized struct {
	family        string
	total, active float64 // billions of parameters; 0: not said
	experts       bool
	plain         bool // one kind of attention, whose heads eight ranks can share
}

//go:embed sizes.json
var sizesFile []byte

// printed are sizes that names do not say, by their folded beginnings.
var printed = func() map[string][2]float64 {
	var file struct{ Sizes map[string][2]float64 }
	if err := json.Unmarshal(sizesFile, &file); err != nil {
		panic(err)
	}
	out := map[string][2]float64{}
	for name, size := range file.Sizes {
		out[catalogue.Fold(name)] = size
	}
	return out
}()

// largestDense is a size in billions above which every model that is served has experts.
const largestDense = 500

func readName(name string) (out sized) {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	out.family = familyWord.FindString(strings.ToLower(name))
	longest := ""
	for start, size := range printed {
		if rest, ok := strings.CutPrefix(catalogue.Fold(name), start); ok && len(start) > len(longest) && !goesOn(start, rest) {
			longest = start
			out.total, out.active, out.experts = size[0], size[1], size[1] < size[0]
		}
	}
	if longest != "" {
		return out
	}
	if m := activeWord.FindStringSubmatch(name); m != nil {
		out.active, _ = strconv.ParseFloat(m[1], 64)
		out.experts = true
		name = strings.Replace(name, m[0], "-", 1)
	}
	if m := sizeWord.FindStringSubmatch(name); m != nil {
		out.total, _ = strconv.ParseFloat(m[2], 64)
		if strings.EqualFold(m[3], "t") {
			out.total *= 1000
		}
		if n, err := strconv.ParseFloat(m[1], 64); err == nil {
			out.total, out.experts = n*out.total, true
		}
	}
	out.experts = out.experts || out.total > largestDense
	if !out.experts {
		out.active = out.total
	}
	return out
}

// goesOn reports whether a number at the end of a name goes on: Step-3 is not Step-3.5.
func goesOn(start, rest string) bool {
	const digits = "0123456789"
	return strings.Contains(digits, start[len(start)-1:]) && strings.TrimLeft(rest, digits+"-") != rest
}

// usualRanks are the most that share the heads of a model in one node.
const usualRanks = 8

// builtin is the sizes of the built-in models.
var builtin = sync.OnceValue(func() map[string]sized {
	out := map[string]sized{}
	for _, name := range Catalogue.Names() {
		src, _ := Catalogue.Find(name)
		m, _, doc := Read(name, src)
		if doc.Err() != nil {
			panic(doc.Err()) // a test reads all of them
		}
		total, active := m.Params()
		plain := true
		for kind, layers := range m.AttentionLayers(m.Layers) {
			plain = plain && layers == m.Layers && m.AttentionOf(kind).Heads%usualRanks == 0
		}
		out[name] = sized{familyWord.FindString(strings.ToLower(name)), total / 1e9, active / 1e9, m.IsMoE(), plain}
	}
	return out
})

// Bounds of what may stand in for another model, as logarithms of a ratio of parameters.
var (
	nearTotal   = math.Log(1.6)
	nearActive  = math.Log(2)
	otherFamily = math.Log(1.2) // as far as a family that differs
)

// Similar is the built-in model nearest to a name by family and size; false: none is near, or
// nobody says its size. The parameters of a token count as much as all of them.
func Similar(name string) (string, bool) {
	of := readName(name)
	best, least := "", math.Inf(1)
	for _, candidate := range Catalogue.Names() {
		c := builtin()[candidate]
		if of.total == 0 || c.experts != of.experts {
			continue
		}
		total, active := math.Abs(math.Log(c.total/of.total)), 0.0
		if of.active > 0 {
			active = math.Abs(math.Log(c.active / of.active))
		}
		if total > nearTotal || active > nearActive {
			continue
		}
		if c.family != of.family {
			total += otherFamily
			if !c.plain {
				total += otherFamily
			}
		}
		if far := total + active; far < least {
			best, least = candidate, far
		}
	}
	return best, best != ""
}
