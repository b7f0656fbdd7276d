package jobfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"throughline/hardware"
	"throughline/internal/catalogue"
	"throughline/internal/document"
	"throughline/model"
)

// resolve loads the models and systems a section refers to.
func (l *loader) resolve(s *spec) {
	for i, ref := range s.Models {
		l.model(s.at("model_list[%d]", i), ref)
	}
	for i, pair := range s.systems {
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

// at is the path of something in the section.
func (s *spec) at(format string, args ...any) string {
	return s.key + "." + fmt.Sprintf(format, args...)
}

func (l *loader) model(at, ref string) {
	if _, done := l.models[ref]; done || ref == "" {
		return
	}
	l.models[ref] = nil
	name, src, err := l.read(ref, model.Catalogue)
	if err != nil {
		l.notFound(at, "model", ref, model.Catalogue, err)
		return
	}
	m, set, doc := model.Read(name, src)
	l.others = append(l.others, doc)
	if m != nil {
		l.models[ref] = &modelFile{src, m, set}
	}
}

func (l *loader) system(at, ref string) {
	if _, done := l.systems[ref]; done || ref == "" {
		return
	}
	l.systems[ref] = nil
	name, src, err := l.read(ref, hardware.Catalogue)
	if err != nil {
		l.notFound(at, "system", ref, hardware.Catalogue, err)
		return
	}
	sys, doc := hardware.Read(name, src)
	l.others = append(l.others, doc)
	if sys != nil {
		l.systems[ref] = &systemFile{src, sys}
	}
}

// notFound reports a reference that leads nowhere.
func (l *loader) notFound(at, what, ref string, set catalogue.Set, err error) {
	if !errors.Is(err, fs.ErrNotExist) {
		l.doc.Problemf(at, "cannot read the %s file %q: %v", what, ref, err)
		return
	}
	names := set.Names()
	hint := "built in: " + strings.Join(names, ", ")
	if near, ok := document.Nearest(strings.TrimSuffix(path.Base(ref), ".json"), names); ok {
		hint = fmt.Sprintf("did you mean the built-in %q?", near)
	}
	l.doc.Problemf(at, "no %s file %q in the working directory, beside this file or built in; %s", what, ref, hint)
}
