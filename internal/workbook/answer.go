package workbook

import (
	"unicode/utf8"

	"throughline/internal/result"
	"throughline/internal/spreadsheet"
	"throughline/number"
	"throughline/op"
)

// mostAnswered limits the rows of the first sheet.
const mostAnswered = 200

// answerColumn is one of the first sheet: what people compare, in their units.
type answerColumn struct {
	title, format string
	width         float64
	shade         string // by its values; empty: none
	value         func(r *result.Record) any
}

// field is a column of a field, times a factor, coloured as in other sheets.
func field(title, format string, width float64, name string, unit result.Unit) answerColumn {
	return answerColumn{title, format, width, shades[name], result.In(name, unit)}
}

var answerColumns = []answerColumn{
	field("model", "", 22, "model_name", ""),
	{"system", "", 14, "", func(r *result.Record) any {
		if s := r.Sides[op.Decode]; s != nil {
			return s.System.Name
		}
		return nil
	}},
	field("GPUs", "0", 8, "num_procs", ""),
	field("engine", "", 10, "engine", ""),
	field("prefill", "", 26, "prefill_plans", ""),
	field("decode", "", 30, "decoder_plans", ""),
	field("TTFT ms", "#,##0", 10, "TTFT(s)", result.Millis),
	{"TTFT band", "", 12, "", func(r *result.Record) any { return bandOf(r, 0) }},
	field("TPOT ms", "0.0", 10, "TPOT(s)", result.Millis),
	{"TPOT band", "", 12, "", func(r *result.Record) any { return bandOf(r, 1) }},
	{"limits", "", 44, "", limitsOf},
	field("chance", "0%", 8, "chance", ""),
	field("headroom", "0%", 10, "headroom", ""),
	field("requests/s", "0.00", 11, "request_per_second", ""),
	field("tokens/s/GPU", "#,##0", 13, "tokens_per_processor", ""),
	field("$/M tokens", "0.00", 11, "dollars_per_million_tokens", ""),
	field("J/token", "0.000", 10, "joules_per_output_token", ""),
	field("tokens/J", "0.000", 10, "tokens_per_joule", ""),
	{"why none", "", 40, "", func(r *result.Record) any {
		if len(r.Reasons) == 0 {
			return nil
		}
		return r.Reasons[0]
	}},
}

func bandOf(r *result.Record, which int) any {
	if r.Trusted == nil {
		return nil
	}
	return number.Band([2]float64{r.Trusted.TTFT.Band, r.Trusted.TPOT.Band}[which])
}

// limitsOf lists the statistics that were asked for, with ✓ and ✗.
func limitsOf(r *result.Record) any {
	out := ""
	for _, v := range r.Verdicts() {
		if out != "" {
			out += "; "
		}
		out += v.String()
	}
	if out == "" {
		return nil
	}
	return out
}

const (
	wrapped   = 40 // width from which a column holds sentences
	rowHeight = 15 // points
)

// sentences is how far the lines of the answer run.
const sentences = 10

// writeAnswer writes the sentences, and below them the runs as people compare them, without empty
// columns.
func (w *Workbook) writeAnswer() {
	s := w.book.Sheet(AnswerSheet)
	var columns []*answerColumn
	for i := range answerColumns {
		c := &answerColumns[i]
		for _, r := range w.shown {
			if cell(c.value(r)) != nil {
				columns = append(columns, c)
				s.Widths = append(s.Widths, spreadsheet.Width{First: len(columns), Last: len(columns), Width: c.width})
				break
			}
		}
	}
	for _, line := range w.Answer {
		s.HighRow(18*float64(1+len(line)/120), spreadsheet.Cell{Value: line, Style: spreadsheet.Style{Size: 13, Wrapped: true}})
		s.Merge(1, sentences)
	}
	if len(columns) > 0 {
		s.Row()
		w.compare(s, columns, len(w.Answer)+2)
	}
}

// compare writes the table of the first sheet, whose header is the row of a number.
func (w *Workbook) compare(s *spreadsheet.Sheet, columns []*answerColumn, top int) {
	table := area{s, top, len(columns), len(w.shown), 0}
	line := make([]any, len(columns))
	for i, c := range columns {
		title := head(c.title, c.format != "")
		title.Style.Inset = c.format == ""
		line[i] = title
		table.shade(1+i, 1+i, c.shade)
	}
	s.Row(line...)
	for _, r := range w.shown {
		lines := 1
		for i, c := range columns {
			style := spreadsheet.Style{Format: c.format, Wrapped: c.width >= wrapped, Top: true, Inset: c.format == ""}
			v := cell(c.value(r))
			line[i] = spreadsheet.Cell{Value: v, Style: style}
			if text, ok := v.(string); ok && style.Wrapped {
				lines = max(lines, 1+utf8.RuneCountInString(text)/int(c.width-2))
			}
		}
		s.HighRow(rowHeight*float64(lines), line...)
	}
	table.finish()
}
