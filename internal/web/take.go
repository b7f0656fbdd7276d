package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"throughline"
	"throughline/internal/advice"
	"throughline/internal/api"
	"throughline/internal/chart"
	"throughline/internal/explain"
	reports "throughline/internal/page"
	"throughline/internal/picture"
	"throughline/internal/report"
	"throughline/internal/result"
	"throughline/internal/sentence"
	"throughline/internal/table"
	"throughline/internal/trace"
	"throughline/internal/workbook"
	"throughline/serving/simulate"
)

// file sends what can be taken away.
func (s *Server) file(v *view) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("file")
		make, ok := v.files[name]
		if !ok {
			s.fail(w, r, http.StatusNotFound, errors.New("there is no such file"))
			return
		}
		st := v.read(r)
		var out *download
		if !s.part(w, r, st, func(ctx context.Context) (err error) {
			out, err = make(s, ctx, st)
			return err
		}) {
			return
		}
		h := w.Header()
		h.Set("Content-Type", out.kind)
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
		w.Write(out.data)
	}
}

// take is the address of a file of the view.
func (st *state) take(name string) string {
	path, query, _ := strings.Cut(st.address(), "?")
	return strings.TrimSuffix(path+"/"+name+"?"+query, "?")
}

// programs is the address of the same answer for programs.
func (st *state) programs(words map[string]string) string {
	return strings.TrimSuffix(api.Path+st.view.of.Paths()[0]+"?"+encode(st.view.query(words)), "?")
}

func (st *state) planTakes() []link {
	return []link{{"JSON", st.programs(st.words)}, {"CSV", st.take("plan.csv")}, {"xlsx", st.take("plan.xlsx")}, {"Parquet", st.take("plan.parquet")},
		{"SVG", st.take("frontier.svg")}, {"PNG", st.take("frontier.png")}, {"Report", st.take("plan.html")}}
}

func (st *state) pointTakes() []link {
	return []link{{"JSON", st.programs(st.words)}, {"CSV", st.take("operators.csv")}, {"SVG", st.take("timeline.svg")}, {"PNG", st.take("roofline.png")},
		{"Perfetto", st.take("trace.json")}, {"Report", st.take("explain.html")}}
}

func (st *state) loadTakes() []link {
	return []link{{"JSON", st.programs(st.words)}, {"CSV", st.take("timeline.csv")}, {"Parquet", st.take("requests.parquet")}, {"SVG", st.take("load.svg")}, {"Perfetto", st.take("trace.json")}}
}

func (st *state) mapTakes() []link {
	return []link{{"JSON", st.programs(st.words)}, {"CSV", st.take("map.csv")}, {"Parquet", st.take("map.parquet")}}
}

// mostFile is how large a file may be that is taken away: it is made in memory.
const mostFile = 256 << 20

// errLarge: a file has more.
var errLarge = fmt.Errorf("the file has more than %d MiB; the command line writes it", mostFile>>20)

// file is one in memory.
type file struct{ bytes.Buffer }

func (f *file) Write(p []byte) (int, error) {
	if f.Len()+len(p) > mostFile {
		return 0, errLarge
	}
	return f.Buffer.Write(p)
}

func written(kind string, write func(w io.Writer) error) (*download, error) {
	var f file
	err := write(&f)
	return &download{kind, f.Bytes()}, err
}

// Types of files.
const (
	htmlType    = "text/html; charset=utf-8"
	csvType     = "text/csv; charset=utf-8"
	svgType     = "image/svg+xml"
	pngType     = "image/png"
	jsonType    = "application/json"
	sheetType   = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	parquetType = "application/vnd.apache.parquet"
)

// Size of charts in files.
const fileWidth, fileScale = 900.0, 2.0

// pictureFile is a chart as a file; its name says the form.
func pictureFile(c *chart.Chart, name string) (*download, error) {
	scene := c.Draw(fileWidth, 0, "")
	if strings.HasSuffix(name, ".png") {
		return written(pngType, func(w io.Writer) error { return chart.WritePNG(w, scene.Scaled(fileScale), chart.Light) })
	}
	return written(svgType, func(w io.Writer) error { return chart.SVG{Theme: chart.Light, Follow: true}.Write(w, scene) })
}

type filer = func(s *Server, ctx context.Context, st *state) (*download, error)

// ofPlan is a file of the plans of a question that have rows, the best first.
func ofPlan(make func(ctx context.Context, plans []*advice.Plans) (*download, error)) filer {
	return func(s *Server, ctx context.Context, st *state) (*download, error) {
		plans, err := s.plan(ctx, st.words, nil)
		if err != nil {
			return nil, err
		}
		var found []*advice.Plans
		for _, r := range rankedRows(plans) {
			if !slices.Contains(found, r.of.Plans.Plans) {
				found = append(found, r.of.Plans.Plans)
			}
		}
		if len(found) == 0 {
			return nil, errors.New("no deployment was found")
		}
		return make(ctx, found)
	}
}

// choicesOf are plans of several systems for one drawing.
func choicesOf(plans []*advice.Plans) (out []picture.Choice) {
	for i, p := range plans {
		out = append(out, picture.Choice{Name: p.Loaded.Decode.Name, Place: i, Plans: p})
	}
	return out
}

