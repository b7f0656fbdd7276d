package workbook

import (
	"cmp"

	"github.com/xuri/excelize/v2"

	"throughline/internal/result"
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
	field("GPUs", "0", 7, "num_procs", ""),
	field("engine", "", 9, "engine", ""),
	field("prefill", "", 26, "prefill_plans", ""),
	field("decode", "", 30, "decoder_plans", ""),
	field("TTFT ms", "#,##0", 10, "TTFT(s)", result.Millis),
	{"TTFT band", "", 10, "", func(r *result.Record) any { return bandOf(r, 0) }},
	field("TPOT ms", "0.0", 10, "TPOT(s)", result.Millis),
	{"TPOT band", "", 10, "", func(r *result.Record) any { return bandOf(r, 1) }},
	{"limits", "", 26, "", limitsOf},
	field("chance", "0%", 8, "chance", ""),
	field("headroom", "0%", 10, "headroom", ""),
	field("requests/s", "0.00", 11, "request_per_second", ""),
	field("tokens/s/GPU", "#,##0", 13, "tokens_per_processor", ""),
	field("$/M tokens", "0.00", 11, "dollars_per_million_tokens", ""),
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

// writeAnswer writes the sentences, and below them the runs as people compare them.
func (w *Workbook) writeAnswer() error {
	f := w.file
	wrapped, err := f.NewStyle(&excelize.Style{Font: &excelize.Font{Size: 13}, Alignment: &excelize.Alignment{WrapText: true, Vertical: "top"}})
	if err != nil {
		return err
	}
	for i, line := range w.Answer {
		at := rowName(1 + i)
		if err := f.SetCellStr(AnswerSheet, at, line); err != nil {
			return err
		}
		end, err := excelize.CoordinatesToCellName(10, 1+i)
		if err != nil {
			return err
		}
		if err := f.MergeCell(AnswerSheet, at, end); err != nil {
			return err
		}
		if err := f.SetCellStyle(AnswerSheet, at, end, wrapped); err != nil {
			return err
		}
		if err := f.SetRowHeight(AnswerSheet, 1+i, 18*float64(1+len(line)/120)); err != nil {
			return err
		}
	}
	return w.writeCompared(len(w.Answer) + 2)
}

// writeCompared writes the table of the first sheet from a row on, without empty columns.
func (w *Workbook) writeCompared(top int) error {
	at := 0
	for i := range answerColumns {
		c := &answerColumns[i]
		used := false
		for _, r := range w.shown {
			used = used || cell(c.value(r)) != nil
		}
		if !used {
			continue
		}
		at++
		table := area{AnswerSheet, top, at, len(w.shown), 0}
		if err := cmp.Or(w.compare(c, at, top), table.shade(w.file, at, at, c.shade)); err != nil {
			return err
		}
	}
	if at == 0 {
		return fit(w.file, AnswerSheet)
	}
	table := area{AnswerSheet, top, at, len(w.shown), 0}
	return cmp.Or(table.finish(w.file), fit(w.file, AnswerSheet))
}

// compare writes a column of the table.
func (w *Workbook) compare(c *answerColumn, at, top int) error {
	f := w.file
	name, err := excelize.ColumnNumberToName(at)
	if err != nil {
		return err
	}
	if err := f.SetColWidth(AnswerSheet, name, name, c.width); err != nil {
		return err
	}
	aligned := &excelize.Alignment{}
	style := 0
	if c.format != "" {
		aligned.Horizontal = "right"
		if style, err = f.NewStyle(&excelize.Style{CustomNumFmt: &c.format}); err != nil {
			return err
		}
	}
	head, err := f.NewStyle(&excelize.Style{Font: &excelize.Font{Bold: true}, Fill: headerFill, Alignment: aligned})
	if err != nil {
		return err
	}
	for i := -1; i < len(w.shown); i++ {
		place, err := excelize.CoordinatesToCellName(at, top+1+i)
		if err != nil {
			return err
		}
		value, look := any(c.title), head
		if i >= 0 {
			value, look = cell(c.value(w.shown[i])), style
		}
		if value == nil {
			continue
		}
		if text, ok := value.(string); ok {
			err = f.SetCellStr(AnswerSheet, place, text)
		} else {
			err = f.SetCellValue(AnswerSheet, place, value)
		}
		if err != nil {
			return err
		}
		if err := f.SetCellStyle(AnswerSheet, place, place, look); err != nil {
			return err
		}
	}
	return nil
}
