package cli

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestSweepJobs: an array of Slurm names every worker, and both documents for Kubernetes are YAML that
// holds the scan as it was, also one that begins with blanks.
func TestSweepJobs(t *testing.T) {
	j := sweepJob{File: "/scans/it's.json", Source: []byte("  {\n \"command\": \"estimate\"\n}\n"), Results: "/shared/results", Workers: 40, Image: "registry/throughline"}
	text, err := schedulers["slurm"](&j)
	if want := `run '/scans/it'\''s.json' -o /shared/results --shard auto/40`; err != nil || !strings.Contains(text, want) || !strings.Contains(text, "--array=0-39\n") {
		t.Errorf("%v, no %s in\n%s", err, want, text)
	}
	if text, err = schedulers["k8s"](&j); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]map[string]any{}
	for d := yaml.NewDecoder(bytes.NewBufferString(text)); ; {
		doc := map[string]any{}
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		kinds[doc["kind"].(string)] = doc
	}
	if got := kinds["ConfigMap"]["data"].(map[string]any)["scan.json"]; got != string(j.Source) {
		t.Errorf("the scan is %q", got)
	}
	if got := kinds["Job"]["spec"].(map[string]any)["completions"]; got != 40 {
		t.Errorf("%v completions", got)
	}
	if !strings.Contains(text, `claimName: "throughline"}`) {
		t.Errorf("no volume for the results in\n%s", text)
	}
	j.Results = "results"
	if _, err := schedulers["k8s"](&j); err == nil || !strings.Contains(err.Error(), "as containers see it") {
		t.Errorf("a relative folder: %v", err)
	}
}
