package exchange

import (
	"fmt"
	"slices"

	"throughline/collective"
	"throughline/deploy"
	"throughline/hardware"
	"throughline/internal/catalogue"
	"throughline/internal/document"
	"throughline/internal/question"
	"throughline/internal/scan"
	"throughline/internal/table"
	"throughline/model"
)

// Answer answers a question at all points of its axes, and reports all problems of all points.
func Answer(s *scan.Scan) (rows []Row, remarks []question.Remark, err error) {
	var errs []error
	values := make([]scan.Value, len(s.Axes))
	for i := range s.Len() {
		s.At(i, values)
		q, more, err := ask(question.NewQuery(s.In, question.Comm, s.WordsAt(values)))
		remarks = append(remarks, more...)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for k := range s.Axes {
			q.Place = append(q.Place, values[k].Text)
		}
		found, err := Rows(q)
		rows, errs = append(rows, found...), append(errs, err)
	}
	return rows, remarks, question.Once(document.Join(errs...))
}

// Table is the rows, with a column before the others for each axis; shown are those for people.
func Table(s *scan.Scan, rows []Row) (t *table.Table[*Row], shown []string) {
	t, shown = table.Of(slices.Clone(Columns), rows), slices.Clone(Shown)
	for k := range slices.Backward(s.Axes) {
		name := s.Axes[k].Name
		t.Columns = slices.Insert(t.Columns, 0, table.TextColumn(name, func(r *Row) string { return r.Place[k] }))
		shown = slices.Insert(shown, 0, name)
	}
	return t, shown
}

// ask reads the files of a question and reports all its problems.
func ask(query *question.Query) (*Question, []question.Remark, error) {
	errs := []error{query.Wrong}
	note := func(err error) { errs = append(errs, err) }
	q := &Question{Fabric: query.Exchange.Fabric, Ranks: question.Numbers(query.Exchange.Ranks), Tokens: question.Numbers(query.Exchange.Tokens)}
	var fabrics []string
	for _, name := range question.Words(query.Exchange.Libraries) {
		if l, ok := collective.FindLibrary(name); ok {
			q.Libraries, fabrics = append(q.Libraries, l), append(fabrics, l.FabricNames()...)
		}
	}
	var err error
	q.Dispatch, err = deploy.ExchangedBytes("dispatch", query.Formats.Dispatch)
	note(err)
	q.Combine, err = deploy.ExchangedBytes("combine", query.Formats.Combine)
	note(err)
	if q.Fabric != "" && !slices.Contains(fabrics, q.Fabric) {
		note(question.OfSetting("fabric", fmt.Errorf("none of these libraries has numbers of its own for %s; leave it out", q.Fabric)))
	}
	var remarks []question.Remark
	places := catalogue.Places{In: query.In}
	f, err := question.Find("system", query.System, hardware.Catalogue, places)
	if note(err); err == nil {
		var doc *document.File
		q.System, doc = hardware.Read(f.Name, f.Source)
		remarks = append(remarks, question.Warnings(doc.Warnings())...)
		note(doc.Err())
	}
	f, err = question.Find("model", query.Model, model.Catalogue, places)
	if note(err); err == nil {
		var doc *document.File
		q.Model, _, doc = model.Read(f.Name, f.Source)
		remarks = append(remarks, question.Warnings(doc.Warnings())...)
		note(doc.Err())
		if doc.Err() == nil && !q.Model.IsMoE() {
			note(question.OfSetting("model", fmt.Errorf("%s has no experts, whose tokens could be sent", q.Model.Name)))
		}
	}
	if q.System != nil {
		for _, n := range q.Ranks {
			if most := q.System.MaxProcs(); n > most {
				note(question.OfSetting("ep", fmt.Errorf("%s joins at most %d GPUs, not %d", q.System.Name, most, n)))
			}
		}
	}
	return q, remarks, question.Once(document.Join(errs...))
}
