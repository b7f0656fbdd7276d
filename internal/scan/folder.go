package scan

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"throughline/engine"
	"throughline/internal/question"
	"throughline/internal/store"
	"throughline/internal/version"
)

// Manifest is what scan.json says: everything that the parts beside it depend on.
type Manifest struct {
	Format  int               `json:"format"`
	Version string            `json:"throughline"`
	GOARCH  string            `json:"goarch"` // that of the process which started the scan
	Scan    *Request          `json:"scan"`
	Inputs  map[string]string `json:"inputs"` // SHA-256 of the files, by the names that they are asked for
	Points  int               `json:"points"`
	Chunk   int               `json:"points_per_part"`
	Rounds  []int             `json:"rounds,omitempty"` // first points of rounds; a part is of one round
	Columns []Column          `json:"columns"`
}

// Column of the parts.
type Column struct {
	Name string `json:"name"`
	Unit string `json:"unit,omitempty"`
	Kind string `json:"kind"`
}

const (
	manifestName   = "scan.json"
	manifestFormat = 1
	MostParts      = 1_000_000
)

func (m *Manifest) Parts() int { _, to := m.RoundParts(len(m.rounds()) - 2); return to }

// rounds are the first points of rounds, and the number of points.
func (m *Manifest) rounds() []int {
	if len(m.Rounds) == 0 {
		return []int{0, m.Points}
	}
	return m.Rounds
}

// RoundParts are the first part of a round and the one after its last.
func (m *Manifest) RoundParts(round int) (from, to int) {
	all := m.rounds()
	for r := 0; r <= round; r++ {
		from, to = to, to+(all[r+1]-all[r]+m.Chunk-1)/m.Chunk
	}
	return from, to
}

// Bounds are the first point of a part and the one after its last.
func (m *Manifest) Bounds(part int) (from, to int) {
	all := m.rounds()
	for round := range len(all) - 1 {
		if first, last := m.RoundParts(round); part < last {
			from = all[round] + (part-first)*m.Chunk
			return from, min(from+m.Chunk, all[round+1])
		}
	}
	return m.Points, m.Points
}

func (m *Manifest) PartAt(point int) int {
	all := m.rounds()
	for round := range len(all) - 1 {
		if point < all[round+1] {
			first, _ := m.RoundParts(round)
			return first + (point-all[round])/m.Chunk
		}
	}
	return m.Parts()
}

func PartName(part int) string { return fmt.Sprintf("part-%06d.parquet", part) }

// PartOf is the part of a file; false: it is none.
func PartOf(name string) (int, bool) {
	digits, ok := strings.CutPrefix(strings.TrimSuffix(name, ".parquet"), "part-")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && PartName(n) == name
}

// Inputs are the hashes of the files that the points of a scan read.
func (s *Scan) Inputs() (map[string]string, error) {
	out := map[string]string{}
	values := make([]Value, len(s.Axes))
	s.At(0, values)
	note := func(values []Value) error {
		q := question.NewQuery(s.In, s.Of, s.WordsAt(values))
		files, err := q.Contents()
		for name, src := range files {
			sum := sha256.Sum256(src)
			out[name] = hex.EncodeToString(sum[:])
		}
		return err
	}
	if err := note(values); err != nil {
		return nil, err
	}
	for k := range s.Axes {
		a := &s.Axes[k]
		if a.Setting == nil || a.IsNumeric() {
			continue
		}
		for i := range a.Texts {
			other := slices.Clone(values)
			other[k] = Value{a.Texts[i], a.At(i)}
			if err := note(other); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// Hash identifies a scan: parts of another are not mixed with it.
func (m *Manifest) Hash() string {
	same := *m
	same.GOARCH = ""
	text, err := json.Marshal(same)
	if err != nil {
		panic(err) // it has no values without a JSON form
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Started finds the manifest of a folder, or writes the one that start makes. It refuses a folder
// with another scan, and one that another version or other files have begun.
func Started(ctx context.Context, in store.Store, r *Request, inputs map[string]string, start func() (*Manifest, error)) (*Manifest, error) {
	inputs = maps.Clone(inputs)
	inputs["engine data"] = engine.Hash()
	had, err := ReadManifest(ctx, in)
	if errors.Is(err, fs.ErrNotExist) {
		var m *Manifest
		if m, err = start(); err != nil {
			return nil, err
		}
		m.Format, m.Version, m.GOARCH, m.Scan, m.Inputs = manifestFormat, build(), runtime.GOARCH, r, inputs
		if _, err = in.Create(ctx, manifestName, m.write); err != nil {
			return nil, err
		}
		had, err = ReadManifest(ctx, in) // of several workers that start at once one has written it
	}
	if err != nil {
		return nil, err
	}
	return had, had.suits(in, r, inputs)
}

// build is the version of the program, and between releases the commit, where that is known.
func build() string {
	if r := version.Revision(); strings.HasSuffix(version.Number, "-dev") && r != "" {
		return version.Number + "+" + r[:min(len(r), 12)]
	}
	return version.Number
}

func (m *Manifest) write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(m)
}

func ReadManifest(ctx context.Context, in store.Store) (*Manifest, error) {
	src, err := in.Read(ctx, manifestName)
	if err != nil {
		return nil, err
	}
	var m Manifest
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil || m.Format != manifestFormat || m.Chunk < 1 || m.Scan == nil {
		return nil, fmt.Errorf("%s/%s is not what throughline sweep writes", in, manifestName)
	}
	return &m, nil
}

// suits refuses another scan, version or input.
func (m *Manifest) suits(in store.Store, r *Request, inputs map[string]string) error {
	switch {
	case !reflect.DeepEqual(normal(m.Scan), normal(r)):
		return fmt.Errorf("%s holds another scan; give this one a folder of its own", in)
	case m.Version != build():
		return fmt.Errorf("%s was begun by throughline %s, and this is %s: points of the two may differ; give it a folder of its own", in, m.Version, build())
	}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		if m.Inputs[name] != inputs[name] {
			return fmt.Errorf("%s was begun with another %s: its file has changed since; give the scan a folder of its own", in, name)
		}
	}
	return nil
}

// normal is a request as JSON reads it back.
func normal(r *Request) any {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return out
}

// OtherArchitecture is the one that began a scan, where this is another; empty: the same.
func (m *Manifest) OtherArchitecture() string {
	if m.GOARCH == runtime.GOARCH {
		return ""
	}
	return m.GOARCH
}
