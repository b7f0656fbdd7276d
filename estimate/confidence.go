package estimate

import (
	"embed"
	"encoding/json"
	"io/fs"
	"math"
	"slices"

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

	Quantity Quantity
	Causes   Causes
}

// Quantity is a predicted time. Each has been compared with measurements of its own.
type Quantity uint8

const (
	PrefillStep Quantity = iota
	DecodeStep
	TTFT
	TPOT
	QuantityCount
)

// Quantities are their names.
var Quantities = [QuantityCount]string{"prefill step", "decode step", "TTFT", "TPOT"}

// Cause is why predictions are off beyond the error of their kernels.
type Cause uint8

const (
	Loads     Cause = iota // of one deployment: some are predicted better than others
	Pairs                  // of model and engine: each has a bias of its own
	Unseen                 // none of its runs on this system was there when serving was modelled
	Experts                // least is known about their kernels and their balance
	Drafts                 // how many are accepted depends on the text
	Estimated              // kernels, and so software, of another chip
	Pools                  // servers that prefill hand over to others that decode
	Wave                   // the first requests of a benchmark, to servers that have just started
	Version                // of the engine is not told
	Settings               // of the servers are not told
	CauseCount
)

// CauseNames are their names in the file of bands.
var CauseNames = [CauseCount]string{"loads", "pairs", "unseen", "experts", "drafts", "estimated", "pools", "first wave", "version", "settings"}

// Causes are those that apply to a prediction.
type Causes [CauseCount]bool

// Width is how far each cause puts predictions of a quantity off, four times in five, as a
// logarithm. Causes are independent, so that their squares add up.
type Width [CauseCount]float64

func (w Width) MarshalJSON() ([]byte, error) {
	named := map[string]float64{}
	for c, v := range w {
		if v > 0 {
			named[CauseNames[c]] = v
		}
	}
	return json.Marshal(named)
}

func (w *Width) UnmarshalJSON(src []byte) error {
	var named map[string]float64
	err := json.Unmarshal(src, &named)
	for c, name := range CauseNames {
		w[c] = named[name]
	}
	return err
}

// Of is the width of some causes together.
func (w *Width) Of(causes *Causes) float64 {
	sum := 0.0
	for c, v := range w {
		if causes[c] {
			sum += v * v
		}
	}
	return math.Sqrt(sum)
}

// Bands are the widths of all quantities, and the systems that runs were seen on, by engine and
// model.
type Bands struct {
	Source string                         `json:"source"`
	Widths map[string]Width               `json:"widths"`
	Seen   map[string]map[string][]string `json:"seen"`
}

//go:embed bands.json
var bandsFile embed.FS

func Data() fs.FS { return bandsFile }

var bands = func() (out Bands) {
	src, err := bandsFile.ReadFile("bands.json")
	if err == nil {
		err = json.Unmarshal(src, &out)
	}
	if err != nil {
		panic("the widths of bands: " + err.Error())
	}
	return out
}()

// Seen reports whether runs of a model behind an engine on a system were there when serving was
// modelled.
func Seen(engine, model, system string) bool {
	return slices.Contains(bands.Seen[engine][model], system)
}

// Known is the confidence in a quantity, given the level and the error of its kernels.
func Known(q Quantity, level cost.Level, kernels float64, c Causes) Confidence {
	c[Loads], c[Estimated] = true, level == cost.Estimated
	out := Confidence{Level: level, Kernels: kernels, Quantity: q, Causes: c}
	w := bands.Widths[Quantities[q]]
	out.Judge(&w)
	return out
}

// Judge sets the band by a width. The errors of the kernels and of the rest are independent.
func (c *Confidence) Judge(w *Width) {
	c.Band = rung(math.Expm1(math.Hypot(c.Kernels, w.Of(&c.Causes))))
}

// Fact is something that a user can tell, and the causes of error that are gone once it is known.
type Fact struct {
	Name, Words string
	removes     []Cause
	measures    bool // the time itself, and with it what kernels are off by
}

// Facts are what can be told, and last what takes a measurement.
var Facts = []Fact{
	{Name: "settings", Words: "the launch settings of the servers", removes: []Cause{Settings}},
	{Name: "version", Words: "the version of the engine", removes: []Cause{Version}},
	{Name: "warm servers", Words: "servers that are warm when the benchmark begins", removes: []Cause{Wave}},
	MeasuredRun,
}

// MeasuredRun is a run of the deployment that predictions are fitted to. What is left is what two
// loads differ by.
var MeasuredRun = Fact{Name: "measured run", Words: "one measured run of the deployment to fit to", removes: []Cause{Pairs, Unseen, Experts, Drafts, Estimated, Pools, Version, Settings}, measures: true}

// Given is the confidence once a fact is known.
func (c Confidence) Given(f *Fact) Confidence {
	for _, cause := range f.removes {
		c.Causes[cause] = false
	}
	w := bands.Widths[Quantities[c.Quantity]]
	if f.measures {
		c.Kernels = w[Loads] // the run that is fitted to is one load, and off as much as any other
	}
	if c.HasBand() {
		c.Judge(&w)
	}
	return c
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
