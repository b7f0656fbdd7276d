package jobfile

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"throughline/hardware"
	"throughline/internal/catalogue"
	"throughline/internal/document"
	"throughline/model"
)

func (l *loader) resolve(s *spec) {
	for i, ref := range s.Models {
		at := s.at("model_list[%d]", i)
		if ref == "" {
			l.doc.Problemf(at, "must be a model file, not an empty string")
			continue
		}
		l.model(at, ref)
	}
	for i, pair := range s.systems {
		if pair == (systemPair{}) {
			continue // it has a problem
		}
		at := s.at("sys_list[%d]", i)
		if pair.prefill == pair.decode {
			if s.mode == Split && l.doc.Has(at+"[0]") {
				at += "[0]"
			}
			l.system(at, pair.decode)
			continue
		}
		l.system(at+"[0]", pair.prefill)
		l.system(at+"[1]", pair.decode)
	}
}

// at formats a path in the section.
func (s *spec) at(format string, args ...any) string {
	return s.key + "." + fmt.Sprintf(format, args...)
}

func (l *loader) model(at, ref string) {
	refer(l, l.models, at, ref, ModelFormat, func(f catalogue.File) (*modelFile, *document.File) {
		m, set, doc := model.Read(f.Name, f.Source)
		return &modelFile{f.Name, f.Source, m, set}, doc
	})
}

func (l *loader) system(at, ref string) {
	refer(l, l.systems, at, ref, SystemFormat, func(f catalogue.File) (*systemFile, *document.File) {
		sys, doc := hardware.Read(f.Name, f.Source)
		return &systemFile{f.Name, f.Source, sys}, doc
	})
}

// refer reads a file that a section refers to, the first time.
func refer[T any](l *loader, known map[string]*T, at, ref string, want Format, read func(catalogue.File) (*T, *document.File)) {
	if _, done := known[ref]; done {
		return
	}
	known[ref] = nil
	f, err := l.read(ref, catalogues[want])
	if err != nil {
		l.notFound(at, want, ref, err)
		return
	}
	if l.isOther(at, f, want) {
		return
	}
	is := once(f, func() parsed[T] {
		file, doc := read(f)
		if doc.Err() != nil {
			file = nil
		}
		return parsed[T]{file, doc}
	})
	if known[ref] = is.file; is.doc != nil {
		l.others = append(l.others, is.doc)
	}
}

// parsed is a file that has been read, and its problems, if any.
type parsed[T any] struct {
	file *T
	doc  *document.File
}

// builtIn is the built-in files that have been read, by type and name. Nothing changes them.
var builtIn sync.Map

// once reads a file, a built-in one only the first time.
func once[T any](f catalogue.File, read func() parsed[T]) parsed[T] {
	if !f.BuiltIn {
		return read()
	}
	type key struct {
		of   *T
		name string
	}
	if known, ok := builtIn.Load(key{nil, f.Name}); ok {
		return known.(parsed[T])
	}
	is := read()
	if len(is.doc.Problems())+len(is.doc.Warnings()) == 0 {
		builtIn.Store(key{nil, f.Name}, parsed[T]{is.file, nil}) // the tree takes more memory than what was read from it
	}
	return is
}

// isOther reports a reference to a file of another format: its keys would all be unknown.
func (l *loader) isOther(at string, f catalogue.File, want Format) bool {
	if f.BuiltIn {
		return false
	}
	is := FormatOf(document.Parse(f.Name, f.Source).Keys())
	if is == "" || is == want {
		return false
	}
	l.doc.Problemf(at, "%s is a %s file, but a %s file is needed here", f.Name, is, want)
	return true
}

// catalogues are the built-in files that a runtime file can refer to.
var catalogues = map[Format]catalogue.Set{ModelFormat: model.Catalogue, SystemFormat: hardware.Catalogue}

// notFound reports a reference that leads nowhere.
func (l *loader) notFound(at string, want Format, ref string, err error) {
	if !errors.Is(err, fs.ErrNotExist) {
		l.doc.Problemf(at, "cannot read the %s file %q: %s", want, ref, document.Reason(err))
		return
	}
	for is, set := range catalogues {
		if _, found := set.Find(ref); found {
			l.doc.Problemf(at, "%q is a built-in %s, but a %s file is needed here", ref, is, want)
			return
		}
	}
	hint := fmt.Sprintf("\"throughline %ss\" lists what is built in", want)
	if near := catalogues[want].Near(ref); len(near) == 1 {
		hint = fmt.Sprintf("did you mean the built-in %q?", near[0])
	} else if len(near) > 1 {
		hint = fmt.Sprintf("did you mean one of the built-in %s?", document.QuoteList(near))
	}
	l.doc.Problemf(at, "no %s file %q in the working directory, beside this file or built in; %s", want, ref, hint)
}
