package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"throughline/internal/advice"
	"throughline/internal/gap"
	"throughline/internal/question"
	"throughline/internal/validate"
)

// predictsOnce: pages and pictures show one table of runs in several ways. Its predictions take most
// of a minute, and are made once in all tests of this process. Programs that scripts start read
// their tables themselves.
func predictsOnce() {
	for i := range validations {
		if t := &validations[i]; t.predict != nil {
			t.predict = once(t.predict)
		}
	}
	search, try, why := searchPlans, tryLayouts, explainGap
	searchPlans = func(ctx context.Context, p *advice.Plans) error {
		found, err := shared(ctx, "plan "+planKey(p), func() (*advice.Advice, error) {
			err := search(ctx, p)
			return p.Advice, err
		})
		if found != nil {
			own := *found // the launch and the layouts tried are set in it
			p.Advice = &own
		}
		return err
	}
	tryLayouts = func(ctx context.Context, p *advice.Plans) ([]advice.Tried, error) {
		return shared(ctx, "tried "+planKey(p), func() ([]advice.Tried, error) { return try(ctx, p) })
	}
	explainGap = func(ctx context.Context, q *question.Query) (*gap.Result, error) {
		asked := *q
		asked.In, asked.Refuse = nil, nil
		return shared(ctx, fmt.Sprintf("gap %+v", asked)+folder(), func() (*gap.Result, error) { return why(ctx, q) })
	}
}

// sharing marks the context of a test that looks at how an answer is shown, not at whether it is
// the same when it is found again.
type sharing struct{}

var (
	formsOnly   = context.WithValue(context.Background(), sharing{}, true)
	sharedFound sync.Map
)

// shared is find, whose answers to one question are shared by tests of forms.
func shared[A any](ctx context.Context, question string, find func() (A, error)) (A, error) {
	if ctx.Value(sharing{}) == nil {
		return find()
	}
	found, _ := sharedFound.LoadOrStore(question, sync.OnceValues(find))
	return found.(func() (A, error))()
}

// folder is in which files are found.
func folder() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	return dir
}

// planKey is all that a search reads.
func planKey(p *advice.Plans) string {
	asked := p.Loaded.Question
	asked.In = nil
	files, err := json.Marshal([]any{p.Loaded.Shape, p.Loaded.Prefill, p.Loaded.Decode, p.Loaded.Corrected})
	if err != nil {
		panic(err)
	}
	key := fmt.Sprintf("%+v %d %s", asked, p.Options.Workers, files)
	if asked.Fleet+asked.Popularity+asked.Traffic.Trace+asked.Distribution != "" {
		key += folder() // which may name files
	}
	return key
}

type prediction = func(context.Context, string, io.Reader, question.Question) (*validate.Report, error)

// once is predict, whose reports of one table and question are shared.
func once(predict prediction) prediction {
	var answers sync.Map
	return func(ctx context.Context, name string, src io.Reader, q question.Question) (*validate.Report, error) {
		content, err := io.ReadAll(src)
		if err != nil {
			return nil, err
		}
		asked := q
		asked.By, asked.Worst = "", 0 // how it is shown
		answer := sync.OnceValues(func() (*validate.Report, error) {
			return predict(ctx, name, bytes.NewReader(content), q)
		})
		key := fmt.Sprintf("%q %q %+v", name, content, asked)
		shared, _ := answers.LoadOrStore(key, answer)
		r, err := shared.(func() (*validate.Report, error))()
		if err != nil {
			answers.Delete(key)
			return nil, err
		}
		own := *r
		own.Rows = slices.Clone(r.Rows) // groups are set in it
		return &own, nil
	}
}
