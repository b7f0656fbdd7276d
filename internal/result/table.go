package result

import (
	"slices"

	"throughline/op"
)

// Table is a selection of the fields: one of the files of a job.
type Table struct {
	Name string // in the name of the file
	Rows []Row
}

// Row is a field as a table shows it.
type Row struct {
	*Field
	Label string // its name in the table, where tables share names for different things
	// only selects the records that show it; nil: all.
	only func(*Record) bool
}

func (r *Row) Of(record *Record) any {
	if r.only != nil && !r.only(record) {
		return nil
	}
	return r.Value(record)
}

// Tables are the wide files of a job, in the order and with the names of the reference tool; with
// lists optional categories to include.
func Tables(with ...Category) []Table {
	out := []Table{prefillTable, decodeTable, resultTable}
	var axes []Row
	for _, f := range axesIn(with) {
		axes = append(axes, Row{Field: f, Label: f.Name})
	}
	for i := range out {
		out[i].Rows = slices.DeleteFunc(slices.Clone(out[i].Rows), func(r Row) bool {
			return optionalIn(r.Category, with) || r.Category == Costs && !slices.Contains(with, Costs)
		})
		out[i].Rows = slices.Concat(axes, out[i].Rows)
	}
	return out
}

func optionalIn(c Category, with []Category) bool { return c == OpDetails && !slices.Contains(with, c) }

var (
	prefillTable = sideTable("prefill_best", op.Prefill)
	decodeTable  = sideTable("decoder_best", op.Decode)
	resultTable  = deploymentTable()
)

// Long returns the fields of the table with a row per run.
func Long(with ...Category) []*Field {
	fields := slices.Insert(slices.Clone(Fields()), len(identityFields), axesIn(with)...)
	return slices.DeleteFunc(fields, func(f *Field) bool {
		return optionalIn(f.Category, with) || f.Category == Answers || f.Category == Step && !slices.Contains(longSteps, f.Name)
	})
}

// longSteps are the step fields of the long table; others repeat it under names of the reference
// tool.
var longSteps = []string{"prefill_plans", "prefill_bound", "prefill_bound_share(%)", "decoder_plans", "decoder_bound", "decoder_bound_share(%)"}

// perInstance are fields that the tables of a phase show for one instance, under the names that the
// result table has for all instances.
var perInstance = map[string]string{
	"throughput(token/s)": "throughput_per_instance(token/s)", "num_procs": "procs_per_instance",
	"request_per_second": "request_per_second_per_instance",
}

func sideTable(name string, phase op.Phase) Table {
	t := Table{Name: name}
	t.add(modelFields)
	// The throughput of the other phase is left empty, unless the same processors run both.
	for _, q := range phases {
		only := func(r *Record) bool { return r.Shared }
		if q == phase {
			only = nil
		}
		t.Rows = append(t.Rows,
			Row{Of(q, perInstance["throughput(token/s)"]), prefixes[q] + "throughput(token/s)", only},
			Row{Of(q, "throughput_per_npu(token/s)"), prefixes[q] + "throughput_per_npu(token/s)", only})
	}
	labels := map[string]string{prefixes[phase] + "kv_cache_total_mem(Gib)": "kv_cache_total_mem(Gib)"} // the one without a prefix
	for label, name := range perInstance {
		labels[prefixes[phase]+name] = prefixes[phase] + label
	}
	for _, f := range sideFields(phase) {
		if f.Category == Throughput || f.Category == Step {
			continue
		}
		label := f.Name
		if other, ok := labels[f.Name]; ok {
			label = other
		}
		t.Rows = append(t.Rows, Row{Field: field(f.Name), Label: label})
	}
	t.add(provenanceFields)
	return t
}

func deploymentTable() Table {
	t := Table{Name: "result_best"}
	t.add(modelFields)
	for _, phase := range phases {
		t.named(prefixes[phase]+"throughput(token/s)", nil)
		t.named(prefixes[phase]+"throughput_per_npu(token/s)", nil)
	}
	for _, phase := range phases {
		t.named(prefixes[phase]+"system_name", nil)
	}
	isWhole := func(r *Record) bool { return r.Complete }
	for i := range resultFields {
		t.named(resultFields[i].Name, nil)
		if resultFields[i].Name == "num_procs" {
			t.named("prefill_instances", isWhole)
			t.named("decoder_instances", isWhole)
		}
	}
	t.named("dollars_per_million_tokens", nil)
	t.named("price", nil)
	t.add(energyFields)
	t.add(provenanceFields)
	return t
}

func (t *Table) add(fields []Field) {
	for i := range fields {
		t.named(fields[i].Name, nil)
	}
}

func (t *Table) named(name string, only func(*Record) bool) {
	t.Rows = append(t.Rows, Row{field(name), name, only})
}

// Category returns that of a row; instance fields belong to the result in its table.
func (t *Table) Category(r *Row) Category {
	if t.Name == resultTable.Name && r.Category == Extended {
		return Whole
	}
	return r.Category
}
