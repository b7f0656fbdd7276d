// Package jobfile reads the runtime format: what to simulate, on what, within which limits. It
// turns a file into a list of searches.
package jobfile

import (
	"context"
	"path/filepath"
	"slices"
	"sync"

	"throughline/assume"
	"throughline/hardware"
	"throughline/internal/catalogue"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/model"
	"throughline/plan"
	"throughline/search"
	"throughline/workload"
)

// Modes of deployment, as the runtime file names them.
const (
	Fusion     = "pd-fusion"
	Split      = "pd-split-request-optimal"
	splitAlias = "split-request-optimal"
)

// Job is one section of a runtime file.
type Job struct {
	Mode   string
	Output string

	loader          *loader
	spec            *spec
	sizes           []size
	counts          [axes]int      // of the lists that the runs multiply; all 0: none
	prefill, decode search.Problem // shared by all runs
	variation       *Variation     // nil: the files as they are

	mu     sync.Mutex
	shared map[any]string // digests of what runs share
	// variants are the files of some points of the variation.
	variants map[int]*loader
}

// Run is one column of the results.
type Run struct {
	Mode      string
	Model     *model.Model
	Settings  *model.Settings
	Lengths   workload.Lengths
	Limits    workload.Limits
	Precision plan.Precision
	Procs     int     // in all
	Pools     *[2]int // processors of prefill and decode, if given
	// Prefill and Decode are the searches of the two phases.
	Prefill, Decode search.Problem
	Plan            *Plan // search like the command plan; nil: the candidates of the file
}

// Plan is the options of a search like the command plan.
type Plan struct {
	Engine    string
	Redundant bool // the range of redundant experts is that of the file
}

// SearchOptions do not affect what is found.
type SearchOptions struct {
	Workers  int
	Thorough bool        // count every plan that is ruled out, even if the winner is already clear
	Tick     search.Tick // after each of the run's parts
}

// Parts is how often the search of the run ticks.
func (r *Run) Parts() int {
	switch {
	case r.Mode == Fusion || r.Pools != nil:
		return 1
	}
	return 1 + 2*(r.Procs-1) // every size of an instance, in either phase
}

func (r *Run) split() *search.SplitProblem {
	return &search.SplitProblem{Prefill: r.Prefill, Decode: r.Decode, Procs: r.Procs, Pools: r.Pools}
}

// Search finds the best deployment of the run.
func (r *Run) Search(ctx context.Context, o SearchOptions) (out search.Outcome, err error) {
	if r.Mode == Fusion {
		out, err = search.Fused(ctx, &search.FusedProblem{Prefill: r.Prefill, Decode: r.Decode, Thorough: o.Thorough}, o.Workers)
	} else {
		p := r.split()
		p.Tick, p.Thorough = o.Tick, o.Thorough
		out, err = search.Split(ctx, p, o.Workers)
	}
	if o.Tick != nil {
		o.Tick()
	}
	return out, err
}

// modelFile and systemFile are the targets of references in a runtime file.
type modelFile struct {
	name     string
	src      []byte
	model    *model.Model
	settings *model.Settings
}

type systemFile struct {
	name   string
	src    []byte
	system *hardware.System
}

// loader reads a runtime file and everything it refers to.
type loader struct {
	doc     *document.File
	src     []byte
	dir     string // folder of the runtime file
	in      *files.Door
	as      *assume.Assumptions
	models  map[string]*modelFile // by reference; nil value: could not be loaded
	systems map[string]*systemFile
	others  []*document.File // the referenced files
}

// Load reads a runtime file, its models and its systems, and expands its lists. All problems of all
// files are reported together; warnings are returned even then.
func Load(in *files.Door, path string, as *assume.Assumptions) (jobs []*Job, warnings []document.Problem, err error) {
	src, err := document.ReadFile(in, path)
	if err != nil {
		return nil, nil, document.Unreadable(in, path, err)
	}
	return Read(in, path, src, as)
}

