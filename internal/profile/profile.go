// Package profile matches the kernels in a profiler's summary with the operators of a predicted
// step, class by class. The names of each class are data.
package profile

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"throughline/estimate"
	"throughline/hardware"
	"throughline/op"
)

// Kernel is one of a summary.
type Kernel struct {
	Name  string  `json:"name"`
	Calls float64 `json:"calls,omitempty"`
	Share float64 `json:"share"` // of the time of all
	Time  float64 `json:"time_us,omitempty"`
}

// Class is kernels and operators that do the same.
type Class struct {
	Name      string   `json:"class"`
	Measured  float64  `json:"measured_share"`
	Predicted float64  `json:"predicted_share"`
	Kernels   []Kernel `json:"kernels,omitempty"` // longest first
	Operators []string `json:"operators,omitempty"`
	// Remark describes the kernels of a class without an operator.
	Remark string `json:"remark,omitempty"`
}

// HasOperator reports whether steps contain operators of the class.
func (c *Class) HasOperator() bool { return c.Remark == "" }

// IsProduct reports whether the class multiplies matrices, apart from attention.
func (c *Class) IsProduct() bool {
	return strings.HasPrefix(c.Name, "products") || c.Name == "experts"
}

// Difference is the measured share less the predicted one, as that of the times of a step.
func (c *Class) Difference() float64 { return c.Measured - c.Predicted }

type Total struct {
	Measured float64 // of the time, by all kernels of the summary
	Products Class   // all matrix products
	// Apart: some products have kernels but no own operator, so that only their sum is comparable.
	Apart bool
}

func Sum(classes []Class) (t Total) {
	for i := range classes {
		c := &classes[i]
		t.Measured += c.Measured
		if c.IsProduct() {
			t.Products.Measured += c.Measured
			t.Products.Predicted += c.Predicted
			t.Apart = t.Apart || !c.HasOperator()
		}
	}
	return t
}

// table is the classes and the names of their kernels.
type table struct {
	Classes []struct {
		Name      string
		Operators []string
		Remark    string
	}
	Patterns []struct {
		Match, Class string

		expression *regexp.Regexp
	}
}

//go:embed classes.json
var source []byte

var known = load()

// unknown is the last class, of names that match no pattern.
var unknown = known.Classes[len(known.Classes)-1].Name

func load() (t table) {
	if err := json.Unmarshal(source, &t); err != nil {
		panic(err)
	}
	for i := range t.Patterns {
		t.Patterns[i].expression = regexp.MustCompile("(?i)" + t.Patterns[i].Match)
	}
	return t
}

// ClassOf returns the class of the first pattern that a kernel name matches.
func ClassOf(kernel string) string {
	for i := range known.Patterns {
		if p := &known.Patterns[i]; p.expression.MatchString(kernel) {
			return p.Class
		}
	}
	return unknown
}

func classOfOperator(name string) int {
	for i := range known.Classes {
		if slices.Contains(known.Classes[i].Operators, name) {
			return i
		}
	}
	return -1
}

// OperatorClass returns the class of an operator by its name, or "".
func OperatorClass(name string) string {
	if at := classOfOperator(name); at >= 0 {
		return known.Classes[at].Name
	}
	return ""
}

// Products of steps without experts can be told apart by no name, and need not be.
const (
	products     = "products"
	notToldApart = "products, not told apart"
)

// gathered is the exchange of experts whose tokens are gathered: collectives like others.
const gathered = "gathering of tokens"

// Compare matches kernels with the operators of a step, and returns the seconds that these keep
// units and networks busy, as a profiler sees them, exposed or not. Empty classes are left out.
func Compare(kernels []Kernel, ops []estimate.Operator) ([]Class, float64, error) {
	all := make([]Class, len(known.Classes))
	index := map[string]int{}
	for i := range known.Classes {
		c := &known.Classes[i]
		all[i].Name, all[i].Remark = c.Name, c.Remark
		index[c.Name] = i
	}
	experts := slices.ContainsFunc(ops, func(o estimate.Operator) bool { return OperatorClass(o.Name) == "experts" })
	for _, k := range kernels {
		class := ClassOf(k.Name)
		if class == notToldApart && !experts && len(ops) > 0 {
			class = products
		}
		c := &all[index[class]]
		c.Measured += k.Share
		c.Kernels = append(c.Kernels, k)
	}
	var busy float64
	for i := range ops {
		o, name := &ops[i], ops[i].Name
		if o.Class == op.Comm && o.Kind.Traffic() == op.ExpertTraffic && o.Part < estimate.PartCount && o.Collective != hardware.AllToAll {
			name = gathered
		}
		at := classOfOperator(name)
		if at < 0 && !o.Waits() {
			return nil, 0, fmt.Errorf("the operator %q has no class", name)
		}
		if time := o.Times * o.Time; time > 0 && !o.Waits() {
			busy += time
			all[at].Predicted += time
			if !slices.Contains(all[at].Operators, name) {
				all[at].Operators = append(all[at].Operators, name)
			}
		}
	}
	for i := range all {
		all[i].Predicted /= busy
	}
	all = slices.DeleteFunc(all, func(c Class) bool { return c.Measured == 0 && c.Predicted == 0 })
	for i := range all {
		slices.SortStableFunc(all[i].Kernels, func(a, b Kernel) int {
			switch {
			case a.Share > b.Share:
				return -1
			case a.Share < b.Share:
				return 1
			}
			return 0
		})
	}
	return all, busy, nil
}
