package result

import (
	"cmp"
	"fmt"

	"throughline/estimate"
	"throughline/op"
)

// Unit is what a number counts.
type Unit string

// Units of fields. Ratios and counts have none.
const (
	None      Unit = ""
	Seconds   Unit = "s"
	Millis    Unit = "ms"
	GiB       Unit = "GiB"
	GBps      Unit = "GB/s"
	Bytes     Unit = "bytes"
	Flop      Unit = "flop"
	Percent   Unit = "%"
	TokenRate Unit = "tokens/s"
	Rate      Unit = "requests/s"
	Watts     Unit = "W"
	Joules    Unit = "J"
)

var perUnit = map[[2]Unit]float64{{Seconds, Millis}: 1e3}

// Category groups fields; those of the tables of the reference tool have its names.
type Category string

const (
	Identity   Category = "run"
	Model      Category = "model_basic_config"
	Throughput Category = "performance_throughput"
	System     Category = "system_resource_config"
	Parallel   Category = "parallel_strategy_config"
	Stats      Category = "other_stats_metrics"
	Extended   Category = "extended_stats_metrics"
	Whole      Category = "result"
	Provenance Category = "provenance"
	Step       Category = "step"
	Costs      Category = "costs"      // energy and dollars; where engines are assumed
	OpDetails  Category = "op_details" // of operators; on request only
	Answers    Category = "answers"    // of estimate and plan only
)

// Field describes one property of a deployment.
type Field struct {
	Name     string // unique
	Unit     Unit
	Category Category
	Doc      string
	// Value is a number, a text, a bool, or nil if there is none.
	Value func(*Record) any
}

func (f *Field) In(u Unit, r *Record) any {
	v, ok := f.Value(r).(float64)
	if u == f.Unit || !ok {
		return f.Value(r)
	}
	factor, ok := perUnit[[2]Unit{f.Unit, u}]
	if !ok {
		panic(fmt.Sprintf("result: no %s in a field of %s, %s", u, f.Unit, f.Name))
	}
	return v * factor
}

// In returns the value of a named field in a unit; None: its own.
func In(name string, u Unit) func(*Record) any {
	f := field(name)
	return func(r *Record) any { return f.In(cmp.Or(u, f.Unit), r) }
}

// Fields is the registry of all fields, each once.
func Fields() []*Field { return registry.list }

func Lookup(name string) (*Field, bool) {
	f, ok := registry.byName[name]
	return f, ok
}

// field returns one that must exist.
func field(name string) *Field {
	f, ok := Lookup(name)
	if !ok {
		panic("result: no field " + name)
	}
	return f
}

var registry = newRegistry(identityFields, modelFields, resultFields, clientFields, energyFields, economicFields, capacityFields, rowFields, sideFields(op.Prefill), sideFields(op.Decode), provenanceFields)

type fieldSet struct {
	list   []*Field
	byName map[string]*Field
}

func newRegistry(lists ...[]Field) fieldSet {
	s := fieldSet{byName: map[string]*Field{}}
	for _, list := range lists {
		for i := range list {
			f := &list[i]
			if s.byName[f.Name] != nil {
				panic("result: two fields are called " + f.Name)
			}
			s.list, s.byName[f.Name] = append(s.list, f), f
		}
	}
	return s
}

// prefixes of the fields of a phase, as in the reference tool.
var prefixes = [op.PhaseCount]string{op.Prefill: "prefill_", op.Decode: "decoder_"}

// Prefix starts the names of the fields of a phase.
func Prefix(phase op.Phase) string { return prefixes[phase] }

// Of returns the field of a phase by its name without the prefix.
func Of(phase op.Phase, name string) *Field { return field(prefixes[phase] + name) }

func gib(bytes float64) float64 { return bytes / estimate.GiB }

// optional maps nil to an absent value.
func optional(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}

// nonzero maps 0 to an absent value.
func nonzero(v float64) any {
	if v == 0 {
		return nil
	}
	return v
}
