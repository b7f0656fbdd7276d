package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"throughline"
	"throughline/internal/chart"
	"throughline/internal/explain"
	"throughline/internal/picture"
	"throughline/internal/question"
	"throughline/internal/sentence"
	"throughline/number"
	"throughline/op"
)

// glance is the answer without what many more evaluations tell.
type glance struct {
	*throughline.Explained
	main int // the phase that clients see
	at   int // the one that is drawn
}

// glanced answers while a slider moves: nobody reads the rest then. The last answers are kept, for
// what changes nothing but how they are drawn.
func (s *Server) glanced(ctx context.Context, st *state, words map[string]string) (*glance, error) {
	words = without(words, "ttft", "tpot", "seek", "until")
	name := st.shown[stepName] + " " + encode(explaining.query(words))
	if known, ok := s.glances.get(name); ok {
		return known, nil
	}
	got, err := throughline.Estimate(ctx, throughline.Question(words), s.reading()...)
	if err != nil {
		return nil, err
	}
	if got.Answer.Seen == nil {
		return nil, errors.New(cmp.Or(got.Answer.Remark, "no client can be served"))
	}
	g := &glance{Explained: &throughline.Explained{Explained: &explain.Explained{Answer: got.Answer, Why: make([]*explain.Explanation, len(got.Phases))}}}
	if g.Parts, err = explain.PartsOf(got.Answer); err != nil {
		return nil, err
	}
	g.at = st.phase(g.Explained)
	for i := range got.Phases {
		if got.Phases[i].Phase == op.Decode {
			g.main = i
		}
	}
	for _, i := range []int{g.main, g.at} {
		if g.Why[i] == nil {
			if g.Why[i], err = explain.Glance(got.Answer, i); err != nil {
				return nil, err
			}
		}
	}
	s.glances.put(name, g)
	return g, nil
}

// before is the answer with the numbers of the file; nil: they are as in the file, or it has none.
func (s *Server) before(ctx context.Context, st *state) *glance {
	if st.words[setName] == "" {
		return nil
	}
	g, err := s.glanced(ctx, st, without(st.words, setName))
	if err != nil {
		return nil
	}
	return g
}

// seconds is what clients see of a phase.
func (g *glance) seconds(phase op.Phase) float64 {
	if phase == op.Prefill {
		return g.Record.TTFT
	}
	return g.Record.TPOT
}

// ghost is what charts show of it.
func (g *glance) ghost() *picture.Step {
	if g == nil {
		return nil
	}
	return &picture.Step{Answer: g.Answer, Phase: g.at, Why: g.Why[g.at], Parts: g.Parts}
}

// frame is what changes on the page while a slider moves: texts, and patches of its charts.
func (s *Server) frame(w http.ResponseWriter, r *http.Request) {
	from := r.URL.Query().Get("was")
	q := r.URL.Query()
	see := question.Words(q.Get("see"))
	q.Del("was")
	q.Del("see")
	r.URL.RawQuery = q.Encode()
	st := explaining.read(r)
	out := struct {
		Drawn   string                 `json:"drawn"`
		Answer  string                 `json:"answer"`
		Now     string                 `json:"now"`
		Table   string                 `json:"table"`
		Patches map[string]chart.Patch `json:"patches"`
		Whole   map[string]string      `json:"whole,omitempty"`
		Address string                 `json:"address"`
		Command string                 `json:"command"`
	}{Patches: map[string]chart.Patch{}, Whole: map[string]string{}}
	err := st.wrong
	if err == nil {
		err = s.work.do(r.Context(), s.deadline, func(ctx context.Context) error {
			x, err := s.glanced(ctx, st, st.words)
			if err != nil {
				return err
			}
			st.seen = see
			was := s.before(ctx, st)
			got := &reason{Says: sentence.Explained(x.Explained.Explained)}
			got.Big, got.Unit, got.Band = bigTime(x.Explained, x.main)
			if was != nil {
				got.Was = number.Time(was.seconds(x.Phases[x.main].Phase), 3)
				got.Says = append(got.Says, st.language.tell("With the numbers of the file it is %s.", got.Was))
			}
			got.operators(st.language, x.Why[x.at], &x.Phases[x.at])
			charts, scenes := st.whyCharts(x.Explained, x.at, was.ghost())
			out.Drawn = secretText(9)
			before, known := s.drawn.get(from)
			for _, c := range charts {
				if known && before.scenes[c.ID] != nil {
					out.Patches[c.ID] = chart.Diff(before.scenes[c.ID], scenes[c.ID], nil)
				} else {
					out.Whole[c.ID] = string(c.SVG)
				}
			}
			for id, old := range before.scenes { // what nobody sees stays as it is on the page
				if scenes[id] == nil {
					scenes[id] = old
				}
			}
			s.drawn.put(out.Drawn, drawing{scenes})
			p := &page{state: st, Content: got}
			out.Answer, out.Now, out.Table = fragment("answer", p), fragment("now", p), fragment("operators", p)
			out.Address, out.Command = st.address(), explaining.command(st.words)
			return nil
		})
	}
	if err != nil {
		writeProblems(w, statusOf(err), err)
		return
	}
	writeJSON(w, out)
}

func fragment(name string, p *page) string {
	var b strings.Builder
	render(&b, name, p)
	return b.String()
}
