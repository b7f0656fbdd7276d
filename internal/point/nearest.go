package point

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"throughline/engine"
	"throughline/internal/question"
	"throughline/number"
)

// mostDeskGPUs is the most GPUs of one machine that are tried for a model that does not fit.
const mostDeskGPUs = 8

// servedFormats are the smaller formats of weights that servers run, the largest first.
var servedFormats = []string{"fp8", "int4"}

// Nearest are the smallest changes with which an overfull deployment fits: a smaller format, fewer
// layers on the GPUs where the engine runs others on the host, more GPUs.
func (e *Estimator) Nearest(q *question.Question) string {
	if q.DP > 1 || q.Split() {
		return "" // which of the GPUs should be more is not one number
	}
	host := engine.RunsOnHost(q.Engine)
	var out []string
	for _, name := range e.narrower(q) {
		if try := *q; e.fits(&try, func() { try.Formats.Weights = name }) {
			out = append(out, "`weights` "+name)
			break
		}
	}
	if layers := e.layers(q); host && layers > 0 {
		out = append(out, fmt.Sprintf("`gpu-layers` %d", layers))
	}
	for n := max(q.Over, q.PP*q.TP) + 1; n <= mostDeskGPUs; n++ {
		if try := *q; e.fits(&try, func() { try.Over, try.PP, try.TP = n, 1, 1 }) {
			out = append(out, fmt.Sprintf("`gpus` %d", n))
			break
		}
	}
	switch {
	case len(out) > 0:
		return "it fits with " + strings.Join(out, ", or with ")
	case host:
		return "no smaller format, no share of layers on the host and no number of GPUs up to 8 makes it fit"
	}
	return "neither FP8 nor INT4 weights nor any number of GPUs up to 8 makes it fit"
}

// narrower are formats with fewer bytes than the given one, the largest first: those of GGUF files
// where the engine reads them.
func (e *Estimator) narrower(q *question.Question) (out []string) {
	if !engine.RunsOnHost(q.Engine) {
		return servedFormats
	}
	now, given := number.Find(q.Formats.Weights)
	for i := range number.Formats {
		if f := &number.Formats[i]; f.Kind == number.GGUF && f.BesideExperts == "" && (!given || f.Bytes < now.Bytes) {
			out = append(out, f.Name)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int {
		x, _ := number.Find(a)
		y, _ := number.Find(b)
		return int(1e3 * (y.Bytes - x.Bytes))
	})
	return out
}

// layers is the most layers on the GPUs with which a deployment fits; 0: none, or it is not known
// how fast the host is.
func (e *Estimator) layers(q *question.Question) int {
	l := e.open(q).loaded
	if l == nil || l.Decode.Memory2 == nil || l.Decode.Memory2.HostGBps == 0 || q.Offload.Weights+q.Offload.Cache > 0 {
		return 0
	}
	most := l.Shape.Layers
	if q.GPULayers > 0 {
		most = min(most, q.GPULayers-1)
	}
	try := *q
	return most - sort.Search(most, func(i int) bool {
		return e.fits(&try, func() { try.GPULayers = most - i })
	})
}

// fits reports whether a changed question has an answer that fits into memory.
func (e *Estimator) fits(q *question.Question, change func()) bool {
	change()
	a, err := e.Answer(q)
	return err == nil && len(a.Overfull()) == 0 && (a.Seen != nil || !q.Clients() || !a.Deployment.Assume.Engine)
}
