package model_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"throughline/internal/document"
	"throughline/internal/test/fuzzing"
	"throughline/internal/test/golden"
	"throughline/model"
)

// published is the folder of published configs, which are not part of the project.
const published = "../../shared/models"

// publishedConfigs are the files of that folder; the test is skipped where there is none.
func publishedConfigs(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(published, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("%s is absent: there are no published configs to import", published)
	}
	return files
}

// TestPublishedConfigs imports every published config. The summary of shape and warnings is in
// testdata/published.txt.
func TestPublishedConfigs(t *testing.T) {
	var b strings.Builder
	for _, file := range publishedConfigs(t) {
		base := filepath.Base(file)
		l, doc := load(t, file)
		fmt.Fprintf(&b, "%s\n", base)
		for _, w := range doc.Warnings() {
			fmt.Fprintf(&b, "    warning: %s\n", w)
		}
		if strings.Contains(base, "calculon") {
			// In a format of its own: neither ours nor a config of Hugging Face.
			if l != nil {
				t.Errorf("%s was imported", base)
			}
			fmt.Fprintf(&b, "    refused\n")
			continue
		}
		if err := doc.Err(); err != nil {
			t.Errorf("%v", err)
			continue
		}
		b.WriteString(summary(l.Model))
	}
	golden.File(t, "testdata/published.txt", []byte(b.String()))
}

// load reads a file under its base name.
func load(t *testing.T, file string) (*model.Loaded, *document.File) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return model.Load(filepath.Base(file), src)
}

// summary is the shape of a model on a few lines.
func summary(m *model.Model) string {
	total, active := m.Params()
	var b strings.Builder
	fmt.Fprintf(&b, "    %d layers of %d, %s\n", m.Layers, m.Hidden, m.DescribeAttention())
	fmt.Fprintf(&b, "    dense %d, first %d; experts %s of width %d and %d, interval %d, input %d\n",
		m.FeedForward, m.FirstDense, m.DescribeExperts(), m.Experts.Width, m.Experts.SharedWidth, m.Experts.Interval, m.Experts.Hidden)
	fmt.Fprintf(&b, "    vocabulary %d, tied %v, %d draft layers; %.4g B parameters, %.4g B active; cache %g\n",
		m.Vocab, m.Tied, m.DraftLayers, total/1e9, active/1e9, m.CacheGrowth(1))
	return b.String()
}

// The catalogue holds what the importer makes of the published configs, under the names of the
// files.
func TestCatalogueIsImported(t *testing.T) {
	for _, file := range publishedConfigs(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if strings.Contains(name, "calculon") {
			continue
		}
		src, ok := model.Catalogue.Find(name)
		if !ok {
			t.Errorf("the catalogue lacks %s", name)
			continue
		}
		if name == "Llama-3-70B" {
			continue // written by hand before there was an importer
		}
		want, doc := load(t, file)
		if err := doc.Err(); err != nil {
			t.Error(err)
			continue
		}
		have, _ := model.Load(name, src)
		want.File.Sources["*"] = have.File.Sources["*"]
		if lengths := have.File.DraftLengths; lengths != nil { // measured, not configured
			want.File.DraftLengths, want.File.Sources["draft_lengths"] = lengths, have.File.Sources["draft_lengths"]
			if want.File.Sources["draft_lengths"] == "" {
				t.Errorf("%s: draft_lengths without a source", name)
			}
		}
		if diff := cmp.Diff(string(want.File.Encode()), string(src)); diff != "" {
			t.Errorf("%s: -imported +catalogue:\n%s", name, diff)
		}
	}
}

// TestConfigs imports small configs that each show how a key is read. The native file and the
// warnings are in the .txt file beside it.
func TestConfigs(t *testing.T) {
	files, err := filepath.Glob("testdata/configs/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no configs: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			l, doc := load(t, file)
			if err := doc.Err(); err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			for _, w := range doc.Warnings() {
				fmt.Fprintln(&b, "warning:", w)
			}
			native := l.File.Encode()
			b.Write(native)
			golden.File(t, strings.TrimSuffix(file, ".json")+".txt", b.Bytes())

			// What was written reads as the same model.
			again, doc := model.Load("native.json", native)
			if err := doc.Err(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(l.Model, again.Model); diff != "" {
				t.Errorf("-imported +written and read:\n%s", diff)
			}
			if !bytes.Equal(native, again.File.Encode()) {
				t.Error("writing what was read gives another file")
			}
		})
	}
}

