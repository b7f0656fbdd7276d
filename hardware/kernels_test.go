package hardware_test

import (
	"strings"
	"sync"
	"testing"

	"throughline/hardware"
	"throughline/hardware/kernel"
)

// The kernels of a file are put in, or replaced; everything else stays, comments too.
func TestWithKernels(t *testing.T) {
	const file = "{\n    // our next chip\n    \"name\": \"x\", \"kernels\": \"H200\",\n    \"type\": \"gpu\", // as ever\n}\n"
	out, err := hardware.WithKernels([]byte(file), &kernel.Set{System: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(out), strings.Replace(file, `"H200"`, `{"system":"x"}`, 1); got != want {
		t.Errorf("replaced:\n%s\nwant\n%s", got, want)
	}
	without := strings.Replace(file, ` "kernels": "H200",`, "", 1)
	out, err = hardware.WithKernels([]byte(without), &kernel.Set{System: "x"})
	if err != nil || !strings.Contains(string(out), `"kernels":{"system":"x"}`) || !strings.Contains(string(out), "// as ever") {
		t.Errorf("put in: %v\n%s", err, out)
	}
	if _, err := hardware.WithKernels([]byte("{"), nil); err == nil {
		t.Error("half a file was taken")
	}
}

// A file names built-in kernels; those of another chip are known as such.
func TestKernelsByName(t *testing.T) {
	read := func(name, kernels string) (*hardware.System, string) {
		src, _ := hardware.Catalogue.Find("H200")
		text := strings.Replace(string(src), `"kernels": "H200"`, `"kernels": `+kernels, 1)
		s, doc := hardware.Read(name, []byte(text))
		if err := doc.Err(); err != nil {
			return nil, err.Error()
		}
		return s, ""
	}
	if s, problem := read("a", `"B200"`); problem != "" || s.Kernels.MeasuredOn("gemm", "bfloat16") != "B200" {
		t.Errorf("%v %s", s, problem)
	}
	if s, problem := read("a", `null`); problem != "" || s.Kernels != nil {
		t.Errorf("%v %s", s, problem)
	}
	if _, problem := read("a", `"H20O"`); !strings.Contains(problem, `kernels: "H20O" is not one of "A100_SXM"`) || !strings.Contains(problem, `did you mean "H200"?`) {
		t.Error(problem)
	}
	if _, problem := read("a", `{"gem": {}}`); !strings.Contains(problem, `unknown field "gem"`) {
		t.Error(problem)
	}
}

// TestKernelsAreShared: runs side by side read systems with the same built-in kernels, and bind
// them.
func TestKernelsAreShared(t *testing.T) {
	src, _ := hardware.Catalogue.Find("L40S")
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			s, doc := hardware.Read("L40S", src)
			if err := doc.Err(); err != nil {
				t.Error(err)
				return
			}
			if s.Kernels.Bind(kernel.Types{Matrix: "bfloat16"}).Launch == 0 {
				t.Error("no kernels")
			}
		})
	}
	wait.Wait()
}

// A chip is known by its peaks, not by its name; without peaks, by the name.
func TestHas(t *testing.T) {
	src, _ := hardware.Catalogue.Find("H200")
	read := func(change func(string) string) *hardware.System {
		s, doc := hardware.Read("H200", []byte(change(string(src))))
		if err := doc.Err(); err != nil {
			t.Fatal(err)
		}
		return s
	}
	renamed := read(func(s string) string { return strings.Replace(s, `"name": "H200"`, `"name": "ours"`, 1) })
	faster := read(func(s string) string { return strings.Replace(s, `"GBps": 4800`, `"GBps": 9600`, 1) })
	if !renamed.Has(renamed.Kernels) || faster.Has(faster.Kernels) {
		t.Errorf("renamed: %v, with more bandwidth: %v", renamed.Has(renamed.Kernels), faster.Has(faster.Kernels))
	}
	if !renamed.Has(&kernel.Set{System: "ours"}) || renamed.Has(&kernel.Set{System: "H200"}) {
		t.Error("the name does not count")
	}
}
