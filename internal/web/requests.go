package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"throughline"
	"throughline/number"
	"throughline/serving/simulate"
)

// betweenName is a part of a run, as FROM:TO in hundredths of it, requestName one of its requests.
const (
	betweenName = "between"
	requestName = "request"
)

func init() { ofPage = append(ofPage, betweenName, requestName) }

// mostListed is how many requests of a part of a run are listed, and how many steps of one.
const mostListed = 50

// mostSimulated is how many requests a run may have whose requests are listed: they are all kept.
const mostSimulated = 200_000

type requestRow struct {
	ID                              int64
	Came, Waited, TTFT, TPOT, Whole string
	Input, Output                   int
	On                              bool
}

// stepRow is a step, or several alike.
type stepRow struct {
	Begins, Takes, Kind, Place string
	Decodes, Tokens, Waiting   int
}

type stepList struct {
	Says string
	Rows []stepRow
}

// shares reads a part of a whole, in hundredths.
func shares(text string) (out [2]float64, ok bool) {
	from, to, _ := strings.Cut(text, ":")
	a, wrongA := strconv.ParseFloat(from, 64)
	b, wrongB := strconv.ParseFloat(to, 64)
	if wrongA != nil || wrongB != nil || !(a >= 0 && b > a && b <= 100) {
		return out, false
	}
	return [2]float64{a / 100, b / 100}, true
}

// requestsPage is the requests of a part of a run, as a part of the page.
type requestsPage struct {
	*page
	Says  string
	Rows  []requestRow
	Steps *stepList
}

// requests answers with the requests of a part of a run.
func (s *Server) requests(w http.ResponseWriter, r *http.Request) {
	st := loading.read(r)
	out := requestsPage{page: &page{state: st}}
	within, ok := shares(st.shown[betweenName])
	if st.wrong == nil && !ok {
		st.wrong = fmt.Errorf("%s must be two numbers from 0 to 100, like 10:20", betweenName)
	}
	if s.part(w, r, st, func(ctx context.Context) error { return s.fill(ctx, &out, within) }) {
		w.Header().Set("Content-Type", htmlType)
		render(w, "requests", out)
	}
}

// fill simulates the run once more, and keeps the requests that came in a part of it.
func (s *Server) fill(ctx context.Context, out *requestsPage, part [2]float64) error {
	st := out.state
	sim, err := throughline.NewSimulation(throughline.Question(st.words), s.reading()...)
	if err == nil {
		err = sim.Settle(ctx)
	}
	if err != nil {
		return err
	}
	o := sim.Options
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	var all []simulate.Ended
	o.Each = func(e *simulate.Ended) {
		if all = append(all, *e); len(all) > mostSimulated {
			cancel()
		}
	}
	got, err := sim.Run(within, o)
	if len(all) > mostSimulated {
		return fmt.Errorf("only runs of up to %s requests are listed one by one", number.Grouped(mostSimulated))
	}
	if err != nil {
		return err
	}
	from, to := part[0]*got.Duration(), part[1]*got.Duration()
	came := slices.DeleteFunc(slices.Clone(all), func(e simulate.Ended) bool {
		came := e.Arrival - got.Start
		return came < from || came > to
	})
	slices.SortStableFunc(came, func(a, b simulate.Ended) int { return cmp.Compare(b.First-b.Arrival, a.First-a.Arrival) })
	out.Says = st.language.tell("Requests that came from %s to %s: %d, the longest TTFT first", number.Time(from, 3), number.Time(to, 3), len(came))
	for i := range came[:min(len(came), mostListed)] {
		out.Rows = append(out.Rows, rowOf(&came[i], got.Start, st.shown[requestName]))
	}
	if at := slices.IndexFunc(all, func(e simulate.Ended) bool { return fmt.Sprint(e.ID) == st.shown[requestName] }); at >= 0 {
		out.Steps, err = stepsOf(ctx, st.language, sim, &all[at])
	}
	return err
}

// rowOf shows a request of a run that is counted from a time on.
func rowOf(e *simulate.Ended, from float64, on string) requestRow {
	return requestRow{ID: e.ID, Came: number.Time(e.Arrival-from, 4), Waited: number.Time(e.Scheduled-e.Arrival, 3), TTFT: number.Time(e.First-e.Arrival, 3), TPOT: number.Time(e.TPOT(), 3),
		Whole: number.Time(e.Finish-e.Arrival, 3), Input: e.Input, Output: e.Output, On: fmt.Sprint(e.ID) == on}
}

// stepsOf are the steps that ran at the places of a request while it was there: those before its
// first token one by one, the others joined as far as they are of one kind.
func stepsOf(ctx context.Context, l *language, sim *throughline.Simulation, e *simulate.Ended) (*stepList, error) {
	out := &stepList{}
	var joined []simulate.Step
	count, before := 0, 0.0
	o := sim.Options
	o.Watch = func(s *simulate.Step) {
		at := simulate.Place{Server: s.Server, Rank: s.Rank}
		first := at == e.Began && s.End > e.Scheduled && s.Start < e.First
		later := at == e.Ended && s.Start >= e.First && s.Start < e.Finish
		if !first && !later {
			return
		}
		if count++; first {
			before += s.End - s.Start
		}
		step := *s
		work := *s.Work
		step.Work = &work
		if n := len(joined); !first && n > 0 && joined[n-1].Start >= e.First && joined[n-1].Work.Kind() == work.Kind() {
			joined[n-1].End = s.End
			joined[n-1].Index++
			return
		}
		step.Index = 1
		joined = append(joined, step)
	}
	got, err := sim.Run(ctx, o)
	if err != nil {
		return nil, err
	}
	for _, s := range joined[:min(len(joined), mostListed)] {
		row := stepRow{Begins: number.Time(s.Start-got.Start, 5), Takes: number.Time(s.End-s.Start, 3), Kind: s.Work.KindName(), Decodes: s.Work.Decodes, Tokens: s.Work.Tokens(), Waiting: s.Waiting,
			Place: l.tell("server %d, rank %d", s.Server, s.Rank)}
		if s.Index > 1 {
			row.Kind = fmt.Sprintf("%d × %s", s.Index, row.Kind)
		}
		out.Rows = append(out.Rows, row)
	}
	out.Says = l.tell("Steps that ran while request %d was there: %d; those before its first token took %s, after it had waited %s", e.ID, count, number.Time(before, 3), number.Time(e.Scheduled-e.Arrival, 3))
	return out, nil
}
