package web

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"

	"throughline/internal/files"
	"throughline/internal/picture"
	"throughline/internal/question"
	"throughline/internal/rows"
	"throughline/internal/validate"
	"throughline/number"
)

// mostNear is how many runs of a table are predicted: those nearest to the question.
const mostNear = 60

// nearShown is measured runs near the question, beside what is predicted for them.
type nearShown struct {
	Says  []string
	Chart template.HTML
	Rows  []besideRow
}

// near predicts the runs of a table that are nearest to the question; nil: there is no table.
func (s *Server) near(ctx context.Context, st *state) (*nearShown, error) {
	name := st.shown[runsName]
	if name == "" {
		return nil, nil
	}
	n := &nearShown{}
	if _, ok := s.held()[name]; !ok {
		n.Says = []string{missingUpload(st.language, name)}
		return n, nil
	}
	key := "near " + name + " " + encode(comparing.query(st.words))
	rows, ok := s.measuredRuns.get(key)
	if !ok {
		var err error
		if rows, err = nearRuns(ctx, s.door(), name, st.words); err != nil {
			return nil, question.OfSetting(runsName, err)
		}
		s.measuredRuns.put(key, rows)
	}
	report := &validate.Report{Figures: []string{"TTFT", "TPOT"}}
	close, all := 0, 0
	for i, r := range rows {
		report.Rows = append(report.Rows, *r)
		for _, f := range r.Figures {
			if all++; math.Abs(f.Error()) <= 0.25 {
				close++
			}
		}
		ttft, tpot := r.Figures[0], r.Figures[1]
		n.Rows = append(n.Rows, besideRow{Ref: fmt.Sprintf("near%d", i), Name: strings.Join([]string{r.Model, r.System, r.Engine, r.Deployment}, " "), Clients: number.Grouped(r.Clients),
			TTFT: timePair(ttft.Measured/1e3, ttft.Predicted/1e3), TPOT: timePair(tpot.Measured/1e3, tpot.Predicted/1e3)})
	}
	if len(rows) == 0 {
		n.Says = []string{st.language.tell("%s has no run whose TTFT and TPOT are measured and can be predicted.", name)}
		return n, nil
	}
	n.Says = []string{st.language.tell("The nearest %d runs of %s, by model, system, engine and lengths: %d of %d figures are predicted within 25%%.", len(rows), name, close, all)}
	for _, k := range picture.MeasuredKinds {
		if k.Name == "scatter" {
			drawn, err := k.Draw(picture.Measured{Name: name, Unit: "ms", Report: report})
			if err != nil {
				return nil, err
			}
			n.Chart, _ = figure(drawn, st.width(mainWidth), 0, "near")
		}
	}
	return n, nil
}

// missingUpload says that a file of a link was not uploaded to this server.
func missingUpload(l *language, name string) string {
	return l.tell("the file %s is not here: upload it again", name)
}

// nearRuns reads a table twice: how near each row is, and then the predictions of the nearest.
func nearRuns(ctx context.Context, in *files.Door, name string, words map[string]string) ([]*validate.Row, error) {
	var far []float64
	if _, err := predictedRuns(ctx, in, name, func(r rows.Row) bool { far = append(far, distance(r, words)); return false }); err != nil {
		return nil, err
	}
	limit := math.Inf(1)
	if len(far) > mostNear {
		limit = slices.Sorted(slices.Values(far))[mostNear-1]
	}
	at, left := -1, mostNear
	return predictedRuns(ctx, in, name, func(rows.Row) bool {
		if at++; far[at] > limit || left == 0 {
			return false
		}
		left--
		return true
	})
}

// distance is how far a run is from a question. Another model counts as much as lengths that differ
// by a factor of e^4, another system or engine less.
func distance(r rows.Row, words map[string]string) (d float64) {
	for _, one := range []struct {
		asked, ran string
		weight     float64
	}{{modelName(words["model"]), modelOf(r), 4}, {systemName(words["system"]), systemOf(r), 2}, {words["engine"], r.Get("engine"), 1}} {
		if one.asked != "" && one.asked != one.ran {
			d += one.weight
		}
	}
	usual := question.DefaultOf(question.Compare)
	for _, setting := range []string{"isl", "osl", "concurrency"} {
		found, _ := question.Lookup(question.Compare, setting)
		text := words[setting]
		if text == "" {
			text = found.Get(&usual)
		}
		asked, wrongA := strconv.ParseFloat(text, 64)
		ran, wrongB := strconv.ParseFloat(r.Get(setting), 64)
		switch {
		case wrongA != nil: // the question leaves it open
		case wrongB != nil || ran <= 0 || asked <= 0:
			d++
		default:
			d += math.Abs(math.Log(ran / asked))
		}
	}
	return d
}
