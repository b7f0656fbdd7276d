package jobfile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"throughline/hardware"
	"throughline/internal/document"
	"throughline/model"
)

// Variation is other numbers in the files that a section refers to, at several points.
type Variation struct {
	Names  []string // of the numbers
	Points int
	At     func(point int) Variant
}

type Variant struct {
	Values []float64 // by name
	System func(name string, src []byte) (*hardware.System, error)
	Model  func(name string, src []byte) (*model.Model, *model.Settings, error)
}

// Inputs are digests of the files that the runs follow from, by the names that they are asked for.
func (j *Job) Inputs() map[string]string {
	out := map[string]string{"runtime file": sum(j.loader.src)}
	for ref, f := range j.loader.models {
		out["model "+ref] = sum(f.src)
	}
	for ref, f := range j.loader.systems {
		out["system "+ref] = sum(f.src)
	}
	return out
}

func sum(src []byte) string {
	digest := sha256.Sum256(src)
	return hex.EncodeToString(digest[:])
}

// mostPoints limits a variation: reading the files of as many takes some seconds.
const mostPoints = 10_000

// Vary repeats the runs at every point, one point after another. It reads all files at all points,
// and reports what cannot be.
func (j *Job) Vary(v *Variation) error {
	base := j.Len()
	if base > 0 && v.Points > min(mostPoints, maxRuns/base) {
		return fmt.Errorf("%s: %d runs at each of %d points; a runtime file is run at up to %d points, and %d runs in all", j.Mode, base, v.Points, mostPoints, maxRuns)
	}
	for point := range v.Points {
		if _, err := j.loader.varied(v.At(point)); err != nil {
			return err
		}
	}
	j.variation, j.variants = v, map[int]*loader{}
	return nil
}

// Axes are the names of the numbers that vary.
func (j *Job) Axes() []string {
	if j.variation == nil {
		return nil
	}
	return j.variation.Names
}

// points is how often the runs of the lists are repeated.
func (j *Job) points() int {
	if j.variation == nil {
		return 1
	}
	return j.variation.Points
}

// Varied are the values of the axes in a run.
func (j *Job) Varied(number int) []float64 {
	if j.variation == nil {
		return nil
	}
	return j.variation.At(number / (j.Len() / j.points())).Values
}

// mostVariants limits the points whose files are kept: runs come one point after another.
const mostVariants = 64

func (j *Job) files(point int) *loader {
	if j.variation == nil {
		return j.loader
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if known := j.variants[point]; known != nil {
		return known
	}
	if len(j.variants) >= mostVariants {
		clear(j.variants)
		clear(j.shared)
	}
	l, err := j.loader.varied(j.variation.At(point))
	if err != nil {
		panic(err) // it was read before
	}
	j.variants[point] = l
	return l
}

func (l *loader) varied(v Variant) (*loader, error) {
	out := &loader{as: l.as, models: map[string]*modelFile{}, systems: map[string]*systemFile{}}
	var errs []error
	for _, ref := range slices.Sorted(maps.Keys(l.models)) {
		f := l.models[ref]
		m, settings, err := v.Model(f.name, f.src)
		errs = append(errs, err)
		out.models[ref] = &modelFile{f.name, f.src, m, settings}
	}
	for _, ref := range slices.Sorted(maps.Keys(l.systems)) {
		f := l.systems[ref]
		s, err := v.System(f.name, f.src)
		errs = append(errs, err)
		out.systems[ref] = &systemFile{f.name, f.src, s}
	}
	return out, document.Join(errs...)
}
