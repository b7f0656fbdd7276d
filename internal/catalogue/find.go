package catalogue

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"throughline/internal/document"
	"throughline/internal/files"
)

// File is what a reference led to.
type File struct {
	Name   string // for messages
	Source []byte
	// Checkpoint is its name on the command line of an engine: as given, or the folder of a
	// config.json, or the repository of a folder in the cache of Hugging Face.
	Checkpoint string
	BuiltIn    bool
}

// Missing is a reference that leads nowhere.
type Missing struct {
	What, Ref string
	Near      []string // built-in names that were probably meant
	Refused   bool     // whether there is such a file is not told
}

func (m *Missing) Error() string {
	hint := fmt.Sprintf("\"throughline %ss\" lists the built-in ones", m.What)
	switch len(m.Near) {
	case 0:
	case 1:
		hint = fmt.Sprintf("did you mean %q?", m.Near[0])
	default:
		hint = fmt.Sprintf("did you mean one of %s?", document.QuoteList(m.Near))
	}
	if m.Refused {
		return fmt.Sprintf("%q is no built-in %s, and %s; %s", m.Ref, m.What, files.ErrRefused, hint)
	}
	return fmt.Sprintf("%q is no file and no built-in %s; %s", m.Ref, m.What, hint)
}

// NoConfig is a folder that holds no checkpoint.
type NoConfig struct{ Folder string }

func (e *NoConfig) Error() string {
	return fmt.Sprintf("the folder %s has no %s, and no snapshot of the Hugging Face cache with one; name a file, or a folder with a %s", e.Folder, config, config)
}

// Is makes a missing reference a missing file.
func (m *Missing) Is(err error) bool { return err == fs.ErrNotExist }

// Places is where references are looked up.
type Places struct {
	In     *files.Door
	Beside string // a folder to search after the working directory, if any
}

// Locate finds a file, a folder with a config.json where the set takes those, a built-in name, or a
// repository in the cache of Hugging Face, in this order, so that a built-in name means the same on
// every machine.
func (s Set) Locate(ref string, p Places) (File, error) {
	candidates := []string{ref}
	if p.Beside != "" && !filepath.IsAbs(ref) {
		candidates = append(candidates, filepath.Join(p.Beside, ref))
	}
	var unusable error
	for _, c := range candidates {
		f, err := s.open(c, p.In)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && unusable == nil {
			unusable = err
		}
	}
	refused := errors.Is(unusable, files.ErrRefused)
	if refused && isFile(ref) { // a built-in one of the same name is not what was asked for
		return File{}, &Missing{s.What, ref, s.Near(ref), refused}
	}
	if src, ok := s.Find(ref); ok {
		return File{Name: ref + " (built in)", Source: src, Checkpoint: ref, BuiltIn: true}, nil
	}
	if hub := hubCache(); s.Checkpoints && ref != "" && hub != "" {
		if f, ok := snapshot(filepath.Join(hub, repositories+strings.ReplaceAll(ref, "/", separator)), p.In); ok {
			return f, nil
		}
	}
	if unusable != nil && !refused {
		return File{}, unusable
	}
	return File{}, &Missing{s.What, ref, s.Near(ref), refused}
}

// isFile reports whether a reference can only be that of a file; acme/Model-7B may be a repository.
func isFile(ref string) bool {
	return strings.HasSuffix(ref, ".json") || strings.HasPrefix(ref, ".") || strings.HasPrefix(ref, "~") || strings.Contains(ref, `\`) || filepath.IsAbs(ref)
}

// open reads a file, or what a folder stands for.
func (s Set) open(path string, in *files.Door) (File, error) {
	src, err := document.ReadFile(in, path)
	if err == nil {
		f := File{Name: path, Source: src, Checkpoint: path}
		if s.Checkpoints && filepath.Base(path) == config {
			f.Checkpoint = repository(filepath.Dir(path))
		}
		return f, nil
	}
	if !s.Checkpoints || errors.Is(err, fs.ErrNotExist) {
		return File{}, err
	}
	inside := filepath.Join(path, config)
	if src, err := document.ReadFile(in, inside); err == nil {
		return File{Name: inside, Source: src, Checkpoint: repository(path)}, nil
	}
	if f, ok := snapshot(path, in); ok {
		return f, nil
	}
	if info, statErr := in.Stat(path); statErr == nil && info.IsDir() {
		return File{}, &NoConfig{path}
	}
	return File{}, err
}

// The cache of Hugging Face: a folder models--ORGANISATION--NAME per repository, with the current
// commit in refs/main and files under snapshots/COMMIT. Source:
// huggingface.co/docs/huggingface_hub/guides/manage-cache
const (
	config       = "config.json"
	repositories = "models--"
	separator    = "--"
	snapshots    = "snapshots"
)

// hubCache is the folder of that cache. Source:
// huggingface.co/docs/huggingface_hub/package_reference/environment_variables
func hubCache() string {
	if dir := os.Getenv("HF_HUB_CACHE"); dir != "" {
		return dir
	}
	if home := os.Getenv("HF_HOME"); home != "" {
		return filepath.Join(home, "hub")
	}
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		cache = filepath.Join(home, ".cache")
	}
	return filepath.Join(cache, "huggingface", "hub")
}

// snapshot is the config.json of a cache folder: of the current commit, or of the only one.
func snapshot(folder string, in *files.Door) (File, bool) {
	commit := ""
	if ref, err := document.ReadFile(in, filepath.Join(folder, "refs", "main")); err == nil {
		commit = filepath.Base(strings.TrimSpace(string(ref)))
	} else if all, err := in.ReadDir(filepath.Join(folder, snapshots)); err == nil && len(all) == 1 {
		commit = all[0].Name()
	}
	if commit == "" {
		return File{}, false
	}
	path := filepath.Join(folder, snapshots, commit, config)
	src, err := document.ReadFile(in, path)
	return File{Name: path, Source: src, Checkpoint: repository(filepath.Dir(path))}, err == nil
}

// repository is the name of the repository in a cache folder, or else the folder.
func repository(folder string) string {
	outer := folder
	if filepath.Base(filepath.Dir(folder)) == snapshots {
		outer = filepath.Dir(filepath.Dir(folder))
	}
	if name, ok := strings.CutPrefix(filepath.Base(outer), repositories); ok {
		return strings.ReplaceAll(name, separator, "/")
	}
	return folder
}

// Repository is the name of the repository whose config.json lies at a path in the cache.
func Repository(path string) (string, bool) {
	folder := filepath.Dir(path)
	name := repository(folder)
	return name, name != folder
}
