package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"throughline/deploy"
	"throughline/internal/test/golden"
)

// The tables of the documentation are those of the data; -update writes them.
func TestDocs(t *testing.T) {
	name := filepath.Join("..", "docs", "engines.md")
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	doc := string(src)
	for part, table := range map[string]string{"versions": versionTable(), "capabilities": capabilityTable(), "attention": attentionTable(), "attention defaults": attentionDefaults(), "chips": chipTable(), "chip sources": chipSources()} {
		start, end := "<!-- "+part+" -->\n", "<!-- /"+part+" -->\n"
		before, rest, ok := strings.Cut(doc, start)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s has no part %s", name, part)
		}
		doc = before + start + table + end + after
	}
	golden.File(t, name, []byte(doc))
}

func versionTable() string {
	var b strings.Builder
	b.WriteString("| engine | version | options from |\n|---|---|---|\n")
	for _, e := range engines {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", e.Title, e.Options.Version, e.Options.Source)
	}
	for _, e := range engines {
		if e.RouterOptions.Version != "" {
			fmt.Fprintf(&b, "| router of %s | %s | %s |\n", e.Title, e.RouterOptions.Version, e.RouterOptions.Source)
		}
	}
	return b.String()
}

func capabilityTable() string {
	var b strings.Builder
	b.WriteString("| |")
	for _, e := range engines {
		fmt.Fprintf(&b, " %s |", e.Title)
	}
	b.WriteString("\n|---|---|---|---|\n")
	for _, f := range features {
		fmt.Fprintf(&b, "| %s |", f.title)
		for _, e := range engines {
			c := e.Capabilities[f.key]
			cell := string(c.Support)
			if c.Remark != "" {
				cell += ": " + c.Remark
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestEarlier: an earlier version has other facts; the engine itself stays as it is.
func TestEarlier(t *testing.T) {
	now, err := Find("sglang")
	if err != nil {
		t.Fatal(err)
	}
	was, err := Find("sgl@0.4")
	if err != nil {
		t.Fatal(err)
	}
	if was.Name != now.Name || was.Scheduling.GathersByAllReduce != "always" || now.Scheduling.GathersByAllReduce != "prefill" {
		t.Errorf("%q and %q", was.Scheduling.GathersByAllReduce, now.Scheduling.GathersByAllReduce)
	}
	release, err := Find("sglang@0.4.6")
	if err != nil {
		t.Fatal(err)
	}
	if release.Scheduling.GathersByAllReduce != was.Scheduling.GathersByAllReduce {
		t.Error("a release is not as its version")
	}
	// Up to 0.4.8 a server of both phases sends tokens by the normal kernels alone, without graphs.
	for name, want := range map[string]int{"sglang": 0, "sglang@0.4": 0, "sglang@0.4.6": 0, "sglang@0.4.8": 1} {
		for _, role := range []deploy.Role{deploy.Both, deploy.Prefill, deploy.Decode} {
			d := exchanging(8, 8)
			d.Pools[0].Role = role
			p := find(t, name).Apply(d).Pools[0].Plan
			if role != deploy.Both {
				want = 0
			}
			if p.Gathered || p.Captured != want || want > 0 && p.Launch != 65e-6 {
				t.Errorf("%s, %s: gathers %v, captures %d, %v s for a launch", name, role, p.Gathered, p.Captured, p.Launch)
			}
		}
	}
	// vLLM before asynchronous scheduling.
	if now, was := find(t, "vllm"), find(t, "vllm@0.9"); now.Scheduling.StepsAhead != 1 || was.Scheduling.StepsAhead != 0 {
		t.Errorf("%d and %d steps ahead", now.Scheduling.StepsAhead, was.Scheduling.StepsAhead)
	}
	for name, fused := range map[string]bool{"vllm": true, "vllm@0.16": true, "vllm@0.9": false} {
		d := exchanging(1, 8)
		d.Precision = fp8
		if p := find(t, name).Apply(d).Pools[0].Plan; p.FusedQuantise != fused || p.SharedApart == fused {
			t.Errorf("%s: quantisation fused %v, shared experts apart %v", name, p.FusedQuantise, p.SharedApart)
		}
	}
	for name, want := range map[string]string{
		"sglang@new": `"new" is no version of SGLang`, "slang@0.4": "sglang",
	} {
		if _, err := Find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// The data has every feature and no other.
func TestCapabilities(t *testing.T) {
	for _, e := range engines {
		if len(e.Capabilities) != featureCount {
			t.Errorf("%s: %d capabilities, want %d", e.Name, len(e.Capabilities), featureCount)
		}
		for _, format := range []string{"bf16", "fp8", "fp4", "mxfp4", "int4", "int8"} {
			runs := false
			for _, c := range e.Chips {
				runs = runs || c.does(format) != notRun
			}
			if _, ok := e.Weights[format]; ok != runs {
				t.Errorf("%s: weights and chips differ in %s", e.Name, format)
			}
		}
		for _, format := range []string{"fp8", "fp4"} {
			if _, ok := e.Cache[format]; ok == (e.Capabilities[format+"_cache"].Support == No) {
				t.Errorf("%s: cache and capabilities differ in %s", e.Name, format)
			}
		}
	}
}