// planTable is the rows of a plan in the form of a file name.
func planTable(name, kind string) filer {
	return ofPlan(func(ctx context.Context, plans []*advice.Plans) (*download, error) {
		var all []*result.Record
		for _, p := range plans {
			runs, err := workbook.PlanRecords(ctx, p)
			if err != nil {
				return nil, err
			}
			for _, r := range runs {
				r.Number = len(all)
				all = append(all, r)
			}
		}
		return written(kind, func(w io.Writer) error { return workbook.WriteRecords(w, name, sentence.Plan(plans[0]), all) })
	})
}

func planPicture(name string) filer {
	return ofPlan(func(_ context.Context, plans []*advice.Plans) (*download, error) {
		k, _ := picture.Find(picture.PlanKinds, "frontier")
		draw := func() (*chart.Chart, error) { return k.Draw(plans[0]) }
		if len(plans) > 1 {
			draw = (&picture.Choices{Plans: choicesOf(plans), Across: &picture.Across[0], Up: &picture.Up[0]}).Draw
		}
		c, err := draw()
		if err != nil {
			return nil, err
		}
		return pictureFile(c, name)
	})
}

var planFiles = map[string]filer{
	"plan.csv": planTable("plan.csv", csvType), "plan.xlsx": planTable("plan.xlsx", sheetType), "plan.parquet": planTable("plan.parquet", parquetType),
	"frontier.svg": planPicture("frontier.svg"), "frontier.png": planPicture("frontier.png"),
	"plan.html": ofPlan(func(_ context.Context, plans []*advice.Plans) (*download, error) {
		return written(htmlType, reports.Planned(plans[0]).Write)
	}),
}

func ofPoint(make func(x *explain.Explained) (*download, error)) filer {
	return func(s *Server, ctx context.Context, st *state) (*download, error) {
		x, err := s.explained(ctx, st)
		if err != nil {
			return nil, err
		}
		return make(x.Explained)
	}
}

func stepPicture(kind, name string) filer {
	return ofPoint(func(x *explain.Explained) (*download, error) {
		for i, why := range x.Why {
			if why == nil {
				continue
			}
			k, _ := picture.Find(picture.StepKinds, kind)
			c, err := k.Draw(picture.Step{Answer: x.Answer, Phase: i, Why: why, Parts: x.Parts})
			if err != nil {
				return nil, err
			}
			return pictureFile(c, name)
		}
		return nil, fmt.Errorf("there is no %s", kind)
	})
}

var pointFiles = map[string]filer{
	"operators.csv": ofPoint(func(x *explain.Explained) (*download, error) {
		return written(csvType, func(w io.Writer) error { return report.WriteOps(w, x.Record) })
	}),
	"timeline.svg": stepPicture("timeline", "timeline.svg"), "roofline.png": stepPicture("roofline", "roofline.png"),
	"waterfall.svg": stepPicture("waterfall", "waterfall.svg"),
	"trace.json": ofPoint(func(x *explain.Explained) (*download, error) {
		return written(jsonType, func(w io.Writer) error {
			t := trace.New(w)
			explain.Trace(t, x.Answer)
			return t.Close()
		})
	}),
	"explain.html": ofPoint(func(x *explain.Explained) (*download, error) { return written(htmlType, reports.Explained(x).Write) }),
}

// ofLoad is a file of a simulation, which may be watched.
func ofLoad(make func(s *throughline.Simulation, ctx context.Context) (*download, error)) filer {
	return func(s *Server, ctx context.Context, st *state) (*download, error) {
		sim, err := throughline.NewSimulation(throughline.Question(st.words), s.reading()...)
		if err == nil {
			err = sim.Settle(ctx)
		}
		if err != nil {
			return nil, err
		}
		return make(sim, ctx)
	}
}

var loadFiles = map[string]filer{
	"timeline.csv": ofLoad(func(m *throughline.Simulation, ctx context.Context) (*download, error) {
		o := m.Options
		o.Every = m.Query.Traffic.TimelineEvery
		r, err := m.Run(ctx, o)
		if err != nil {
			return nil, err
		}
		return written(csvType, func(w io.Writer) error { return report.WriteTimeline(w, table.CSV, r) })
	}),
	"requests.parquet": ofLoad(func(m *throughline.Simulation, ctx context.Context) (*download, error) {
		return written(parquetType, func(w io.Writer) error {
			out := table.NewWriter(w, table.Parquet, report.RequestColumns)
			o := m.Options
			var failed error
			o.Each = func(q *simulate.Ended) { failed = errors.Join(failed, out.Add(q)) }
			if _, err := m.Run(ctx, o); err != nil {
				return err
			}
			return errors.Join(failed, out.Close())
		})
	}),
	"load.svg": ofLoad(func(m *throughline.Simulation, ctx context.Context) (*download, error) {
		o := m.Options
		o.Every = drawnEvery
		r, err := m.Run(ctx, o)
		if err != nil {
			return nil, err
		}
		k, _ := picture.Find(picture.LoadKinds, "load")
		c, err := k.Draw(picture.Load{Title: report.DeploymentTitle(&m.Deployment, false), Result: r})
		if err != nil {
			return nil, err
		}
		return pictureFile(c, "load.svg")
	}),
	"trace.json": ofLoad(func(m *throughline.Simulation, ctx context.Context) (*download, error) {
		return written(jsonType, func(w io.Writer) error {
			o := m.Options
			t := report.NewSimulationTrace(w, &o)
			o.Watch, o.Each = t.Step, t.Request
			if _, err := m.Run(ctx, o); err != nil {
				return err
			}
			return t.Close()
		})
	}),
}
