// Package report writes results: the wide CSV tables of the reference tool, a table for the terminal, JSON. It computes
// nothing that is not already in the estimate.
package report

import (
	"throughline/estimate"
	"throughline/internal/advice"
	"throughline/internal/jobfile"
	"throughline/internal/version"
	"throughline/op"
	"throughline/search"
)

// Column is one run and what was found for it.
type Column struct {
	Number  int // of the run in its job
	Run     *jobfile.Run
	Outcome search.Outcome
	// Served is the deployment of the outcome with what its clients see, where an engine is assumed; nil elsewhere.
	Served *advice.Candidate

	detail [op.PhaseCount]*estimate.Detail // once it was asked for
}

// latency is the time to the first token of the prefill, per output token of the decode: what clients see or, where no
// engine is assumed, what a step takes.
func (c *Column) latency(phase op.Phase) float64 {
	switch {
	case c.Served != nil && phase == op.Prefill:
		return c.Served.Seen.TTFT
	case c.Served != nil:
		return c.Served.Seen.TPOT
	case phase == op.Prefill:
		return c.Outcome.Prefill.Best.Latency
	}
	return c.Outcome.Decode.Best.Latency
}

// Table is one of the files of a job.
type Table struct {
	Name       string // in the name of the file
	categories []category
}

// Tables are the files of a job.
func Tables() []Table {
	return []Table{prefillTable, decodeTable, resultTable}
}

// category is a group of rows, named as in the reference tool.
type category struct {
	name   string
	fields []field
}

// field is one row of a table: its name, and its value in a column: a number, a string, a bool, or nil for an empty cell.
type field struct {
	name  string
	value func(c *Column) any
}

var modelFields = []field{
	{"model_name", func(c *Column) any { return c.Run.Model.Name }},
	{"seq_size", func(c *Column) any { return c.Run.Lengths.Input }},
	{"out_size", func(c *Column) any { return c.Run.Lengths.Output }},
	{"weight_byte", func(c *Column) any { return c.Run.Precision.Weight }},
	{"activation_byte", func(c *Column) any { return c.Run.Precision.Activation }},
	{"cache_byte", func(c *Column) any { return c.Run.Precision.Cache }},
	{"comm_byte", func(c *Column) any { return c.Run.Precision.Comm }},
	{"use_flash_attn", func(c *Column) any { return c.Run.Settings.Flash }},
}

// provenanceFields identify a result.
var provenanceFields = []field{
	{"assumptions", func(c *Column) any { return c.Run.Decode.Assume.Name }},
	{"throughline_version", func(*Column) any { return version.Number }},
	{"input_hash", func(c *Column) any { return c.Run.InputHash }},
}

// number is a cell with a limit or another number that may be absent.
func number(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}

// cards is the cards that a number of processors of a system make.
func cards(procs, perCard int) int { return (procs + perCard - 1) / perCard }
