package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

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