// Engines decode latent attention on the latent vectors, and fuse attention; every processor has
// the shared experts.
func TestImportedSettings(t *testing.T) {
	for file, want := range map[string]model.Settings{
		"layer_frequency_as_number": {Absorb: true, Flash: true, SharedReplicas: 2, SharedPerCard: true},
		"kimi_linear_low_rank_gate": {Absorb: true, Flash: true, SharedReplicas: 1, SharedPerCard: true},
		"sliding_window_everywhere": {Flash: true},
	} {
		l, doc := load(t, "testdata/configs/"+file+".json")
		if err := doc.Err(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, *l.Settings); diff != "" {
			t.Errorf("%s: -want +got:\n%s", file, diff)
		}
	}
}

// A model is called like its file, or like the folder of a config.json.
func TestImportedName(t *testing.T) {
	src, err := os.ReadFile("testdata/configs/nested_with_vision.json")
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"some/where/my-model.json":     "my-model",
		"some/DeepSeek-V9/config.json": "DeepSeek-V9",
		"config.json":                  "nested",
		"-":                            "nested",
	} {
		if l, _ := model.Load(file, src); l.Model.Name != want {
			t.Errorf("%s: the model is called %q, not %q", file, l.Model.Name, want)
		}
	}
}

// Whatever stands in place of a value, there are problems with a place in the file, or a model.
func TestMutatedConfigs(t *testing.T) {
	files, err := filepath.Glob("testdata/configs/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no configs: %v", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var config any
		if err := json.Unmarshal(src, &config); err != nil {
			t.Fatal(err)
		}
		mutate(config, func(where string) {
			mutated, err := json.Marshal(config)
			if err != nil {
				t.Fatal(err)
			}
			l, doc := model.Load("config.json", mutated)
			fuzzing.CheckProblems(t, mutated, doc.Problems())
			fuzzing.CheckProblems(t, mutated, doc.Warnings())
			if (l == nil) != (doc.Err() != nil) {
				t.Errorf("%s, %s: model %v with problems %v", file, where, l, doc.Err())
			}
		})
	}
}

// mutate puts other values in place of each value inside v, one at a time, and calls try for each.
func mutate(v any, try func(where string)) {
	others := []any{nil, true, false, 0, -1, 2, 1.5, 3e9, 1e300, "x", []any{}, []any{1, "x", nil}, map[string]any{}, map[string]any{"a": []any{}}}
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			for _, other := range others {
				v[key] = other
				try(fmt.Sprintf("%s: %v", key, other))
			}
			delete(v, key)
			try("without " + key)
			v[key] = value
			mutate(value, try)
		}
	case []any:
		for i, value := range v {
			for _, other := range others {
				v[i] = other
				try(fmt.Sprintf("[%d]: %v", i, other))
			}
			v[i] = value
			mutate(value, try)
		}
	}
}

// Python writes numbers that JSON has not, as in configs of Nemotron; in a string, and in a model
// file, they are what they were.
func TestPythonNumbers(t *testing.T) {
	src, err := os.ReadFile("testdata/configs/blocks_by_pattern.json")
	if err != nil {
		t.Fatal(err)
	}
	src = bytes.Replace(src, []byte("{"), []byte(`{"time_step_limit": [-Infinity, Infinity], "_name_or_path": "NaN", `), 1)
	l, doc := model.Load("config.json", src)
	if err := doc.Err(); err != nil {
		t.Fatal(err)
	}
	if l.Model.Name != "NaN" || l.Model.MixerOnly != 2 {
		t.Errorf("read as %q with %d layers of one block", l.Model.Name, l.Model.MixerOnly)
	}
	if _, doc := model.Load("model.json", []byte(`{"model": "m", "hidden": Infinity}`)); doc.Err() == nil {
		t.Error("a model file may say Infinity")
	}
}
