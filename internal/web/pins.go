package web

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"throughline"
	"throughline/internal/question"
	"throughline/internal/result"
	"throughline/number"
)

// pin is a deployment that keeps its colour and shape in all views.
type pin struct {
	Letter      string
	Place       int
	Name, About string
	Value       string // tokens/s/GPU
	To, Off     string // addresses
	On          bool

	code   string
	system string
	perGPU float64
	record *result.Record
	words  map[string]string
}

const letters = "ABCD"

// estimated predicts a deployment, once.
func (s *Server) estimated(ctx context.Context, words map[string]string) (*throughline.Estimated, error) {
	name := encode(explaining.query(words))
	if got, ok := s.known.get(name); ok {
		return got, nil
	}
	got, err := throughline.Estimate(ctx, throughline.Question(words), s.reading()...)
	if err == nil {
		s.known.put(name, got)
	}
	return got, err
}

// pinned answers the deployments that the address pins. One that has no answer any more is left
// out, so that the others stay.
func (s *Server) pinned(ctx context.Context, st *state) (out []pin, err error) {
	for i, code := range st.pins {
		words := question.FromParameters(code)
		got, err := s.estimated(ctx, words)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p := pin{Letter: letters[i : i+1], Place: i, code: code, words: words, Name: words["system"], About: st.language.say("has no answer")}
		p.Off = st.to(st.view, st.words, st.shown, slices.Delete(slices.Clone(st.pins), i, i+1))
		p.To = st.to(explaining, words, planOrigin(st), st.pins)
		if err == nil && got.Record != nil && got.Record.Served {
			d := &got.Answer.Deployment
			p.record, p.perGPU, p.system = got.Record, got.Record.Tokens()/float64(d.Procs()), d.Pools[len(d.Pools)-1].System.Name
			p.Name, p.About, p.Value = fmt.Sprintf("%d × %s", d.Procs(), p.system), st.language.pools(d)+", "+d.Engine.Title, number.Rate(p.perGPU)
		}
		out = append(out, p)
	}
	return out, nil
}

// planOrigin is the question of the plan that deployments of this page come from.
func planOrigin(st *state) map[string]string {
	switch {
	case st.view == choosing && len(st.words) > 0:
		return map[string]string{askedName: encode(choosing.query(st.words))}
	case st.shown[askedName] != "":
		return map[string]string{askedName: st.shown[askedName]}
	}
	return nil
}

// markPins says which of the pins is the open row, and gives those that are rows the figures of
// their rows: of a plan all GPUs count, also those that stay free.
func (c *choice) markPins(pins []pin) {
	for _, rows := range [][]row{c.Front, c.Rows} {
		for k := range rows {
			r := &rows[k]
			at := strings.Index(letters, r.Letter)
			if r.Letter == "" || at < 0 || at >= len(pins) || pins[at].record == nil {
				continue
			}
			pins[at].On = pins[at].On || c.Picked != nil && c.Picked.Number == r.Number
			pins[at].perGPU, pins[at].Value, pins[at].record = r.candidate.PerGPU(), r.PerGPU.Value, &r.candidate.Record
		}
	}
}