// Files lists a runtime file, the files it refers to, and names that were looked for in vain.
func Files(in *files.Door, path string) []string {
	names := []string{path}
	if src, err := document.ReadFile(in, path); err == nil {
		// Problems do not matter here.
		Read(in.Noted(func(name string) { names = append(names, name) }), path, src, &assume.Reference)
	}
	return names
}

// Read is Load for content in memory.
func Read(in *files.Door, path string, src []byte, as *assume.Assumptions) (jobs []*Job, warnings []document.Problem, err error) {
	l := &loader{
		doc: document.Parse(path, src), src: src, dir: filepath.Dir(path), as: as, in: in,
		models: map[string]*modelFile{}, systems: map[string]*systemFile{},
	}
	if format := FormatOf(l.doc.Keys()); format == SystemFormat || format == ModelFormat {
		l.doc.Problemf("", "this is a %s file; a runtime file has a section %q or %q", format, Fusion, Split)
		return nil, l.doc.Warnings(), l.doc.Err()
	}
	var f File
	l.doc.Decode(&f)
	for _, s := range l.specs(&f) {
		l.resolve(s)
		l.check(s)
		jobs = append(jobs, l.expand(s))
	}
	errs := []error{l.doc.Err()}
	warnings = l.doc.Warnings()
	for _, d := range l.others {
		errs = append(errs, d.Err())
		warnings = append(warnings, d.Warnings()...)
	}
	if err := document.Join(errs...); err != nil {
		return nil, warnings, err
	}
	l.doc, l.others = nil, nil // their trees take a hundred times the memory of the lists, as long as the jobs live
	return jobs, warnings, nil
}

// spec is a section of the file in the form that both modes share.
type spec struct {
	section
	mode    string
	key     string // of the section in the file
	pools   [][2]int
	systems []systemPair
	prefill phaseSpec
	decode  phaseSpec
}

// phaseSpec is the candidates of one phase and their keys.
type phaseSpec struct {
	layouts, experts, batches          [][3]int
	layoutsKey, expertsKey, batchesKey string
	pool                               int // which of the two pools it runs on
	contexts                           []int
}

func (l *loader) specs(f *File) []*spec {
	var out []*spec
	if s := f.Fusion; s != nil {
		phase := phaseSpec{s.Layouts, s.ExpertLayouts, s.Batches, "parallel_config", "moe_parallel_config", "batch_config", 0, nil}
		systems := make([]systemPair, len(s.Systems))
		for i, name := range s.Systems {
			systems[i] = systemPair{string(name), string(name)}
		}
		out = append(out, &spec{section: s.section, mode: Fusion, key: Fusion, systems: systems, prefill: phase, decode: phase})
	}
	split := func(s *splitSection, key string) {
		out = append(out, &spec{
			section: s.section, mode: Split, key: key, pools: s.Pools, systems: s.Systems,
			prefill: phaseSpec{s.PrefillLayouts, s.PrefillExperts, s.PrefillBatches, "p_parallel_config", "p_moe_parallel_config", "p_micro_batch_size", 0, s.PrefillContexts},
			decode:  phaseSpec{s.DecodeLayouts, s.DecodeExperts, s.DecodeBatches, "d_parallel_config", "d_moe_parallel_config", "d_micro_batch_size", 1, nil},
		})
	}
	if f.Split != nil {
		split(f.Split, Split)
	}
	if f.SplitAlias != nil {
		if f.Split != nil {
			l.doc.Problemf(splitAlias, "is another name of %s, which the file has too; keep one", Split)
		}
		split(f.SplitAlias, splitAlias)
	}
	// In the order of the file.
	keys := l.doc.Keys()
	slices.SortStableFunc(out, func(a, b *spec) int { return slices.Index(keys, a.key) - slices.Index(keys, b.key) })
	if len(out) == 0 && l.doc.Keys() != nil && l.doc.Err() == nil {
		l.doc.Problemf("", "the file has nothing to run: give it a section %q or %q", Fusion, Split)
	}
	return out
}

// read resolves a reference from the working directory, then from the folder of the runtime file.
func (l *loader) read(ref string, set catalogue.Set) (catalogue.File, error) {
	return set.Locate(ref, catalogue.Places{Beside: l.dir, In: l.in})
}
