package estimate

import (
	_ "embed"
	"encoding/json"
	"math"

	"throughline/cost"
	"throughline/model"
	"throughline/number"
	"throughline/op"
)

// Confidence is how far a time can be trusted.
type Confidence struct {
	Level cost.Level
	// Kernels is the error of all kernels together, as a share of the time.
	Kernels float64
	// Band holds the truth four times in five, from the time divided to the time multiplied by 1 +
	// Band. It is a rung of a ladder. 0: such predictions were never compared with measurements.
	Band float64

	Quantity     Quantity
	Circumstance Circumstance
}

// Quantity is a predicted time. Each has been compared with measurements of its own.
type Quantity uint8

const (
	PrefillStep Quantity = iota
	DecodeStep
	TTFT       // of servers that prefill and decode
	HandedTTFT // of servers that hand over to decode servers
	TPOT
	// The same, of servers whose settings are unknown.
	UntoldTTFT
	UntoldTPOT
	QuantityCount
)

// Quantities are their names.
var Quantities = [QuantityCount]string{"prefill step", "decode step", "TTFT", "TTFT, disaggregated", "TPOT", "TTFT, settings not told", "TPOT, settings not told"}

// Circumstance is what makes predictions miss by more than their kernels do.
type Circumstance struct {
	Experts   bool // least is known about their kernels and their balance
	Drafts    bool // how many are accepted depends on the text
	Estimated bool // kernels, and so software, of another chip
}

// Width is how far predictions of a quantity are off with correct kernels, four times in five, as
// the logarithm of a share, and what circumstances add to it.
type Width struct {
	Base      float64 `json:"base"`
	Experts   float64 `json:"experts,omitempty"`
	Drafts    float64 `json:"drafts,omitempty"`
	Estimated float64 `json:"estimated,omitempty"`
}

// Terms of a width, each of which is multiplied by something and added.
const (
	Base = iota
	Experts
	Drafts
	Estimated
	TermCount
)

// Terms are the factors of a width's terms.
func (c *Circumstance) Terms() [TermCount]float64 {
	factor := func(applies bool) float64 {
		if applies {
			return 1
		}
		return 0
	}
	return [TermCount]float64{
		Base: 1, Experts: factor(c.Experts), Drafts: factor(c.Drafts),
		Estimated: factor(c.Estimated),
	}
}

// WidthOf makes a width of its terms.
func WidthOf(n [TermCount]float64) Width {
	return Width{Base: n[Base], Experts: n[Experts], Drafts: n[Drafts], Estimated: n[Estimated]}
}

// share is the width in a circumstance.
func (w *Width) share(c *Circumstance) float64 {
	t := c.Terms()
	return math.Exp(w.Base*t[Base] + w.Experts*t[Experts] + w.Drafts*t[Drafts] + w.Estimated*t[Estimated])
}

// Bands are the widths of all quantities.
type Bands struct {
	Source string           `json:"source"`
	Widths map[string]Width `json:"widths"`
}

//go:embed bands.json
var bandsFile []byte

var widths = func() (out [QuantityCount]Width) {
	var b Bands
	if err := json.Unmarshal(bandsFile, &b); err != nil {
		panic("the widths of bands: " + err.Error())
	}
	for q, name := range Quantities {
		out[q] = b.Widths[name]
	}
	return out
}()

// Known is the confidence in a quantity, given the level and the error of its kernels.
func Known(q Quantity, level cost.Level, kernels float64, c Circumstance) Confidence {
	c.Estimated = level == cost.Estimated
	out := Confidence{Level: level, Kernels: kernels, Quantity: q, Circumstance: c}
	out.Judge(&widths[q])
	return out
}

// Judge sets the band by a width. The errors of the kernels and of the rest are independent.
func (c *Confidence) Judge(w *Width) {
	c.Band = rung(math.Expm1(math.Hypot(c.Kernels, w.share(&c.Circumstance))))
}

// rungs is the bands per factor of ten, an eighth apart, as the preferred numbers of ISO 3 are: two
// halves of the evidence give widths of TTFT and TPOT that differ by a quarter.
const rungs = 20

func rung(band float64) float64 {
	return math.Pow(10, math.Round(rungs*math.Log10(band))/rungs)
}

// HasBand reports whether it is known how far off such predictions are.
func (c *Confidence) HasBand() bool { return c.Band > 0 }

// Around is the times between which the truth lies four times in five.
func (c *Confidence) Around(time float64) (low, high float64) {
	return time / (1 + c.Band), time * (1 + c.Band)
}

// Span is the band for people.
func (c *Confidence) Span() string {
	if !c.HasBand() {
		return "(no band)"
	}
	return number.Band(c.Band)
}

// most is the share of the time that must reach a level for the total to have it.
const most = 0.75

// source is what errors come from: kernels of one class are off together, classes independently.
type source uint8

const (
	expertProducts = source(op.ClassCount) // which use other kernels than other products
	sourceCount    = expertProducts + 1
)

func sourceOf(o *op.Op) source {
	if o.Class == op.Linear && o.Module == model.ExpertModule {
		return expertProducts
	}
	return source(o.Class)
}

// trust accumulates how far the times of operators can be trusted.
type trust struct {
	total float64
	wrong [sourceCount]float64     // seconds
	at    [cost.LevelCount]float64 // time by level
}

// add adds an operator whose time may be off by a share.
func (t *trust) add(o *Operator, share float64, level cost.Level) {
	time := o.Takes()
	t.total += time
	t.wrong[sourceOf(&o.Op)] += time * share
	t.at[level] += time
}

// kernels is the expected error of the total as a share, and the level that most of the time has.
func (t *trust) kernels() (share float64, level cost.Level) {
	if t.total == 0 {
		return 0, cost.Estimated
	}
	for _, w := range t.wrong {
		share = math.Hypot(share, w/t.total)
	}
	reached := 0.0
	for level = cost.LevelCount - 1; level > cost.Estimated; level-- {
		if reached += t.at[level]; reached >= most*t.total {
			return share, level
		}
	}
	return share, cost.Estimated
}
