package engine

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"throughline/deploy"
	"throughline/hardware"
	"throughline/model"
	plain "throughline/number"
)

// Chip is how an engine treats weight formats on chips of a generation.
type Chip struct {
	Native    []string          `json:"native" required:"true" enum:"bf16,fp8,fp8_block,int8,fp4,mxfp4,int4,w4a8,gguf"`    // multiplied as they are
	Converted []string          `json:"converted" required:"true" enum:"bf16,fp8,fp8_block,int8,fp4,mxfp4,int4,w4a8,gguf"` // in 16 bits
	Refused   map[string]string `json:"refused" keys:"bf16,fp8,fp8_block,int8,fp4,mxfp4,int4,w4a8,gguf"`                   // why, where more is known
	Source    string            `json:"source" required:"true" nonempty:"true"`
}

// weightKind is a format of weights that engines tell apart.
type weightKind struct {
	name, title string
	setting     string // number format that requests it
	bytes       float64
}

var weightKinds = []weightKind{
	{"fp4", "NVFP4", "nvfp4", 0.56}, {"mxfp4", "MXFP4", "mxfp4", 0.53}, {"w4a8", "W4A8", "w4a8", 0.52}, {"int4", "INT4", "int4", 0.52},
	{"fp8", "FP8", "fp8", 1}, {"fp8_block", "FP8 of blocks", "fp8_block", 1}, {"int8", "INT8", "int8", 1}, {"bf16", "BF16", "bf16", 2},
	{plain.GGUF, "GGUF", "q4_k_m", 0.61},
}

// kindOfWeights is the format of a server's weights; nil for none of these.
func (u *unit) kindOfWeights() *weightKind {
	name := u.weights
	switch {
	case name == "fp8" && u.Precision.Blocks():
		name = "fp8_block"
	case name == "int4" && u.narrowInputs():
		name = "w4a8"
	}
	for i := range weightKinds {
		if weightKinds[i].name == name {
			return &weightKinds[i]
		}
	}
	return nil
}

// narrowInputs reports whether four-bit weights are multiplied with eight-bit activations.
func (u *unit) narrowInputs() bool {
	for m := range model.ModuleCount {
		if p := u.Precision.Of(m); p.Weight < 1 && p.Activation == 1 {
			return true
		}
	}
	return false
}

// treatment of weights by kernels.
type treatment int

const (
	native    treatment = iota // multiplied as stored, or unknown chip
	converted                  // unpacked to 16 bits by the kernels that multiply them
	notRun
)

func (c *Chip) does(format string) treatment {
	switch {
	case slices.Contains(c.Native, format):
		return native
	case slices.Contains(c.Converted, format):
		return converted
	}
	return notRun
}

// weightsOn is how weights are treated on a chip; unknown generations run what any runs.
func (e *Engine) weightsOn(s *hardware.System, w *weightKind) treatment {
	if w == nil || len(e.Chips) == 0 {
		return native // other rules refuse these
	}
	if c, ok := e.Chips[generation(s)]; ok {
		return c.does(w.name)
	}
	for _, c := range e.Chips {
		if c.does(w.name) != notRun {
			return native
		}
	}
	return notRun
}

// refusedChip says why the engine does not run on a chip at all.
func (e *Engine) refusedChip(s *hardware.System) []string {
	if s == nil || s.Maker == "" || len(e.Chips) == 0 {
		return nil
	}
	if _, runs := e.Chips[s.Generation]; runs {
		return nil
	}
	var makers []string
	for g := range e.Chips {
		makers = append(makers, hardware.MakerOf(g))
	}
	slices.Sort(makers)
	switch {
	case !slices.Contains(makers, s.Maker):
		return []string{fmt.Sprintf("%s runs on chips of %s, not on those of %s", e.Title, strings.Join(slices.Compact(makers), ", "), s.Maker)}
	case s.Generation == "":
		return nil
	}
	return []string{fmt.Sprintf("%s does not run on %s (%s)", e.Title, s.Name, s.Generation)}
}

// whereRun says which engines run weights on a chip, or else on which chips this one does.
func (e *Engine) whereRun(s *hardware.System, w *weightKind) string {
	var others, chips []string
	for _, other := range engines {
		if c, on := other.Chips[s.Generation]; on && c.does(w.name) != notRun {
			others = append(others, other.Name)
		}
	}
	if len(others) > 0 {
		return fmt.Sprintf("engines that run %s there: %s", w.title, strings.Join(others, ", "))
	}
	for _, g := range slices.Sorted(maps.Keys(e.Chips)) {
		if c := e.Chips[g]; c.does(w.name) != notRun {
			chips = append(chips, g)
		}
	}
	if len(chips) == 0 {
		return "it has no " + w.title
	}
	return fmt.Sprintf("it runs %s on %s", w.title, strings.Join(chips, ", "))
}

// refusedWeights says that the engine does not run weights on a chip, and the alternatives.
func (e *Engine) refusedWeights(s *hardware.System, w *weightKind) string {
	who := fmt.Sprintf("%s %s", e.Title, e.Options.Version)
	c, known := e.Chips[generation(s)]
	if !known {
		return fmt.Sprintf("%s has no %s weights", who, w.title)
	}
	why := fmt.Sprintf("%s does not run %s weights on %s (%s)", who, w.title, s.Name, s.Generation)
	if r := c.Refused[w.name]; r != "" {
		why += ": " + r
	}
	return fmt.Sprintf("%s; nearest there: weights %s; %s", why, c.nearest(w).as(w.bytes), e.whereRun(s, w))
}

// nearest is the supported weights of most similar size, preferably native; all chips run 16 bits.
func (c *Chip) nearest(w *weightKind) *weightKind {
	var best *weightKind
	far := func(k *weightKind) float64 { return math.Abs(math.Log(k.bytes / w.bytes)) }
	for i := range weightKinds {
		if k := &weightKinds[i]; c.does(k.name) != notRun &&
			(best == nil || cmp.Or(cmp.Compare(far(k), far(best)), cmp.Compare(c.does(k.name), c.does(best.name))) < 0) {
			best = k
		}
	}
	return best
}

// as is the setting for a kind of weights that come closest to this many bytes.
func (k *weightKind) as(bytes float64) string {
	best, off := k.setting, math.Inf(1)
	for i := range plain.Formats {
		f := &plain.Formats[i]
		if far := math.Abs(math.Log(f.Bytes / bytes)); k.name == plain.GGUF && f.Kind == k.name && far < off {
			best, off = f.Name, far
		}
	}
	return best
}

// Notes say which chips exchange data in unusual ways, and which weights are not native.
func Notes(d *deploy.Deployment) (out []string) {
	e, err := Find(d.Engine.Name)
	if err != nil || !d.Assume.Engine {
		return nil
	}
	for i := range d.Pools {
		s := d.Pools[i].System
		u := shape(d, &d.Pools[i])
		if s == nil {
			continue
		}
		if s.ExchangeRemark != "" && (u.ranks > 1 || d.Split()) {
			out = append(out, s.ExchangeRemark)
		}
		switch w := u.kindOfWeights(); {
		case w == nil:
		case e.weightsOn(s, w) == converted:
			out = append(out, fmt.Sprintf("%s converts %s weights on %s (%s): they are stored so, and multiplied in 16 bits", e.Title, w.title, s.Name, s.Generation))
		case e == Generic && d.Precision.Unpacked():
			out = append(out, fmt.Sprintf("%s does not multiply %s: weights are stored so, and multiplied in 16 bits", s.Name, w.title))
		}
	}
	return unique(out)
}
